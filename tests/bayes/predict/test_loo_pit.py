"""Leave-one-out PIT: exact probabilities, uniform for the model that made the ratings."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.loo_pit import loo_pit
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.replication import draw_ratings, latent_ratings
from tests.bayes.conftest import crowd_ratings, model_of, panel_ratings

LAWS = [
    ("cumulative", "logit"),
    ("cumulative", "probit"),
    ("adjacent", "logit"),
    ("continuation", "logit"),
    ("continuation", "probit"),
]


@pytest.mark.parametrize(("likelihood", "link"), LAWS)
def test_probabilities_below_and_of_all_categories_agree(likelihood, link, rng):
    model = model_of(("item",), ("rater",), likelihood=likelihood, link=link)
    design = build_design(crowd_ratings(rng, items=4, raters=3), model)
    draws = draw_prior(design, draws=5, seed=3)["prior"]
    [scale] = design.scales
    top = len(scale.labels) - 1
    total, category = 0.0, np.zeros_like(scale.category)
    for k in range(top + 1):
        latent = latent_ratings(draws, design, replace(scale, category=category + k))
        np.testing.assert_allclose(latent.below_probability(), total, atol=1e-12)
        total = total + np.exp(latent.log_probability())
    np.testing.assert_allclose(total, 1.0)


def simulated(rng, *, draws=400):
    """A design with ratings drawn from one draw of the prior, and draws near it."""
    design = build_design(panel_ratings(rng, models=3, prompts=30, judges=3), model_of(("judge",)))
    truth = draw_prior(design, draws=1, seed=8)["prior"]
    scales = [
        replace(s, category=draw_ratings(latent_ratings(truth, design, s), truth, design, rng)[0])
        for s in design.scales
    ]
    changed = replace(design, scales=tuple(scales))
    posterior = truth.isel(draw=np.zeros(draws, dtype=int)).assign_coords(draw=range(draws))
    noise = rng.normal(0, 0.02, posterior["location_judge"].shape)
    return changed, posterior.assign(location_judge=posterior["location_judge"] + noise)


def test_the_model_that_made_the_ratings_has_a_uniform_pit(rng):
    design, posterior = simulated(rng)
    rows = np.arange(design.n_ratings)
    pit, pareto_k = loo_pit(posterior, design, rows, seed=1)
    assert len(pit) == design.n_ratings > 1000
    assert kstest(pit, "uniform").pvalue > 0.001
    assert (pareto_k < 0.5).all()


def test_a_shift_and_a_wrong_width_show(rng):
    design, posterior = simulated(rng)
    rows = np.arange(design.n_ratings)
    lower = posterior.assign(location_judge=posterior["location_judge"] - 1.0)
    assert loo_pit(lower, design, rows, seed=1)[0].mean() > 0.55
    thresholds = [name for name in posterior if str(name).startswith("threshold_")]
    wide = posterior.assign({name: posterior[name] * 3.0 for name in thresholds})
    narrow = posterior.assign({name: posterior[name] / 3.0 for name in thresholds})
    spreads = [12 * loo_pit(x, design, rows, seed=1)[0].var() for x in (wide, posterior, narrow)]
    assert spreads[0] != pytest.approx(1.0, abs=0.1)
    assert spreads[1] == pytest.approx(1.0, abs=0.08)


def test_some_ratings_have_the_numbers_of_all(rng):
    design, posterior = simulated(rng, draws=40)
    everything, k = loo_pit(posterior, design, np.arange(design.n_ratings), seed=1)
    rows = np.sort(rng.choice(design.n_ratings, 50, replace=False))
    some, some_k = loo_pit(posterior, design, rows, seed=1)
    np.testing.assert_allclose(some_k, k[rows])
    assert some.shape == (50,)
    # Their places inside a probability are drawn anew, so that only the steps agree.
    assert (np.abs(some - everything[rows]) < 1.0).all()
