"""Files that are written whole: under a temporary name, and renamed when they are finished."""

import contextlib
import glob
import hashlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from sharpbayes.errors import StorageError

TEMPORARY = ".~"
# Bytes of a name that file systems allow, and letters of a digest in place of what is left out.
LONGEST, DIGEST = 255, 16
# Letters of a machine and of a call in the name of a temporary file, and bytes of all that follows
# its start: three dots, both of these, and the longest number of a process.
PART, SPARE = 8, 29


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

    A run that fails or is killed leaves an older file as it was. What a killed run of this machine
    left under a temporary name is removed. A link stays, and the file that it leads to is replaced.
    StorageError, with the message ``failure``, where a file cannot be written.
    """
    if path.is_dir():
        raise StorageError(f"{failure}: is a folder")
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    temporary = _name_temporary(target)
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
    """Remove the temporary files of a file whose processes on this machine no longer run.

    Other machines may write into the same folder, and only they know their processes. What earlier
    versions left names no machine, and stays.
    """
    start = _start_temporary(path)
    for file in path.parent.glob(f"{glob.escape(start)}*"):
        process = file.name.removeprefix(start).partition(".")[0]
        if process.isdecimal() and not _is_running(int(process)):
            with contextlib.suppress(OSError):
                file.unlink()


def _name_temporary(path: Path) -> Path:
    """Return a name in the folder of a file that no other machine, process or call takes."""
    call = os.urandom(PART // 2).hex()
    return path.with_name(f"{_start_temporary(path)}{os.getpid()}.{call}")


def _start_temporary(path: Path) -> str:
    """Return what the names of this machine's temporary files of a file start with.

    The number of a process and the letters of a call follow.
    """
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:PART]
    return f"{name_beside(path, prefix=TEMPORARY, spare=SPARE).name}.{machine}."


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
