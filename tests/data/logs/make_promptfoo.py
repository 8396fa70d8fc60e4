"""Results of promptfoo, made by its own command with providers and graders of a few lines.

    npm install --prefix /tmp/promptfoo promptfoo@0.121.20
    python tests/data/logs/make_promptfoo.py /tmp/promptfoo tests/data/logs

The prompts of the graders are taken out, which are long.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROVIDER = """module.exports = class {
  constructor(options) { this.label = options.label; }
  id() { return 'file'; }
  async callApi(prompt) {
    const odd = (prompt + this.label).length % 2;
    return { output: `${this.label} says ${odd ? 'yes' : 'no'} to ${prompt}` };
  }
};"""
GRADER = """module.exports = class {
  id() { return 'grader'; }
  async callApi(prompt) {
    if (prompt.includes('broken') && %d === 2) return { error: 'down' };
    const score = ((prompt.length * %d) %% 5) / 4;
    return { output: JSON.stringify({ reason: 'none', pass: score >= 0.5, score }) };
  }
};"""
CONFIG = {
    "prompts": ["Say: {{question}}"],
    "providers": [{"id": "file://provider.js", "label": name} for name in ("alpha", "beta")],
    "defaultTest": {
        "assert": [
            {"type": "icontains", "value": "yes", "metric": "agrees"},
            *(
                {"type": "llm-rubric", "value": "kind", "metric": "kind", "provider": f"file://{g}"}
                for g in ("grader-1.js", "grader-2.js")
            ),
            {"type": "assert-set", "assert": [{"type": "not-contains", "value": "?"}]},
        ]
    },
    "tests": [
        {"vars": {"question": question}, "metadata": {"topic": topic}}
        for question, topic in [("One?", "a"), ("Is this broken?", "b"), ("Three or more", "a")]
    ],
}


def main(program, out):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "provider.js").write_text(PROVIDER)
        for number in (1, 2):
            (folder / f"grader-{number}.js").write_text(GRADER % (number, number))
        (folder / "config.json").write_text(json.dumps(CONFIG))
        command = [program / "node_modules/.bin/promptfoo", "eval", "-c", "config.json", "-j", "1"]
        command += ["--repeat", "2", "--no-cache", "--no-progress-bar", "-o", "out.json"]
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        environment = os.environ | quiet | {"PROMPTFOO_CONFIG_DIR": str(folder / "home")}
        subprocess.run(command, cwd=folder, env=environment, check=False)
        content = json.loads((folder / "out.json").read_text())
    for result in content["results"]["results"]:
        for component in result["gradingResult"]["componentResults"]:
            component.get("metadata", {}).pop("renderedGradingPrompt", None)
    (out / "promptfoo.json").write_text(json.dumps(content, separators=(",", ":")))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
