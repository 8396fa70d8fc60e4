"""Parquet files -> tables of text; each different value of a batch is written as text once."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

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
# Values of a column in memory as texts or numbers at a time.
BATCH = 1 << 20


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file, each column as categories of text: few bytes a cell."""
    file = _open_file(path)
    table = _read_columns([file], [{}], file.schema_arrow.names)
    refuse_texts(table, path)
    return table


def refuse_records(path: Path, columns: Iterable[tuple[str, str]]) -> None:
    """Raise for every pair of a role and a column where a cell holds a record or a list."""
    schema, wanted = _open_file(path).schema_arrow, "needs a column of texts or numbers"
    DataError.raise_any(
        Diagnostic(str(path), 0, name, f"{role} {wanted}, a cell here is {schema.field(name).type}")
        for role, name in columns
        if name in schema.names and pa.types.is_nested(schema.field(name).type)
    )


def read_names(path: Path) -> list[str]:
    """Read the names of the columns of a Parquet file."""
    return [str(name) for name in _open_file(path).schema_arrow.names]


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
        names = [[*file.schema_arrow.names, *partition] for file, partition in parts]
        for of_file, file in zip(names, paths, strict=True):
            refuse_names(of_file, file)
            refuse_records(file, [*roles, *((f"column {name}", name) for name in columns)])
        present = dict.fromkeys(name for of_file in names for name in of_file)
        require_columns([*present], roles, path=path)
        wanted = dict.fromkeys([*(column for _, column in roles), *columns])
        selected = [name for name in wanted if name in present]
        for of_file in names:
            require_columns(of_file, zip(selected, selected, strict=True), path=path)
        table = _read_columns(files, partitions, selected)
        refuse_texts(table, paths[0])
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - Arrow raises many kinds for a damaged file
        raise DataError.at(path, f"cannot be read: {first_line(error)}") from None
    if table.empty:
        raise DataError.at(path, "no rows")
    return table


def _open_file(path: Path) -> "ParquetFile":
    """Open a file and refuse names of columns that occur twice."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loads file systems and TLS

    file = ParquetFile(path)
    refuse_names(file.schema_arrow.names, path)
    return file


def _read_columns(
    files: Sequence["ParquetFile"], partitions: Sequence[Mapping[str, str]], names: Sequence[str]
) -> pd.DataFrame:
    """Read columns of several files one after the other, batch by batch, into codes."""
    rows = sum(file.metadata.num_rows for file in files)
    table = {}
    for name in names:
        column = _GrowingColumn(rows)
        for file, partition in zip(files, partitions, strict=True):
            if name in partition:
                column.add_texts([partition[name]], np.zeros(file.metadata.num_rows, np.int8))
            else:
                for batch in file.iter_batches(batch_size=BATCH, columns=[name]):
                    # The batch also holds columns with a nested name that begins alike.
                    column.add(batch.column(name))
        dtype = pd.CategoricalDtype([*column.position])
        table[name] = pd.Categorical.from_codes(column.codes, dtype=dtype)
    return pd.DataFrame(table, index=range(1, rows + 1), copy=False)


class _GrowingColumn:
    """Codes of a column; its texts turn up as batches are read."""

    def __init__(self, rows: int) -> None:
        self.codes: NDArray[np.signedinteger[Any]] = np.empty(rows, dtype=np.int16)
        self.position: dict[str, int] = {}
        self.size = 0

    def add(self, values: Any) -> None:
        """Add the values of a batch; missing and not a number are both the empty text."""
        if pa.types.is_nested(values.type) or pa.types.is_null(values.type):
            texts = ["" if value is None else str(value) for value in values.to_pylist()]
            self.add_texts(texts, np.arange(len(texts)))
            return
        # A category of the file may occur in no row, so the values are encoded again.
        decoded = values.dictionary_decode() if hasattr(values, "dictionary_decode") else values
        encoded = decoded.dictionary_encode()
        texts = write_as_text(pd.DataFrame({"": encoded.dictionary.to_pandas()}))[""].tolist()
        texts += [""] if encoded.null_count else []
        indices = encoded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        self.add_texts(texts, indices)

    def add_texts(self, texts: Sequence[str], indices: NDArray[np.integer]) -> None:
        """Add ``texts[indices]``."""
        positions = [self.position.setdefault(text, len(self.position)) for text in texts]
        if len(self.position) > np.iinfo(np.int16).max and self.codes.dtype == np.int16:
            self.codes = self.codes.astype(np.int32)
        self.codes[self.size : self.size + len(indices)] = np.array(positions)[indices]
        self.size += len(indices)
