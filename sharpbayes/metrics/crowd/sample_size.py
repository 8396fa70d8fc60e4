"""How many more items and ratings would narrow the intervals of a crowd's metrics."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.responsiveness import metric_names
from sharpbayes.metrics.stats.ranks import rank


def sample_size(
    metrics: xr.Dataset, *, score_count: xr.DataArray, target_interval_width: float
) -> xr.Dataset:
    """Rank groups by responsiveness, and say how many ratings would narrow their intervals.

    Intervals are over items and shrink with the root of their number: a width w of n items becomes
    the target width t at ``n (w / t)^2`` items, each rated as often as now.

    Of ``mpa``, ``wra``, ``hm`` (group), their ``_interval`` (group, bound), ``items``, and ratings
    with each score (group, score) the result has, over (group), ``hm``, ``rank`` within its
    grouping (1 is the most responsive), ``items``, ``ratings``; over (metric, group), ``width``,
    ``additional_items`` and ``additional_ratings``, both 0 where the interval is narrow enough
    already, NaN where the metric is missing or its interval has no width.

    Source: responsiveness paper, section 1 ("improving pluralistic data collection").

    >>> bounds = xr.DataArray([[0.4, 0.6]], {"bound": ["lower", "upper"]}, ("group", "bound"))
    >>> value = xr.DataArray([0.5], {"grouping": ("group", ["g"])}, "group")
    >>> measured = xr.Dataset({"items": ("group", [100])})
    >>> for name in metric_names(headline=True):
    ...     measured[name], measured[f"{name}_interval"] = value, bounds
    >>> counts = xr.DataArray([[150, 50]], dims=("group", "score"))
    >>> size = sample_size(measured, score_count=counts, target_interval_width=0.1).sel(metric="hm")
    >>> float(size["additional_items"].item()), float(size["additional_ratings"].item())
    (300.0, 600.0)
    """
    items, ratings = metrics["items"], score_count.sum("score")
    width = interval_widths(metrics)
    needed = additional_items(items, width, target_interval_width=target_interval_width)
    per_item = ratings / items.where(items > 0)
    ranks = metrics["hm"].groupby("grouping").map(rank, method="min", descending=True)
    size = {
        "hm": metrics["hm"],
        "rank": ranks,
        "items": items,
        "ratings": ratings,
        "width": width,
        "additional_items": needed,
        "additional_ratings": xr.apply_ufunc(_round_up, needed * per_item),
    }
    return xr.Dataset(size).assign_attrs(target_interval_width=target_interval_width)


def interval_widths(metrics: xr.Dataset) -> xr.DataArray:
    """Return the widths of intervals of the headline metrics (metric, ...); NaN where 0."""
    names = metric_names(headline=True)
    bounds = xr.concat([metrics[f"{name}_interval"] for name in names], "metric")
    width = bounds.sel(bound="upper", drop=True) - bounds.sel(bound="lower", drop=True)
    return width.assign_coords(metric=names).where(width > 0)


def additional_items(
    items: xr.DataArray, width: xr.DataArray, *, target_interval_width: float
) -> xr.DataArray:
    """Return how many more items bring an interval to a target width t: n ((w / t)^2 - 1).

    Of the number n of items and the width w over the same dimensions it is rounded up, 0 where the
    interval is narrow enough already; NaN where the width is.

    Source: widths of intervals shrink as 1 / sqrt(n).

    >>> float(additional_items(xr.DataArray(20), xr.DataArray(0.2), target_interval_width=0.1))
    60.0
    """
    needed = items * ((width / target_interval_width) ** 2 - 1)
    return needed.copy(data=_round_up(needed.to_numpy()))


def _round_up(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The next whole number, at least 0 and never -0; rounding errors are not rounded up."""
    return np.maximum(np.ceil(x - 1e-9), 0.0) + 0.0
