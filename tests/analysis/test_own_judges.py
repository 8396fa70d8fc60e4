"""Judges who are models of the study, or of their family."""

import json

import pytest

from sharpbayes.data.own_judges import HELP
from sharpbayes.report.summary import answer
from sharpbayes.report.tables.check import study_summary_tables
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from tests.panels import frame, measured

FAMILY = '[panel.families]\none = { models = ["m0"], judges = ["bob"] }\n'
TITLE = "CHECK: judges score their own answers"


def renamed(table, **judges):
    """A panel file with other names of judges."""
    return table.assign(judge=table["judge"].replace(judges))


def checked(tmp_path):
    """The tables of the check that name judges who score their own answers:"""
    summary = check(load_study(tmp_path / "study.toml"))
    return [table for table in study_summary_tables(summary) if table.title == TITLE]


@pytest.mark.parametrize(
    ("judges", "tables", "pairs", "sentence"),
    [
        ({"ann": "M-0"}, "", (("M-0", "m0"),), "The judge M-0 scores its own answers:"),
        (
            {"ann": "m0", "cat": "M 1"},
            "",
            (("M 1", "m1"), ("m0", "m0")),
            "The judges M 1 and m0 score their own answers:",
        ),
        (
            {},
            FAMILY,
            (("bob", "m0"),),
            "The judge bob scores its own answers or those of its family:",
        ),
    ],
)
def test_a_judge_who_is_a_model_is_named(tmp_path, judges, tables, pairs, sentence):
    results = measured(tmp_path, renamed(frame(prompts=40), **judges), tables=tables)
    declared = "" if tables else "with `[panel.families]` in the study "
    favour = "it favours" if len(pairs) == 1 else "they favour"
    text = f"{sentence} {declared}{HELP.format(favour)}"
    assert text in answer(results)
    assert text in json.loads(results["evidence"].attrs["remarks"])
    [table] = checked(tmp_path)
    assert (table.rows, table.note) == (pairs, text)


def test_judges_who_scored_no_answer_of_their_own_are_not_named(tmp_path):
    table = renamed(frame(prompts=40), ann="m0")
    results = measured(tmp_path, table[(table["model"] != "m0") | (table["judge"] != "m0")])
    assert "own answers" not in " ".join(answer(results))
    assert checked(tmp_path) == []


def test_an_answer_that_depends_on_a_judge_says_that_it_is_a_model(tmp_path):
    table = frame(models=2, prompts=200)
    harsh = (table["judge"] == "ann") & (table["model"] == "m1")
    scores = ["bias_a", "bias_b"]
    table[scores] = table[scores] // 2
    table.loc[harsh, scores] = 10
    table.loc[(table["model"] == "m0") & (table["judge"] != "ann"), scores] += 2
    text = " ".join(answer(measured(tmp_path, renamed(table, ann="m1"))))
    assert "The answer depends on the judge m1 (it scores its own answers): without it " in text
