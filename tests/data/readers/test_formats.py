"""Tables of every kind are read to the same ratings; a damaged file is named."""

import json
import sys

import pandas as pd
import pytest
import xarray as xr

from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.formats import detect_format, read_table
from sharpbayes.data.readers.json_text import flatten_object
from tests.data.tables import WIDE, error_text, panel, write


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_every_kind_of_file_is_the_same(tmp_path, name):
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    native = WIDE.assign(
        p=WIDE["p"].astype(int),
        sev=pd.to_numeric(WIDE["sev"]),
        good=WIDE["good"].str.lower().isin(["yes", "true", "1"]),
    )
    scores = read_panel(panel(data=name), write(tmp_path, native, name)).to_dataset()
    xr.testing.assert_identical(scores, expected)


def test_files_that_a_pattern_matches_are_joined(tmp_path):
    write(tmp_path, WIDE[:3], "t1.csv")
    write(tmp_path, WIDE[3:], "t2.csv")
    expected = read_panel(panel(), write(tmp_path, WIDE)).to_dataset()
    xr.testing.assert_identical(read_panel(panel(data="t?.csv"), tmp_path).to_dataset(), expected)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeffa,b\nNA,None\n", encoding="utf-8")
    assert read_table(tmp_path, "t.csv").to_dict("list") == {"a": ["NA"], "b": ["None"]}


FILES = {
    "not there": ("judgements.txt", "a,b\n1,2\n", "t.csv: no such file"),
    "near": ("t2.csv", "a,b\n1,2\n", "t.csv: no such file; did you mean 't2.csv'?"),
    "two columns of one name": (
        "t.csv",
        "a,b,a\n1,2,3\n",
        "t.csv:1: repeated column names: a",
    ),
    "commas at the ends of lines": (
        "t.csv",
        "a,b,a,,\n1,2,3,,\n",
        "t.csv:1: 2 columns without a name; name them, or remove them if empty\n"
        "t.csv:1: repeated column names: a",
    ),
    "titles above the names": (
        "t.csv",
        "Review,,\n,,\nmodel,prompt,harm\na,b,1\n",
        "t.csv:1: 2 columns without a name; the names seem to stand in row 3: remove the rows "
        "above it",
    ),
    "a title of one cell": (
        "t.csv",
        "Review\nmodel,prompt,harm\na,b,1\n",
        "t.csv:1: one column; the names seem to stand in row 2: remove the rows above it",
    ),
    "no names anywhere": (
        "t.csv",
        "Review,,\n1,2,3\na,a,b\n",
        "t.csv:1: 2 columns without a name; name them, or remove them if empty",
    ),
    "nothing": ("t.csv", "", "t.csv:1: the first line is empty, it must name the columns"),
}


@pytest.mark.parametrize("name", FILES)
def test_an_error_of_a_file_in_these_words(tmp_path, name):
    file, text, expected = FILES[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert error_text(lambda: read_table(tmp_path, "t.csv"), tmp_path) == expected


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    (tmp_path / "t.ods").write_text("")
    assert error_text(lambda: read_table(tmp_path, "t.ods"), tmp_path) == (
        "t.ods: unknown kind of file '.ods', allowed are .csv, .tsv, .txt, .xlsx, .parquet, "
        ".jsonl, .json"
    )


def test_an_ending_that_is_like_one_that_is_read_is_told(tmp_path):
    (tmp_path / "t.xls").write_text("")
    assert error_text(lambda: read_table(tmp_path, "t.xls"), tmp_path).endswith(
        ".parquet, .jsonl, .json; did you mean '.xlsx'?"
    )


def test_the_format_of_a_table_of_old_macs_is_looked_for(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"Submission id,Participant id\rs,p\r")
    assert detect_format(tmp_path / "t.csv") == "prolific"


ROW = {"model": "a", "prompt": {"text": "Hi?"}, "scores": {"hate": 0.1, "self": {"harm": 1}}}


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_entries_of_objects_inside_are_columns(tmp_path, name):
    rows = [ROW, ROW | {"scores": {"hate": None}, "tags": ["x"], "empty": {}}]
    text = json.dumps(rows) if name == "t.json" else "\n".join(map(json.dumps, rows))
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert detect_format(tmp_path / name) is None
    assert read_table(tmp_path, name).to_dict("list") == {
        "model": ["a", "a"],
        "prompt.text": ["Hi?", "Hi?"],
        "scores.hate": ["0.1", ""],
        "scores.self.harm": ["1", ""],
        "tags": ["", "['x']"],
        "empty": ["", "{}"],
    }


def test_objects_may_lie_deep_in_one_another():
    depth, row = 2 * sys.getrecursionlimit(), 1
    for _ in range(depth):
        row = {"a": row}
    assert flatten_object(row) == {".".join("a" * depth): 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"a.b": 1, "a": {"b": 2}}]', "key 'a.b' stands twice"),
        *(
            (text, "no list of JSON objects, such as one for each rating")
            for text in (
                "[1]",
                '"a"',
                '{"a": [1], "c": []}',
                '{"a": {"b": 1}, "c": {"d": 1}}',
                '{"a": [{"b": 1}], "c": [{"b": 1}], "d": 1}',
            )
        ),
    ],
)
def test_json_that_is_no_table_is_refused(tmp_path, text, problem):
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    assert error_text(lambda: read_table(tmp_path, "t.json"), tmp_path) == f"t.json: {problem}"


def test_a_line_that_is_no_object_is_named(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n[2]\n')
    assert error_text(lambda: read_table(tmp_path, "t.jsonl"), tmp_path) == (
        "t.jsonl:2: not a JSON object"
    )
