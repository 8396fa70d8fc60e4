"""stdout and stderr: their reader may have left, their disk may be full, a shell may close them."""

import json
import os
import shutil
import sys
from contextlib import suppress
from typing import Any, TextIO

import typer

from sharpbayes.errors import StorageError, printable

PLAIN_WIDTH = 80


def prepare_streams() -> None:
    """Open what a shell has closed, and print ``?`` for what the encoding of stdout does not have.

    Python has None for a stream that is closed when it starts. stderr escapes such characters.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open
    _reconfigure(errors="replace")


def print_as_file() -> None:
    """Print in UTF-8 from now on, as a file of TOML or JSON has to be that stdout is sent to."""
    _reconfigure(encoding="utf-8")


def _reconfigure(**settings: str) -> None:
    """Set encoding or errors of stdout, unless somebody put another kind of stream there."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(**settings)


def say(text: str) -> None:
    """Print a line on stderr; a command goes on where nobody can read it."""
    try:
        typer.echo(printable(text), err=True)
    except OSError:
        _discard(sys.stderr)


def print_text(text: str) -> None:
    """Print a text on stdout.

    A reader who has seen enough, such as ``head``, is no error: what follows is discarded, and the
    command goes on to its own exit status.

    Raises:
        StorageError: stdout cannot be written, such as a file on a full disk.
    """
    try:
        typer.echo(text, nl=False)
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        raise StorageError(f"stdout: cannot be written: {error.strerror or error}") from None


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print_text(f"{json.dumps(value, allow_nan=False)}\n")


def terminal_width() -> int:
    """Return the columns of the terminal, or 80 where output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH


def _discard(stream: TextIO) -> None:
    """Send all that follows on a stream nowhere; Python flushes it once more at its end."""
    with suppress(OSError):  # a stream without a number, which somebody put in its place
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
