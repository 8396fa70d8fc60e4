"""Paired resampling of prompts or items: the same resample for every model and group."""

from collections.abc import Callable
from typing import overload

import numpy as np
import xarray as xr

from sharpbayes.metrics.kernels import count_draws

# Weights held at once by a block of resamples.
BLOCK_CELLS = 2_000_000


def multiplicities(
    units: xr.DataArray, *, replicates: int, seed: int, dim: str, start: int = 0
) -> xr.DataArray:
    """Return how often each unit is drawn in each bootstrap resample.

    Args:
        units: Labels of the units, over ``dim``.
        replicates: Number of resamples.
        seed: Seed; every replicate has a stream of its own.
        dim: Dimension of the units.
        start: Number of the first replicate, so that work can be cut into blocks.

    Returns:
        Counts over (replicate, ``dim``); each row adds up to the number of units.

    Examples:
        >>> units = xr.DataArray(["a", "b", "c"], dims="prompt")
        >>> counts = multiplicities(units, replicates=2, seed=1, dim="prompt")
        >>> counts.sum("prompt").values
        array([3., 3.])
    """
    counts = np.empty((replicates, units.sizes[dim]))
    count_draws(seed, start, counts)
    coords = {dim: units[dim]} if dim in units.coords else {}
    labels = {"replicate": np.arange(start, start + replicates), **coords}
    return xr.DataArray(counts, labels, ("replicate", dim))


def bootstrap(
    statistic: Callable[[xr.DataArray], xr.Dataset],
    units: xr.DataArray,
    *,
    replicates: int,
    seed: int,
    dim: str,
    block: int,
) -> xr.Dataset:
    """Return a statistic of every resample, computed in blocks so that memory stays bounded.

    Args:
        statistic: Function of weights over (replicate, ``dim``).
        units: Labels of the units, over ``dim``.
        replicates: Number of resamples B.
        seed: Seed.
        dim: Dimension that is resampled.
        block: Replicates at once; it does not change the result.
    """
    parts = [
        statistic(
            multiplicities(
                units, replicates=min(block, replicates - start), seed=seed, dim=dim, start=start
            )
        )
        for start in range(0, replicates, block)
    ]
    return xr.concat(
        parts,
        "replicate",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
    )


def block_of(units: int) -> int:
    """Return the number of resamples at once with which memory stays bounded.

    >>> block_of(1000)
    2000
    """
    return max(1, BLOCK_CELLS // units)


@overload
def percentile_interval(x: xr.Dataset, *, level: float, dim: str = ...) -> xr.Dataset: ...
@overload
def percentile_interval(x: xr.DataArray, *, level: float, dim: str = ...) -> xr.DataArray: ...
def percentile_interval(
    x: xr.DataArray | xr.Dataset, *, level: float, dim: str = "replicate"
) -> xr.DataArray | xr.Dataset:
    """Return the central percentile interval over resamples or draws.

    Args:
        x: Replicated statistic.
        level: Share of the resamples inside, in (0, 1).
        dim: Dimension of the replicates; missing ones are left out.

    Returns:
        The same variables with ``bound`` = lower, upper as last dimension in place of ``dim``;
        variables without ``dim`` are left out. NaN where every replicate is missing.

    Examples:
        >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
        >>> percentile_interval(x, level=0.9).values
        array([ 5., 95.])
    """
    if isinstance(x, xr.Dataset):
        kept = [name for name in x.data_vars if dim in x[name].dims]
        return x[kept].map(lambda each: percentile_interval(each, level=level, dim=dim))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    values = np.moveaxis(x.to_numpy(), x.get_axis_num(dim), -1)
    bounds = _quantiles(values, tails)
    dims = [each for each in x.dims if each != dim]
    coords = {name: c for name, c in x.coords.items() if dim not in c.dims}
    labels = {**coords, "bound": ["lower", "upper"]}
    return xr.DataArray(bounds, labels, [*dims, "bound"], attrs=x.attrs)


def _quantiles(values: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Quantiles along the last axis, missing values left out; NaN where all are missing."""
    if not np.isnan(values).any():
        return np.moveaxis(np.quantile(values, q, axis=-1), 0, -1)
    rows = values.reshape(-1, values.shape[-1])
    found = [
        np.quantile(kept, q) if (kept := row[~np.isnan(row)]).size else np.full(len(q), np.nan)
        for row in rows
    ]
    return np.reshape(found, (*values.shape[:-1], len(q)))
