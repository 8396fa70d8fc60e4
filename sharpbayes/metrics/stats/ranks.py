"""Ranks of numbers, with two rules for ties."""

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray


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


def mean_ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; equal values have the mean of their ranks.

    No value may be missing. ``scipy.stats.rankdata`` gives the same, but takes a second to import.

    >>> mean_ranks(np.array([[4.0, 1.0, 4.0], [0.5, 0.2, 0.7]])).tolist()
    [[2.5, 1.0, 2.5], [2.0, 1.0, 3.0]]
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    places = np.arange(values.shape[-1], dtype=float)
    begins, ranks = np.ones(values.shape, bool), np.empty(values.shape)
    np.not_equal(ordered[..., 1:], ordered[..., :-1], out=begins[..., 1:])
    if begins.all():
        means = np.broadcast_to(places, values.shape)
    else:
        first = np.maximum.accumulate(np.where(begins, places, 0.0), axis=-1)
        ends = np.concatenate([begins[..., 1:], begins[..., :1]], axis=-1)
        reverse = np.where(ends, places, np.inf)[..., ::-1]
        means = (first + np.minimum.accumulate(reverse, axis=-1)[..., ::-1]) / 2.0
    np.put_along_axis(ranks, order, means + 1.0, axis=-1)
    return ranks


def _rank(x: NDArray[np.float64], *, method: str) -> NDArray[np.float64]:
    """Ranks of one list; SciPy has the same, but takes a second to import."""
    present = np.sort(x[~np.isnan(x)])
    first = np.searchsorted(present, x) + 1.0
    last = np.searchsorted(present, x, side="right")
    return np.where(np.isnan(x), np.nan, (first + last) / 2 if method == "average" else first)
