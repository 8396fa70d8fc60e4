"""Results -> one JSON document: numbers by the labels of the study."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

# Groups that a machine wants at once; the rest is in the results file.
GROUPS = ("profile", "profile_interval", "responsiveness", "diagnostics")


def document(results: xr.DataTree, *, path: Path | None = None) -> dict[str, Any]:
    """Return ``{"status", "path", group: {variable: {label: value}}}``; missing values are null."""
    groups = {name: _group(results[name].to_dataset()) for name in GROUPS if name in results}
    return {
        "title": results.attrs["title"],
        "status": results.attrs["status"],
        "seed": int(results.attrs["seed"]),
        "path": None if path is None else str(path),
        **groups,
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
