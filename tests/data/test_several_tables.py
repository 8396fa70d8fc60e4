"""Errors of several tables of one study: all of them are shown at once."""

import os

import pandas as pd
import pytest

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.paths import find_files
from sharpbayes.errors import DataError
from tests.data.tables import PANEL, ROWS, WIDE, crowd, error_text, panel, write

SIDES = {
    "raters": {"data": "raters.csv", "key": "r"},
    "items": {"data": "items.csv", "key": "i"},
    "by": ["kind"],
    "labels": {"from": "experts", "data": "experts.csv"},
}
RATERS = pd.DataFrame({"r": ["a", "b"], "g": ["w", "m"]})
ITEMS = pd.DataFrame({"i": ["1", "2", "10"], "kind": ["x", "y", "x"]})
EXPERTS = pd.DataFrame({"item": ["1", "2"], "expert": ["e", "e"], "label": ["yes", "no"]})
REPEATED = "1 row repeats a key: row {}; the first is {}"


def write_crowd(folder, *, ratings):
    """Write a crowd with faults in every table alongside its ratings."""
    write(folder, pd.concat([RATERS, RATERS[:1]]), "raters.csv")
    write(folder, pd.concat([ITEMS, ITEMS[1:2]]), "items.csv")
    write(folder, EXPERTS.assign(label=["yes", "perhaps"]), "experts.csv")
    return write(folder, ratings.drop(columns="g"))


def test_errors_of_all_tables_of_a_crowd_are_shown_at_once(tmp_path):
    base = write_crowd(tmp_path, ratings=ROWS)
    lines = error_text(lambda: read_crowd(crowd(**SIDES), base), base).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["experts.csv", "items.csv", "raters.csv"]
    assert lines[1] == f"items.csv: i: {REPEATED.format(5, "i '2'")}"


def test_errors_alongside_ratings_that_are_wrong_are_shown_too(tmp_path):
    base = write_crowd(tmp_path, ratings=ROWS.assign(s="9"))
    lines = error_text(lambda: read_crowd(crowd(**SIDES), base), base).splitlines()
    tables = ["experts.csv", "items.csv", "raters.csv", "t.csv"]
    assert [line.partition(":")[0] for line in lines] == tables


def test_errors_of_all_tables_of_a_panel_are_shown_at_once(tmp_path):
    prompts = pd.DataFrame({"p": ["1", "10", "1"], "kind": ["a", "b", "a"]})
    people = pd.DataFrame({"m": ["x"] * 2, "p": ["1"] * 2, "who": ["q"] * 2})
    write(tmp_path, prompts, "prompts.csv")
    write(tmp_path, people.assign(what="sev", n="1"), "people.csv")
    roles = {"model": "m", "prompt": "p", "rater": "who", "indicator": "what", "score": "n"}
    sides = {
        "prompts": {"data": "prompts.csv", "key": "p"},
        "people": {"data": "people.csv", "roles": roles},
    }
    spec = panel(**(PANEL | sides))
    for table, wrong in ((WIDE, []), (WIDE.assign(sev="9"), ["t.csv"])):
        base = write(tmp_path, table)
        lines = error_text(lambda: read_panel(spec, base), base).splitlines()  # noqa: B023
        names = [line.partition(":")[0] for line in lines]
        assert names == ["people.csv", "prompts.csv", *wrong]


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("t.csv", os.mkfifo, "is a pipe, must be a file"),
        ("t.csv", lambda path: path.symlink_to(path), "cannot be read: Too many levels of"),
        ("t.csv", lambda path: path.symlink_to("gone.csv"), "is a link to no file"),
        ("t.csv", os.mkdir, "is a folder without a file of a table (.csv, "),
        ("t.csv", lambda path: path.with_name("h.csv").touch(), "no such file"),
    ],
)
def test_what_is_no_file_is_named_for_what_it_is(tmp_path, name, make, message):
    make(tmp_path / name)
    with pytest.raises(DataError) as caught:
        find_files(tmp_path, name)
    text = str(caught.value).removeprefix(f"{tmp_path / name}: ")
    assert text.startswith(message)
    assert "did you mean" not in text
