"""Excel workbooks -> tables of text: the values of one sheet; formulas are never computed."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from sharpbayes.data.readers.archive import open_archive
from sharpbayes.data.readers.bounds import CELL, count_memory, refuse_excess, take_memory
from sharpbayes.data.readers.text_table import (
    MAX_COLUMNS,
    MAX_TITLE_ROWS,
    find_header,
    refuse_names,
    refuse_texts,
    write_as_text,
)
from sharpbayes.errors import DataError, did_you_mean, format_count, format_list
from sharpbayes.spec.dialect import Dialect

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

# Bytes of all members when unpacked: more than a million cells, each of which becomes an object.
MAX_BYTES = 1 << 26
# The last row of a sheet of Excel.
MAX_ROWS = 1 << 20
# A sheet without a cell in these first rows is empty.
MAX_HEADER_ROW = 100
INSTALL = "needs openpyxl: pip install 'sharpbayes[excel]'"
# A row is in memory as a whole, some hundred bytes for each element of its XML.
MAX_ROW_BYTES = 1 << 22
ROW = re.compile(rb"<(\w+:)?row[ >/]")
FORMULA = re.compile(rb"<(\w+:)?f[ >/]")

Rows = dict[int, tuple[Any, ...]]


def read_workbook(path: Path, dialect: Dialect) -> pd.DataFrame:
    """Read one sheet, the names in its first row that is not empty; empty rows are left out."""
    _check_size(path)
    has_formulas = _scan_sheets(path)
    with _open_sheet(path, dialect, values=True) as sheet:
        rows, title = _collect_rows(sheet, path), sheet.title
    if not rows:
        raise DataError.at(path, f"sheet {title!r} is empty")
    if has_formulas:
        _refuse_formulas(path, dialect, rows)
    (header, first), *others = rows.items()
    names = ["" if name is None else str(name) for name in first]
    hint = find_header(names, others[:MAX_TITLE_ROWS])
    refuse_names(names, path, hint=hint)
    longer = [number for number, row in others if len(row) > len(names)]
    if longer:
        count = format_count(len(longer), "row")
        message = f"{count} with cells to the right of the names of row {header}: "
        raise DataError.at(path, f"{message}rows {format_list(longer)}{hint}")
    cells = [row + (None,) * (len(names) - len(row)) for _, row in others]
    table = write_as_text(pd.DataFrame(cells, columns=pd.Index(names, dtype=object), dtype=object))
    table.index = pd.Index([number for number, _ in others], dtype="int64")
    refuse_texts(table, path)
    return table


def list_sheets(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook that are not hidden and not empty."""
    _check_size(path)
    _scan_sheets(path)
    with _open_workbook(path, values=True) as book:
        return _list_visible(book)


def _check_size(path: Path) -> None:
    """Refuse a workbook that would fill the memory."""
    with open_archive(path) as archive:
        size = sum(member.file_size for member in archive.members.values())
    if size > MAX_BYTES:
        message = f"{size} bytes when unpacked, at most {MAX_BYTES} are read; save it as CSV"
        raise DataError.at(path, message)


@contextmanager
def _open_workbook(path: Path, *, values: bool) -> Iterator["Workbook"]:
    """Open a workbook, for its values or for its formulas."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra that only workbooks need
    except ImportError:
        raise DataError.at(path, INSTALL) from None
    with path.open("rb") as file, warnings.catch_warnings():
        # openpyxl warns of parts that are lost where it writes, such as colours.
        warnings.simplefilter("ignore")
        yield openpyxl.load_workbook(file, read_only=True, data_only=values, keep_links=False)


@contextmanager
def _open_sheet(path: Path, dialect: Dialect, *, values: bool) -> Iterator["ReadOnlyWorksheet"]:
    """Open the sheet that the dialect names, or the only one."""
    with _open_workbook(path, values=values) as book:
        names = _list_visible(book)
        if dialect.sheet is None and len(names) > 1:
            line = dialect.to_toml(sheet=names[0])
            raise DataError.at(path, f"sheets {format_list(names)}; write {line} or another")
        name = dialect.sheet or names[0]
        if name not in book.sheetnames:
            hint = did_you_mean(name, book.sheetnames)
            message = f"no sheet {name!r}, there are {format_list(book.sheetnames)}{hint}"
            raise DataError.at(path, message)
        sheet = cast("ReadOnlyWorksheet", book[name])
        # Some programs write a wrong size, beyond which cells would be lost.
        sheet.reset_dimensions()
        yield sheet


def _list_visible(book: "Workbook") -> list[str]:
    """Return the names of the sheets that are not hidden and not empty; of all if none is left."""
    sheets = (sheet for sheet in book.worksheets if sheet.sheet_state == "visible")
    names = [sheet.title for sheet in sheets if any(map(any, _list_start(sheet)))]
    return names or book.sheetnames


def _list_start(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Return the first rows of a sheet."""
    return islice(sheet.iter_rows(values_only=True), MAX_HEADER_ROW)


def _collect_rows(sheet: "ReadOnlyWorksheet", path: Path) -> Rows:
    """Return the cells of each row that is not empty, by its number, without empty ones behind."""
    rows: Rows = {}
    width = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MAX_ROWS or len(row) > MAX_COLUMNS:
            message = f"more than {MAX_ROWS} rows or {MAX_COLUMNS} columns"
            raise DataError.at(path, message)
        last = next((n for n in range(len(row), 0, -1) if row[n - 1] not in (None, "")), 0)
        if last:
            width = max(width, last)
            rows[number] = row[:last]
            texts = sum(map(count_memory, rows[number]))
            take_memory(CELL * last + texts, "the cells of its rows")
    refuse_excess(path, CELL * len(rows) * width, f"{len(rows):,} rows of {width:,} cells")
    return rows


def _scan_sheets(path: Path) -> bool:
    """Refuse a row that would fill the memory; tell whether a cell has a formula."""
    has_formulas = False
    with open_archive(path) as archive:
        for name in (name for name in archive.members if name.startswith("xl/worksheets/")):
            content = archive.read(name)
            starts = [0, *(match.start() for match in ROW.finditer(content)), len(content)]
            if max(end - start for start, end in pairwise(starts)) > MAX_ROW_BYTES:
                message = f"a row of more than {MAX_ROW_BYTES} bytes"
                raise DataError.at(path, message, key=name)
            has_formulas |= FORMULA.search(content) is not None
    return has_formulas


def _refuse_formulas(path: Path, dialect: Dialect, rows: Rows) -> None:
    """Refuse formulas without a value, which a program wrote that does not compute them."""
    without = []
    with _open_sheet(path, dialect, values=False) as sheet:
        for number, row in enumerate(sheet.iter_rows(), start=1):
            values = dict(enumerate(rows.get(number, ())))
            formulas = [n for n, cell in enumerate(row) if cell.data_type == "f"]
            without += [number for n in formulas if values.get(n) is None]
    if without:
        count = format_count(len(without), "formula")
        message = f"{count} without a value: rows {format_list(dict.fromkeys(without))}; "
        raise DataError.at(path, message + "open it in a spreadsheet program and save it there")
