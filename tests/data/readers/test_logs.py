"""Logs that other programs wrote, read as those programs read them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import detect_format, read_table
from sharpbayes.data.readers.paths import find_files
from sharpbayes.errors import DataError
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel

LOGS = Path(__file__).parents[1] / "logs"
INSPECT = json.loads((LOGS / "inspect_expected.json").read_text(encoding="utf-8"))
GRADE = {"kind": "categorical", "levels": ["C", "P", "I"]}


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def expected(name):
    """What Inspect itself read of a log: text by sample, epoch, scorer and indicator."""
    cells = {}
    for sample, epoch, scorer, value, confidence in INSPECT[name]:
        values = value if isinstance(value, dict) else {"value": value}
        more = {} if confidence is None else {"metadata.confidence": confidence}
        for indicator, level in (values | more).items():
            cells[sample, str(epoch), scorer, indicator] = as_text(level)
    return cells


@pytest.mark.parametrize("name", INSPECT)
def test_inspect_logs_hold_what_inspect_reads_in_them(name):
    table = read_table(LOGS, name, "inspect")
    keys = table[["prompt", "sample", "scorer", "indicator"]].itertuples(index=False, name=None)
    score_of = dict(zip(keys, table["score"], strict=True))
    assert len(score_of) == len(table)
    assert {key: score for key, score in score_of.items() if score} == expected(name)


def panel(**more):
    plain = {
        "data": "probe_*",
        "layout": "inspect",
        "scales": {"grade": GRADE, "five": {"kind": "ordinal", "min": 1, "max": 5}},
        "indicators": {"value": "grade"},
        "dimensions": [{"name": "wrong", "mean": ["value"]}],
        "judges": ["match", "mockllm/grader-1", "mockllm/grader-2"],
    }
    return Panel.model_validate(plain | more)


def test_many_logs_are_many_models_and_graders_are_judges():
    levels = read_panel(panel(roles={"category": "metadata.topic"}), LOGS).to_dataset()
    assert dict(levels.sizes) == {"model": 3, "prompt": 6, "judge": 3, "sample": 2, "indicator": 1}
    assert levels["category"].to_numpy().tolist() == ["b", "a", "b", "a", "b", "a"]
    scorer = dict(
        zip(levels["judge"].values, ["match", "model_graded_qa", "model_graded_qa1"], strict=True)
    )
    for file, model in (("probe_beta.eval", "beta"), ("probe_gamma.json", "gamma")):
        cells = expected(file)
        for judge, name in scorer.items():
            scores = levels["score"].sel(model=f"mockllm/{model}", judge=judge, indicator="value")
            for (prompt, epoch, of, _), grade in cells.items():
                if of == name:
                    assert int(scores.sel(prompt=prompt, sample=epoch)) == "CPI".index(grade)


def test_a_sample_that_ended_in_an_error_is_missing_and_counted():
    levels = read_panel(panel(), LOGS).to_dataset()
    broken = levels["score"].sel(model="mockllm/alpha", prompt="p3", sample="2")
    assert (broken == -1).all()
    counts = {name: levels.attrs[name] for name in ("missing", "absent", "unscored_samples")}
    assert counts == {"missing": 3, "absent": 0, "unscored_samples": 1}


def test_scorers_can_be_indicators_of_one_judge():
    roles = {"judge": "task", "indicator": "measure"}
    indicators = {"match": "grade", "harm.severity": "five", "harm.metadata.confidence": "five"}
    dimensions = [{"name": "d", "rms": list(indicators)}]
    with pytest.raises(DataError, match=r"off the scale \(allowed: 1, 2, 3, 4, 5\)"):
        read_panel(
            panel(roles=roles, indicators=indicators, judges=None, dimensions=dimensions), LOGS
        ).to_dataset()
    indicators["harm.metadata.confidence"] = "ten"
    scales = {"grade": GRADE, "five": {"kind": "ordinal", "min": 1, "max": 5}}
    scales["ten"] = {"kind": "ordinal", "min": 0, "max": 10}
    more = {"indicators": indicators, "scales": scales, "dimensions": dimensions, "judges": None}
    levels = read_panel(panel(roles=roles, **more), LOGS).to_dataset()
    assert levels["judge"].values.tolist() == ["probe"]
    cells = expected("probe_beta.eval")
    probed = levels["score"].sel(model="mockllm/beta", judge="probe", prompt="p4", sample="2")
    assert probed.values.tolist() == [
        "CPI".index(cells["p4", "2", "match", "value"]),
        int(cells["p4", "2", "harm", "severity"]) - 1,
        int(cells["p4", "2", "harm", "metadata.confidence"]),
    ]


def log_of(folder, name="log.json", task="t", model="m", samples=(), **spec):
    spec = {"task": task, "model": model, **spec}
    log = {"eval": spec, "samples": list(samples)}
    (folder / name).write_text(json.dumps(log), encoding="utf-8")


def sample(name, epoch=1, **scores):
    return {"id": name, "epoch": epoch, "scores": {k: {"value": v} for k, v in scores.items()}}


def test_graders_come_from_the_scorer_or_from_the_role_that_it_names(tmp_path):
    scorers = [
        {"name": "a", "options": {"model": "one"}},
        {"name": "a", "options": {"model_role": "grader"}},
        {"name": "b", "options": {"model": {"model": "one"}}},
        {"name": "c"},
        {"name": "model_graded_qa", "options": {"model": ["one", "two"]}},
    ]
    log_of(
        tmp_path,
        samples=[sample(1, a="C", a1="P", b=2, c=True, model_graded_qa="C")],
        scorers=scorers,
        model_roles={"grader": {"model": "two"}},
    )
    table = read_table(tmp_path, "log.json", "inspect")
    judges_of_model = {"model_graded_qa": "model_graded_qa"}
    judges = dict(zip(table["scorer"], table["judge"], strict=True))
    assert judges == {"a": "a by one", "a1": "two", "b": "b by one", "c": "c", **judges_of_model}


def test_the_grader_of_a_run_is_the_judge():
    table = read_table(LOGS, "chunked.eval", "inspect")
    assert set(table["judge"]) == {"harm", "mockllm/grader-3"}


def test_prompts_of_several_tasks_are_told_apart_and_lists_are_numbered(tmp_path):
    log_of(tmp_path, "x.json", task="t", samples=[sample(1, s=[3, float("nan")])])
    log_of(tmp_path, "y.json", task="u", samples=[sample(1, s=None), sample(2, s=1.0)])
    table = read_table(tmp_path, "*.json", "inspect")
    columns = ["prompt", "indicator", "score"]
    assert table[columns].to_numpy().tolist() == [
        ["t/1", "value.1", "3"],
        ["t/1", "value.2", ""],
        ["u/1", "value", ""],
        ["u/2", "value", "1"],
    ]


def test_what_was_declared_invalid_is_missing(tmp_path):
    wrong = sample(2, s=1) | {"invalidation": {"reason": "leaked"}}
    log_of(tmp_path, samples=[sample(1, s=1), wrong])
    table = read_table(tmp_path, "log.json", "inspect")
    assert table["score"].tolist() == ["1", ""]
    assert table.attrs == {"unscored_samples": 1}


def test_why_a_score_is_missing_is_read_and_counted_by_model(tmp_path):
    unscored = {"value": float("nan")}
    refused = sample(1, s=1) | {"scores": {"s": unscored | {"reason": "refusal"}}}
    older = sample(2) | {"scores": {"s": unscored | {"metadata": {"unscored_reason": "refusal"}}}}
    wrong = sample(3) | {"invalidation": {"reason": "leaked"}}
    failed = sample(4) | {"error": {"message": "no answer in time"}}
    silent = sample(5, other=1) | {"scores": {"other": {"value": 1}}}
    bare = sample(6) | {"scores": {"s": unscored}}
    rows = [refused, older, wrong, failed, silent, bare, sample(7, s=2)]
    log_of(tmp_path, samples=rows, scorers=[{"name": "s"}])
    table = read_table(tmp_path, "log.json", "inspect")
    of_scorer = table[(table["scorer"] == "s") & (table["indicator"] == "value")]
    reasons = ["refusal", "refusal", "invalidated", "sample_error", "not_scored", "", ""]
    assert of_scorer["reason"].tolist() == reasons
    five = {"kind": "ordinal", "min": 1, "max": 5}
    study = panel(data="log.json", judges=["s"], scales={"five": five})
    study = Panel.model_validate(
        study.model_dump(exclude_unset=True) | {"indicators": {"value": "five"}}
    )
    counts = read_panel(study, tmp_path).missing_reasons
    assert {reason: number.tolist() for reason, number in counts.items()} == {
        "refusal": [2],
        "invalidated": [1],
        "not given": [1],
        "not_scored": [1],
        "sample_error": [1],
    }


def test_two_logs_of_one_model_repeat_cells_unless_logs_are_the_models(tmp_path):
    for name in ("x.json", "y.json"):
        log_of(tmp_path, name, samples=[sample(1, s="C")])
    twice = panel(data="*.json", judges=None)
    with pytest.raises(DataError, match="1 row repeats a cell"):
        read_panel(twice, tmp_path).to_dataset()
    apart = read_panel(
        panel(data="*.json", judges=None, roles={"model": "log"}), tmp_path
    ).to_dataset()
    assert apart["model"].values.tolist() == ["x", "y"]


def test_lm_eval_samples_have_the_means_that_lm_eval_found():
    means = json.loads((LOGS / "lm_eval" / "expected.json").read_text(encoding="utf-8"))
    table = read_table(LOGS, "lm_eval/*/samples_*.jsonl", "lm-eval")
    table["score"] = table["score"].astype(float)
    summary = table.groupby(["model", "task", "indicator", "judge"])["score"].agg(["mean", "size"])
    assert len(summary) == 8
    assert (summary["size"] == 6).all()
    for (model, task, metric, rule), mean in summary["mean"].items():
        assert mean == pytest.approx(means[model][task][f"{metric},{rule}"])
    assert set(table["prompt"]) == {
        f"{t}/{question}" for t in ("say", "choose") for question in range(6)
    }


def test_lm_eval_is_a_panel_of_filters():
    study = panel(
        data="lm_eval/*/samples_say_*.jsonl",
        layout="lm-eval",
        scales={"right": {"kind": "boolean"}},
        indicators={"exact_match": {"scale": "right", "reverse": True}},
        dimensions=[{"name": "wrong", "mean": ["exact_match"]}],
        judges=None,
        roles={"category": "doc.topic"},
    )
    levels = read_panel(study, LOGS).to_dataset()
    assert levels["model"].values.tolist() == ["mock__alpha", "mock__beta"]
    assert levels["judge"].values.tolist() == ["loose", "strict"]
    assert levels["category"].values.tolist() == ["a", "a", "a", "b", "b", "b"]


@pytest.mark.parametrize("name", ["samples.jsonl", "samples_say_2026-01-01T00-00-00.0.jsonl"])
def test_what_lm_eval_did_not_write_is_refused(tmp_path, name):
    (tmp_path / name).write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"not named samples_|no sample of lm_eval"):
        read_table(tmp_path, name, "lm-eval")


def crowd(name, **more):
    plain = {
        "data": name,
        "layout": "label-studio",
        "roles": {"score": "severity"},
        "scale": {"kind": "ordinal", "min": 1, "max": 5},
        "labels": {"from": "crowd", "cut": 2},
    }
    return Crowd.model_validate(plain | more)


@pytest.mark.parametrize("name", ["full.json", "min.json", "export.csv"])
def test_label_studio_says_the_same_in_every_export(name):
    """Each rating is (3 item + 2 person) mod 5 + 1; see `make_label_studio.py`."""
    data = read_crowd(
        crowd(name, roles={"score": "severity", "time": "created_at"}), LOGS / "label_studio"
    )
    item = [int(data.item.labels[code]) for code in data.item.codes]
    rater = [int(data.rater.labels[code]) for code in data.rater.codes]
    cells = list(zip(item, rater, strict=True))
    everyone = {(i, r) for i in range(1, 9) for r in (1, 2, 3)}
    assert set(cells) == everyone - {(2, 2), (5, 3)}
    assert data.score.tolist() == [(3 * i + 2 * (r - 1)) % 5 for i, r in cells]
    # JSON alone holds the annotation that was skipped.
    assert data.counts["missing"] == (2 if name == "full.json" else 1)
    first = pd.Timestamp("2026-01-01T10:00:00Z").timestamp()
    assert np.nanmin(data.time) == first


def test_a_choice_is_a_score_too():
    scale = {"kind": "boolean"}
    labels = {"from": "crowd", "cut": 1}
    for name in ("full.json", "min.json", "export.csv"):
        study = crowd(name, roles={"score": "unsafe"}, scale=scale, labels=labels)
        data = read_crowd(study, LOGS / "label_studio")
        assert data.score.sum() == sum(
            (3 * i + 2 * r) % 5 >= 3 for i in range(1, 9) for r in range(3) if (i, r) != (5, 2)
        )


def test_texts_without_annotations_are_passed_over(tmp_path):
    person = {"id": 7, "email": "a@example.org"}
    task = {"id": 1, "data": {"text": "x"}, "annotations": []}
    rated = {
        "completed_by": person,
        "result": [{"from_name": "s", "value": {"choices": ["a", "b"]}}],
    }
    tasks = [task, task | {"id": 2, "annotations": [rated]}]
    (tmp_path / "x.json").write_text(json.dumps(tasks), encoding="utf-8")
    table = read_table(tmp_path, "x.json", "label-studio")
    assert table[["id", "annotator", "s"]].to_numpy().tolist() == [
        ["2", "a@example.org", '["a", "b"]']
    ]


def test_prolific_keeps_the_best_submission_and_drops_what_was_withheld():
    table = read_table(LOGS, "prolific.csv", "prolific").set_index("Participant id")
    assert table["Submission id"].to_dict() == {"1": "s01", "2": "s03", "3": "s04", "4": "s05"}
    assert table["Ethnicity simplified"].tolist() == ["White", "Black", "", "Asian"]
    assert table.loc["3", ["Age", "Sex"]].tolist() == ["", "Female"]


def test_of_equal_submissions_the_last_counts_over_all_files(tmp_path):
    head = "Submission id,Participant id,Status,Sex"
    for name, rows in (("x.csv", "s1,1,APPROVED,a\ns2,1,RETURNED,b"), ("y.csv", "s3,1,approved,c")):
        (tmp_path / name).write_text(f"{head}\n{rows}\n", encoding="utf-8")
    table = read_table(tmp_path, "*.csv", "prolific")
    assert table.to_numpy().tolist() == [["s3", "1", "approved", "c"]]


def test_prolific_is_joined_to_ratings():
    raters = {"data": "../prolific.csv", "key": "Participant id", "layout": "prolific"}
    data = read_crowd(crowd("min.json", raters=raters, groups=[["Sex"]]), LOGS / "label_studio")
    assert data.rater_columns["Sex"].tolist() == ["Female", "Male", "Female"]


LOOKS = {
    "probe_alpha.eval": "inspect",
    "probe_gamma.json": "inspect",
    "lm_eval/mock__beta/samples_say_2026-01-01T00-00-00.000000.jsonl": "lm-eval",
    "label_studio/full.json": "label-studio",
    "label_studio/min.json": "label-studio",
    "label_studio/export.csv": "label-studio",
    "prolific.csv": "prolific",
    "make_inspect.py": None,
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_log_is_known_by_its_start(name):
    assert detect_format(LOGS / name) == LOOKS[name]


def test_plain_tables_have_no_layout(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    assert [detect_format(tmp_path / name) for name in ("x.csv", "x.jsonl")] == [None, None]


def test_a_pattern_may_be_of_folders_beside_each_other(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").touch()
    paths = find_files(tmp_path, "*/x.csv")
    assert [path.parent.name for path in paths] == ["a", "b"]
    with pytest.raises(DataError, match=r"not '\*\*'"):
        find_files(tmp_path, "**/x.csv")


WRONG = {
    "a.eval": ("inspect", "not a zip", "cannot be read"),
    "a.csv": ("inspect", "a,b\n1,2\n", "unknown kind of file '.csv' for layout 'inspect', allowed"),
    "a.json": ("inspect", "{}", "not a log of Inspect AI: it has no samples"),
    "b.json": ("inspect", '{"samples": [], "eval": {}}', "does not say which model"),
    "c.json": ("inspect", '{"a": 1,\n\n"b": }', "c.json:3: not JSON"),
    "d.json": ("inspect", '{"a": 1, "a": 2}', "key 'a' stands twice"),
    "e.json": ("inspect", "[" * 100_000, "not JSON"),
    "f.json": ("inspect", '{"samples": [], "eval": {"task": "t", "model": "m"}}', "no rows"),
    "g.json": ("label-studio", '{"a": 1}', "no list of tasks or annotations"),
    "h.json": ("label-studio", '[{"a": 1}]', "no export of Label Studio"),
    "i.json": ("label-studio", '[{"annotations": 3}]', "a task without `id`"),
    "j.csv": ("prolific", "a,b\n1,2\n", "no such column for the participant"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_something_else_is_refused_by_name(tmp_path, name):
    layout, text, message = WRONG[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_table(tmp_path, name, layout)
    assert message in str(raised.value)
    assert name in str(raised.value)
