"""Files of every format as one table of text."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers import (
    deepeval,
    every_eval_ever,
    inspect_log,
    label_studio,
    lm_eval,
    parquet,
    prolific,
    promptfoo,
    text_table,
    workbook,
)
from sharpbayes.data.readers.bounds import bound_memory
from sharpbayes.data.readers.csv_table import read_csv, read_header
from sharpbayes.data.readers.json_text import read_json_lines, read_json_list
from sharpbayes.data.readers.paths import find_files, parse_partition
from sharpbayes.data.readers.signatures import refuse_other_kinds
from sharpbayes.errors import DataError, did_you_mean, first_line
from sharpbayes.spec.dialect import Dialect
from sharpbayes.spec.kinds import describe_other_kind

# Bytes at the start of a file that show its format.
START = 1 << 16

Readers = Mapping[str, Callable[[Path], Any]]

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
# Plain tables by ending.
TABLE_READERS: Mapping[str, Callable[[Path, Dialect], pd.DataFrame]] = {
    **dict.fromkeys(TEXT_ENDINGS, read_csv),
    ".xlsx": workbook.read_workbook,
    ".parquet": lambda path, _: parquet.read_parquet(path),
    ".jsonl": lambda path, _: read_json_lines(path),
    ".json": lambda path, _: read_json_list(path),
}
HEADERS: Mapping[str, Callable[[Path, Dialect], list[str]]] = {
    **dict.fromkeys(TEXT_ENDINGS, read_header),
    ".parquet": lambda path, _: parquet.read_names(path),
}
# Keys of a dialect by ending; texts that stand for an empty cell may be in any file.
_OF_TEXT = {"missing", "decimal", "delimiter", "encoding"}
DIALECT_KEYS = dict.fromkeys(TEXT_ENDINGS, _OF_TEXT) | {".xlsx": {"missing", "decimal", "sheet"}}
PLAIN = Dialect()


@dataclass(frozen=True)
class FileFormat:
    """A format of another program: a reader for each ending, and how to join what they return."""

    readers: Readers
    join: Callable[[Sequence[Any]], pd.DataFrame]


FORMATS = {
    "inspect": FileFormat(inspect_log.READERS, inspect_log.tabulate_logs),
    "lm-eval": FileFormat({".jsonl": lm_eval.read_samples}, lm_eval.tabulate_samples),
    "promptfoo": FileFormat(promptfoo.READERS, promptfoo.tabulate_results),
    "deepeval": FileFormat(deepeval.READERS, deepeval.tabulate_test_runs),
    "every-eval-ever": FileFormat(every_eval_ever.READERS, every_eval_ever.tabulate_instances),
    "label-studio": FileFormat(label_studio.READERS, label_studio.tabulate_annotations),
    "prolific": FileFormat({".csv": prolific.read_export}, prolific.join_exports),
}
# Keys at the start of an object that show its format, in a file of JSON and in one of JSON lines.
MARKS = {
    "promptfoo": ("evalId", "results"),
    "deepeval": ("testCases",),
    "every-eval-ever": ("schema_version", "evaluation_id"),
    "inspect": ("eval",),
}
# Either stands in a list of JSON that Label Studio exports.
LABEL_STUDIO = ('"annotations"', '"annotation_id"')
LINE_MARKS = {
    "lm-eval": ("doc_id", "metrics"),
    "promptfoo": ("gradingResult", "componentResults"),
    "every-eval-ever": ("evaluation_id", "sample_id"),
}


def read_table(
    base: Path,
    name: str,
    layout: str = "table",
    *,
    dialect: Dialect = PLAIN,
    roles: Iterable[tuple[str, str]] = (),
    compact: bool = False,
) -> pd.DataFrame:
    """Return the rows of all files that a name stands for, every value as text.

    An empty cell is an empty text. Files are joined in the order of their names; the index has the
    number of each row in its file. Folders named ``column=value`` inside a folder of plain tables
    are a column. A layout that is not in ``FORMATS`` is a plain table, written in ``dialect``. With
    ``compact``, columns of Parquet are categories of text. The columns of ``roles``, pairs of a
    role and its column, must be there.
    """
    paths, roles = find_files(base, name), [*roles]
    check_dialect(paths, layout, dialect)
    with bound_memory(base / name, paths):
        if layout in FORMATS:
            table = _read_export(paths, layout)
        else:
            table = _read_tables(base, name, paths, dialect, roles)
        if table.empty:
            raise DataError.at(base / name, "no rows")
        text_table.require_columns([*table.columns], roles, path=base / name)
        return table if compact else text_table.expand_categories(table)


def _read_tables(
    base: Path,
    name: str,
    paths: Sequence[Path],
    dialect: Dialect,
    roles: Sequence[tuple[str, str]],
) -> pd.DataFrame:
    """Read and join plain tables."""
    tables = [_read_plain(base, name, path, dialect) for path in paths]
    for path in paths:
        if _ending(path) == parquet.PARQUET:
            parquet.refuse_records(path, roles)
    files = [str(path.relative_to(base) if path.is_relative_to(base) else path) for path in paths]
    return text_table.apply_dialect(text_table.join_tables(tables, base / name, files), dialect)


def _read_plain(base: Path, name: str, path: Path, dialect: Dialect) -> pd.DataFrame:
    """Read one file of a plain table, with the columns that its folders are named after."""
    table: pd.DataFrame = _read_file(path, TABLE_READERS, dialect)
    partition = parse_partition(base, name, path)
    text_table.refuse_names([*table.columns, *partition], path)
    return table.assign(**{n: pd.Categorical([v] * len(table)) for n, v in partition.items()})


def read_columns(
    base: Path, name: str, layout: str = "table", dialect: Dialect = PLAIN
) -> list[str]:
    """Return the names of all columns, without the rows where the format allows it."""
    paths = find_files(base, name)
    if layout in FORMATS or any(_ending(path) not in HEADERS for path in paths):
        return [*map(str, read_table(base, name, layout, dialect=dialect).columns)]
    files = [[*_read_file(p, HEADERS, dialect), *parse_partition(base, name, p)] for p in paths]
    return [*dict.fromkeys(column for columns in files for column in columns)]


def list_sheets(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook that are not hidden; empty for other files."""
    readers = {".xlsx": workbook.list_sheets}
    if _ending(path) not in readers:
        return []
    with bound_memory(path, [path]):
        return [*_read_file(path, readers)]


def check_dialect(paths: Iterable[Path], layout: str, dialect: Dialect) -> None:
    """Refuse keys of a dialect that say nothing about files of their kind."""
    declared = dialect.model_dump(exclude_defaults=True)
    for path in paths:
        known = set() if layout in FORMATS else DIALECT_KEYS.get(_ending(path), {"missing"})
        odd = [key for key in declared if key not in known]
        if odd:
            message = (
                f"says nothing about this file; allowed are {', '.join(sorted(known)) or 'none'}"
            )
            raise DataError.at(path, message, key=f"dialect.{odd[0]}")


def _ending(path: Path) -> str:
    """The ending of a file in small letters."""
    return path.suffix.lower()


def _read_export(paths: Sequence[Path], layout: str) -> pd.DataFrame:
    """Read and join the files of another program."""
    readers, join = FORMATS[layout].readers, FORMATS[layout].join
    of_layout = f" for layout {layout!r}"
    files = [_read_file(path, readers, of_layout=of_layout) for path in paths]
    with text_table.explain_texts(paths[0]):
        values = join(files)
        text_table.refuse_names([str(column) for column in values.columns], paths[0])
        table = text_table.write_as_text(values)
    text_table.refuse_texts(table, paths[0])
    table.attrs |= values.attrs
    return table.set_axis(pd.RangeIndex(1, len(table) + 1))


def _read_file(
    path: Path, readers: Mapping[str, Callable[..., Any]], *options: Any, of_layout: str = ""
) -> Any:
    """Read one file by its ending."""
    ending = _ending(path)
    if ending not in readers:
        known = ", ".join(readers)
        message = f"unknown kind of file {path.suffix!r}{of_layout}, allowed are {known}"
        message += did_you_mean(ending, readers)
        raise DataError.at(path, describe_other_kind(path, "data") or message)
    try:
        refuse_other_kinds(path)
        with text_table.explain_texts(path):
            return readers[ending](path, *options)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for a damaged file
        raise DataError.at(path, f"cannot be read: {first_line(error)}") from None


def detect_format(path: Path) -> str | None:
    """Return the format that a file seems to have by its ending and its start; None if unknown."""
    with path.open("rb") as file:
        start = file.read(START).decode("utf-8-sig", errors="replace").lstrip()
    if path.suffix == ".json" and start.startswith("["):
        return "label-studio" if any(mark in start for mark in LABEL_STUDIO) else None
    first = (start.splitlines() or [""])[0]
    if path.suffix == ".json":
        return _find_marks(MARKS, start)
    if path.suffix == ".jsonl":
        return _find_marks(LINE_MARKS, first)
    if path.suffix == ".eval":
        return "inspect"
    names = set(next(csv.reader([first]), [])) if path.suffix == ".csv" else set()
    if {"annotator", "annotation_id", "lead_time"} <= names:
        return "label-studio"
    return "prolific" if {"Submission id", "Participant id"} <= names else None


def _find_marks(marks: Mapping[str, Sequence[str]], text: str) -> str | None:
    """Return the first format whose keys all stand in a text."""
    return next((name for name, keys in marks.items() if all(f'"{k}"' in text for k in keys)), None)
