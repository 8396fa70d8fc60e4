"""Draws of the prior are those of PyMC's graph in distribution."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.predict.prior import draw_prior
from tests.bayes.conftest import (
    crowd_ratings,
    model_from,
    model_of,
    panel_ratings,
    with_people,
)
from tests.bayes.kernel.test_careless import CARELESS

DRAWS = 300
HALF_T = {"kind": "half_student_t", "df": 4, "scale": 0.5}


def crowd(rng):
    """Gaps, discriminations and normal effects, some by a parent; one term has Student's t."""
    location = [
        {"by": ["item"], "prior": {"kind": "student_t", "df": 5, "sd": HALF_T}},
        {"by": ["rater"]},
        {"by": ["group:gender"], "prior": {"kind": "normal", "sd": 0.7}},
    ]
    return crowd_ratings(rng, items=4, raters=4), model_from(
        location,
        thresholds={"by": ["scale", "group:gender"], "prior": {"mean": 1.0, "sd": 2.0}},
        discrimination=[{"by": ["group:gender"]}],
    )


def panel(rng):
    """Zero-sum effects, and effects that are correlated over a dimension."""
    exponential = {"kind": "normal", "sd": {"kind": "exponential", "mean": 0.6}}
    location = [
        {"by": ["prompt", "dimension"], "correlated_over": "dimension"},
        {"by": ["judge", "scale"], "correlated_over": "scale", "correlation": {"eta": 1.5}},
        {"by": ["model", "dimension"], "prior": exponential},
        {"by": ["model", "prompt"], "zero_sum": True},
    ]
    return panel_ratings(rng, models=3, prompts=3, judges=2), model_from(location)


def unordered(rng):
    """Unordered cutpoints of the adjacent likelihood."""
    model = model_of(("item",), likelihood="adjacent", thresholds={"by": ["scale", "group:gender"]})
    return crowd_ratings(rng, items=4, raters=4), model


def people(rng):
    """What judges err in together on an answer is sampled in a sum with its severity."""
    machine = {"by": ["machine", "model", "prompt"], "prior": {"kind": "normal", "sd": HALF_T}}
    location = [{"by": ["model", "prompt"]}, {"by": ["rater"], "zero_sum": True}, machine]
    ratings = with_people(panel_ratings(rng, models=2, prompts=3, judges=2), rng, share=0.7)
    return ratings, model_from(location)


def careless(rng):
    """Raters of two classes."""
    return crowd_ratings(rng, items=5, raters=4), model_of(("item",), ("rater",), **CARELESS)


@pytest.mark.parametrize("case", [crowd, panel, people, unordered, careless])
def test_priors_are_those_of_the_graph(case, rng):
    design = build_design(*case(rng))
    draws_of_prior = draw_prior(design, draws=DRAWS, seed=1)
    graph = sample_prior(build_model(design), draws=DRAWS, seed=2)
    p_values = {}
    for group, drawn in draws_of_prior.items():
        expected = graph[group].to_dataset()
        assert set(drawn.variables) == set(expected.variables)
        for name, values in drawn.data_vars.items():
            assert values.dims == expected[name].dims
            assert values.dtype == expected[name].dtype
            one, other = (x[name].to_numpy().reshape(DRAWS, -1) for x in (drawn, expected))
            pairs = [("value", one, other)]
            # What effects of one draw share, such as their sd or a sum of 0, is in their spread.
            pairs.append(("spread", one.std(axis=1)[:, None], other.std(axis=1)[:, None]))
            pairs.append(("mean", one.mean(axis=1)[:, None], other.mean(axis=1)[:, None]))
            for comparison, x, y in pairs:
                for column in range(x.shape[1]):
                    a, b = (np.round(v[:, column], 10) for v in (x, y))
                    if np.ptp(a) or np.ptp(b):
                        p_values[name, comparison, column] = ks_2samp(a, b, method="asymp").pvalue
    worst = min(p_values, key=p_values.__getitem__)
    assert p_values[worst] > 0.001 / len(p_values), worst


def test_sums_and_orders_are_kept(rng):
    prior = draw_prior(build_design(*panel(rng)), draws=20, seed=4)["prior"]
    zero_sum = prior["location_model_prompt"]
    for dim in ("model", "prompt"):
        np.testing.assert_allclose(zero_sum.sum(dim), 0.0, atol=1e-12)
    matrix = prior["correlation_judge_scale"].to_numpy()
    np.testing.assert_allclose(np.diagonal(matrix, axis1=-2, axis2=-1), 1.0)
    assert (prior["threshold_ten"].diff("ten_cutpoint") > 0).all()


def test_equal_seeds_give_equal_draws(rng):
    design = build_design(*unordered(rng))
    first, second, other = (draw_prior(design, draws=3, seed=seed) for seed in (7, 7, 8))
    for group in ("prior", "prior_predictive"):
        assert first[group].identical(second[group])
        assert not first[group].identical(other[group])
