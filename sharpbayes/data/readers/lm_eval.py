"""Samples of lm-evaluation-harness -> a long table: a row for each metric of a document."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.json_text import pick_scalars, read_objects, to_cell
from sharpbayes.data.readers.prompt_text import clip_log_text, keep_one_text
from sharpbayes.data.readers.rows import Row, Rows, collect_rows, tabulate_rows
from sharpbayes.errors import DataError

NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.-]+")


def read_samples(path: Path) -> tuple[str, Rows]:
    """Read the task and the metrics of a file that ``lm_eval --log_samples`` wrote.

    The folder of the file is named after the model.
    """
    name = NAME.fullmatch(path.stem)
    if name is None:
        message = "not named samples_<task>_<time>.jsonl, as lm_eval names what it logs"
        raise DataError.at(path, message)
    return name["task"], collect_rows(_list_scores(path, name["task"]))


def _list_scores(path: Path, task: str) -> Iterator[Row]:
    """List the metrics of all documents."""
    for number, document in enumerate(read_objects(path), start=1):
        if "doc_id" not in document or not isinstance(document.get("metrics"), list):
            message = "no sample of lm_eval: it has no `doc_id` or no list of `metrics`"
            raise DataError.at(path, message, line=number)
        start = {
            "task": task,
            "model": path.resolve().parent.name,
            "prompt": str(to_cell(document["doc_id"])),
            "text": _read_question(document.get("arguments")),
            "judge": to_cell(document.get("filter", "none")),
        }
        columns = pick_scalars(document.get("doc"), "doc.")
        for metric in map(str, document["metrics"]):
            score = to_cell(document.get(metric))
            yield start | {"indicator": metric, "score": score} | columns


def _read_question(arguments: Any) -> str:
    """Return the end of the first text that the model was given, after examples if there are any.

    The arguments of a request are an object, ``arg_0`` first; older files have lists.
    """
    for _ in range(2):
        if isinstance(arguments, dict):
            arguments = [*arguments.values()]
        arguments = arguments[0] if isinstance(arguments, list) and arguments else arguments
    return clip_log_text(arguments, keep_end=True)


def tabulate_samples(files: Sequence[tuple[str, Rows]]) -> pd.DataFrame:
    """Join files to one table.

    The ``prompt`` is the document, after its task where there are several, the ``judge`` the filter
    that takes the answer from the generated text, and the ``indicator`` the metric.
    """
    table = tabulate_rows(rows for _, rows in files)
    if len(table) and len({task for task, _ in files}) > 1:
        table["prompt"] = table["task"] + "/" + table["prompt"]
    return keep_one_text(table)
