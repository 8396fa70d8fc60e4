"""Differences of mean scores against statsmodels' least squares and loops over clusters."""

import numpy as np
import pytest
import xarray as xr
from statsmodels.stats.multitest import multipletests

from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.harshness import harshness_difference


def crowd(seed, *, shift=0.0, share=1.0, raters=12, items=60):
    rng = np.random.default_rng(seed)
    columns = {"gender": np.where(np.arange(raters) % 3 == 0, "Man", "Woman")}
    latent = rng.normal(size=items) + rng.normal(0, 0.4, (raters, 1))
    latent = latent + shift * (columns["gender"] == "Woman")[:, None]
    score = np.digitize(latent + rng.normal(size=latent.shape), [-1, 0, 1, 2])
    rater, item = np.nonzero(rng.random(score.shape) < share)
    membership = assign_groups(columns, [["gender"]], n_raters=raters)
    return score[rater, item], item, rater, membership


def compared(score, item, rater, membership, **options):
    sizes = {"min_raters": 3, "level": 0.95} | options
    return harshness_difference(score, item=item, rater=rater, membership=membership, **sizes)


def test_where_everyone_rates_everything_it_is_the_difference_of_mean_scores():
    score, item, rater, membership = crowd(1)
    cell = compared(score, item, rater, membership).sel(group="gender=Woman", other="gender=Man")
    woman = membership.sel(group="gender=Woman").to_numpy()[rater]
    expected = score[woman].mean() - score[~woman].mean()
    assert float(cell["difference"]) == pytest.approx(expected)
    assert np.isnan(compared(score, item, rater, membership)["p"].sel(group="all")).all()


def loads_by_definition(item, rater, man):
    """Factors of raters' squares, and how many raters each group is worth, by loops."""
    load, factor = np.zeros(man.size), np.zeros(man.size)
    for i, r in zip(item, rater, strict=True):
        load[r] += 1 - np.mean(man[rater[item == i]] == man[r])
    worth = []
    for who in (man, ~man):
        share = load[who] / load[who].sum()
        squares = (share**2).sum()
        factor[who] = 1 / (1 - 2 * share + squares)
        worth.append(1 / squares)
    return factor, worth


def pool(variances, worth):
    """Degrees of freedom of a sum over two groups."""
    return sum(variances) ** 2 / sum(v**2 / (m - 1) for v, m in zip(variances, worth, strict=True))


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("size", [1, 5])
def test_variances_are_sums_over_clusters(share, size):
    """Least squares with dummies, and sums of residuals by cluster of items, rater and both."""
    score, item, rater, membership = crowd(2, share=share)
    cluster = np.arange(60) // size
    of_rating = cluster[item]
    man = membership.sel(group="gender=Man").to_numpy()
    x = np.column_stack([np.eye(60)[item], ~man[rater]]).astype(float)
    coefficient, *_ = np.linalg.lstsq(x, score.astype(float), rcond=None)
    residual = score - x @ coefficient
    leverage = (np.linalg.pinv(x.T @ x) @ x.T)[-1]
    adjusted = residual / np.sqrt(1 - 1 / np.bincount(item)[item])
    by_rater = np.bincount(rater, leverage * adjusted)
    factor, worth = loads_by_definition(item, rater, man)
    by_rater = by_rater**2 * factor
    by_cluster = np.bincount(of_rating, leverage * residual)
    by_both = np.bincount(of_rating * 12 + rater, leverage * adjusted)
    items = max(0.0, (by_cluster**2).sum() - (by_both**2).sum())
    raters = by_rater.sum()
    ways = [{"cluster": cluster}] + [{}] * (size == 1)
    pair = {"group": "gender=Woman", "other": "gender=Man"}
    cell, *others = (compared(score, item, rater, membership, **way).sel(pair) for way in ways)
    assert float(cell["difference"]) == pytest.approx(coefficient[-1])
    n = min(len(set(of_rating[man[rater]])), len(set(of_rating[~man[rater]])))
    of_groups = by_rater[man].sum(), by_rater[~man].sum()
    n_raters = min(pool(of_groups, worth), pool([1 / m for m in worth], worth))
    freedom = (items + raters) ** 2 / (items**2 / (n - 1) + raters**2 / n_raters)
    from scipy import stats  # noqa: PLC0415

    expected = stats.t.interval(0.95, freedom, coefficient[-1], np.sqrt(items + raters))
    assert cell["difference_interval"].values == pytest.approx(expected)
    for other in others:
        assert other["difference_interval"].values == pytest.approx(expected)
    p = 2 * stats.t.sf(abs(coefficient[-1]) / np.sqrt(items + raters), freedom)
    assert float(cell["p"]) == pytest.approx(p)


def unequal_loads(rng, *, raters, items, loads):
    """Two groups of one law, whose raters have so many ratings each, on items at random."""
    rows = [rng.choice(items, load, replace=False) for load in loads]
    item, rater = np.concatenate(rows), np.repeat(np.arange(raters), loads)
    latent = rng.normal(size=items)[item] + 0.4 * rng.normal(size=raters)[rater]
    score = np.digitize(latent + 0.8 * rng.normal(size=item.size), [-0.5, 0.2, 0.8, 1.5])
    columns = {"gender": np.where(np.arange(raters) % 2 == 0, "Man", "Woman")}
    return score, item, rater, assign_groups(columns, [["gender"]], n_raters=raters)


@pytest.mark.parametrize("loads", [[300] + [15] * 19, [300, 300] + [15] * 18])
def test_equal_groups_are_seldom_told_apart_where_few_raters_give_most_ratings(loads):
    """They were in 28% of studies with one such rater, when every rater counted alike."""
    claims = []
    for seed in range(200):
        study = unequal_loads(np.random.default_rng([8, seed]), raters=20, items=300, loads=loads)
        claims.append(bool((compared(*study)["p"] < 0.05).any()))
    assert np.mean(claims) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_raters_without_a_rating_that_tells_count_for_nothing():
    """Those who rated nothing, and items that only one group rated."""
    score, item, rater, membership = crowd(5, share=0.5)
    more = {"gender": np.append(membership.sel(group="gender=Man").to_numpy(), [True, False])}
    columns = {"gender": np.where(more["gender"], "Man", "Woman")}
    with_idle = assign_groups(columns, [["gender"]], n_raters=14)
    plain, idle = compared(score, item, rater, membership), compared(score, item, rater, with_idle)
    for name in ("difference", "difference_interval", "p"):
        assert idle[name].values == pytest.approx(plain[name].values, nan_ok=True)
    alone = np.append(item, np.full(4, 60)), np.append(rater, np.flatnonzero(more["gender"])[:4])
    of_one_group = compared(np.append(score, [0, 1, 4, 4]), *alone, with_idle)
    assert of_one_group["p"].values == pytest.approx(plain["p"].values, nan_ok=True)


def test_one_rater_of_a_group_with_all_its_ratings_gives_no_test():
    score, item, rater, membership = crowd(3)
    man = membership.sel(group="gender=Man").to_numpy()
    kept = ~man[rater] | (rater == np.flatnonzero(man)[0])
    cell = compared(score[kept], item[kept], rater[kept], membership).sel(group="gender=Man")
    assert np.isfinite(cell["difference"]).any()
    assert np.isnan(cell["p"]).all()
    assert np.isnan(cell["difference_interval"]).all()


def test_holm_is_over_all_pairs_of_all_groupings():
    score, item, rater, _ = crowd(6)
    columns = {"a": np.array([*"xy"] * 6), "b": np.repeat([*"uvw"], 4)}
    membership = assign_groups(columns, [["a"], ["b"]], n_raters=12)
    table = compared(score, item, rater, membership)
    pairs = np.triu_indices(table.sizes["group"], k=1)
    p, corrected = (table[name].to_numpy()[pairs] for name in ("p", "p_holm"))
    is_tested = ~np.isnan(p)
    assert is_tested.sum() == 4
    assert corrected[is_tested] == pytest.approx(multipletests(p[is_tested], method="holm")[1])


def test_groups_without_common_items_are_not_compared():
    score, item, rater, membership = crowd(3)
    man = membership.sel(group="gender=Man").to_numpy()[rater]
    kept = man == (item < 30)
    cell = compared(score[kept], item[kept], rater[kept], membership)
    assert np.isnan(cell["difference"]).all()


def test_one_item_gives_a_difference_and_no_test():
    score, item, rater, membership = crowd(3)
    kept = item == 0
    cell = compared(score[kept], item[kept], rater[kept], membership)
    assert np.isfinite(cell["difference"]).any()
    assert np.isnan(cell["p"]).all()
    assert np.isnan(cell["difference_interval"]).all()


def test_groups_with_few_raters_are_not_compared():
    score, item, rater, membership = crowd(4)
    assert np.isnan(compared(score, item, rater, membership, min_raters=5)["difference"]).all()


@pytest.mark.parametrize(
    ("raters", "items", "share"),
    [
        (24, 100, 0.1),
        pytest.param(60, 100, 0.1, marks=pytest.mark.slow),
        pytest.param(8, 60, 1.0, marks=pytest.mark.slow),
    ],
)
def test_equal_groups_are_seldom_told_apart_where_each_rater_has_few_items(raters, items, share):
    """Three groups of one law: any pair at 5% by Holm, in 5% of studies."""
    claims = []
    for seed in range(300):
        score, item, rater, _ = crowd(seed, share=share, raters=raters, items=items)
        columns = {"town": np.array([*"abc"])[np.arange(raters) % 3]}
        membership = assign_groups(columns, [["town"]], n_raters=raters)
        cells = compared(score, item, rater, membership, min_raters=2)
        claims.append(bool((cells["p_holm"] < 0.05).any()))
    assert np.mean(claims) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "items"), [(12, 60), (30, 200)])
def test_intervals_hold_and_equal_groups_are_called_equal(raters, items):
    """The truth is 0 or the mean difference of many large crowds; 95% give or take 3 points."""
    for shift in (0.0, 0.5):
        large = [crowd(10_000 + s, shift=shift, raters=300, items=400) for s in range(20)]
        gaps = [float(compared(*one)["difference"].isel(group=2, other=1)) for one in large]
        truth = np.mean(gaps)
        cells = [
            compared(*crowd(seed, shift=shift, raters=raters, items=items)).isel(group=2, other=1)
            for seed in range(400)
        ]
        bounds = xr.concat([cell["difference_interval"] for cell in cells], "study").to_numpy()
        covered = ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean()
        assert 0.92 <= covered <= 0.985
