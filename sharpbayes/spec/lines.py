"""The lines of keys of a TOML text, and its comments, which ``tomllib`` does not tell."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

from sharpbayes.errors import Diagnostic

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_COMMA = re.compile(_SPACE.pattern + ",?")
_STRING = r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''(?:.)*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'"
_KEY = rf"[ \t]*(?:[A-Za-z0-9_-]+|{_STRING})[ \t]*"
_DOTTED_KEY = re.compile(rf"{_KEY}(?:\.{_KEY})*", re.DOTALL)
_SCALAR = re.compile(rf"{_STRING}|[^,\]}}\n#]+", re.DOTALL)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, counted from 1, of every table, key and array element of a TOML text."""
    return _scan(text).lines


def open_checks(text: str) -> list[str]:
    """Return what the comments of a TOML text mark as ``CHECK``, in the order of the lines.

    >>> open_checks('a = "# CHECK: no"  # CHECK: is it 1?')
    ['is it 1?']
    """
    matches = (re.match(r"# ?CHECK\b:?\s*(.*)", comment) for comment in _scan(text).comments)
    return [match[1].strip() for match in matches if match]


def _scan(text: str) -> "_Scanner":
    """Move a scanner over a whole text."""
    scanner = _Scanner(text)
    table: KeyPath = ()
    scanner.take(_SPACE)
    while scanner.position < len(text):
        if text[scanner.position] == "[":
            table = scanner.header()
        else:
            scanner.pair(table)
        scanner.take(_SPACE)
    return scanner


def dotted(path: KeyPath) -> str:
    """Return a path as text, such as ``panel.dimensions[0].name``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


@dataclass(frozen=True)
class SourceText:
    """The text of a TOML file, its path, and the ``--set`` options put over it, by dotted key."""

    path: Path
    text: str
    overrides: Mapping[str, str]

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        """Line of every key."""
        return key_lines(self.text)

    def locate(self, key: KeyPath, message: str) -> Diagnostic:
        """Return a diagnostic with the line or option of a key, or of what is around it."""
        around = [key[:end] for end in range(len(key), 0, -1)]
        for path in map(dotted, around):
            if path in self.overrides:
                return Diagnostic(f"--set {self.overrides[path]}", 0, dotted(key), message)
        inside = (path for path in self.overrides if path.startswith(f"{dotted(key)}."))
        if key not in self.lines and (path := next(inside, "")):
            return Diagnostic(f"--set {self.overrides[path]}", 0, dotted(key), message)
        first = 1 if self.lines else 0
        line = next((self.lines[path] for path in around if path in self.lines), first)
        return Diagnostic(str(self.path), line, dotted(key), message)


class _Scanner:
    """A position that moves once over the text and notes where keys are, and all comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines: dict[KeyPath, int] = {}
        self.comments: list[str] = []
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.last_index: dict[KeyPath, int] = {}

    def take(self, pattern: re.Pattern[str]) -> str:
        """Move over what matches a pattern, and return it."""
        match = pattern.match(self.text, self.position)
        token = match.group() if match else ""
        self.position += len(token)
        if pattern in (_SPACE, _COMMA):
            self.comments += re.findall(r"#[^\n]*", token)
        return token

    def note(self, path: KeyPath, position: int) -> None:
        """Note the first line of a path and of all tables around it."""
        line = bisect_right(self.line_starts, position)
        for depth in range(1, len(path) + 1):
            self.lines.setdefault(path[:depth], line)

    def header(self) -> KeyPath:
        """Read ``[table]`` or ``[[array]]``; return the path of what follows."""
        start = self.position
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.position += brackets
        *parents, last = self.keys()
        self.position += brackets
        path: KeyPath = ()
        for key in parents:
            path = self.latest((*path, key))
        path = (*path, last)
        if brackets > 1:
            self.last_index[path] = self.last_index.get(path, -1) + 1
        path = self.latest(path)
        self.note(path, start)
        return path

    def latest(self, path: KeyPath) -> KeyPath:
        """Step into the last element where the path is an array of tables."""
        return (*path, self.last_index[path]) if path in self.last_index else path

    def keys(self) -> list[str]:
        """Read a dotted key."""
        text = self.take(_DOTTED_KEY)
        if not ('"' in text or "'" in text):
            return [part.strip() for part in text.split(".")]
        table = tomllib.loads(f"{text} = 0")
        keys: list[str] = []
        while isinstance(table, dict):
            ((key, table),) = table.items()
            keys.append(key)
        return keys

    def pair(self, table: KeyPath) -> None:
        """Read ``key = value``."""
        start = self.position
        path = (*table, *self.keys())
        self.note(path, start)
        self.position += 1
        self.value(path)

    def value(self, path: KeyPath) -> None:
        """Read a value, and note what is inside."""
        self.take(_SPACE)
        opening = self.text[self.position]
        if opening not in "[{":
            self.take(_SCALAR)
            return
        self.position += 1
        for index in count():
            self.take(_SPACE)
            if self.text[self.position] in "]}":
                break
            if opening == "{":
                self.pair(path)
            else:
                self.note((*path, index), self.position)
                self.value((*path, index))
            self.take(_COMMA)
        self.position += 1
