"""CSV files -> tables of text."""

import csv
import mmap
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from sharpbayes.data.readers.text_table import refuse_names
from sharpbayes.errors import DataError, format_count, format_list

# The largest possible cell, in bytes.
BLOCK_BYTES = 1 << 23


def read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file with all cells as text; every row must be as long as the header."""
    names = _read_header(path)
    table = _read_cells(path, len(names), threads=True)
    return table.set_axis(pd.Index(names, dtype=object), axis=1)


def _read_header(path: Path) -> list[str]:
    """Read the names in the first line of a CSV file that has more lines."""
    if path.stat().st_size:
        with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(b"\0") >= 0:
                raise DataError.at(path, "not UTF-8 text: it has NUL characters")
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        names, second = next(lines, []), next(lines, None)
    if not names:
        raise DataError.at(path, "the first line is empty, it must name the columns", line=1)
    refuse_names(names, path)
    if second is None:
        raise DataError.at(path, "no rows")
    return names


def _read_cells(path: Path, width: int, *, threads: bool) -> pd.DataFrame:
    """Read the cells below the header; rows of another length are refused, never filled up."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - only a CSV file needs it

    ragged: list[Any] = []
    names = [str(position) for position in range(width)]

    def collect_ragged(row: Any) -> str:
        ragged.append(row)
        return "skip"

    cells = arrow_csv.read_csv(
        path,
        arrow_csv.ReadOptions(
            column_names=names, skip_rows_after_names=1, block_size=BLOCK_BYTES, use_threads=threads
        ),
        arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=collect_ragged),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    if ragged and threads:
        # Arrow knows the number of a row only where it reads with one thread.
        return _read_cells(path, width, threads=False)
    if ragged:
        rows, wanted = format_count(len(ragged), "row"), format_count(width, "cell")
        numbers = format_list([row.number - 1 for row in ragged])
        first = f"the first has {format_count(ragged[0].actual_columns, 'cell')}"
        message = f"{rows} without {wanted}, as the header has: rows {numbers}; {first}"
        raise DataError.at(path, message)
    return pd.DataFrame(cells.to_pandas().astype(str))
