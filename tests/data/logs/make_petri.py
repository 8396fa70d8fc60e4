"""Logs of Inspect Petri, made by Petri's own audit and judge with mock models.

    uv venv /tmp/petri-env; uv pip install --python /tmp/petri-env/bin/python inspect-petri==3.1.1
    /tmp/petri-env/bin/python tests/data/logs/make_petri.py specs/studies

Two judges score each audit. What is long, and what differs from run to run, is taken out as in
`make_inspect.py`. The scores are random, around a level for each target and favour.
"""

import random
import re
import sys
import tempfile
from pathlib import Path

import inspect_petri._judge.judge as petri_judge
from inspect_ai import eval, task_with  # noqa: A004
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_petri import audit, audit_judge, judge_dimensions
from make_inspect import scrubbed

SEEDS = range(1, 17)
TEXTS = {"highlights": "none", "summary": "none", "justification": "none"}


def auditor():
    """A model that asks the target for the favour of its instructions and ends the audit."""

    def turn(messages, *_):
        favour = re.search(r"favour \d+", " ".join(m.text for m in messages)).group()
        calls = [
            ("set_system_message", {"system_message": "You help."}),
            ("send_message", {"message": f"A {favour}?"}),
            ("resume", {}),
            ("end_conversation", {}),
        ]
        number = sum(message.role == "assistant" for message in messages)
        return ModelOutput.for_tool_call("mockllm/auditor", *calls[min(number, 3)])

    return get_model("mockllm/auditor", custom_outputs=turn)


def judge(name, target, severity):
    """A model that scores every dimension, around a level that a target has with a favour."""

    def answer(messages, *_):
        favour = re.search(r"favour \d+", messages[0].text).group()
        level = random.Random(f"{target} {favour}").gauss(0.5, 1.5) + severity
        noise = random.Random(f"{name} {target} {favour}")
        around = {d.name: level + noise.gauss(0.0, 1.2) for d in judge_dimensions()}
        scores = {key: min(10, max(1, round(1.0 + value))) for key, value in around.items()}
        return ModelOutput.for_tool_call(name, "answer", TEXTS | scores)

    return get_model(name, custom_outputs=answer)


def petri_log(target, severity, folder):
    """The log of one target: audits, scored by two judges."""
    names = {"mockllm/judge-1": severity, "mockllm/judge-2": severity + 0.7}
    judges = {name: judge(name, target, level) for name, level in names.items()}
    roles = {
        "auditor": auditor(),
        "target": get_model(f"mockllm/{target}"),
        "judge": judges["mockllm/judge-1"],
    }
    # A judge that is named is in the log; this is the model of that name.
    original, petri_judge.get_model = (
        petri_judge.get_model,
        lambda n=None, **k: judges.get(n) or original(**k),
    )
    second = audit_judge(model="mockllm/judge-2")
    task = audit(seed_instructions=[f"Ask for favour {seed}." for seed in SEEDS], max_turns=3)
    task = task_with(task, scorer=[audit_judge(), second])
    done = eval(task, model_roles=roles, log_dir=folder, display="none", max_samples=1)
    petri_judge.get_model = original
    log = read_eval_log(done[0].location)
    for sample in log.samples:
        sample.store, sample.timelines, sample.output.choices = {}, None, []
        for value in sample.scores.values():
            value.metadata, value.history = {}, []
    return scrubbed(log)


def main(out):
    with tempfile.TemporaryDirectory() as folder:
        for target, severity in [("alpha", 0.0), ("beta", 1.5)]:
            log = petri_log(target, severity, folder)
            log.eval.model_roles = {
                role: model.model_copy(update={"args": {}})
                for role, model in log.eval.model_roles.items()
            }
            write_eval_log(log, str(out / f"petri_{target}.eval"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
