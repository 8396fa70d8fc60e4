"""Text files as Excel, R and Google Sheets write them; one that a study does not describe."""

import pandas as pd
import pytest

from sharpbayes.data.panel import read_panel
from sharpbayes.data.readers.dialects import guess_dialect
from sharpbayes.data.readers.formats import read_columns, read_table
from sharpbayes.spec.dialect import Dialect
from tests.data.tables import WIDE, error_text, panel, write

ROWS = [["Modèle A", "1", "3,5"], ["Größe", "2", "4"]]
NAMES = ["model", "prompt", "score"]
POINTS = {"model": ["Modèle A", "Größe"], "prompt": ["1", "2"], "score": ["3.5", "4"]}


def text(delimiter=";", newline="\r\n"):
    return newline.join(delimiter.join(row) for row in [NAMES, *ROWS]) + newline


# A file by its name and bytes, and the dialect that init guesses for it.
FILES = {
    "Excel, Western Europe": ("t.csv", text().encode("cp1252"), (";", "windows-1252")),
    "Excel, UTF-8": ("t.csv", text().encode("utf-8-sig"), (";", None)),
    "Excel, with its line": (
        "t.csv",
        b"sep=;\r\n" + text().encode("cp1252"),
        (None, "windows-1252"),
    ),
    "Excel, Unicode text": ("t.txt", text("\t").encode("utf-16"), (None, None)),
    "UTF-16 without a mark": ("t.csv", text().encode("utf-16-be"), (";", "utf-16-be")),
    "tabs": ("t.TSV", text("\t", "\n").encode(), (None, None)),
    "bars": ("t.csv", text("|").encode("latin-1"), ("|", "windows-1252")),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_its_dialect(tmp_path, name):
    file, content, (delimiter, encoding) = FILES[name]
    (tmp_path / file).write_bytes(content)
    guess = guess_dialect(tmp_path / file)
    assert (guess.delimiter, guess.encoding) == (delimiter, encoding)
    dialect = Dialect(delimiter=delimiter, encoding=encoding, decimal=",")
    assert read_table(tmp_path, file, dialect=dialect).to_dict("list") == POINTS
    assert read_columns(tmp_path, file, dialect=dialect) == NAMES


REFUSED = {
    "semicolons": (
        text().encode(),
        "t.csv:1: one column, separated by ','; write dialect = { delimiter = \";\" }",
    ),
    "Windows-1252": (
        text().encode("cp1252"),
        "t.csv:2: not UTF-8 text: 'Mod\\xe8le A;1;3,5'; "
        'write dialect = { delimiter = ";", encoding = "windows-1252" }',
    ),
    "UTF-16 without a mark": (
        text(",").encode("utf-16-le"),
        "t.csv: not UTF-8 text: it has NUL characters; "
        'write dialect = { delimiter = ";", encoding = "utf-16-le" }',
    ),
    "one NUL": (
        text(",").encode().replace(b"1", b"\0", 1),
        "t.csv:2: a NUL character, which no text has; remove it",
    ),
    "ragged": (
        b"model;prompt,a;score\nx;1;2\ny;2,5;3\n",
        "t.csv: 1 row without 2 cells, as the header has: rows 2; the first has 1 cell; "
        'write dialect = { delimiter = ";" }',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_dialect_is_refused_with_the_line_of_toml(tmp_path, name):
    content, expected = REFUSED[name]
    (tmp_path / "t.csv").write_bytes(content)
    if name == "UTF-16 without a mark":
        expected = expected.replace('delimiter = ";", ', "")
    assert error_text(lambda: read_table(tmp_path, "t.csv"), tmp_path) == expected


def test_what_the_encoding_cannot_read_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\nx,1\n\x81,2\n")
    dialect = Dialect(encoding="windows-1252")
    assert error_text(lambda: read_table(tmp_path, "t.csv", dialect=dialect), tmp_path) == (
        "t.csv:3: not WINDOWS-1252 text: '\\x81,2'"
    )


def test_names_and_texts_keep_their_commas_and_whole_cells_are_emptied(tmp_path):
    (tmp_path / "t.csv").write_text('a;b\n"1,5 to 2";1,5\nNA;NA\n-0,25;n/a\n')
    dialect = Dialect(delimiter=";", decimal=",", missing=("NA", "n/a"))
    table = read_table(tmp_path, "t.csv", dialect=dialect)
    assert table.to_dict("list") == {"a": ["1,5 to 2", "", "-0.25"], "b": ["1.5", "", ""]}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_a_text_for_a_missing_score_in_every_kind_of_file(tmp_path, name):
    write(tmp_path, WIDE.assign(sev=WIDE["sev"].replace("", "n/a")), name)
    message = error_text(lambda: read_panel(panel(data=name), tmp_path), tmp_path)
    row = 4 if name == "t.csv" else 3
    assert message == (
        f"{name}: sev: 1 of 8 cells off the scale (allowed: 1, 2, 3): row {row}: 'n/a'; "
        'write dialect = { missing = ["n/a"] }'
    )
    spec = panel(data=name, dialect={"missing": ["n/a"]})
    assert read_panel(spec, tmp_path).counts["missing"] == 1


def test_rows_have_the_numbers_of_a_spreadsheet(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n\n1,"two\nlines"\n,\n3,4\n\n')
    table = read_table(tmp_path, "t.csv")
    assert (table.index.tolist(), table["a"].tolist()) == ([3, 5], ["1", "3"])


def test_rows_of_several_files_have_the_name_of_their_file(tmp_path):
    write(tmp_path, WIDE[:4], "t1.csv")
    write(tmp_path, WIDE[4:].assign(sev=["9", "1", "3", "2"]), "t2.csv")
    message = error_text(lambda: read_panel(panel(data="t?.csv"), tmp_path), tmp_path)
    assert message == (
        "t?.csv: sev: 1 of 8 cells off the scale (allowed: 1, 2, 3): row 2 of t2.csv: '9'"
    )


def test_rows_are_those_of_the_file_where_judges_are_left_out(tmp_path):
    write(tmp_path, WIDE.assign(sev=["1"] * 7 + ["9"]))
    message = error_text(lambda: read_panel(panel(judges=["k"]), tmp_path), tmp_path)
    assert message == "t.csv: sev: 1 of 4 cells off the scale (allowed: 1, 2, 3): row 9: '9'"


HINTS = {
    "decimal commas": (["1,0", "2,0"], '; write dialect = { decimal = "," }'),
    "half points": (["1.5", "2"], "; write step = 0.5 in the scale"),
    "both": (["1,5", "2"], '; write dialect = { decimal = "," }; write step = 0.5 in the scale'),
    "neither": (["9", "2"], ""),
    "a huge number": (["1e308", "2"], ""),
    "two texts": (["NA", "n/a"], '; write dialect = { missing = ["NA", "n/a"] }'),
}


@pytest.mark.parametrize("name", HINTS)
def test_scores_off_the_scale_name_the_line_that_reads_them(tmp_path, name):
    values, hint = HINTS[name]
    write(tmp_path, WIDE.assign(sev=[*values, *WIDE["sev"][2:]]))
    message = error_text(lambda: read_panel(panel(), tmp_path), tmp_path)
    assert message.endswith(f"'{hint}")


def test_keys_that_say_nothing_about_a_file_are_refused(tmp_path):
    write(tmp_path, WIDE, "t.parquet")
    dialect = Dialect(delimiter=";")
    read = lambda: read_table(tmp_path, "t.parquet", dialect=dialect)  # noqa: E731
    assert error_text(read, tmp_path) == (
        "t.parquet: dialect.delimiter: says nothing about this file; allowed are missing"
    )


def test_three_point_zero_is_three(tmp_path):
    plain = read_panel(panel(), write(tmp_path, WIDE))
    floats = WIDE.assign(sev=[f"{score}.0" if score else "" for score in WIDE["sev"]])
    assert (read_panel(panel(), write(tmp_path, floats)).score == plain.score).all()


def test_words_are_read_in_any_case_and_spacing(tmp_path):
    words = {"1": "Very low", "2": "medium", "3": "HIGH"}
    levels = {"kind": "categorical", "levels": ["very low", "Medium", "high"]}
    scales = {"severity": levels, "flag": {"kind": "boolean"}}
    plain = read_panel(panel(), write(tmp_path, WIDE))
    table = WIDE.assign(sev=WIDE["sev"].map(lambda score: words.get(score, "") + "\u00a0 "))
    ratings = read_panel(panel(scales=scales), write(tmp_path, table))
    assert (ratings.score == plain.score).all()


def test_levels_that_differ_in_case_alone_are_told_apart(tmp_path):
    levels = {"kind": "categorical", "levels": ["a", "A", "b"]}
    table = WIDE.assign(sev=["a", "A", "b", "B", "a", "a", "a", "a"])
    scales = {"severity": levels, "flag": {"kind": "boolean"}}
    ratings = read_panel(panel(scales=scales), write(tmp_path, table))
    of_first = ratings.score[:, :, 0, 0].ravel().tolist()
    assert of_first == [0, 1, 2, 2]
    write(tmp_path, pd.DataFrame(WIDE).assign(sev=["á"] * 8))
