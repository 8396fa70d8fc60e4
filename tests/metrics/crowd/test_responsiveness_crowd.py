"""From ratings in long form to responsiveness of groups with intervals."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.crowd.groups import assign_groups, assign_strata
from sharpbayes.metrics.crowd.responsiveness import responsiveness
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.resampling import bootstrap

METRICS = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


def simulated_crowd(seed, *, items=60, raters=12, n_scores=5):
    """Ratings in long form that follow a latent severity, with gaps, and the raters' gender."""
    rng = np.random.default_rng(seed)
    item, rater = np.divmod(np.arange(items * raters), raters)
    severity = rng.normal(size=items)
    level = np.clip(np.round(2 + severity[item] + rng.normal(size=len(item))), 0, n_scores - 1)
    level = np.where(rng.random(len(item)) < 0.2, -1, level).astype(int)
    expert = (severity[:, None] + 0.5 * rng.normal(size=(items, 3)) > 0.3).astype(int)
    gender = np.where(rng.permutation(raters) < raters // 2, "Woman", "Man")
    return level, item, rater, expert, gender


def crowd_metrics(level, item, rater, expert, gender, *, crowd_labels=False):
    membership = assign_groups({"gender": gender}, [["gender"]], n_raters=len(gender))
    items = len(expert)
    counted = score_counts(
        xr.DataArray(level, dims="rating"),
        item=item,
        rater=rater,
        membership=membership,
        n_scores=5,
        n_items=items,
    ).assign_coords(item=[f"item {i}" for i in range(items)])
    expert_item = np.repeat(np.arange(items), expert.shape[1])
    labels = (
        crowd_label_counts(counted, cut=2)
        if crowd_labels
        else expert_label_counts(expert.ravel(), item=expert_item, n_items=items).assign_coords(
            item=counted["item"]
        )
    )
    by = assign_strata({}, [], n_items=items)
    scores = plurality(counted)
    statistic = partial(
        responsiveness,
        scores,
        labels,
        by=by,
        raters=membership.sum("rater"),
        min_raters=3,
        min_items=10,
        n_scores=5,
    )
    return statistic, scores["item"]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32), crowd_labels=st.booleans())
def test_shuffled_rows_and_renamed_raters_change_nothing(seed, crowd_labels):
    level, item, rater, expert, gender = simulated_crowd(seed, items=20)
    rng = np.random.default_rng(seed)
    rows, renamed = rng.permutation(len(level)), rng.permutation(len(gender))
    plain, _ = crowd_metrics(level, item, rater, expert, gender, crowd_labels=crowd_labels)
    shuffled, _ = crowd_metrics(
        level[rows],
        item[rows],
        np.argsort(renamed)[rater[rows]],
        rng.permuted(expert, axis=1),
        gender[renamed],
        crowd_labels=crowd_labels,
    )
    assert plain().identical(shuffled())


def test_nobody_is_outside_all_to_label_its_items():
    statistic, _ = crowd_metrics(*simulated_crowd(0), crowd_labels=True)
    metrics = statistic()
    reason = metrics["reason"].sel(group="all", by="all").item()
    assert reason == "only the raters themselves label items"
    assert metrics["mpa"].sel(group="gender=Man", by="all").notnull()
    assert metrics["grouping"].values.tolist() == ["all", "gender", "gender"]


def test_bootstrap_intervals_hold_the_observed_values():
    statistic, items = crowd_metrics(*simulated_crowd(0))
    resampled = bootstrap(
        lambda weights: statistic(weights=weights)[list(METRICS)],
        items,
        replicates=200,
        seed=1,
        dim="item",
        block=80,
    )
    assert resampled["mpa"].dims == ("replicate", "group", "by")
    interval, observed = percentile_interval(resampled, level=0.95), statistic()
    for name in ("wra", "kendall_tau", "spearman", "auc_pr", "auc_roc"):
        lower, upper = (interval[name].sel(bound=bound) for bound in ("lower", "upper"))
        assert ((lower < observed[name]) & (observed[name] < upper)).all(), name


def test_paper_section_4_a_conservative_group_orders_worse_than_it_discriminates():
    # Scores above 0 only, and at random, for the most severe items (appendix A, third pattern).
    rng = np.random.default_rng(5)
    severity = np.sort(rng.normal(size=400))
    unsafe = (severity > np.quantile(severity, 0.6)).astype(int)
    normal = np.searchsorted(np.quantile(severity, [0.2, 0.4, 0.6, 0.8]), severity)
    conservative = np.where(unsafe == 1, rng.integers(1, 5, 400), 0)
    scores = xr.DataArray(np.stack([normal, conservative]), dims=("group", "item"))
    metrics = responsiveness(
        scores,
        item_label_counts(unsafe),
        by=assign_strata({}, [], n_items=400),
        min_raters=1,
        min_items=1,
        n_scores=5,
    )
    # Both separate the labels perfectly, but 0 | 1, 1, 1, 1 has area 4 of 6.
    assert metrics["wra"].values.ravel().tolist() == pytest.approx([1, 1])
    assert metrics["mpa"].values.ravel().tolist() == pytest.approx([1, 4 / 6])
