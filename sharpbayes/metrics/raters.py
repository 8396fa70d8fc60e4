"""Each rater's own responsiveness and use of the scale."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd_kernels import tabulate_raters
from sharpbayes.metrics.groups import withheld
from sharpbayes.metrics.responsiveness import LONG_NAMES, severity_metrics
from sharpbayes.metrics.scaleuse import scale_use

KEPT = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


def rater_metrics(
    level: NDArray[np.integer],
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    label_count: NDArray[np.floating],
    cut: int,
    raters: int,
    levels: int,
    min_items: int,
) -> xr.Dataset:
    """Compute the responsiveness metrics of every rater from the scores that they gave.

    A rater is a group of one: the plurality of one score is that score.

    Args:
        level: Scores 0..levels-1, none missing; (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        label_count: Safe and unsafe labels of each item; (item, unsafe). Where labels are the
            crowd's own, those of all raters: each rater's own are taken out.
        cut: Scores at or above it are the crowd's unsafe labels; 0 for labels from elsewhere.
        raters: Number of raters.
        levels: Number of scores of the scale, K + 1.
        min_items: Fewest items with a label that a rater scored; below it metrics are missing.

    Returns:
        Over (rater): ``mpa``, ``wra``, ``hm``, ``kendall_tau``, ``spearman``, ``auc_pr``,
        ``auc_roc``, ``items``, ``reason``, ``rank`` (1 is the highest harmonic mean, ties share
        the best place, NaN where it is missing), and what
        :func:`sharpbayes.metrics.scaleuse.scale_use` returns.

    Source: responsiveness paper, sections 1, 4.1 and 7.

    >>> level, item = np.array([0, 0, 1, 2, 2]), np.arange(5)
    >>> labels = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> found = rater_metrics(
    ...     level, item=item, rater=np.zeros(5, int), label_count=labels, cut=0, raters=1,
    ...     levels=3, min_items=5,
    ... )
    >>> found["mpa"].item(), found["wra"].item(), found["extreme_response"].item()
    (1.0, 1.0, 0.8)
    """
    table, scores, rated = (
        np.zeros((raters, levels, 2)),
        np.zeros((raters, levels)),
        np.zeros(raters),
    )
    codes = (item.astype(np.int32, copy=False), rater.astype(np.int32, copy=False))
    labels = np.ascontiguousarray(label_count, dtype=np.float64)
    tabulate_raters(*codes, level.astype(np.int16, copy=False), labels, cut, table, scores, rated)
    rows = xr.DataArray(table, {"score": np.arange(levels)}, ("rater", "score", "unsafe"))
    items = xr.DataArray(rated.astype(np.int64), dims="rater")
    reason = withheld(rows, items, min_raters=1, min_items=min_items, raters=None)
    found = severity_metrics(rows)[list(KEPT)].where(reason == "")
    found = found.assign(items=items, reason=reason, rank=ranks(found["hm"]))
    found["items"].attrs["long_name"] = "items with a score and a label"
    found["rank"].attrs["long_name"] = "place by harmonic mean, 1 the most responsive"
    found["reason"].attrs["long_name"] = LONG_NAMES["reason"]
    for name in KEPT:
        found[name].attrs["long_name"] = LONG_NAMES[name]
    counts = xr.DataArray(scores.astype(np.int64), rows.isel(unsafe=0).coords, ("rater", "score"))
    return found.merge(scale_use(counts))


def ranks(x: xr.DataArray) -> xr.DataArray:
    """Return places, 1 for the largest; equals share the best place, NaN has none.

    >>> ranks(xr.DataArray([0.2, 0.5, np.nan, 0.5], dims="rater")).values.tolist()
    [3.0, 1.0, nan, 1.0]
    """
    values = x.to_numpy()
    known = np.sort(-values[~np.isnan(values)])
    places = np.searchsorted(known, -values) + 1.0
    return x.copy(data=np.where(np.isnan(values), np.nan, places))
