"""Parquet files -> tables of text, whole or in batches that keep a code instead of each text."""

from collections.abc import Iterator, Mapping, Sequence
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
from sharpbayes.errors import DataError, first_line

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

PARQUET = ".parquet"
# Rows in memory as texts or numbers at a time.
BATCH = 1 << 20


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file and write its values as text."""
    return read_categories(path).astype(str)


def read_categories(path: Path) -> pd.DataFrame:
    """Read a Parquet file column by column, each as categories of text: few bytes a cell."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loads file systems and TLS

    file = ParquetFile(path)
    names = file.schema_arrow.names
    refuse_names(names, path)
    # A name can also stand for a column inside a nested one: then only positions are safe.
    columns = file.read().columns if _is_nested(file) else (file.read([n]).column(0) for n in names)
    table = pd.DataFrame({n: _categorise(column) for n, column in zip(names, columns, strict=True)})
    refuse_texts(table, path)
    return table


def _is_nested(file: "ParquetFile") -> bool:
    """Tell whether a column holds lists or records, or a name has a point."""
    schema = file.schema_arrow
    return any(pa.types.is_nested(field.type) or "." in field.name for field in schema)


def _categorise(column: pa.ChunkedArray) -> pd.Categorical:
    """Return a column as categories of text; each different value is written as text once."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        values = ["" if value is None else str(value) for value in column.to_pylist()]
        codes, texts = pd.factorize(np.array(values, dtype=object))
    else:
        encoded = column.unify_dictionaries().combine_chunks().dictionary_encode()
        written = _write_dictionary(encoded.dictionary)
        # A missing value and one that is not a number are the same empty text, the last.
        positions, texts = pd.factorize(np.append(written.to_numpy(dtype=object), ""))
        indices = encoded.indices.fill_null(len(written)).to_numpy(zero_copy_only=False)
        codes = positions[indices]
    return pd.Categorical.from_codes(codes, pd.Index(texts, dtype=object))


def _write_dictionary(dictionary: pa.Array) -> pd.Series:
    """Write the different values of a column as text."""
    return write_as_text(pd.DataFrame({"": dictionary.to_pandas()}))[""]


def read_batches(
    base: Path,
    name: str,
    paths: Sequence[Path],
    *,
    roles: Sequence[tuple[str, str]],
    columns: Sequence[str],
) -> pd.DataFrame:
    """Return some columns of Parquet files as categories of text, read batch by batch.

    Args:
        base: Folder that a relative name starts from.
        name: The name in the study.
        paths: The files that it stands for.
        roles: Pairs of a role and the column that it names; all must be there.
        columns: Further columns, read if they are there.

    Raises:
        DataError: A column that is not there, a file that cannot be read, or no rows.
    """
    try:
        return _Batches(base, name, paths).read(roles, columns)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - Arrow raises many kinds for a damaged file
        raise DataError.at(base / name, f"cannot be read: {first_line(error)}") from None


class _Batches:
    """Batches of the rows of several files, one file after the other."""

    def __init__(self, base: Path, name: str, paths: Sequence[Path]) -> None:
        """Open the files and look at their columns."""
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loads file systems and TLS

        self.path, self.paths = str(base / name), paths
        self.partitions = [parse_partition(base, name, path) for path in paths]
        self.files = [ParquetFile(path) for path in paths]
        self.names = [
            [*file.schema_arrow.names, *partition]
            for file, partition in zip(self.files, self.partitions, strict=True)
        ]
        for names, path in zip(self.names, paths, strict=True):
            refuse_names(names, path)

    def read(self, roles: Sequence[tuple[str, str]], columns: Sequence[str]) -> pd.DataFrame:
        """Read every batch of every file into codes."""
        present = list(dict.fromkeys(name for names in self.names for name in names))
        require_columns(pd.DataFrame(columns=present), roles, path=self.path)
        rows = sum(file.metadata.num_rows for file in self.files)
        if not rows:
            raise DataError.at(self.path, "no rows")
        wanted = dict.fromkeys([*(column for _, column in roles), *columns])
        growing = {name: _GrowingColumn(rows) for name in wanted if name in present}
        for names in self.names:
            same = [(name, name) for name in growing]
            require_columns(pd.DataFrame(columns=names), same, path=self.path)
        start = 0
        for batch, partition in self._iterate(list(growing)):
            for name, column in growing.items():
                value = partition.get(name)
                column.add(start, batch[name] if value is None else pa.repeat(value, len(batch)))
            start += len(batch)
        table = pd.DataFrame({n: growing.pop(n).to_series(n) for n in list(growing)}, copy=False)
        refuse_texts(table, self.paths[0])
        return table

    def _iterate(self, columns: list[str]) -> Iterator[tuple[Any, Mapping[str, str]]]:
        """Yield batches of rows, with the columns in the names of the folders of their file."""
        for file, partition in zip(self.files, self.partitions, strict=True):
            inside = [name for name in columns if name not in partition]
            for batch in file.iter_batches(batch_size=BATCH, columns=inside):
                yield batch, partition


class _GrowingColumn:
    """Codes of a column; its texts turn up as batches are read."""

    def __init__(self, rows: int) -> None:
        self.codes: NDArray[np.signedinteger[Any]] = np.empty(rows, dtype=np.int16)
        self.position: dict[str, int] = {}

    def add(self, start: int, column: Any) -> None:
        """Add the values of a batch, from row ``start`` on."""
        # A category of the file may occur in no row: categories are found anew.
        decoded = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        encoded = decoded.dictionary_encode()
        texts = _write_dictionary(encoded.dictionary).tolist()
        texts += [""] if encoded.null_count else []
        positions = [self.position.setdefault(text, len(self.position)) for text in texts]
        if len(self.position) > np.iinfo(np.int16).max and self.codes.dtype == np.int16:
            self.codes = self.codes.astype(np.int32)
        indices = encoded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        self.codes[start : start + len(indices)] = np.array(positions)[indices]

    def to_series(self, name: str) -> pd.Series:
        """Return the column as categories of text."""
        dtype = pd.CategoricalDtype([*self.position])
        return pd.Series(pd.Categorical.from_codes(self.codes, dtype=dtype), name=name)
