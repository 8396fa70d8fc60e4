"""How terms are sampled follows from what a trial run found, here one that is made up."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling import geometry
from tests.bayes.conftest import (
    model_from,
    model_of,
    panel_ratings,
    with_numbers,
    with_people,
)

DRAWS = 4000
TERMS = (("model", "dimension"), ("prompt", "dimension"), ("judge", "dimension"), ("indicator",))
MODEL = model_of(*TERMS, thresholds={"by": ["scale", "indicator"]})


@pytest.fixture
def design(rng):
    return build_design(panel_ratings(rng), MODEL)


def powers(design, rng, monkeypatch, **kept):
    """Powers where effects have sds that are these shares of the terms', 0.1 if not said."""
    term_effects = {}
    for term in design.terms:
        effects = kept.get(term.name, 0.1) * rng.normal(size=(1, DRAWS, *term.shape))
        if term.kind == "gap":
            unseen = ~np.isin(np.arange(term.shape[0]), term.index)
            effects[:, :, unseen] = np.nan
        if term.name == "location_indicator":
            # What ratings tell of a dimension's mean only with the other terms.
            effects += 5.0 * np.repeat(rng.normal(size=(1, DRAWS, 2)), 3, axis=2)
        term_effects[term.name] = (("chain", "draw", *term.dims), effects)
        term_effects[f"sd_{term.stem}"] = (("chain", "draw"), np.ones((1, DRAWS)))
    trial = xr.DataTree.from_dict({"posterior": xr.Dataset(term_effects)})
    monkeypatch.setattr(geometry, "sample_kernel", lambda *_, **__: trial)
    return geometry.choose_weights(design, seed=1)


def test_effects_that_ratings_tell_are_sampled_directly(design, rng, monkeypatch):
    weights = powers(design, rng, monkeypatch, location_prompt_dimension=0.5)
    # The mean of the eight prompts or three models of each dimension is left out.
    assert weights["location_prompt_dimension"] == pytest.approx(1.4 * 0.25 * 7 / 8, rel=0.05)
    assert weights["location_model_dimension"] == pytest.approx(1.4 * 0.01 * 2 / 3, rel=0.05)


@pytest.mark.parametrize("noise", [0.1, 0.9])
def test_correlated_effects_are_judged_by_what_ratings_tell_least(rng, noise):
    """Two levels agree to 0.98: their mean is told well, their difference well or hardly at all."""
    design = build_design(
        panel_ratings(rng),
        model_from([{"by": ["prompt", "dimension"], "correlated_over": "dimension"}]),
    )
    [term] = [term for term in design.terms if term.correlation]
    rows = (1, DRAWS, *term.shape[:-1])
    mean, difference = 0.1 * rng.normal(size=rows), noise * np.sqrt(0.01) * rng.normal(size=rows)
    draws = {
        term.name: (
            ("chain", "draw", *term.dims),
            np.stack([mean + difference, mean - difference], -1),
        ),
        f"sd_{term.stem}": (("chain", "draw", "dimension"), np.ones((1, DRAWS, 2))),
        f"correlation_{term.stem}": (
            ("chain", "draw", "dimension", "dimension_other"),
            np.broadcast_to([[1.0, 0.98], [0.98, 1.0]], (1, DRAWS, 2, 2)),
        ),
    }
    share = geometry.prior_variance_share(xr.Dataset(draws), design, term)
    # Of prior variances 0.99 of the mean and 0.01 of half the difference.
    assert share == pytest.approx(max(0.01 / 0.99, noise**2), rel=0.05)


def test_where_ratings_show_a_sum_its_weight_is_that_of_the_sum(rng):
    """Severity and the error of judges are hardly known one by one, and their sum well."""
    ratings = with_people(panel_ratings(rng), rng)
    model = model_of(("model", "prompt"), ("rater",), ("machine", "model", "prompt"))
    design = build_design(ratings, model)
    draws = {"sd_rater": (("chain", "draw"), np.ones((1, DRAWS)))}
    error = 0.7 * rng.normal(size=(1, DRAWS, 24))
    severity = 0.1 * rng.normal(size=error.shape) - error
    for term in design.terms:
        values = {"location_model_prompt": severity, "location_machine_model_prompt": error}
        values = values.get(term.name, np.zeros((1, DRAWS, term.size)))
        draws[term.name] = (("chain", "draw", *term.dims), values.reshape(1, DRAWS, *term.shape))
        draws[f"sd_{term.stem}"] = (("chain", "draw"), np.ones((1, DRAWS)))
    weights = geometry.find_weights(xr.Dataset(draws), design)
    assert set(weights) == {"location_model_prompt", "location_rater"}
    # The variance of the sum's prior is 2; the mean of all is left out.
    assert weights["location_model_prompt"] == pytest.approx(1.4 * 0.005 * 23 / 24, rel=0.05)


def test_levels_without_ratings_on_a_scale_do_not_count(design, rng, monkeypatch):
    """Their stretches are missing; a power of 1 would follow from any missing number."""
    weights = powers(design, rng, monkeypatch, gap_four_indicator=0.5)
    # Three indicators are on the scale; the mean of each gap is left out.
    assert weights["gap_four_indicator"] == pytest.approx(1.4 * 0.25 * 2 / 3, rel=0.05)


def test_what_holds_other_means_is_sampled_with_them_if_ratings_tell_it(design, rng, monkeypatch):
    assert {term.mean_holder for term in design.terms} == {None, "location_indicator"}
    # Of the 1.4 x 0.36 that it keeps, two thirds are left without the mean of each dimension.
    weights = powers(design, rng, monkeypatch, location_indicator=0.6)
    assert weights["location_indicator"] == 0.0
    again = build_design(panel_ratings(rng), MODEL, non_centring=weights)
    assert any(term.mean_holder for term in again.terms)


def test_what_ratings_do_not_tell_holds_no_means(design, rng, monkeypatch):
    """Sampled directly its sd could not become small: a funnel, with divergences."""
    weights = powers(design, rng, monkeypatch, location_indicator=1.0)
    assert weights["location_indicator"] == pytest.approx(1.4 * 2 / 3, rel=0.05)
    again = build_design(panel_ratings(rng), MODEL, non_centring=weights)
    assert not any(term.mean_holder for term in again.terms)


def test_what_the_common_slope_has_is_no_variance_of_its_deviations(rng):
    """Ratings tell the slope of each judge, and so little of the common slope."""
    ratings = with_numbers(panel_ratings(rng), rng, size=("model", "prompt"))
    model = model_from([{"by": ["model"]}], slope=[{"column": "size", "by": ["judge"]}])
    design = build_design(ratings, model)
    shift = 5.0 * rng.normal(size=(1, DRAWS, 1))
    effects = 0.1 * rng.normal(size=(1, DRAWS, 4)) + shift
    draws = {
        "slope_size_by_judge": (("chain", "draw", "judge"), effects),
        "sd_slope_size_by_judge": (("chain", "draw"), np.ones((1, DRAWS))),
    }
    [term] = [term for term in design.terms_of("slope") if term.dims]
    share = geometry.prior_variance_share(xr.Dataset(draws), design, term)
    assert share == pytest.approx(0.01 * 3 / 4, rel=0.05)


def test_of_many_ratings_a_trial_run_of_some_tells_what_all_of_them_would(design, rng, monkeypatch):
    """With a quarter of the ratings a share of 0.64 is left: 0.16 / 0.52 with all of them."""
    monkeypatch.setattr(geometry, "MAX_TRIAL_RATINGS", design.n_ratings // 4)
    monkeypatch.setattr(geometry, "MIN_PER_SCALE", 10)
    part = geometry.take_ratings(design, seed=1)
    taken = part.n_ratings / design.n_ratings
    assert 0.2 < taken < 0.3
    assert [len(scale.rows) for scale in part.scales] == [
        max(len(scale.rows) // 4, 10) for scale in design.scales
    ]
    weights = powers(design, rng, monkeypatch, location_prompt_dimension=0.8)
    kept = 0.64 * 7 / 8
    expected = 1.4 * taken * kept / (taken * kept + 1.0 - kept)
    assert weights["location_prompt_dimension"] == pytest.approx(expected, rel=0.05)


def test_some_ratings_of_a_design_have_their_own_levels_and_categories(design):
    rows = np.arange(0, design.n_ratings, 3)
    part = design.of(rows)
    for scale, of_design in zip(part.scales, design.scales, strict=True):
        position = {int(row): n for n, row in enumerate(of_design.rows)}
        assert [of_design.category[position[int(r)]] for r in rows[scale.rows]] == list(
            scale.category
        )
    for term, of_design in zip(part.terms, design.terms, strict=True):
        np.testing.assert_array_equal(term.index, of_design.index[rows])
