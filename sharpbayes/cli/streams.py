"""stdout and stderr: their reader may have left, their disk may be full, a shell may close them."""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from typing import Any

import typer

from sharpbayes.errors import StorageError, printable

PLAIN_WIDTH = 80
STDOUT, STDERR = "stdout", "stderr"


class OutputStream(TextIOWrapper):
    """stdout or stderr of a command, whoever writes to it: help, errors and progress too.

    A reader who has seen enough, such as ``head``, is no error: what follows is discarded, and the
    command goes on to its own exit status. So it is where nobody can read stderr.

    Raises:
        StorageError: stdout cannot be written, such as a file on a full disk.
    """

    is_needed = False

    def write(self, text: str, /) -> int:
        """Write a text, and return how many characters it has."""
        self._try(partial(super().write, text))
        return len(text)

    def flush(self) -> None:
        """Write what waits."""
        self._try(super().flush)

    def _try(self, action: Callable[[], object]) -> None:
        """Do what writes; where that fails, discard what follows."""
        try:
            action()
        except OSError as error:
            _discard(self)
            if self.is_needed and not is_unread(error):
                raise StorageError(
                    f"stdout: cannot be written: {error.strerror or error}"
                ) from None


def prepare_streams() -> None:
    """Open what a shell has closed, and print ``?`` for what the encoding of stdout does not have.

    Python has None for a stream that is closed when it starts. stderr escapes such characters.
    """
    for name in (STDOUT, STDERR):
        setattr(sys, name, _guard_stream(getattr(sys, name), is_needed=name == STDOUT))
    _reconfigure(errors="replace")


def _guard_stream(stream: Any, *, is_needed: bool) -> Any:
    """Return a stream over the same bytes; another kind that somebody put there as it is."""
    if stream is None:
        return OutputStream(open(os.devnull, "wb"), encoding="utf-8")  # noqa: PTH123 - stays open
    if not isinstance(stream, TextIOWrapper):
        return stream
    guarded = OutputStream(
        stream.buffer,
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
    )
    guarded.is_needed = is_needed
    return guarded


def print_as_file() -> None:
    """Print in UTF-8 from now on, as a file of TOML or JSON has to be that stdout is sent to."""
    _reconfigure(encoding="utf-8")


def _reconfigure(**settings: str) -> None:
    """Set encoding or errors of stdout, unless somebody put another kind of stream there."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(**settings)


def say(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(printable(text), err=True)


def print_text(text: str) -> None:
    """Print a text on stdout."""
    typer.echo(text, nl=False)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print_text(f"{json.dumps(value, allow_nan=False)}\n")


def terminal_width() -> int:
    """Return the columns of the terminal, or 80 where output goes elsewhere."""
    return shutil.get_terminal_size().columns if is_terminal() else PLAIN_WIDTH


def is_terminal() -> bool:
    """Return whether stdout is a terminal, and not a file or a pipe."""
    return sys.stdout.isatty()


def is_unread(error: OSError) -> bool:
    """Whether nobody reads a pipe; Windows has another number for it."""
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)


def _discard(stream: TextIOWrapper) -> None:
    """Send all that follows on a stream nowhere; Python flushes it once more at its end."""
    with suppress(OSError):
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
