"""Text files with a delimiter (CSV, TSV) -> tables of text."""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from sharpbayes.data.memory import MemoryPath
from sharpbayes.data.readers.dialects import UTF_16_MARKS, find_delimiter, guess_dialect
from sharpbayes.data.readers.quotes import MAX_CELL, refuse_open_quote, refuse_swallowed_rows
from sharpbayes.data.readers.text_table import (
    MAX_TITLE_ROWS,
    drop_empty_rows,
    find_header,
    refuse_names,
    refuse_texts,
)
from sharpbayes.errors import DataError, first_line, format_count, format_list
from sharpbayes.spec.dialect import Dialect

MAX_TEXT = 40


@dataclass(frozen=True)
class TextFile:
    """A text file, its dialect as the study gives it, and what follows where it gives nothing."""

    path: Path
    dialect: Dialect
    encoding: str
    delimiter: str
    header_row: int

    @classmethod
    def open(cls, path: Path, dialect: Dialect) -> "TextFile":
        """Look at the start of a file: a byte order mark, and the line that Excel may add."""
        with path.open("rb") as file:
            mark = file.read(2)
        encoding = dialect.encoding or ("utf-16" if mark in UTF_16_MARKS else "utf-8-sig")
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            usual, header_row = find_delimiter(path, file.readline(MAX_TEXT))
        return cls(path, dialect, encoding, dialect.delimiter or usual, header_row)

    @property
    def first_row(self) -> int:
        """Number of the first row below the names, which are no row of a table in memory."""
        return self.header_row + (not isinstance(self.path, MemoryPath))

    def suggest_dialect(self) -> str:
        """Return the line of a study that describes the file as it seems to be; empty if it does.

        It stands at the end of a message.
        """
        guess = guess_dialect(self.path).model_dump(exclude_defaults=True)
        declared = {"delimiter": self.delimiter, "encoding": self.encoding}
        changes = {key: value for key, value in guess.items() if declared[key] != value}
        return f"; write {self.dialect.to_toml(**changes)}" if changes else ""


def read_csv(path: Path, dialect: Dialect | None = None) -> pd.DataFrame:
    """Read a text file with all cells as text; every row must be as long as the header.

    Rows are numbered as a spreadsheet shows them, the names in row 1; empty rows are left out.
    """
    file = TextFile.open(path, dialect or Dialect())
    names = _read_names(file)
    with _explain_encoding(file):
        table = _read_cells(file, len(names), threads=True)
    table.index = pd.RangeIndex(file.first_row, file.first_row + len(table))
    table = drop_empty_rows(table.set_axis(pd.Index(names, dtype=object), axis=1))
    refuse_swallowed_rows(table, path, file.delimiter)
    if file.encoding.startswith("utf-16"):
        refuse_texts(table, path)
    return table


def read_header(path: Path, dialect: Dialect | None = None) -> list[str]:
    """Read the names of the columns of a text file that has more lines."""
    return _read_names(TextFile.open(path, dialect or Dialect()))


def _read_names(file: TextFile) -> list[str]:
    """Read the first line, and refuse a file that seems to have another dialect."""
    path = file.path
    if not file.encoding.startswith("utf-16"):
        _refuse_nul(file)
    refuse_open_quote(path, file.encoding, file.delimiter)
    with _explain_encoding(file), path.open(encoding=file.encoding, newline="") as text:
        lines = csv.reader(text, delimiter=file.delimiter)
        for _ in range(file.header_row):
            names = next(lines, [])
        below = [*islice(enumerate(lines, file.first_row), MAX_TITLE_ROWS)]
    if not names:
        message = "the first line is empty, it must name the columns"
        raise DataError.at(path, message, line=file.header_row)
    if len(names) == 1 and (suggestion := file.suggest_dialect()):
        message = f"one column, separated by {file.delimiter!r}{suggestion}"
        raise DataError.at(path, message, line=file.header_row)
    names = [names[0].removeprefix("\ufeff"), *names[1:]]
    hint = find_header(names, below)
    refuse_names(names, path, hint=hint)
    if len(names) == 1 and hint:
        raise DataError.at(path, f"one column{hint}", line=file.header_row)
    if not below:
        raise DataError.at(path, "no rows")
    return names


def _refuse_nul(file: TextFile) -> None:
    """Refuse a file with a NUL character, which only a file of another encoding has many of."""
    lines = 1
    with file.path.open("rb") as raw:
        for block in iter(partial(raw.read, MAX_CELL), b""):
            before, nul, _ = block.partition(b"\0")
            lines += before.count(b"\n")
            if nul:
                suggestion = file.suggest_dialect()
                if "utf-16" in suggestion:
                    message = f"not UTF-8 text: it has NUL characters{suggestion}"
                    raise DataError.at(file.path, message)
                message = "a NUL character, which no text has; remove it"
                raise DataError.at(file.path, message, line=lines)


def _read_cells(file: TextFile, width: int, *, threads: bool) -> pd.DataFrame:
    """Read the cells below the header; rows of another length are refused, never filled up."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - only a CSV file needs it

    ragged: list[Any] = []
    names = [str(position) for position in range(width)]

    def collect_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip"

    read = arrow_csv.ReadOptions(
        column_names=names,
        skip_rows_after_names=file.header_row,
        block_size=MAX_CELL,
        use_threads=threads,
        encoding="utf8" if file.encoding.startswith("utf-8") else file.encoding,
    )
    parse = arrow_csv.ParseOptions(
        delimiter=file.delimiter,
        newlines_in_values=True,
        # An empty line is a row of empty cells: it counts where rows are numbered.
        ignore_empty_lines=False,
        invalid_row_handler=collect_ragged,
    )
    types = dict.fromkeys(names, pa.string())
    convert = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    with file.path.open("rb") as content, _pass_broken_rows():
        cells = arrow_csv.read_csv(content, read, parse, convert)
    if ragged and threads:
        # Arrow knows the number of a row only where it reads with one thread.
        return _read_cells(file, width, threads=False)
    if ragged:
        rows, wanted = format_count(len(ragged), "row"), format_count(width, "cell")
        numbers = format_list([row.number for row in ragged])
        first = f"the first has {format_count(ragged[0].actual_columns, 'cell')}"
        message = f"{rows} without {wanted}, as the header has: rows {numbers}; {first}"
        raise DataError.at(file.path, message + file.suggest_dialect())
    return pd.DataFrame(cells.to_pandas().astype(str))


@contextmanager
def _pass_broken_rows() -> Iterator[None]:
    """Keep the trace of Arrow off the terminal where a ragged row is no text.

    Arrow decodes such a row where nobody can catch an error. Afterwards it refuses the file.
    """
    report = sys.unraisablehook

    def drop(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, UnicodeDecodeError):
            report(unraisable)

    sys.unraisablehook = drop
    try:
        yield
    finally:
        sys.unraisablehook = report


@contextmanager
def _explain_encoding(file: TextFile) -> Iterator[None]:
    """Name the first line that the encoding cannot read, and the encoding that may be meant."""
    try:
        yield
    except (UnicodeError, pa.ArrowInvalid) as error:
        encoding = file.encoding.removesuffix("-sig")
        with file.path.open("rb") as lines:
            numbered = ((n, line) for n, line in enumerate(lines, start=1) if not line.isascii())
            bad = next(((n, line) for n, line in numbered if not _decodes(line, encoding)), None)
        if bad is None or encoding.startswith("utf-16"):
            message = f"cannot be read as {encoding}: {first_line(error)}"
            raise DataError.at(file.path, message) from None
        number, line = bad
        shown = repr(line.strip()[:MAX_TEXT]).removeprefix("b")
        message = f"not {encoding.upper()} text: {shown}{file.suggest_dialect()}"
        raise DataError.at(file.path, message, line=number) from None


def _decodes(line: bytes, encoding: str) -> bool:
    """Tell whether an encoding can read a line."""
    try:
        line.decode(encoding)
    except UnicodeError:
        return False
    return True
