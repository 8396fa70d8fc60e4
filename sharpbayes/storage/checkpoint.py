"""Finished parts of a run alongside its results, so that a killed run can be resumed."""

import contextlib
import hashlib
import json
import math
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import StorageError, format_list
from sharpbayes.execution import tasks
from sharpbayes.execution.identity import COMPUTATION, describe_differences
from sharpbayes.execution.progress import ProgressCallback, silent
from sharpbayes.storage.checksums import append_checksum, has_valid_checksum
from sharpbayes.storage.files import name_beside, remove_abandoned, replace_file
from sharpbayes.storage.lock import lock

SUFFIX = ".checkpoint"
KEY = "run"
# The array of a part that says which part of which run it is.
LABEL = "part of"
# How the header of an array is read, by the version of its form.
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# What identifies a run is texts, the largest of them the study file.
MAX_KEY_BYTES = 1 << 26
# What a command was asked for: of `calibrate`, and of `fit`.
CALL = "number of simulations or --update"
# Words for what identifies a run.
WORDS = {"data": "data file", "overrides": "--set", "call": CALL}
NOTHING_KEPT = "nothing was kept of an earlier run: beginning"

Run = Mapping[str, Any]


@dataclass
class Checkpoint:
    """A folder with one file for each finished part of a run.

    A part has a checksum and says which part of which ``run`` it is. One that is damaged, or of
    another run, is made again, and ``progress`` hears of it. A run that was ``resumed`` found parts
    of an earlier one; ``beginning`` says why another begins anew.
    """

    folder: Path
    run: str = ""
    resumed: bool = False
    beginning: str = NOTHING_KEPT
    progress: ProgressCallback = silent
    _sets: int = field(default=0, init=False)

    def get(self, name: str) -> tasks.Arrays | None:
        """Return a part, or None if it is missing, damaged, or not what it should be."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            part = _read_part(path)
        except Exception:  # noqa: BLE001 - of a damaged file anything can be raised
            part = {}
        if str(part.pop(LABEL, "")) == self._label(name, part):
            return part
        self.progress(f"{path}: damaged, or not this part of this run; it is made again")
        return None

    def put(self, name: str, part: Mapping[str, NDArray[Any]]) -> None:
        """Store a part; StorageError if the folder cannot be written, or the disk is full."""
        path = self._path(name)
        failure = f"{path}: cannot keep a finished part"
        with replace_file(path, failure) as temporary:
            with temporary.open("wb") as file:
                label = {LABEL: np.array(self._label(name, part))}
                np.savez(file, allow_pickle=False, **part, **label)
            append_checksum(temporary)

    def _path(self, name: str) -> Path:
        """Return the file of a part."""
        return self.folder / f"{name}.npz"

    def _label(self, name: str, part: Mapping[str, NDArray[Any]]) -> str:
        """Return what a part says that it is: its name, its run, and the forms of its arrays."""
        forms = [f"{key} {array.dtype.str} {array.shape}" for key, array in sorted(part.items())]
        content = "\n".join([*forms, self.run])
        return f"{name} {hashlib.sha256(content.encode()).hexdigest()}"

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


def _read_part(path: Path) -> tasks.Arrays:
    """Return the arrays of a file whose checksum is right and that holds what it says."""
    if not has_valid_checksum(path):
        raise ValueError("no checksum, or that of other bytes")
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        # Arrays are not compressed: what they say to hold cannot be more than the file.
        if sum(map(_claimed_bytes, repeat(archive), archive.infolist())) > size:
            raise ValueError("holds less than it says")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _claimed_bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Return the larger of the bytes that an archive and that an array say to have."""
    with archive.open(entry) as file:
        read_header = HEADERS[np.lib.format.read_magic(file)]
        shape, _, dtype = read_header(file)
    return max(entry.file_size, math.prod(shape) * dtype.itemsize)


@contextlib.contextmanager
def checkpoint(target: Path, *, run: Run, resume: bool) -> Iterator[Checkpoint]:
    """Open the checkpoint of a results file for one run, and remove it when the run has succeeded.

    A run that fails leaves what it has finished, and no folder where that is nothing.
    ``run`` identifies the run: files, data, seed, and what computes it. Where there is nothing to
    resume, or what is kept was computed otherwise, the run begins. StorageError where another run
    writes the same results, or what is kept is of another study, data or seed.
    """
    folder, text = name_beside(target, suffix=SUFFIX), json.dumps(dict(run))
    with _lock(target, folder):
        remove_abandoned(target)
        beginning = _compare_runs(folder, run) if resume else NOTHING_KEPT
        if beginning:
            with replace_file(folder / KEY, f"{folder}: cannot write") as temporary:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(exist_ok=True)
                temporary.write_text(text, encoding="utf-8")
        try:
            yield Checkpoint(folder, text, resumed=not beginning, beginning=beginning)
        except BaseException:
            if not any(folder.glob("*.npz")):
                shutil.rmtree(folder, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _compare_runs(folder: Path, run: Run) -> str:
    """Return why a run begins anew, empty where it goes on with what is kept.

    StorageError where what is kept is of another study, data or seed, and could be missed.
    """
    key = folder / KEY
    if not key.is_file() or key.stat().st_size > MAX_KEY_BYTES:
        return NOTHING_KEPT
    try:
        kept = json.loads(key.read_text(encoding="utf-8"))
        different = [name for name in {**kept, **run} if kept.get(name) != run.get(name)]
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return f"{key}: cannot be read: beginning"
    if others := [name for name in different if name not in COMPUTATION]:
        words = {name.removesuffix("_sha256").removesuffix("_path") for name in others}
        named = format_list(sorted({WORDS.get(word, word) for word in words}))
        raise StorageError(f"{folder}: is of a run with another {named}; run without --resume")
    named = describe_differences(kept, run)
    return f"{folder}: was computed by another {named}: beginning" if named else ""


@contextlib.contextmanager
def _lock(target: Path, folder: Path) -> Iterator[None]:
    """Keep other runs from the same results."""
    with contextlib.ExitStack() as stack:
        try:
            is_free = stack.enter_context(lock(folder.with_suffix(".lock")))
        except OSError as error:
            raise StorageError(
                f"{target}: cannot write results: {error.strerror or error}"
            ) from error
        if not is_free:
            raise StorageError(f"{target}: another run writes these results now")
        yield
