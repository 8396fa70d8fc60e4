"""Bounds of intervals along the last axis of arrays of resamples."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A standard error of a resample below this share of the spread of resamples is none.
RELATIVE_ERROR = 1e-9


def tail_shares(level: float) -> Floats:
    """The shares below both bounds."""
    return np.array([(1 - level) / 2, (1 + level) / 2])


def bound_studentized(
    values: Floats,
    observed: Floats,
    errors: Floats,
    error: Floats,
    factor: Floats,
    *,
    shares: Floats,
) -> Floats:
    """Bounds along a new last axis, below which the truth is with these shares of certainty."""
    observed, error, factor = (np.asarray(x)[..., None] for x in (observed, error, factor))
    percentile = find_quantiles(values, shares)
    ratios, sd, is_known = _studentize(values, observed, errors)
    bounds = observed - find_quantiles(ratios, 1.0 - shares) * factor * np.fmax(error, sd)
    is_upper = shares > 0.5  # noqa: PLR2004
    joined = np.where(is_upper, np.fmax(bounds, percentile), np.fmin(bounds, percentile))
    return np.where(is_known, joined, percentile)


def reach_studentized(
    values: Floats, observed: Floats, errors: Floats, error: Floats, *, level: float
) -> Floats:
    """How far a studentized interval reaches to either side; NaN without enough errors."""
    ratios, sd, is_known = _studentize(values, observed[..., None], errors)
    ratio = find_quantiles(np.abs(ratios), np.array([level]))
    reach = ratio * np.fmax(error[..., None], sd)
    return np.asarray(np.where(is_known, reach, np.nan)[..., 0])


def _studentize(
    values: Floats, observed: Floats, errors: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Deviations in units of their errors, NaN without one; their sd; whether half have one."""
    sd = _standard_deviation(values)
    usable = errors > RELATIVE_ERROR * sd
    ratios = np.full(values.shape, np.nan)
    np.divide(values - observed, errors, out=ratios, where=usable)
    return ratios, sd, usable.mean(-1, keepdims=True) >= 0.5  # noqa: PLR2004


def _standard_deviation(values: Floats) -> Floats:
    """Standard deviation along the last axis, which stays; missing values are left out."""
    present = ~np.isnan(values)
    count = np.maximum(present.sum(-1, keepdims=True), 1)
    mean = np.where(present, values, 0.0).sum(-1, keepdims=True) / count
    square = np.where(present, values - mean, 0.0) ** 2
    return np.asarray(np.sqrt(square.sum(-1, keepdims=True) / np.maximum(count - 1, 1)))


def bound_bca(values: Floats, observed: Floats, jackknifed: Floats, *, level: float) -> Floats:
    """Bounds along a new last axis."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - quick to start without it

    observed = np.asarray(observed)[..., None]
    ordered = np.sort(values, axis=-1)
    below = ((ordered < observed).mean(-1) + (ordered <= observed).mean(-1)) / 2
    deviation = jackknifed.mean(-1, keepdims=True) - jackknifed
    spread = (deviation**2).sum(-1)
    skew = np.divide(
        (deviation**3).sum(-1), 6 * spread**1.5, out=np.zeros_like(spread), where=spread > 0
    )
    z0, z = ndtri(below)[..., None], ndtri(tail_shares(level))
    with np.errstate(invalid="ignore"):  # all resamples on one side: infinite less infinite
        share = ndtr(z0 + (z0 + z) / (1 - skew[..., None] * (z0 + z)))
    share = np.where(np.isfinite(z0) & ~np.isnan(ordered[..., -1:]), share, np.nan)
    position = np.nan_to_num(share) * (ordered.shape[-1] - 1)
    low = np.floor(position).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    first, second = (np.take_along_axis(ordered, index, -1) for index in (low, high))
    return np.where(np.isnan(share), np.nan, first + (position - low) * (second - first))


def find_quantiles(values: Floats, q: Floats, *, skipna: bool = True) -> Floats:
    """Quantiles along the last axis, missing values left out by default; NaN where all are missing.

    NumPy's ``nanquantile`` gives the same numbers, but warns of rows without a value.
    """
    if not skipna or not np.isnan(values).any():
        return np.moveaxis(np.quantile(values, q, axis=-1), 0, -1)
    rows = np.sort(values.reshape(-1, values.shape[-1]))  # missing values are last
    present = np.count_nonzero(~np.isnan(rows), axis=-1)
    bounds = np.full((len(rows), len(q)), np.nan)
    # Most rows have as many values as others, and are done with these.
    for number in np.unique(present[present > 0]):
        alike = present == number
        bounds[alike] = np.quantile(rows[alike, :number], q, axis=-1).T
    return bounds.reshape(*values.shape[:-1], len(q))
