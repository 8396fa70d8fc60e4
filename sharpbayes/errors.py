"""Errors that a user can cause: a text that tells how to fix it, and the exit status."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self


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
        return ": ".join(part for part in (location, self.key, self.message) if part)


class SharpbayesError(Exception):
    """Base of every error that a user can cause; the command line exits with ``exit_status``."""

    exit_status = 1


class KernelError(SharpbayesError):
    """The fast log density differs from the definition of the model; nothing was sampled."""


class _DiagnosticsError(SharpbayesError):
    """An error that prints all of its ``diagnostics``, one a line."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))

    @classmethod
    def raise_any(cls, diagnostics: Iterable[Diagnostic]) -> None:
        """Raise an error with these diagnostics, sorted, if there are any."""
        if ordered := sorted(diagnostics):
            raise cls(ordered)

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


class StorageError(SharpbayesError):
    """A results file that cannot be read or written."""

    exit_status = 5


class ClusterError(SharpbayesError):
    """A cluster that does not answer, has lost all workers, or computes otherwise."""

    exit_status = 5


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that is most like ``name``, or None if none is."""
    import difflib  # noqa: PLC0415 - start-up: needed only where something is wrong

    matches = difflib.get_close_matches(name, sorted(allowed), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'X'?"``, or an empty string if no allowed name is near."""
    match = nearest(name, allowed)
    return f"; did you mean {match!r}?" if match else ""


def format_list(values: Iterable[object], *, most: int = 5) -> str:
    """Return values as ``a, b, c and 4 more``.

    >>> format_list([1, 2, 3], most=2)
    '1, 2 and 1 more'
    """
    texts = [str(value) for value in values]
    shown = ", ".join(texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown


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
