"""Ranks of numbers, with two rules for ties, and the lowest of them."""

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

# Numbers are equal that differ by no more than this share of either: sums of the same values in
# another order do by rounding.
EQUAL = 1e-9


def rank(
    x: xr.DataArray,
    *,
    method: Literal["average", "min"] = "average",
    descending: bool = False,
    dim: str | None = None,
) -> xr.DataArray:
    """Return the rank of each value among those along a dimension, the only one by default.

    Ranks start at 1, the smallest value or, ``descending``, the largest. Equal values have the mean
    of their ranks, or the smallest of them. A missing value has no rank and counts for none.

    >>> rank(xr.DataArray([4.0, 1.0, 4.0, np.nan], dims="model")).values
    array([2.5, 1. , 2.5, nan])
    >>> rank(xr.DataArray([0.2, 0.5, 0.5], dims="item"), method="min", descending=True).values
    array([3., 1., 1.])
    """
    dim = dim or str(x.dims[0])
    signed = -x if descending else x
    ranks: xr.DataArray = xr.apply_ufunc(
        _rank,
        signed,
        input_core_dims=[[dim]],
        output_core_dims=[[dim]],
        kwargs={"method": method},
        vectorize=True,
        output_dtypes=[float],
    )
    return ranks.transpose(*x.dims)


def _rank(x: NDArray[np.float64], *, method: str) -> NDArray[np.float64]:
    """Ranks of one list; SciPy has the same, but takes a second to import."""
    present = np.sort(x[~np.isnan(x)])
    first = np.searchsorted(present, x) + 1.0
    last = np.searchsorted(present, x, side="right")
    return np.where(np.isnan(x), np.nan, (first + last) / 2 if method == "average" else first)


def are_equal(x: xr.DataArray, y: xr.DataArray) -> xr.DataArray:
    """Return where numbers are equal up to rounding; a missing one equals none.

    >>> are_equal(xr.DataArray([0.3, 0.3, np.nan]), xr.DataArray([0.1 + 0.2, 0.31, np.nan])).values
    array([ True, False, False])
    """
    equal: xr.DataArray = abs(x - y) <= EQUAL * np.minimum(abs(x), abs(y))
    return equal


def is_lowest(x: xr.DataArray, dim: str) -> xr.DataArray:
    """Return where the lowest value along a dimension is, several times where some are equal.

    A missing value is not the lowest, so that nothing is where all are missing.

    >>> is_lowest(xr.DataArray([0.3, 0.1 + 0.2, 0.4, np.nan], dims="model"), "model").values
    array([ True,  True, False, False])
    """
    return are_equal(x, x.min(dim))
