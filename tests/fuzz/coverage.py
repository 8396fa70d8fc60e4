"""Lines of the package that no case reached before, by the interpreter's own monitoring."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Self

import numpy as np

import sharpbayes

PACKAGE = str(Path(sharpbayes.__file__).parent)
# One of the numbers of tools that nobody else claims.
TOOL = 4


class NewLines:
    """Counts lines of the package that run for the first time inside a ``with``.

    Each line is reported once and never again, so that a case costs next to nothing more.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "sharpbayes fuzz")
        monitoring.register_callback(TOOL, monitoring.events.LINE, self._note)
        monitoring.set_events(TOOL, monitoring.events.LINE)
        return self

    def __exit__(self, *_: object) -> None:
        sys.monitoring.set_events(TOOL, sys.monitoring.events.NO_EVENTS)
        sys.monitoring.free_tool_id(TOOL)

    def _note(self, code: CodeType, _line: int) -> object:
        self.count += code.co_filename.startswith(PACKAGE)
        return sys.monitoring.DISABLE


def grow(
    seeds: Sequence[bytes],
    work: Callable[[bytes], None],
    *,
    cases: int,
    generator: np.random.Generator,
) -> list[bytes]:
    """Give changed contents to some work; return the seeds and each case that reached new lines.

    Those are changed further in turn, so that cases come to lie ever deeper in the program.
    """
    corpus = [*seeds]
    sys.monitoring.restart_events()
    with NewLines() as lines:
        for content in seeds:
            work(content)
        for _ in range(cases):
            before, case = lines.count, change_bytes(corpus, generator)
            work(case)
            if lines.count > before:
                corpus.append(case)
    return corpus


def change_bytes(corpus: Sequence[bytes], generator: np.random.Generator) -> bytes:
    """Return one of several contents with one to four changes."""
    content = bytearray(corpus[generator.integers(len(corpus))])
    other = corpus[generator.integers(len(corpus))]
    for _ in range(generator.integers(1, 5)):
        start = int(generator.integers(len(content) + 1))
        stop = start + int(generator.geometric(0.1))
        match generator.integers(6):
            case 0:
                del content[start:stop]
            case 1:
                content[start:start] = content[start:stop]
            case 2:
                place = int(generator.integers(len(other) + 1))
                content[start:start] = other[place : place + stop - start]
            case 3:
                content[start:stop] = TOKENS[generator.integers(len(TOKENS))]
            case 4 if start < len(content):
                content[start] ^= 1 << int(generator.integers(8))
            case _:
                lines = content.split(b"\n")
                lines.insert(int(generator.integers(len(lines) + 1)), lines[len(lines) // 2])
                content = bytearray(b"\n".join(lines))
    return bytes(content)


TOKENS = (
    *(b"0", b"-1", b"1e999", b"nan", b"9" * 30, b"true", b'""', b"''", b"[]", b"{}", b"[[", b"]]"),
    *(b"=", b",", b"\n", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"#", b".", b"*"),
    *("\u202e".encode(), "é".encode(), b"e\xcc\x81", b"a" * 300, b"../", b"2026-01-01"),
)
