"""Differences between groups: paired intervals from one bootstrap, and corrected tests."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.multiplicity import holm

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]


def contrasts(observed: xr.Dataset, resampled: xr.Dataset, *, level: float) -> xr.Dataset:
    """Compare every two groups of a grouping, stratum by stratum.

    ``difference[g, h] = T[g] - T[h]``, in every resample from the same items, so that what both
    groups share cancels. Its interval is the percentile interval of the resampled differences, and
    ``p = max(2 Phi(-|difference| / sd*), 2 min(share* <= 0, share* >= 0))``, with the standard
    deviation and the shares of the resampled differences. Holm's correction is over all pairs of
    one grouping in all strata, for each statistic by itself.

    Args:
        observed: Statistics (group, by), with the coordinate ``grouping (group)``.
        resampled: The same of every resample; (replicate, group, by).
        level: Share of the resampled differences inside an interval, in (0, 1).

    Returns:
        For each statistic ``name``: ``name``, ``name_p``, ``name_p_holm`` (group, other, by) and
        ``name_interval`` (group, other, by, bound). Missing on the diagonal, between groups of
        different groupings and where either group has no value; intervals and p values also
        where resamples do not differ.

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
    parts = {str(name): _contrast(observed[name], resampled[name], level) for name in observed}
    return xr.Dataset({f"{name}{end}": x for name, part in parts.items() for end, x in part})


def _contrast(
    observed: xr.DataArray, resampled: xr.DataArray, level: float
) -> list[tuple[str, xr.DataArray]]:
    """One statistic: its differences, their intervals and tests."""
    observed = observed.transpose("group", "by")
    resampled = resampled.transpose("replicate", "group", "by")
    grouping = observed["grouping"].to_numpy()
    square = (observed.sizes["group"],) * 2 + (observed.sizes["by"],)
    difference, p, corrected = (np.full(square, np.nan) for _ in range(3))
    interval = np.full((*square, 2), np.nan)
    for name in dict.fromkeys(grouping.tolist()):
        pairs = _pairs(np.flatnonzero(grouping == name))
        for at in range(square[2]):
            x, rows = observed.to_numpy()[:, at], resampled.to_numpy()[:, :, at]
            _fill(x, rows, pairs, level, difference[..., at], p[..., at], interval[..., at, :])
        low, high = pairs
        corrected[low, high] = corrected[high, low] = holm(p[low, high])
    labels = {name: c for name, c in observed.coords.items() if name != "grouping"}
    labels["other"] = ("other", observed["group"].to_numpy())
    dims = ("group", "other", "by")
    found = {"": difference, "_p": p, "_p_holm": corrected}
    made = [(end, xr.DataArray(x, labels, dims)) for end, x in found.items()]
    bounds = {**labels, "bound": ["lower", "upper"]}
    return [*made, ("_interval", xr.DataArray(interval, bounds, (*dims, "bound")))]


def _pairs(groups: NDArray[np.intp]) -> Pairs:
    """Positions of every two groups of a grouping, each pair once."""
    low, high = np.triu_indices(len(groups), k=1)
    return groups[low], groups[high]


def _fill(  # noqa: PLR0917 - one row of the table a pair, written in place
    observed: NDArray[np.float64],
    resampled: NDArray[np.float64],
    pairs: Pairs,
    level: float,
    difference: NDArray[np.float64],
    p: NDArray[np.float64],
    interval: NDArray[np.float64],
) -> None:
    """Write the pairs of one stratum, both ways round."""
    known = ~np.isnan(observed)
    kept = known[pairs[0]] & known[pairs[1]]
    low, high = pairs[0][kept], pairs[1][kept]
    if not low.size:
        return
    apart = observed[low] - observed[high]
    rows = xr.DataArray(resampled[:, low] - resampled[:, high], dims=("replicate", "pair"))
    bounds = percentile_interval(rows, level=level).to_numpy()
    difference[low, high], difference[high, low] = apart, -apart
    bounds[bounds[:, 0] == bounds[:, 1]] = np.nan
    interval[low, high], interval[high, low] = bounds, -bounds[:, ::-1]
    p[low, high] = p[high, low] = _p(apart, rows)


def _p(apart: NDArray[np.float64], rows: xr.DataArray) -> NDArray[np.float64]:
    """Two-sided p value of each difference; NaN where resamples do not differ.

    The normal law tells small p values from each other, which shares of resamples cannot; the
    shares hold where resamples lie askew, so that p is never below what an interval says.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - quick to start without it

    x = rows.to_numpy()
    gaps = np.isnan(x)
    made = np.maximum(len(x) - gaps.sum(axis=0), 1)
    share = 2.0 * np.minimum((x <= 0).sum(axis=0), (x >= 0).sum(axis=0)) / made
    sd = rows.std("replicate", ddof=1, skipna=bool(gaps.any())).to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        p: NDArray[np.float64] = 2.0 * ndtr(-np.abs(apart) / sd)
    return np.where(sd > 0, np.minimum(np.maximum(p, share), 1.0), np.nan)
