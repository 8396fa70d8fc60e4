"""Slopes as terms: constants of a column, the common slope and its deviations, what is refused."""

import numpy as np
import pytest
from pydantic import ValidationError

from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.covariates import Covariate
from sharpbayes.errors import SpecError
from tests.bayes.conftest import crowd_ratings, model_from, panel_ratings, with_numbers, with_people

ITEMS = [{"by": ["item"]}, {"by": ["rater"]}]
CELLS = [{"by": ["model"]}, {"by": ["prompt"]}]


def crowd_design(rng, *slopes, **columns):
    ratings = with_numbers(crowd_ratings(rng, items=8, raters=6), rng, **columns)
    return ratings, build_design(ratings, model_from(ITEMS, slope=list(slopes)))


def test_a_column_is_centred_and_scaled_over_its_units(rng):
    slope = {"column": "time", "transform": "log", "by": ["rater"]}
    ratings, design = crowd_design(rng, slope, time=("item", "rater"))
    [covariate], values = design.covariates, np.log(ratings.covariates["time"].values)
    assert (covariate.centre, covariate.scale) == pytest.approx((values.mean(), values.std()))
    assert (covariate.unit, covariate.n_units) == ("time", 48)
    assert covariate.highest == ratings.covariates["time"].values.max()
    common, deviations = design.terms_of("slope")
    assert (common.name, common.shape) == ("slope_time", ())
    assert (deviations.name, deviations.shape) == ("slope_time_by_rater", (6,))
    expected = (values - values.mean()) / values.std()
    np.testing.assert_allclose(common.covariate, expected[ratings.covariates["time"].codes])
    np.testing.assert_array_equal(deviations.index, ratings.factors["rater"].codes)
    assert common.child_term == "slope_time_by_rater"


def test_a_fit_without_some_ratings_keeps_the_constants(rng):
    ratings, design = crowd_design(rng, {"column": "age"}, age=("rater",))
    some = ratings.of(np.flatnonzero(ratings.factors["rater"].codes != 2))
    assert build_design(some, model_from(ITEMS, slope=[{"column": "age"}])).covariates == (
        design.covariates
    )


def test_a_rating_without_a_number_is_at_the_centre(rng):
    ratings, _ = crowd_design(rng, {"column": "age"}, age=("rater",))
    age = ratings.covariates["age"]
    age.codes[:5] = -1
    design = build_design(ratings, model_from(ITEMS, slope=[{"column": "age", "by": ["rater"]}]))
    for term in design.terms_of("slope"):
        assert term.covariate[:5].tolist() == [0.0] * 5
        assert term.index[:5].tolist() == [-1] * 5


def test_a_slope_by_every_group_has_one_common_slope(rng):
    slope = {"column": "age", "by": ["group:*"]}
    _, design = crowd_design(rng, slope, age=("item", "rater"))
    assert [t.name for t in design.terms_of("slope")] == ["slope_age", "slope_age_by_gender"]


def test_a_slope_by_a_column_that_a_study_may_lack_is_the_common_one(rng):
    ratings = with_numbers(panel_ratings(rng), rng, size=("model", "prompt"))
    slope = {"column": "size", "by": ["own_family"]}
    design = build_design(ratings, model_from(CELLS, slope=[slope]))
    assert [term.name for term in design.terms_of("slope")] == ["slope_size"]


ERRORS = {
    "constant": (
        {"column": "age"},
        lambda values: np.full_like(values, 7.0),
        "model: slope[0].column: 'age' is 7 for every rater: a constant has no slope; leave the "
        "slope out",
    ),
    "logarithm": (
        {"column": "age", "transform": "log"},
        lambda values: np.arange(values.size) - 1.0,
        "model: slope[0].transform: a logarithm needs numbers above 0; 2 raters of 'age' at or "
        'below, lowest -1; use "none"',
    ),
    "column that was not read": (
        {"column": "ages"},
        lambda values: values,
        "model: slope[0].column: no numeric column 'ages' was read, there are age; did you mean "
        "'age'?",
    ),
    "column of by": (
        {"column": "age", "by": ["group:gendr"]},
        lambda values: values,
        "model: slope[0].by: no column 'group:gendr' in this study, its columns are group:gender, "
        "item, rater; did you mean 'group:gender'?",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_slope_that_cannot_be_is_refused_in_these_words(name, rng):
    slope, change, expected = ERRORS[name]
    ratings, _ = crowd_design(rng, age=("rater",))
    age = ratings.covariates["age"]
    ratings.covariates["age"] = Covariate("rater", change(age.values), age.codes)
    with pytest.raises(SpecError) as caught:
        build_design(ratings, model_from(ITEMS, slope=[slope]))
    assert str(caught.value) == expected


WRONG = {
    "twice": (
        [{"column": "n", "by": ["rater"]}, {"column": "n", "by": ["rater"]}],
        "slope has 'n' by rater twice",
    ),
    "two transforms": (
        [{"column": "n"}, {"column": "n", "by": ["rater"], "transform": "log"}],
        "slopes of 'n' share one common slope: transform and prior have to be the same in all",
    ),
    "deviation without by": (
        [{"column": "n", "deviation": {"sd": 0.3}}],
        "deviation needs by: a common slope has none",
    ),
    "a column twice": ([{"column": "n", "by": ["rater", "rater"]}], "by names a column twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_file_that_contradicts_itself_is_refused(name):
    slopes, expected = WRONG[name]
    with pytest.raises(ValidationError) as caught:
        model_from(ITEMS, slope=slopes)
    assert expected in str(caught.value)


def test_slopes_that_ratings_do_not_identify_are_named(rng):
    slopes = [{"column": name} for name in ("one", "two")]
    slopes += [{"column": "price", "by": ["judge"]}]
    ratings = with_numbers(panel_ratings(rng), rng, one=("model", "prompt"), price=("judge",))
    one = ratings.covariates["one"]
    close = one.values * 2.0 + rng.normal(0, 1e-3, one.values.size)
    ratings.covariates["two"] = Covariate("answer", close, one.codes)
    design = build_design(ratings, model_from(CELLS, slope=slopes))
    issues = [
        str(issue) for issue in find_issues(ratings, design) if issue.term.startswith("slope")
    ]
    assert issues == [
        "slope_price: 4 prices say little about a slope of price; its prior decides much of it",
        "slope_one: its numbers follow those of two (r = 1.00); the ratings identify a sum of "
        "both: leave one out",
        "slope_price_by_judge: one number of price only in j0, j1, j2 and 1 more; their slopes are "
        "drawn towards the common one",
    ]


def test_one_level_beside_ratings_of_none_has_a_slope_of_its_own(rng):
    ratings = with_numbers(with_people(panel_ratings(rng), rng), rng, size=("model", "prompt"))
    slope = {"column": "size", "by": ["machine"]}
    design = build_design(ratings, model_from(CELLS, slope=[slope]))
    names = [term.name for term in design.terms_of("slope")]
    assert names == ["slope_size", "slope_size_by_machine"]
    judged = ratings.factors["judge"].codes >= 0
    by_machine = design.terms_of("slope")[1].index
    assert ((by_machine >= 0) == judged).all()


def test_one_level_has_the_common_slope(rng):
    ratings = with_numbers(panel_ratings(rng, judges=1), rng, size=("model", "prompt"))
    slope = {"column": "size", "by": ["judge"]}
    design = build_design(ratings, model_from(CELLS, slope=[slope]))
    assert [term.name for term in design.terms_of("slope")] == ["slope_size"]
    assert str(find_issues(ratings, design)[0]) == (
        "slope_size_by_judge: one level only has ratings, and the common slope is its slope; the "
        "term is omitted"
    )
