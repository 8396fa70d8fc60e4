"""Agreement inside a group and across it on the same mix of items.

IRR weighs an item by the ratings of the group, XRR by all of its ratings. Where groups rated items
in different proportions, the two are about different mixes of items, and their ratio differs from 1
for equal raters too.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.cohesion import Codes, Distance, agreement_measures
from sharpbayes.metrics.crowd.sides import Sides
from sharpbayes.metrics.stats.metric import name_variables

Floats = NDArray[np.float64]
LONG_NAMES = {
    "gai_matched": "gai of the same mix of items inside the group and across it",
    "gai_matched_interval": "interval of gai_matched, as wide relative to it as that of gai",
}


def gai_matched(
    score: Codes,
    *,
    item: Codes,
    rater: Codes,
    membership: xr.DataArray,
    n_scores: int,
    distance: Distance,
) -> xr.Dataset:
    """Return GAI of every group with each item weighted alike in IRR and XRR.

    It is GAI of the counts of :func:`match_items`, and equal to GAI where every item has as many
    ratings of the group as any other, and as many of everyone else.

    Ratings, scores and the distance are those of
    :func:`~sharpbayes.metrics.crowd.cohesion.pair_counts`; ``membership`` says which rater belongs
    to which group, bool (group, rater) with the coordinate ``grouping``. The result has
    ``gai_matched`` (group,), above 0. It is NaN where IRR or XRR of these items is not positive, or
    no item has two ratings inside the group and one outside.

    Source: responsiveness paper, Appendix B, with other weights of items.

    >>> from sharpbayes.metrics.crowd.groups import assign_groups
    >>> rng = np.random.default_rng(1)
    >>> item, rater = np.divmod(np.arange(400), 10)
    >>> score = (rng.random(40)[item] + 0.3 * rng.random(400) > 0.6).astype(int)
    >>> membership = assign_groups({"g": np.repeat(["a", "b"], 5)}, [["g"]], n_raters=10)
    >>> matched = gai_matched(score, item=item, rater=rater, membership=membership, n_scores=2,
    ...                       distance="nominal")
    >>> matched["gai_matched"].sel(group="g=a").round(2).item()
    0.99
    """
    ratings, n_items = (score, item, rater), int(item.max(initial=-1)) + 1
    values = []
    for member in membership.transpose("group", "rater").to_numpy():
        sides = Sides(*ratings, member, n_scores=n_scores, n_items=n_items, cluster=None)
        measures = agreement_measures(match_items(*sides.counts), distance=distance)
        values.append(float(measures["gai"]))
    groups = {"group": membership["group"].astype(str).to_numpy()}
    return xr.Dataset({"gai_matched": ("group", values)}, groups)


def match_items(x: Floats, y: Floats) -> xr.Dataset:
    """Return counts of pairs of scores in which an item has one weight inside and across.

    With m ratings of item i inside the group and n outside, x_c and y_c of them with score c, and
    the weight ``w = m + n`` of items with m >= 2 and n >= 1: ``within[c, k] = sum_i w x_c (x_k - [c
    = k]) / (m (m - 1))`` and ``cross[c, k] = sum_i w x_c y_k / (m n)``; ``inside`` and ``outside``
    are the margins of ``cross``. Each is scaled to the number of ratings that it is about: those of
    the group, or of the others for ``outside``.

    ``x`` and ``y`` are (item, score). The result has ``within`` and ``cross`` (score, other),
    ``inside`` and ``outside`` (score,), as
    :func:`~sharpbayes.metrics.crowd.cohesion.agreement_measures` takes them.

    >>> pairs = match_items(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> pairs["within"].round(2).values.tolist()
    [[1.71, 1.14], [1.14, 0.0]]
    >>> pairs["inside"].round(2).values.tolist()
    [2.86, 1.14]
    """
    used = (x.sum(axis=1) > 1) & (y.sum(axis=1) > 0)
    x, y = x[used], y[used]
    m, n = x.sum(axis=1), y.sum(axis=1)
    of_pair = x * ((m + n) / (m * (m - 1)))[:, None]
    within = _scale_counts(of_pair.T @ x - np.diag(of_pair.sum(axis=0)), m.sum())
    cross = _scale_counts((x * ((m + n) / (m * n))[:, None]).T @ y, m.sum())
    counts = {
        "within": (("score", "other"), within),
        "cross": (("score", "other"), cross),
        "inside": ("score", cross.sum(axis=1)),
        "outside": ("score", _scale_counts(cross.sum(axis=0), n.sum())),
    }
    return xr.Dataset(counts)


def match_intervals(table: xr.Dataset) -> xr.Dataset:
    """Return cohesion with the interval of ``gai_matched``: that of GAI times their ratio.

    ``table`` has ``gai``, ``gai_interval`` and ``gai_matched``. ``gai_matched`` becomes missing
    where GAI is.

    >>> table = xr.Dataset({"gai": 0.5, "gai_interval": ("bound", [0.4, 0.6]), "gai_matched": 1.0})
    >>> match_intervals(table)["gai_matched_interval"].values.tolist()
    [0.8, 1.2]
    """
    table["gai_matched"] = table["gai_matched"].where(table["gai"].notnull())
    interval = table["gai_interval"] * (table["gai_matched"] / table["gai"])
    return name_variables(table.assign(gai_matched_interval=interval), LONG_NAMES)


def is_by_items(table: xr.Dataset) -> xr.DataArray:
    """Return where a GAI unlike 1 is one of the items that were rated, not of how they were rated.

    That is where ``gai_matched`` is outside the interval of GAI, and its own contains 1 or lies on
    its other side. Bool, of cohesion with ``gai``, ``gai_interval``, ``gai_matched`` and
    ``gai_matched_interval``; False without an interval, as in results of earlier versions.

    >>> table = xr.Dataset({"gai": 0.5, "gai_interval": ("bound", [0.4, 0.6]), "gai_matched": 1.0})
    >>> bool(is_by_items(match_intervals(table)))
    True
    """
    if not {"gai_interval", "gai_matched_interval"} <= {*table.data_vars}:
        return xr.zeros_like(table["gai"], dtype=bool)
    interval, matched = table["gai_interval"], table["gai_matched"]
    outside = (matched < interval.min("bound")) | (matched > interval.max("bound"))
    bounds, is_above = table["gai_matched_interval"], table["gai"] > 1
    stays = (is_above & (bounds.min("bound") > 1)) | (~is_above & (bounds.max("bound") < 1))
    return outside & ~stays


def _scale_counts(counts: Floats, total: float) -> Floats:
    """Counts that add up to a total; those of no item stay 0."""
    return counts * (total / max(float(counts.sum()), 1.0))
