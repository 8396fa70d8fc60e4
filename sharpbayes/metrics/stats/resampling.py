"""Paired resampling of prompts or items: the same resample for every model and group."""

from collections.abc import Callable
from typing import overload

import numpy as np
import xarray as xr

from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.panel.kernels import count_draws, count_nested

# Weights held at once by a block of resamples.
BLOCK_CELLS = 5_000_000
# Values are sorted once a block: many prompts are worth a little more memory.
FEWEST_REPLICATES = 250
# Set apart the streams of generations from those of prompts.
NESTED = 0x5851F42D
# Units, or groups of units, that the jackknife leaves out one at a time.
JACKKNIFE_GROUPS = 1000
# The number of blocks is a multiple of this, so that threads end together.
BLOCK_MULTIPLE = 2


def bootstrap_counts(
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
        >>> counts = bootstrap_counts(units, replicates=2, seed=1, dim="prompt")
        >>> counts.sum("prompt").values
        array([3, 3], dtype=uint64)
    """
    # Of n draws from n units no unit gets more than 65,535, except with a chance of 0 in practice.
    counts = np.empty((replicates, units.sizes[dim]), np.uint16)
    count_draws(seed, start, counts)
    coords = {dim: units[dim]} if dim in units.coords else {}
    labels = {"replicate": np.arange(start, start + replicates), **coords}
    return xr.DataArray(counts, labels, ("replicate", dim))


def nested_bootstrap_counts(
    counts: xr.DataArray, samples: xr.DataArray, *, seed: int
) -> xr.DataArray:
    """Return how often each repeated generation is drawn inside the units that were drawn.

    A prompt drawn c times has c times m draws with replacement among its m generations, so that a
    resample varies as prompts and generations do.

    Args:
        counts: From :func:`bootstrap_counts`, over (replicate, unit).
        samples: Labels of the generations, over one dimension.
        seed: Seed of the counts; generations have streams of their own.

    Returns:
        Counts over (replicate, unit, sample); they add up to m times the count of the unit.

    Examples:
        >>> counts = xr.DataArray([[2.0, 0.0]], {"replicate": [0]}, ("replicate", "prompt"))
        >>> drawn = nested_bootstrap_counts(counts, xr.DataArray(["a", "b"], dims="sample"), seed=1)
        >>> drawn.sum("sample").values
        array([[4., 0.]])
    """
    found = np.empty((*counts.shape, samples.size))
    start = int(counts["replicate"][0]) if counts.sizes["replicate"] else 0
    count_nested(seed ^ NESTED, start, counts.to_numpy(), found)
    dim = samples.dims[0]
    labels = {dim: samples[dim]} if dim in samples.coords else {}
    return xr.DataArray(found, {**counts.coords, **labels}, (*counts.dims, dim))


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
        block: Most replicates at once; it does not change the result.
    """
    blocks = -(-replicates // block)
    even = -(-replicates // (blocks + -blocks % BLOCK_MULTIPLE))

    def part(start: int) -> xr.Dataset:
        size = min(even, replicates - start)
        return statistic(bootstrap_counts(units, replicates=size, seed=seed, dim=dim, start=start))

    return _joined(current_map(resamples=True)(part, range(0, replicates, even)))


def jackknife(
    statistic: Callable[[xr.DataArray], xr.Dataset], units: xr.DataArray, *, dim: str, block: int
) -> xr.Dataset:
    """Return a statistic with each unit left out, or each of a thousand groups of units.

    Args:
        statistic: Function of weights over (replicate, ``dim``).
        units: Labels of the units, over ``dim``; unit i is in group i modulo the number of groups.
        dim: Dimension whose units are left out.
        block: Replicates at once; it does not change the result.

    Examples:
        >>> x = xr.DataArray([1.0, 2.0, 6.0], dims="prompt")
        >>> mean = lambda w: xr.Dataset({"mean": (w * x).sum("prompt") / w.sum("prompt")})
        >>> jackknife(mean, x, dim="prompt", block=2)["mean"].values
        array([4. , 3.5, 1.5])
    """
    n = units.sizes[dim]
    groups = min(n, JACKKNIFE_GROUPS)
    coords = {dim: units[dim]} if dim in units.coords else {}

    def part(start: int) -> xr.Dataset:
        out = np.arange(start, min(start + block, groups))
        kept = (np.arange(n) % groups)[None, :] != out[:, None]
        labels = {"replicate": out, **coords}
        return statistic(xr.DataArray(kept.astype(float), labels, ("replicate", dim)))

    return _joined([part(start) for start in range(0, groups, block)])


def _joined(parts: list[xr.Dataset]) -> xr.Dataset:
    """Blocks of replicates in one."""
    return xr.concat(
        parts,
        "replicate",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
    )


def block_size(units: int) -> int:
    """Return the number of resamples at once with which memory stays bounded.

    >>> block_size(1000), block_size(100_000)
    (5000, 250)
    """
    return max(FEWEST_REPLICATES, BLOCK_CELLS // units)


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


def intervals_with_width(interval: xr.Dataset) -> xr.Dataset:
    """Return intervals, missing where they have no width: equal resamples show no uncertainty.

    >>> bounds = xr.Dataset({"hm": (("group", "bound"), [[0.1, 0.3], [0.2, 0.2]])})
    >>> intervals_with_width(bounds)["hm"].values
    array([[0.1, 0.3],
           [nan, nan]])
    """
    return interval.where(interval.isel(bound=1, drop=True) > interval.isel(bound=0, drop=True))


@overload
def bca_interval(
    x: xr.Dataset, observed: xr.Dataset, left_out: xr.Dataset, *, level: float, dim: str = ...
) -> xr.Dataset: ...
@overload
def bca_interval(
    x: xr.DataArray, observed: xr.DataArray, left_out: xr.DataArray, *, level: float, dim: str = ...
) -> xr.DataArray: ...
def bca_interval(
    x: xr.DataArray | xr.Dataset,
    observed: xr.DataArray | xr.Dataset,
    left_out: xr.DataArray | xr.Dataset,
    *,
    level: float,
    dim: str = "replicate",
) -> xr.DataArray | xr.Dataset:
    """Return the bias-corrected and accelerated interval over resamples.

    Bounds are the quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 = Phi^-1 of the share of
    resamples below the observed value (ties count half), a the skewness of the jackknife over 6.

    Args:
        x: Replicated statistic.
        observed: The statistic of the data.
        left_out: From :func:`jackknife`, over the same ``dim``.
        level: Share of the resamples inside, in (0, 1).
        dim: Dimension of the replicates.

    Returns:
        As :func:`percentile_interval`; NaN where every resample lies on one side of the observed
        value, or a replicate is missing.

    Source: Efron 1987; DiCiccio and Efron 1996.

    Examples:
        >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
        >>> even = xr.DataArray([-1.0, 0.0, 1.0], dims="replicate")
        >>> bca_interval(x, xr.DataArray(50.0), even, level=0.9).round(6).values
        array([ 5., 95.])
    """
    if isinstance(x, xr.Dataset):
        kept = [name for name in x.data_vars if dim in x[name].dims]
        made = {
            name: bca_interval(x[name], observed[name], left_out[name], level=level, dim=dim)
            for name in kept
        }
        return xr.Dataset(made)
    bounds: xr.DataArray = xr.apply_ufunc(
        _bca,
        x,
        observed,
        left_out.rename({dim: "unit"}),
        input_core_dims=[[dim], [], ["unit"]],
        output_core_dims=[["bound"]],
        kwargs={"level": level},
    )
    return bounds.assign_coords(bound=["lower", "upper"]).assign_attrs(x.attrs)


def _bca(values: np.ndarray, observed: np.ndarray, left: np.ndarray, *, level: float) -> np.ndarray:
    """Bounds along a new last axis."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - only where it is used

    observed = np.asarray(observed)[..., None]
    ordered = np.sort(values, axis=-1)
    below = ((ordered < observed).mean(-1) + (ordered <= observed).mean(-1)) / 2
    away = left.mean(-1, keepdims=True) - left
    spread = (away**2).sum(-1)
    skew = np.divide(
        (away**3).sum(-1), 6 * spread**1.5, out=np.zeros_like(spread), where=spread > 0
    )
    z0, z = ndtri(below)[..., None], ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    with np.errstate(invalid="ignore"):  # all resamples on one side: infinite less infinite
        at = ndtr(z0 + (z0 + z) / (1 - skew[..., None] * (z0 + z)))
    at = np.where(np.isfinite(z0) & ~np.isnan(ordered[..., -1:]), at, np.nan)
    place = np.nan_to_num(at) * (ordered.shape[-1] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    first, second = (np.take_along_axis(ordered, each, -1) for each in (low, high))
    return np.where(np.isnan(at), np.nan, first + (place - low) * (second - first))


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
