"""Samples of lm-evaluation-harness -> a long table: a row for each metric of a document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.json_text import pick_scalars, read_objects, to_cell
from sharpbayes.errors import DataError

NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+")


@dataclass(frozen=True)
class Samples:
    """One file of samples: a model on a task."""

    model: str
    task: str
    rows: list[dict[str, Any]]


def read_samples(path: Path) -> Samples:
    """Read one file that ``lm_eval --log_samples`` wrote; its folder is named after the model."""
    name = NAME.fullmatch(path.stem)
    if name is None:
        message = "not named samples_<task>_<time>.jsonl, as lm_eval names what it logs"
        raise DataError.at(path, message)
    rows = read_objects(path)
    for number, row in enumerate(rows, start=1):
        if "doc_id" not in row or not isinstance(row.get("metrics"), list):
            message = "no sample of lm_eval: it has no `doc_id` or no list of `metrics`"
            raise DataError.at(path, message, line=number)
    return Samples(path.resolve().parent.name, name["task"], rows)


def tabulate_samples(files: Sequence[Samples]) -> pd.DataFrame:
    """Join files to one table.

    The ``prompt`` is the document, after its task where there are several, the ``judge`` the filter
    that takes the answer from the generated text, and the ``indicator`` the metric.
    """
    several = len({file.task for file in files}) > 1
    rows = [row for f in files for row in _list_rows(f, f"{f.task}/" if several else "")]
    return pd.DataFrame(rows, dtype=object)


def _list_rows(file: Samples, prefix: str) -> Iterator[dict[str, Any]]:
    """List the rows of one file."""
    for row in file.rows:
        start = {
            "task": file.task,
            "model": file.model,
            "prompt": prefix + str(to_cell(row["doc_id"])),
            "judge": to_cell(row.get("filter", "none")),
        }
        columns = pick_scalars(row.get("doc"), "doc.")
        for metric in map(str, row["metrics"]):
            yield start | {"indicator": metric, "score": to_cell(row.get(metric)), **columns}
