"""Intervals from resamples or draws."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.interval_kernels import (
    bound_bca,
    bound_studentized,
    find_quantiles,
    reach_studentized,
    tail_shares,
)
from sharpbayes.metrics.stats.labels import stack_arrays

# An interval of a smaller width, as a share of its larger bound, has none: equal resamples differ
# by their last bits.
RELATIVE_WIDTH = 1e-12
# Below it Student's quantile and the normal one are a difference of rounding errors.
MIN_LEVEL = 1e-6
# An interval of a level, which is its one named argument.
Interval = Callable[..., xr.DataArray]


def percentile_interval[Values: (xr.DataArray, xr.Dataset)](
    x: Values, *, level: float, dim: str | Sequence[str] = "replicate", skipna: bool = True
) -> Values:
    """Return the central percentile interval over resamples.

    It contains the share ``level`` of them, and has ``bound`` = lower, upper as last dimension in
    place of ``dim``, one dimension or several. Variables without ``dim`` are left out.

    Missing resamples are left out: of some prompts or items a statistic may not be defined. NaN
    where every one is missing, or without ``skipna`` where one is. Posterior draws have
    :func:`sharpbayes.metrics.stats.draws.central_interval`.

    Source: Efron 1979.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> percentile_interval(x, level=0.9).values
    array([ 5., 95.])
    """
    over = [dim] if isinstance(dim, str) else list(dim)
    if isinstance(x, xr.Dataset):
        names = [name for name in x.data_vars if set(over) <= set(x[name].dims)]
        return x[names].map(percentile_interval, level=level, dim=dim, skipna=skipna)
    return _percentiles(x, over, level=level, skipna=skipna)


def _percentiles(
    x: xr.DataArray, over: Sequence[str], *, level: float, skipna: bool
) -> xr.DataArray:
    """The percentile interval over some dimensions."""
    rest = [name for name in x.dims if name not in over]
    shape = [*(x.sizes[name] for name in rest), prod(x.sizes[name] for name in over)]
    values = x.transpose(*rest, *over).to_numpy().reshape(shape)
    bounds = find_quantiles(values, tail_shares(level), skipna=skipna)
    coords = {name: coord for name, coord in x.coords.items() if set(over).isdisjoint(coord.dims)}
    return xr.DataArray(
        bounds, {**coords, "bound": ["lower", "upper"]}, [*rest, "bound"], attrs=x.attrs
    )


def intervals_with_width(interval: xr.Dataset) -> xr.Dataset:
    """Return intervals, missing where they have no width: equal resamples show no uncertainty.

    Of a dataset those variables are taken that are over (..., bound). A width that rounding alone
    can make is none.

    >>> bounds = xr.Dataset({"mean": (("model", "bound"), [[0.5, 0.5], [0.4, 0.5]])})
    >>> intervals_with_width(bounds)["mean"].values.tolist()
    [[nan, nan], [0.4, 0.5]]
    """
    interval = interval[[name for name in interval.data_vars if "bound" in interval[name].dims]]
    return interval.where(has_width(interval))


def has_width[Values: (xr.DataArray, xr.Dataset)](interval: Values) -> Values:
    """Return whether intervals (..., bound) have a width that rounding alone cannot make.

    >>> has_width(xr.DataArray([[0.5, 0.5], [0.4, 0.5]], dims=("model", "bound"))).values
    array([False,  True])
    """
    lower, upper = (interval.isel(bound=bound, drop=True) for bound in range(2))
    return upper - lower > RELATIVE_WIDTH * np.maximum(abs(lower), abs(upper))


def is_outside(value: xr.DataArray, interval: xr.DataArray) -> xr.DataArray:
    """Return whether each value (...) lies outside of its interval (..., bound).

    A missing value lies nowhere, and a missing bound excludes nothing. A bound is missed by more
    than rounding.

    >>> interval = xr.DataArray([[0.0, 1.0], [0.0, np.nan]], dims=("model", "bound"))
    >>> is_outside(xr.DataArray([2.0, 2.0], dims="model"), interval).values.tolist()
    [True, False]
    """
    lower, upper = interval.transpose("bound", ...).drop_vars("bound", errors="ignore")
    rounding = RELATIVE_WIDTH * np.maximum(abs(lower), abs(upper))
    outside: xr.DataArray = (value < lower - rounding) | (value > upper + rounding)
    return outside


def bca_interval[Values: (xr.DataArray, xr.Dataset)](
    x: Values, observed: Values, jackknifed: Values, *, level: float, dim: str = "replicate"
) -> Values:
    """Return the bias-corrected and accelerated interval over resamples.

    Bounds are the quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 = Phi^-1 of the share of
    resamples below the observed value (ties count half), a the skewness of the jackknife over 6.

    The jackknife is from :func:`sharpbayes.metrics.stats.resampling.jackknife`, over ``dim`` too.
    The result is as for :func:`percentile_interval`; NaN where every resample lies on one side of
    the observed value, or a replicate is missing.

    Source: Efron 1987; DiCiccio and Efron 1996.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> even = xr.DataArray([-1.0, 0.0, 1.0], dims="replicate")
    >>> bca_interval(x, xr.DataArray(50.0), even, level=0.9).round(6).values
    array([ 5., 95.])
    """
    if isinstance(x, xr.Dataset):
        return xr.Dataset(
            {
                name: bca_interval(x[name], observed[name], jackknifed[name], level=level, dim=dim)
                for name in x.data_vars
                if dim in x[name].dims
            }
        )
    bounds: xr.DataArray = xr.apply_ufunc(
        bound_bca,
        x,
        observed,
        jackknifed.rename({dim: "unit"}),
        input_core_dims=[[dim], [], ["unit"]],
        output_core_dims=[["bound"]],
        kwargs={"level": level},
    )
    return bounds.assign_coords(bound=["lower", "upper"]).assign_attrs(x.attrs)


def studentized_interval(
    x: xr.DataArray,
    observed: xr.DataArray,
    errors: xr.DataArray,
    error: xr.DataArray,
    *,
    level: float,
    freedom: xr.DataArray | float = np.inf,
    dim: str = "replicate",
) -> xr.DataArray:
    """Return the studentized bootstrap interval, joined with the percentile interval.

    From T* = (x - observed) / errors, the bounds are observed - T*_{1-a/2} s and
    observed - T*_{a/2} s, or those of the percentile interval where they are farther out;
    s = f max(error, sd of x), with Student's factor f of :func:`symmetric_interval`.

    A standard error of a resample goes with each value of x over (..., ``dim``), and that of the
    observed data with each observed value. Where fewer than half of the resamples have an error
    above 0 it is the percentile interval. The result is as for :func:`percentile_interval`.

    Source: Efron 1979; Hall 1988; Davison and Hinkley 1997, section 5.2.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> one = xr.ones_like(x)
    >>> studentized_interval(x, xr.DataArray(50.0), one, one[0], level=0.9).round().values
    array([-1269.,  1369.])
    """
    bounds: xr.DataArray = xr.apply_ufunc(
        bound_studentized,
        x,
        observed,
        errors,
        error,
        student_factor(freedom, level),
        input_core_dims=[[dim], [], [dim], [], []],
        output_core_dims=[["bound"]],
        kwargs={"shares": tail_shares(level)},
    )
    return bounds.assign_coords(bound=["lower", "upper"]).assign_attrs(x.attrs)


def studentized_upper_bounds(
    x: xr.DataArray,
    observed: xr.DataArray,
    errors: xr.DataArray,
    error: xr.DataArray,
    error_rates: xr.DataArray,
    *,
    dim: str = "replicate",
) -> xr.DataArray:
    """Return upper bounds of :func:`studentized_interval` at several error rates.

    Above a half they are lower bounds: what errs in 70% of cases is what lies below in 30%. The
    result is over (error_rate, ...).

    Source: as there.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> one = xr.ones_like(x)
    >>> rates = xr.DataArray([0.05, 0.7], {"error_rate": [0.05, 0.7]}, "error_rate")
    >>> studentized_upper_bounds(x, xr.DataArray(50.0), one, one[0], rates).round().values
    array([1369., -536.])
    """
    bounds: xr.DataArray = xr.apply_ufunc(
        bound_studentized,
        x,
        observed,
        errors,
        error,
        1.0,
        input_core_dims=[[dim], [], [dim], [], []],
        output_core_dims=[["error_rate"]],
        kwargs={"shares": 1.0 - error_rates.to_numpy()},
    )
    return bounds.assign_coords(error_rate=error_rates).transpose("error_rate", ...)


def jackknife_interval(
    observed: xr.DataArray, left_out: xr.DataArray, *, level: float, dim: str = "replicate"
) -> xr.DataArray:
    """Return the interval of a statistic by the spread of its values with a unit left out.

    observed -+ t_{n-1} se,  se^2 = (n - 1) / n sum_i (left_out_i - mean)^2

    The values are from :func:`sharpbayes.metrics.stats.resampling.jackknife`, over n along ``dim``.
    The result has ``bound`` = lower, upper as last dimension; NaN where one of them is.

    Source: Tukey 1958; Efron and Stein 1981.

    >>> left_out = xr.DataArray([4.0, 3.5, 1.5], dims="replicate")  # means of two of 1, 2 and 6
    >>> jackknife_interval(xr.DataArray(3.0), left_out, level=0.9).round(3).values
    array([-1.46,  7.46])
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - quick to start without it

    number = left_out.sizes[dim]
    spread = ((left_out - left_out.mean(dim, skipna=False)) ** 2).sum(dim, skipna=False)
    margin = stdtrit(number - 1, (1 + level) / 2) * ((number - 1) / number * spread) ** 0.5
    return _reach_both_ways(observed, margin).transpose(..., "bound")


def symmetric_interval(
    x: xr.DataArray,
    observed: xr.DataArray,
    *,
    level: float,
    freedom: xr.DataArray | float,
    dim: str = "replicate",
) -> xr.DataArray:
    """Return the interval that reaches as far to either side as the percentile interval does.

    observed +- f max(upper - observed, observed - lower), f = t_freedom / z at this level

    Student's factor f widens it where few units carry the statistic: ``freedom`` is their number.
    The result is as for :func:`percentile_interval`.

    Source: Hall 1988 for symmetric intervals; the factor by measured coverage.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> symmetric_interval(x, xr.DataArray(40.0), level=0.9, freedom=np.inf).values
    array([-15.,  95.])
    """
    percentile = percentile_interval(x, level=level, dim=dim)
    reach = abs(percentile - observed).max("bound", skipna=False) * student_factor(freedom, level)
    return _reach_both_ways(observed, reach).transpose(*percentile.dims)


def symmetric_studentized_interval(
    x: xr.DataArray,
    observed: xr.DataArray,
    errors: xr.DataArray,
    error: xr.DataArray,
    *,
    level: float,
    freedom: xr.DataArray | float,
    dim: str = "replicate",
) -> xr.DataArray:
    """Return the interval that reaches as far to either side as studentized resamples do.

    observed +- f q s, with q the quantile at the level of |x - observed| / errors,
    s = max(error, sd of x), f Student's factor

    The factor is that of :func:`symmetric_interval`, whose bounds count where they are farther out.
    A standard error of a resample goes with each value of x over (..., ``dim``), and that of the
    observed data with each observed value. Where fewer than half of the resamples have an error
    above 0, it is the symmetric interval. The result is as for :func:`percentile_interval`.

    Source: Hall 1988, symmetric percentile-t.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> data = (x, xr.DataArray(50.0), xr.ones_like(x), xr.DataArray(1.0))
    >>> symmetric_studentized_interval(*data, level=0.9, freedom=np.inf).values.round()
    array([-1269.,  1369.])
    """
    plain = symmetric_interval(x, observed, level=level, freedom=freedom, dim=dim)
    reach: xr.DataArray = xr.apply_ufunc(
        reach_studentized,
        x,
        observed,
        errors,
        error,
        input_core_dims=[[dim], [], [dim], []],
        kwargs={"level": level},
    )
    reach = xr.apply_ufunc(
        np.fmax,
        reach * student_factor(freedom, level),
        plain.sel(bound="upper", drop=True) - observed,
    )
    return _reach_both_ways(observed, reach).transpose(*plain.dims)


def _reach_both_ways(observed: xr.DataArray, reach: xr.DataArray) -> xr.DataArray:
    """Return the interval that reaches as far below as above what was observed."""
    return stack_arrays([observed - reach, observed + reach], "bound", ["lower", "upper"])


def upper_bounds_at(interval: Interval, error_rates: xr.DataArray) -> xr.DataArray:
    """Return the upper bounds of an interval at error rates, over (error_rate, ...).

    Above a half they are lower bounds: what errs in 70% of cases is what lies below in 30%.
    """
    bounds = [
        interval(level=abs(1 - 2 * rate)).sel(bound="upper" if 2 * rate < 1 else "lower", drop=True)
        for rate in map(float, error_rates)
    ]
    return xr.concat(bounds, error_rates, coords="minimal", compat="override")


def student_factor(freedom: xr.DataArray | float, level: float) -> xr.DataArray:
    """Return by how much Student's quantile exceeds the normal one at a confidence level.

    >>> float(student_factor(6.0, 0.95).round(3))
    1.248
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - quick to start without it

    share = (1 + max(level, MIN_LEVEL)) / 2
    factor: xr.DataArray = xr.apply_ufunc(lambda k: stdtrit(k, share) / ndtri(share), freedom)
    return xr.DataArray(factor)
