"""Rows that repeat a cell: tries of a judge, answers by a seed, judgements by a seed, copies."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from sharpbayes.scaffold.frame import draft_frame
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check

TRIES = (
    '"attempt" is taken to number the tries of a judge to score one answer, because no cell has '
    "more than one try with a score; rows of other tries are left out ({rows}); where the model "
    "answered again, name it with {option}sample=attempt"
)


def judged():
    """Scores of two models by two judges, of 30 prompts."""
    rows = [(m, f"p{n}", j) for m in ("alpha", "beta") for n in range(30) for j in ("x", "y")]
    table = pd.DataFrame(rows, columns=["model", "prompt", "judge"])
    return table.assign(harm_score=np.arange(len(table)) % 5, bias_score=np.arange(len(table)) % 4)


def start(folder, table, **roles):
    table.to_csv(folder / "data.csv", index=False)
    draft = write_study(folder / "data.csv", folder / "study.toml", roles=roles)
    panel = tomllib.loads(draft.text)["panel"]
    return draft.assumptions, panel, check(load_study(folder / "study.toml")).counts


def tried_again():
    """Scores of which three failed and were tried again, one of them in vain."""
    table = judged().assign(attempt=1, status="ok").astype(object)
    failed = table.iloc[[3, 50, 90]].assign(harm_score="", bias_score="", status="parse_error")
    last = failed.tail(1).assign(attempt=2)
    again = table.iloc[[3, 50]].assign(attempt=2)
    return pd.concat([table.drop(index=[3, 50, 90]), failed, again, last])


def test_a_judge_who_tries_again_gives_one_score(tmp_path):
    """A second try was a second answer of the model, and the first one a missing score."""
    assumptions, panel, counts = start(tmp_path, tried_again())
    assert panel["roles"] == {"model": "model", "prompt": "prompt", "judge": "judge"}
    assert TRIES.format(rows=3, option="--role ") in assumptions
    assert (counts["ratings"], counts["missing"]) == (238, 2)


def test_a_column_of_tries_without_a_further_row_numbers_no_answers(tmp_path):
    table = judged().assign(attempt=np.resize([1, 1, 2], 120))
    assumptions, panel, counts = start(tmp_path, table)
    assert "sample" not in panel["roles"]
    assert TRIES.format(rows=0, option="--role ") in assumptions
    assert (counts["ratings"], counts["missing"]) == (240, 0)


def test_tries_of_a_dataframe_are_left_out_too():
    text, path = draft_frame(tried_again(), "panel", {"title": "t", "seed": 1})
    assert f"# CHECK: {TRIES.format(rows=3, option='')}\n" in text
    assert len(path.files["frame.csv"].decode().splitlines()) == 1 + 120


def test_attempts_that_all_have_scores_are_answers_and_it_is_said(tmp_path):
    table = pd.concat([judged().assign(attempt=number) for number in (1, 2)])
    assumptions, panel, _ = start(tmp_path, table)
    assert panel["roles"]["sample"] == "attempt"
    assert [text for text in assumptions if "attempt" in text] == [
        '"attempt" is taken to number the answers of a model to one prompt (samples); where it '
        "numbers scores of the same answer, name it with --role trial=attempt"
    ]


@pytest.mark.parametrize("role", ["sample", "trial"])
def test_a_named_column_of_tries_has_its_role(tmp_path, role):
    _, panel, counts = start(tmp_path, tried_again(), **{role: "attempt"})
    assert panel["roles"][role] == "attempt"
    assert counts[role] == 2


def answered(**columns):
    """Six rows for each cell, which differ in columns of settings."""
    parts = []
    for seed in (11, 12, 13):
        for temperature in (0.0, 1.0):
            values = {"seed": seed, "temperature": temperature}
            named = {name: values[setting] for name, setting in columns.items()}
            parts.append(judged().drop(columns="bias_score").assign(**named))
    return pd.concat(parts)


def test_answers_by_seed_and_temperature_are_samples(tmp_path):
    """They were trials, of which a mean is taken, and no message named the columns."""
    table = answered(seed="seed", temperature="temperature")
    table["harm_score"] = np.arange(len(table)) % 5
    assumptions, panel, counts = start(tmp_path, table)
    assert panel["roles"]["sample"] == "sample"
    assert (
        'some cells are rated more than once, once for each "seed", "temperature"; the repeats are '
        "numbered; where they are versions to compare, add them to the name of the model"
    ) in assumptions
    assert (counts["sample"], counts["ratings"]) == (6, len(table))


def test_seeds_that_differ_everywhere_number_few_answers(tmp_path):
    table = answered().assign(seed=lambda x: np.arange(len(x)))
    assert start(tmp_path, table[table["judge"] == "x"])[2]["sample"] == 6


def test_scores_of_an_answer_with_one_seed_are_its_trials(tmp_path):
    table = answered(seed="seed")
    table["harm_score"] = np.arange(len(table)) % 5
    assumptions, panel, counts = start(tmp_path, table)
    assert (panel["roles"]["trial"], counts["sample"], counts["trial"]) == (True, 3, 2)
    assert any(text.startswith("rows that repeat a cell (360 of 720) are") for text in assumptions)


def test_seeds_of_a_judge_number_trials_and_are_named(tmp_path):
    table = answered(judge_seed="seed")[:360]
    table["harm_score"] = np.arange(len(table)) % 5
    assumptions, panel, _ = start(tmp_path, table)
    assert panel["roles"]["trial"] is True
    assert (
        'rows that repeat a cell (240 of 360), once for each "judge_seed", are taken as the same '
        "judge's scores of the same answer (trials); where the model answered again, name the "
        "number of the answer as `sample` instead; where they are answers of another release, give "
        "its model another name"
    ) in assumptions


def test_copies_of_rows_are_counted(tmp_path):
    """Rows with the same time were repeated judgements without a word."""
    table = judged().assign(
        timestamp=[f"2026-05-01T09:{n // 60:02}:{n % 60:02}Z" for n in range(120)]
    )
    assumptions, *_ = start(
        tmp_path, pd.concat([table, table[:5], table[5:8].assign(timestamp="")])
    )
    assert (
        "rows that equal an earlier row in every column (5 of 128) count as further ratings; where "
        "they are copies, remove them from the data"
    ) in assumptions
    assert any(
        text.startswith("rows that repeat a cell (8 of 128) are taken") for text in assumptions
    )
