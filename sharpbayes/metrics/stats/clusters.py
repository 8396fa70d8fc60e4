"""Clusters of units, such as prompts that are variants of one scenario, which are drawn together.

The cluster of each unit is the coordinate ``cluster`` of its values; without one every unit is
independent of the others.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

CLUSTER = "cluster"
# Columns of prompts that label them and do not take part in arithmetic.
PROMPT_LABELS = ("category", CLUSTER)


def cluster_coords(names: NDArray[np.str_], dim: str) -> dict[str, tuple[str, NDArray[np.str_]]]:
    """Return the coordinate that names the cluster of each unit; none where ``names`` are empty.

    >>> list(cluster_coords(np.array(["s", "s"]), "item")), cluster_coords(np.array([]), "item")
    (['cluster'], {})
    """
    return {CLUSTER: (dim, names)} if names.size else {}


def cluster_codes(units: xr.DataArray, dim: str) -> NDArray[np.intp] | None:
    """Return the number of the cluster of each unit, from 0; None where units are independent.

    >>> prompts = xr.DataArray([1.0, 2.0, 3.0], {"cluster": ("prompt", list("bab"))}, "prompt")
    >>> cluster_codes(prompts, "prompt")
    array([1, 0, 1])
    """
    if CLUSTER not in units.coords or units[CLUSTER].dims != (dim,):
        return None
    return np.unique(units[CLUSTER].to_numpy(), return_inverse=True)[1]


def index_clusters(units: xr.DataArray, dim: str) -> tuple[int, NDArray[np.intp] | slice]:
    """Return how many clusters units are drawn by, and the positions of units among these.

    Independent units are drawn by themselves, each at its own position.

    >>> index_clusters(xr.DataArray([1.0, 2.0], dims="prompt"), "prompt")
    (2, slice(None, None, None))
    """
    codes = cluster_codes(units, dim)
    return (units.sizes[dim], slice(None)) if codes is None else (int(codes.max()) + 1, codes)


def number_clusters(units: xr.DataArray, dim: str) -> NDArray[np.intp]:
    """Return the number of the cluster of each unit, from 0; its own where units are independent.

    >>> number_clusters(xr.DataArray([1.0, 2.0], dims="prompt"), "prompt")
    array([0, 1])
    """
    number, positions = index_clusters(units, dim)
    return np.arange(number)[positions]


def sum_clusters(x: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the sum of the values of each cluster along a dimension; values as they are without.

    Missing values count as 0. The dimension loses its labels.

    >>> prompts = xr.DataArray([1.0, 2.0, 3.0], {"cluster": ("prompt", list("bab"))}, "prompt")
    >>> sum_clusters(prompts, "prompt").values
    array([2., 4.])
    """
    codes = cluster_codes(x, dim)
    if codes is None:
        return x
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 1))
    values = x.fillna(0).isel({dim: order}).to_numpy()
    sums = np.add.reduceat(values, first, axis=x.get_axis_num(dim))
    labels = {name: of for name, of in x.coords.items() if dim not in of.dims}
    return xr.DataArray(sums, labels, x.dims)


def scale_errors(
    observed: xr.Dataset, resampled: xr.Dataset, errors: Mapping[str, str]
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return statistics with errors of independent units scaled to what clusters let them vary.

    error sd(x) / observed error, x a statistic in resamples of clusters

    Of observed statistics over (...) and those of resamples over (..., replicate), ``errors`` are
    the names of their standard errors. Errors stay where the observed one is 0 or missing.

    Source: the square of the factor is Kish's design effect (1965).

    >>> observed = xr.Dataset({"mean": 2.0, "mean_error": 1.0})
    >>> values = ("replicate", [0.0, 4.0])
    >>> resampled = xr.Dataset({"mean": values, "mean_error": ("replicate", [1.0, 1.5])})
    >>> scaled = scale_errors(observed, resampled, {"mean": "mean_error"})
    >>> [x["mean_error"].values.tolist() for x in scaled]
    [2.0, [2.0, 3.0]]
    """
    for name, error in errors.items():
        unscaled = observed[error]
        factor = (resampled[name].std("replicate") / unscaled.where(unscaled > 0)).fillna(1.0)
        observed = observed.assign({error: unscaled * factor})
        resampled = resampled.assign({error: resampled[error] * factor})
    return observed, resampled


def mean_clusters(x: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the mean of the values of each cluster along a dimension; values as they are without.

    Missing values are left out, and a cluster without a value is missing.

    >>> prompts = xr.DataArray([1.0, 2.0, 3.0], {"cluster": ("prompt", list("bab"))}, "prompt")
    >>> mean_clusters(prompts, "prompt").values
    array([2., 2.])
    """
    present = sum_clusters(x.notnull().astype(float), dim)
    return sum_clusters(x, dim) / present.where(present > 0)
