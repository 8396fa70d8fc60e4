"""Test runs and records of other programs: what they hold, and what their readers refuse."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sharpbayes import library
from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import detect_format, read_table
from sharpbayes.data.readers.scored_answers import MAX_LABEL, shorten_text
from sharpbayes.errors import DataError
from sharpbayes.spec.load import load_study
from sharpbayes.spec.panel import Panel

LOGS = Path(__file__).parents[1] / "logs"
STUDIES = library.folder("studies")
RECORD = "00000000-0000-4000-8000-00000000000a"
FILES = {
    "promptfoo.json": "promptfoo",
    "deepeval/test_run_alpha.json": "deepeval",
    f"every_eval_ever/{RECORD}.json": "every-eval-ever",
    f"every_eval_ever/{RECORD}_samples.jsonl": "every-eval-ever",
}


def load(name):
    return json.loads((LOGS / name).read_text(encoding="utf-8"))


def panel(layout, data, indicator, **more):
    plain = {
        "data": data,
        "layout": layout,
        "scales": {"unit": {"bins": [0.2, 0.4, 0.6, 0.8]}},
        "indicators": {indicator: {"scale": "unit", "reverse": True}},
        "dimensions": [{"name": "harm", "mean": [indicator]}],
    }
    return Panel.model_validate(plain | more)


@pytest.mark.parametrize(("name", "layout"), FILES.items())
def test_files_are_recognised(name, layout):
    assert detect_format(LOGS / name) == layout


def test_promptfoo_has_the_scores_that_promptfoo_summed():
    """Its means of each metric and provider; what broke counts there as 0, and is missing here."""
    table = read_table(LOGS, "promptfoo.json", "promptfoo")
    scores = pd.to_numeric(table["score"]).fillna(0.0)
    sums = scores.groupby([table["model"], table["indicator"]]).sum()
    for column in load("promptfoo.json")["results"]["prompts"]:
        for metric, total in column["metrics"]["namedScores"].items():
            assert sums[column["provider"], metric] == pytest.approx(total)
    broken = table[
        (table["judge"] == "file://grader-2.js") & table["prompt"].str.contains("broken")
    ]
    assert broken[["score", "pass"]].to_numpy().tolist() == [["", ""]] * 4
    assert set(table["judge"]) == {"code", "file://grader-1.js", "file://grader-2.js"}


def test_promptfoo_is_a_panel_of_graders():
    roles = {"category": "metadata.topic"}
    graders = ["file://grader-1.js", "file://grader-2.js"]
    study = panel("promptfoo", "promptfoo.json", "kind", roles=roles, judges=graders)
    levels = read_panel(study, LOGS).to_dataset()
    assert dict(levels.sizes) == {"model": 2, "prompt": 3, "judge": 2, "sample": 2, "indicator": 1}
    assert levels["prompt"].values.tolist() == ["Is this broken?", "One?", "Three or more"]
    assert (levels.attrs["missing"], levels.attrs["absent"]) == (4, 0)


def test_lines_of_promptfoo_are_its_results(tmp_path):
    results = load("promptfoo.json")["results"]["results"]
    text = "\n".join(json.dumps(result) for result in results)
    (tmp_path / "promptfoo.jsonl").write_text(text, encoding="utf-8")
    assert detect_format(tmp_path / "promptfoo.jsonl") == "promptfoo"
    lines = read_table(tmp_path, "promptfoo.jsonl", "promptfoo")
    pd.testing.assert_frame_equal(lines, read_table(LOGS, "promptfoo.json", "promptfoo"))


def result(model="m", question="q", template="t", **more):
    assertion = {"type": "llm-rubric"}
    return {
        "provider": {"id": model, "label": ""},
        "vars": {"question": question},
        "prompt": {"label": template, "raw": f"{template} {question}"},
        "testCase": {"assert": [assertion], "options": more.pop("options", None)},
        "gradingResult": more.pop("grading", None)
        or {"componentResults": [{"assertion": assertion, "score": 1, "pass": True}] * 2},
    }


def promptfoo_of(folder, *results):
    content = {"evalId": "e", "results": {"version": 3, "results": results}}
    (folder / "x.json").write_text(json.dumps(content), encoding="utf-8")
    return read_table(folder, "x.json", "promptfoo")


def test_templates_of_a_model_are_parts_of_its_prompts(tmp_path):
    table = promptfoo_of(tmp_path, result(template="a"), result(template="b"))
    assert set(table["prompt"]) == {"a/q", "b/q"}
    # One template for each model is its way of asking the same.
    table = promptfoo_of(tmp_path, result("m", template="a"), result("n", template="b"))
    assert set(table["prompt"]) == {"q"}


def test_equal_assertions_are_numbered_and_graders_named(tmp_path):
    table = promptfoo_of(tmp_path, result(), result(options={"provider": "openai:x"}))
    assert table[["judge", "indicator", "sample"]].to_numpy().tolist() == [
        ["unnamed grader", "llm-rubric", "1"],
        ["unnamed grader", "llm-rubric.2", "1"],
        ["openai:x", "llm-rubric", "2"],
        ["openai:x", "llm-rubric.2", "2"],
    ]


def test_an_answer_that_was_not_graded_is_missing(tmp_path):
    table = promptfoo_of(tmp_path, result(grading={"componentResults": None}))
    assert table[["indicator", "score"]].to_numpy().tolist() == [["llm-rubric", ""]]


def test_deepeval_has_the_scores_that_deepeval_listed():
    table = read_table(LOGS, "deepeval/*.json", "deepeval")
    for model in ("alpha", "beta"):
        for metric in load(f"deepeval/test_run_{model}.json")["metricsScores"]:
            rows = table[(table["model"] == model) & (table["indicator"] == metric["metric"])]
            scores = pd.to_numeric(rows["score"])
            assert scores.dropna().tolist() == metric["scores"]
            assert (scores.isna().sum(), (rows["pass"] == "true").sum()) == (
                metric["errors"],
                metric["passes"],
            )
    assert set(table["judge"]) == {"judge-1", "judge-2", "code"}


def test_deepeval_is_a_panel_of_judges():
    judges = ["judge-1", "judge-2"]
    study = panel("deepeval", "deepeval/*.json", "Harmless [GEval]", judges=judges)
    levels = read_panel(study, LOGS).to_dataset()
    assert dict(levels.sizes) == {"model": 2, "prompt": 6, "judge": 2, "sample": 1, "indicator": 1}
    assert levels.attrs["missing"] == 2


@pytest.mark.parametrize(
    ("run", "model"),
    [({"hyperparameters": {"model": 3}, "identifier": "one"}, "one"), ({}, "run")],
)
def test_the_model_of_deepeval_is_named_by_the_run_or_the_file(tmp_path, run, model):
    metric = {"name": "Bias", "score": 0.5, "success": True}
    case = {"name": "c", "scenario": "s", "turns": [], "metricsData": [metric]}
    content = run | {"conversationalTestCases": [case]}
    (tmp_path / "run.json").write_text(json.dumps(content), encoding="utf-8")
    table = read_table(tmp_path, "run.json", "deepeval")
    assert table[["model", "prompt", "judge"]].to_numpy().tolist() == [[model, "s", "code"]]


def test_every_eval_ever_has_the_scores_that_inspect_gave():
    table = read_table(LOGS, "every_eval_ever/*_samples.jsonl", "every-eval-ever")
    assert (table["sample"] == table["metadata.epoch"]).all()
    inspect = read_table(LOGS, "probe_alpha.eval", "inspect")
    inspect = inspect[inspect["scorer"] == "match"].set_index(["prompt", "sample"])["score"]
    rows = table[table["indicator"] == "match:accuracy"]
    rows = rows[rows["log"].str.startswith(RECORD)].set_index(["prompt", "sample"])
    for cell, score in rows["score"].items():
        assert {"C": "1", "I": "0"}[inspect[cell]] == score
    # The answer that ended in an error has no record.
    assert len(rows) == 11


@pytest.mark.parametrize(
    ("name", "layout", "content", "message"),
    [
        ("x.json", "promptfoo", {"results": {}}, "no list `results.results`"),
        ("x.json", "promptfoo", {"results": {"results": [{}]}}, "result 1 has no `provider`"),
        ("x.json", "deepeval", {"a": []}, "it has no list `testCases`"),
        ("x.json", "deepeval", {"testCases": [{}]}, "test case 1 has no `name`"),
        ("x.jsonl", "every-eval-ever", {"model_id": 1}, "it needs model_id, evaluation_name"),
        ("x.json", "every-eval-ever", {}, "the ratings are in <id>_samples.jsonl"),
    ],
)
def test_other_files_are_refused(tmp_path, name, layout, content, message):
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_table(tmp_path, name, layout)
    assert message in str(error.value)


def test_an_aggregate_record_is_no_rating():
    with pytest.raises(DataError) as error:
        read_table(LOGS, f"every_eval_ever/{RECORD}.json", "every-eval-ever")
    message = "an aggregate record has no ratings, only their summaries; the ratings are in"
    assert str(error.value).endswith(f"{message} {RECORD}_samples.jsonl")


def test_long_texts_are_short_labels_that_differ():
    texts = ["Is it safe? " * 9 + end for end in ("a", "b")] + ["two\nlines", "two lines"]
    labels = [shorten_text(text) for text in texts]
    assert len(set(labels)) == 4
    assert max(map(len, labels)) <= MAX_LABEL


def test_the_shipped_study_of_petri_reads_what_petri_wrote():
    study = load_study("petri").study.spec
    levels = read_panel(study.panel, STUDIES).to_dataset()
    assert levels["model"].values.tolist() == ["mockllm/alpha", "mockllm/beta"]
    # Petri does not log the model of its second judge.
    assert levels["judge"].values.tolist() == ["audit_judge1", "mockllm/judge-1"]
    assert (levels.sizes["prompt"], levels.sizes["indicator"]) == (16, 13)
    assert (levels.attrs["missing"], levels.attrs["absent"]) == (0, 0)
