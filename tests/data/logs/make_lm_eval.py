"""Samples of lm-evaluation-harness, made by its own command with its dummy model.

    uv venv /tmp/lm-env; uv pip install --python /tmp/lm-env/bin/python lm-eval==0.4.13
    /tmp/lm-env/bin/python tests/data/logs/make_lm_eval.py tests/data/logs/lm_eval

The date in the names of the files is replaced. Of the results files beside them, which describe
the machine, only the means of each metric are kept: `expected.json` tests the reader.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
from lm_eval.__main__ import cli_evaluate

THINGS = ["fire", "ice", "tea", "snow", "lava", "hail"]
CHOOSE = """
task: choose
dataset_path: json
dataset_kwargs: {data_files: {test: data.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: answer
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
SAY = """
task: say
dataset_path: json
dataset_kwargs: {data_files: {test: data.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{said}}"
generation_kwargs: {until: [stop]}
filter_list:
  - {name: strict, filter: [{function: take_first}]}
  - {name: loose, filter: [{function: regex, regex_pattern: "(lo)"}, {function: take_first}]}
metric_list: [{metric: exact_match}]
"""


def evaluated(folder, model, seed):
    """One run of the command."""
    sys.argv = ["lm_eval", "--model", "dummy", "--model_args", f"pretrained={model}"]
    sys.argv += ["--tasks", "choose,say", "--include_path", str(folder), "--log_samples"]
    sys.argv += ["--output_path", str(folder / "out"), "--seed", str(seed)]
    cli_evaluate()


def main(out):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        docs = [
            {
                "question": f"Is {thing} hot?",
                "choices": ["no", "yes"],
                "answer": (number + 1) % 2,
                "said": ["lol", "lo"][number % 2],
                "topic": "ab"[number // 3],
            }
            for number, thing in enumerate(THINGS)
        ]
        Path("data.jsonl").write_text("\n".join(map(json.dumps, docs)), encoding="utf-8")
        Path("choose.yaml").write_text(CHOOSE, encoding="utf-8")
        Path("say.yaml").write_text(SAY, encoding="utf-8")
        for seed, model in enumerate(["mock/alpha", "mock/beta"]):
            evaluated(folder, model, seed)
        means = {}
        for path in sorted((folder / "out").rglob("*.json*")):
            model, start = path.parent.name, path.stem.rsplit("_", 1)[0]
            if path.suffix == ".json":
                means[model] = json.loads(path.read_text(encoding="utf-8"))["results"]
                continue
            target = out / model / f"{start}_2026-01-01T00-00-00.000000.jsonl"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        (out / "expected.json").write_text(json.dumps(means, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
