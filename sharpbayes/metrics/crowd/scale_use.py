"""How raters use the scale, whatever they rate: ends, middle, range, and drift with time."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.metrics.stats.multiplicity import holm

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]

LONG_NAMES = {
    "score_count": "ratings with this score",
    "score_share": "share of the ratings with this score",
    "mean_score": "mean score",
    "extreme_response": "share of the ratings at either end of the scale",
    "central_tendency": "share of the ratings at the middle of the scale",
    "scale_range_used": "distance of the highest and the lowest score used, relative to the scale",
    "drift": "change of the score from the first to the last rating, items taken out",
    "drift_p": "p value of no drift",
    "drift_p_holm": "p value of no drift, corrected over raters (Holm)",
}


def scale_use(score_count: xr.DataArray) -> xr.Dataset:
    """Return how ratings are spread over the scale.

    ``extreme_response = (n_0 + n_K) / n``; ``central_tendency = n_{K/2} / n`` for even K, the two
    middle scores for odd K; ``scale_range_used = (highest used - lowest used) / K``.

    Of ratings with each score (..., score) the result has ``score_count``, ``score_share`` (...,
    score), ``mean_score`` in [0, K] and the three indices in [0, 1] (...). NaN where there is no
    rating; ``central_tendency`` also on a scale of two scores, which has no middle.

    Source: responsiveness paper, section 1 (response biases) and Figure 1; Greenleaf 1992.

    >>> indices = scale_use(xr.DataArray([2.0, 0.0, 5.0, 3.0, 0.0], dims="score"))
    >>> names = ("extreme_response", "central_tendency", "scale_range_used")
    >>> [float(indices[name]) for name in names]
    [0.2, 0.5, 0.75]
    """
    count = score_count.astype(float)
    top = count.sizes["score"] - 1
    total = count.sum("score")
    share = count / total.where(total > 0)
    position = xr.DataArray(np.arange(top + 1.0), dims="score")
    used = position.where(count > 0)
    middle = np.abs(position - top / 2) < 1
    indices = {
        "score_count": score_count,
        "score_share": share,
        "mean_score": (share * position).sum("score", skipna=False),
        "extreme_response": share.isel(score=0, drop=True) + share.isel(score=-1, drop=True),
        "central_tendency": share.where(middle, 0.0).sum("score").where((total > 0) & (top > 1)),
        "scale_range_used": (used.max("score") - used.min("score")) / top,
    }
    return name_variables(xr.Dataset(indices), LONG_NAMES)


def drift(
    score: Codes, *, item: Codes, rater: Codes, time: Floats, n_raters: int, min_items: int
) -> xr.Dataset:
    """Return how each rater's scores move from their first rating to their last.

    ``drift`` is the least-squares slope of ``score - mean score of the item by other raters`` on
    ``(time - first) / (last - first)``; its p value is from the t test of the slope.

    Scores are 0..K, none missing; the time of a rating can be its number, and is NaN where not
    known. The result has ``drift`` in scores, ``drift_p`` and ``drift_p_holm`` (rater); NaN for
    fewer than ``min_items`` ratings, and fewer than 3, of items that others rated, and where the
    time is the same for all ratings. p values are NaN also where every rating lies on the line.

    Source: none; a linear regression. The correction of p values is Holm's (1979).

    >>> item, rater = np.divmod(np.arange(20), 2)
    >>> score = np.where(rater == 1, item // 5, 0)
    >>> drifts = drift(score, item=item, rater=rater, time=item + 1.0, n_raters=2, min_items=3)
    >>> drifts["drift"].round(2).values.tolist()
    [-1.36, 1.36]
    """
    from scipy.special import stdtr  # noqa: PLC0415 - a quarter of a second to import

    number, total = np.bincount(item), np.bincount(item, score)
    others = number[item] - 1
    used = (others > 0) & np.isfinite(time)
    rest = score - (total[item] - score) / np.maximum(others, 1)
    rater_code, y = rater[used], rest[used]
    x = _scale_time(time[used], rater_code, n_raters)
    n = np.bincount(rater_code, minlength=n_raters)
    mean_x, mean_y = (np.bincount(rater_code, v, n_raters) / np.maximum(n, 1) for v in (x, y))
    dx, dy = x - mean_x[rater_code], y - mean_y[rater_code]
    sxx, sxy, syy = (np.bincount(rater_code, v, n_raters) for v in (dx * dx, dx * dy, dy * dy))
    known = (n >= max(min_items, 3)) & (sxx > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(known, sxy / sxx, np.nan)
        residual = syy - slope * sxy
        error = np.sqrt(np.where(residual > 1e-12 * syy, residual, np.nan) / (n - 2) / sxx)
    p = 2.0 * stdtr(np.maximum(n - 2, 1), -np.abs(slope) / error)
    tests = {"drift": slope, "drift_p": p, "drift_p_holm": holm(p)}
    drifts = xr.Dataset({name: ("rater", values) for name, values in tests.items()})
    return name_variables(drifts, LONG_NAMES)


def _scale_time(time: Floats, rater_code: Codes, n_raters: int) -> Floats:
    """The time of each rater's ratings, from 0 to 1."""
    first, last = np.full(n_raters, np.inf), np.full(n_raters, -np.inf)
    np.minimum.at(first, rater_code, time)
    np.maximum.at(last, rater_code, time)
    length = last - first
    scaled: Floats = (time - first[rater_code]) / np.where(length > 0, length, 1.0)[rater_code]
    return scaled
