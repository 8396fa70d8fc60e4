"""A rater's own metrics are those of a group with that rater alone."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.groups import assign_groups, assign_strata
from sharpbayes.metrics.crowd.raters import RaterScores, rater_intervals, rater_metrics
from sharpbayes.metrics.crowd.responsiveness import metric_names, responsiveness
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.metrics.stats.ranks import rank
from sharpbayes.metrics.stats.resampling import bootstrap_counts
from tests.metrics.crowd.test_responsiveness_crowd import simulated_crowd


def as_groups(level, item, rater, expert, *, cut, min_items):
    """Every rater as a group, through the functions for groups."""
    names = np.array([f"{r:02d}" for r in range(rater.max() + 1)])
    membership = assign_groups({"r": names}, [["r"]], n_raters=len(names))
    counts = score_counts(
        xr.DataArray(level, dims="rating"),
        item=item,
        rater=rater,
        membership=membership,
        n_scores=5,
        n_items=len(expert),
    )
    labels = crowd_label_counts(counts, cut=cut) if cut else expert_labels(expert)
    metrics = responsiveness(
        plurality(counts),
        labels,
        by=assign_strata({}, [], n_items=len(expert)),
        raters=membership.sum("rater"),
        min_raters=1,
        min_items=min_items,
        n_scores=5,
    )
    return metrics.isel(by=0, group=slice(1, None)), counts


def expert_labels(expert):
    item = np.repeat(np.arange(len(expert)), expert.shape[1])
    return expert_label_counts(expert.ravel(), item=item, n_items=len(expert))


@pytest.mark.parametrize("cut", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_a_rater_is_a_group_of_one(seed, cut):
    level, item, rater, expert, _ = simulated_crowd(seed, items=25, raters=6)
    kept = (level >= 0) & ~((rater == 5) & (item > 3))
    level, item, rater = level[kept], item[kept], rater[kept]
    expected, counts = as_groups(level, item, rater, expert, cut=cut, min_items=10)
    if cut:
        every = counts.isel(group=0)
        labels = np.stack([every[:, :cut].sum("score"), every[:, cut:].sum("score")], axis=1)
    else:
        labels = expert_labels(expert).values
    order = np.random.default_rng(seed).permutation(item.size)
    rows = (level[order], item[order], rater[order])
    scores = RaterScores(*rows, labels, cut=cut, n_raters=6, n_scores=5)
    metrics = rater_metrics(scores, min_items=10)
    for name in (*metric_names(), "items"):
        assert metrics[name].values == pytest.approx(expected[name].values, nan_ok=True), name
    assert metrics["reason"].values.tolist() == expected["reason"].values.tolist()
    assert metrics["reason"].values[5].endswith("fewer than min_items = 10")
    assert (
        metrics["score_count"].values[2].tolist()
        == np.bincount(level[rater == 2], minlength=5).tolist()
    )


def test_ranks_share_the_best_place():
    ranks = rank(
        xr.DataArray([0.1, np.nan, 0.3, 0.3, 0.2], dims="rater"), method="min", descending=True
    )
    assert ranks.values == pytest.approx([4, np.nan, 1, 1, 3], nan_ok=True)


def test_intervals_are_those_of_resampled_ratings():
    level, item, rater, expert, _ = simulated_crowd(0, items=25, raters=6)
    kept = level >= 0
    level, item, rater = level[kept], item[kept], rater[kept]
    units = xr.DataArray(np.arange(25), dims="item")
    drawn = bootstrap_counts(units, replicates=40, seed=3, dim="item").values.astype(int)
    values = []
    for times in drawn:
        # Every item as often as it was drawn, each time an item of its own.
        rows = [np.flatnonzero(item == i) for i in np.repeat(np.arange(25), times)]
        again = np.repeat(np.arange(25), times)
        new = np.repeat(np.arange(25), [len(r) for r in rows])
        chosen = np.concatenate(rows)
        intervals, _ = as_groups(
            level[chosen], new, rater[chosen], expert[again], cut=0, min_items=1
        )
        values.append(intervals["hm"].values)
    labels = expert_labels(expert).values
    scores = RaterScores(level, item, rater, labels, cut=0, n_raters=6, n_scores=5)
    intervals = rater_intervals(scores, replicates=40, seed=3, level=0.9)["hm_interval"]
    assert intervals.values == pytest.approx(np.nanquantile(values, [0.05, 0.95], axis=0).T)


def test_a_rater_with_one_score_has_no_interval():
    labels = np.array([[1, 0], [0, 1]] * 10, dtype=float)
    scores = RaterScores(
        np.ones(20, int), np.arange(20), np.zeros(20, int), labels, cut=0, n_raters=1, n_scores=3
    )
    assert float(rater_metrics(scores, min_items=1)["mpa"][0]) == 0
    intervals = rater_intervals(scores, replicates=30, seed=1, level=0.9)
    assert all(np.isnan(intervals[name]).all() for name in intervals)
