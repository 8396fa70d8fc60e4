"""Finished parts of a run alongside its results, so that a killed run can be resumed."""

import contextlib
import fcntl
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import StorageError
from sharpbayes.execution.tasks import (
    Arrays,
    Execution,
    MapFunction,
    compute_parts,
    from_arrays,
    ignore_result,
    to_arrays,
)
from sharpbayes.storage.results import temporary_files

SUFFIX = ".checkpoint"
KEY = "run"


@dataclass
class Checkpoint:
    """A folder with one file for each finished part of a run.

    A file is complete or absent, and its checksums tell whether it is intact.
    """

    folder: Path
    _sets: int = field(default=0, init=False)

    def get(self, name: str) -> Arrays | None:
        """Return a part, or None if it is missing or damaged."""
        try:
            path = self.folder / f"{name}.npz"
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, name: str, part: Mapping[str, NDArray[Any]]) -> None:
        """Store a part; StorageError if the folder cannot be written, or the disk is full."""
        path = self.folder / f"{name}.npz"
        temporary = path.with_suffix(f".{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                np.savez(file, allow_pickle=False, **part)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            reason = error.strerror or error
            raise StorageError(f"{path}: cannot keep a finished part: {reason}") from error

    def resample_map(self, map_function: MapFunction) -> MapFunction:
        """Return a map function for blocks of resamples that stores them, and reads stored ones."""
        execution = Execution(map_function, self)

        def compute_blocks(
            task: Callable[[int], xr.Dataset],
            arguments: Sequence[int],
            *,
            done: Callable[[int, xr.Dataset], None] = ignore_result,
        ) -> list[xr.Dataset]:
            self._sets += 1
            prefix = f"resamples-{self._sets}-{len(arguments)}"
            names = {f"{prefix}-{start}": start for start in arguments}
            parts = compute_parts(lambda start: to_arrays(task(start)), names, execution)
            blocks = [from_arrays(part) for part in parts]
            for start, block in zip(arguments, blocks, strict=True):
                done(start, block)
            return blocks

        return compute_blocks


@contextlib.contextmanager
def checkpoint(target: Path, *, run: str, resume: bool) -> Iterator[Checkpoint]:
    """Open the checkpoint of a results file for one run, and remove it when the run has succeeded.

    The text ``run`` identifies the run: files, data, seed and versions. StorageError where another
    run writes the same results, there is nothing to resume, or it is of another run.
    """
    folder = target.with_name(target.name + SUFFIX)
    with _lock(target, folder):
        for file in temporary_files(target):
            with contextlib.suppress(OSError):
                file.unlink()
        key = folder / KEY
        if not resume:
            _make_folder(folder, run)
        elif not key.is_file():
            raise StorageError(f"{folder}: nothing to resume; run without --resume")
        elif key.read_text(encoding="utf-8") != run:
            raise StorageError(
                f"{folder}: is of another study, data, seed or version; run without --resume"
            )
        yield Checkpoint(folder)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _lock(target: Path, folder: Path) -> Iterator[None]:
    """Hold a lock; it ends with the process, however the process ends."""
    path = folder.with_suffix(".lock")
    try:
        file = path.open("a")
    except OSError as error:
        raise StorageError(f"{target}: cannot write results: {error.strerror or error}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A run that has just ended may have removed the file that was opened.
            locked = path.stat().st_ino == os.fstat(file.fileno()).st_ino
        except OSError:
            locked = False
        if not locked:
            raise StorageError(f"{target}: another run writes these results now")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _make_folder(folder: Path, run: str) -> None:
    """Make an empty checkpoint of a run."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(exist_ok=True)
        temporary = folder / f"{KEY}.part"
        temporary.write_text(run, encoding="utf-8")
        temporary.replace(folder / KEY)
    except OSError as error:
        raise StorageError(f"{folder}: cannot write: {error.strerror or error}") from error
