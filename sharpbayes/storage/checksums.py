"""Checksums of files and of groups of results."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

MARK = b"\nsharpbayes sha256 "
SIZE = len(MARK) + 64 + 1
PIECE = 1 << 20


def append_checksum(path: Path) -> None:
    """Append the checksum of all bytes of a file; readers of HDF5 ignore what follows its end."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(MARK + digest + b"\n")
        file.flush()
        os.fsync(file.fileno())


def has_valid_checksum(path: Path) -> bool:
    """Return whether a file ends with the checksum of all its other bytes.

    A file that is not intact is never parsed, so that no damage can crash the parser or change a
    number.
    """
    size = path.stat().st_size - SIZE
    if size < 0:
        return False
    with path.open("rb") as file:
        file.seek(size)
        end = file.read()
    return end.startswith(MARK) and end == MARK + _digest(path, size) + b"\n"


def has_mark(path: Path) -> bool:
    """Return whether a file ends like one with a checksum, be it right or not."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - SIZE, 0))
        return file.read(len(MARK)) == MARK


def _digest(path: Path, size: int) -> bytes:
    """Return the SHA-256 of the first bytes of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(min(PIECE, size - file.tell())):
            digest.update(piece)
    return digest.hexdigest().encode()


def dataset_digest(group: "xr.Dataset") -> str:
    """Return the SHA-256 of the variables of a group: names, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(map(str, group.data_vars)):
        values = group[name].to_numpy()
        digest.update(f"{name} {values.dtype.str} {values.shape} {group[name].dims}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
