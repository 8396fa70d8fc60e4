"""How raters use the scale, whatever they rate: ends, middle, range, and drift with time."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.multiplicity import holm

Floats = NDArray[np.float64]

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

    Args:
        score_count: Ratings with each score; (..., score).

    Returns:
        ``score_count``, ``score_share`` (..., score), ``mean_score`` in [0, K] and the three
        indices in [0, 1] (...). NaN where there is no rating; ``central_tendency`` also on a scale
        of two scores, which has no middle.

    Source: responsiveness paper, section 1 (response biases) and Figure 1; Greenleaf 1992.

    >>> found = scale_use(xr.DataArray([2.0, 0.0, 5.0, 3.0, 0.0], dims="score"))
    >>> [float(found[name]) for name in ("extreme_response", "central_tendency", "scale_range_used")]
    [0.2, 0.5, 0.75]
    """
    count = score_count.astype(float)
    top = count.sizes["score"] - 1
    total = count.sum("score")
    share = count / total.where(total > 0)
    place = xr.DataArray(np.arange(top + 1.0), dims="score")
    used = place.where(count > 0)
    middle = np.abs(place - top / 2) < 1
    found = {
        "score_count": score_count,
        "score_share": share,
        "mean_score": (share * place).sum("score", skipna=False),
        "extreme_response": share.isel(score=0, drop=True) + share.isel(score=-1, drop=True),
        "central_tendency": share.where(middle, 0.0).sum("score").where((total > 0) & (top > 1)),
        "scale_range_used": (used.max("score") - used.min("score")) / top,
    }
    return describe_variables(xr.Dataset(found))


def drift(
    score: NDArray[np.integer],
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    order: Floats,
    n_raters: int,
    min_items: int,
) -> xr.Dataset:
    """Return how each rater's scores move from their first rating to their last.

    ``drift`` is the least-squares slope of ``score - mean score of the item by other raters`` on
    ``(order - first) / (last - first)``: its p value is that of the t test of the slope.

    Args:
        score: Scores 0..K, none missing; (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        order: When each rating was made, such as its number; NaN where not known.
        n_raters: Number of raters.
        min_items: Fewest ratings of a rater, of items that others rated; at least 3 are needed.

    Returns:
        ``drift`` in scores, ``drift_p`` and ``drift_p_holm`` (rater); NaN below ``min_items`` and
        where the order is the same for all ratings. p values are NaN also where nothing is left
        over around the line.

    >>> item, rater = np.divmod(np.arange(20), 2)
    >>> score = np.where(rater == 1, item // 5, 0)
    >>> found = drift(score, item=item, rater=rater, order=item + 1.0, n_raters=2, min_items=3)
    >>> found["drift"].round(2).values.tolist()
    [-1.36, 1.36]
    """
    rest, kept = _others(score, item, order)
    who, y = rater[kept], rest[kept]
    x = _relative(order[kept], who, n_raters)
    n, mean_x, mean_y = _means(who, x, y, n_raters)
    dx, dy = x - mean_x[who], y - mean_y[who]
    sxx, sxy, syy = (np.bincount(who, v, n_raters) for v in (dx * dx, dx * dy, dy * dy))
    known = (n >= max(min_items, 3)) & (sxx > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(known, sxy / sxx, np.nan)
        left = syy - slope * sxy
        error = np.sqrt(np.where(left > 1e-12 * syy, left, np.nan) / (n - 2) / sxx)
    return describe_variables(_tested(slope, error, n - 2))


def describe_variables(found: xr.Dataset) -> xr.Dataset:
    """Return a dataset whose variables say what they are."""
    for name, text in LONG_NAMES.items():
        if name in found:
            found[name].attrs["long_name"] = text
    return found


def _others(
    score: NDArray[np.integer], item: NDArray[np.integer], order: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores less the mean of the other raters of the item, and where there are any."""
    number, total = np.bincount(item), np.bincount(item, score)
    others = number[item] - 1
    kept = (others > 0) & np.isfinite(order)
    return score - (total[item] - score) / np.maximum(others, 1), kept


def _relative(order: Floats, who: NDArray[np.integer], n_raters: int) -> Floats:
    """The order of each rater's ratings, from 0 to 1."""
    first, last = np.full(n_raters, np.inf), np.full(n_raters, -np.inf)
    np.minimum.at(first, who, order)
    np.maximum.at(last, who, order)
    length = last - first
    relative: Floats = (order - first[who]) / np.where(length > 0, length, 1.0)[who]
    return relative


def _means(
    who: NDArray[np.integer], x: Floats, y: Floats, n_raters: int
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Ratings of each rater, and means of both variables."""
    n = np.bincount(who, minlength=n_raters)
    mean_x, mean_y = (np.bincount(who, v, n_raters) / np.maximum(n, 1) for v in (x, y))
    return n, mean_x, mean_y


def _tested(slope: Floats, error: Floats, freedom: NDArray[np.intp]) -> xr.Dataset:
    """Slopes with the t test of each, corrected over raters."""
    from scipy.special import stdtr  # noqa: PLC0415 - quick to start without it

    p = 2.0 * stdtr(np.maximum(freedom, 1), -np.abs(slope) / error)
    found = {"drift": slope, "drift_p": p, "drift_p_holm": holm(p)}
    return xr.Dataset({name: ("rater", x) for name, x in found.items()})
