"""Counts of scores, plurality scores and the three sources of labels."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)

MEMBER = xr.DataArray(
    [[True, True, True], [True, False, False], [False, True, True]],
    dims=("group", "rater"),
    coords={"group": ["all", "a", "b"], "grouping": ("group", ["all", "x", "x"])},
)


def counts_of(level, item, rater, *, membership=MEMBER, n_scores=3, items=2):
    return score_counts(
        level if isinstance(level, xr.DataArray) else xr.DataArray(level, dims="rating"),
        item=np.asarray(item),
        rater=np.asarray(rater),
        membership=membership,
        n_scores=n_scores,
        n_items=items,
    )


def test_counts_by_hand():
    # Item 0: rater 0 says 0, raters 1 and 2 say 2. Item 1: rater 0 says 1, rater 1 is missing.
    counts = counts_of([0, 2, 2, 1, -1], [0, 0, 0, 1, 1], [0, 1, 2, 0, 1])
    assert counts.dims == ("group", "item", "score")
    assert counts["group"].values.tolist() == ["all", "a", "b"]
    assert counts["grouping"].values.tolist() == ["all", "x", "x"]
    assert counts.sel(group="all").values.tolist() == [[1, 0, 2], [0, 1, 0]]
    assert counts.sel(group="a").values.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert counts.sel(group="b").values.tolist() == [[0, 0, 2], [0, 0, 0]]


def test_repeated_ratings_by_one_rater_all_count():
    counts = counts_of([1, 1, 2], [0, 0, 0], [0, 0, 0])
    assert counts.sel(group="a", item=0).values.tolist() == [0, 2, 1]


@st.composite
def ratings(draw):
    groups, raters, items, levels = (draw(st.integers(1, most)) for most in (4, 6, 4, 5))
    size = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    membership = xr.DataArray(rng.random((groups, raters)) < 0.5, dims=("group", "rater"))
    return {
        "level": rng.integers(-1, levels, size),
        "item": rng.integers(0, items, size),
        "rater": rng.integers(0, raters, size),
        "membership": membership,
        "n_scores": levels,
        "n_items": items,
    }


def brute_counts(*, level, item, rater, membership, n_scores, n_items):
    counts = np.zeros((membership.sizes["group"], n_items, n_scores), dtype=int)
    for s, i, j in zip(level, item, rater, strict=True):
        for g in range(len(counts)):
            if membership.values[g, j] and s >= 0:
                counts[g, i, s] += 1
    return counts


@settings(deadline=None, max_examples=100)
@given(case=ratings())
def test_counts_follow_the_definition(case):
    counts = score_counts(xr.DataArray(case["level"], dims="rating"), **without(case, "level"))
    assert np.array_equal(counts, brute_counts(**case))


@settings(deadline=None, max_examples=50)
@given(case=ratings(), seed=st.integers(0, 2**32))
def test_row_order_and_rater_names_change_nothing(case, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(case["level"]))
    renamed = rng.permutation(case["membership"].sizes["rater"])
    shuffled = score_counts(
        xr.DataArray(case["level"][order], dims="rating"),
        item=case["item"][order],
        rater=np.argsort(renamed)[case["rater"][order]],
        membership=case["membership"].isel(rater=renamed),
        n_scores=case["n_scores"],
        n_items=case["n_items"],
    )
    plain = score_counts(xr.DataArray(case["level"], dims="rating"), **without(case, "level"))
    assert plain.equals(shuffled)


def test_leading_dimensions_equal_a_loop():
    rng = np.random.default_rng(1)
    item, rater = rng.integers(0, 4, 50), rng.integers(0, 3, 50)
    level = xr.DataArray(
        rng.integers(-1, 3, (2, 3, 50)),
        dims=("chain", "draw", "rating"),
        coords={"draw": [10, 20, 30]},
    )
    together = counts_of(level, item, rater, items=4)
    assert together.dims == ("chain", "draw", "group", "item", "score")
    for chain in range(2):
        for draw in (10, 20, 30):
            one = level.isel(chain=chain).sel(draw=draw, drop=True)
            alone = counts_of(one, item, rater, items=4)
            assert together.isel(chain=chain).sel(draw=draw, drop=True).equals(alone)
    scores = plurality(together)
    assert scores.isel(chain=1, draw=2, drop=True).equals(
        plurality(together.isel(chain=1, draw=2, drop=True))
    )


@pytest.mark.parametrize(
    ("level", "item", "rater", "message"),
    [
        ([3], [0], [0], "score 3 is out of range (allowed: -1 to 2)"),
        ([-2], [0], [0], "score -2 is out of range (allowed: -1 to 2)"),
        ([0], [2], [0], "item 2 is out of range (allowed: 0 to 1)"),
        ([0, 0], [0, 0], [-1, 3], "rater -1, 3 is out of range (allowed: 0 to 2)"),
    ],
)
def test_codes_out_of_range_are_refused(level, item, rater, message):
    with pytest.raises(ValueError, match="out of range") as error:
        counts_of(level, item, rater)
    assert str(error.value) == message


def test_plurality_by_hand():
    counts = xr.DataArray(
        # A clear mode; a tie of 0 and 2 goes to 2; one rating; none.
        [[1, 4, 2], [3, 1, 3], [1, 0, 0], [0, 0, 0]],
        dims=("item", "score"),
    )
    assert plurality(counts).values.tolist() == [1, 2, 0, -1]


def test_expert_labels_by_hand():
    # Item 0 has experts 1, 1, 0; item 1 has 0 and a missing one; item 2 has none.
    counts = expert_label_counts(
        np.array([1, 1, 0, 0, -1]), item=np.array([0, 0, 0, 1, 1]), n_items=3
    )
    assert counts.dims == ("item", "unsafe")
    assert counts["unsafe"].values.tolist() == [0, 1]
    assert counts.values.tolist() == [[1, 2], [1, 0], [0, 0]]


def test_expert_labels_take_draws():
    label = xr.DataArray([[0, 1], [1, 1]], dims=("draw", "row"))
    counts = expert_label_counts(label, item=np.array([0, 0]), n_items=1)
    assert counts.dims == ("draw", "item", "unsafe")
    assert counts.values.tolist() == [[[1, 1]], [[0, 2]]]


def test_labels_are_0_or_1():
    message = r"^label 2 is out of range \(allowed: -1 to 1\)$"
    with pytest.raises(ValueError, match=message):
        expert_label_counts(np.array([2]), item=np.array([0]), n_items=1)
    with pytest.raises(ValueError, match=message):
        item_label_counts(np.array([0, 2]))


def test_item_labels_are_one_row_each():
    counts = item_label_counts(xr.DataArray([[1, 0, -1]], dims=("draw", "item")))
    assert counts.dims == ("draw", "item", "unsafe")
    assert counts.values.tolist() == [[[0, 1], [1, 0], [0, 0]]]


def test_crowd_labels_leave_the_group_out():
    # Item 0: rater 0 says 0, raters 1 and 2 say 1 and 2. Item 1: rater 0 says 2.
    counts = counts_of([0, 1, 2, 2], [0, 0, 0, 1], [0, 1, 2, 0])
    labels = crowd_label_counts(counts, cut=1)
    assert labels.dims == ("group", "item", "unsafe")
    assert labels["unsafe"].values.tolist() == [0, 1]
    # Outside a: raters 1 and 2, both at or above 1 on item 0, silent on item 1.
    assert labels.sel(group="a").values.tolist() == [[0, 2], [0, 0]]
    # Outside b: rater 0, safe on item 0 and unsafe on item 1.
    assert labels.sel(group="b").values.tolist() == [[1, 0], [0, 1]]
    assert labels.sel(group="all").values.tolist() == [[0, 0], [0, 0]]
    assert crowd_label_counts(counts, cut=2).sel(group="a").values.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("cut", [0, 3])
def test_a_cut_off_the_scale_is_refused(cut):
    counts = counts_of([0], [0], [0])
    with pytest.raises(ValueError, match=rf"^cut = {cut} is off the scale \(allowed: 1 to 2\)$"):
        crowd_label_counts(counts, cut=cut)


def test_crowd_labels_need_the_group_of_all():
    counts = counts_of([0], [0], [0])
    for without_all in (counts.isel(group=[1, 2]), counts.drop_vars(["group", "grouping"])):
        with pytest.raises(ValueError, match=r"^crowd labels need the counts of the group 'all'$"):
            crowd_label_counts(without_all, cut=1)


@settings(deadline=None, max_examples=50)
@given(case=ratings())
def test_crowd_labels_count_the_ratings_of_other_raters(case):
    raters = case["membership"].sizes["rater"]
    column = np.where(case["membership"].values[0], "in", "out")
    membership = assign_groups({"side": column}, [["side"]], n_raters=raters)
    level, item, rater = case["level"], case["item"], case["rater"]
    n_scores = case["n_scores"] + 1
    counts = counts_of(
        level, item, rater, membership=membership, n_scores=n_scores, items=case["n_items"]
    )
    labels = crowd_label_counts(counts, cut=1)
    for group in membership["group"].values[1:]:
        outside = ~membership.sel(group=group).values[rater] & (level >= 0)
        for i in range(case["n_items"]):
            rows = level[outside & (item == i)]
            expected = [(rows < 1).sum(), (rows >= 1).sum()]
            assert labels.sel(group=group).isel(item=i).values.tolist() == expected


def without(case, key):
    return {name: value for name, value in case.items() if name != key}
