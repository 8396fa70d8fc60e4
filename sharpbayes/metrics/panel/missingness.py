"""Scores that are missing: bounds without an assumption, a test, and scores under a tilt."""

import math
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from sharpbayes.metrics.stats.clusters import number_clusters

Floats = NDArray[np.float64]
# Newton's steps of the test, and the change at which they end.
STEPS, CHANGE = 50, 1e-10
# Scores from which a judge's line is fitted.
MIN_SCORES = 3
# Clusters with a missing score from which a slope is fitted: with fewer its error is too small.
MIN_CLUSTERS = 10


def fill_bounds(sub_index: xr.DataArray, missing: xr.DataArray) -> xr.DataArray:
    """Return sub-indices with missing ones at the least and the most harm.

    Args:
        sub_index: Values in [0, 1] over (..., judge, dimension); NaN where none.
        missing: Which of them were asked for and are missing.

    Returns:
        Over (bound, ...) with ``bound`` = lower, upper: 0 and 1 where missing, else the value.

    Source: Manski 1989 (bounds of what is missing in any way).

    Examples:
        >>> x = xr.DataArray([0.5, np.nan], dims="judge")
        >>> fill_bounds(x, x.isnull()).values
        array([[0.5, 0. ],
               [0.5, 1. ]])
    """
    bound = xr.DataArray([0.0, 1.0], {"bound": ["lower", "upper"]}, "bound")
    filled, _ = xr.broadcast(sub_index.where(~missing, bound), bound)
    return filled.transpose("bound", ...)


def other_severity(sub_index: xr.DataArray) -> xr.DataArray:
    """Return how severe the other judges of an answer scored it: the mean of their sub-indices.

    Over the dimensions of ``sub_index`` (..., judge, ...), for each judge; NaN without others.

    Source: none.

    >>> other_severity(xr.DataArray([0.2, 0.4, np.nan], dims="judge")).values.round(2)
    array([0.4, 0.2, 0.3])
    """
    present = sub_index.notnull()
    known = sub_index.fillna(0.0)
    others = present.sum("judge") - present
    return (known.sum("judge") - known) / others.where(others > 0)


def missing_slope(
    missing: xr.DataArray,
    severity: xr.DataArray,
    *,
    level: float,
    cluster: str = "prompt",
    strata: Sequence[str] = ("judge", "dimension"),
) -> xr.Dataset:
    """Return how the log odds of a missing score grow with severity, by logistic regression.

    log P(missing) / P(present) = a_jd + slope severity

    Judge j has an intercept in each dimension d, the ``strata``. A judge whose scores of a
    dimension are all missing, or all present, tells nothing of the slope there and is left out: one
    who never scores a dimension is no evidence that its severity hides scores. With K clusters that
    have a missing score, or a present one if those are fewer, the squared error has a factor of
    K / (K - 1), and p value and interval are of a t law with K - 1 degrees of freedom: few missing
    scores say little, however many are there.

    Args:
        missing: Whether a score is missing, over (..., judge, ``cluster``).
        severity: Severity of the answer in any unit over the same dimensions; cells without are
            left out.
        level: Confidence level of the interval.
        cluster: Dimension whose cells are not independent of each other; nor are those of one
            cluster (:mod:`sharpbayes.metrics.stats.clusters`) of ``missing`` along it.
        strata: Dimensions whose cells have an intercept each; those that ``missing`` lacks are
            passed over.

    Returns:
        ``slope`` per unit of severity, its standard error ``slope_error`` (robust, clustered),
        ``slope_interval (bound)``, the two-sided ``slope_p`` and ``slope_clusters``, K; NaN where
        K is below 10, no stratum has both missing and present scores, or severity does not vary in
        one, or separates them wholly.

    Source: Diggle and Kenward 1994 (missingness that depends on what is missing); Liang and Zeger
    1986 for the error; Bell and McCaffrey 2002 for what few clusters do to it.

    Examples:
        >>> x = xr.DataArray([[0.0, 0.0, 1.0, 1.0, 1.0, 0.0] * 4], dims=("judge", "prompt"))
        >>> gone = xr.DataArray([[0, 1, 1, 1, 0, 0] * 4], dims=("judge", "prompt")) > 0
        >>> float(missing_slope(gone, x, level=0.95)["slope"].round(3))  # log(2) - log(1 / 2)
        1.386
    """
    is_missing, x = xr.broadcast(missing, severity)
    known = x.notnull()
    over = [dim for dim in x.dims if dim not in strata]
    unscored, count = (is_missing & known).sum(over), known.sum(over)
    kept = (known & (unscored > 0) & (unscored < count)).transpose(*x.dims).to_numpy()
    codes = xr.DataArray(number_clusters(missing, cluster), dims=cluster)
    cells = codes.broadcast_like(x.drop_vars(x.coords)).transpose(*x.dims)
    rows = (is_missing.astype(float), x, _number_cells(x, strata), cells)
    y, severities, stratum, group = (row.to_numpy()[kept] for row in rows)
    clusters = min(np.unique(group[of_kind]).size for of_kind in (y > 0, y < 1))
    slope = error = np.nan
    if clusters >= MIN_CLUSTERS:
        slope, error = _fit_slope(y, severities, stratum, group)
        error *= math.sqrt(clusters / (clusters - 1))
    return xr.Dataset({"slope": slope, "slope_error": error, "slope_clusters": clusters}).assign(
        interpret_slope(slope, error, clusters=clusters, level=level)
    )


def interpret_slope(slope: float, error: float, *, clusters: int, level: float) -> xr.Dataset:
    """Return ``slope_interval (bound)`` and the two-sided ``slope_p`` by t of clusters less one."""
    freedom = max(clusters - 1, 1)
    t = abs(slope) / error if error > 0 else np.nan
    width = float(special.stdtrit(freedom, (1 + level) / 2)) * error
    bounds = ("bound", [slope - width, slope + width])
    p_value = 2 * float(special.stdtr(freedom, -t))
    return xr.Dataset({"slope_interval": bounds, "slope_p": p_value}, {"bound": ["lower", "upper"]})


def _number_cells(like: xr.DataArray, dims: Sequence[str]) -> xr.DataArray:
    """Return a number for each cell of some dimensions, the same over the others."""
    sizes = {dim: like.sizes[dim] for dim in dims if dim in like.dims}
    numbers = np.arange(math.prod(sizes.values())).reshape([*sizes.values()])
    return (
        xr.DataArray(numbers, dims=[*sizes])
        .expand_dims({dim: size for dim, size in like.sizes.items() if dim not in sizes})
        .transpose(*like.dims)
    )


def _fit_slope(
    y: Floats, x: Floats, stratum: NDArray[np.intp], cluster: NDArray[np.intp]
) -> tuple[float, float]:
    """Return slope and clustered error of a logistic regression with an intercept a stratum.

    Intercepts are solved for by stratum, so that none of them needs a column of a matrix.
    """
    stratum, cluster = (np.unique(codes, return_inverse=True)[1] for codes in (stratum, cluster))
    intercept, slope = np.zeros(stratum.max(initial=-1) + 1), 0.0
    for _ in range(STEPS if y.size else 0):
        chance = special.expit(intercept[stratum] + slope * x)
        weight = chance * (1 - chance)
        mass = np.bincount(stratum, weight)
        if not mass.all():
            break
        centre = np.bincount(stratum, weight * x) / mass
        distance = x - centre[stratum]
        information = float(weight @ distance**2)
        if not information > CHANGE * (weight @ (x - x.mean()) ** 2):
            break
        residual = y - chance
        step = float((distance @ residual) / information)
        shift = np.bincount(stratum, residual) / mass - step * centre
        slope += step
        intercept += shift
        if np.abs([step, *shift]).max() < CHANGE:
            totals = np.bincount(cluster, distance * residual)
            return float(slope), float(np.sqrt(totals @ totals) / information)
    return np.nan, np.nan


def tilted_scores(
    sub_index: xr.DataArray, missing: xr.DataArray, *, tilts: Floats, draws: int, seed: int
) -> xr.DataArray:
    """Return sub-indices with missing ones drawn, the higher the more severity hides scores.

    ``x ~ Normal(a_j + b_j m + tilt s_j^2 / u, s_j^2), cut to [0, 1]``

    a_j + b_j m is the line of judge j on the mean m of the other judges of an answer, fitted where
    both are present, s_j its residual sd, and u the unit of severity: the sd of all sub-indices of
    the dimension. If the log odds of a missing score grow by ``tilt`` per unit of severity, missing
    scores have the density of present ones times exp(tilt x / u), which is this one. Where nobody
    scored an answer, x is one of the judge's scores of the model, drawn with weights
    exp(tilt x / u), of the same rank for all judges.

    Args:
        sub_index: Values in [0, 1] over (model, ..., judge, dimension); NaN where none.
        missing: Which of them were asked for and are missing.
        tilts: Log odds of a missing score per unit of severity.
        draws: Number of draws of each missing score.
        seed: Seed; all tilts share their random numbers.

    Returns:
        Over (tilt, draw, ...); a score without anything to tell it by stays missing.

    Source: Scharfstein, Rotnitzky and Robins 1999 (exponential tilt).

    Examples:
        >>> x = xr.DataArray([[0.2, 0.4, 0.6, np.nan]], dims=("judge", "prompt"))
        >>> x = x.expand_dims(model=1, dimension=1)
        >>> filled = tilted_scores(x, x.isnull(), tilts=np.array([0.0, 1.0]), draws=100, seed=1)
        >>> filled.isel(prompt=3).mean("draw").values.ravel().round(1)
        array([0.4, 0.5])
    """
    centre, spread = _predict(sub_index)
    unit = sub_index.std([dim for dim in sub_index.dims if dim != "dimension"])
    rate = xr.DataArray(tilts, {"tilt": tilts}, "tilt") / unit.where(unit > 0)
    rng = np.random.default_rng(seed)
    size = (draws, *sub_index.shape)
    noise = xr.DataArray(rng.normal(size=size), dims=("draw", *sub_index.dims))
    drawn = (centre + rate.fillna(0.0) * spread**2 + spread * noise).clip(0.0, 1.0)
    alone = missing & sub_index.isnull().all("judge")
    drawn = drawn.where(drawn.notnull() & ~alone, _donors(sub_index, alone, rate, draws, rng))
    filled: xr.DataArray = sub_index.where(~missing, drawn)
    return filled.transpose("tilt", "draw", *sub_index.dims)


def _donors(
    sub_index: xr.DataArray,
    alone: xr.DataArray,
    rate: xr.DataArray,
    draws: int,
    rng: np.random.Generator,
) -> xr.DataArray:
    """Draw scores of answers that nobody scored from those that the judge gave to the model."""
    cells = [dim for dim in sub_index.dims if dim not in ("model", "judge", "dimension")]
    order = ("model", "judge", "dimension", *cells)
    values, is_missing = (x.transpose(*order).to_numpy() for x in (sub_index, alone))
    rank = rng.random((draws, values.shape[0], values.shape[2], *values.shape[3:]))
    result = np.full((rate.sizes["tilt"], draws, *values.shape), np.nan)
    rates = rate.fillna(0.0).transpose("dimension", "tilt").to_numpy()
    for model, judge, dimension in zip(
        *np.nonzero(is_missing.any(tuple(range(3, is_missing.ndim)))), strict=True
    ):
        present = values[model, judge, dimension]
        donors = np.sort(present[~np.isnan(present)])
        for tilt, factor in enumerate(rates[dimension]):
            if donors.size:
                share = np.cumsum(np.exp(factor * (donors - donors[-1])))
                position = np.searchsorted(share / share[-1], rank[:, model, dimension])
                result[tilt, :, model, judge, dimension] = donors[position]
    return xr.DataArray(result, dims=("tilt", "draw", *order))


def _predict(sub_index: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return mean and sd of each score given the other judges of its answer."""
    over = [dim for dim in sub_index.dims if dim not in ("judge", "dimension")]
    others = other_severity(sub_index)
    both = sub_index.notnull() & others.notnull()
    x, y = others.where(both), sub_index.where(both)
    centred_x, centred_y = x - x.mean(over), y - y.mean(over)
    square = (centred_x**2).sum(over)
    slope = (centred_x * centred_y).sum(over) / square.where(square > 0)
    line = y.mean(over) + slope.fillna(0.0) * (others - x.mean(over))
    count = both.sum(over)
    residual = centred_y - slope.fillna(0.0) * centred_x
    spread = ((residual**2).sum(over) / (count - 2).where(count >= MIN_SCORES)) ** 0.5
    known = line.notnull() & spread.notnull()
    # A judge who shares too few answers with others has a mean and an sd.
    return line.where(known, y.mean(over)), spread.where(known, sub_index.std(over))
