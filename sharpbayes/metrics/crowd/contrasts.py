"""Differences between groups: paired intervals from one bootstrap, and corrected tests."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.multiplicity import holm


def contrasts(observed: xr.Dataset, resampled: xr.Dataset, *, level: float) -> xr.Dataset:
    """Compare every two groups of a grouping, stratum by stratum.

    ``difference[g, h] = T[g] - T[h]``, in every resample from the same items, so that what both
    groups share cancels. Its interval is the percentile interval of the resampled differences, and
    ``p = max(2 Phi(-|difference| / sd*), 2 min(share* <= 0, share* >= 0))``, with the standard
    deviation and the shares of the resampled differences. Holm's correction is over all pairs of
    one grouping in all strata, for each statistic by itself.

    Statistics are over (group, by), with the coordinate ``grouping (group)``, those of resamples
    over (replicate, group, by). For each the result has ``name``, ``name_p``, ``name_p_holm``
    (group, other, by) and ``name_interval`` (group, other, by, bound). Missing on the diagonal,
    between groups of different groupings and where either group has no value; intervals and p
    values also where resamples do not differ.

    Source: responsiveness paper, section 1 (comparing groups); Efron and Tibshirani 1993, chapter
    13; Holm 1979.

    >>> coords = {"group": ["g=a", "g=b"], "grouping": ("group", ["g", "g"]), "by": ["all"]}
    >>> rng = np.random.default_rng(1)
    >>> observed = xr.DataArray([[0.6], [0.4]], coords, ("group", "by"))
    >>> noise = xr.DataArray(rng.normal(0, 0.1, (500, 2, 1)), dims=("replicate", "group", "by"))
    >>> made = {"mpa": observed}, {"mpa": observed + noise}
    >>> found = contrasts(*map(xr.Dataset, made), level=0.95).sel(by="all")
    >>> round(float(found["mpa"].sel(group="g=a", other="g=b")), 2)
    0.2
    """
    compared = {
        f"{name}{suffix}": values
        for name in observed
        for suffix, values in _contrast(observed[name], resampled[name], level).items()
    }
    return xr.Dataset(compared)


def _contrast(
    observed: xr.DataArray, resampled: xr.DataArray, level: float
) -> dict[str, xr.DataArray]:
    """Differences of one statistic, their tests and intervals, by the suffix of their name."""
    x = observed.transpose("group", "by").to_numpy()
    rows = resampled.transpose("replicate", "group", "by").to_numpy()
    grouping = observed["grouping"].to_numpy()
    shape = (len(x), *x.shape)
    difference, p, corrected = (np.full(shape, np.nan) for _ in range(3))
    interval = np.full((*shape, 2), np.nan)
    for name in dict.fromkeys(grouping.tolist()):
        groups = np.flatnonzero(grouping == name)
        first, second = (groups[positions] for positions in np.triu_indices(len(groups), k=1))
        for stratum in range(x.shape[1]):
            value, draws = x[:, stratum], rows[:, :, stratum]
            known = ~np.isnan(value[first] + value[second])
            a, b = first[known], second[known]
            if a.size:
                gap = value[a] - value[b]
                gaps = xr.DataArray(draws[:, a] - draws[:, b], dims=("replicate", "pair"))
                bounds = percentile_interval(gaps, level=level).to_numpy()
                bounds[bounds[:, 0] == bounds[:, 1]] = np.nan
                difference[a, b, stratum], difference[b, a, stratum] = gap, -gap
                interval[a, b, stratum], interval[b, a, stratum] = bounds, -bounds[:, ::-1]
                p[a, b, stratum] = p[b, a, stratum] = _p_values(gap, gaps)
        corrected[first, second] = corrected[second, first] = holm(p[first, second])
    coords = {name: coord for name, coord in observed.coords.items() if name != "grouping"}
    coords["other"] = ("other", observed["group"].to_numpy())
    dims = ("group", "other", "by")
    values = {"": difference, "_p": p, "_p_holm": corrected}
    arrays = {suffix: xr.DataArray(array, coords, dims) for suffix, array in values.items()}
    bounded = xr.DataArray(interval, {**coords, "bound": ["lower", "upper"]}, (*dims, "bound"))
    return arrays | {"_interval": bounded}


def _p_values(difference: NDArray[np.float64], resampled: xr.DataArray) -> NDArray[np.float64]:
    """Two-sided p value of each difference; NaN where resamples do not differ.

    The normal law distinguishes small p values, which shares of resamples cannot; the shares hold
    where resamples are skewed, so that p is never below what an interval says.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - a quarter of a second to import

    x = resampled.to_numpy()
    missing = np.isnan(x)
    present = np.maximum(len(x) - missing.sum(axis=0), 1)
    share = 2.0 * np.minimum((x <= 0).sum(axis=0), (x >= 0).sum(axis=0)) / present
    sd = resampled.std("replicate", ddof=1, skipna=bool(missing.any())).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        p: NDArray[np.float64] = 2.0 * ndtr(-np.abs(difference) / sd)
    return np.where(sd > 0, np.minimum(np.maximum(p, share), 1.0), np.nan)
