"""Items of a crowd chosen by name."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.errors import SpecError
from sharpbayes.report.items import choose_items
from sharpbayes.report.tables.catalogue import TABLES
from sharpbayes.report.tables.declaration import build_tables
from tests.report.hand_made import add, crowd, panel

RATERS = ["r1", "r2", "r3"]


def results():
    """A crowd of three raters and three items, of which one is contested."""
    contested = xr.Dataset(
        {"score": (("item", "rater"), [[0, 2, -1]]), "text": ("item", ["How?"])},
        {"item": ["i2"], "rater": RATERS, "group:degree": ("rater", ["MD", "", "PhD"])},
    )
    items = xr.Dataset(
        {
            "plurality": (("item", "group"), np.zeros((3, 3), int)),
            "score_count": (("item", "group", "score"), np.tile([2, 1, 0], (3, 3, 1))),
            "disagreement": ("item", [0.0, 2.0, np.nan]),
            "in_priority_grouping": ("group", [False, True, True]),
        },
        {
            "item": ["i1", "i2", "i3"],
            "group": ["all", "g=x", "g=y"],
            "score": ["low", "mid", "top"],
        },
    )
    ratings = xr.Dataset(
        {
            "score": ("rating", [1, 0, 2, 2]),
            "item_code": ("rating", [0, 1, 1, 2]),
            "rater_code": ("rating", [2, 0, 1, 1]),
            "item_text": ("item", ["Who?", "How?", ""]),
        },
        {"item": ["i1", "i2", "i3"], "rater": RATERS},
    )
    return add(crowd(), contested_items=contested, items=items, ratings=ratings)


def tables(tree):
    """Tables of single items by title."""
    specs = [spec for spec in TABLES if "item {item}" in str(spec.title)]
    return {table.title: table for table in build_tables(specs, tree)}


def test_a_contested_item_has_each_rater_with_score_groups_and_text():
    shown = tables(results())
    by_rater = shown["Raters of item i2 with their scores and groups"]
    assert by_rater.header == ("rater", "score", "degree")
    assert by_rater.rows == (("r2", "top", "-"), ("r1", "low", "MD"))
    assert shown["Scores of item i2"].note == (
        "Plurality of all raters: low. One of the items seen most differently. Text: How?"
    )


@pytest.mark.parametrize("disagreement", [0.0, np.nan])
def test_an_item_that_groups_see_alike_or_one_group_saw_is_not_seen_differently(disagreement):
    tree = results()
    tree["items"]["disagreement"][1] = disagreement
    note = "Plurality of all raters: low. Text: How?"
    assert tables(tree)["Scores of item i2"].note == note


def test_a_tie_of_scores_is_said():
    tree = results()
    tree["items"]["plurality"][1] = 2
    tree["items"]["score_count"][1] = [1, 0, 1]
    assert tables(tree)["Scores of item i2"].note == (
        "Plurality of all raters: top (a tie of low and top; the most harmful counts). One of the "
        "items seen most differently. Text: How?"
    )


def test_items_are_chosen_by_name_in_the_order_given():
    shown = tables(choose_items(results(), ["i3", "i1", "i3"]))
    assert [*shown] == [
        "Scores of item i3",
        "Scores of item i1",
        "Raters of item i3 with their scores and groups",
        "Raters of item i1 with their scores and groups",
    ]
    assert shown["Raters of item i1 with their scores and groups"].rows == (("r3", "mid", "PhD"),)
    assert shown["Scores of item i3"].note == "Plurality of all raters: low."
    assert shown["Scores of item i1"].note == "Plurality of all raters: low. Text: Who?"


def test_without_names_results_stay_as_they_are():
    tree = results()
    assert choose_items(tree, []) is tree
    choose_items(tree, ["i1"])
    assert list(tree["contested_items"]["item"].to_numpy()) == ["i2"]


@pytest.mark.parametrize(
    ("tree", "names", "message"),
    [
        (
            results(),
            ["i22", "x"],
            "report --item: no item 'i22', there are i1, i2, i3; did you mean 'i2'?; no item 'x', "
            "there are i1, i2, i3",
        ),
        (panel(), ["p1"], "report --item: results without raters have no items"),
    ],
)
def test_what_cannot_be_shown_is_named(tree, names, message):
    with pytest.raises(SpecError) as error:
        choose_items(tree, names)
    assert str(error.value) == message
