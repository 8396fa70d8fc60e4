import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import SpecError
from tests.bayes.conftest import column, crowd_ratings, model_of, panel_ratings, with_people


def test_a_crossing_numbers_its_cells_row_by_row():
    ratings = Ratings(
        np.array([0, 1, 1], dtype=np.int16),
        {
            "model": column(["a", "b"], [0, 1, 1]),
            "prompt": column(["p", "q", "r"], [2, 0, 1]),
            "scale": column(["s"], [0, 0, 0]),
        },
        {"s": ("0", "1")},
    )
    term = build_design(ratings, model_of(("model", "prompt"))).terms[0]
    # (a, r) is 0 * 3 + 2, (b, p) is 1 * 3 + 0, (b, q) is 1 * 3 + 1
    assert term.index.tolist() == [2, 3, 4]
    assert (term.stem, term.dims, term.shape) == ("model_prompt", ("model", "prompt"), (2, 3))


def test_gender_is_the_centre_of_raters_with_many_ratings(rng):
    design = build_design(
        crowd_ratings(rng, items=40, raters=6), model_of(("item",), ("rater",), ("group:gender",))
    )
    # 6 ratings an item and 3 raters a gender are few, 40 ratings a rater are many
    assert {term.stem: (term.centred, term.child_term) for term in design.terms} == {
        "item": (False, None),
        "rater": (True, None),
        "gender": (False, "location_rater"),
    }


def test_what_is_said_of_a_term_overrules_its_number_of_ratings(rng):
    weights = {"location_rater": 1.0, "location_item": 0.3}
    ratings = crowd_ratings(rng, items=40, raters=6)
    design = build_design(
        ratings, model_of(("item",), ("rater",), ("group:gender",)), non_centring=weights
    )
    assert {term.stem: (term.centred, term.child_term) for term in design.terms} == {
        "item": (True, None),
        "rater": (False, None),
        "gender": (False, None),
    }


def test_an_effect_for_each_scale_is_left_to_the_thresholds():
    ratings = Ratings(
        np.array([0, 1, 2, 0], dtype=np.int16),
        {
            "indicator": column(["x", "z"], [0, 0, 1, 1]),
            "judge": column(["j", "k"], [0, 1, 0, 1]),
            "scale": column(["flag", "severity"], [0, 0, 1, 1]),
        },
        {"flag": ("false", "true"), "severity": ("1", "2", "3")},
    )
    design = build_design(ratings, model_of(("indicator",), ("judge",)))
    assert ([term.stem for term in design.terms], design.omitted_terms) == (
        ["judge"],
        ("indicator",),
    )


def test_parameters_are_effects_scales_and_thresholds(rng):
    design = build_design(
        crowd_ratings(rng, items=40, raters=6),
        model_of(("item",), ("rater",), (("group:gender",), 1.0)),
    )
    # 40 items + sd, 6 raters + sd, 2 genders with a fixed sd, 4 thresholds
    assert design.n_parameters == 41 + 7 + 2 + 4


def test_a_term_with_one_level_is_left_out(rng):
    ratings = crowd_ratings(rng, items=10, raters=1)
    design = build_design(ratings, model_of(("item",), ("rater",)))
    assert [term.stem for term in design.terms] == ["item"]
    assert design.omitted_terms == ("rater",)


def test_an_effect_that_is_on_one_scale_only_is_blocked_by_scale():
    ratings = Ratings(
        np.array([0, 1, 2, 0], dtype=np.int16),
        {
            "indicator": column(["x", "y", "z"], [0, 1, 2, 2]),
            "judge": column(["j", "k", "l"], [0, 2, 1, 1]),
            "scale": column(["flag", "severity"], [0, 0, 1, 1]),
        },
        {"flag": ("false", "true"), "severity": ("1", "2", "3")},
    )
    indicator, judge = build_design(ratings, model_of(("indicator",), ("judge",))).terms
    assert indicator.mean_group.tolist() == [0, 0, 1]
    assert judge.mean_group.tolist() == [0, 1, 0]


def test_an_unknown_column_is_named_with_the_nearest(rng):
    with pytest.raises(SpecError) as caught:
        build_design(
            crowd_ratings(rng, items=3, raters=2),
            model_of(("item",), ("group:gendr",)),
            path="m.toml",
        )
    assert str(caught.value) == (
        "m.toml: location[1].by: no column 'group:gendr' in this study, its columns are "
        "group:gender, item, rater; did you mean 'group:gender'?"
    )


ERRORS = ("machine", "model", "prompt", "dimension")
ANSWERS = ("model", "prompt", "dimension")


def sums(ratings, *terms, **weights):
    """Terms that are sampled in a sum, with the term that has its place."""
    design = build_design(ratings, model_of(*terms), non_centring=weights)
    return {term.stem: term.sum_term for term in design.terms if term.sum_term}


def test_errors_of_all_judges_are_sampled_in_a_sum_with_severity(rng):
    ratings = with_people(panel_ratings(rng), rng)
    family = ("family", *ANSWERS)
    expected = {"_".join(ERRORS): "location_model_prompt_dimension"}
    assert sums(ratings, ANSWERS, ("rater",), ERRORS) == expected
    # A term is in one sum, and a sum has two terms.
    assert sums(ratings, ANSWERS, ("rater",), ERRORS, family, ("judge", *ANSWERS)) == expected


def test_other_terms_are_sampled_by_themselves(rng):
    ratings = with_people(panel_ratings(rng), rng)
    # Another level for each rating, a fixed sd, a term that others are centred at.
    assert not sums(ratings, ("model", "dimension"), ERRORS)
    assert not sums(ratings, (ANSWERS, 1.0), ERRORS)
    assert not sums(ratings, ANSWERS, (ERRORS, 1.0))
    finer = ("model", "prompt", "indicator")
    assert not sums(ratings, ANSWERS, finer, ERRORS, location_model_prompt_indicator=0.0)
    assert not sums(panel_ratings(rng), ANSWERS, ("judge",))
