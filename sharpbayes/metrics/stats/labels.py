"""Labels that are compared once and left out of the arithmetic.

Every operation of xarray compares labels, which takes as long as all else where data are small.
"""

from collections.abc import Hashable, Mapping

import xarray as xr


def without_labels[Data: (xr.Dataset, xr.DataArray)](data: Data) -> Data:
    """Return data without coordinates.

    >>> list(without_labels(xr.DataArray([1.0], {"prompt": ["a"]})).coords)
    []
    """
    return data.drop_vars(list(data.coords))


def attach_labels(result: xr.Dataset, labels: Mapping[Hashable, xr.DataArray]) -> xr.Dataset:
    """Return a result with the coordinates whose dimensions it has.

    >>> labels = xr.DataArray([[1.0]], {"model": ["m"], "prompt": ["p"]}).coords
    >>> list(attach_labels(xr.Dataset({"mean": ("model", [1.0])}), labels).coords)
    ['model']
    """
    return result.assign_coords(
        {name: label for name, label in labels.items() if {*label.dims} <= {*result.dims}}
    )
