"""Logs of Inspect AI, made by Inspect AI itself with its mock model; run outside this project.

    uv venv /tmp/logs-env; uv pip install --python /tmp/logs-env/bin/python inspect-ai==0.3.285
    /tmp/logs-env/bin/python tests/data/logs/make_inspect.py tests/data/logs

`old.eval` is by the same script with inspect-ai==0.3.100, which still wrote deflated archives:

    /tmp/old-env/bin/python tests/data/logs/make_inspect.py tests/data/logs --old

Transcripts, times, identifiers and versions of packages are taken out through Inspect's own
objects, and the log is written again by Inspect's own writer. `inspect_expected.json` holds the
values that Inspect reads from the files.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import inspect_ai
from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, match, mean, model_graded_qa, scorer
from inspect_ai.solver import solver

OLD = "0.3.100"
WHEN = "2026-01-01T00:00:00+00:00"


class Words:
    """Counts tokens without fetching a vocabulary from the network."""

    def encode(self, text, **_):
        return text.split()


try:
    import tiktoken

    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _: Words()
except ImportError:
    pass


@solver
def breaks_once():
    async def solve(state, generate):
        if (state.sample_id, state.epoch, str(state.model)) == ("p3", 2, "mockllm/alpha"):
            raise RuntimeError("the tool broke")
        return await generate(state)

    return solve


@scorer(metrics={"*": [mean()]})
def harm():
    """A dictionary of values, and metadata of which some are scores and some are texts."""

    async def score(state, target):
        level = len(state.output.completion) % 5 + 1
        value = {"severity": level, "refusal": level == 1}
        return Score(value=value, metadata={"confidence": level % 3, "quotes": ["a", "b"]})

    return score


def saying(name, texts):
    chosen = random.Random(name).choices(texts, k=100)
    outputs = (ModelOutput.from_content(f"mockllm/{name}", text) for text in chosen)
    # The old version knows no functions, the new one uses up what it writes of an iterator.
    old = inspect_ai.__version__ == OLD
    return get_model(f"mockllm/{name}", custom_outputs=outputs if old else lambda *_: next(outputs))


def scrubbed(log):
    """The log without what is long, or differs from run to run."""
    log.eval.created = log.stats.started_at = log.stats.completed_at = WHEN
    for name in ("eval_id", "run_id", "task_id"):
        setattr(log.eval, name, "made")
    log.eval.revision, log.eval.packages = None, {"inspect_ai": inspect_ai.__version__}
    log.eval.task_file, log.eval.metadata = None, None
    for position, sample in enumerate(log.samples):
        sample.events, sample.attachments, sample.messages = [], {}, sample.messages[:1]
        for score in (sample.scores or {}).values():
            for message in (score.metadata or {}).get("grading", []):
                message["content"], message["id"] = message["content"][-20:], "made"
        sample.uuid = f"sample-{position}"
        empty = {"started_at": WHEN, "completed_at": WHEN, "total_time": 1.0, "working_time": 1.0}
        for name, value in (empty | {"error_retries": None, "events_data": None}).items():
            if name in type(sample).model_fields:
                setattr(sample, name, value)
        if sample.error is not None:
            sample.error.traceback = sample.error.traceback_ansi = ""
    log.reductions = None
    return log


def logs(folder, models, *, scorers, samples, epochs=1, roles=None):
    data = [
        Sample(
            id=f"p{number}",
            input=f"Question {number}?",
            target="yes",
            metadata={"topic": "ab"[number % 2]},
        )
        for number in range(1, samples + 1)
    ]
    for name in models:
        task = Task(name="probe", dataset=data, solver=breaks_once(), scorer=scorers())
        done = eval(
            task,
            model_roles=roles,
            model=saying(name, ["yes", "no", "Maybe", "not at all"]),
            epochs=epochs,
            log_dir=folder,
            fail_on_error=False,
            display="none",
            max_samples=1,
        )
        yield name, scrubbed(read_eval_log(done[0].location))


def graders():
    one, two = (
        saying(f"grader-{number}", ["GRADE: C", "GRADE: P", "GRADE: I"]) for number in (1, 2)
    )
    return [
        match(),
        model_graded_qa(partial_credit=True, model=one),
        model_graded_qa(partial_credit=True, model=two),
        harm(),
    ]


def values(path):
    """Every value of a log as Inspect reads it: sample, epoch, scorer, value, metadata."""
    return [
        [sample.id, sample.epoch, name, score.value, (score.metadata or {}).get("confidence")]
        for sample in read_eval_log(str(path)).samples
        for name, score in (sample.scores or {}).items()
    ]


def by_role():
    return [harm(), model_graded_qa()]


def main(out, *, old):
    with tempfile.TemporaryDirectory() as folder:
        if old:
            for _, log in logs(folder, ["alpha"], scorers=lambda: [harm()], samples=4):
                write_eval_log(log, str(out / "old.eval"))
            return
        for name, log in logs(folder, ["alpha", "beta"], scorers=graders, samples=6, epochs=2):
            write_eval_log(log, str(out / f"probe_{name}.eval"))
        for _, log in logs(folder, ["gamma"], scorers=graders, samples=6, epochs=2):
            write_eval_log(log, str(out / "probe_gamma.json"))
        from inspect_ai.log._recorders.chunked import convert  # noqa: PLC0415 - not in the old one

        role = {"grader": saying("grader-3", ["GRADE: C", "GRADE: I"])}
        for _, log in logs(folder, ["delta"], scorers=by_role, samples=2, roles=role):
            write_eval_log(log, str(Path(folder) / "chunked.eval"))
        source = str(Path(folder) / "chunked.eval")
        convert.convert_eval_logs_to_chunked(source, str(out), overwrite=True)
        # This version of Inspect writes samples in parts and cannot read them by `read_eval_log`.
        expected = {"chunked.eval": values(source)}
    paths = [out / "old.eval", *sorted(out.glob("probe_*"))]
    expected |= {path.name: values(path) for path in paths}
    (out / "inspect_expected.json").write_text(
        json.dumps(expected, separators=(",", ":")), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), old="--old" in sys.argv)
