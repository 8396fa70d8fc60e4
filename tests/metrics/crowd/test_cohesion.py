"""Cohesion against its definitions written out, the krippendorff package and shuffles by hand."""

import itertools

import krippendorff
import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.cohesion import (
    agreement_measures,
    cohesion,
    distances,
    gai,
    irr,
    pair_counts,
    shuffle_raters,
    xrr,
)
from sharpbayes.metrics.crowd.groups import assign_groups

DISTANCES = ("nominal", "ordinal", "interval")


def draw_table(seed):
    """A small random table in long form: gaps, unused scores, and raters of no group."""
    rng = np.random.default_rng(seed)
    raters, items, levels = (
        int(rng.integers(3, 8)),
        int(rng.integers(2, 7)),
        int(rng.integers(2, 6)),
    )
    table = rng.integers(0, levels, (raters, items))
    table[rng.random(table.shape) < rng.choice([0.0, 0.3])] = -1
    kind = rng.integers(-1, 2, raters)
    rater, item = np.nonzero(table >= 0)
    order = rng.permutation(len(item))
    return table, kind, item[order], rater[order], levels


def pairs_of(kind, item, rater, table, levels):
    codes = xr.DataArray(kind, dims="rater")
    return pair_counts(
        table[rater, item], item=item, rater=rater, group=codes, n_groups=2, n_scores=levels
    )


def apart(c, k, margin, distance):
    """Squared distance of two scores, straight from Krippendorff's definitions."""
    if distance == "nominal":
        return float(c != k)
    if distance == "interval":
        return float(c - k) ** 2
    low, high = min(c, k), max(c, k)
    between = sum(margin[low : high + 1]) - (margin[c] + margin[k]) / 2
    return between**2 if c != k else 0.0


def brute_xrr(table, kind, group, levels, distance):
    """One rating inside and one outside: of one item, and of any two items."""
    inside, outside = table[kind == group], table[kind != group]
    both = [
        i for i in range(table.shape[1]) if (inside[:, i] >= 0).any() and (outside[:, i] >= 0).any()
    ]
    x = {i: [s for s in inside[:, i] if s >= 0] for i in both}
    y = {i: [s for s in outside[:, i] if s >= 0] for i in both}
    everything = [s for i in both for s in (*x[i], *y[i])]
    margin = [everything.count(s) for s in range(levels)]
    if not both:
        return np.nan
    observed = sum(
        (len(x[i]) + len(y[i]))
        * np.mean([apart(c, k, margin, distance) for c in x[i] for k in y[i]])
        for i in both
    ) / len(everything)
    chance = np.mean(
        [apart(c, k, margin, distance) for i in both for j in both for c in x[i] for k in y[j]]
    )
    return 1 - observed / chance if chance > 0 else np.nan


@pytest.mark.parametrize("distance", DISTANCES)
def test_xrr_follows_its_definition_on_random_tables(distance):
    compared = 0
    for seed in range(250):
        table, kind, item, rater, levels = draw_table(seed)
        reliability = xrr(pairs_of(kind, item, rater, table, levels), distance=distance)
        for group in (0, 1):
            expected = brute_xrr(table, kind, group, levels, distance)
            assert float(reliability.isel(group=group)) == pytest.approx(expected, nan_ok=True)
            compared += np.isfinite(expected)
    assert compared > 200


@pytest.mark.parametrize("distance", DISTANCES)
def test_irr_is_krippendorffs_alpha_on_random_tables(distance):
    compared = 0
    for seed in range(250):
        table, kind, item, rater, levels = draw_table(seed)
        reliability = irr(pairs_of(kind, item, rater, table, levels)["within"], distance=distance)
        for group in (0, 1):
            group_scores = np.where(table[kind == group] < 0, np.nan, table[kind == group])
            pairable = group_scores[:, (~np.isnan(group_scores)).sum(axis=0) > 1]
            used = np.unique(pairable[~np.isnan(pairable)])
            value = float(reliability.isel(group=group))
            if len(used) < 2:
                assert np.isnan(value)
                continue
            expected = krippendorff.alpha(
                group_scores, level_of_measurement=distance, value_domain=list(range(levels))
            )
            assert value == pytest.approx(expected)
            compared += 1
    assert compared > 150


def test_ordinal_distance_by_hand():
    # Ratings 1, 2, 3 of scores 0, 1, 2: from 0 to 2 it is 1/2 + 2 + 3/2 = 4.
    margin = xr.DataArray([1.0, 2.0, 3.0], dims="score")
    distance = distances(margin, distance="ordinal")
    assert distance.values.tolist() == [[0, 2.25, 16], [2.25, 0, 6.25], [16, 6.25, 0]]


def test_gai_is_missing_where_xrr_is_not_positive():
    kind = xr.DataArray([0, 0, 1], dims="rater")
    item, rater = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    # Inside always the same, outside always the opposite.
    pairs = pair_counts(
        np.array([0, 0, 1, 1, 1, 0]), item=item, rater=rater, group=kind, n_groups=2, n_scores=2
    )
    measures = agreement_measures(pairs, distance="nominal").isel(group=0)
    assert (float(measures["irr"]), float(measures["xrr"])) == (1.0, -1.0)
    assert np.isnan(measures["gai"])


def test_gai_is_missing_where_irr_is_not_positive():
    measures = gai(xr.DataArray([-0.03, 0.0, 0.03]), xr.DataArray([0.001, 0.1, 0.1]))
    np.testing.assert_allclose(measures, [np.nan, np.nan, 0.3])


def crowd(seed, *, bond, raters=12, items=80):
    """Two groups of raters; ``bond`` of the first one's ratings share a noise of their own."""
    rng = np.random.default_rng(seed)
    item, rater = np.divmod(np.arange(items * raters), raters)
    group = np.where(np.arange(raters) < raters // 2, "a", "b")
    shared = rng.normal(size=items)
    noise = rng.normal(size=item.size)
    close = (group[rater] == "a") & (rng.random(item.size) < bond)
    perceived = rng.normal(size=items)[item] + np.where(close, 2 * shared[item], noise)
    return np.digitize(perceived, [-1.0, 0.0, 1.0]), item, rater, {"g": group}


def measure_cohesion(level, item, rater, columns, **more):
    membership = assign_groups(columns, [["g"]], n_raters=len(columns["g"]))
    settings = {
        "membership": membership,
        "n_scores": 4,
        "distance": "ordinal",
        "permutations": 199,
        "seed": 1,
        "min_raters": 3,
        "min_items": 10,
    }
    return cohesion(level, item=item, rater=rater, **(settings | more))


def test_a_group_with_a_bond_is_found_and_one_without_is_not():
    agreement = measure_cohesion(*crowd(0, bond=0.8))
    assert float(agreement["gai"].sel(group="g=a")) > 1.2
    assert float(agreement["gai_p_adjusted"].sel(group="g=a")) < 0.05
    free = measure_cohesion(*crowd(0, bond=0.0))
    assert (free["irr_p_adjusted"].sel(group=["g=a", "g=b"]) > 0.05).all()


def test_p_values_are_those_of_every_way_to_split_six_raters():
    level, item, rater, columns = crowd(3, bond=0.7, raters=6)
    agreement = measure_cohesion(level, item, rater, columns, permutations=4000)
    ways = [
        [0 if r in chosen else 1 for r in range(6)]
        for chosen in itertools.combinations(range(6), 3)
    ]
    kind = xr.DataArray(ways, dims=("way", "rater"))
    pairs = pair_counts(level, item=item, rater=rater, group=kind, n_groups=2, n_scores=4)
    every = irr(pairs["within"], distance="ordinal").isel(group=0)
    observed = float(agreement["irr"].sel(group="g=a"))
    above, below = (
        float((every >= observed - 1e-9).mean()),
        float((every <= observed + 1e-9).mean()),
    )
    # 4,000 shuffles: a standard error below 0.01
    expected = min(1.0, 2 * min(above, below))
    assert float(agreement["irr_p"].sel(group="g=a")) == pytest.approx(expected, abs=0.05)


def test_reasons_and_missing_values():
    level, item, rater, columns = crowd(0, bond=0.0)
    columns = {"g": np.array(["a"] * 2 + ["b"] * 9 + [""])}
    agreement = measure_cohesion(level, item, rater, columns)
    reason = dict(
        zip(
            agreement["group"].values.tolist(),
            agreement["reason"].values.tolist(),
            strict=True,
        )
    )
    assert reason == {
        "all": "no rater outside the group: no XRR and GAI",
        "g=a": "2 raters, fewer than min_raters = 3",
        "g=b": "",
    }
    assert agreement["irr"].notnull().values.tolist() == [True, False, True]
    assert agreement["xrr"].notnull().values.tolist() == [False, False, True]
    assert agreement["irr_p"].notnull().values.tolist() == [False, False, True]
    few = measure_cohesion(level, item, rater, columns, min_items=81)
    assert few["reason"].sel(group="g=b").item() == (
        "80 items that two raters of the group scored, fewer than min_items = 81"
    )
    same = measure_cohesion(np.zeros_like(level), item, rater, columns)
    assert same["reason"].sel(group="g=b").item() == "all scores are the same"
    reversed_half = np.where((rater % 2 == 1) & (rater > 1), level.max() - level, level)
    none = measure_cohesion(reversed_half, item, rater, columns)
    assert none["irr"].sel(group="g=b") < 0
    assert none["reason"].sel(group="g=b").item() == "IRR is not positive: no GAI"
    none = measure_cohesion(level, item, rater, columns, permutations=0)
    assert none["irr"].sel(group="g=b").notnull()
    assert none["irr_p"].isnull().all()


def test_a_group_that_scored_other_items_has_no_xrr():
    """No pair of raters shares an item across, which is no matter of agreement."""
    level, item, rater, _ = crowd(0, bond=0.0)
    columns = {"g": np.repeat(["a", "b"], 6)}
    kept = (rater < 6) == (item < 40)
    agreement = measure_cohesion(level[kept], item[kept], rater[kept], columns).sel(group="g=a")
    assert agreement["reason"].item() == (
        "no item was also scored by a rater outside the group: no XRR and GAI"
    )
    assert np.isnan(agreement["xrr"])
    assert np.isfinite(agreement["irr"])


def test_shuffles_keep_sizes_and_differ_by_seed():
    kind = xr.DataArray([0, 0, 1, -1, 1, 1], dims="rater")
    shuffled = shuffle_raters(kind, 50, seed=1).values
    assert all(sorted(row) == [-1, 0, 0, 1, 1, 1] for row in shuffled.tolist())
    assert (shuffled[:, 3] == -1).all()
    assert len({tuple(row) for row in shuffled.tolist()}) > 5
    assert not np.array_equal(shuffled, shuffle_raters(kind, 50, seed=2).values)
