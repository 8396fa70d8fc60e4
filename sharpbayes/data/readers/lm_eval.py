"""Samples of lm-evaluation-harness -> a long table: a row for each metric of a document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.json_text import pick_scalars, plain, read_json_lines
from sharpbayes.errors import DataError, Diagnostic

NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+")


@dataclass(frozen=True)
class Samples:
    """One file of samples: a model on a task."""

    model: str
    task: str
    rows: list[dict[str, Any]]


def lm_eval_samples(path: Path) -> Samples:
    """Read one file that ``lm_eval --log_samples`` wrote; its folder is named after the model.

    Raises:
        DataError: It has another name, or rows of something else.
    """
    named = NAME.fullmatch(path.stem)
    if named is None:
        message = "not named samples_<task>_<time>.jsonl, as lm_eval names what it logs"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    rows = read_json_lines(path)
    for number, row in enumerate(rows, start=1):
        if "doc_id" not in row or not isinstance(row.get("metrics"), list):
            message = "no sample of lm_eval: it has no `doc_id` or no list of `metrics`"
            raise DataError([Diagnostic(str(path), number, "", message)])
    return Samples(path.resolve().parent.name, named["task"], rows)


def lm_eval_table(files: Sequence[Samples]) -> pd.DataFrame:
    """Join files to one table.

    Args:
        files: The files.

    Returns:
        Columns ``task``, ``model``, ``prompt`` (the document, after its task where there are
        several), ``judge`` (the filter that takes the answer from what was generated),
        ``indicator`` (the metric), ``score``, and ``doc.*``.
    """
    several = len({file.task for file in files}) > 1
    rows = [row for file in files for row in _rows(file, several=several)]
    return pd.DataFrame(rows, dtype=object)


def _rows(file: Samples, *, several: bool) -> Iterator[dict[str, Any]]:
    """Rows of one file."""
    for row in file.rows:
        document = str(plain(row["doc_id"]))
        start = {
            "task": file.task,
            "model": file.model,
            "prompt": f"{file.task}/{document}" if several else document,
            "judge": plain(row.get("filter", "none")),
        }
        columns = pick_scalars(row.get("doc"), "doc.")
        for metric in map(str, row["metrics"]):
            yield start | {"indicator": metric, "score": plain(row.get(metric)), **columns}
