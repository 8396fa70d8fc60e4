"""Means of bounded values that few units may carry."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def carrying_units(mean: xr.DataArray, error: xr.DataArray, number: xr.DataArray) -> xr.DataArray:
    """Return how many units carry a mean of values that are at least 0: as many equal ones would.

    (sum_i x_i)^2 / sum_i x_i^2 = 1 / (1 / n + (error / mean)^2)

    It is k where k of n units have the same value and all others have 0, and n where all have the
    same. ``number`` is n, ``error`` the standard error of the mean, sqrt(sum (x - mean)^2) / n. All
    are over (...), and so is the result, in [0, n]: 0 where the mean is 0, NaN where it is missing.

    Source: Kish 1965 for the effective number.

    >>> few = xr.DataArray([1.0, 1.0, 0.0, 0.0, 0.0])
    >>> round(float(carrying_units(few.mean(), few.std() / 5**0.5, xr.DataArray(5.0))), 9)
    2.0
    """
    share = 1.0 / number + (error / mean.where(mean > 0)) ** 2
    return (1.0 / share).where((mean > 0) | mean.isnull(), 0.0)


def bounded_mean_interval(
    reweighted: xr.DataArray,
    *,
    units: xr.DataArray,
    low: float,
    high: float,
    level: float,
    dim: str = "replicate",
) -> xr.DataArray:
    """Return Gaffke's interval of a mean: one unit that was not seen lies at the end of the range.

    The bounds are the quantile at (1 - level) / 2 of (1 - D) m + D ``low``, and that at
    (1 + level) / 2 of (1 - D) m + D ``high``;  D ~ Beta(1, n)

    m is the mean in a replicate of the Bayesian bootstrap, over (..., ``dim``), and n the number of
    ``units`` over (...). Where units have weights it is one by the largest share of a unit. Of
    values that are 0 or 1 these are the bounds of Clopper and Pearson. That they hold for every
    distribution within the range is conjectured; no exception is known. The result is over
    (..., bound), ``bound`` = lower, upper; NaN where a mean is missing.

    Source: Gaffke 2005; Learned-Miller and Thomas 2019. Rubin 1981 for the Bayesian bootstrap.

    >>> none = xr.DataArray([0.0, 0.0], dims="replicate")  # harm of none of 30 prompts
    >>> options = {"low": 0.0, "high": 1.0, "level": 0.9}
    >>> bounded_mean_interval(none, units=xr.DataArray(30.0), **options).values.round(3)
    array([0.   , 0.095])
    """
    bounds: xr.DataArray = xr.apply_ufunc(
        _bound_mean,
        reweighted,
        units,
        input_core_dims=[[dim], []],
        output_core_dims=[["bound"]],
        kwargs={"ends": (low, high), "error_rate": (1.0 - level) / 2},
    )
    return bounds.assign_coords(bound=["lower", "upper"]).assign_attrs(reweighted.attrs)


def _bound_mean(
    means: Floats, units: Floats, *, ends: tuple[float, float], error_rate: float
) -> Floats:
    """Bounds along a new last axis, of means over replicates along the last one."""
    low, high = ends
    units = np.broadcast_to(units, means.shape[:-1])
    lower = low + _reach_from_end(means - low, units, error_rate)
    upper = high - _reach_from_end(high - means, units, error_rate)
    return np.stack([lower, upper], axis=-1)


def _reach_from_end(distance: Floats, units: Floats, error_rate: float) -> Floats:
    """Return x such that (1 - D) d is at most x with probability ``error_rate``; d is a row.

    It is the root of: mean over a row of min(x / d, 1)^n = error_rate
    """
    from scipy.optimize.elementwise import find_root  # noqa: PLC0415 - slow to load

    rows, numbers = distance.clip(min=0.0).reshape(-1, distance.shape[-1]), units.reshape(-1)
    reach = np.where(np.isnan(rows).any(axis=1), np.nan, 0.0)
    [varied] = np.nonzero((rows > 0).all(axis=1) & (numbers > 0))

    def exceed_error_rate(x: Floats, row: NDArray[np.intp]) -> Floats:
        shares = np.minimum(x[:, None] / rows[row], 1.0) ** numbers[row, None]
        return np.asarray(shares.mean(axis=1) - error_rate)

    if varied.size:
        bracket = np.zeros(varied.size), rows[varied].max(axis=1)
        reach[varied] = find_root(exceed_error_rate, bracket, args=(varied,)).x
    return reach.reshape(units.shape)
