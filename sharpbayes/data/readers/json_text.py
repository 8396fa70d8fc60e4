"""JSON of other programs -> plain values and tables of text; repeated keys are refused."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import mul
from pathlib import Path
from typing import Any

import pandas as pd

from sharpbayes.data.readers.bounds import borrow_memory, take_memory
from sharpbayes.data.readers.rows import collect_rows, tabulate_rows
from sharpbayes.data.readers.text_table import refuse_names, refuse_texts, write_as_text
from sharpbayes.errors import DataError

# The rows are so many times as many as the objects of any other list.
LONGER = 5
# Bytes of a list, of an object and of a value, as they are read.
MARK_BYTES = (70, 250, 40)


def parse_json(text: str | bytes, path: Path | str, *, line: int = 0, key: str = "") -> Any:
    """Return the value of a text of JSON; a message names its file, line and part."""
    try:
        with borrow_memory(_estimate_values(text), "its JSON"):
            return json.loads(text, object_pairs_hook=_make_object)
    except LookupError as error:
        message = str(error)
    except json.JSONDecodeError as error:
        message, line = "not JSON", line or error.lineno
    except (ValueError, RecursionError):
        message = "not JSON"
    raise DataError.at(path, message, line=line, key=key)


def _estimate_values(text: str | bytes) -> int:
    """Return about how many bytes the values of a text of JSON take, before they are read."""
    marks = ("[", "{", ",") if isinstance(text, str) else (b"[", b"{", b",")
    counts: list[int] = [text.count(mark) for mark in marks]  # type: ignore[arg-type]
    values: int = sum(map(mul, counts, MARK_BYTES))
    return len(text) + values


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of pairs; no two may have one key."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        [(repeated, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise LookupError(f"key {repeated!r} stands twice")
    return entries


def read_objects(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; empty lines are skipped, others refused."""
    rows = []
    # A line ends at a line feed only: other separators may stand inside a text.
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                take_memory(_estimate_values(line), "its lines")
                row = parse_json(line, path, line=number)
                if not isinstance(row, dict):
                    raise DataError.at(path, "not a JSON object", line=number)
                rows.append(row)
    return rows


def read_json_lines(path: Path) -> pd.DataFrame:
    """Read one JSON object a line and write its values as text.

    The entries of an object inside have columns of their own, such as ``scores.hate``.
    """
    return _tabulate_objects(read_objects(path), path)


def read_json_list(path: Path) -> pd.DataFrame:
    """Read a list of JSON objects as :func:`read_json_lines` reads lines of them.

    The list may be the longest of an object, whose texts and numbers are columns, too. Objects may
    stand under names, which are the column ``id``, and lists of them, where it is ``key``.
    """
    content = parse_json(path.read_bytes(), path)
    rows = _list_rows(content) if isinstance(content, dict) else content
    if rows is None or not _is_list_of_objects(rows):
        raise DataError.at(path, "no list of JSON objects, such as one for each rating")
    return _tabulate_objects(collect_rows(rows), path)


def _list_rows(content: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of an object that is no row itself; None where it has none.

    Beside the list of rows there may be much shorter ones, such as one of metrics.

    >>> _list_rows({"model": "a", "config": {"n": 1}, "results": [{"harm": 1}, {"harm": 0}]})
    [{'model': 'a', 'harm': 1}, {'model': 'a', 'harm': 0}]
    >>> _list_rows({"a": [{"harm": 1}], "b": [{"harm": 0}]})
    [{'key': 'a', 'harm': 1}, {'key': 'b', 'harm': 0}]
    >>> _list_rows({"p1": {"harm": 1}, "p2": {"harm": 0}})
    [{'id': 'p1', 'harm': 1}, {'id': 'p2', 'harm': 0}]
    """
    lists = {key: value for key, value in content.items() if value and _is_list_of_objects(value)}
    if len(lists) == len(content) > 1:
        return [{"key": key} | entry for key, value in lists.items() for entry in value]
    if lists:
        longest, *others = sorted(lists.values(), key=len, reverse=True)
        plain = {key: v for key, v in content.items() if not isinstance(v, dict | list)}
        is_longest = all(len(longest) >= LONGER * len(other) for other in others)
        return [plain | entry for entry in longest] if is_longest else None
    objects = [value for value in content.values() if isinstance(value, dict)]
    if len(objects) == len(content) and len({frozenset(value) for value in objects}) == 1:
        return [{"id": key} | value for key, value in content.items()]
    return None


def _is_list_of_objects(value: object) -> bool:
    """Tell whether a value of JSON is a list of objects and of nothing else."""
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _tabulate_objects(objects: Iterable[dict[str, Any]], path: Path) -> pd.DataFrame:
    """Return a row of text for each object."""
    try:
        rows = [flatten_object(row) for row in objects]
    except LookupError as error:
        raise DataError.at(path, str(error)) from None
    refuse_names([*dict.fromkeys(chain.from_iterable(rows))], path)
    table = write_as_text(tabulate_rows([rows]))
    refuse_texts(table, path)
    return table.set_axis(pd.RangeIndex(1, len(table) + 1))


def flatten_object(row: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of an object and of all objects inside; names are joined by points.

    An object without entries is left as it is. LookupError where two names become one.

    >>> flatten_object({"model": "a", "scores": {"hate": 0.1, "self": {"harm": 0.2}}})
    {'model': 'a', 'scores.hate': 0.1, 'scores.self.harm': 0.2}
    """
    return _make_object([*_list_entries(row)])


def _list_entries(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of an object, those of objects inside with its name in front."""
    # A stack, because objects may lie deeper in one another than functions may call themselves.
    stack = [*reversed(row.items())]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict) and value:
            stack += [(f"{name}.{key}", inner) for key, inner in reversed(value.items())]
        else:
            yield name, value


def to_cell(value: object) -> object:
    """Return a value as a cell holds it: lists and objects as their JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def pick_scalars(value: object, prefix: str) -> dict[str, Any]:
    """Return the entries of an object that are numbers, texts or flags, their names prefixed."""
    if not isinstance(value, dict):
        return {}
    return {f"{prefix}{key}": v for key, v in value.items() if not isinstance(v, dict | list)}
