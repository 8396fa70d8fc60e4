"""What responsiveness is for: which items come first, and whom to recruit."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.raters import ranks

RECRUITING = ("mpa", "wra", "hm")


def priority(plurality: xr.DataArray, responsiveness: xr.DataArray) -> xr.DataArray:
    """Return the harm of each item as seen by responsive groups.

    ``priority[i] = sum_g HM[g] S[g, i] / (K sum_g HM[g])`` over the groups that rated item i and
    whose HM is known.

    Args:
        plurality: Scores 0..K of the groups of one grouping, -1 missing; (..., group, item), with
            the attribute ``levels`` = K + 1.
        responsiveness: Harmonic mean of MPA and WRA of each group (..., group); NaN leaves a group
            out.

    Returns:
        Harm in [0, 1] (..., item), 1 where every responsive group gave the highest score; NaN
        where no group that rated the item has a positive HM.

    Source: responsiveness paper, section 1 ("prioritizing high-impact items").

    >>> scores = xr.DataArray([[4, 0], [0, -1]], dims=("group", "item"), attrs={"levels": 5})
    >>> priority(scores, xr.DataArray([0.6, 0.2], dims="group")).round(2).values.tolist()
    [0.75, 0.0]
    """
    weight = responsiveness.fillna(0.0) * (plurality >= 0)
    total = weight.sum("group")
    seen = (weight * plurality).sum("group") / (plurality.attrs["levels"] - 1)
    harm: xr.DataArray = seen / total.where(total > 0)
    return harm


def disagreement(plurality: xr.DataArray) -> xr.DataArray:
    """Return how far apart the groups of one grouping see each item.

    Args:
        plurality: Scores 0..K, -1 missing; (..., group, item).

    Returns:
        Highest less lowest plurality score (..., item); NaN where no group rated the item.

    Source: responsiveness paper, Appendix D.

    >>> scores = xr.DataArray([[4, 0], [1, -1]], dims=("group", "item"))
    >>> disagreement(scores).values.tolist()
    [3.0, 0.0]
    """
    known = plurality.where(plurality >= 0)
    return known.max("group") - known.min("group")


def recruiting(
    found: xr.Dataset, *, score_count: xr.DataArray, target_interval_width: float
) -> xr.Dataset:
    """Rank groups by responsiveness, and say how many ratings would narrow their intervals.

    Intervals are over items and shrink with the root of their number: a width w of n items becomes
    ``target_interval_width`` at ``n (w / target_interval_width)^2`` items, each rated as often as now.

    Args:
        found: ``mpa``, ``wra``, ``hm`` (group), their ``_interval`` (group, bound) and ``items``.
        score_count: Ratings of the group with each score; (group, score).
        target_interval_width: Wanted width, upper less lower bound.

    Returns:
        Over (group): ``hm``, ``rank`` within its grouping (1 is the most responsive), ``items``,
        ``ratings``; over (metric, group): ``width``, ``additional_items``, ``additional_ratings``, both
        0 where the interval is narrow enough already, NaN where the metric is missing or its
        interval has no width.

    Source: responsiveness paper, section 1 ("improving pluralistic data collection").

    >>> bounds = xr.DataArray([[0.4, 0.6]], {"bound": ["lower", "upper"]}, ("group", "bound"))
    >>> value = xr.DataArray([0.5], {"grouping": ("group", ["g"])}, "group")
    >>> metrics = {name: value for name in RECRUITING}
    >>> intervals = {f"{name}_interval": bounds for name in RECRUITING}
    >>> found = xr.Dataset({**metrics, **intervals, "items": ("group", [100])})
    >>> counts = xr.DataArray([[150, 50]], dims=("group", "score"))
    >>> made = recruiting(found, score_count=counts, target_interval_width=0.1).sel(metric="hm")
    >>> float(made["additional_items"].item()), float(made["additional_ratings"].item())
    (300.0, 600.0)
    """
    width = widths(found)
    ratings = score_count.sum("score")
    further = additional_items(found["items"], width, target_interval_width)
    each = ratings / found["items"].where(found["items"] > 0)
    made = {
        "hm": found["hm"],
        "rank": found["hm"].groupby("grouping").map(ranks),
        "items": found["items"],
        "ratings": ratings,
        "width": width,
        "additional_items": further,
        "additional_ratings": xr.apply_ufunc(_whole, further * each - 1e-9),
    }
    return xr.Dataset(made).assign_attrs(target_interval_width=target_interval_width)


def widths(found: xr.Dataset) -> xr.DataArray:
    """Return the width of the intervals of MPA, WRA and HM (metric, ...); NaN where it is 0."""
    bounds = xr.concat([found[f"{name}_interval"] for name in RECRUITING], "metric")
    width = bounds.sel(bound="upper", drop=True) - bounds.sel(bound="lower", drop=True)
    return width.assign_coords(metric=list(RECRUITING)).where(width > 0)


def additional_items(items: xr.DataArray, width: xr.DataArray, wanted: float) -> xr.DataArray:
    """Return how many more items an interval of a wanted width takes: n ((w / wanted)^2 - 1).

    >>> float(additional_items(xr.DataArray(20), xr.DataArray(0.2), 0.1))
    60.0
    """
    # A number that is whole but for its last bits must not be rounded up.
    needed = items * ((width / wanted) ** 2 - 1) - 1e-9
    return needed.copy(data=_whole(needed.to_numpy()))


def _whole(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The next whole number, at least 0 and never -0."""
    return np.maximum(np.ceil(x), 0.0) + 0.0
