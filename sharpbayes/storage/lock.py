"""A lock that ends with its process, on Unix and on Windows."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        """Lock the first byte of a file; OSError where another process has it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        """Lock a file; OSError where another process has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Yield whether no other process has the lock of a path, and hold it inside a ``with``.

    The file of the lock is removed at the end. OSError where it cannot be opened.
    """
    # Opened for both, so that a pipe of this name is not waited for.
    descriptor, is_held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666), False
    try:
        is_held = _take(descriptor, path)
        yield is_held
    finally:
        if is_held and os.name != "nt":  # while it is locked: another run may take it at once
            path.unlink(missing_ok=True)
        os.close(descriptor)
        if is_held and os.name == "nt":  # where an open file cannot be removed
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _take(descriptor: int, path: Path) -> bool:
    """Lock an open file; False where another process has it."""
    try:
        _try_lock(descriptor)
        # A run that has just ended may have removed the file that was opened.
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
