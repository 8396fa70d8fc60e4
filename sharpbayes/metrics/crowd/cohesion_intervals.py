"""Intervals of cohesion over items and raters, from derivatives by what each of them adds.

IRR and XRR are functions of counts of pairs of scores, which are sums over items. Derivatives by
these counts say what an item adds to a measure, and how it changes without one rating.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.cohesion import (
    Distance,
    agreement_measures,
    distances,
    pair_counts,
    positions,
)
from sharpbayes.metrics.crowd.groups import split_groupings
from sharpbayes.metrics.crowd.sides import Influence, Sides
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.metrics.stats.two_way import (
    ALONE,
    Spread,
    pooled_raters,
    rater_loads,
    satterthwaite,
    t_interval,
)

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]
# The least number of ratings that agree or not.
PAIR = 2.0
LONG_NAMES = {
    "irr_interval": "interval of irr over items and raters",
    "xrr_interval": "interval of xrr over items and raters",
    "gai_interval": "interval of gai over items and raters",
}


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a measure.

    Attributes:
        pairs: By the pairs of scores of one item (score, other).
        inside: By ratings inside the group with each score (score,).
        outside: By ratings outside it (score,).
    """

    pairs: Floats
    inside: Floats
    outside: Floats


def cohesion_intervals(
    score: Codes,
    *,
    item: Codes,
    rater: Codes,
    membership: xr.DataArray,
    n_scores: int,
    distance: Distance,
    level: float,
    cluster: Codes | None = None,
) -> xr.Dataset:
    """Return intervals of IRR, XRR and GAI of every group over items and raters.

    ``V = V_items + max(V_raters - V_ratings, 0)``, sums of squares of first-order terms: of what an
    item adds to a measure, and of its changes without a rater and without a single rating, with
    n / (n - 1) for n items and, for the raters of each side, the factors and effective numbers of
    :func:`~sharpbayes.metrics.stats.two_way.rater_loads` by their numbers of ratings. Student's
    intervals with Satterthwaite's degrees of freedom are computed on a scale where errors are
    nearly normal: Fisher's ``z = log((1 + (k - 1) r) / (1 - r)) / 2`` and ``log GAI``. k is the
    mean number of ratings of an item inside the group, of XRR the mean of the harmonic mean of both
    sides, and 2 where r is not above 0.

    Ratings, scores and the distance are those of
    :func:`~sharpbayes.metrics.crowd.cohesion.pair_counts`; ``membership`` says which rater belongs
    to which group, bool (group, rater) with the coordinate ``grouping``. Where items have a
    ``cluster`` (item,), from 0, V_items is of the sums by cluster. The result has ``irr_interval``,
    ``xrr_interval`` and ``gai_interval`` (group, bound), which lie below 1, or above 0 for GAI.
    Missing where a measure is, where all raters agree fully, where a single item or a single rater
    of a side says something of it, and of GAI where an interval of IRR or XRR contains 0: a ratio
    has none then.

    Source: Fisher 1925 (intraclass correlations); Cameron, Gelbach and Miller 2011; Satterthwaite
    1946.

    >>> from sharpbayes.metrics.crowd.groups import assign_groups
    >>> rng = np.random.default_rng(1)
    >>> item, rater = np.divmod(np.arange(400), 10)
    >>> score = (rng.random(40)[item] + 0.3 * rng.random(400) > 0.6).astype(int)
    >>> membership = assign_groups({"g": np.repeat(["a", "b"], 5)}, [["g"]], n_raters=10)
    >>> intervals = cohesion_intervals(score, item=item, rater=rater, membership=membership,
    ...                                n_scores=2, distance="nominal", level=0.95)
    >>> intervals["irr_interval"].sel(group="all").round(2).values.tolist()
    [0.55, 0.82]
    """
    names = membership["group"].astype(str).to_numpy()
    bounds = {name: np.full((names.size, 2), np.nan) for name in LONG_NAMES}
    ratings = {"score": score, "item": item, "rater": rater}
    n_items = int(item.max(initial=-1)) + 1
    for groups, code in split_groupings(membership):
        sizes = {"n_groups": groups.sizes["group"], "n_scores": n_scores}
        pairs = pair_counts(score, item=item, rater=rater, group=code, **sizes)
        measured = pairs.merge(agreement_measures(pairs, distance=distance))
        for number, name in enumerate(groups["group"].astype(str).to_numpy()):
            member = groups.isel(group=number).to_numpy()
            sides = Sides(
                **ratings, member=member, n_scores=n_scores, n_items=n_items, cluster=cluster
            )
            of_group = measured.isel(group=number)
            intervals = _measure_group(sides, of_group, distance=distance, level=level)
            for measure, interval in intervals:
                bounds[f"{measure}_interval"][names == name] = interval
    table = xr.Dataset(
        {name: (("group", "bound"), values) for name, values in bounds.items()},
        {"group": names, "bound": ["lower", "upper"]},
    )
    return name_variables(table, LONG_NAMES)


def _measure_group(
    sides: Sides, pairs: xr.Dataset, *, distance: Distance, level: float
) -> Iterator[tuple[str, Floats]]:
    """Yield the interval of each measure of one group that has one, from its pairs and measures."""
    irr, xrr, gai = (pairs[name].to_numpy() for name in ("irr", "xrr", "gai"))
    x, y = sides.counts
    m, n = x.sum(axis=1), y.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = outer = None
        if np.isfinite(irr):
            within = irr_gradient(pairs["within"].to_numpy(), distance=distance)
            inner = influence_on_irr(x, within)
            of_irr = _fisher_interval(
                irr, _spread(sides, inner), ratings=m[inner.used], level=level
            )
            yield "irr", of_irr
        if np.isfinite(xrr):
            counts = (pairs[name].to_numpy() for name in ("cross", "inside", "outside"))
            outer = influence_on_xrr(x, y, xrr_gradient(*counts, distance=distance))
            ratings = 2 * m[outer.used] * n[outer.used] / (m + n)[outer.used]
            of_xrr = _fisher_interval(xrr, _spread(sides, outer), ratings=ratings, level=level)
            yield "xrr", of_xrr
        if inner is not None and outer is not None and min(of_irr[0], of_xrr[0]) > 0:
            ratio = _spread(sides, _influence_on_log_ratio(inner, outer, irr=irr, xrr=xrr))
            yield "gai", np.exp(t_interval(np.log(gai), ratio, level=level))


def irr_gradient(within: Floats, *, distance: Distance) -> Gradient:
    """Return the derivatives of IRR by the pairs of scores inside a group, (score, other).

    >>> gradient = irr_gradient(np.array([[6.0, 1.0], [1.0, 2.0]]), distance="nominal")
    >>> gradient.pairs.round(3).tolist()
    [[0.014, -0.201], [-0.119, 0.095]]
    """
    margin = within.sum(axis=1)
    total, apart = margin.sum(), _distances(margin, distance)
    observed, chance = (within * apart).sum(), margin @ apart @ margin
    by_observed, by_chance = -(total - 1) / chance, (total - 1) * observed / chance**2
    by_margin = -observed / chance + 2 * by_chance * (apart @ margin)
    if distance == "ordinal":
        place = _positions(margin)
        moved = by_observed * (place * margin - within @ place)
        moved += by_chance * margin * (place * total - margin @ place)
        by_margin = by_margin + _by_margin(4 * moved)
    none = np.zeros_like(margin)
    return Gradient(by_observed * apart + by_margin[:, None], none, none)


def xrr_gradient(cross: Floats, inside: Floats, outside: Floats, *, distance: Distance) -> Gradient:
    """Return the derivatives of XRR by pairs of scores, one inside and one outside a group.

    ``cross`` is (score, other), ``inside`` and ``outside`` (score,).

    >>> counts = np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0]), np.array([4.0, 4.0])
    >>> xrr_gradient(*counts, distance="nominal").pairs.round(3).tolist()
    [[0.062, -0.188], [-0.188, 0.062]]
    """
    total, both = cross.sum(), inside + outside
    apart = _distances(both, distance)
    observed, chance = (cross * apart).sum(), inside @ apart @ outside
    number = inside.sum() * outside.sum()
    by_observed, ratio = -number / (total * chance), observed * number / (total * chance)
    by_chance = ratio / chance
    by_inside = by_chance * (apart @ outside) - ratio / inside.sum()
    by_outside = by_chance * (apart @ inside) - ratio / outside.sum()
    if distance == "ordinal":
        place, rows, columns = _positions(both), cross.sum(axis=1), cross.sum(axis=0)
        moved = by_observed * (place * (rows + columns) - cross @ place - cross.T @ place)
        sums = inside * outside.sum() + outside * inside.sum()
        means = inside * (outside @ place) + outside * (inside @ place)
        moved += by_chance * (place * sums - means)
        of_scores = _by_margin(2 * moved)
        by_inside, by_outside = by_inside + of_scores, by_outside + of_scores
    return Gradient(by_observed * apart + ratio / total, by_inside, by_outside)


def _distances(margin: Floats, distance: Distance) -> Floats:
    """Squared distances of scores (score, other) from numbers of ratings."""
    return distances(xr.DataArray(margin, dims="score"), distance=distance).to_numpy()


def _positions(margin: Floats) -> Floats:
    """Positions of scores by which ordinal distances are differences."""
    return positions(xr.DataArray(margin, dims="score")).to_numpy()


def _by_margin(by_position: Floats) -> Floats:
    """Derivatives by numbers of ratings with each score, from those by positions of scores."""
    return by_position[::-1].cumsum()[::-1] - by_position / 2


def influence_on_irr(x: Floats, gradient: Gradient) -> Influence:
    """Return what IRR owes to items and ratings; ``x`` (item, score) are ratings inside the group.

    >>> x = np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> within = np.array([[2.0, 1.0], [1.0, 0.0]])
    >>> influence_on_irr(x, irr_gradient(within, distance="nominal")).item.round(3).tolist()
    [0.0, -0.333]
    """
    pairs, of_same = gradient.pairs, np.diag(gradient.pairs)
    seconds = x @ pairs
    value = (seconds * x).sum(axis=1) - x @ of_same
    without = value[:, None] - x @ pairs.T - seconds + 2 * of_same
    others = x.sum(axis=1) - 1
    added = value / np.where(others > 0, others, np.inf)
    left = without / np.where(others > 1, others - 1, np.inf)[:, None]
    change = left - added[:, None]
    return Influence(added, change, np.zeros_like(change), others > 0)


def influence_on_xrr(x: Floats, y: Floats, gradient: Gradient) -> Influence:
    """Return what XRR owes to items and ratings.

    ``x`` and ``y`` (item, score) are ratings inside and outside the group.

    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> counts = np.array([[2.0, 0.0], [1.5, 1.5]]), np.array([1.0, 1.0]), np.array([2.0, 1.0])
    >>> influence_on_xrr(x, y, xrr_gradient(*counts, distance="nominal")).item.round(3).tolist()
    [0.14, -0.14]
    """
    m, n = x.sum(axis=1), y.sum(axis=1)
    seconds = x @ gradient.pairs
    pairs, margins = (seconds * y).sum(axis=1), x @ gradient.inside + y @ gradient.outside
    added = _weigh_pairs(pairs, margins, m, n)
    pairs, margins, m, n = (part[:, None] for part in (pairs, margins, m, n))
    firsts = y @ gradient.pairs.T
    inside = _weigh_pairs(pairs - firsts, margins - gradient.inside, m - 1, n)
    outside = _weigh_pairs(pairs - seconds, margins - gradient.outside, m, n - 1)
    before = added[:, None]
    return Influence(added, inside - before, outside - before, ((m > 0) & (n > 0))[:, 0])


def _weigh_pairs(pairs: Floats, margins: Floats, m: Floats, n: Floats) -> Floats:
    """What items with m ratings inside and n outside add, which is 0 without either."""
    is_shared = (m > 0) & (n > 0)
    weight = (m + n) / np.where(is_shared, m * n, np.inf)
    return np.where(is_shared, weight * pairs + margins, 0.0)


def _influence_on_log_ratio(
    inner: Influence, outer: Influence, *, irr: Floats, xrr: Floats
) -> Influence:
    """What the logarithm of ``irr / xrr`` owes to items and ratings."""
    item, inside, outside = (
        getattr(inner, name) / irr - getattr(outer, name) / xrr
        for name in ("item", "inside", "outside")
    )
    return Influence(item, inside, outside, inner.used | outer.used)


def _spread(sides: Sides, influence: Influence) -> Spread:
    """Variance of a measure over items, what raters add to it, and its degrees of freedom.

    It is missing where a single item, or a single rater of a side, says something of the measure.
    """
    units = sides.sum_by_unit(influence)
    changes = zip(sides.counts, (influence.inside, influence.outside), strict=True)
    single = sum(float((count * change**2).sum()) for count, change in changes)
    of_sides, n_effective = _squares_of_sides(sides, influence)
    items, added = np.array(_squares(units)), np.maximum(of_sides.sum() - single, 0.0)
    n_raters = pooled_raters(of_sides, n_effective)
    n_items = np.array(float(units.size))
    return Spread(items, added, satterthwaite(items, added, n_items=n_items, n_raters=n_raters))


def _squares_of_sides(sides: Sides, influence: Influence) -> tuple[Floats, Floats]:
    """Squares of the changes without each rater, by side, and how many raters a side is worth.

    Changes are less what a rater's load has of the sum of a side. NaN where one rater has it all.
    """
    change, load = sides.sum_by_rater(influence), sides.count_by_rater(influence)
    side = np.where(sides.member, 0, 1)
    factor, n_effective = rater_loads(load, side, n_groups=2)
    sums, loads, changed = (np.bincount(side, x, 2) for x in (change, load, change != 0))
    deviation = change - load * (sums / np.maximum(loads, 1.0))[side]
    squares = np.bincount(side, factor * deviation**2, 2)
    is_known = (n_effective > 1.0 + ALONE) | (changed == 0)
    return np.where(is_known, squares, np.nan), n_effective


def _squares(terms: Floats) -> float:
    """``n / (n - 1)`` times the squared deviations of n terms from their mean; NaN of a single."""
    return float(terms.size * terms.var(ddof=1)) if terms.size > 1 else np.nan


def _fisher_interval(value: Floats, spread: Spread, *, ratings: Floats, level: float) -> Floats:
    """Interval of an intraclass correlation on the scale of Fisher's z.

    ``ratings`` are numbers of ratings of items (item,). Agreement below that of chance has the z of
    two ratings, because that of more ends at -1 / (k - 1).
    """
    k = np.maximum(ratings.mean(), PAIR) if value > 0 else PAIR
    z = np.log((1 + (k - 1) * value) / (1 - value)) / 2
    slope = ((k - 1) / (1 + (k - 1) * value) + 1 / (1 - value)) / 2
    scaled = Spread(spread.items * slope**2, spread.raters * slope**2, spread.freedom)
    ratio = np.exp(2 * t_interval(z, scaled, level=level))
    return (ratio - 1) / (ratio + k - 1)
