"""Repeated judgements: how a panel reads, refuses, numbers and counts them."""

import numpy as np
import pandas as pd

from sharpbayes.data.panel import melt_panel, read_panel
from sharpbayes.data.trials import Repeats, count_repeats
from sharpbayes.spec.load import load_study
from tests.data.tables import PANEL, WIDE, error_text, long_form, panel, write

ROLES = PANEL["roles"]
# The judge j scores the answer of model x to prompt 1 three times, all others once.
TWICE = pd.concat([WIDE, WIDE[:1].assign(sev="3"), WIDE[:1].assign(sev="2", good="no")])


def trials_of(table, folder, **roles):
    return read_panel(panel(roles=ROLES | roles), write(folder, table))


def test_rows_that_repeat_a_cell_are_its_trials(tmp_path):
    ratings = trials_of(TWICE, tmp_path, trial=True)
    score = ratings.to_dataset()["score"]
    assert score.dims == ("model", "prompt", "judge", "trial", "indicator")
    assert score["trial"].values.tolist() == ["1", "2", "3"]
    cell = score.sel(model="x", prompt="1", judge="j")
    assert cell.values.tolist() == [[0, 1], [2, 1], [1, 0]]
    assert score.sel(model="y", judge="k").isel(trial=[1, 2]).max() == -1
    # the 8 cells of either indicator all have a row: one score is empty, none is absent
    assert ratings.counts == {"ratings": 19, "missing": 1, "absent": 0}


def test_a_column_numbers_trials_within_each_cell(tmp_path):
    numbered = TWICE.assign(run=["b7", *[f"a{n}" for n in range(1, 8)], "a9", "c1"])
    score = trials_of(numbered, tmp_path, trial="run").to_dataset()["score"]
    # a9 < b7 < c1: the order of the column's values in the cell, whatever other cells have
    assert score.sel(model="x", prompt="1", judge="j", indicator="sev").values.tolist() == [2, 0, 1]
    assert score.sizes["trial"] == 3


def test_long_and_wide_trials_are_the_same(tmp_path):
    numbered = TWICE.assign(run=[*["1"] * 8, "2", "3"])
    wide = trials_of(numbered, tmp_path, trial="run").to_dataset()
    _, spec = long_form()
    melted = numbered.melt(["m", "p", "j", "kind", "run"], ["sev", "good"], "what", "score")
    roles = spec.roles.model_copy(update={"trial": "run"})
    long = read_panel(spec.model_copy(update={"roles": roles}), write(tmp_path, melted))
    assert long.to_dataset().identical(wide)
    rows = spec.model_copy(update={"roles": spec.roles.model_copy(update={"trial": True})})
    assert read_panel(rows, tmp_path).to_dataset().identical(wide)


def test_every_trial_is_a_rating_of_a_model(tmp_path):
    ratings = melt_panel(trials_of(TWICE, tmp_path, trial=True), panel())
    assert len(ratings.score) == 19
    assert np.bincount(ratings.factors["trial"].codes).tolist() == [15, 2, 2]


def test_the_refusal_names_the_column_that_tells_repeats_apart(tmp_path):
    write(tmp_path, TWICE.assign(seed=range(10), attempt_no=range(10)))
    text = error_text(lambda: read_panel(panel(), tmp_path), tmp_path)
    assert text == (
        "t.csv: m, p, j: 2 rows repeat a cell: rows 10, 11; the first is m 'x', p '1', j 'j'; if "
        "they are answers of another release, such as anchors of the gate, give its model another "
        'name; if the judge scored the same answer again, write roles = {model = "m", prompt = '
        '"p", judge = "j", category = "kind", trial = "attempt_no"}; if the model answered again, '
        "name the column that numbers its answers as `sample`"
    )


def test_the_line_of_the_refusal_is_read(tmp_path):
    write(tmp_path, TWICE)
    text = error_text(lambda: read_panel(panel(), tmp_path), tmp_path)
    line = text.partition("write ")[2].partition("; if")[0]
    study = tmp_path / "study.toml"
    rest = 'data = "t.csv"\nlayout = "wide"\nscales.s = { kind = "ordinal", min = 1, max = 3 }'
    rest += '\nindicators.sev = "s"\ndimensions = [{ name = "d", rms = ["sev"] }]'
    head = 'schema = "sharpbayes/study/2"\ntitle = "t"\nseed = 1\n[panel]\n'
    study.write_text(f"{head}{rest}\n{line}\n", encoding="utf-8")
    spec = load_study(study).study.spec
    assert spec.panel.roles.trial is True
    assert read_panel(spec.panel, tmp_path).labels["trial"] == ("1", "2", "3")


def test_a_trial_that_is_there_twice_is_refused(tmp_path):
    write(tmp_path, TWICE.assign(run="1"))
    spec = panel(roles=ROLES | {"trial": "run"})
    assert error_text(lambda: read_panel(spec, tmp_path), tmp_path) == (
        "t.csv: m, p, j, run: 2 rows repeat a cell: rows 10, 11; the first is m 'x', p '1', "
        "j 'j', run '1'"
    )


def test_answers_and_trials_of_the_cells_are_counted(tmp_path):
    assert list(count_repeats(*axes_of(trials_of(TWICE, tmp_path, trial=True)))) == [
        Repeats("trials of a judge on an answer", "trial", 1, 1.25, 3, 8)
    ]
    both = pd.concat([TWICE.assign(s="1"), WIDE[:2].assign(s="2")])
    assert list(count_repeats(*axes_of(trials_of(both, tmp_path, trial=True, sample="s")))) == [
        Repeats("answers of a model to a prompt", "sample", 1, 1.5, 2, 4),
        Repeats("trials of a judge on an answer", "trial", 1, 1.2, 3, 10),
    ]
    assert not list(count_repeats(*axes_of(read_panel(panel(), write(tmp_path, WIDE)))))


def axes_of(ratings):
    return ratings.score, list(ratings.labels)
