"""Where a command may write: it replaces nothing but what the program wrote itself."""

from collections.abc import Iterable
from pathlib import Path

from sharpbayes.cli.progress import say
from sharpbayes.errors import StorageError
from sharpbayes.storage.checksums import has_mark

ANOTHER = "name another file with --out"


def refuse_loss(target: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write results over anything but results that the command does not read.

    Raises:
        StorageError: The target is an input, no plain file, or holds something else.
    """
    refuse_inputs(target, inputs)
    if not target.exists():
        return
    if not target.is_file():
        raise StorageError(f"{target}: cannot write results: not a plain file; {ANOTHER}")
    try:
        is_other = bool(target.stat().st_size) and not has_mark(target)
    except OSError:
        is_other = True
    if is_other:
        raise StorageError(f"{target}: holds something else than results; {ANOTHER}")


def refuse_inputs(target: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over a file that the command reads."""
    for path in inputs:
        if target.exists() and path.exists() and target.samefile(path):
            raise StorageError(f"{target}: is read by this command; {ANOTHER}")


def write_text(path: Path, text: str) -> None:
    """Write a text file and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None
    say(f"written to {path}")
