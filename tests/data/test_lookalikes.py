"""Labels that look alike are reported with their rows."""

import tomllib

import pandas as pd
import pytest

from sharpbayes.data.crowd import read_crowd
from sharpbayes.data.ledger import find_lookalikes
from sharpbayes.data.lookalikes import quote_toml
from sharpbayes.data.panel import read_panel
from sharpbayes.errors import DataError
from sharpbayes.report.tables.check import study_summary_tables
from sharpbayes.scaffold.study_file import write_study
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.check import check
from tests.data.tables import ROWS, WIDE, crowd, panel, write

PAIRS = {
    "case": ("GPT", "gpt", "'GPT' (row 2) and 'gpt' (row 3)"),
    "a space behind": ("x", "x ", "'x' (row 2) and 'x ' (row 3)"),
    "two spaces": ("a b", "a  b", "'a b' (row 2) and 'a  b' (row 3)"),
    "a no-break space": ("a b", "a\u00a0b", r"'a b' (row 2) and 'a\xa0b' (row 3)"),
    "no width": ("ab", "a\u200bb", r"'ab' (row 2) and 'a\u200bb' (row 3)"),
    "letters of another alphabet": ("Anna", "\u0410nna", r"'Anna' (row 2) and '\u0410nna' (row 3)"),
    "accents": ("\u00e9", "e\u0301", r"'\xe9' (row 2) and 'e\u0301' (row 3)"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_labels_that_look_alike_are_named_with_their_rows(tmp_path, name):
    first, second, text = PAIRS[name]
    write(tmp_path, WIDE.assign(m=[first, second, *["y"] * 6]))
    lookalikes = find_lookalikes(
        panel(), tmp_path, {"model": [first, second, "y"], "judge": ["j", "k"]}
    )
    remedy = f'rename = {{ "m" = {{ {quote_toml(second)} = {quote_toml(first)} }} }}'
    assert list(lookalikes) == [("model", text, remedy)]
    tomllib.loads(remedy)


def test_groups_of_a_side_table_have_its_rows(tmp_path):
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame({"r": ["b", "a"], "g": ["Woman", "woman"]}), "side.csv")
    spec = crowd(raters={"data": "side.csv", "key": "r"})
    lookalikes = find_lookalikes(spec, tmp_path, {"group:g": ["Woman", "woman"]})
    remedy = 'rename = { "g" = { "woman" = "Woman" } }'
    assert list(lookalikes) == [("group:g", "'Woman' (row 2) and 'woman' (row 3)", remedy)]


def test_columns_of_raters_that_look_alike_have_no_rows(tmp_path):
    spec = crowd(layout="wide", roles={"item": "i", "rater": ["Ann", "ann"]}, groups=[])
    write(tmp_path, pd.DataFrame({"i": ["1"], "Ann": ["1"], "ann": ["2"]}))
    lookalikes = find_lookalikes(spec, tmp_path, {"rater": ["Ann", "ann"]})
    assert list(lookalikes) == [("rater", "'Ann' and 'ann'", "")]


def test_nothing_is_read_where_no_labels_look_alike(tmp_path):
    assert list(find_lookalikes(panel(), tmp_path, {"model": ["a", "b"]})) == []


def test_check_shows_them(tmp_path):
    rated = pd.DataFrame({"item": [*"abc"] * 2, "rater": ["r"] * 3 + ["s"] * 3, "score": range(6)})
    rated.assign(rater=rated["rater"].replace("s", "R")).to_csv(tmp_path / "t.csv", index=False)
    write_study(tmp_path / "t.csv", tmp_path / "s.toml")
    summary = check(load_study(tmp_path / "s.toml"))
    text, remedy = (
        "'R' (rows 5, 6, 7) and 'r' (rows 2, 3, 4)",
        'rename = { "rater" = { "r" = "R" } }',
    )
    assert summary.lookalikes == (("rater", text, remedy),)
    titles = [table.title for table in study_summary_tables(summary)]
    assert "CHECK: labels that look alike count as different" in titles


@pytest.mark.parametrize("name", PAIRS)
def test_rename_makes_one_label_of_two(tmp_path, name):
    first, second, _ = PAIRS[name]
    write(tmp_path, WIDE.assign(m=WIDE["m"].replace("x", second)))
    rename = {"m": {second: first, "y": "B"}}
    assert read_panel(panel(rename=rename), tmp_path).labels["model"] == (*sorted(["B", first]),)


def test_rename_in_a_crowd_and_its_side_table(tmp_path):
    write(tmp_path, ROWS.drop(columns="g"))
    write(tmp_path, pd.DataFrame({"r": ["a ", "b"], "g": ["Woman", "woman "]}), "side.csv")
    side = {"data": "side.csv", "key": "r", "rename": {"r": {"a ": "a"}, "g": {"woman ": "Woman"}}}
    data = read_crowd(crowd(raters=side), tmp_path)
    assert data.rater_columns["g"].tolist() == ["Woman", "Woman"]


def test_what_is_renamed_must_be_there(tmp_path):
    write(tmp_path, ROWS)
    with pytest.raises(DataError) as raised:
        read_crowd(crowd(rename={"r": {"aa": "a"}, "rr": {"x": "y"}}), tmp_path)
    assert "no label to rename, 'aa', there are" in str(raised.value)
    assert "no such column to rename labels of, the columns are" in str(raised.value)
    assert "did you mean 'r'?" in str(raised.value)
