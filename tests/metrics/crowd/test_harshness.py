"""Differences of mean scores against statsmodels' least squares and loops over clusters."""

import numpy as np
import pytest
import xarray as xr

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
    m = np.where(man, man.sum(), (~man).sum())
    by_rater = by_rater**2 * m / (m - 1)
    by_cluster = np.bincount(of_rating, leverage * residual)
    by_both = np.bincount(of_rating * 12 + rater, leverage * adjusted)
    items = max(0.0, (by_cluster**2).sum() - (by_both**2).sum())
    raters = by_rater.sum()
    ways = [{"cluster": cluster}] + [{}] * (size == 1)
    pair = {"group": "gender=Woman", "other": "gender=Man"}
    cell, *others = (compared(score, item, rater, membership, **way).sel(pair) for way in ways)
    assert float(cell["difference"]) == pytest.approx(coefficient[-1])
    n = min(len(set(of_rating[man[rater]])), len(set(of_rating[~man[rater]])))
    of_groups = sum(by_rater[who].sum() ** 2 / (who.sum() - 1) for who in (man, ~man))
    freedom = (items + raters) ** 2 / (items**2 / (n - 1) + of_groups)
    from scipy import stats  # noqa: PLC0415

    expected = stats.t.interval(0.95, freedom, coefficient[-1], np.sqrt(items + raters))
    assert cell["difference_interval"].values == pytest.approx(expected)
    for other in others:
        assert other["difference_interval"].values == pytest.approx(expected)
    p = 2 * stats.t.sf(abs(coefficient[-1]) / np.sqrt(items + raters), freedom)
    assert float(cell["p"]) == pytest.approx(p)


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
