"""Logs of other programs with any content: a table, or a refusal that names the file."""

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharpbayes.data.readers.formats import FORMATS, detect_format, read_table
from sharpbayes.scaffold.study_file import draft_study
from tests.fuzz.outcomes import fuzzed, outcome

LOGS = Path(__file__).parents[1] / "data" / "logs"
MADE = [
    "old.eval",
    "chunked.eval",
    "probe_gamma.json",
    "label_studio/min.json",
    "label_studio/export.csv",
    "lm_eval/mock__beta/samples_say_2026-01-01T00-00-00.000000.jsonl",
    "prolific.csv",
    "promptfoo.json",
    "deepeval/test_run_beta.json",
    "every_eval_ever/00000000-0000-4000-8000-00000000000a_samples.jsonl",
]
KEYS = st.sampled_from(
    ["id", "epoch", "scores", "value", "metadata", "annotations", "result", "from_name"]
) | st.sampled_from(["completed_by", "annotator", "doc_id", "metrics", "filter", "doc", "a"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def read(path):
    """Read a file as every layout that takes its ending, and write a study for it."""
    for layout, how in FORMATS.items():
        if path.suffix in how.readers:
            outcome(lambda: read_table(path.parent, path.name, layout), place=[str(path)])  # noqa: B023
    names = [path.name, "init"]
    outcome(lambda: draft_study(path, folder=path.parent, copy="c.csv", roles={}), place=names)


@fuzzed
@given(
    name=st.sampled_from(MADE),
    where=st.floats(0, 0.9999),
    how=st.sampled_from(["cut", "flip", "drop"]),
    bit=st.integers(0, 7),
)
def test_damaged_logs(tmp_path, name, where, how, bit):
    content = bytearray((LOGS / name).read_bytes())
    offset = int(where * len(content))
    if how == "flip":
        content[offset] ^= 1 << bit
    else:
        del content[offset : offset + 7 if how == "drop" else None]
    path = tmp_path / Path(name).name
    path.write_bytes(content)
    read(path)


def as_text(value):
    return json.dumps(value, ensure_ascii=True)


@fuzzed
@given(
    samples=st.lists(VALUE | st.fixed_dictionaries({"id": VALUE, "epoch": VALUE, "scores": VALUE}))
)
def test_any_samples_of_inspect(tmp_path, samples):
    head = {"eval": {"task": "t", "model": "m", "scorers": samples, "model_roles": {}}}
    path = tmp_path / "log.json"
    path.write_text(as_text(head | {"samples": samples}), encoding="utf-8")
    read(path)
    packed = tmp_path / "log.eval"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("header.json", as_text(head))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", as_text(sample))
    read(packed)


REGION = st.fixed_dictionaries({"from_name": st.sampled_from("ab"), "value": VALUE})
ANNOTATION = st.fixed_dictionaries({"completed_by": VALUE, "result": VALUE | st.lists(REGION)})
TASK = st.fixed_dictionaries({"id": VALUE, "data": VALUE, "annotations": st.lists(ANNOTATION)})
PLAIN = st.fixed_dictionaries({"id": VALUE, "annotator": VALUE, "s": VALUE})


@fuzzed
@given(export=VALUE | st.lists(TASK | VALUE) | st.lists(PLAIN))
def test_any_export_of_label_studio(tmp_path, export):
    path = tmp_path / "x.json"
    path.write_text(as_text(export), encoding="utf-8")
    read(path)


ROW = st.fixed_dictionaries(
    {"doc_id": VALUE, "doc": VALUE, "filter": VALUE, "metrics": VALUE | st.lists(KEYS), "a": VALUE}
)


@fuzzed
@given(rows=st.lists(ROW | VALUE, max_size=4))
def test_any_samples_of_lm_eval(tmp_path, rows):
    path = tmp_path / "samples_t_2026-01-01T00-00-00.0.jsonl"
    path.write_text("\n".join(map(as_text, rows)), encoding="utf-8")
    read(path)


SCORE = st.fixed_dictionaries(
    {"assertion": VALUE | st.fixed_dictionaries({"type": VALUE, "metric": VALUE}), "score": VALUE},
    optional={"name": st.text(max_size=2), "evaluationModel": VALUE, "error": VALUE, "pass": VALUE},
)
CASE = st.fixed_dictionaries(
    {
        "name": st.text(max_size=2),
        "provider": st.text(max_size=2) | VALUE,
        "vars": VALUE,
        "prompt": VALUE,
        "metadata": VALUE,
        "input": VALUE,
        "testCase": VALUE | st.fixed_dictionaries({"assert": VALUE, "vars": VALUE}),
        "gradingResult": VALUE | st.fixed_dictionaries({"componentResults": st.lists(SCORE)}),
        "metricsData": VALUE | st.lists(SCORE | VALUE),
    }
)


@fuzzed
@given(cases=VALUE | st.lists(CASE | VALUE, max_size=3), parameters=VALUE)
def test_any_test_run(tmp_path, cases, parameters):
    path = tmp_path / "x.json"
    run = {"evalId": "", "results": {"results": cases}, "hyperparameters": parameters}
    path.write_text(as_text(run), encoding="utf-8")
    read(path)
    path.write_text(as_text(run | {"testCases": cases}), encoding="utf-8")
    read(path)


RECORD = st.fixed_dictionaries(
    {
        "model_id": VALUE,
        "evaluation_name": VALUE,
        "sample_id": VALUE,
        "evaluation": VALUE | st.fixed_dictionaries({"score": VALUE}),
        "answer_attribution": VALUE | st.lists(VALUE),
        "metadata": VALUE,
        "evaluation_id": VALUE,
    }
)


@fuzzed
@given(rows=st.lists(RECORD | VALUE, max_size=4))
def test_any_records_of_every_eval_ever(tmp_path, rows):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(as_text, rows)), encoding="utf-8")
    read(path)
    path.with_suffix(".json").write_text(as_text(rows[0] if rows else {}), encoding="utf-8")
    read(path.with_suffix(".json"))


@pytest.mark.parametrize("suffix", [".eval", ".json", ".jsonl", ".csv"])
def test_an_empty_log(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    path.touch()
    detect_format(path)
    read(path)
