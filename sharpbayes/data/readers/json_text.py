"""JSON that others wrote -> plain values; what is no JSON, or says a thing twice, is refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from sharpbayes.errors import DataError, Diagnostic


class _TwiceError(Exception):
    """A key that stands twice in one JSON object."""


def parse_json(text: str | bytes, path: Path | str, *, line: int = 0, key: str = "") -> Any:
    """Return the value that a text of JSON holds.

    Args:
        text: The text; bytes are UTF-8.
        path: The file, for messages.
        line: Its line, where it is one of several.
        key: Name of the part of the file, where it has parts.

    Raises:
        DataError: It is not JSON, nests too deep, or an object has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except _TwiceError as error:
        message = str(error)
    except (ValueError, RecursionError):
        message = "not JSON"
    raise DataError([Diagnostic(str(path), line, key, message)])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of pairs of which no two have one key."""
    held = dict(pairs)
    if len(held) != len(pairs):
        twice = next(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        raise _TwiceError(f"key {twice!r} stands twice")
    return held


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; empty lines are passed over.

    Raises:
        DataError: A line that holds no JSON object.
    """
    found = []
    # A line ends at a line feed only: other separators may stand inside a text.
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                row = parse_json(line, path, line=number)
                if not isinstance(row, dict):
                    raise DataError([Diagnostic(str(path), number, "", "not a JSON object")])
                found.append(row)
    return found


def plain(value: object) -> object:
    """Return a value as a cell holds it: lists and objects as their JSON.

    >>> plain(3), plain(["a", 1])
    (3, '["a", 1]')
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def pick_scalars(held: object, prefix: str) -> dict[str, Any]:
    """Return the entries of an object that are numbers, texts or flags, their names prefixed.

    >>> pick_scalars({"topic": "a", "steps": [1, 2]}, "metadata.")
    {'metadata.topic': 'a'}
    """
    if not isinstance(held, dict):
        return {}
    return {f"{prefix}{key}": v for key, v in held.items() if not isinstance(v, dict | list)}
