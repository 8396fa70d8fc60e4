"""Terms of repeated answers and judgements: kept where ratings separate them, else left out."""

from dataclasses import replace

import numpy as np

from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.library import folder
from sharpbayes.spec.load import load
from sharpbayes.spec.model import Model
from tests.bayes.conftest import column, names, panel_ratings

MODEL = load(folder("models") / "judge_trials.toml", Model).spec
CELL = "location_judge_model_prompt_dimension"
ANSWER = "location_model_prompt_sample_dimension"


def repeated(ratings, **times):
    """The ratings once for each sample or trial."""
    for name, number in times.items():
        rows = np.tile(np.arange(ratings.score.size), number)
        code = np.repeat(np.arange(number), ratings.score.size)
        ratings = replace(ratings.of(rows), factors=ratings.of(rows).factors)
        ratings.factors[name] = column(names(name[0], number), code)
    return ratings


def terms(ratings):
    return [term.name for term in build_design(ratings, MODEL).terms_of("location")]


def test_without_repeated_answers_terms_lose_the_column(rng):
    term_names = terms(repeated(panel_ratings(rng), trial=2))
    assert CELL in term_names
    assert term_names.count("location_model_prompt_dimension") == 1
    assert not any("sample" in name for name in term_names)


def test_with_repeated_answers_both_terms_are_there(rng):
    term_names = terms(repeated(panel_ratings(rng), sample=2, trial=2))
    assert ANSWER in term_names
    assert "location_judge_model_prompt_sample_dimension" in term_names


def test_one_judge_has_no_answers_of_its_own(rng):
    ratings = repeated(panel_ratings(rng, judges=1), trial=3)
    assert CELL not in terms(ratings)
    issues = [str(issue) for issue in find_issues(ratings, build_design(ratings, MODEL))]
    assert (
        "judge_model_prompt_dimension: acts on the same ratings as model_prompt_dimension, level "
        "by level; the term is omitted"
    ) in issues


def test_a_term_with_one_rating_a_level_is_noise(rng):
    ratings = panel_ratings(rng)
    single = ratings.of(np.flatnonzero(ratings.factors["indicator"].codes == 0))
    assert CELL not in terms(single)
    issues = [str(issue) for issue in find_issues(single, build_design(single, MODEL))]
    assert (
        "judge_model_prompt_dimension: each level has one rating, and its effect is noise of that "
        "rating; the term is omitted"
    ) in issues
    # two indicators of a dimension, or two trials, separate it
    assert CELL in terms(repeated(single, trial=2))


def test_shared_columns_of_an_ordinary_model_are_as_before(rng):
    model = load(folder("models") / "judge_panel.toml", Model).spec
    design = build_design(panel_ratings(rng), model)
    assert design.inseparable_terms == ()
