"""Sets of units, such as prompts or items, of which two share some."""

import xarray as xr


def union_size(shared: xr.DataArray, size: xr.DataArray) -> xr.DataArray:
    """Return how many units either of two sets has: |A or B| = |A| + |B| - |A and B|.

    Numbers of ``shared`` units are over (set, other), the ``size`` of each over (set); the result
    is over (set, other), under whatever name the dimension of the sets has.

    >>> shared = xr.DataArray([[8, 5], [5, 6]], dims=("group", "other"))
    >>> union_size(shared, xr.DataArray([8, 6], dims="group")).values.tolist()
    [[8, 9], [9, 6]]
    """
    [dim] = size.dims
    return size + size.rename({dim: "other"}) - shared
