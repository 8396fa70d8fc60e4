"""Differences of all pairs of units."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
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


def pairs(
    labels: list[str], first: str = "model", second: str = "other"
) -> list[Mapping[str, Any]]:
    """Return every pair of labels once, each as the labels of a row."""
    return [{first: a, second: b} for a, b in combinations(labels, 2)]


def pairs_where(flag: xr.DataArray, labels: list[str] | None = None) -> list[Mapping[str, Any]]:
    """Return the pairs of models or groups that have a flag; of all unless labels are given."""
    unit = "group" if "group" in flag.dims else "model"
    units = list(flag[unit].to_numpy()) if labels is None else labels
    others = [dim for dim in flag.dims if dim not in (unit, "other")]
    by_pair = flag.any(others).sel({unit: units, "other": units}).transpose(unit, "other")
    is_flagged = by_pair.to_numpy()[np.triu_indices(len(units), 1)]
    return [pair for pair, flagged in zip(pairs(units, unit), is_flagged, strict=True) if flagged]
