"""Differences of all pairs of units."""

import xarray as xr


def pairwise_difference(x: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the difference of every two units along ``dim``, of the first less the other.

    d(a, b) = x(a) - x(b)

    Of x in any unit over (..., ``dim``) it is over (..., ``dim``, other), with the labels of
    ``dim`` on both; NaN if either value is.

    Source: none.

    >>> pairwise_difference(xr.DataArray([1.0, 4.0], {"model": ["a", "b"]}), "model").values
    array([[ 0., -3.],
           [ 3.,  0.]])
    """
    return (x - x.rename({dim: "other"})).transpose(..., dim, "other")
