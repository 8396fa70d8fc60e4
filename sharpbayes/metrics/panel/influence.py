"""Intervals and tests of estimates by the influence that each prompt has on them."""

import numpy as np
import xarray as xr
from scipy import special

from sharpbayes.metrics.stats.clusters import CLUSTER, sum_clusters
from sharpbayes.metrics.stats.intervals import studentized_interval
from sharpbayes.metrics.stats.labels import stack_arrays
from sharpbayes.metrics.stats.resampling import block_size, bootstrap

# A smaller error is one of rounding.
NO_WIDTH = 1e-10


def influence_interval(
    estimate: xr.DataArray,
    influence: xr.DataArray,
    *,
    level: float,
    freedom: xr.DataArray | None = None,
    dim: str = "prompt",
) -> xr.Dataset:
    """Return the standard error of an estimate, its interval, and a test of the value 0.

    error = sqrt(sum_q influence_q^2),  estimate +- t_k error,  p = 2 P(t_k > |estimate| / error)

    Args:
        estimate: Over (...), in any unit.
        influence: Share of each prompt in the error, over (..., ``dim``), as from
            :func:`ppi_mean`; that of a difference is the difference of influences. It is added up
            over the prompts of a cluster (:mod:`sharpbayes.metrics.stats.clusters`).
        level: Confidence level in (0, 1).
        freedom: Degrees of freedom k over (...); below 1 there is no interval. Default: the normal
            distribution in place of Student's t.
        dim: Dimension of the prompts.

    Returns:
        ``error`` and the two-sided ``p`` over (...), ``interval`` over (..., bound); NaN where a
        value is missing, p and the interval also where the error is 0.

    Source: central limit theorem.

    Examples:
        >>> influence = xr.DataArray([0.3, -0.4], dims="prompt")
        >>> float(influence_interval(xr.DataArray(1.0), influence, level=0.95)["error"])
        0.5
    """
    error = (sum_clusters(influence, dim) ** 2).sum(dim, skipna=False) ** 0.5
    bound = xr.DataArray([-1.0, 1.0], {"bound": ["lower", "upper"]}, "bound")
    # Equal labels show no uncertainty.
    known = error.where(error > NO_WIDTH)
    if freedom is None:
        factor: float | xr.DataArray = float(special.ndtri((1 + level) / 2))
        tail = xr.apply_ufunc(special.ndtr, -abs(estimate) / known)
    else:
        degrees = freedom.where(freedom >= 1)
        factor = xr.apply_ufunc(special.stdtrit, degrees, (1 + level) / 2)
        tail = xr.apply_ufunc(special.stdtr, degrees, -abs(estimate) / known)
    interval = (estimate + factor * known * bound).transpose(..., "bound")
    return xr.Dataset({"error": error, "interval": interval, "p": 2 * tail})


def resampled_interval(
    estimate: xr.DataArray,
    influence: xr.DataArray,
    *,
    level: float,
    freedom: xr.DataArray,
    replicates: int,
    seed: int,
    dim: str = "prompt",
) -> xr.Dataset:
    """Return :func:`influence_interval`, with an interval that allows for skewness.

    estimate* = estimate + sum_q c_q influence_q,  error*^2 = sum_q c_q influence_q^2

    c_q is how often a prompt, or its cluster, is drawn in a resample. A bound is that of Student's
    t, or that of the studentized bootstrap of these where it is farther out: of thirty prompts the
    few of a long tail decide both an estimate and its error, and an interval of t ends too early.

    Args:
        estimate: Over (...), in any unit.
        influence: Share of each prompt in the error, over (..., ``dim``).
        level: Confidence level in (0, 1).
        freedom: Degrees of freedom over (...); below 1 there is no interval.
        replicates: Number of resamples.
        seed: Seed of the resamples, which all estimates share.
        dim: Dimension of the prompts.

    Returns:
        ``error``, ``p`` and ``interval`` of :func:`influence_interval`.

    Source: Davison and Hinkley 1997, section 2.7.2 for resamples of influences, 5.2 for studentized
    intervals.

    Examples:
        >>> influence = xr.DataArray([-0.1] * 9 + [0.9], dims="prompt")
        >>> options = {"level": 0.9, "freedom": xr.DataArray(9.0)}
        >>> plain = influence_interval(xr.DataArray(1.0), influence, **options)
        >>> skewed = resampled_interval(
        ...     xr.DataArray(1.0), influence, **options, replicates=999, seed=1
        ... )
        >>> bool(skewed["interval"][1] > plain["interval"][1])
        True
    """
    of_unit = sum_clusters(influence, dim).drop_vars((dim, CLUSTER), errors="ignore")
    plain = influence_interval(estimate, of_unit, level=level, freedom=freedom, dim=dim)

    def sum_drawn(counts: xr.DataArray) -> xr.Dataset:
        weights = counts.astype(float)
        sums = {"shift": of_unit, "square": of_unit**2}
        return xr.Dataset({name: xr.dot(weights, x, dim=dim) for name, x in sums.items()})

    units = xr.DataArray(np.zeros(of_unit.sizes[dim]), dims=dim)
    block = block_size(of_unit.sizes[dim])
    drawn = bootstrap(sum_drawn, units, replicates=replicates, seed=seed, dim=dim, block=block)
    resampled, errors = estimate + drawn["shift"], drawn["square"] ** 0.5
    degrees = freedom.where(freedom >= 1)
    skewed = studentized_interval(
        resampled, estimate, errors, plain["error"], level=level, freedom=degrees
    )
    lower, upper = (
        farthest(plain["interval"].sel(bound=bound, drop=True), skewed.sel(bound=bound, drop=True))
        for farthest, bound in ((xr.ufuncs.fmin, "lower"), (xr.ufuncs.fmax, "upper"))
    )
    interval = stack_arrays([lower, upper], "bound", ["lower", "upper"])
    is_known = plain["interval"].notnull()
    return plain.assign(interval=interval.where(is_known).transpose(*is_known.dims))
