"""On which line every key of a TOML text stands; a scanner over text that ``tomllib`` accepted."""

import re
from bisect import bisect_right
from collections.abc import Callable

Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''(?:.)*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}\n#]+")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def key_lines(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every table, key and array element of a TOML text.

    Args:
        text: A text that ``tomllib.loads`` accepts.

    Returns:
        Lines by path; array elements are counted from 0.

    Examples:
        >>> key_lines("[b]" + chr(10) + "c = [true, {d = 2}]")[("b", "c", 1, "d")]
        2
    """
    return _Scanner(text).scan()


class _Scanner:
    """A pointer that moves once over the text and notes where keys stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.tables: dict[Path, int] = {}

    def scan(self) -> dict[Path, int]:
        """Read the whole text."""
        table: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip()
        return self.lines

    def skip(self) -> None:
        """Pass over white space and comments."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def note(self, path: Path) -> None:
        """Remember the first line of a path."""
        self.lines.setdefault(path, bisect_right(self.starts, self.at))

    def header(self) -> Path:
        """Read ``[table]`` or ``[[array]]``; return the path of what follows."""
        several = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if several else 1
        keys = self.keys()
        self.at += 2 if several else 1
        path: Path = ()
        for key in keys[:-1]:
            path = self.latest((*path, key))
        path = (*path, keys[-1])
        end, self.at = self.at, start
        if several:
            self.note(path)
            self.tables[path] = self.tables.get(path, -1) + 1
        path = self.latest(path)
        for depth in range(1, len(path) + 1):
            self.note(path[:depth])
        self.at = end
        return path

    def latest(self, path: Path) -> Path:
        """Step into the last element where the path is an array of tables."""
        return (*path, self.tables[path]) if path in self.tables else path

    def keys(self) -> list[str]:
        """Read a dotted key."""
        keys = [self.key()]
        self.skip()
        while self.text.startswith(".", self.at):
            self.at += 1
            keys.append(self.key())
            self.skip()
        return keys

    def key(self) -> str:
        """Read one bare or quoted key."""
        self.skip()
        match = _BARE.match(self.text, self.at)
        if match:
            self.at = match.end()
            return match.group()
        match = _STRING.match(self.text, self.at)
        quoted = match.group() if match else ""
        self.at += max(1, len(quoted))
        return _ESCAPE.sub(_unescaped, quoted[1:-1]) if quoted[:1] == '"' else quoted[1:-1]

    def pair(self, table: Path) -> None:
        """Read ``key = value``."""
        start = self.at
        keys = self.keys()
        end, self.at = self.at, start
        for depth in range(1, len(keys) + 1):
            self.note((*table, *keys[:depth]))
        self.at = end + 1
        self.value((*table, *keys))

    def value(self, path: Path) -> None:
        """Read a value, noting what is inside."""
        self.skip()
        opening = self.text[self.at]
        if opening == "[":
            self.inside("]", lambda position: self.element((*path, position)))
        elif opening == "{":
            self.inside("}", lambda _: self.pair(path))
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            self.at = match.end() if match else self.at + 1

    def element(self, path: Path) -> None:
        """Read one element of an array."""
        self.note(path)
        self.value(path)

    def inside(self, closing: str, read: Callable[[int], None]) -> None:
        """Read what stands between brackets, parted by commas."""
        self.at += 1
        self.skip()
        position = 0
        while not self.text.startswith(closing, self.at):
            read(position)
            position += 1
            self.skip()
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip()
        self.at += 1


def _unescaped(match: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)
