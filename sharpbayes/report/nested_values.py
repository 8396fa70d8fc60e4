"""Arrays as dictionaries by their labels, which JSON can hold."""

from typing import Any

import numpy as np
import xarray as xr


def nested(array: xr.DataArray) -> Any:
    """Return an array as nested dictionaries, outermost dimension first.

    Values that are missing or infinite, which JSON has no word for, are None.

    >>> nested(xr.DataArray([1.5, np.nan, np.inf], {"model": ["a", "b", "c"]}, "model"))
    {'a': 1.5, 'b': None, 'c': None}
    """
    if array.ndim == 0:
        value = array.item()
        return None if isinstance(value, float) and not np.isfinite(value) else value
    labels = [str(label) for label in array[array.dims[0]].to_numpy()]
    return {label: nested(part) for label, part in zip(labels, array, strict=True)}
