"""Summaries of posterior draws."""

from collections.abc import Sequence

import xarray as xr

from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.ranks import is_lowest

# Dimensions of the draws of a fit.
DRAWS = ("chain", "draw")


def central_interval[Values: (xr.DataArray, xr.Dataset)](
    draws: Values, *, level: float, dim: str | Sequence[str] = DRAWS
) -> Values:
    """Return the central interval of posterior draws, with as many draws below it as above.

    Bounds are the quantiles at (1 - level) / 2 and (1 + level) / 2 of the draws over ``dim``. The
    result has ``bound`` = lower, upper as last dimension in its place. Variables without ``dim``
    are left out.

    NaN where a draw is missing, as are the mean and the median of such draws: a number that is not
    defined in some draws has no posterior. The resamples of a bootstrap have another rule, that of
    :func:`sharpbayes.metrics.stats.intervals.percentile_interval`.

    Source: Gelman et al. 2013, Bayesian Data Analysis, section 2.3.

    >>> draws = xr.DataArray([[*range(101)]], dims=("chain", "draw"))
    >>> central_interval(draws, level=0.9).values
    array([ 5., 95.])
    >>> central_interval(draws.where(draws > 0), level=0.9).values
    array([nan, nan])
    """
    return percentile_interval(draws, level=level, dim=dim, skipna=False)


def lowest_probability(draws: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the share of draws in which each value along a dimension is lowest, in [0, 1].

    Equal values of a draw share it. A missing value is not lowest; where all are missing in a draw
    the draw does not count.

    >>> draws = xr.DataArray([[[1.0, 2.0], [1.0, 1.0]]], dims=("chain", "draw", "model"))
    >>> lowest_probability(draws, "model").values
    array([0.75, 0.25])
    """
    lowest = is_lowest(draws, dim)
    probability: xr.DataArray = (lowest / lowest.sum(dim)).mean(DRAWS)
    return probability


def lowest_alone_probability(draws: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the share of draws in which each value along a dimension is the only lowest one.

    In [0, 1], over the other dimensions and ``dim``; a missing value is not lowest. What is left to
    1 is the share of draws in which several values share the lowest one, or all are missing.

    >>> draws = xr.DataArray([[[1.0, 2.0], [1.0, 1.0]]], dims=("chain", "draw", "model"))
    >>> lowest_alone_probability(draws, "model").values
    array([0.5, 0. ])
    """
    lowest = is_lowest(draws, dim)
    probability: xr.DataArray = (lowest & (lowest.sum(dim) == 1)).mean(DRAWS)
    return probability


def tied_lowest(draws: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the lowest value of those draws in which several share it; NaN in the others.

    Over the dimensions of the draws without ``dim``.

    >>> draws = xr.DataArray([[[1.0, 2.0], [1.0, 1.0]]], dims=("chain", "draw", "model"))
    >>> tied_lowest(draws, "model").values
    array([[nan,  1.]])
    """
    return draws.min(dim).where(is_lowest(draws, dim).sum(dim) > 1)


def summarise_draws(draws: xr.Dataset, *, level: float) -> xr.Dataset:
    """Return the median, the central interval and the standard deviation of posterior draws.

    Of each variable x of numbers over (chain, draw, ...) these are ``x`` and ``x_sd`` over (...),
    and ``x_interval`` over (..., bound), in its unit; missing where a draw is, as in
    :func:`central_interval`. Other variables are left out.

    >>> draws = xr.Dataset({"cvar": (("chain", "draw"), [[1.0, 2.0, 3.0]])})
    >>> summary = summarise_draws(draws, level=0.5)
    >>> float(summary["cvar"]), summary["cvar_interval"].values
    (2.0, array([1.5, 2.5]))
    """
    names = [name for name in draws if draws[name].dtype.kind == "f"]
    numbers = draws[names].reset_coords(drop=True)
    interval, sd = central_interval(numbers, level=level), numbers.std(DRAWS, skipna=False)
    return xr.merge(
        [
            numbers.median(DRAWS, skipna=False),
            interval.rename({name: f"{name}_interval" for name in names}),
            sd.rename({name: f"{name}_sd" for name in names}),
        ]
    )
