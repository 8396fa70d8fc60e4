"""A table of a crowd's ratings and its labels."""

import pandas as pd
import pytest

from sharpbayes.data.columns import sort_labels
from sharpbayes.data.crowd import melt_crowd, read_crowd
from tests.data.tables import ROWS, crowd, error_text, write


def test_a_crowd_by_hand(tmp_path):
    data = read_crowd(crowd(), write(tmp_path, ROWS))
    assert data.item.labels == ("1", "2", "10")
    assert data.score.tolist() == [0, 2, 1, 2, 2]
    assert data.counts == {"ratings": 5, "missing": 1, "repeated": 0, "labels": 0}
    ratings = melt_crowd(data, crowd())
    assert ratings.factors["group:g"].labels == ("m", "w")
    assert ratings.factors["group:g"].codes.tolist() == [1, 0, 1, 1, 0]


def test_bins_hold_their_lower_end(tmp_path):
    table = ROWS.assign(s=["0", "19.9", "20", "59", "60", "100"])
    data = read_crowd(crowd(scale={"bins": [20, 60]}), write(tmp_path, table))
    assert data.score.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("rule", "kept"), [("first", 0), ("last", 1)])
def test_repeated_ratings_are_refused_or_dropped(tmp_path, rule, kept):
    write(tmp_path, pd.concat([ROWS, ROWS[:1].assign(s="1")]))
    assert error_text(lambda: read_crowd(crowd(), tmp_path), tmp_path) == (
        "t.csv: i, r: 1 row repeats a rating of an item by a rater: row 8; the first is i '1', "
        "r 'a'"
    )
    data = read_crowd(crowd(duplicates=rule), tmp_path)
    assert (int(data.score[0]), data.counts["repeated"]) == (kept, 1)


def test_labels_of_experts_for_items_that_were_rated(tmp_path):
    write(tmp_path, ROWS)
    experts = pd.DataFrame(
        {"item": ["2", "1", "99"], "expert": ["e"] * 3, "label": ["1", "no", "1"]}
    )
    write(tmp_path, experts, "experts.csv")
    data = read_crowd(crowd(labels={"from": "experts", "data": "experts.csv"}), tmp_path)
    # In the order of items and experts, whatever that of the file.
    assert data.expert_item.tolist() == [0, 1]
    assert data.expert_label.tolist() == [0, 1]
    write(tmp_path, experts.assign(item="x", expert=["e", "f", "g"]), "experts.csv")
    spec = crowd(labels={"from": "experts", "data": "experts.csv"})
    assert error_text(lambda: read_crowd(spec, tmp_path), tmp_path) == (
        "experts.csv: item: no item here was rated by the crowd"
    )


def test_labels_from_a_column_of_items(tmp_path):
    write(tmp_path, ROWS.assign(gold=["1", "1", "0", "0", "", ""]))
    data = read_crowd(crowd(labels={"from": "item", "column": "gold"}), tmp_path)
    assert data.item_label.tolist() == [1, 0, -1]


def test_labels_sort_by_size_only_if_all_are_numbers():
    assert sort_labels(["10", "9", "x"]) == ["10", "9", "x"]


SPREAD = {"layout": "wide", "roles": {"item": "i", "rater": ["a", "b"]}, "groups": []}


def test_a_column_per_rater_is_a_row_per_rating(tmp_path):
    plain = read_crowd(crowd(groups=[]), write(tmp_path, ROWS))
    wide = ROWS.pivot(index="i", columns="r", values="s").reset_index()
    spread = read_crowd(crowd(**SPREAD), write(tmp_path, wide))
    assert (spread.score == plain.score).all()
    assert (spread.item.labels, spread.rater.labels) == (plain.item.labels, plain.rater.labels)
    assert (spread.rater.codes == plain.rater.codes).all()


def test_bad_cells_of_a_column_per_rater_have_row_and_column(tmp_path):
    wide = pd.DataFrame({"i": ["x", "y", "z"], "a": ["1", "9", "0"], "b": ["9", "2", "1"]})
    message = error_text(lambda: read_crowd(crowd(**SPREAD), write(tmp_path, wide)), tmp_path)
    assert message == (
        "t.csv: score: 2 of 6 cells off the scale (allowed: 0, 1, 2): rows 3 of a, 2 of b: '9'"
    )
