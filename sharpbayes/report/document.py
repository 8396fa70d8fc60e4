"""Results -> one JSON document: the answer, and numbers by the labels of the study."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.report.layout import as_written
from sharpbayes.report.summary import answer, failed, remarks, verdict

# Groups that a machine wants at once; the rest is in the results file.
GROUPS = ("profile", "profile_interval", "decision", "responsiveness", "diagnostics")


def document(results: xr.DataTree, *, path: Path, files: Iterable[Path] = ()) -> dict[str, Any]:
    """Return ``{"status", "answer", ..., group: {variable: {label: value}}}``.

    Args:
        results: Results of a panel or a crowd, measured or fitted.
        path: Their file.
        files: What else was written.

    Returns:
        ``answer`` and ``trust`` in the words of the terminal and the report, ``converged`` (null
        where no model was fitted), ``failed`` and ``remarks``, ``path`` of the results, ``files``
        written, and the groups; missing values are null.
    """
    with as_written(results):
        groups = {name: _group(results[name].to_dataset()) for name in GROUPS if name in results}
        fitted = "diagnostics" in results
        return {
            "title": results.attrs["title"],
            "status": results.attrs["status"],
            "seed": int(results.attrs["seed"]),
            "answer": list(answer(results)),
            "trust": verdict(results),
            "converged": bool(results["diagnostics"]["converged"]) if fitted else None,
            "failed": failed(results),
            "remarks": remarks(results),
            "path": str(path),
            "files": [str(each) for each in files],
            **groups,
        }


def found_document(
    found: xr.DataTree, group: str, *, without: str, files: Iterable[Path]
) -> dict[str, Any]:
    """Return what ``calibrate`` or ``compare`` found, less what there is one of for each unit.

    Args:
        found: Results of the command.
        group: The group that it made.
        without: Dimension whose variables stay in the results file.
        files: What was written.
    """
    data = found[group].to_dataset()
    dropped = [name for name, array in data.variables.items() if without in array.dims]
    return {
        "title": found.attrs["title"],
        "status": found.attrs["status"],
        "files": [str(each) for each in files],
        group: _group(data.drop_vars(dropped)),
    }


def _group(data: xr.Dataset) -> dict[str, Any]:
    """Nest every variable of a group by its labels."""
    return {str(name): nested(array) for name, array in data.data_vars.items()}


def nested(array: xr.DataArray) -> Any:
    """Return an array as nested dictionaries, outermost dimension first.

    >>> nested(xr.DataArray([1.5, np.nan], {"model": ["a", "b"]}, "model"))
    {'a': 1.5, 'b': None}
    """
    if array.ndim == 0:
        value = array.item()
        return None if isinstance(value, float) and np.isnan(value) else value
    dim = array.dims[0]
    labels = [str(label) for label in array[dim].to_numpy()]
    return {label: nested(array.isel({dim: at})) for at, label in enumerate(labels)}
