"""Results: one ``xarray.DataTree`` in one netCDF file, with its provenance; on disk and back."""

import contextlib
import glob
import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharpbayes.errors import StorageError, first_line
from sharpbayes.execution.threads import trim_memory
from sharpbayes.spec.files import StudyFiles
from sharpbayes.storage.checksums import append_checksum, has_valid_checksum

if TYPE_CHECKING:
    import xarray as xr

SCHEMA = "sharpbayes/results/1"
DRAFT = ".~"
# Deflate never makes anything smaller than this.
MOST_COMPRESSED = 1032
UNSEALED = "it does not end with the digest of its bytes"
LIBRARIES = (
    "sharpbayes",
    "numpy",
    "pandas",
    "xarray",
    "pydantic",
    "pymc",
    "pytensor",
    "nutpie",
    "arviz",
)


def provenance(files: StudyFiles, *, data: dict[str, Any], status: str) -> dict[str, Any]:
    """Return the root attributes: what was read, by which versions, and how it ended.

    Args:
        files: The study with its weights and model files.
        data: Digest and counts of the data files, as plain numbers and strings.
        status: ``measured``, ``fitted``, ``not converged`` or ``interrupted``.
    """
    texts: dict[str, str] = {}
    for kind in ("study", "weights", "model"):
        written = getattr(files, kind)
        if written is not None:
            texts |= {kind: written.text, f"{kind}_sha256": written.sha256}
            texts[f"{kind}_path"] = str(written.path.resolve())
    versions = {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}
    return {
        "schema": SCHEMA,
        "title": files.study.spec.title,
        "status": status,
        "seed": files.study.spec.seed,
        "overrides": json.dumps(list(files.overrides)),
        "versions": json.dumps(versions),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **texts,
        **{f"data_{key}": value for key, value in data.items()},
    }


# The same text of a million ratings takes a pointer and a place of its own, unless its characters
# are written, which pack.
PACKED = {"zlib": True, "complevel": 1, "shuffle": True}
AS_CHARACTERS = {"dtype": "S1"}


def save_results(results: "xr.DataTree", path: Path) -> None:
    """Write results to a temporary name in the same folder, then rename.

    A run that fails or is killed leaves a file that stood at ``path`` as it was.

    Raises:
        StorageError: The file cannot be written.
    """
    draft = path.with_name(f"{DRAFT}{path.name}.{os.getpid()}")
    try:
        _compressed(results, draft)
        append_checksum(draft)
        draft.replace(path)
    except (OSError, RuntimeError) as error:  # the HDF5 library says of a full disk no more
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{path}: cannot write results: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def temporary_files(path: Path) -> list[Path]:
    """Return what runs that were killed left of these results, and what others write now."""
    found = path.parent.glob(f"{DRAFT}{glob.escape(path.name)}.*")
    return [each for each in found if each.suffix[1:].isdecimal()]


def _refuse_decompression_bomb(results: "xr.DataTree", *, size: int) -> None:
    """Refuse variables that no file of this size holds, before memory is taken for them."""
    found = sum(array.nbytes for node in results.subtree for array in node.variables.values())
    if found > MOST_COMPRESSED * size:
        raise ValueError(f"{size} bytes say that they hold {found}")


def _compressed(results: "xr.DataTree", path: Path) -> None:
    """Write every group, what repeats compressed without loss."""
    encoding = {
        node.path: {
            name: PACKED | (AS_CHARACTERS if array.dtype.kind == "U" else {})
            for name, array in node.to_dataset(inherit=False).variables.items()
            if name not in array.dims and _repeats(array)
        }
        for node in results.subtree
    }
    trim_memory()
    results.to_netcdf(path, engine="netcdf4", encoding=encoding)


def _repeats(array: "xr.Variable") -> bool:
    """Whether the same numbers or texts come again and again; real draws are all different."""
    kinds = "iuU" if "draw" in array.dims else "fiuU"
    return array.dtype.kind in kinds and array.size > 1000  # noqa: PLR2004


def _with_texts(results: "xr.DataTree") -> None:
    """Turn texts that were written as characters, read as objects, into texts again."""
    for node in results.subtree:
        held = node.to_dataset(inherit=False)
        texts = {
            name: array.astype(str)
            for name, array in held.variables.items()
            if array.dtype.kind == "O" and name not in array.dims
        }
        if texts:
            node.dataset = held.assign(texts)


def open_results(path: str | Path, *, whole: bool = True) -> "xr.DataTree":
    """Open a results file, whole and in memory unless asked otherwise.

    Args:
        path: A file that ``sharpbayes fit`` or ``sharpbayes measure`` wrote.
        whole: Whether every group is read at once; if not, each variable on its first use.

    Returns:
        The results; ``results.attrs`` holds the provenance, each child is a group.

    Raises:
        StorageError: The file is not there, is damaged, or was written by something else.
    """
    import xarray as xr  # noqa: PLC0415 - `check` does without

    path = Path(path)
    try:
        there = path.is_file()
        intact = there and has_valid_checksum(path)
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read: {first_line(error)}") from None
    if not there:
        raise StorageError(f"{path}: no such file")
    if not intact:
        raise StorageError(f"{path}: not a results file of sharpbayes, or damaged: {UNSEALED}")
    try:
        with contextlib.ExitStack() as stack:
            results = stack.enter_context(xr.open_datatree(path, engine="h5netcdf"))
            _refuse_decompression_bomb(results, size=path.stat().st_size)
            if whole:
                _with_texts(results.load())
            else:
                stack.pop_all()
    except Exception as error:  # noqa: BLE001 - HDF5 raises many kinds for a damaged file
        raise StorageError(f"{path}: not a results file, or damaged: {first_line(error)}") from None
    found = results.attrs.get("schema")
    absent = [name for name in ("title", "status", "seed") if name not in results.attrs]
    if found == SCHEMA and absent:
        raise StorageError(f"{path}: not a results file of sharpbayes: no {', '.join(absent)}")
    if found != SCHEMA:
        raise StorageError(
            f"{path}: not a results file of sharpbayes (schema is {found!r}, must be {SCHEMA!r})"
        )
    return results
