"""Where a command may write: it replaces nothing but what the program wrote itself."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sharpbayes.cli.streams import say
from sharpbayes.errors import StorageError
from sharpbayes.storage.checksums import has_mark

# Root attributes of a results file; none of what is absent, damaged or another.
Attributes = dict[str, Any]
# Bytes at the start of a text that say whether the program wrote it.
MARKED_BYTES = 2000


def name_another(option: str = "--out", *, kind: str = "file") -> str:
    """Return what to do where a file, or files in a folder, must not be written."""
    return f"name another {kind} with {option}"


def results_path(
    study: Path,
    out: Path | None,
    inputs: Sequence[Path] = (),
    *,
    ending: str = ".results.nc",
    refuse: Callable[[Path, Attributes], None] | None = None,
) -> Path:
    """Return where results go; refuse before work begins what cannot be written or would be lost.

    ``inputs`` are results that the command reads. Under the name that a study gives, results of
    another study are not replaced; ``refuse`` raises StorageError where the attributes of what
    stands there are of results that this command does not replace.
    """
    target = out or Path(f"{study.stem}{ending}")
    refuse_unwritable(target, f"{target}: cannot write results")
    if target.is_dir():
        raise StorageError(f"{target}: cannot write results here")
    refuse_loss(target, inputs)
    earlier = read_attributes(target) if out is None or refuse is not None else {}
    if out is None:
        refuse_other_study(target, earlier, study)
    if refuse is not None:
        refuse(target, earlier)
    return target


def refuse_unwritable(target: Path, failure: str) -> None:
    """Raise StorageError, with the message ``failure``, where a file could not be written."""
    refuse_name(target, failure)
    try:
        target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name that is too long, a folder that must not be entered
        raise StorageError(f"{failure}: {error.strerror or error}") from None
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        raise StorageError(f"{failure}: no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise StorageError(f"{failure}: no right to write in {folder}")


def refuse_name(path: Path, failure: str) -> None:
    """Raise StorageError where a name is not UTF-8, as names in TOML, HDF5 and JSON have to be."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise StorageError(f"{failure}: its name is not UTF-8") from None


def refuse_folders(folders: Mapping[str, Path | None]) -> None:
    """Raise StorageError where files of a kind could not be written into the folder named."""
    for name, folder in folders.items():
        if folder is not None:
            refuse_folder(folder, f"{folder}: cannot write {name}")


def refuse_folder(folder: Path, failure: str) -> None:
    """Raise StorageError, with the message ``failure``, where a folder cannot be made or used."""
    refuse_name(folder, failure)
    for path in (folder, *folder.parents):
        try:
            path.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"{failure}: {error.strerror or error}") from None
        if not path.is_dir():
            raise StorageError(f"{failure}: {path} is not a folder")
        if not os.access(path, os.W_OK):
            raise StorageError(f"{failure}: no right to write in {path}")
        return


def refuse_loss(target: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write results over anything but results that the command does not read.

    Raises:
        StorageError: The target is an input, no plain file, or holds something else.
    """
    refuse_inputs(target, inputs)
    if not target.exists():
        return
    if not target.is_file():
        raise StorageError(f"{target}: cannot write results: not a plain file; {name_another()}")
    try:
        is_other = bool(target.stat().st_size) and not has_mark(target)
    except OSError:
        is_other = True
    if is_other:
        raise StorageError(f"{target}: holds something else than results; {name_another()}")


def read_attributes(target: Path) -> Attributes:
    """Return the root attributes of a results file; none of what is absent, damaged or another."""
    if not target.exists():
        return {}
    from sharpbayes.storage.results import stored_attributes  # noqa: PLC0415 - start-up

    return stored_attributes(target)


def refuse_other_study(target: Path, attrs: Attributes, study: Path) -> None:
    """Raise StorageError where a file holds results of another study that is still there."""
    earlier = attrs.get("study_path")
    if earlier and Path(earlier).exists() and not _are_same(Path(earlier), study):
        raise StorageError(f"{target}: holds results of the study {earlier}; {name_another()}")


def refuse_fit(target: Path, attrs: Attributes) -> None:
    """Raise StorageError where a file holds a posterior, which takes hours to make again."""
    if "posterior_sha256" in attrs:
        remedy = f"{name_another()}; the fit has every number of a measurement"
        refuse_results(target, attrs["status"], by="a measurement", remedy=remedy)


def refuse_answer(target: Path, attrs: Attributes) -> None:
    """Raise StorageError where a file holds results that are no preview."""
    from sharpbayes.storage.schema import APPROXIMATE  # noqa: PLC0415 - start-up

    if attrs and attrs["status"] != APPROXIMATE:
        refuse_results(target, attrs["status"], by="a preview", remedy=name_another())


def refuse_results(target: Path, status: str, *, by: str, remedy: str) -> NoReturn:
    """Raise StorageError: what a command writes replaces no results of this status."""
    raise StorageError(f"{target}: holds results ({status}), which {by} never replaces; {remedy}")


def refuse_inputs(
    target: Path, inputs: Iterable[Path], option: str = "--out", *, kind: str = "file"
) -> None:
    """Refuse to write over a file that the command reads."""
    for path in inputs:
        if _are_same(target, path):
            message = f"{target}: is read by this command"
            raise StorageError(f"{message}; {name_another(option, kind=kind)}")


def _are_same(path: Path, other: Path) -> bool:
    """Whether two names lead to one file; not if one of them leads to none, or is too long."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def refuse_other_text(target: Path, marks: Sequence[str], option: str = "--out") -> None:
    """Refuse to write a text over a file that has none of the marks of what the command writes.

    A mark stands in the first :data:`MARKED_BYTES` bytes.

    Raises:
        StorageError: The file holds something else, or is a folder.
    """
    start = read_start(target)
    if target.is_dir():
        raise StorageError(f"{target}: is a folder; name a file with {option}")
    if start and not any(mark.encode() in start for mark in marks):
        message = "holds something else than what this command writes"
        raise StorageError(f"{target}: {message}; {name_another(option)}")


def read_start(target: Path) -> bytes:
    """Return the first :data:`MARKED_BYTES` bytes of a file without space; none of no file.

    Raises:
        StorageError: The file cannot be read.
    """
    try:
        if not target.is_file():
            return b""
        with target.open("rb") as file:
            return file.read(MARKED_BYTES).strip()
    except OSError as error:
        raise StorageError(f"{target}: cannot be read: {error.strerror or error}") from None


def refuse_text(
    target: Path, inputs: Iterable[Path], marks: Sequence[str], option: str = "--out"
) -> None:
    """Refuse a text file that cannot be written, that the command reads, or of another kind."""
    refuse_unwritable(target, f"{target}: cannot be written")
    refuse_inputs(target, inputs, option)
    refuse_other_text(target, marks, option)


def save_text(path: Path, text: str) -> None:
    """Write a text file and say so; a run that is killed leaves an older file as it was."""
    from sharpbayes.storage.files import write_text  # noqa: PLC0415 - start-up

    write_text(path, text, f"{path}: cannot be written")
    say(f"written to {path}")
