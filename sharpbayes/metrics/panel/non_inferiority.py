"""A candidate against a reference by margins: bounds, verdict, and how often a gate errs."""

from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.comparison import verdicts
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.intervals import (
    Interval,
    symmetric_interval,
    symmetric_studentized_interval,
    upper_bounds_at,
)

NON_INFERIOR, INFERIOR, INCONCLUSIVE = "at least as safe", "not as safe", "not decided"
# An unchanged candidate should pass this often, where prompts are counted for it.
PASSING = 0.8
SIDES = ("upper", "lower")


def difference_bounds(
    difference: xr.DataArray,
    resampled: xr.DataArray,
    *,
    confidence: float,
    freedom: xr.DataArray | float,
    errors: xr.DataArray | None = None,
    error: xr.DataArray | None = None,
) -> xr.DataArray:
    """Return one-sided bounds of how much worse a candidate is, over (metric, bound).

    upper = d + r(2c - 1),  lower = d - r(1 - 2 (1 - c) / K)

    r(level) is the reach of :func:`sharpbayes.metrics.stats.intervals.symmetric_interval` over the
    resamples (replicate, metric) of the differences d (metric). Where resamples have standard
    ``errors`` (replicate, metric) and d an ``error`` (metric), it is that of
    :func:`sharpbayes.metrics.stats.intervals.symmetric_studentized_interval`. All upper bounds hold
    together with confidence c, as each does; the K lower ones by Bonferroni's correction.
    ``freedom`` is the number of prompts that carry a metric. NaN where a difference is.

    Source: Berger 1982 for the upper bounds; intervals of this program by measured coverage.

    >>> x = xr.DataArray(np.arange(101.0)[:, None], dims=("replicate", "metric"))
    >>> d = xr.DataArray([50.0], dims="metric")
    >>> difference_bounds(d, x, confidence=0.95, freedom=np.inf).values
    array([[ 5., 95.]])
    """
    interval = _difference_interval(difference, resampled, freedom, errors, error)
    upper = interval(level=2 * confidence - 1).sel(bound="upper", drop=True)
    share = (1 - confidence) / difference.sizes["metric"]
    lower = interval(level=1 - 2 * share).sel(bound="lower", drop=True)
    bounds = xr.concat([lower, upper], "bound", coords="minimal", compat="override")
    return bounds.assign_coords(bound=["lower", "upper"]).transpose(..., "bound")


def upper_difference_bounds(
    difference: xr.DataArray,
    resampled: xr.DataArray,
    error_rates: xr.DataArray,
    *,
    freedom: xr.DataArray | float,
    errors: xr.DataArray | None = None,
    error: xr.DataArray | None = None,
) -> xr.DataArray:
    """Return the upper bounds of :func:`difference_bounds` at several error rates.

    Above a half they are lower bounds: what errs in 70% of cases is what lies below in 30%. The
    result is over (error_rate, metric).

    >>> x = xr.DataArray(np.arange(101.0)[:, None], dims=("replicate", "metric"))
    >>> rates = xr.DataArray([0.05, 0.7], {"error_rate": [0.05, 0.7]}, "error_rate")
    >>> d = xr.DataArray([50.0], dims="metric")
    >>> upper_difference_bounds(d, x, rates, freedom=np.inf).values.round(6)
    array([[95.],
           [30.]])
    """
    interval = _difference_interval(difference, resampled, freedom, errors, error)
    return upper_bounds_at(interval, error_rates)


def _difference_interval(
    difference: xr.DataArray,
    resampled: xr.DataArray,
    freedom: xr.DataArray | float,
    errors: xr.DataArray | None,
    error: xr.DataArray | None,
) -> Interval:
    """The symmetric interval of a level, studentized where there are errors."""
    data = (resampled, difference)
    if errors is None or error is None:
        return partial(symmetric_interval, *data, freedom=freedom)
    return partial(symmetric_studentized_interval, *data, errors, error, freedom=freedom)


def draw_bounds(draws: xr.DataArray, *, confidence: float) -> xr.DataArray:
    """Return one-sided bounds of differences over (replicate, metric) that are posterior draws.

    They are quantiles, the lower ones corrected as those of :func:`difference_bounds`; over
    (metric, bound).

    >>> x = xr.DataArray(np.arange(101.0)[:, None], dims=("replicate", "metric"))
    >>> draw_bounds(x, confidence=0.95).values
    array([[ 5., 95.]])
    """
    error_rate = 1 - confidence
    sides = {"lower": error_rate / draws.sizes["metric"], "upper": error_rate}
    bounds = [
        central_interval(draws, level=1 - 2 * share, dim="replicate").sel(bound=side)
        for side, share in sides.items()
    ]
    return xr.concat(bounds, "bound", coords="minimal", compat="override").transpose(..., "bound")


def gate_verdict(bounds: xr.DataArray, margin: xr.DataArray) -> str:
    """Return whether a candidate is at least as safe as its reference, by margins (metric).

    ``at least as safe`` where every upper bound (metric, bound) is within its margin, ``not as
    safe`` where a lower one is beyond, else ``not decided``. A missing bound decides nothing.

    Source: non-inferiority by the limit of an interval, ICH E9, section 3.3.2.

    >>> bounds = xr.DataArray([[-0.1, 0.2]], {"bound": ["lower", "upper"]}, ("metric", "bound"))
    >>> [gate_verdict(bounds, xr.DataArray([m], dims="metric")) for m in (0.3, 0.1)]
    ['at least as safe', 'not decided']
    """
    lower, upper = (bounds.sel(bound=side, drop=True) for side in ("lower", "upper"))
    if bool((upper <= margin).all()):
        return NON_INFERIOR
    return INFERIOR if bool((lower > margin).any()) else INCONCLUSIVE


def metric_states(bounds: xr.DataArray, margin: xr.DataArray) -> xr.DataArray:
    """Return the words of :func:`gate_verdict` for each metric by itself, over (metric).

    >>> bounds = xr.DataArray([[0.1, 0.2]], {"bound": ["lower", "upper"]}, ("metric", "bound"))
    >>> metric_states(bounds, xr.DataArray([0.05], dims="metric")).values.tolist()
    ['not as safe']
    """
    lower, upper = (bounds.sel(bound=side, drop=True) for side in ("lower", "upper"))
    return verdicts(upper <= margin, lower > margin, words=(NON_INFERIOR, INFERIOR, INCONCLUSIVE))


def operating_characteristics(
    difference: xr.DataArray,
    resampled: xr.DataArray,
    bounds: xr.DataArray,
    margin: xr.DataArray,
    *,
    regression: float,
) -> xr.Dataset:
    """Return how often a gate of this design says what, for candidates of known difference.

    A candidate that differs by D would show D + e, with bounds as far away as now and e the
    resampled differences less their centre. Scenarios are ``no change`` (D = 0), ``at the margins``
    and ``regression``: D of ``regression`` margins in every metric.

    Over (scenario, outcome) ``outcome_share``; over (metric) ``power``: how often a regression of
    that size in one metric alone is not let through, and ``power_shut``: how often it is called not
    as safe. Differences and margins are over (metric), resamples over (replicate, metric).

    Source: power of a non-inferiority test by simulation from the bootstrap (Efron and Tibshirani
    1993, chapter 25).

    >>> x = xr.DataArray(np.linspace(-1.0, 1.0, 101)[:, None], dims=("replicate", "metric"))
    >>> d = xr.DataArray([0.0], dims="metric")
    >>> bounds = difference_bounds(d, x, confidence=0.9, freedom=np.inf)
    >>> table = operating_characteristics(d, x, bounds, d + 1.005, regression=2.0)
    >>> table["outcome_share"].round(1).values.tolist()
    [[0.6, 0.4, 0.0], [0.1, 0.8, 0.1], [0.0, 0.4, 0.6]]
    """
    errors = resampled - resampled.mean("replicate")
    above, below = (abs(bounds.sel(bound=side, drop=True) - difference) for side in SIDES)
    scenarios = {"no change": 0.0, "at the margins": 1.0, "regression": regression}
    shares = []
    for size in scenarios.values():
        shown = size * margin + errors
        is_open = (shown + above <= margin).all("metric")
        is_shut = (shown - below > margin).any("metric") & ~is_open
        shares.append([is_open.mean(), (~is_open & ~is_shut).mean(), is_shut.mean()])
    shown = regression * margin + errors
    labels = {"scenario": list(scenarios), "outcome": [NON_INFERIOR, INCONCLUSIVE, INFERIOR]}
    return xr.Dataset(
        {
            "outcome_share": (("scenario", "outcome"), np.array(shares, dtype=float)),
            "power": (shown + above > margin).mean("replicate"),
            "power_shut": (shown - below > margin).mean("replicate"),
        },
        labels,
    )


def prompts_needed(
    difference: xr.DataArray,
    resampled: xr.DataArray,
    bounds: xr.DataArray,
    margin: xr.DataArray,
    *,
    prompts: int,
) -> xr.Dataset:
    """Return how many prompts would decide, over (metric).

    n' = n (reach / |margin - d|)^2

    ``prompts_to_decide`` is that at the present difference d; infinite where d is the margin.
    ``prompts_to_pass`` is that with which an unchanged candidate passes in 80% of studies. Reaches
    shrink with the root of the number of prompts; both are at least 20, because fewer prompts
    decide nothing.

    >>> x = xr.DataArray(np.linspace(-1.0, 1.0, 101)[:, None], dims=("replicate", "metric"))
    >>> d = xr.DataArray([0.0], dims="metric")
    >>> bounds = difference_bounds(d, x, confidence=0.9, freedom=np.inf)
    >>> table = prompts_needed(d, x, bounds, d + 0.5, prompts=10)
    >>> table["prompts_to_decide"].values, table["prompts_to_pass"].values
    (array([26.]), array([79.]))
    """
    above, below = (abs(bounds.sel(bound=side, drop=True) - difference) for side in SIDES)
    gap = margin - difference
    reach = above.where(gap >= 0, below)
    ratio = (reach / abs(gap).where(gap != 0)).fillna(np.inf)
    pass_ratio = (above + errors_to_pass(resampled)) / margin
    return xr.Dataset(
        {
            "prompts_to_decide": np.ceil(prompts * ratio**2).clip(min=MIN_PROMPTS),
            "prompts_to_pass": np.ceil(prompts * pass_ratio**2).clip(min=MIN_PROMPTS),
        }
    )


def errors_to_pass(resampled: xr.DataArray) -> xr.DataArray:
    """Return how far above the truth 80% of differences lie at most, over (metric).

    Resamples are over (replicate, metric); NaN where none is known.

    >>> x = xr.DataArray(np.arange(101.0)[:, None], dims=("replicate", "metric"))
    >>> errors_to_pass(x).values
    array([30.])
    """
    errors = resampled - resampled.mean("replicate")
    known = errors.notnull().any("replicate")  # NumPy warns of a quantile of nothing
    spread = errors.where(known, 0.0).quantile(PASSING, "replicate").drop_vars("quantile")
    return spread.where(known)
