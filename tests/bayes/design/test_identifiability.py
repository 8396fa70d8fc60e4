"""What data cannot tell: each case made on purpose, and none found where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from tests.bayes.conftest import column, crowd_ratings, model_from, model_of, names, panel_ratings

MODEL = model_of(("item",), ("rater",), (["group:gender"], 1.0))


def findings(ratings, model=MODEL):
    return [str(each) for each in find_issues(ratings, build_design(ratings, model))]


def with_columns(ratings, **columns):
    return replace(ratings, factors=ratings.factors | columns)


def test_a_sound_design_has_no_findings(rng):
    assert findings(crowd_ratings(rng, items=20, raters=10)) == []


def test_a_group_with_one_rater_is_named(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    rater = ratings.factors["rater"].codes
    gender = column(["Man", "Woman", "Other"], np.where(rater == 9, 2, rater % 2))
    assert findings(with_columns(ratings, **{"group:gender": gender})) == [
        "location_gender: one rater only in Other; the ratings identify only the sum of both "
        "effects, and their priors split it"
    ]


def test_two_names_of_one_thing_are_named(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    code = (ratings.factors["item"].codes + 3) % 20
    both = with_columns(ratings, document=column(names("d", 20), code))
    assert findings(both, model_of(("item",), ("document",), ("rater",))) == [
        "location_item: acts on the same ratings as location_document, level by level; the "
        "ratings identify only the sum of both effects, and their priors split it: leave one out"
    ]


def test_a_term_that_thresholds_hold_is_named(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    one = with_columns(ratings, language=column(["en"], np.zeros(200)))
    assert findings(one, model_of(("item",), ("rater",), ("language",))) == [
        "language: each scale has one level of it, and the thresholds absorb its effect; the term "
        "is omitted"
    ]


def test_unused_levels_are_named_where_they_are(rng):
    ratings = crowd_ratings(rng, items=20, raters=10, thresholds=(-2, -1, -0.5, 0, 0.5, 1, 2))
    moved = np.array([1, 1, 1, 3, 3, 4, 4, 4])[ratings.score].astype(np.int16)
    assert findings(replace(ratings, score=moved)) == [
        "score: category 0 is never used, below all that are; the prior alone bounds the "
        "thresholds there",
        "score: categories 5, 6, 7 are never used, above all that are; the prior alone bounds the "
        "thresholds there",
        "score: category 2 is never used, between others that are; the gap between its thresholds "
        "shrinks as the prior lets it",
    ]


@pytest.mark.parametrize(
    ("likelihood", "above", "between"),
    [
        (
            "adjacent",
            "the prior alone bounds the thresholds there",
            "the threshold into it grows and the one out of it falls as the prior lets them; "
            "the ratings identify their sum",
        ),
        (
            "continuation",
            "the prior alone bounds the first threshold there and gives all beyond it",
            "the threshold above it falls as the prior lets it; the ratings identify the others",
        ),
    ],
)
def test_what_becomes_of_unused_levels_is_said_of_each_likelihood(likelihood, above, between, rng):
    ratings = crowd_ratings(rng, items=20, raters=10, thresholds=(-2, -1, -0.5, 0, 0.5, 1, 2))
    moved = np.array([1, 1, 1, 3, 3, 4, 4, 4])[ratings.score].astype(np.int16)
    model = model_of(("item",), ("rater",), likelihood=likelihood)
    found = findings(replace(ratings, score=moved), model)
    assert [each.split("; ", 1)[1] for each in found] == [
        "the prior alone bounds the thresholds there",
        above,
        between,
    ]


def test_a_rater_who_never_varies_is_named(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    level = np.where(ratings.factors["rater"].codes == 4, 4, ratings.score).astype(np.int16)
    assert findings(replace(ratings, score=level)) == [
        "rater: always the same category of score: r4 (4); the ratings bound their effects on one "
        "side only, the prior on the other"
    ]


def test_levels_without_ratings_are_named(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    rater = column([*names("r", 10), "absent"], ratings.factors["rater"].codes)
    assert findings(with_columns(ratings, rater=rater)) == [
        "location_rater: no ratings of absent; their effects are drawn from the prior"
    ]


def test_an_sd_of_two_effects_is_named(rng):
    model = model_from([{"by": ["item"]}, {"by": ["group:gender"]}])
    assert findings(crowd_ratings(rng, items=20, raters=10), model) == [
        "sd_gender: 2 levels say little about an sd; its prior decides much of it: give it a fixed "
        "sd, or compare priors"
    ]


def test_crossings_without_ratings_are_counted(rng):
    ratings = panel_ratings(rng, models=3, prompts=8, judges=4)
    kept = ~((ratings.factors["model"].codes == 1) & (ratings.factors["prompt"].codes < 2))
    fewer = replace(
        ratings,
        score=ratings.score[kept],
        factors={
            name: replace(each, codes=each.codes[kept]) for name, each in ratings.factors.items()
        },
    )
    assert findings(fewer, model_of(("model", "prompt"))) == [
        "location_model_prompt: 2 of 24 crossings have no ratings; their effects are drawn from "
        "the prior"
    ]
