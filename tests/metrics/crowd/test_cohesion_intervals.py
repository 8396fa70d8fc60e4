"""Intervals of cohesion: derivatives against differences, and worlds with a known truth."""

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.special import stdtrit

from sharpbayes.metrics.crowd.cohesion import MEASURES, irr, pair_counts, xrr
from sharpbayes.metrics.crowd.cohesion_intervals import (
    cohesion_intervals,
    influence_on_irr,
    influence_on_xrr,
    irr_gradient,
    xrr_gradient,
)
from sharpbayes.metrics.crowd.groups import assign_groups
from tests.references.cohesion_coverage import DOMINATED, TABLE, WORLDS, World, choose_ratings

DISTANCES = ("nominal", "ordinal", "interval")
N_SCORES, N_ITEMS, N_RATERS = 4, 12, 9
STEP = 1e-5


def draw_ratings(seed, *, share=0.8):
    """Ratings (score, item, rater) of a small crowd with gaps, and who is in the group."""
    rng = np.random.default_rng(seed)
    severity = rng.integers(0, N_SCORES, N_ITEMS)
    table = np.clip(severity + rng.integers(-1, 2, (N_RATERS, N_ITEMS)), 0, N_SCORES - 1)
    rater, item = np.nonzero(rng.random(table.shape) < share)
    return table[rater, item], item, rater, np.arange(N_RATERS) < 5


def count(score, item, rater, member):
    """Pairs of scores inside the group, and of one inside and one outside."""
    group = xr.DataArray(np.where(member, 0, -1), dims="rater")
    pairs = pair_counts(
        score, item=item, rater=rater, group=group, n_groups=1, n_scores=N_SCORES
    ).isel(group=0)
    return {name: pairs[name].to_numpy() for name in ("within", "cross", "inside", "outside")}


def count_items(score, item, rater, member):
    """The same of each item, (item, ...)."""
    rows = [item == number for number in range(N_ITEMS)]
    counts = [count(score[row], item[row], rater[row], member) for row in rows]
    return {name: np.stack([part[name] for part in counts]) for name in counts[0]}


def apply_gradient(gradient, pairs, inside=None, outside=None):
    """The change of a measure by changes of its counts, to first order."""
    change = (gradient.pairs * pairs).sum(axis=(-2, -1))
    if inside is not None:
        change = change + inside @ gradient.inside + outside @ gradient.outside
    return change


def irr_of(within, distance):
    return float(irr(xr.DataArray(within, dims=("score", "other")), distance=distance))


def xrr_of(counts, distance):
    dims = {"cross": ("score", "other"), "inside": "score", "outside": "score"}
    data = xr.Dataset({name: (dims[name], counts[name]) for name in dims})
    return float(xrr(data, distance=distance))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_the_measures(distance, seed):
    counts = count(*draw_ratings(seed))
    rng = np.random.default_rng(seed)
    change = {name: rng.random(values.shape) for name, values in counts.items()}
    change["within"] += change["within"].T  # a pair counts in both orders
    moved = [
        {name: values + sign * STEP * change[name] for name, values in counts.items()}
        for sign in (1, -1)
    ]
    high, low = (irr_of(part["within"], distance) for part in moved)
    gradient = irr_gradient(counts["within"], distance=distance)
    expected = apply_gradient(gradient, change["within"])
    assert (high - low) / (2 * STEP) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    high, low = (xrr_of(part, distance) for part in moved)
    gradient = xrr_gradient(counts["cross"], counts["inside"], counts["outside"], distance=distance)
    expected = apply_gradient(gradient, change["cross"], change["inside"], change["outside"])
    assert (high - low) / (2 * STEP) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("distance", DISTANCES)
def test_what_items_and_ratings_add_is_counted_anew(distance):
    score, item, rater, member = ratings = draw_ratings(7, share=0.45)
    counts, by_item = count(*ratings), count_items(*ratings)
    cell = item * N_SCORES + score
    x, y = (
        np.bincount(cell[side], minlength=N_ITEMS * N_SCORES).reshape(-1, N_SCORES).astype(float)
        for side in (member[rater], ~member[rater])
    )
    within = irr_gradient(counts["within"], distance=distance)
    names = ("cross", "inside", "outside")
    across = xrr_gradient(*(counts[name] for name in names), distance=distance)
    inner, outer = influence_on_irr(x, within), influence_on_xrr(x, y, across)
    assert inner.item == pytest.approx(apply_gradient(within, by_item["within"]))
    assert outer.item == pytest.approx(apply_gradient(across, *(by_item[name] for name in names)))
    assert inner.used.tolist() == (x.sum(axis=1) > 1).tolist()
    assert 0 < inner.used.sum() < N_ITEMS  # some items have too few ratings
    for left_out in range(score.size):
        kept = np.arange(score.size) != left_out
        without = count(score[kept], item[kept], rater[kept], member)
        change = {name: without[name] - counts[name] for name in counts}
        where = item[left_out], score[left_out]
        side = "inside" if member[rater[left_out]] else "outside"
        assert getattr(inner, side)[where] == pytest.approx(
            apply_gradient(within, change["within"]), abs=1e-12
        )
        assert getattr(outer, side)[where] == pytest.approx(
            apply_gradient(across, *(change[name] for name in names)), abs=1e-12
        )


def measure(score, item, rater, groups, *, distance="ordinal", **options):
    membership = assign_groups({"g": groups}, [["g"]], n_raters=len(groups))
    return cohesion_intervals(
        np.asarray(score),
        item=item,
        rater=rater,
        membership=membership,
        n_scores=N_SCORES,
        distance=distance,
        level=0.95,
        **options,
    )


def test_ratings_that_say_nothing_of_an_error_give_no_interval():
    rng = np.random.default_rng(5)
    rater, item = np.divmod(np.arange(6 * 20), 20)
    severity = rng.integers(0, N_SCORES, 20)
    noisy = np.clip(severity[item] + rng.integers(-1, 2, item.size), 0, N_SCORES - 1)
    every = measure(noisy, item, rater, [*"aaabbb"]).sel(group="g=a")
    assert np.isfinite(every.to_array()).all()
    agreed = measure(severity[item], item, rater, [*"aaabbb"])
    assert np.isnan(agreed.to_array()).all()
    # One rater outside does not show how raters outside differ.
    alone = measure(noisy, item, rater, [*"aaaaab"]).sel(group="g=a")
    assert np.isfinite(alone["irr_interval"]).all()
    assert np.isnan(alone["xrr_interval"]).all()
    assert np.isnan(alone["gai_interval"]).all()
    one_item = np.zeros_like(item)
    assert np.isnan(measure(noisy, one_item, rater, [*"aaabbb"]).to_array()).all()


def test_a_ratio_has_no_interval_where_a_measure_may_be_0():
    rng = np.random.default_rng(3)
    rater, item = np.divmod(np.arange(8 * 30), 30)
    chance = measure(rng.integers(0, N_SCORES, item.size), item, rater, [*"aaaabbbb"])
    low, high = chance["xrr_interval"].sel(group="g=a")
    assert low < 0 < high
    assert np.isnan(chance["gai_interval"]).all()


def test_copies_of_an_item_in_a_cluster_show_no_more_than_the_item():
    score, item, rater, _ = draw_ratings(1)
    groups = [*"aaaaabbbb"]
    once = measure(score, item, rater, groups)["irr_interval"]
    copies = np.concatenate([item + N_ITEMS * copy for copy in range(4)])
    ratings = np.tile(score, 4), copies, np.tile(rater, 4), groups
    taken_apart = measure(*ratings)["irr_interval"]
    clustered = measure(*ratings, cluster=np.tile(np.arange(N_ITEMS), 4))["irr_interval"]
    width = [part.diff("bound").sel(group="all").item() for part in (once, taken_apart, clustered)]
    assert width[1] < 0.8 * width[0]
    assert width[2] > 0.95 * width[0]
    own = measure(score, item, rater, groups, cluster=np.arange(N_ITEMS))["irr_interval"]
    xr.testing.assert_identical(own, once)


def squares(terms):
    """n / (n - 1) times the squared deviations of n terms from their mean."""
    terms = np.array(terms)
    return terms.size / (terms.size - 1) * ((terms - terms.mean()) ** 2).sum()


def rater_part(changes, used, rater, inside):
    """Squares of the changes by raters of a side, and their number less one, by their loads."""
    names = sorted(set(rater[inside & used]))
    change = np.array([changes[rater == r].sum() for r in names])
    load = np.array([(used & (rater == r)).sum() for r in names])
    share = load / load.sum()
    worth = (share**2).sum()
    deviation = change - share * change.sum()
    return (deviation**2 / (1 - 2 * share + worth)).sum(), 1 / worth - 1


def variance(terms, ratings, cluster):
    """Variance of a measure and its degrees of freedom, from what items and ratings add to it."""
    score, item, rater, member = ratings
    added, inside, outside, used = terms
    units = sorted({cluster[i] for i in np.flatnonzero(used)})
    items = squares([sum(added[i] for i in np.flatnonzero(cluster == u)) for u in units])
    changes = np.where(member[rater], inside[item, score], outside[item, score])
    sides = [True, False] if np.any(outside) else [True]
    parts = [rater_part(changes, used[item], rater, member[rater] == side) for side in sides]
    raters = sum(part for part, _ in parts)
    more = max(raters - (changes**2).sum(), 0.0)
    n_raters = raters**2 / sum(part**2 / number for part, number in parts)
    freedom = (items + more) ** 2 / (items**2 / (len(units) - 1) + more**2 / n_raters)
    return items + more, max(freedom, 1.0)


def fisher(value, variance, freedom, k):
    """The interval of an intraclass correlation of k ratings."""
    slope = ((k - 1) / (1 + (k - 1) * value) + 1 / (1 - value)) / 2
    z = np.log((1 + (k - 1) * value) / (1 - value)) / 2
    half = stdtrit(freedom, 0.975) * slope * variance**0.5
    ends = np.exp(2 * np.array([z - half, z + half]))
    return (ends - 1) / (ends + k - 1)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_intervals_follow_their_formula(seed, clustered):
    """In tables with gaps, items that nobody outside scored, and a rater who scored nothing."""
    score, item, rater, _ = draw_ratings(seed, share=(0.5, 0.65, 0.8)[seed % 3])
    kept = (rater != 2) & ((item > 2) | (rater < 5))
    score, item, rater = score[kept], item[kept], rater[kept]
    if seed % 2:  # the others see the contrary
        score = np.where(rater < 5, score, N_SCORES - 1 - score)
    member = np.arange(N_RATERS) < 5
    cluster = np.arange(N_ITEMS) // 2 if clustered else np.arange(N_ITEMS)
    options = {"cluster": cluster} if clustered else {}
    bounds = measure(score, item, rater, [*"aaaaabbbb"], **options).sel(group="g=a")
    ratings = score, item, rater, member
    counts = count(*ratings)
    table = np.zeros((2, N_ITEMS, N_SCORES))
    np.add.at(table, (np.where(member[rater], 0, 1), item, score), 1)
    (m, n), (x, y) = table.sum(axis=2), table
    inner = influence_on_irr(x, irr_gradient(counts["within"], distance="ordinal"))
    across = (counts[name] for name in ("cross", "inside", "outside"))
    outer = influence_on_xrr(x, y, xrr_gradient(*across, distance="ordinal"))
    first, second = irr_of(counts["within"], "ordinal"), xrr_of(counts, "ordinal")
    assert first > 0
    assert (second > 0) == (seed % 2 == 0)
    both = (m > 0) & (n > 0)
    expected = {
        "irr": (first, inner, m[m > 1].mean()),
        "xrr": (second, outer, (2 / (1 / m[both] + 1 / n[both])).mean()),
    }
    for name, (value, part, number) in expected.items():
        terms = part.item, part.inside, part.outside, part.used
        k = max(number, 2) if value > 0 else 2
        interval = fisher(value, *variance(terms, ratings, cluster), k)
        assert bounds[f"{name}_interval"].to_numpy() == pytest.approx(interval, rel=1e-9)
    if min(bounds["irr_interval"][0], bounds["xrr_interval"][0]) <= 0:
        assert np.isnan(bounds["gai_interval"]).all()
        return
    terms = [
        a / first - b / second
        for a, b in zip(
            (inner.item, inner.inside, inner.outside),
            (outer.item, outer.inside, outer.outside),
            strict=True,
        )
    ]
    spread, freedom = variance((*terms, inner.used | outer.used), ratings, cluster)
    half = stdtrit(freedom, 0.975) * spread**0.5
    interval = first / second * np.exp([-half, half])
    assert bounds["gai_interval"].to_numpy() == pytest.approx(interval, rel=1e-9)


def jackknife(values, side=None):
    """The jackknife variance of values without each unit, of units of several sides."""
    values = np.asarray(values)
    sides = np.zeros(values.size) if side is None else side
    parts = [values[sides == kind] for kind in np.unique(sides)]
    return sum((part.size - 1) / part.size * ((part - part.mean()) ** 2).sum() for part in parts)


def test_standard_errors_are_those_of_three_jackknives():
    """By items, and what raters add to it: that without each rater less that without a rating."""
    rng = np.random.default_rng(11)
    n_items, raters = 24, 12
    world = World(item=1.0, seen=0.3, bias=1.5, stretch=0.5, noise=0.4)
    table = np.minimum(world.draw(rng, n_items, raters, 1), N_SCORES - 1)
    rater, item = np.divmod(np.arange(table.size), n_items)
    score, member = table.ravel(), np.repeat([True, False], raters)

    def measures(kept):
        """IRR and XRR of the ratings that are kept (row, rating), counted by hand."""
        cell = np.eye(n_items * N_SCORES)[item * N_SCORES + score]
        shape = (len(kept), n_items, N_SCORES)
        x, y = (((kept & side) @ cell).reshape(shape) for side in (member[rater], ~member[rater]))
        m, n = x.sum(axis=2, keepdims=True), y.sum(axis=2, keepdims=True)
        paired = x / (m - 1)
        within = np.einsum("dic,dik->dck", paired, x)
        within -= np.eye(N_SCORES) * paired.sum(axis=1)[:, None]
        counts = {
            "cross": np.einsum("dic,dik->dck", x * (m + n) / (m * n), y),
            "inside": x.sum(axis=1),
            "outside": y.sum(axis=1),
        }
        dims = {"cross": ("row", "score", "other")} | dict.fromkeys(
            ("inside", "outside"), ("row", "score")
        )
        pairs = xr.Dataset({name: (dims[name], values) for name, values in counts.items()})
        first = irr(xr.DataArray(within, dims=("row", "score", "other")), distance="ordinal")
        return np.stack([first, xrr(pairs, distance="ordinal")], axis=1)

    by_rater = measures(rater != np.arange(member.size)[:, None])
    by_rating = measures(~np.eye(score.size, dtype=bool))
    # Without an item nothing of it is left to count.
    by_item = []
    for number in range(n_items):
        kept = item != number
        counts = count(score[kept], item[kept], rater[kept], member)
        by_item.append((irr_of(counts["within"], "ordinal"), xrr_of(counts, "ordinal")))
    by_item = np.array(by_item)
    [whole] = measures(np.ones((1, score.size), dtype=bool))
    membership = assign_groups({"g": np.repeat(["a", "b"], raters)}, [["g"]], n_raters=member.size)
    level = 0.01  # an interval so short that no scale bends it
    bounds = cohesion_intervals(
        score,
        item=item,
        rater=rater,
        membership=membership,
        n_scores=N_SCORES,
        distance="ordinal",
        level=level,
    ).sel(group="g=a")
    for number, name in enumerate(("irr", "xrr")):
        inside = member if name == "irr" else np.ones(member.size, dtype=bool)
        of_raters = jackknife(by_rater[inside, number], member[inside])
        of_ratings = ((by_rating[:, number] - whole[number]) ** 2).sum()
        assert of_raters > 1.2 * of_ratings
        expected = jackknife(by_item[:, number]) + of_raters - of_ratings
        low, high = bounds[f"{name}_interval"].to_numpy()
        deviation = (high - low) / 2 / stdtrit(30, (1 + level) / 2)
        # First-order terms of few raters are a little too large.
        assert 0.98 < deviation / expected**0.5 < 1.12


def test_intervals_of_the_table_hold_as_often_as_documentation_says():
    with Path(TABLE).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["taken_as"] == right(row["world"])]
    assert {row["world"] for row in rows} == {*WORLDS}
    dominated = [row for row in rows if row["ratings"] == str(DOMINATED)]
    rows = [row for row in rows if row not in dominated]
    lowest = {
        (kind, measure): min(
            float(row["holds"])
            for row in rows
            if (row["world"] == "scenarios", row["measure"]) == (kind, measure)
        )
        for kind in (False, True)
        for measure in ("irr", "xrr", "gai")
    }
    assert min(lowest[False, "irr"], lowest[False, "xrr"]) >= 0.91
    assert lowest[False, "gai"] >= 0.88
    # Of eight scenarios; of thirty they hold in 91% and more.
    assert min(lowest[True, "irr"], lowest[True, "xrr"]) >= 0.85
    equal = [r for r in rows if r["world"] == "equal groups" and r["measure"] == "gai"]
    assert max(float(row["not_one"]) for row in equal) <= 0.08
    # Where one rater gives most ratings; XRR held in 83% and more when raters counted alike.
    least = {
        name: min(float(r["holds"]) for r in dominated if r["measure"] == name) for name in MEASURES
    }
    assert len(dominated) == 3 * (len(WORLDS) - 1)
    assert all(least[name] >= bound for name, bound in (("irr", 0.85), ("xrr", 0.92), ("gai", 0.9)))


def right(world):
    """How items of a world are taken by a study that names their scenarios."""
    return "clusters" if WORLDS[world].scenario else "independent"


def test_intervals_hold_the_truth_of_a_world_that_the_formula_does_not_know():
    world, held, studies = WORLDS["raters differ"], 0, 60
    truth = 0.412  # of the table, whose crowds are large
    for number in range(studies):
        rng = np.random.default_rng([31, number])
        table = world.draw(rng, 60, 12, 1)
        rater, item = np.nonzero(choose_ratings(rng, table, 0))
        membership = assign_groups({"g": np.repeat(["a", "b"], 12)}, [["g"]], n_raters=24)
        low, high = cohesion_intervals(
            table[rater, item],
            item=item,
            rater=rater,
            membership=membership.sel(group=["g=a"]),
            n_scores=5,
            distance="ordinal",
            level=0.95,
        )["irr_interval"].isel(group=0)
        held += bool(low <= truth <= high)
    assert held >= 52
