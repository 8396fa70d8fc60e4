"""Results: one ``xarray.DataTree`` in one netCDF file, with its provenance; on disk and back."""

import contextlib
import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import xarray as xr

from sharpbayes.errors import StorageError, first_line
from sharpbayes.spec.load import StudyFiles

SCHEMA = "sharpbayes/results/1"
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
            texts[f"{kind}_path"] = str(written.path)
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


def save_results(results: xr.DataTree, path: Path) -> None:
    """Write results to a temporary name in the same folder, then rename.

    A run that fails or is killed leaves a file that stood at ``path`` as it was.

    Raises:
        StorageError: The file cannot be written.
    """
    draft = path.with_name(f".~{path.name}.{os.getpid()}")
    try:
        _compressed(results, draft)
        draft.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot write results: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _compressed(results: xr.DataTree, path: Path) -> None:
    """Write every group, numbers compressed without loss."""
    encoding = {
        node.path: {
            name: {"compression": "gzip", "compression_opts": 1, "shuffle": True}
            for name, array in node.data_vars.items()
            if array.dtype.kind in "fiu" and array.size > 1000  # noqa: PLR2004
        }
        for node in results.subtree
    }
    results.to_netcdf(path, engine="h5netcdf", encoding=encoding)


def open_results(path: str | Path, *, whole: bool = True) -> xr.DataTree:
    """Open a results file, whole and in memory unless asked otherwise.

    Args:
        path: A file that ``sharpbayes fit`` or ``sharpbayes measure`` wrote.
        whole: Whether every group is read at once; if not, each variable on its first use.

    Returns:
        The results; ``results.attrs`` holds the provenance, each child is a group.

    Raises:
        StorageError: The file is not there, is damaged, or was written by something else.
    """
    path = Path(path)
    if not path.is_file():
        raise StorageError(f"{path}: no such file")
    try:
        read = xr.load_datatree if whole else xr.open_datatree
        results = read(path, engine="h5netcdf")
    except Exception as error:  # noqa: BLE001 - HDF5 raises many kinds for a damaged file
        raise StorageError(f"{path}: not a results file, or damaged: {first_line(error)}") from None
    found = results.attrs.get("schema")
    if found != SCHEMA:
        raise StorageError(
            f"{path}: not a results file of sharpbayes (schema is {found!r}, must be {SCHEMA!r})"
        )
    return results
