"""Stray quotes in text files: a quote that nothing closes makes all that follows one cell."""

import csv
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

import pandas as pd

from sharpbayes.errors import DataError, format_count, shorten

QUOTE, CHARACTERS, MAX_TEXT = '"', 1 << 20, 60
# The largest possible cell, in bytes.
MAX_CELL = 1 << 23
LINE_END = re.compile(r"\r\n|\r|\n")
# A line that follows the last one of a file.
SENTINEL = "end"
# A cell is rows of the table if so many of its lines are.
MIN_SHARE = 0.5


def refuse_open_quote(path: Path, encoding: str, delimiter: str) -> None:
    """Refuse a file with a quote that nothing closes; the error names the row that opens it.

    Most files are only counted: where every quote is closed, their number is even.
    """
    with path.open(encoding=encoding, errors="replace", newline="") as text:
        count = sum(block.count(QUOTE) for block in iter(partial(text.read, CHARACTERS), ""))
    if count % 2 == 0:
        return
    opened = _find_open_row(path, encoding, delimiter)
    if opened is None:
        return
    row, line = opened
    with path.open(encoding=encoding, errors="replace") as text:
        first, *rest = islice(text, line - 1, None)
    shown = shorten(first.strip(), MAX_TEXT)
    problem = f"row {row} opens a quote that nothing closes: {shown!r}"
    swallowed = f"; it would swallow the {format_count(len(rest), 'line')} below" if rest else ""
    raise DataError.at(path, f"{problem}{swallowed}; close the quote or leave it out", line=line)


def _find_open_row(path: Path, encoding: str, delimiter: str) -> tuple[int, int] | None:
    """Return the number and the first line of the row that has the sentinel in a cell."""
    opened, start, last = (0, 0), 1, list[str]()
    usual = csv.field_size_limit(MAX_CELL)
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as text:
            rows = csv.reader(chain(text, [SENTINEL]), delimiter=delimiter)
            for number, cells in enumerate(rows, start=1):
                opened, start, last = (number, start), rows.line_num + 1, cells
    except csv.Error:  # a cell longer than any
        return opened[0] + 1, start
    finally:
        csv.field_size_limit(usual)
    return None if last == [SENTINEL] else opened


def refuse_swallowed_rows(table: pd.DataFrame, path: Path, delimiter: str) -> None:
    """Refuse a cell that holds rows of the table: two stray quotes make one of all between them.

    Such a cell begins and ends inside a row, most of its other lines are as long as a row, and each
    of these has a cell that occurs in its column of the table.
    """
    cells = [*_find_cells_like_rows(table, delimiter)]
    known = [{*table[name].unique()} - {""} for name in table.columns if cells]
    for name, row, lines, rows in cells:
        if all(any(map(set.__contains__, known, values)) for values in rows):
            problem = f"row {row}: a quote makes {lines} lines one cell, and they seem to be rows"
            raise DataError.at(path, f"{problem}: {delimiter.join(rows[0])!r}", key=str(name))


def _find_cells_like_rows(
    table: pd.DataFrame, delimiter: str
) -> Iterator[tuple[object, object, int, list[list[str]]]]:
    """Yield the column and the row of each cell of lines as long as rows, and these lines."""
    width, cell = len(table.columns), rf"[^{re.escape(delimiter)}\r\n]*"
    line = rf"[\r\n](?:{cell}{re.escape(delimiter)}){{{width - 1}}}{cell}[\r\n]"
    for position, name in enumerate(table.columns):
        for row, text in table[name][table[name].str.contains(line)].items():
            first, *lines, last = [part.split(delimiter) for part in LINE_END.split(text)]
            rows = [values for values in lines if len(values) == width]
            is_inside = len(first) == width - position and len(last) == position + 1
            if is_inside and len(rows) >= MIN_SHARE * len(lines):
                yield name, row, len(lines) + 2, rows
