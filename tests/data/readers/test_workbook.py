"""Excel workbooks: values of one sheet, as the person sees them; hostile ones are refused."""

import builtins
import datetime as dt
import zipfile

import pytest
from openpyxl import Workbook

from sharpbayes.data.readers import workbook
from sharpbayes.data.readers.formats import read_table
from sharpbayes.spec.dialect import Dialect
from tests.data.tables import error_text

CELLS = [
    ["model", "score", "flag", "when"],
    ["a", 3, True, dt.date(2026, 1, 2)],
    [None, None, None, None],
    ["b", 2.5, False, None],
    ["c", "4", None, None],
]


def save(folder, rows, *, also=()):
    book = Workbook()
    book.active.title = "Ratings"
    for row in rows:
        book.active.append(row)
    for name in also:
        book.create_sheet(name).append(["key"])
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def read(folder, **dialect):
    return read_table(folder, "t.xlsx", dialect=Dialect(**dialect))


def test_values_are_texts_and_rows_have_their_numbers(tmp_path):
    save(tmp_path, CELLS)
    table = read(tmp_path)
    assert table.to_dict("list") == {
        "model": ["a", "b", "c"],
        "score": ["3", "2.5", "4"],
        "flag": ["true", "false", ""],
        "when": ["2026-01-02 00:00:00", "", ""],
    }
    assert table.index.tolist() == [2, 4, 5]


def test_one_of_several_sheets_must_be_named(tmp_path):
    save(tmp_path, CELLS, also=["Codebook"])
    assert error_text(lambda: read(tmp_path), tmp_path) == (
        't.xlsx: sheets Ratings, Codebook; write dialect = { sheet = "Ratings" } or another'
    )
    assert len(read(tmp_path, sheet="Ratings")) == 3
    assert error_text(lambda: read(tmp_path, sheet="Rating"), tmp_path) == (
        "t.xlsx: no sheet 'Rating', there are Ratings, Codebook; did you mean 'Ratings'?"
    )


ERRORS = {
    "a cell beyond the names": (
        [["a", "b"], ["x", 1], ["y", 2, 3]],
        "t.xlsx: 1 row with cells to the right of the names of row 1: rows 3",
    ),
    "nothing": ([], "t.xlsx: sheet 'Ratings' is empty"),
    "names alone": ([["a", "b"]], "t.xlsx: no rows"),
    "two names missing": (
        [["Ratings of May", None, None, "a"], [1, 2, 3, 4]],
        "t.xlsx:1: 2 columns without a name; name them, or remove them if empty",
    ),
    "a title above the names": (
        [["Ratings of May"], [], ["a", "b", "c"], ["x", "y", 1]],
        "t.xlsx: 2 rows with cells to the right of the names of row 1: rows 3, 4; "
        "the names seem to stand in row 3: remove the rows above it",
    ),
    "a formula that nobody computed": (
        [["a", "b"], ["x", "=1+1"], ["y", "=B2"], ["z", 3]],
        "t.xlsx: 2 formulas without a value: rows 2, 3; "
        "open it in a spreadsheet program and save it there",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_a_workbook_in_these_words(tmp_path, name):
    rows, expected = ERRORS[name]
    save(tmp_path, rows)
    assert error_text(lambda: read(tmp_path), tmp_path) == expected


def test_a_formula_has_the_value_that_is_stored(tmp_path):
    path = save(tmp_path, [["a", "b"], ["x", "=1+1"]])
    rewrite(path, "xl/worksheets/sheet1.xml", b"<v></v>", b"<v>2</v>")
    rewrite(path, "xl/worksheets/sheet1.xml", b"<v />", b"<v>2</v>")
    assert read(tmp_path)["b"].tolist() == ["2"]


def test_without_the_library_the_error_names_the_command(tmp_path, monkeypatch):
    save(tmp_path, CELLS)
    plain = builtins.__import__

    def refuse(name, *options, **named):
        if name == "openpyxl":
            raise ImportError(name)
        return plain(name, *options, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert error_text(lambda: read(tmp_path), tmp_path) == (
        "t.xlsx: needs openpyxl: pip install 'sharpbayes[excel]'"
    )


def rewrite(path, member, before, after):
    """Write other bytes into a member of a workbook."""
    with zipfile.ZipFile(path) as book:
        contents = {name: book.read(name) for name in book.namelist()}
    contents[member] = contents[member].replace(before, after)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in contents.items():
            book.writestr(name, content)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = save(tmp_path, CELLS)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/media/image.png", b" " * (1 << 24))
    assert "compressed more than 1000 times" in error_text(lambda: read(tmp_path), tmp_path)
    save(tmp_path, CELLS)
    monkeypatch.setattr(workbook, "MAX_BYTES", 1000)
    message = error_text(lambda: read(tmp_path), tmp_path)
    assert message.endswith("bytes when unpacked, at most 1000 are read; save it as CSV")


def test_a_row_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MAX_ROW_BYTES", 500)
    path = save(tmp_path, CELLS)
    assert len(read(tmp_path)) == 3
    rewrite(path, "xl/worksheets/sheet1.xml", b"</row>", b"<c/>" * 500 + b"</row>")
    assert error_text(lambda: read(tmp_path), tmp_path) == (
        "t.xlsx: xl/worksheets/sheet1.xml: a row of more than 500 bytes"
    )


def test_entities_that_grow_are_refused(tmp_path):
    path = save(tmp_path, CELLS)
    grow = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<!DOCTYPE worksheet [<!ENTITY e0 "aaaaaaaaaa">{grow}]><worksheet'.encode()
    rewrite(path, "xl/worksheets/sheet1.xml", b"<worksheet", head)
    rewrite(path, "xl/worksheets/sheet1.xml", b"<v>3</v>", b"<v>&e11;</v>")
    assert "t.xlsx: cannot be read: " in error_text(lambda: read(tmp_path), tmp_path)


@pytest.mark.parametrize("place", [b"XFD5", b"C101", b"C99999999999"])
def test_a_cell_far_away_takes_no_memory(tmp_path, monkeypatch, place):
    monkeypatch.setattr(workbook, "MAX_ROWS", 100)
    path = save(tmp_path, CELLS)
    number = place.lstrip(b"XFDC")
    rewrite(path, "xl/worksheets/sheet1.xml", b'<row r="5"', b'<row r="' + number + b'"')
    rewrite(path, "xl/worksheets/sheet1.xml", b'r="B5"', b'r="' + place + b'"')
    message = error_text(lambda: read(tmp_path), tmp_path)
    assert message == "t.xlsx: more than 100 rows or 10000 columns"
