"""Files of every format as one table of text."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers import inspect_log, label_studio, lm_eval, prolific, text_table
from sharpbayes.data.readers.csv_table import read_csv
from sharpbayes.data.readers.json_text import read_json_lines
from sharpbayes.data.readers.parquet import read_categories, read_parquet
from sharpbayes.data.readers.paths import TABLE_ENDINGS, find_files, parse_partition
from sharpbayes.errors import DataError, first_line

# Bytes at the start of a file that show its format.
START = 1 << 16

Readers = Mapping[str, Callable[[Path], Any]]


@dataclass(frozen=True)
class FileFormat:
    """A format of another program: a reader for each ending, and how to join what they return."""

    readers: Readers
    join: Callable[[Sequence[Any]], pd.DataFrame]


FORMATS = {
    "inspect": FileFormat(inspect_log.READERS, inspect_log.tabulate_logs),
    "lm-eval": FileFormat({".jsonl": lm_eval.read_samples}, lm_eval.tabulate_samples),
    "label-studio": FileFormat(label_studio.READERS, label_studio.tabulate_annotations),
    "prolific": FileFormat({".csv": prolific.read_export}, prolific.join_exports),
}
TABLE_READERS: Readers = dict(
    zip(TABLE_ENDINGS, (read_csv, read_parquet, read_json_lines), strict=True)
)


def read_table(
    base: Path,
    name: str,
    layout: str = "table",
    *,
    roles: Iterable[tuple[str, str]] = (),
    compact: bool = False,
) -> pd.DataFrame:
    """Return the rows of all files that a name stands for, every value as text.

    An empty cell is an empty text. Files are joined in the order of their names. Folders named
    ``column=value`` inside a folder of plain tables are a column. A layout that is not in
    ``FORMATS`` is a plain table. With ``compact``, columns of Parquet become categories of text.
    The columns of ``roles``, pairs of a role and its column, must be there.
    """
    paths = find_files(base, name)
    if layout in FORMATS:
        table = _read_export(paths, layout)
    else:
        readers = {**TABLE_READERS, **({".parquet": read_categories} if compact else {})}
        tables = []
        for path in paths:
            partition, part = parse_partition(base, name, path), _read_file(path, readers)
            text_table.refuse_names([*part.columns, *partition], path)
            columns = {n: pd.Categorical([value] * len(part)) for n, value in partition.items()}
            tables.append(part.assign(**columns))
        table = text_table.join_tables(tables, base / name)
    if table.empty:
        raise DataError.at(base / name, "no rows")
    text_table.require_columns([*table.columns], roles, path=base / name)
    return table


def _read_export(paths: Sequence[Path], layout: str) -> pd.DataFrame:
    """Read and join the files of another program."""
    how = FORMATS[layout]
    values = how.join([_read_file(path, how.readers, f" for layout {layout!r}") for path in paths])
    text_table.refuse_names([str(column) for column in values.columns], paths[0])
    table = text_table.write_as_text(values)
    text_table.refuse_texts(table, paths[0])
    table.attrs |= values.attrs
    return table


def _read_file(path: Path, readers: Readers, of_layout: str = "") -> Any:
    """Read one file by its ending."""
    if path.suffix not in readers:
        known = ", ".join(readers)
        message = f"unknown kind of file {path.suffix!r}{of_layout}, allowed are {known}"
        raise DataError.at(path, message)
    try:
        return readers[path.suffix](path)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for a damaged file
        raise DataError.at(path, f"cannot be read: {first_line(error)}") from None


def detect_format(path: Path) -> str | None:
    """Return the format that a file seems to have by its ending and its start; None if unknown."""
    with path.open("rb") as file:
        start = file.read(START).decode("utf-8-sig", errors="replace").lstrip()
    if path.suffix == ".eval" or (path.suffix == ".json" and start.startswith("{")):
        return "inspect"
    if path.suffix == ".json":
        return "label-studio"
    first = start.partition("\n")[0]
    if path.suffix == ".jsonl":
        return "lm-eval" if '"doc_id"' in first and '"metrics"' in first else None
    names = set(next(csv.reader([first]), [])) if path.suffix == ".csv" else set()
    if {"annotator", "annotation_id", "lead_time"} <= names:
        return "label-studio"
    return "prolific" if {"Submission id", "Participant id"} <= names else None
