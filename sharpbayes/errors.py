"""Errors that a user can cause: a text that tells how to fix it, and the exit status."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import UnionType
from typing import Self

# Errors of one kind that are printed, and characters of a key and of a message that are.
MAX_PRINTED, MAX_KEY, MAX_MESSAGE, MAX_EXAMPLE = 20, 200, 4000, 60
# What differs between messages of one kind: texts, numbers, and what is suggested.
VARYING = re.compile(r"'[^']*'|\d+|;.*", re.DOTALL)
# The option and the variable that raise the bound of memory of readers, in gigabytes.
MEMORY_OPTION, MEMORY_VARIABLE = "--max-memory", "SHARPBAYES_MAX_MEMORY"
# A longer name resembles nothing, and more names than this are not searched.
MAX_NAME, MAX_NAMES = 100, 5000
# Names that a sentence lists.
MAX_JOINED = 4
# By how much shares may miss the sum of 1.
MAX_SUM_ERROR = 1e-9


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One thing that is wrong in one place.

    ``line`` counts from 1 and is 0 where none is known. ``key`` is a dotted key or a column name,
    empty for the whole file. ``message`` says what is wrong and what is allowed.
    """

    path: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        """Render as ``path:line: key: message``, leaving out what is unknown."""
        location = f"{self.path}:{self.line}" if self.line else self.path
        key, message = shorten(self.key, MAX_KEY), shorten(self.message, MAX_MESSAGE)
        return ": ".join(part for part in (location, key, message) if part)

    @property
    def kind(self) -> tuple[str, str]:
        """What errors of one kind share: their file, and the message without its particulars."""
        return self.path, VARYING.sub("", self.message)


class SharpbayesError(Exception):
    """Base of every error that a user can cause; the command line exits with ``exit_status``."""

    exit_status = 1


class KernelError(SharpbayesError):
    """The fast log density differs from the definition of the model; nothing was sampled."""


class _DiagnosticsError(SharpbayesError):
    """An error that prints all of its ``diagnostics``, one a line."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(list_diagnostics(self.diagnostics)))

    @classmethod
    def raise_any(cls, diagnostics: Iterable[Diagnostic]) -> None:
        """Raise an error with these diagnostics, sorted and each once, if there are any."""
        if ordered := sorted(set(diagnostics)):
            raise cls(ordered)

    @classmethod
    @contextmanager
    def collect(cls, diagnostics: list[Diagnostic]) -> Iterator[None]:
        """Add what is wrong inside a block to a list, and go on after it."""
        try:
            yield
        except cls as error:
            diagnostics.extend(error.diagnostics)

    @classmethod
    def at(cls, path: Path | str, message: str, *, key: str = "", line: int = 0) -> Self:
        """Return the error of one problem in one place."""
        return cls([Diagnostic(str(path), line, key, message)])


class SpecError(_DiagnosticsError):
    """Errors in a study, weights or model file, or in how a command was called."""

    exit_status = 2


class DataError(_DiagnosticsError):
    """Errors in a data file, or a data file that does not exist."""

    exit_status = 3


class NoModeError(SharpbayesError):
    """A posterior without a mode where an approximation of it was asked for."""

    exit_status = 4


class StorageError(SharpbayesError):
    """A results file that cannot be read or written."""

    exit_status = 5


class ClusterError(SharpbayesError):
    """A cluster that does not answer, has lost all workers, or computes otherwise."""

    exit_status = 5


def require_type(value: object, kind: type | UnionType, place: str, wanted: str) -> None:
    """Raise SpecError where an argument of a call is of another type than ``wanted`` names."""
    if not isinstance(value, kind):
        raise SpecError.at(place, f"found {describe_value(value)}, must be {wanted}")


def describe_value(value: object) -> str:
    """Return a short value as Python writes it, and the type of any other.

    >>> describe_value("r.nc"), describe_value(None), describe_value({"a": 1})
    ("'r.nc'", 'None', 'a value of type dict')
    """
    if value is None or isinstance(value, str | bytes | int | float | PurePath):
        return shorten(repr(value), MAX_EXAMPLE)
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return f"a value of type {name if library == 'builtins' else f'{library}.{name}'}"


def list_diagnostics(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return a line for each diagnostic; of many of one kind the first, then their number.

    >>> errors = [Diagnostic("s.toml", line, f"k{line}", "unknown key") for line in range(1, 23)]
    >>> list_diagnostics(errors)[-1]
    "s.toml: 2 more like 'unknown key'; --json has all"
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    lines = []
    for diagnostic in diagnostics:
        counts[diagnostic.kind] += 1
        first.setdefault(diagnostic.kind, shorten(diagnostic.message, MAX_EXAMPLE))
        if counts[diagnostic.kind] <= MAX_PRINTED:
            lines.append(str(diagnostic))
    more = {kind: count - MAX_PRINTED for kind, count in counts.items() if count > MAX_PRINTED}
    return lines + [
        f"{kind[0]}: {count:,} more like {first[kind]!r}; --json has all"
        for kind, count in more.items()
    ]


def shorten(text: str, limit: int) -> str:
    """Return the start of a text that is longer than ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that is most like ``name``, or None if none is."""
    import difflib  # noqa: PLC0415 - start-up: needed only where something is wrong

    names = [*allowed] if len(name) <= MAX_NAME else []
    if len(names) > MAX_NAMES:
        names = []
    matches = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'X'?"``, or an empty string if no allowed name is near."""
    match = nearest(name, allowed)
    return f"; did you mean {match!r}?" if match else ""


def did_you_mean_file(name: str, names: Iterable[str]) -> str:
    """Return the file that is most like a name, also without its ending, as :func:`did_you_mean`.

    >>> did_you_mean_file("ratigns.csv", ["ratings.toml", "ratings.csv", "h.csv"])
    "; did you mean 'ratings.csv'?"
    >>> did_you_mean_file("qd.csv", ["h.csv"])
    ''
    """
    stem = Path(name).stem
    return did_you_mean(name, [file for file in names if nearest(stem, [Path(file).stem])])


def format_list(values: Iterable[object], *, limit: int = 5) -> str:
    """Return values as ``a, b, c and 4 more``.

    >>> format_list([1, 2, 3], limit=2)
    '1, 2 and 1 more'
    """
    texts = [str(value) for value in values]
    shown = ", ".join(texts[:limit])
    return f"{shown} and {len(texts) - limit} more" if len(texts) > limit else shown


def join_names(names: Sequence[str], *, limit: int = MAX_JOINED) -> str:
    """Join names as a sentence does, the first of many.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    >>> join_names("abcdefgh")
    'a, b, c, d and 4 more'
    """
    if len(names) > limit:
        return format_list(names, limit=limit)
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def format_percent(share: float) -> str:
    """Return a share, such as a level of confidence, in percent with all its digits.

    >>> format_percent(0.95), format_percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:g}%"


def describe_wrong_sum(total: float) -> str:
    """Return what is wrong with the sum of shares; empty where they add up to 1.

    >>> describe_wrong_sum(1.000001), describe_wrong_sum(1.0 + 1e-12)
    ('add up to 1.000001, they must add up to 1', '')
    """
    if abs(total - 1.0) <= MAX_SUM_ERROR:
        return ""
    return f"add up to {total:.12g}, they must add up to 1"


def format_count(number: int, noun: str) -> str:
    """Return a number and what it counts, such as ``2 rows``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its class where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def printable(text: str) -> str:
    r"""Return a text without characters that steer a terminal or turn the direction of writing.

    >>> printable("a\x1b[2J"), printable("é\n"), printable("x\u202ey")
    ('a\\x1b[2J', 'é\n', 'x\\u202ey')
    """
    return "".join(
        character
        if character == "\n" or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text.encode(errors="backslashreplace").decode()
    )
