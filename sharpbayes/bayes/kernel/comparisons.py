"""Comparisons of the kernel with PyMC's graph that have passed, kept alongside the machine code.

A comparison follows from the design, the point, the code and the versions alone. One that has
passed on this machine passes again, so that it is not repeated.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.kernel.machine_code import part_code
from sharpbayes.errors import StorageError
from sharpbayes.execution.identity import computation
from sharpbayes.storage.files import write_text

FILE = "sharpbayes-comparisons.txt"
# Digests that the file keeps, the latest.
MAX_KEPT = 1_000


def comparison_digest(design: Design, *, seed: int) -> str:
    """Return the SHA-256 of all that the comparison of a design at a point depends on."""
    digest = hashlib.sha256(json.dumps([seed, computation()]).encode())
    for part in _list_parts(design):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def has_passed(digest: str) -> bool:
    """Return whether a comparison has passed on this machine before."""
    return digest in _read_passed()


def remember_passed(digest: str) -> None:
    """Keep that a comparison has passed; where the folder cannot be written, it is repeated."""
    with suppress(OSError, StorageError):
        path = _path()
        lines = [*(line for line in _read_passed() if line != digest), digest]
        # In one step, so that a run at the same time reads a whole file.
        write_text(path, "\n".join(lines[-MAX_KEPT:]) + "\n", f"{path}: cannot be written")


def _read_passed() -> list[str]:
    """Return the digests of the comparisons that have passed, the latest last."""
    with suppress(OSError, UnicodeDecodeError):
        return _path().read_text("utf-8").split()
    return []


def _path() -> Path:
    """Return the file, in the folder where numba keeps the machine code of the kernel."""
    return Path(part_code().stats.cache_path) / FILE


def _list_parts(value: object) -> Iterator[bytes]:
    """Yield the parts of a value: those of its fields and elements, in their order."""
    yield type(value).__name__.encode()
    if isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, BaseModel):
        yield value.model_dump_json().encode()
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _list_parts(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from _list_parts(tuple(value.items()))
    elif isinstance(value, tuple):
        for element in value:
            yield from _list_parts(element)
    else:
        yield repr(value).encode()
