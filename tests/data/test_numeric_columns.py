"""Columns of numbers that a model names: whose they are, what is refused, how they are stored."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.data.covariates import UnitNumbers, pack_numbers, unpack_numbers
from sharpbayes.data.crowd import melt_crowd, read_crowd
from sharpbayes.data.panel import melt_panel, read_panel
from tests.data.tables import ROWS, WIDE, crowd, error_text, long_form, panel, write

NEEDED = "a [[slope]] of the model needs a number here: fill it in, leave the row out, or the slope"
# The column of the wide table, and the dimensions of its units.
UNITS = {
    "of prompts": (["7", "8"] * 4, ("prompt",)),
    "of models": (["1", "1", "2", "2"] * 2, ("model",)),
    "of judges": (["5"] * 4 + ["6.5"] * 4, ("judge",)),
    "of answers": (["1", "2", "3", "4"] * 2, ("model", "prompt")),
    "of judgements": (list("12345678"), ("model", "prompt", "judge")),
}


@pytest.mark.parametrize("name", UNITS)
def test_a_column_belongs_to_the_coarsest_unit_that_it_is_constant_in(tmp_path, name):
    cells, dims = UNITS[name]
    data = read_panel(panel(), write(tmp_path, WIDE.assign(size=cells)), numeric=["size"])
    assert data.numbers["size"].dims == dims
    covariate = melt_panel(data, panel()).covariates["size"]
    ratings = melt_panel(data, panel())
    rows = WIDE.assign(size=cells).set_index(["m", "p", "j"])["size"]
    keys = zip(
        *(
            np.array(ratings.factors[dim].labels)[ratings.factors[dim].codes]
            for dim in ("model", "prompt", "judge")
        ),
        strict=True,
    )
    assert covariate.values[covariate.codes].tolist() == [float(rows[key]) for key in keys]


def test_a_number_of_each_score_of_a_long_table_is_one_of_ratings(tmp_path):
    table, spec = long_form()
    table["order"] = np.arange(len(table)) + 0.5
    data = read_panel(spec, write(tmp_path, table), numeric=["order"])
    assert data.numbers["order"].dims == ("model", "prompt", "judge", "indicator")
    assert data.numbers["order"].unit == "rating"
    covariate = melt_panel(data, spec).covariates["order"]
    scored = table[table["score"] != ""]
    assert sorted(covariate.values[covariate.codes]) == sorted(scored["order"])


def test_judges_that_are_left_out_take_their_numbers_along(tmp_path):
    data = read_panel(panel(), write(tmp_path, WIDE.assign(n=list("12345678"))), numeric=["n"])
    alone = data.select("judge", ["k"])
    assert alone.numbers["n"].values.ravel().tolist() == [5.0, 6.0, 7.0, 8.0]


def test_prompts_have_numbers_in_a_table_of_their_own(tmp_path):
    write(tmp_path, WIDE)
    write(tmp_path, pd.DataFrame({"id": ["10", "1"], "words": ["30", "12"]}), "prompts.csv")
    spec = panel(prompts={"data": "prompts.csv", "key": "id"})
    numbers = read_panel(spec, tmp_path, numeric=["words"]).numbers["words"]
    assert numbers.dims == ("prompt",)
    assert numbers.values.tolist() == [12.0, 30.0]


CROWD_UNITS = {
    "of items": (["5", "5", "6", "6", "7", "7"], ("item",)),
    "of raters": (["5", "6"] * 3, ("rater",)),
    "of ratings": (["2026-01-01", "2026-01-02", "", "", "2026-01-05", "2026-01-03"], ("rating",)),
}


@pytest.mark.parametrize("name", CROWD_UNITS)
def test_a_crowd_has_numbers_of_items_raters_or_ratings(tmp_path, name):
    cells, dims = CROWD_UNITS[name]
    table = ROWS.assign(n=cells)
    table = table[table["n"] != ""]
    data = read_crowd(crowd(), write(tmp_path, table), numeric=["n"])
    assert data.numbers["n"].dims == dims
    ratings = melt_crowd(data, crowd())
    covariate = ratings.covariates["n"]
    scored = table[table["s"] != ""].assign(item=lambda t: t["i"].astype(int))
    scored = scored.sort_values(["item", "r"])["n"]
    expected = (
        pd.to_datetime(scored).sub(pd.Timestamp(0)).dt.days.tolist()
        if dims == ("rating",)
        else scored.astype(float).tolist()
    )
    assert covariate.values[covariate.codes].tolist() == expected
    assert ratings.of(np.array([2, 0])).covariates["n"].codes.tolist() == [
        covariate.codes[2],
        covariate.codes[0],
    ]


def test_expert_labels_have_the_numbers_of_items_alone(tmp_path):
    write(tmp_path, ROWS.assign(words=["5", "5", "6", "6", "7", "7"], age=["5", "6"] * 3))
    labels = pd.DataFrame({"item": ["2", "10"], "expert": ["e", "e"], "label": ["0", "1"]})
    write(tmp_path, labels, "experts.csv")
    spec = crowd(labels={"from": "experts", "data": "experts.csv"})
    data = read_crowd(spec, tmp_path, numeric=["words", "age"])
    ratings = melt_crowd(data, spec, experts=True)
    words, age = (ratings.covariates[name] for name in ("words", "age"))
    assert words.values[words.codes[-2:]].tolist() == [6.0, 7.0]
    assert age.codes[-2:].tolist() == [-1, -1]


ERRORS = {
    "empty cells": (
        ["1", "", "3", "4", "", "6", "7", "8"],
        f"t.csv: n: 2 empty cells: rows 3, 6; {NEEDED}",
    ),
    "no numbers": (
        ["1", "NA", "3", "long", "5", "6", "7", "inf"],
        "t.csv: n: 3 of 8 cells are neither a number nor a date: row 3: 'NA'; row 5: 'long'; "
        f"row 9: 'inf'; {NEEDED}; write dialect = {{ missing = [\"NA\"] }}",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_cell_without_a_number_is_named_by_its_row(tmp_path, name):
    cells, expected = ERRORS[name]
    write(tmp_path, WIDE.assign(n=cells))
    assert error_text(lambda: read_panel(panel(), tmp_path, numeric=["n"]), tmp_path) == expected


def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path):
    write(tmp_path, WIDE)
    message = error_text(lambda: read_panel(panel(), tmp_path, numeric=["knd"]), tmp_path)
    assert message == (
        "t.csv: knd: a [[slope]] of the model names this column, the columns are m, p, j, sev, "
        "good, kind; did you mean 'kind'?"
    )


def test_stored_numbers_are_read_back():
    name = "words/min, 5%2F"
    numbers = {name: UnitNumbers(("item",), np.array([1.0, np.nan]))}
    packed = xr.Dataset(pack_numbers(numbers))
    assert "/" not in "".join(map(str, packed))
    stored = unpack_numbers(packed)
    assert stored[name].dims == ("item",)
    np.testing.assert_array_equal(stored[name].values, [1.0, np.nan])
