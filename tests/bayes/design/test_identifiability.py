"""What data cannot tell: each case made on purpose, and none found where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.library import folder
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from tests.bayes.conftest import (
    column,
    crowd_ratings,
    model_from,
    model_of,
    names,
    panel_ratings,
    with_people,
)

MODEL = model_of(("item",), ("rater",), (["group:gender"], 1.0))


def findings(ratings, model=MODEL):
    return [str(issue) for issue in find_issues(ratings, build_design(ratings, model))]


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


def test_with_one_model_answers_are_prompts_and_nothing_is_compared(rng):
    ratings = panel_ratings(rng)
    ratings = ratings.of(np.flatnonzero(ratings.factors["model"].codes == 0))
    only = ratings.factors["model"].labels[:1]
    ratings = with_columns(ratings, model=column(list(only), np.zeros(len(ratings.score))))
    model = load(folder("models") / "judge_panel.toml", Model).spec
    assert [text for text in findings(ratings, model) if "omitted" in text] == [
        "model_prompt_dimension: acts on the same ratings as prompt_dimension, level by level; the "
        "term is omitted",
        "model_dimension: there is one model, and effects of indicators hold its mean; the term is "
        "omitted",
    ]
    stems = {term.stem for term in build_design(ratings, model).terms}
    assert {"prompt_dimension", "judge_dimension"} <= stems


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
    texts = findings(replace(ratings, score=moved), model)
    assert [text.split("; ", 1)[1] for text in texts] == [
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
            name: replace(factor, codes=factor.codes[kept])
            for name, factor in ratings.factors.items()
        },
    )
    assert findings(fewer, model_of(("model", "prompt")))[1:] == [
        "location_model_prompt: 2 of 24 crossings have no ratings; their effects are drawn from "
        "the prior"
    ]


UNSEEN = (
    "judges: no person scored a cell, and what all judges err in together looks like severity; "
    "intervals leave it out: give some cells to people, or try `[sensitivity] shared_error = "
    "[0.2, 0.4]`"
)
HALO = ("judge", "model", "prompt")
ERRORS = model_of(
    ("model", "prompt", "dimension"),
    *((who, "model", "prompt", "dimension") for who in ("machine", "family")),
    HALO,
)


def one_indicator(ratings, position=0):
    """The ratings of one indicator, whose dimension and scale are the only ones."""
    return ratings.of(ratings.factors["indicator"].codes == position)


def test_errors_that_people_show_are_kept(rng):
    ratings = with_people(panel_ratings(rng), rng)
    design = build_design(ratings, ERRORS)
    assert [term.stem for term in design.terms if term.kind == "location"] == [
        "model_prompt_dimension",
        "machine_model_prompt_dimension",
        "family_model_prompt_dimension",
        "judge_model_prompt",
    ]
    assert design.unidentified == ()
    assert not [text for text in findings(ratings, ERRORS) if text.startswith("judges")]


def test_errors_of_judges_without_people_and_families_are_named(rng):
    assert findings(panel_ratings(rng), ERRORS)[:3] == [
        "machine_model_prompt_dimension: no person scored a cell, and nothing else tells it from "
        "severity; the term is omitted",
        "family_model_prompt_dimension: no two judges are of one family; the term is omitted",
        UNSEEN,
    ]


def test_families_that_no_term_knows_are_named(rng):
    ratings = with_people(panel_ratings(rng), rng)
    issue = (
        "families: the study declares them, and the model has no term by `own_family` or `family`; "
        'self-preference is not estimated: add `[[location]]` with `by = ["own_family"]` to a '
        "model file"
    )
    assert "own_family" in ratings.factors
    assert issue in findings(ratings, model_of(("model",)))
    assert issue not in findings(ratings, model_of(("model",), ("own_family",)))
    assert issue not in findings(ratings, ERRORS)
    none = {name: x for name, x in ratings.factors.items() if "family" not in name}
    assert issue not in findings(replace(ratings, factors=none), model_of(("model",)))


def test_halo_of_one_indicator_is_named_and_omitted(rng):
    ratings = one_indicator(panel_ratings(rng))
    assert findings(ratings, model_of(("model", "prompt"), HALO))[:2] == [
        "judge_model_prompt: most of its effects have one rating, which does not separate them "
        "from its noise; the term is omitted",
        UNSEEN,
    ]


def test_halo_of_one_judge_is_named_and_omitted(rng):
    ratings = panel_ratings(rng, judges=1)
    assert findings(ratings, model_of(("model", "prompt"), HALO))[0] == (
        "judge_model_prompt: nobody else rated the same answers, and nothing separates it from "
        "severity; the term is omitted"
    )


def test_halo_of_one_judge_against_people_is_what_all_judges_err_in(rng):
    ratings = with_people(panel_ratings(rng, judges=1), rng, share=0.7)
    by_answer = model_of(("model", "prompt"), ("machine", "model", "prompt"), HALO)
    assert findings(ratings, by_answer)[0] == (
        "judge_model_prompt: it acts on the same ratings as machine_model_prompt, level by level; "
        "the term is omitted"
    )


def test_other_terms_of_judges_are_no_errors_about_answers(rng):
    design = build_design(panel_ratings(rng), model_of(("model",), ("judge", "model")))
    assert design.unidentified == ()
