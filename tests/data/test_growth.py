"""New ratings of a study that has grown, and what may not have changed."""

import numpy as np
import pytest

from sharpbayes.data.covariates import Covariate
from sharpbayes.data.growth import find_new_ratings
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.errors import DataError

ROWS = (("i1", "r1", "0"), ("i1", "r2", "1"), ("i2", "r1", "2"))


def crowd(rows, *, gender=("Man", "Woman", "Man"), length=None):
    """Ratings of items by raters, one a row, with the gender of each rater."""
    factors, columns = {}, zip(*rows, strict=True)
    *codes, score = (list(column) for column in columns)
    for name, column in zip(("item", "rater"), codes, strict=True):
        labels = sorted(set(column))
        factors[name] = Factor(tuple(labels), np.array([labels.index(x) for x in column]))
    genders, rater = sorted(set(gender)), factors["rater"].codes
    of_rater = np.array([genders.index(x) for x in gender])
    factors["group:gender"] = Factor(tuple(genders), of_rater[rater])
    factors["scale"] = Factor(("score",), np.zeros(len(rows), np.int32))
    numbers = (
        {} if length is None else {"length": Covariate("item", *length, factors["item"].codes)}
    )
    return Ratings(np.array(score, np.int16), factors, {"score": ("a", "b", "c")}, numbers)


def test_new_ratings_are_those_that_earlier_ones_lack_in_any_order():
    grown = (("i0", "r1", "1"), ROWS[2], ("i1", "r3", "2"), ROWS[0], ROWS[1])
    new = find_new_ratings(crowd(ROWS), crowd(grown), path="ratings.csv")
    assert new.tolist() == [True, False, True, False, False]
    assert not find_new_ratings(crowd(ROWS), crowd(ROWS), path="ratings.csv").any()


def test_a_column_that_only_one_side_has_tells_ratings_apart():
    with_sample = crowd(ROWS)
    with_sample.factors["sample"] = Factor(("1", "2"), np.array([0, 0, 1]))
    with pytest.raises(DataError, match="no longer in the data"):
        find_new_ratings(crowd(ROWS), with_sample, path="ratings.csv")


def test_what_is_gone_or_changed_is_named_all_at_once():
    changed = (ROWS[0], ("i2", "r1", "0"), ("i2", "r2", "0"))
    with pytest.raises(DataError) as caught:
        find_new_ratings(crowd(ROWS), crowd(changed, gender=("Woman", "Man")), path="r.csv")
    assert str(caught.value).splitlines() == [
        "r.csv: item i1, rater r1: group:gender is 'Woman', and 'Man' in the results",
        "r.csv: item i1, rater r2: is in the results and no longer in the data",
        "r.csv: item i2, rater r1: group:gender is 'Woman', and 'Man' in the results",
        "r.csv: item i2, rater r1: score is 'a', and 'c' in the results",
    ]


def test_a_number_that_changed_is_named():
    one, two = ((np.array(values),) for values in ([1.0, np.nan], [1.0, 2.5]))
    assert not find_new_ratings(crowd(ROWS, length=one), crowd(ROWS, length=one), path="r").any()
    with pytest.raises(DataError) as caught:
        find_new_ratings(crowd(ROWS, length=one), crowd(ROWS, length=two), path="r")
    assert str(caught.value) == "r: item i2, rater r1: length is '2.5', and 'nan' in the results"
