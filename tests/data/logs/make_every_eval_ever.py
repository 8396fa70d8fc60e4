"""Records of Every Eval Ever, made by its own converter from logs of Inspect AI.

    uv venv /tmp/eee-env
    uv pip install --python /tmp/eee-env/bin/python "every-eval-ever[inspect]==0.3.0"
    /tmp/eee-env/bin/python tests/data/logs/make_every_eval_ever.py tests/data/logs

The converter knows no mock model, so that the models of the logs get names of a provider. The
names of the files, which are random, are replaced, also in the records.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from inspect_ai.log import read_eval_log, write_eval_log

IDS = {
    "alpha": "00000000-0000-4000-8000-00000000000a",
    "beta": "00000000-0000-4000-8000-00000000000b",
}


def main(logs):
    out = logs / "every_eval_ever"
    out.mkdir(exist_ok=True)
    os.environ["PYTHONHASHSEED"] = "0"
    for name, new in IDS.items():
        with tempfile.TemporaryDirectory() as folder:
            log = read_eval_log(str(logs / f"probe_{name}.eval"))
            log.eval.model = f"openai/{name}"
            write_eval_log(log, f"{folder}/log.json")
            command = [sys.executable, "-m", "every_eval_ever", "convert", "inspect"]
            command += ["--log_path", f"{folder}/log.json", "--output_dir", f"{folder}/out"]
            command += ["--source_organization_name", "lab", "--evaluator_relationship", "other"]
            subprocess.run(command, check=True)
            (aggregate,) = Path(folder, "out").rglob("*.json")
            for path in aggregate.parent.iterdir():
                text = path.read_text(encoding="utf-8").replace(aggregate.stem, new)
                target = out / path.name.replace(aggregate.stem, new)
                target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
