"""Ratings that a factor does not apply to: raters without a group."""

from dataclasses import replace

import numpy as np
import pytest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.graph.verification import graph_density
from sharpbayes.bayes.kernel.layout import initial_point, parameter_layout
from sharpbayes.bayes.kernel.machine_code import kernel_density
from sharpbayes.bayes.predict.replication import log_likelihood
from tests.bayes.conftest import column, crowd_ratings, model_of


def test_raters_without_a_group_have_no_effect_of_it(rng):
    """Code -1: no effect in location, gaps or discrimination, in every place alike."""
    ratings = crowd_ratings(rng, items=20, raters=10)
    gender = np.where(ratings.factors["rater"].codes < 3, -1, ratings.factors["rater"].codes % 2)
    factors = ratings.factors | {"group:gender": column(["Man", "Woman"], gender)}
    model = model_of(
        ("item",),
        ("group:gender",),
        thresholds={"by": ["scale", "group:gender"]},
        discrimination=[{"by": ["group:gender"]}],
    )
    design = build_design(replace(ratings, factors=factors), model)
    terms = {term.name: term for term in design.terms}
    names = ("location_gender", "gap_score_gender", "discrimination_gender")
    for name in names:
        assert (terms[name].index == gender).all()
    prior = sample_prior(build_model(design), draws=2, seed=1)["prior"].to_dataset()
    plain = prior.assign({name: 0.0 * prior[name] for name in names[:2]})
    plain = plain.assign(discrimination_gender=1.0 + 0.0 * prior["discrimination_gender"])
    (values, wanted) = (
        log_likelihood(draws, design)["rating_score"].to_numpy() for draws in (prior, plain)
    )
    np.testing.assert_array_equal(values[..., gender < 0], wanted[..., gender < 0])
    assert (values[..., gender >= 0] != wanted[..., gender >= 0]).mean() > 0.9
    flat = parameter_layout(design)
    point = initial_point(design, flat, seed=4)
    value, gradient = kernel_density(flat, point)
    expected, gradients = graph_density(build_model(design), flat, point)
    assert value == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(gradient, gradients, rtol=1e-6, atol=1e-6)


def test_thresholds_of_a_group_that_some_raters_lack_are_moved_by_the_group_alone(rng):
    ratings = crowd_ratings(rng, items=20, raters=10)
    gender = np.where(ratings.factors["rater"].codes < 3, -1, ratings.factors["rater"].codes % 2)
    factors = ratings.factors | {"group:gender": column(["Man", "Woman"], gender)}
    model = model_of(("item",), thresholds={"by": ["scale", "group:gender"]})
    design = build_design(replace(ratings, factors=factors), model)
    assert [term.dims for term in design.terms_of("location")] == [("item",), ("gender",)]
