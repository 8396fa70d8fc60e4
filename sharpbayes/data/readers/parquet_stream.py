"""Ratings in Parquet, read batch by batch: memory holds a code a value, never the texts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.readers.files import (
    as_text,
    matching_files,
    read_table,
    refuse_names,
    refuse_texts,
    require_columns,
)
from sharpbayes.data.readers.partition import parse_partition
from sharpbayes.errors import DataError, Diagnostic, first_line

Codes = NDArray[np.int32]

# Rows held as texts or numbers at a time.
BATCH = 1 << 20
# From here on a sort by counting is worth its start.
COMPILED_FROM = 1 << 20
PARQUET = ".parquet"


def read_ratings(
    base: Path, name: str, *, roles: Sequence[tuple[str, str]], columns: Sequence[str]
) -> pd.DataFrame:
    """Return a table of ratings; from Parquet only the columns asked for, as categories of text.

    Args:
        base: Folder that a relative name starts from.
        name: A path or a glob pattern.
        roles: Pairs of a role and the column that it names; all must be there.
        columns: Further columns, wanted if they are there.

    Returns:
        What :func:`sharpbayes.data.readers.files.read_table` returns, or the same values as categories.

    Raises:
        DataError: No such file or column, a file that cannot be read, or no rows.
    """
    paths = matching_files(base, name)
    if any(path.suffix != PARQUET for path in paths):
        table = read_table(base, name)
        require_columns(table, roles, path=str(base / name))
        return table
    try:
        parts = [parse_partition(base, name, each) for each in paths]
        return _streamed(paths, parts, roles, columns, path=str(base / name))
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - Arrow raises many kinds for a damaged file
        message = f"cannot be read: {first_line(error)}"
        raise DataError([Diagnostic(str(base / name), 0, "", message)]) from None


def sort_rows(item: Codes, rater: Codes) -> Codes:
    """Return the rows by item, then rater; equal ones in the order of the file.

    >>> sort_rows(np.array([1, 0, 1], np.int32), np.array([1, 5, 0], np.int32)).tolist()
    [1, 2, 0]
    """
    if item.size < COMPILED_FROM:
        return np.lexsort((rater, item)).astype(np.int32)
    from sharpbayes.data.readers.counting_sort import (  # noqa: PLC0415 - loads a compiler
        sort_by_code,
    )

    rows: Codes = np.arange(item.size, dtype=np.int32)
    for code in (rater, item):
        rows = sort_by_code(code, rows, int(code.max(initial=0)) + 1)
    return rows


class _Growing:
    """Codes of a column whose texts turn up as batches are read."""

    def __init__(self, rows: int) -> None:
        self.codes: NDArray[np.signedinteger[Any]] = np.empty(rows, dtype=np.int16)
        self.place: dict[str, int] = {}

    def put(self, start: int, column: Any) -> None:
        """Add the values of a batch, from row ``start`` on."""
        # Categories of the file may stand for nothing that is there: they are found anew.
        plain = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        encoded = plain.dictionary_encode()
        texts = as_text(pd.DataFrame({"x": encoded.dictionary.to_pandas()}))["x"].tolist()
        texts += [""] if encoded.null_count else []
        places = [self.place.setdefault(text, len(self.place)) for text in texts]
        if len(self.place) > np.iinfo(np.int16).max and self.codes.dtype == np.int16:
            self.codes = self.codes.astype(np.int32)
        index = encoded.indices.fill_null(len(places) - 1).to_numpy(zero_copy_only=False)
        self.codes[start : start + len(index)] = np.array(places)[index]

    def series(self, name: str) -> pd.Series:
        """Return the column as categories of text."""
        dtype = pd.CategoricalDtype([*self.place])
        return pd.Series(pd.Categorical.from_codes(self.codes, dtype=dtype), name=name)


def _streamed(
    paths: Sequence[Path],
    parts: Sequence[Mapping[str, str]],
    roles: Sequence[tuple[str, str]],
    columns: Sequence[str],
    *,
    path: str,
) -> pd.DataFrame:
    """Read every batch of every file into codes."""
    import pyarrow as pa  # noqa: PLC0415 - only where there is Parquet
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only where there is Parquet

    files = [ParquetFile(each) for each in paths]
    held_by = [[*file.schema_arrow.names, *part] for file, part in zip(files, parts, strict=True)]
    for names, each in zip(held_by, paths, strict=True):
        refuse_names(names, each)
    there = list(dict.fromkeys(name for names in held_by for name in names))
    require_columns(pd.DataFrame(columns=there), roles, path=path)
    wanted = list(dict.fromkeys([*(column for _, column in roles), *columns]))
    rows = sum(file.metadata.num_rows for file in files)
    if not rows:
        raise DataError([Diagnostic(path, 0, "", "no rows")])
    found = {name: _Growing(rows) for name in wanted if name in there}
    for names in held_by:
        require_columns(pd.DataFrame(columns=names), [(n, n) for n in found], path=path)
    start = 0
    for batch, part in _batches(files, parts, list(found)):
        for name, held in found.items():
            same = part.get(name)
            column = batch.column(name) if same is None else pa.repeat(same, batch.num_rows)
            held.put(start, column)
        start += batch.num_rows
    table = pd.DataFrame({name: found.pop(name).series(name) for name in list(found)}, copy=False)
    refuse_texts(table, paths[0])
    return table


def _batches(
    files: Sequence[Any], parts: Sequence[Mapping[str, str]], columns: list[str]
) -> Iterator[tuple[Any, Mapping[str, str]]]:
    """Batches of rows of one file after the other, with what its folders say."""
    for file, part in zip(files, parts, strict=True):
        own = [name for name in columns if name not in part]
        for batch in file.iter_batches(batch_size=BATCH, columns=own):
            yield batch, part
