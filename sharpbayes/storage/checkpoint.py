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
from sharpbayes.execution import tasks
from sharpbayes.storage.results import replace_file, temporary_files

SUFFIX = ".checkpoint"
KEY = "run"


@dataclass
class Checkpoint:
    """A folder with one file for each finished part of a run.

    A file is complete or absent, and its checksums tell whether it is intact. A run that was
    ``resumed`` found parts of an earlier one.
    """

    folder: Path
    resumed: bool = False
    _sets: int = field(default=0, init=False)

    def get(self, name: str) -> tasks.Arrays | None:
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
        failure = f"{path}: cannot keep a finished part"
        with replace_file(path, failure) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **part)
            file.flush()
            os.fsync(file.fileno())

    def resample_map(self, map_function: tasks.MapFunction) -> tasks.MapFunction:
        """Return a map function for blocks of resamples that stores them, and reads stored ones."""
        execution = tasks.Execution(map_function, self)

        def compute_blocks(
            task: Callable[[int], xr.Dataset],
            arguments: Sequence[int],
            *,
            done: Callable[[int, xr.Dataset], None] = tasks.ignore_result,
        ) -> list[xr.Dataset]:
            self._sets += 1
            prefix = f"resamples-{self._sets}-{len(arguments)}"
            names = {f"{prefix}-{start}": start for start in arguments}
            parts = tasks.compute_parts(
                lambda start: tasks.to_arrays(task(start)), names, execution
            )
            blocks = [tasks.from_arrays(part) for part in parts]
            for start, block in zip(arguments, blocks, strict=True):
                done(start, block)
            return blocks

        return compute_blocks


@contextlib.contextmanager
def checkpoint(target: Path, *, run: str, resume: bool) -> Iterator[Checkpoint]:
    """Open the checkpoint of a results file for one run, and remove it when the run has succeeded.

    The text ``run`` identifies the run: files, data, seed and versions. Where there is nothing to
    resume, the run begins. StorageError where another run writes the same results, or what is kept
    is of another run.
    """
    folder = target.with_name(target.name + SUFFIX)
    with _lock(target, folder):
        for file in temporary_files(target):
            with contextlib.suppress(OSError):
                file.unlink()
        key = folder / KEY
        resumed = resume and key.is_file()
        if not resumed:
            with replace_file(key, f"{folder}: cannot write") as temporary:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(exist_ok=True)
                temporary.write_text(run, encoding="utf-8")
        elif key.read_text(encoding="utf-8") != run:
            raise StorageError(
                f"{folder}: is of another study, data, seed or version; run without --resume"
            )
        yield Checkpoint(folder, resumed)
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
