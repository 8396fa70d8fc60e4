"""Tables on disk -> data frames of text; nothing is guessed of ids or of missing values."""

import csv
import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from sharpbayes.data.columns import format_count
from sharpbayes.data.readers.json_text import read_json_lines
from sharpbayes.data.readers.partition import parse_partition
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, first_line, format_list

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

KINDS = (".csv", ".parquet", ".jsonl")
# A file with more is not a table of ratings, and its names would flood every message.
MOST_COLUMNS = 10_000
MOST_SHOWN = 40
MOST_NAME = 200
# A cell can be as large as this.
CSV_BLOCK = 1 << 23


def read_table(base: Path, name: str, *, compact: bool = False) -> pd.DataFrame:
    """Return the rows of a file, or of all files that a name stands for, every value as text.

    An empty cell is an empty text. Files are joined in the order of their names; folders named
    ``column=value`` inside a folder of files are a column.

    Args:
        base: Folder that a relative name starts from.
        name: A path, a glob pattern or a folder; ``.csv``, ``.parquet`` or ``.jsonl``.
        compact: Whether columns of a Parquet file are categories of text, a byte or a few a cell.

    Raises:
        DataError: No such file, another kind of file, or one without rows.
    """
    frames = [
        _with_partition(_read(path, compact=compact), parse_partition(base, name, path), path)
        for path in matching_files(base, name)
    ]
    _refuse_unlike(frames, base / name)
    table = _joined(frames) if len(frames) > 1 else frames[0]
    if table.empty:
        raise DataError([Diagnostic(str(base / name), 0, "", "no rows")])
    return table


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several tables of the same columns; categories stay categories."""
    held = {}
    for name in frames[0].columns:
        columns = [each[name] for each in frames]
        if all(isinstance(each.dtype, pd.CategoricalDtype) for each in columns):
            held[name] = pd.Series(union_categoricals(columns))
        else:
            held[name] = pd.concat([each.astype(object) for each in columns], ignore_index=True)
    return pd.DataFrame(held)


def _refuse_unlike(frames: Sequence[pd.DataFrame], path: Path) -> None:
    """Refuse files of one pattern whose columns differ: cells would be missing in silence."""
    odd = sorted({str(name) for each in frames for name in set(each) ^ set(frames[0])})
    if odd:
        message = f"columns that not all of the files have: {format_list(odd)}"
        raise DataError([Diagnostic(str(path), 0, "", message)])


def _with_partition(table: pd.DataFrame, held: dict[str, str], path: Path) -> pd.DataFrame:
    """Add the columns of a file's folders."""
    refuse_names([*map(str, table.columns), *held], path)
    return table.assign(
        **{column: pd.Categorical([value] * len(table)) for column, value in held.items()}
    )


def matching_files(base: Path, name: str) -> list[Path]:
    """Return the files that a path, a pattern or a folder stands for, in the order of their names.

    Of a folder these are all files of tables in it and in folders inside it, but not those whose
    names begin with a point or an underscore.

    Raises:
        DataError: There is none.
    """
    path = base / name
    try:
        found = sorted(_matches(base, Path(name))) if _pattern(name) else [path]
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if _of_table(each))
        found = [each for each in found if each.is_file()]
    except (OSError, ValueError) as error:
        raise DataError(
            [Diagnostic(str(path)[:MOST_NAME], 0, "", first_line(error)[:80])]
        ) from None
    if not found:
        beside = [each.name for each in path.parent.glob("*.*")] if path.parent.is_dir() else []
        message = f"no such file{did_you_mean(path.name, beside)}"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    return found


def _of_table(path: Path) -> bool:
    """Tell whether a file in a folder is a part of a table."""
    return path.suffix in KINDS and not path.name.startswith((".", "_"))


def _pattern(name: str) -> bool:
    """Tell whether a name stands for several files, of folders at one depth."""
    if "**" in name:
        raise ValueError("a pattern may name files of folders beside each other, not '**'")
    return "*" in name or "?" in name


def _matches(base: Path, name: Path) -> Iterator[Path]:
    """Files of a pattern, whose folder may be one too: logs of a model each have their own."""
    folder, above = name.parent.name, base / name.parent.parent
    folders = above.glob(folder) if _pattern(folder) else [base / name.parent]
    return (each for folder in folders for each in folder.glob(name.name))


def _read(path: Path, *, compact: bool) -> pd.DataFrame:
    """Read one file by its ending."""
    parquet = _compact_parquet if compact else _parquet
    readers = {".csv": _csv, ".parquet": parquet, ".jsonl": _jsonl}
    if path.suffix not in readers:
        message = f"unknown kind of file {path.suffix!r}, allowed are {', '.join(KINDS)}"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    try:
        table = readers[path.suffix](path)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for a damaged file
        raise DataError(
            [Diagnostic(str(path), 0, "", f"cannot be read: {first_line(error)}")]
        ) from None
    refuse_texts(table, path)
    return table


def refuse_texts(table: pd.DataFrame, path: Path) -> None:
    """Refuse characters that no file of results can hold: NUL, and halves of pairs of UTF-16."""
    if path.suffix == ".csv":  # UTF-8 without zero bytes, as was seen when it was read
        return
    for name in table.columns:
        texts = table[name].cat.categories if hasattr(table[name], "cat") else table[name].unique()
        bad = next((text for text in [name, *texts] if unwritable(text)), None)
        if bad is not None:
            message = f"{bad!r} has a character that is no text (NUL or half a pair)"
            raise DataError([Diagnostic(str(path), 0, repr(name), message)])


def unwritable(text: str) -> bool:
    r"""Tell whether a text has a character that UTF-8 files of text cannot hold.

    >>> unwritable("a"), unwritable("a\0"), unwritable("\ud800")
    (False, True, True)
    """
    if "\0" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _csv(path: Path) -> pd.DataFrame:
    """Read a CSV file with all cells as text, each row as long as the header."""
    names = _csv_header(path)
    table = _csv_cells(path, len(names), threads=True)
    return table.set_axis(pd.Index(names, dtype=object), axis=1)


def _csv_header(path: Path) -> list[str]:
    """Names in the first line of a CSV file that has more lines."""
    if path.stat().st_size and _has_nul(path):
        raise DataError([Diagnostic(str(path), 0, "", "not UTF-8 text: it has NUL characters")])
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        names, more = next(lines, []), next(lines, None)
    if not names:
        message = "the first line is empty, it must name the columns"
        raise DataError([Diagnostic(str(path), 1, "", message)])
    refuse_names(names, path)
    if more is None:
        raise DataError([Diagnostic(str(path), 0, "", "no rows")])
    return names


def refuse_names(names: Sequence[str], path: Path) -> None:
    """Refuse columns of one name, and more of them than a table of ratings has."""
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        message = (
            f"{len(twice)} column names stand more than once: {format_list(twice, most=MOST_SHOWN)}"
        )
        raise DataError([Diagnostic(str(path), 1, "", message)])
    if len(names) > MOST_COLUMNS:
        message = f"{len(names)} columns, at most {MOST_COLUMNS} are read"
        raise DataError([Diagnostic(str(path), 1, "", message)])


def _has_nul(path: Path) -> bool:
    """Tell whether a file holds a zero byte, which no text does."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        return held.find(b"\0") >= 0


def _csv_cells(path: Path, width: int, *, threads: bool) -> pd.DataFrame:
    """Cells below the header; rows of another length are refused, never filled or shifted."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - only where there is CSV

    ragged: list[Any] = []
    names = [str(position) for position in range(width)]

    def noted(row: Any) -> str:
        ragged.append(row)
        return "skip"

    cells = arrow_csv.read_csv(
        path,
        arrow_csv.ReadOptions(
            column_names=names,
            skip_rows_after_names=1,
            block_size=CSV_BLOCK,
            use_threads=threads,
        ),
        arrow_csv.ParseOptions(
            newlines_in_values=True,
            invalid_row_handler=noted,
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    if ragged and threads:
        # Only one thread knows the number of a row.
        return _csv_cells(path, width, threads=False)
    if ragged:
        lengths = f"the first has {format_count(ragged[0].actual_columns, 'cell')}"
        message = (
            f"{format_count(len(ragged), 'row')} without {format_count(width, 'cell')}, as the header has: "
            f"rows {format_list([row.number - 1 for row in ragged])}; {lengths}"
        )
        raise DataError([Diagnostic(str(path), 0, "", message)])
    table: pd.DataFrame = cells.to_pandas().astype(str)
    return table


def _parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file and write its values as text."""
    return _compact_parquet(path).astype(str)


def _compact_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file column by column, each as categories of the same texts."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - loads file systems and TLS

    file = ParquetFile(path)
    names = file.schema_arrow.names
    refuse_names(names, path)
    # A name can also stand for a column inside a nested one: positions cannot be confused.
    columns = file.read().columns if _nested(file) else (file.read([n]).column(0) for n in names)
    held = {name: _categories(column) for name, column in zip(names, columns, strict=True)}
    return pd.DataFrame(held)


def _nested(file: "ParquetFile") -> bool:
    """Tell whether a column holds lists or records, or a name has a point."""
    schema = file.schema_arrow
    return any(pa.types.is_nested(field.type) or "." in field.name for field in schema)


def _categories(column: pa.ChunkedArray) -> pd.Categorical:
    """Texts of a column, each different value written once."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        values = ["" if value is None else str(value) for value in column.to_pylist()]
        return _as_categories(np.array(values, dtype=object))
    held = column.unify_dictionaries().combine_chunks().dictionary_encode()
    texts = as_text(pd.DataFrame({"": held.dictionary.to_pandas()}))[""]
    # A missing value and one that is not a number are the same empty text, placed last.
    place, found = pd.factorize(np.append(texts.to_numpy(dtype=object), ""))
    codes = held.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(place[codes], pd.Index(found, dtype=object))


def _as_categories(values: NDArray[np.object_]) -> pd.Categorical:
    """Categories of texts, in the order in which they turn up."""
    codes, texts = pd.factorize(values)
    return pd.Categorical.from_codes(codes, pd.Index(texts, dtype=object))


def _jsonl(path: Path) -> pd.DataFrame:
    """Read one JSON object a line and write its values as text."""
    rows = read_json_lines(path)
    names = list(dict.fromkeys(name for row in rows for name in row))
    refuse_names(names, path)
    return as_text(pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object))


def as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with every value as text: whole numbers without a point, missing as empty."""
    return pd.DataFrame({str(name): _text_column(table[name]) for name in table.columns}, dtype=str)


def _text_column(column: pd.Series) -> pd.Series:
    """Write one column as text."""
    missing = column.isna()
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
        Diagnostic(
            path,
            0,
            column,
            f"no such column for {role}, the columns are {format_list(there, most=MOST_SHOWN)}"
            + did_you_mean(column, there),
        )
        for role, column in columns
        if column not in there
    ]
    if faults:
        raise DataError(faults)
