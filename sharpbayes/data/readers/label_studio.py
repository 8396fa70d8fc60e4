"""Exports of Label Studio -> a table with a row for each annotation and a column for each tag."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.files import read_table
from sharpbayes.data.readers.json_text import parse_json, plain
from sharpbayes.errors import DataError, Diagnostic

Rows = list[dict[str, Any]]
# What every export says of an annotation.
KEPT = ("created_at", "updated_at", "lead_time")
FACTS = ("id", "annotator", "annotation_id", *KEPT)


def label_studio_export(path: Path) -> Rows:
    """Read one export: JSON, JSON_MIN or CSV.

    Raises:
        DataError: It is something else.
    """
    if path.suffix == ".csv":
        table = read_table(path.parent, path.name)
        rows = [{str(k): _cell(v) for k, v in row.items()} for row in table.to_dict("records")]
    else:
        with path.open("rb") as file:
            rows = _of_json(parse_json(file.read(), path), path)
    if not rows or not all("annotator" in row and "id" in row for row in rows):
        message = "no export of Label Studio: rows need `id` and `annotator`, or `annotations`"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    # A text without any annotation stands in JSON_MIN and CSV as if nobody had rated it.
    return [row for row in rows if row["annotator"] not in (None, "", "{}")]


def _of_json(held: Any, path: Path) -> Rows:
    """Rows of a list of tasks (JSON) or of annotations (JSON_MIN)."""
    if not isinstance(held, list) or not all(isinstance(each, dict) for each in held):
        raise DataError([Diagnostic(str(path), 0, "", "no list of tasks or annotations")])
    if any("annotations" in each for each in held):
        return [row for task in held for row in _of_task(task, path)]
    return [{key: _value(value) for key, value in each.items()} for each in held]


def _of_task(task: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Rows of one task, a skipped annotation without values."""
    data, annotations = task.get("data"), task.get("annotations")
    if not isinstance(data, dict) or not isinstance(annotations, list) or "id" not in task:
        message = "a task without `id`, `data` or a list of `annotations`"
        raise DataError([Diagnostic(str(path), 0, "", message)])
    start = {key: _value(value) for key, value in data.items()} | {"id": task["id"]}
    for each in annotations:
        if not isinstance(each, dict):
            raise DataError([Diagnostic(str(path), 0, "annotations", "not a list of objects")])
        facts = {"annotator": _annotator(each.get("completed_by")), "annotation_id": each.get("id")}
        facts |= {key: each.get(key) for key in KEPT}
        yield start | _results(each.get("result")) | facts


def _annotator(person: Any) -> Any:
    """Who annotated, as the exports write it: an address, or else a number."""
    if isinstance(person, dict):
        return person.get("email") or person.get("id")
    return person


def _results(regions: Any) -> dict[str, Any]:
    """Values by the name of the tag that they come from."""
    found: dict[str, list[Any]] = {}
    for region in regions if isinstance(regions, list) else []:
        if isinstance(region, dict) and isinstance(region.get("from_name"), str):
            found.setdefault(region["from_name"], []).append(region.get("value"))
    return {name: _value(values) for name, values in found.items()}


def _cell(text: str) -> Any:
    """A cell of CSV, which holds JSON where a value is no plain text."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return _value(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _value(value: Any) -> Any:
    """What lists and objects of one entry hold, several values as their JSON.

    >>> _value([{"rating": 4}]), _value({"choices": ["a"]}), _value({"choices": ["a", "b"]})
    (4, 'a', '["a", "b"]')
    """
    while isinstance(value, dict | list) and len(value) == 1:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return plain(value)


def label_studio_table(exports: Sequence[Rows]) -> pd.DataFrame:
    """Join exports to one table.

    Args:
        exports: Rows of each file.

    Returns:
        Columns ``id`` (the task), ``annotator``, ``annotation_id``, ``created_at``,
        ``updated_at``, ``lead_time``, the data of the task and one for each tag, all as they are
        named there.
    """
    return pd.DataFrame([row for rows in exports for row in rows], dtype=object)
