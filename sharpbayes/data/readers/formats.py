"""Files of every format as one table of text."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.csv_table import read_csv
from sharpbayes.data.readers.inspect_log import read_eval_log, read_json_log, tabulate_logs
from sharpbayes.data.readers.json_text import read_json_lines
from sharpbayes.data.readers.label_studio import (
    read_label_studio_csv,
    read_label_studio_json,
    tabulate_annotations,
)
from sharpbayes.data.readers.lm_eval import read_samples, tabulate_samples
from sharpbayes.data.readers.parquet import read_categories, read_parquet
from sharpbayes.data.readers.paths import TABLE_ENDINGS, find_files, parse_partition
from sharpbayes.data.readers.prolific import join_exports, read_export
from sharpbayes.data.readers.text_table import (
    join_tables,
    refuse_names,
    refuse_texts,
    write_as_text,
)
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
    "inspect": FileFormat({".eval": read_eval_log, ".json": read_json_log}, tabulate_logs),
    "lm-eval": FileFormat({".jsonl": read_samples}, tabulate_samples),
    "label-studio": FileFormat(
        {".json": read_label_studio_json, ".csv": read_label_studio_csv}, tabulate_annotations
    ),
    "prolific": FileFormat({".csv": read_export}, join_exports),
}
TABLE_READERS: Readers = dict(
    zip(TABLE_ENDINGS, (read_csv, read_parquet, read_json_lines), strict=True)
)


def read_table(
    base: Path, name: str, layout: str = "table", *, compact: bool = False
) -> pd.DataFrame:
    """Return the rows of all files that a name stands for, every value as text.

    An empty cell is an empty text. Files are joined in the order of their names. Folders named
    ``column=value`` inside a folder of plain tables are a column. A layout that is not in
    ``FORMATS`` is a plain table. With ``compact``, columns of Parquet become categories of text.
    """
    paths = find_files(base, name)
    if layout in FORMATS:
        table = _read_export(paths, layout)
    else:
        readers = {**TABLE_READERS, **({".parquet": read_categories} if compact else {})}
        tables = [_read_part(path, readers, parse_partition(base, name, path)) for path in paths]
        table = join_tables(tables, base / name)
    if table.empty:
        raise DataError.at(base / name, "no rows")
    return table


def _read_export(paths: Sequence[Path], layout: str) -> pd.DataFrame:
    """Read and join the files of another program."""
    how = FORMATS[layout]
    values = how.join([_read_file(path, how.readers, f" for layout {layout!r}") for path in paths])
    refuse_names([str(column) for column in values.columns], paths[0])
    table = write_as_text(values)
    refuse_texts(table, paths[0])
    table.attrs |= values.attrs
    return table


def _read_part(path: Path, readers: Readers, partition: Mapping[str, str]) -> pd.DataFrame:
    """Read one file of a plain table and add the columns in the names of its folders."""
    table: pd.DataFrame = _read_file(path, readers)
    refuse_names([*map(str, table.columns), *partition], path)
    columns = {name: pd.Categorical([value] * len(table)) for name, value in partition.items()}
    return table.assign(**columns)


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
