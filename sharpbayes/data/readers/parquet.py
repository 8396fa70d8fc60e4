"""Parquet files -> tables of text; each different value of a batch is written as text once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sharpbayes.data.readers.bounds import (
    COPIES,
    TEXT,
    borrow_memory,
    bound_memory,
    take_memory,
)
from sharpbayes.data.readers.parquet_pages import DELTA_BYTE_ARRAY, Page, list_pages
from sharpbayes.data.readers.paths import parse_partition
from sharpbayes.data.readers.text_table import (
    refuse_names,
    refuse_texts,
    require_columns,
    write_as_text,
)
from sharpbayes.errors import DataError, Diagnostic, first_line

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

PARQUET = ".parquet"
# Values of a column in memory as texts or numbers at a time, and bytes of those that are long.
BATCH, BATCH_BYTES = 1 << 20, 1 << 26
# Bytes of a rating while a study is read, beside the codes of its columns.
ROW = 20


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file, each column as categories of text: few bytes a cell."""
    file = _open_file(path)
    table = _read_columns([file], [{}], file.plain.schema_arrow.names)
    refuse_texts(table, path)
    return table


def refuse_records(path: Path, columns: Iterable[tuple[str, str]]) -> None:
    """Raise for every pair of a role and a column where a cell holds a record or a list."""
    schema, wanted = _open_file(path).plain.schema_arrow, "needs a column of texts or numbers"
    DataError.raise_any(
        Diagnostic(str(path), 0, name, f"{role} {wanted}, a cell here is {schema.field(name).type}")
        for role, name in columns
        if name in schema.names and pa.types.is_nested(schema.field(name).type)
    )


def read_names(path: Path) -> list[str]:
    """Read the names of the columns of a Parquet file."""
    return [str(name) for name in _open_file(path).plain.schema_arrow.names]


def read_selected(
    base: Path,
    name: str,
    paths: Sequence[Path],
    *,
    roles: Sequence[tuple[str, str]],
    columns: Sequence[str],
) -> pd.DataFrame:
    """Return some columns of the files of a name, each as categories of text.

    All columns of ``roles``, pairs of a role and its column, must be there; ``columns`` are read
    if they are.
    """
    path = str(base / name)
    try:
        files = [_open_file(file) for file in paths]
        partitions = [parse_partition(base, name, file) for file in paths]
        parts = zip(files, partitions, strict=True)
        names = [[*file.plain.schema_arrow.names, *partition] for file, partition in parts]
        for of_file, file in zip(names, paths, strict=True):
            refuse_names(of_file, file)
            refuse_records(file, [*roles, *((f"column {name}", name) for name in columns)])
        present = dict.fromkeys(name for of_file in names for name in of_file)
        require_columns([*present], roles, path=path)
        wanted = dict.fromkeys([*(column for _, column in roles), *columns])
        selected = [name for name in wanted if name in present]
        for of_file in names:
            require_columns(of_file, zip(selected, selected, strict=True), path=path)
        with bound_memory(base / name, paths):
            table = _read_columns(files, partitions, selected)
        refuse_texts(table, paths[0])
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - Arrow raises many kinds for a damaged file
        raise DataError.at(path, f"cannot be read: {first_line(error)}") from None
    if table.empty:
        raise DataError.at(path, "no rows")
    return table


@dataclass(frozen=True)
class _File:
    """An open file, once more with texts by a dictionary, and positions that a column reads.

    By a dictionary, a text that a page has once is in memory once, in however many rows it stands.
    With column `a`, Arrow reads `a.b` too.
    """

    path: Path
    plain: "ParquetFile"
    by_dictionary: "ParquetFile"
    positions: Mapping[str, list[int]]


def _open_file(path: Path) -> _File:
    """Open a file and refuse names of columns that occur twice."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loads file systems and TLS

    file = ParquetFile(path)
    refuse_names(file.schema_arrow.names, path)
    texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
    by_dictionary = ParquetFile(path, metadata=file.metadata, read_dictionary=texts)
    return _File(path, file, by_dictionary, _find_positions(file, path))


def _find_positions(file: "ParquetFile", path: Path) -> dict[str, list[int]]:
    """Return the positions that are read with each column that is not nested."""
    schema = file.schema_arrow
    positions: dict[str, list[int]] = {f.name: [] for f in schema if not pa.types.is_nested(f.type)}
    for position in range(len(file.schema)):
        leaf = file.schema.column(position).path
        parts = leaf.split(".")
        starts = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        for name in (start for start in starts if start in positions):
            if leaf not in positions:
                raise DataError.at(path, f"a column and a part of a record are both {name!r}")
            positions[name].append(position)
    return positions


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds texts or bytes."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)) or bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )


def _read_columns(
    files: Sequence[_File], partitions: Sequence[Mapping[str, str]], names: Sequence[str]
) -> pd.DataFrame:
    """Read columns of several files one after the other, batch by batch, into codes."""
    rows = sum(file.plain.metadata.num_rows for file in files)
    take_memory(ROW * rows, f"{rows:,} rows")
    table = {}
    for name in names:
        column = _GrowingColumn(rows, name)
        for file, partition in zip(files, partitions, strict=True):
            if name in partition:
                column.repeat(partition[name], file.plain.metadata.num_rows)
            elif pa.types.is_nested(kind := file.plain.schema_arrow.field(name).type):
                column.repeat(f"({kind})", file.plain.metadata.num_rows)
            else:
                _add_file(column, file)
        dtype = pd.CategoricalDtype([*column.position])
        table[name] = pd.Categorical.from_codes(column.codes, dtype=dtype)
    return pd.DataFrame(table, index=range(1, rows + 1), copy=False)


def _add_file(column: "_GrowingColumn", file: _File) -> None:
    """Add a column of a file, after a look at what its pages become."""
    positions, metadata = file.positions[column.name], file.plain.metadata
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    pages = [*list_pages(file.path, (g.column(n) for g in groups for n in positions))]
    declared = [file.plain.schema.column(position) for position in positions]
    grows = any(page.encoding == DELTA_BYTE_ARRAY for page in pages)
    is_text = _is_text(file.plain.schema_arrow.field(column.name).type) and not grows
    # Other values than texts are unpacked row by row. One is at most as long as its page.
    longest = max([1, *(leaf.length for leaf in declared), *(page.size for page in pages)])
    whole = any(leaf.physical_type.endswith("BYTE_ARRAY") for leaf in declared) and not is_text
    batch = min(BATCH, max(1, BATCH_BYTES // longest)) if whole else BATCH
    unpacked = COPIES * max(_find_window(pages, BATCH), longest * batch if whole else 0)
    with borrow_memory(unpacked, f"the pages of column {column.name!r}, unpacked,"):
        reader = file.by_dictionary if is_text else file.plain
        for values in reader.iter_batches(batch_size=batch, columns=[column.name]):
            # The batch also holds columns with a nested name that begins alike.
            column.add(values.column(column.name))


def _find_window(pages: Sequence[Page], rows: int) -> int:
    """Return the most bytes of successive pages that have together so many values, and one more.

    >>> _find_window([Page(10, 4, 0), Page(30, 4, 0), Page(20, 4, 0)], 4)
    50
    """
    best = size = values = first = 0
    for page in pages:
        size, values = size + page.size, values + page.rows
        while values - pages[first].rows > rows:
            size, values = size - pages[first].size, values - pages[first].rows
            first += 1
        best = max(best, size)
    return best


class _GrowingColumn:
    """Codes of a column; its texts turn up as batches are read."""

    def __init__(self, rows: int, name: str) -> None:
        self.name = name
        self.rows = rows
        self.codes: NDArray[np.signedinteger[Any]] = np.empty(rows, dtype=np.int16)
        self.position: dict[str, int] = {}
        self.size = 0

    def repeat(self, text: str, rows: int) -> None:
        """Add one text for a number of rows."""
        self.add_texts([text], np.zeros(rows, np.int8))

    def add(self, values: Any) -> None:
        """Add the values of a batch; missing and not a number are both the empty text."""
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        # A category of the file may occur in no row.
        used = encoded.indices.unique().drop_null()
        known = encoded.dictionary.take(used)
        texts = write_as_text(pd.DataFrame({"": known.to_pandas()}))[""].tolist()
        codes = np.zeros(len(encoded.dictionary) + 1, dtype=np.int32)
        codes[used.to_numpy()] = np.arange(len(texts))
        codes[-1] = len(texts)
        texts += [""] if encoded.indices.null_count else []
        indices = encoded.indices.cast(pa.int64()).fill_null(len(encoded.dictionary))
        self.add_texts(texts, codes[indices.to_numpy(zero_copy_only=False)])

    def add_texts(self, texts: Sequence[str], indices: NDArray[np.integer]) -> None:
        """Add ``texts[indices]``."""
        new = [text for text in texts if text not in self.position]
        size = TEXT * len(new) + COPIES * sum(map(len, new))
        take_memory(size, f"the different texts of column {self.name!r}")
        positions = [self.position.setdefault(text, len(self.position)) for text in texts]
        if len(self.position) > np.iinfo(np.int16).max and self.codes.dtype == np.int16:
            take_memory(4 * self.rows, f"column {self.name!r}")
            self.codes = self.codes.astype(np.int32)
        self.codes[self.size : self.size + len(indices)] = np.array(positions)[indices]
        self.size += len(indices)
