"""Columns of a second table, joined on a key."""

import pandas as pd
import pytest

from sharpbayes.data.crowd import read_crowd
from tests.data.tables import ROWS, crowd, error_text, write


def test_side_tables_are_joined_on_their_key(tmp_path):
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame({"r": ["b", "a"], "g": ["m", ""]}), "side.csv")
    spec = crowd(raters={"data": "side.csv", "key": "r"})
    assert read_crowd(spec, tmp_path).rater_columns["g"].tolist() == ["", "m"]


SIDE_ERRORS = {
    "rater without a row": ({"r": ["a"], "g": ["w"]}, "side.csv: r: 1 rater without a row here: b"),
    "repeated key": (
        {"r": ["a", "b", "a"], "g": ["w", "m", "w"]},
        "side.csv: r: 1 row repeats a key: row 4; the first is r 'a'",
    ),
    "no such column": (
        {"r": ["a", "b"], "gg": ["w", "m"]},
        "t.csv: g: no such column of raters here or in side.csv, the columns are i, r, s, gg; did "
        "you mean 'gg'?",
    ),
}


@pytest.mark.parametrize("name", SIDE_ERRORS)
def test_an_error_of_a_side_table_in_these_words(tmp_path, name):
    side, expected = SIDE_ERRORS[name]
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame(side), "side.csv")
    spec = crowd(raters={"data": "side.csv", "key": "r"})
    assert error_text(lambda: read_crowd(spec, tmp_path), tmp_path) == expected
