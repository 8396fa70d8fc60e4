"""What reading may take of memory: one bound for every format, which one option raises.

A small file can stand for more than any machine holds: an archive, a dictionary of Parquet, a list
of scorers that meets a list of samples. A reader counts what a step would take before that step.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from sharpbayes.data.readers.paths import find_files, measure_file
from sharpbayes.errors import MEMORY_OPTION, MEMORY_VARIABLE, DataError, SpecError

# The bound: bytes that one table may take, or so many times the size of its files if that is more.
# With it, `check` and `init` of a file of 10 MB stay below 1 GB.
MAX_BYTES, MAX_GROWTH = 500_000_000, 50
GIGABYTE = 1_000_000_000
# Bytes of a value in a row that is a dictionary, of a cell of a table of texts, of a text that is
# kept once, and copies of the characters of a text, as measured.
ENTRY, CELL, TEXT, COPIES = 100, 80, 200, 3


@dataclass
class Budget:
    """What one table takes of memory, as its readers count it."""

    path: Path
    limit: int
    used: int = 0

    def take(self, size: int, description: str) -> None:
        """Count what a step is about to take; DataError where it is more than the bound."""
        self.used += size
        if self.used > self.limit:
            raise DataError.at(self.path, describe_excess(self.used, self.limit, description))


_budget: ContextVar[Budget] = ContextVar("budget")


def describe_excess(size: int, limit: int, description: str) -> str:
    """Say what would take too much memory, the bound, and how to raise it."""
    return (
        f"{description} would take {format_size(size)} of memory or more, the bound is "
        f"{format_size(limit)}; if the file is as it should be, raise the bound by "
        f"{MEMORY_OPTION} GIGABYTES"
    )


def format_size(size: float) -> str:
    """Return a number of bytes in words.

    >>> format_size(1_234_567_890), format_size(12_000_000)
    ('1.2 GB', '12 MB')
    """
    return f"{size / GIGABYTE:,.1f} GB" if size >= GIGABYTE else f"{size / 1e6:,.0f} MB"


def find_limit(size: int) -> int:
    """Return the bound for files of a size, in bytes."""
    text = os.environ.get(MEMORY_VARIABLE, "")
    if not text:
        return max(MAX_BYTES, MAX_GROWTH * size)
    try:
        limit = int(float(text) * GIGABYTE)
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise SpecError.at(
            MEMORY_VARIABLE, f"found {text!r}, must be a number of gigabytes above 0"
        )
    return limit


@contextmanager
def bound_memory(path: Path, files: Sequence[Path]) -> Iterator[None]:
    """Bound what reading the files of one table may take; messages name ``path``."""
    token = _budget.set(Budget(path, find_limit(sum(map(measure_file, files)))))
    try:
        yield
    finally:
        _budget.reset(token)


def take_memory(size: int, description: str) -> None:
    """Count what a step of the table that is read now is about to take; see :class:`Budget`."""
    budget = _budget.get(None)
    if budget is not None:
        budget.take(size, description)


@contextmanager
def borrow_memory(size: int, description: str) -> Iterator[None]:
    """Count what a step takes while it runs, and no longer."""
    take_memory(size, description)
    yield
    take_memory(-size, description)


def count_memory(value: object) -> int:
    """Return about how many bytes a value takes as the text of a cell, beside the cell itself."""
    if isinstance(value, str):
        return COPIES * len(value)
    return value.bit_length() if isinstance(value, int) else 0


def refuse_excess(path: Path, size: int, description: str) -> None:
    """Refuse what follows from a file that was read, where it is more than the bound."""
    files = [path] if path.is_file() else find_files(Path(), str(path))
    limit = find_limit(sum(map(measure_file, files)))
    if size > limit:
        raise DataError.at(path, describe_excess(size, limit, description))
