"""Raters and items without a group: metrics put them in no group, and so does the model."""

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.crowd import melt_crowd, read_crowd
from sharpbayes.library import find
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model

CROWD = {
    "data": "t.csv",
    "roles": {"item": "i", "rater": "r", "score": "s"},
    "scale": {"kind": "ordinal", "min": 0, "max": 4},
    "groups": [["g"]],
    "by": ["kind"],
    "labels": {"from": "crowd", "cut": 1},
}
GROUPS = ["10", "9", "", "10", "9", ""]
KINDS = ["b", "", "a", "b"]


def melt_table(tmp_path, groups=GROUPS):
    """Four items by six raters, in long form."""
    item, rater = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    table = {
        "i": item,
        "r": rater,
        "s": (item + rater) % 5,
        "g": np.array(groups)[rater],
        "kind": np.array(KINDS)[item],
    }
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    crowd = TypeAdapter(Crowd).validate_python(CROWD)
    return melt_crowd(read_crowd(crowd, tmp_path), crowd)


def test_a_rater_without_a_group_has_no_level_of_it(tmp_path):
    ratings = melt_table(tmp_path)
    group = ratings.factors["group:g"]
    assert group.labels == ("9", "10")
    assert group.codes[:6].tolist() == [1, 0, -1, 1, 0, -1]


def test_an_item_without_a_value_has_no_level_of_it(tmp_path):
    kind = melt_table(tmp_path).factors["kind"]
    assert kind.labels == ("a", "b")
    assert kind.codes[::6].tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("name", ["crowd_severity", "rater_thresholds", "crowd_thresholds"])
def test_no_effect_of_a_group_reaches_a_rater_without_one(tmp_path, name):
    ratings = melt_table(tmp_path)
    placed = build_design(ratings, load(find("models", name), Model).spec)
    terms = [term for term in placed.terms if "g" in term.dims]
    assert terms or name == "rater_thresholds"
    for term in terms:
        assert term.shape[term.dims.index("g")] == 2
        assert ((term.index < 0) == (ratings.factors["group:g"].codes < 0)).all()


def test_a_column_without_any_value_is_no_factor(tmp_path):
    assert "group:g" not in melt_table(tmp_path, groups=[""] * 6).factors
