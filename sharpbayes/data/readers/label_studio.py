"""Exports of Label Studio -> a table with a row for each annotation and a column for each tag."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.csv_table import read_csv
from sharpbayes.data.readers.json_text import parse_json, to_cell
from sharpbayes.data.readers.rows import Row, Rows, collect_rows, tabulate_rows
from sharpbayes.errors import DataError

# Facts of an annotation that every export has.
TIMES = ("created_at", "updated_at", "lead_time")
FACTS = ("id", "annotator", "annotation_id", *TIMES)


def read_label_studio_csv(path: Path) -> Rows:
    """Read a CSV export."""
    rows = read_csv(path).to_dict("records")
    return _keep_annotated([{str(k): _parse_cell(v) for k, v in row.items()} for row in rows], path)


def read_label_studio_json(path: Path) -> Rows:
    """Read a list of tasks (JSON) or of annotations (JSON_MIN)."""
    content = parse_json(path.read_bytes(), path)
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise DataError.at(path, "no list of tasks or annotations")
    if any("annotations" in entry for entry in content):
        rows = (row for task in content for row in _list_annotations(task, path))
    else:
        rows = ({key: _unwrap(value) for key, value in entry.items()} for entry in content)
    return _keep_annotated(collect_rows(rows), path)


def _keep_annotated(rows: Rows, path: Path) -> Rows:
    """Drop texts that nobody annotated: JSON_MIN and CSV give them a row too."""
    if not rows or not all("annotator" in row and "id" in row for row in rows):
        message = "no export of Label Studio: rows need `id` and `annotator`, or `annotations`"
        raise DataError.at(path, message)
    return [row for row in rows if row["annotator"] not in (None, "", "{}")]


def _list_annotations(task: dict[str, Any], path: Path) -> Iterator[Row]:
    """List the annotations of one task; a skipped one has no values."""
    data, annotations = task.get("data"), task.get("annotations")
    if not isinstance(data, dict) or not isinstance(annotations, list) or "id" not in task:
        raise DataError.at(path, "a task without `id`, `data` or a list of `annotations`")
    start = {key: _unwrap(value) for key, value in data.items()} | {"id": task["id"]}
    for annotation in annotations:
        if not isinstance(annotation, dict):
            raise DataError.at(path, "not a list of objects", key="annotations")
        person = annotation.get("completed_by")
        if isinstance(person, dict):
            person = person.get("email") or person.get("id")
        facts = {"annotator": person, "annotation_id": annotation.get("id")}
        facts |= {key: annotation.get(key) for key in TIMES}
        yield start | _collect_tags(annotation.get("result")) | facts


def _collect_tags(regions: Any) -> dict[str, Any]:
    """Collect the values of each tag."""
    tags: dict[str, list[Any]] = {}
    for region in regions if isinstance(regions, list) else []:
        if isinstance(region, dict) and isinstance(region.get("from_name"), str):
            tags.setdefault(region["from_name"], []).append(region.get("value"))
    return {name: _unwrap(values) for name, values in tags.items()}


def _parse_cell(text: str) -> Any:
    """Parse a cell of CSV, which holds JSON where a value is no plain text."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return _unwrap(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _unwrap(value: Any) -> Any:
    """Take the content of lists and objects of one entry; several entries are kept as JSON.

    >>> _unwrap([{"rating": 4}]), _unwrap({"choices": ["a"]}), _unwrap({"choices": ["a", "b"]})
    (4, 'a', '["a", "b"]')
    """
    while isinstance(value, dict | list) and len(value) == 1:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return to_cell(value)


READERS = {".json": read_label_studio_json, ".csv": read_label_studio_csv}


def tabulate_annotations(exports: Sequence[Rows]) -> pd.DataFrame:
    """Join exports to one table: the id and the data of the task, ``FACTS``, and a column a tag."""
    return tabulate_rows(exports)
