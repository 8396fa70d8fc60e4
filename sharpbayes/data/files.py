"""Tables on disk -> data frames of text; nothing is guessed of ids or of missing values."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sharpbayes.errors import DataError, Fault, did_you_mean, first_line

KINDS = (".csv", ".parquet", ".jsonl")


def read_table(base: Path, name: str, *, compact: bool = False) -> pd.DataFrame:
    """Return the rows of a file, or of all files that a pattern matches, every value as text.

    An empty cell is an empty text. Files are joined in the order of their names.

    Args:
        base: Folder that a relative name starts from.
        name: A path or a glob pattern; ``.csv``, ``.parquet`` or ``.jsonl``.
        compact: Whether columns of a Parquet file are categories of text, a byte or a few a cell.

    Raises:
        DataError: No such file, another kind of file, or one without rows.
    """
    frames = [_read(path, compact=compact) for path in matching_files(base, name)]
    table = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if table.empty:
        raise DataError([Fault(str(base / name), 0, "", "no rows")])
    return table


def matching_files(base: Path, name: str) -> list[Path]:
    """Return the files that a path or a glob pattern stands for, in the order of their names.

    Raises:
        DataError: There is none.
    """
    path = base / name
    found = sorted(path.parent.glob(path.name)) if "*" in name or "?" in name else [path]
    found = [each for each in found if each.is_file()]
    if not found:
        beside = [each.name for each in path.parent.glob("*.*")] if path.parent.is_dir() else []
        message = f"no such file{did_you_mean(path.name, beside)}"
        raise DataError([Fault(str(path), 0, "", message)])
    return found


def _read(path: Path, *, compact: bool) -> pd.DataFrame:
    """Read one file by its ending."""
    parquet = _compact_parquet if compact else _parquet
    readers = {".csv": _csv, ".parquet": parquet, ".jsonl": _jsonl}
    if path.suffix not in readers:
        message = f"unknown kind of file {path.suffix!r}, allowed are {', '.join(KINDS)}"
        raise DataError([Fault(str(path), 0, "", message)])
    try:
        table = readers[path.suffix](path)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for a damaged file
        raise DataError([Fault(str(path), 0, "", f"cannot be read: {first_line(error)}")]) from None
    return table


def _csv(path: Path) -> pd.DataFrame:
    """Read a CSV file with all cells as text; two columns of one name are refused."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [str(name) for name in header.iloc[0]]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"{len(twice)} column names stand more than once: {', '.join(twice)}"
        raise DataError([Fault(str(path), 1, "", message)])
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def _parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file and write its values as text."""
    return as_text(pd.read_parquet(path))


def _compact_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file column by column, each as categories of the same texts."""
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    return pd.DataFrame({name: _categories(file.read([name]).column(0)) for name in names})


def _categories(column: pa.ChunkedArray) -> pd.Categorical:
    """Texts of a column, each different value written once."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    held = column.unify_dictionaries().combine_chunks().dictionary_encode()
    texts = as_text(pd.DataFrame({"": held.dictionary.to_pandas()}))[""]
    # A missing value and one that is not a number are the same empty text, placed last.
    place, found = pd.factorize(np.append(texts.to_numpy(dtype=object), ""))
    codes = held.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(place[codes], pd.Index(found, dtype=object))


def _jsonl(path: Path) -> pd.DataFrame:
    """Read one JSON object a line and write its values as text."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                row = str(error)
            if not isinstance(row, dict):
                raise DataError([Fault(str(path), number, "", "not a JSON object")])
            rows.append(row)
    return as_text(pd.DataFrame(rows, dtype=object))


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with every value as text: whole numbers without a point, missing as empty."""
    return pd.DataFrame({str(name): _text_column(table[name]) for name in table.columns}, dtype=str)


def _text_column(column: pd.Series) -> pd.Series:
    """Write one column as text."""
    missing = column.isna()
    if pd.api.types.is_float_dtype(column.dtype) and (column[~missing] % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype(object).map(_text).where(~missing, "").astype(str)


def _text(value: object) -> str:
    """Write one value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def require_columns(table: pd.DataFrame, columns: Sequence[tuple[str, str]], *, path: str) -> None:
    """Raise for every role whose column is not there.

    Args:
        table: The table.
        columns: Pairs of a role and the column that it names.
        path: The file, for messages.

    Raises:
        DataError: Each role with its column, the columns that there are, and the nearest.
    """
    there = [str(name) for name in table.columns]
    faults = [
        Fault(
            path,
            0,
            column,
            f"no such column for {role}, the columns are {', '.join(there)}"
            + did_you_mean(column, there),
        )
        for role, column in columns
        if column not in there
    ]
    if faults:
        raise DataError(faults)
