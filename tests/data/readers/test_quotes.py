"""Stray quotes in text files, and quoted cells of several lines."""

import pytest

from sharpbayes.data.readers.csv_table import read_csv
from sharpbayes.data.readers.formats import read_columns, read_table
from sharpbayes.errors import DataError

ROWS = [f"{model},p{n},{n % 3}" for model in ("alpha", "beta") for n in range(20)]
NAMES = "model,prompt,score"


def read(folder, rows, names=NAMES, encoding="utf-8", newline="\n"):
    text = newline.join([names, *rows]) + newline
    (folder / "t.csv").write_text(text, encoding=encoding, newline="")
    return read_csv(folder / "t.csv")


def error(folder, rows, **options):
    with pytest.raises(DataError) as caught:
        read(folder, rows, **options)
    return str(caught.value).replace(f"{folder}/", "")


def replaced(**changes):
    return [changes.get(f"row{number}", row) for number, row in enumerate(ROWS, start=2)]


OPEN = "opens a quote that nothing closes:"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_open_quote_is_refused_with_the_row_that_opens_it(tmp_path, encoding, newline):
    rows = replaced(row11='alpha,p9,"0')
    message = error(tmp_path, rows, encoding=encoding, newline=newline)
    rest = "it would swallow the 30 lines below; close the quote or leave it out"
    assert message == f"t.csv:11: row 11 {OPEN} 'alpha,p9,\"0'; {rest}"


def test_rows_are_counted_and_lines_are_named(tmp_path):
    rows = replaced(row3='alpha,"p1\ntwo\nlines",1', row11='"alpha,p9,0')
    assert f"t.csv:13: row 11 {OPEN}" in error(tmp_path, rows)
    assert f"t.csv:1: row 1 {OPEN}" in error(tmp_path, ROWS, names=f'"{NAMES}')
    last = f"t.csv:41: row 41 {OPEN} 'beta,p19,\"1'; close the quote or leave it out"
    assert error(tmp_path, replaced(row41='beta,p19,"1')) == last


def test_an_open_quote_in_a_large_file_is_refused(tmp_path):
    rows = [*replaced(row11='alpha,p9,"0'), *ROWS * 1000]
    assert f"t.csv:11: row 11 {OPEN}" in error(tmp_path, rows)


def test_the_names_alone_show_an_open_quote_too(tmp_path):
    (tmp_path / "t.csv").write_text(f'{NAMES}\na,"b,1\nc,d,2\n')
    with pytest.raises(DataError, match="row 2 opens a quote"):
        read_columns(tmp_path, "t.csv")


@pytest.mark.parametrize("last", ['alpha,p19,1"', 'alpha,p19,"1"'])
def test_rows_that_two_stray_quotes_make_one_cell_are_refused(tmp_path, last):
    rows = replaced(row11='alpha,p9,"0', row21=last)
    message = (
        "t.csv: score: row 11: a quote makes 11 lines one cell, and they seem to be rows: "
        "'alpha,p10,1'"
    )
    assert error(tmp_path, rows) == message


TEXTS = [
    "\nalpha,p1,2\n",
    '5" and no more',
    "two\nlines",
    "a letter,\n\nwith, commas\n" * 40,
    "Sum up this table:\nname,age,city\nbob,3,Paris\nann,4,Rome",
    'he said "no"\nand, then, left\nand, then, came',
    "x" * 200_000 + "\n" + "y",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_quoted_texts_of_several_lines_stay(tmp_path, text, position):
    cells = ["a", "b", "c"]
    cells[position] = text
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    table = read(tmp_path, [*ROWS, quoted, 'd,5" pipe,f'])
    assert [*table.iloc[-2]] == cells
    assert [*table.iloc[-1]] == ["d", '5" pipe', "f"]
    assert len(read_table(tmp_path, "t.csv")) == len(ROWS) + 2
