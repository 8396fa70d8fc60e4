"""Files of other programs, by the name of their layout, as tables of text."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.files import (
    as_text,
    matching_files,
    read_table,
    refuse_names,
    refuse_texts,
)
from sharpbayes.data.readers.inspect_log import inspect_log, inspect_table
from sharpbayes.data.readers.label_studio import label_studio_export, label_studio_table
from sharpbayes.data.readers.lm_eval import lm_eval_samples, lm_eval_table
from sharpbayes.data.readers.prolific import prolific_export, prolific_table
from sharpbayes.errors import DataError, Diagnostic, first_line

# What a look at a file reads of it.
LOOK = 1 << 16


@dataclass(frozen=True)
class Layout:
    """How files of another program are read: endings, one file, and several joined."""

    endings: tuple[str, ...]
    one: Callable[[Path], Any]
    joined: Callable[[Sequence[Any]], pd.DataFrame]


FORMATS = {
    "inspect": Layout((".eval", ".json"), inspect_log, inspect_table),
    "lm-eval": Layout((".jsonl",), lm_eval_samples, lm_eval_table),
    "label-studio": Layout((".json", ".csv"), label_studio_export, label_studio_table),
    "prolific": Layout((".csv",), prolific_export, prolific_table),
}


def read_data_files(base: Path, name: str, layout: str, *, compact: bool = False) -> pd.DataFrame:
    """Return the rows of files of any layout, every value as text, an empty cell as empty text.

    Args:
        base: Folder that a relative name starts from.
        name: A path or a glob pattern.
        layout: A key of ``FORMATS``; any other is a table as it stands.
        compact: As for :func:`sharpbayes.data.readers.files.read_table`.

    Raises:
        DataError: No such file, one that is something else or damaged, or no rows.
    """
    if layout not in FORMATS:
        return read_table(base, name, compact=compact)
    how = FORMATS[layout]
    paths = matching_files(base, name)
    held = how.joined([_one(path, how, layout) for path in paths])
    if held.empty:
        raise DataError([Diagnostic(str(base / name), 0, "", "no rows")])
    refuse_names([str(column) for column in held.columns], paths[0])
    table = as_text(held)
    refuse_texts(table, base / f"{name}.{layout}")
    table.attrs |= held.attrs
    return table


def _one(path: Path, how: Layout, layout: str) -> Any:
    """Read one file."""
    if path.suffix not in how.endings:
        known = ", ".join(how.endings)
        message = f"unknown kind of file {path.suffix!r} for layout {layout!r}, allowed are {known}"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    try:
        return how.one(path)
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise many kinds for a damaged file
        raise DataError(
            [Diagnostic(str(path), 0, "", f"cannot be read: {first_line(error)}")]
        ) from None


def detect_format(path: Path) -> str | None:
    """Return the layout that a file looks to have by its ending and its start, or None.

    Args:
        path: The file.
    """
    with path.open("rb") as file:
        start = file.read(LOOK).decode("utf-8-sig", errors="replace").lstrip()
    if path.suffix == ".eval" or (path.suffix == ".json" and start.startswith("{")):
        return "inspect"
    if path.suffix == ".json":
        return "label-studio"
    if path.suffix == ".jsonl":
        first = start.partition("\n")[0]
        return "lm-eval" if '"doc_id"' in first and '"metrics"' in first else None
    if path.suffix != ".csv":
        return None
    names = set(next(csv.reader([start.partition("\n")[0]]), []))
    if {"annotator", "annotation_id", "lead_time"} <= names:
        return "label-studio"
    return "prolific" if {"Submission id", "Participant id"} <= names else None
