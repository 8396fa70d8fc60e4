"""Resampled raters against loops over the ratings."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.rater_resampling import RATER_STREAM, rater_runs, resample_raters
from sharpbayes.metrics.crowd.responsiveness import severity_table
from sharpbayes.metrics.crowd.scores import crowd_label_counts, plurality, score_counts
from sharpbayes.metrics.stats.kernels import count_draws

N_ITEMS, N_SCORES = 30, 4


def crowd(seed, cut):
    """Ratings of 30 items by 14 raters in two groupings, a third of them missing."""
    rng = np.random.default_rng(seed)
    columns = {
        "gender": rng.choice(["W", "M", ""], 14).astype(str),
        "age": rng.choice(["old", "young"], 14).astype(str),
    }
    item, rater = np.nonzero(rng.random((N_ITEMS, 14)) < 0.7)
    score = rng.integers(0, N_SCORES, item.size)
    membership = assign_groups(columns, [["gender"], ["age"]], n_raters=14)
    strata = xr.DataArray(
        np.stack([np.ones(N_ITEMS, bool), np.arange(N_ITEMS) < 12]),
        {"by": ["all", "kind=a"]},
        ("by", "item"),
    )
    labels = xr.DataArray(rng.integers(0, 3, (N_ITEMS, 2)), dims=("item", "unsafe"))
    codes = {"item": item, "rater": rater, "membership": membership}
    runs = rater_runs(score, **codes, strata=strata, label_count=labels, cut=cut, n_scores=N_SCORES)
    return score, codes, strata, labels, runs


def tables(runs, *, single_ratings=False):
    return resample_raters(
        runs, lambda rows: xr.Dataset({"rows": rows}), seed=5, single_ratings=single_ratings
    )["rows"]


def expected_table(data, grouping, cut, drawn):
    """Rows of ratings that are repeated as often as their rater is drawn in this grouping."""
    score, codes, strata, labels, _ = data
    groups = assign_groups_of(codes["membership"], grouping)
    repeated = np.repeat(np.arange(score.size), drawn[codes["rater"]])
    counts = score_counts(
        xr.DataArray(score[repeated], dims="rating"),
        item=codes["item"][repeated],
        rater=codes["rater"][repeated],
        membership=groups,
        n_scores=N_SCORES,
        n_items=N_ITEMS,
    )
    if cut:
        labels = crowd_label_counts(counts, cut=cut)
    return severity_table(plurality(counts), labels, by=strata, n_scores=N_SCORES)


def assign_groups_of(membership, grouping):
    kept = (membership["grouping"] == grouping) | (membership["group"] == "all")
    return membership.isel(group=np.flatnonzero(kept))


@pytest.mark.parametrize("cut", [0, 2])
@pytest.mark.parametrize("grouping", ["gender", "age"])
def test_rows_are_those_of_the_raters_drawn(cut, grouping):
    data = crowd(1, cut)
    codes, runs = data[1], data[-1]
    rows = tables(runs)
    names = list(dict.fromkeys(codes["membership"]["grouping"].values))
    for replicate in (0, 7):
        drawn = drawn_raters(runs, replicate)[names.index(grouping)]
        assert drawn.sum() == 14
        table = expected_table(data, grouping, cut, drawn)
        table = table.isel(group=np.flatnonzero(table["grouping"] == grouping))
        np.testing.assert_array_equal(
            rows.isel(replicate=replicate).sel(group=table["group"]), table
        )


def drawn_raters(runs, replicate):
    """How often each rater is drawn in each grouping, by the documented streams."""
    weights = np.zeros(runs.n_weights, int)
    for number, columns in enumerate(runs.members):
        counts = np.empty((1, columns.size), np.uint16)
        count_draws(5 ^ (RATER_STREAM + number), replicate, counts)
        weights[columns] = counts[0]
    return weights.reshape(-1, 14)


def test_every_group_draws_as_many_raters_as_it_has():
    _, codes, _, _, runs = crowd(2, 0)
    membership = codes["membership"]
    names = list(dict.fromkeys(membership["grouping"].values))
    for replicate in range(20):
        drawn = drawn_raters(runs, replicate)
        for group in membership["group"].values:
            member = membership.sel(group=group)
            row = drawn[names.index(member["grouping"].item())]
            assert row[member.values].sum() == member.sum()


def test_single_ratings_keep_the_number_of_rated_items():
    data = crowd(3, 0)
    rows = tables(data[-1], single_ratings=True)
    observed = expected_table(data, "age", 0, np.ones(14, int))
    total = rows.sum(["score", "unsafe"]).sel(group=observed["group"])
    expected = observed.sum(["score", "unsafe"])
    assert (total == expected).all()
    assert (rows.var("replicate") > 0).any()


def test_without_differences_between_raters_nothing_is_added():
    # All raters answer by the same law: resampled raters vary as resampled ratings do.
    variances = np.zeros(2)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        item, rater = np.divmod(np.arange(100 * 12), 12)
        unsafe = rng.integers(0, 2, 100)
        runs = rater_runs(
            rng.integers(0, 3, item.size),
            item=item,
            rater=rater,
            membership=assign_groups({}, [], n_raters=12),
            strata=xr.DataArray(np.ones((1, 100), bool), {"by": ["all"]}, ("by", "item")),
            label_count=xr.DataArray(np.stack([1 - unsafe, unsafe], 1), dims=("item", "unsafe")),
            cut=0,
            n_scores=3,
        )
        variances += [
            tables(runs, single_ratings=single).var("replicate").sum().item()
            for single in (False, True)
        ]
    assert variances[0] == pytest.approx(variances[1], rel=0.2)
