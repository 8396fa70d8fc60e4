"""What a crowd should rate next: raters, items and ratings that narrow differences of groups.

The open question of a crowd is which of two groups of a grouping is more responsive (HM). To call
the wrong one costs the difference. The loss of all pairs together is lowered by purchases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.data.variable_names import encode_column
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import monte_carlo_error
from sharpbayes.posterior.hypothetical_crowd import RaterItems, expect_ratings
from sharpbayes.posterior.information import (
    FIRST_UNIT,
    Offers,
    Populations,
    Purchase,
    choose_purchases,
    expected_gain,
    unit_share,
)
from sharpbayes.posterior.purchase_lists import (
    PurchaseList,
    judge_list,
    may_pay,
    price_of_longer,
    share_gain,
    split_draws,
)
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.costs import Costs

# Draws that are used, the fewest of them, and ratings that are replicated for them.
DRAWS, MIN_DRAWS, MAX_RATINGS = 1000, 200, 50_000_000
# Draws by which further units are judged, the fewest of them, and times that each is measured.
UNIT_DRAWS, MIN_UNIT_DRAWS, MEASURES = 150, 40, 4
# Ratings that are replicated for them: each measurement has three studies, one of twice the size.
UNIT_RATINGS, STUDIES = 100_000_000, 4
# Ratings that are looked at, and the most cells that are all drawn from.
MAX_CELLS, ALL_CELLS = 1000, 2_000_000
# Numbers of the random streams of ratings that are looked at, of other raters and other items.
STREAM, RATER_STREAM, ITEM_STREAM = 0x4E48, 0x4E50, 0x4E60
RATING, NEW_RATER, NEW_ITEM = "rating", "new rater", "new item"


@dataclass(frozen=True)
class Pairs:
    """Pairs of groups that are open, the more responsive one first.

    Attributes:
        first: Position of the more responsive group of each pair.
        second: Position of the other.
        difference: HM of the first less that of the second in each draw, (draw, pair).
        labels: Both groups of each pair, such as ``age=GenX - age=GenZ``.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    difference: Floats
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """Raters with the same groups, or items: one population of units for sale.

    ``profile`` is the position of a rater who has these groups; -1 for items.
    """

    name: str
    profile: int
    cost: float
    ratings: float


def plan_crowd_purchases(
    metrics: CrowdMetrics,
    draws: ReplicateDraws,
    *,
    size_effect: xr.DataArray | None = None,
    costs: Costs | None,
    loss: float | None,
    number: int,
) -> xr.Dataset:
    """Return the group ``next`` of a crowd: what to rate next, and what it is worth.

    The loss is the sum over open pairs of E[max(0, -d)], d the difference of HM in the order in
    which the groups are called: how much the wrong calls are expected to miss. A pair is open where
    the interval of its difference contains 0.

    Over (purchase), the best first: ``kind``, ``rated_item``, ``rated_rater``, ``rated_<column>``
    of the groups, ``narrows`` (the pair that it narrows most), ``cost``, ``judgements``, ``gain``.
    Over (size): ``list_gain``, ``list_cost``, ``list_net`` as
    :meth:`PurchaseList.evaluate` has them. Over (pair): ``pair_width``, the width of the interval
    now, and ``pair_width_after``, what the list up to ``best_size`` is expected to leave of it.
    Attributes: ``criterion`` (``hm``), ``expected_loss`` with ``_mcse``, ``open_pairs``, ``pairs``,
    ``verdict``, ``best_size``, ``loss``, ``unit``, ``left_out``, ``longer_may_pay`` as of a panel,
    ``small_may_pay``, ``level``. What new raters and items tell is a difference of noisy variances,
    0 where it comes out negative. Where one of them could be worth its price (``small_may_pay``),
    that no gain is measured is no reason to stop.

    ``size_effect`` of HM, over (group, other), is taken from differences; ``loss`` is the price of
    a loss of 1, if any; ``number`` the largest number of purchases.
    """
    sources = metrics.study.spec.uncertainties[0]
    used = _thin(metrics, draws, sources)
    value = metrics.headline(used, sources)
    pairs, total = _open_pairs(metrics, value, size_effect)
    kinds = tuple(_list_kinds(metrics, sources, costs)) if pairs.labels else ()
    cells, left_out = _unrated(metrics) if pairs.labels else (RaterItems(*np.empty((2, 0), int)), 0)
    populations = _offer_units(metrics, used, pairs, kinds) if kinds else None
    offers = _make_offers(metrics, used, cells, populations, costs)
    chain = np.repeat(np.arange(value.sizes["chain"]), value.sizes["draw"])
    halves = split_draws(chain)
    bought = []
    if pairs.labels:
        first = pairs.difference[halves[0]]
        bought = list(choose_purchases(first, offers.of(halves[0]), number))
    numbers = [purchase.number for purchase in bought]
    listed = PurchaseList(pairs.difference, offers, numbers, halves, gain_of_pairs)
    loss_price = loss if costs is not None else None
    curve = listed.evaluate(loss_price)
    loss_now, error = _expect_loss(value, pairs)
    table = _list_purchases(metrics, (cells, kinds), offers, bought)
    beyond = price_of_longer(table["cost"].to_numpy().tolist(), number)
    cheapest = min((kind.cost for kind in kinds), default=np.inf)
    longer_may_pay, small_may_pay = (
        may_pay(price, loss_now, error, loss_price) for price in (beyond, cheapest)
    )
    verdict, best = judge_list(
        curve, is_open=bool(pairs.labels), others_may_pay=longer_may_pay or small_may_pay
    )
    table["gain"] = ("purchase", share_gain(curve, bought, best))
    table["narrows"] = ("purchase", _narrowed(pairs, bought))
    return (
        table.merge(curve)
        .merge(_pair_widths(metrics, pairs, listed, best))
        .assign_attrs(
            criterion="hm",
            expected_loss=loss_now,
            expected_loss_mcse=error,
            open_pairs=len(pairs.labels),
            pairs=total,
            verdict=verdict,
            best_size=best,
            loss=loss or 0.0,
            unit="score" if costs is None else "money",
            left_out=left_out,
            longer_may_pay=longer_may_pay,
            small_may_pay=small_may_pay,
            level=metrics.study.spec.bootstrap.level,
        )
    )


def compared_pairs(metrics: CrowdMetrics) -> list[tuple[int, int]]:
    """Return the positions of two groups of one grouping that both have metrics."""
    observed = metrics.observed
    known = (observed["reason"].sel(by=ALL) == "").to_numpy()
    grouping = observed["grouping"].to_numpy()
    return [
        (a, b)
        for a, b in combinations(range(len(known)), 2)
        if known[a] and known[b] and grouping[a] == grouping[b]
    ]


def _expect_loss(value: xr.DataArray, pairs: Pairs) -> tuple[float, float]:
    """The expected loss of calling the higher of every open pair, and its Monte Carlo error."""
    wrong = value.isel(group=0, drop=True).copy(
        data=np.maximum(0.0, -pairs.difference).sum(1).reshape(value.shape[:2])
    )
    return float(wrong.mean()), float(monte_carlo_error(wrong))


def gain_of_pairs(difference: Floats, explained: Floats) -> float:
    """Return by how much data lower the loss of calling the higher of every pair.

    >>> d = 0.5 + np.random.default_rng(1).normal(size=(4000, 2))
    >>> round(gain_of_pairs(d, np.diag([1.0, 0.0])), 1)
    0.2
    """
    pairs = range(difference.shape[1])
    return sum(expected_gain(difference[:, [p]], explained[[p]][:, [p]]) for p in pairs)


def _thin(metrics: CrowdMetrics, draws: ReplicateDraws, sources: Sequence[str]) -> ReplicateDraws:
    """The draws that are used, with as many replicates as the sources ask for."""
    replicated = draws.replicated_for(sources, metrics.unit_count)
    affordable = MAX_RATINGS // (replicated.design.n_ratings * replicated.n_replicates)
    number = max(MIN_DRAWS, min(DRAWS, affordable))
    posterior, predictive = (thin(x, draws=number) for x in (draws.posterior, draws.predictive))
    return replace(replicated, posterior=posterior, predictive=predictive)


def _open_pairs(
    metrics: CrowdMetrics, value: xr.DataArray, size_effect: xr.DataArray | None
) -> tuple[Pairs, int]:
    """The pairs that are open, and how many pairs there are."""
    level, compared = metrics.study.spec.bootstrap.level, compared_pairs(metrics)
    flat = value.to_numpy().reshape(-1, value.sizes["group"])
    mean, names = flat.mean(0), value["group"].to_numpy()
    effect = np.zeros((names.size, names.size))
    if size_effect is not None:
        effect = size_effect.transpose("group", "other").fillna(0.0).to_numpy()
    ordered = [(a, b) if mean[a] - mean[b] >= effect[a, b] else (b, a) for a, b in compared]
    first, second = np.array(ordered, dtype=np.intp).reshape(-1, 2).T
    difference = flat[:, first] - flat[:, second] - effect[first, second]
    is_open = _bounds(difference, level)[0] <= 0.0
    first, second = first[is_open], second[is_open]
    labels = tuple(f"{names[a]} - {names[b]}" for a, b in zip(first, second, strict=True))
    return Pairs(first, second, difference[:, is_open], labels), len(compared)


def _bounds(difference: Floats, level: float) -> Floats:
    """Bounds (bound, pair) of the central interval of draws of differences (draw, pair)."""
    draws = xr.DataArray(difference, dims=("draw", "pair"))
    return central_interval(draws, level=level, dim="draw").to_numpy().T


def _list_kinds(
    metrics: CrowdMetrics, sources: Sequence[str], costs: Costs | None
) -> Iterator[Kind]:
    """Yield the kinds of units for sale: items, and raters of each combination of groups."""
    data = metrics.study.data
    ratings, items, raters = len(data.score), len(data.item.labels), len(data.rater.labels)
    prices = costs or Costs(rating=1.0, rater=0.0, item=0.0)
    if "items" in sources and prices.item is not None:
        number = ratings / items
        yield Kind(NEW_ITEM, -1, prices.item + number * prices.full_rating, number)
    if "raters" in sources and prices.rater is not None:
        number = ratings / raters
        for profile in _profiles(metrics):
            cost = prices.rater + number * prices.full_rating
            yield Kind(NEW_RATER, profile, cost, number)


def _profiles(metrics: CrowdMetrics) -> list[int]:
    """The first rater of each combination of values of the group columns, none of them missing."""
    columns = metrics.study.data.rater_columns.values()
    values = [tuple(row) for row in zip(*columns, strict=True)]
    first = {row: position for position, row in reversed(list(enumerate(values)))}
    return sorted(position for row, position in first.items() if all(row))


def _unrated(metrics: CrowdMetrics) -> tuple[RaterItems, int]:
    """Items that a rater has not scored, at most :data:`MAX_CELLS`, and how many are left out."""
    data = metrics.study.data
    raters, size = len(data.rater.labels), len(data.item.labels) * len(data.rater.labels)
    rng = np.random.default_rng([metrics.study.spec.seed, STREAM])
    rated = np.unique(data.item.codes.astype(np.int64) * raters + data.rater.codes)
    # Of many cells a sample is drawn, of which the rated ones are left out.
    drawn = rng.permutation(size) if size <= ALL_CELLS else rng.integers(size, size=MAX_CELLS * 100)
    cells = drawn[~np.isin(drawn, rated)][:MAX_CELLS]
    cells = np.unique(cells)
    return RaterItems(cells // raters, cells % raters), size - len(rated) - len(cells)


def _offer_units(
    metrics: CrowdMetrics, draws: ReplicateDraws, pairs: Pairs, kinds: Sequence[Kind]
) -> Populations:
    """New items and raters: what further ones explain of the differences of pairs."""
    of_raters, of_items = _unit_variances(metrics, draws, pairs)
    membership = metrics.study.score_counts.membership.transpose("group", "rater").to_numpy()
    sizes, items = membership.sum(1), metrics.unit_count
    belongs = np.array([membership[:, k.profile] & (k.profile >= 0) for k in kinds])
    is_item = np.array([kind.profile < 0 for kind in kinds])

    def explain(counts: NDArray[np.integer]) -> Floats:
        by_group = of_raters * unit_share(counts @ belongs, np.maximum(sizes, 1))
        by_items = of_items * unit_share(float(counts @ is_item), items)
        return np.diag(by_items + by_group[pairs.first] + by_group[pairs.second])

    return Populations(np.array([kind.cost for kind in kinds]), explain)


def _unit_variances(
    metrics: CrowdMetrics, draws: ReplicateDraws, pairs: Pairs
) -> tuple[Floats, Floats]:
    """What infinitely many new raters explain of each group, and new items of each pair.

    Each draw is measured several times, with other raters, then with other raters and items. Twice
    as many raters take away half of what all would; the noise of single ratings stays. What other
    items add is explained by items alone.
    """
    sources, seed = metrics.study.spec.uncertainties[0], metrics.study.spec.seed
    size = MEASURES * STUDIES * draws.design.n_ratings * draws.n_replicates
    number = max(MIN_UNIT_DRAWS, min(UNIT_DRAWS, UNIT_RATINGS // size))
    kept, predictive = (thin(x, draws=number) for x in (draws.posterior, draws.predictive))
    used = replace(draws, posterior=kept, predictive=predictive)
    numbers = range(MEASURES)
    raters = [replace(used, stream=RATER_STREAM + number) for number in numbers]
    both = [replace(other, seed=seed + ITEM_STREAM + n) for n, other in enumerate(raters)]
    once, twice, moved = (
        np.stack([metrics.headline(x, sources, times=times).to_numpy() for x in drawn])
        for drawn, times in ((raters, 1), (raters, 2), (both, 1))
    )
    current, later = (x.var(0, ddof=1).mean((0, 1)) for x in (once, twice))
    difference = moved[..., pairs.first] - moved[..., pairs.second]
    of_both = difference.var(0, ddof=1).mean((0, 1))
    of_items = (of_both - current[pairs.first] - current[pairs.second]).clip(min=0.0)
    return (2.0 * (current - later)).clip(min=0.0), of_items


def _make_offers(
    metrics: CrowdMetrics,
    draws: ReplicateDraws,
    cells: RaterItems,
    populations: Populations | None,
    costs: Costs | None,
) -> Offers:
    """What every draw expects of further ratings, beside the units for sale."""
    price = 1.0 if costs is None else costs.full_rating
    if not cells.size:
        none = np.zeros((int(np.prod(draws.shape)), 0))
        return Offers(none, np.zeros(0), np.zeros(0), populations)
    expected = expect_ratings(metrics.study, draws.design, draws.posterior, cells)
    return Offers(expected.mean, expected.variance, np.full(cells.size, price), populations)


def _list_purchases(
    metrics: CrowdMetrics,
    sold: tuple[RaterItems, Sequence[Kind]],
    offers: Offers,
    bought: Sequence[Purchase],
) -> xr.Dataset:
    """What is bought, in the order of its worth."""
    data, (cells, kinds) = metrics.study.data, sold
    groups = data.rater_columns
    rows: list[list[str]] = []
    ratings = []
    for purchase in bought:
        if purchase.number <= FIRST_UNIT:
            kind = kinds[FIRST_UNIT - purchase.number]
            names, item, rater, number = kind.name, "", "", kind.ratings
            profile = kind.profile
        else:
            profile = int(cells.rater[purchase.number])
            item = data.item.labels[cells.item[purchase.number]]
            names, rater, number = RATING, data.rater.labels[profile], 1.0
        values = [str(column[profile]) if profile >= 0 else "" for column in groups.values()]
        rows.append([names, item, rater, *values])
        ratings.append(number)
    named = ("item", "rater", *map(encode_column, groups))
    columns = ("kind", *(f"rated_{name}" for name in named))
    texts = np.array(rows, dtype=np.str_).reshape(len(bought), len(columns)).T
    table = dict(zip(columns, texts, strict=True)) | {
        "cost": np.array([offers.price(purchase.number) for purchase in bought]),
        "judgements": np.array(ratings),
    }
    variables = {name: ("purchase", column) for name, column in table.items()}
    return xr.Dataset(variables, {"purchase": np.arange(1, len(bought) + 1)})


def _narrowed(pairs: Pairs, bought: Sequence[Purchase]) -> NDArray[np.str_]:
    """The pair that each purchase narrows most."""
    return np.array([pairs.labels[purchase.narrows] for purchase in bought], dtype=np.str_)


def _pair_widths(
    metrics: CrowdMetrics, pairs: Pairs, listed: PurchaseList, size: int
) -> xr.Dataset:
    """Widths of the intervals of the open pairs, now and after the list up to a size."""
    level = metrics.study.spec.bootstrap.level
    low, high = _bounds(pairs.difference, level)
    explained = np.diag(listed.explained(size)) if pairs.labels else np.zeros(0)
    variance = pairs.difference.var(0)
    share = np.clip(explained / np.where(variance > 0, variance, 1.0), 0.0, 1.0)
    width = high - low
    return xr.Dataset(
        {"pair_width": ("pair", width), "pair_width_after": ("pair", width * np.sqrt(1 - share))},
        {"pair": list(pairs.labels)},
    )
