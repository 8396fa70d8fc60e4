"""Groups of raters, strata of items, and why some are not measured."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.groups import (
    assign_groups,
    assign_strata,
    explain_missing,
    shared_items,
)

COLUMNS = {
    "gender": np.array(["Woman", "Man", "Woman", ""]),
    "age": np.array(["GenZ", "GenZ", "GenX", "GenX"]),
}


def test_membership_by_hand():
    membership = assign_groups(COLUMNS, [["gender"], ["gender", "age"]], n_raters=4)
    assert membership.dims == ("group", "rater")
    assert dict(
        zip(
            membership["group"].values.tolist(), membership.values.astype(int).tolist(), strict=True
        )
    ) == {
        "all": [1, 1, 1, 1],
        "gender=Man": [0, 1, 0, 0],
        "gender=Woman": [1, 0, 1, 0],
        "gender=Man,age=GenZ": [0, 1, 0, 0],
        "gender=Woman,age=GenX": [0, 0, 1, 0],
        "gender=Woman,age=GenZ": [1, 0, 0, 0],
    }
    assert membership["grouping"].values.tolist() == ["all", *["gender"] * 2, *["gender,age"] * 3]


def test_no_grouping_leaves_all_raters():
    membership = assign_groups({}, [], n_raters=2)
    assert membership["group"].values.tolist() == ["all"]
    assert membership.values.tolist() == [[True, True]]


def test_a_column_without_values_makes_no_group():
    membership = assign_groups({"age": np.array(["", ""])}, [["age"]], n_raters=2)
    assert membership["group"].values.tolist() == ["all"]


@pytest.mark.parametrize(
    ("groupings", "message"),
    [
        ([["gendr"]], "no column 'gendr' (there are: gender, age); did you mean 'gender'?"),
        ([["age"], ["gender"], ["age"]], "a grouping comes twice: age, gender, age"),
    ],
)
def test_bad_groupings_are_refused(groupings, message):
    with pytest.raises(ValueError, match=r"column|twice") as error:
        assign_groups(COLUMNS, groupings, n_raters=4)
    assert str(error.value) == message


def test_a_column_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^column 'age' has 4 values, not 3$"):
        assign_groups(COLUMNS, [["age"]], n_raters=3)


def test_strata_by_hand():
    by = assign_strata({"violation": np.array(["Bias", "", "Sexual"])}, ["violation"], n_items=3)
    assert by.dims == ("by", "item")
    assert by["by"].values.tolist() == ["all", "violation=Bias", "violation=Sexual"]
    assert by.values.astype(int).tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 1]]
    assert set(by.coords) == {"by"}


def test_shared_items_need_a_score_and_a_label():
    scores = xr.DataArray([[0, -1, 2, 1], [-1, -1, 0, 0]], dims=("group", "item"))
    labels = xr.DataArray([[1, 0], [1, 1], [0, 0], [0, 3]], dims=("item", "unsafe"))
    by = assign_strata({"kind": np.array(["a", "a", "b", "b"])}, ["kind"], n_items=4)
    shared = shared_items(scores, labels, by=by)
    assert shared.dims == ("group", "by")
    # Group 0 shares items 0 and 3; group 1 shares item 3 alone.
    assert shared.values.tolist() == [[2, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("raters", "items", "rows", "message"),
    [
        (3, 10, (4, 6), ""),
        (2, 10, (4, 6), "2 raters, fewer than min_raters = 3"),
        (1, 10, (4, 6), "1 rater, fewer than min_raters = 3"),
        (3, 9, (4, 6), "9 items with a score and a label, fewer than min_items = 10"),
        (3, 10, (4, 0), "no item is labelled unsafe"),
        (3, 10, (0, 4), "no item is labelled safe"),
        (
            0,
            1,
            (0, 1),
            (
                "0 raters, fewer than min_raters = 3; "
                "1 item with a score and a label, fewer than min_items = 10"
            ),
        ),
    ],
)
def test_reasons_are_exact(raters, items, rows, message):
    table = xr.DataArray([[[rows]]], dims=("group", "by", "score", "unsafe"))
    reason = explain_missing(
        table,
        xr.DataArray([[items]], dims=("group", "by")),
        min_raters=3,
        min_items=10,
        raters=xr.DataArray([raters], dims="group"),
    )
    assert reason.item() == message


def test_no_items_is_a_reason_even_where_none_are_required():
    table = xr.DataArray([[[[0, 0]]]], dims=("group", "by", "score", "unsafe"))
    items = xr.DataArray([[0]], dims=("group", "by"))
    reason = explain_missing(table, items, min_raters=0, min_items=0, raters=None)
    assert reason.item() == "0 items with a score and a label, fewer than min_items = 1"
