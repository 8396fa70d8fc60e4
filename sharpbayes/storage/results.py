"""Results and their provenance: one ``xarray.DataTree`` in one netCDF file."""

import json
import os
import shlex
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharpbayes.errors import SpecError, StorageError, did_you_mean_file, first_line, require_type
from sharpbayes.execution.identity import computation
from sharpbayes.execution.threads import trim_memory
from sharpbayes.spec.base import Spec
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.kinds import NO_FILE, describe_other_kind, explain_absence
from sharpbayes.storage.checksums import append_checksum, has_valid_checksum
from sharpbayes.storage.files import replace_file
from sharpbayes.storage.precision import packing
from sharpbayes.storage.schema import FILES, check_results

if TYPE_CHECKING:
    import xarray as xr

SCHEMA = "sharpbayes/results/2"
EARLIER = "sharpbayes/results/1"
REQUIRED_ATTRS = ("title", "status", "seed")
# What results of every command have, also those that are not read from a file.
COMMON_ATTRS = ("title", "status")
ENDING = ".nc"
# What a call takes.
RESULTS = "results, such as sharpbayes.open_results returns"
RESULTS_FILE = "the path of a results file"
# Texts are written as characters: netCDF would store a pointer for each text, and no copy of the
# same text of a million ratings would be compressed.
COMPRESSED = {"zlib": True, "complevel": 4, "shuffle": True}
SMALL = 1000
CHARACTERS = {"dtype": "S1"}


def provenance(files: StudyFiles, *, data: dict[str, Any], status: str) -> dict[str, Any]:
    """Return the root attributes: what was read, what computed it, and how the run ended.

    Data are the digest and the counts of the data files, as plain numbers and strings.
    """
    texts: dict[str, str] = {}
    for kind in FILES:
        file = getattr(files, kind)
        if file is not None:
            texts |= file_provenance(file, kind)
    return {
        "schema": SCHEMA,
        "title": files.study.spec.title,
        "status": status,
        "seed": files.study.spec.seed,
        "overrides": json.dumps(list(files.overrides)),
        "open_checks": json.dumps(files.study.open_checks),
        **computation(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **texts,
        **{f"data_{key}": value for key, value in data.items()},
    }


def file_provenance[T: Spec](file: SpecFile[T], kind: str) -> dict[str, str]:
    """Return the text, the digest and the path of a file of a kind, as attributes of results.

    >>> from sharpbayes.spec.load import load_weights
    >>> list(file_provenance(load_weights("sharp"), "weights"))
    ['weights', 'weights_sha256', 'weights_path']
    """
    path = str(file.path.resolve())
    return {kind: file.text, f"{kind}_sha256": file.sha256, f"{kind}_path": path}


def save_results(results: "xr.DataTree", path: str | Path) -> None:
    """Write every group to one file; variables that take room are compressed without loss.

    Args:
        results: From :func:`sharpbayes.measure`, :func:`sharpbayes.fit` or
            :func:`sharpbayes.weigh`.
        path: The file, usually ``<study>.results.nc``; one of this name is replaced.

    Raises:
        SpecError: No results, or what no file holds: a part of them, or those of the gate.
        StorageError: The file cannot be written.
    """
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    from sharpbayes.storage.writer import write_tree  # noqa: PLC0415 - `check` starts without xarray

    require_type(results, xr.DataTree, "results", RESULTS)
    require_type(path, str | os.PathLike, "path", RESULTS_FILE)
    if "schema" not in results.attrs:
        message = "found a part of results, or what no file holds, such as what the gate returns"
        raise SpecError.at("results", f"{message}; must be {RESULTS}")
    path = Path(path)
    encoding = {
        node.path: {
            str(name): _encoding(array)
            for name, array in node.to_dataset(inherit=False).variables.items()
            if name not in array.dims and array.dtype.kind in "fiuU" and array.size > SMALL
        }
        for node in results.subtree
    }
    with replace_file(path, f"{path}: cannot write results") as temporary:
        trim_memory()
        write_tree(results, temporary, encoding)
        append_checksum(temporary)


def _encoding(array: "xr.Variable") -> dict[str, Any]:
    """How a variable that takes room is written."""
    return COMPRESSED | (CHARACTERS if array.dtype.kind == "U" else packing(array))


def open_results(path: str | Path, *, whole: bool = True) -> "xr.DataTree":
    """Open a results file.

    Args:
        path: A file that ``sharpbayes fit`` or ``sharpbayes measure`` wrote.
        whole: Whether every group is read into memory; if not, each variable on its first use.

    Returns:
        The results; ``results.attrs`` holds the provenance, each child is a group.

    Raises:
        StorageError: The file does not exist, is damaged, or was written by something else.
    """
    require_type(path, str | os.PathLike, "path", RESULTS_FILE)
    path = Path(path)
    try:
        if not path.is_file():
            raise StorageError(f"{path}: {_explain_absence(path)}")
        intact = has_valid_checksum(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise StorageError(f"{path}: cannot be read: {reason}") from None
    foreign = f"{path}: not a results file of sharpbayes"
    if not intact and (other := describe_other_kind(path, "results")):
        raise StorageError(f"{path}: {other}")
    if not intact:
        raise StorageError(
            f"{foreign}, or damaged or changed by another program since it was written; run "
            "`sharpbayes measure` or `sharpbayes fit` of its study again"
        )
    try:
        results = _read(path, whole=whole)
    except UnicodeEncodeError:
        raise StorageError(f"{path}: cannot be read: its name is not UTF-8") from None
    except Exception as error:  # noqa: BLE001 - HDF5 raises many kinds for a damaged file
        raise StorageError(f"{path}: not a results file, or damaged: {first_line(error)}") from None
    schema = results.attrs.get("schema")
    if schema == EARLIER:
        raise StorageError(
            f"{path}: results of schema 1, whose names are others; their study as of today: "
            f"sharpbayes show --migrate {shlex.quote(str(path))} > study.toml"
        )
    if schema != SCHEMA:
        raise StorageError(f"{foreign} (schema is {schema!r}, must be {SCHEMA!r})")
    absent = [name for name in REQUIRED_ATTRS if name not in results.attrs]
    if absent:
        raise StorageError(f"{foreign}: no {', '.join(absent)}")
    check_results(results, path)
    results.encoding["source"] = str(path)
    return results


def file_of(results: "xr.DataTree") -> str:
    """Return the path from which results were opened, as it was given; empty where from none."""
    return str(results.encoding.get("source", ""))


def _explain_absence(path: Path) -> str:
    """Say why a name leads to no results file, and which file of the folder is near."""
    reason, folder = explain_absence(path), path.parent
    names = [file.name for file in folder.glob(f"*{ENDING}")] if folder.is_dir() else []
    return reason + did_you_mean_file(path.name, names) * (reason == NO_FILE)


def read_results(
    results: "xr.DataTree | str | Path", *, place: str, whole: bool = True
) -> "xr.DataTree":
    """Return results that a call names: a tree as it is, or what the file of a path holds.

    Raises:
        SpecError: Neither results nor a path; ``place`` names the argument.
        StorageError: The file does not exist, is damaged, or was written by something else.
    """
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    if isinstance(results, str | os.PathLike):
        return open_results(Path(results), whole=whole)
    wanted = f"{RESULTS}, or {RESULTS_FILE}"
    require_type(results, xr.DataTree, place, wanted)
    if absent := [name for name in COMMON_ATTRS if name not in results.attrs]:
        message = f"found a tree without {' and '.join(absent)}, must be {wanted}"
        raise SpecError.at(place, message)
    return results


def stored_attributes(path: Path) -> dict[str, Any]:
    """Return the root attributes of a results file; none of what is absent, damaged or another."""
    try:
        if not path.is_file() or not has_valid_checksum(path):
            return {}
        from sharpbayes.storage.reader import read_attributes  # noqa: PLC0415 - `check` starts without xarray

        return read_attributes(path)
    except Exception:  # noqa: BLE001 - HDF5 raises many kinds for a damaged file
        return {}


def earlier_study(path: Path) -> str | None:
    """Return the text of the study of a results file of schema 1; None for any other file."""
    try:
        if not path.is_file() or not has_valid_checksum(path):
            return None
        with closing(_read(path, whole=False)) as results:
            return str(results.attrs["study"]) if results.attrs["schema"] == EARLIER else None
    except Exception:  # noqa: BLE001 - HDF5 raises many kinds for a damaged file
        return None


def _read(path: Path, *, whole: bool) -> "xr.DataTree":
    """Read a file that is intact."""
    from sharpbayes.storage.reader import read_tree  # noqa: PLC0415 - `check` starts without xarray

    results = read_tree(path, whole=whole)
    if whole:
        _restore_texts(results)
    return results


def _restore_texts(results: "xr.DataTree") -> None:
    """Turn texts that were written as characters, and read as objects, into texts again."""
    for node in results.subtree:
        data = node.to_dataset(inherit=False)
        texts = {
            name: array.astype(str)
            for name, array in data.variables.items()
            if array.dtype.kind == "O" and name not in array.dims
        }
        if texts:
            node.dataset = data.assign(texts)
