"""Files that are written whole: under a temporary name, and renamed when they are finished."""

import contextlib
import glob
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from sharpbayes.errors import StorageError

TEMPORARY = ".~"
# Bytes of a name that file systems allow, letters of a digest in place of what is left out, and a
# dot with the longest number of a process.
LONGEST, DIGEST, SPARE = 255, 16, 11


def name_beside(path: Path, *, prefix: str = "", suffix: str = "", spare: int = 0) -> Path:
    """Return a file of the same folder with a longer name, of as many bytes as are allowed.

    A name that would be too long has a digest in place of its end. ``spare`` bytes are left for
    what is added to it.
    """
    room = LONGEST - len(prefix) - len(suffix) - spare
    name, kept = os.fsencode(path.name), path.name
    if len(name) > room:
        digest = hashlib.sha256(name).hexdigest()[:DIGEST]
        kept = name[: room - DIGEST].decode("utf-8", "ignore") + digest
    return path.with_name(f"{prefix}{kept}{suffix}")


@contextlib.contextmanager
def replace_file(path: Path, failure: str) -> Iterator[Path]:
    """Yield a temporary file in the folder of a file, and rename it once it is written.

    A run that fails or is killed leaves an older file as it was. What a killed run left under a
    temporary name is removed. A link stays, and the file that it leads to is replaced.
    StorageError, with the message ``failure``, where a file cannot be written.
    """
    if path.is_dir():
        raise StorageError(f"{failure}: is a folder")
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    start = _start_temporary(target)
    temporary = start.with_name(f"{start.name}.{os.getpid()}")
    try:
        remove_abandoned(target)
        yield temporary
        temporary.replace(target)
    # HDF5 reports a full disk as a RuntimeError; a name or a text may be no Unicode.
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{failure}: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, failure: str) -> None:
    """Write a text file; a run that is killed leaves an older file as it was.

    It has the same bytes on every system: lines end in LF. StorageError, with the message
    ``failure``, where it cannot be written.
    """
    if path.exists() and not path.is_file():  # a pipe, or a device such as /dev/stdout
        try:
            path.write_bytes(text.encode())
        except OSError as error:
            raise StorageError(f"{failure}: {error.strerror or error}") from None
    else:
        with replace_file(path, failure) as temporary:
            temporary.write_bytes(text.encode())


def make_folder(folder: Path, failure: str) -> None:
    """Make a folder unless it is there; StorageError, with the message ``failure``, if not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{failure}: {error.strerror or error}") from error


def remove_abandoned(path: Path) -> None:
    """Remove the temporary files of a file whose processes no longer run."""
    start = f"{_start_temporary(path).name}."
    for file in path.parent.glob(f"{glob.escape(start)}*"):
        process = file.name.removeprefix(start)
        if process.isdecimal() and not _is_running(int(process)):
            with contextlib.suppress(OSError):
                file.unlink()


def _start_temporary(path: Path) -> Path:
    """Return what temporary files of a file start with: the number of a process follows."""
    return name_beside(path, prefix=TEMPORARY, spare=SPARE)


def _is_running(process: int) -> bool:
    """Whether a process runs on this machine, or may run where that cannot be asked."""
    if os.name == "nt":  # where asking in this way would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
