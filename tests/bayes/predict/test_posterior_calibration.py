"""Calibration given the observed ratings: truths are draws of their posterior."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.calibration import calibrate, join_replicates, posterior_truths
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.replication import joint_log_likelihood
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.study import Sampler
from sharpbayes.workflows.context import join_groups
from tests.bayes.conftest import crowd_ratings, model_of, with_experts
from tests.bayes.kernel.test_careless import CARELESS
from tests.bayes.predict.test_calibration import sample_once

SIMULATIONS = 15
QUICK = Sampler(chains=2, tune=300, draws=400)
MODEL = model_of(("item",), (["rater"], 1.0), thresholds={"prior": {"mean": 0.0, "sd": 1.5}})


@pytest.fixture(scope="module")
def base():
    """Observed ratings, their fit's design and draws that are true values."""
    ratings = crowd_ratings(np.random.default_rng(7), items=8, raters=6)
    design = build_design(ratings, MODEL)
    tuned, truths, _ = posterior_truths(
        design, ratings, MODEL, QUICK, simulations=SIMULATIONS, seed=5
    )
    return ratings, tuned, truths


def run(base, change=None):
    ratings, tuned, truths = base
    sample = sample_once(
        lambda design, seed: sample_posterior(design, sampler=QUICK, seed=seed), MODEL
    )

    def fit(design, seed):
        trace = sample(design, seed)
        if change is not None:
            posterior = trace["posterior"].to_dataset()
            trace["posterior"] = posterior.assign(change(posterior))
        return trace

    number = truths.sizes["draw"]
    return calibrate(
        tuned, ratings, MODEL, QUICK, simulations=number, seed=5, fit=fit, truths=truths
    )


@pytest.fixture(scope="module")
def calibration(base):
    """What calibration says of a right fit."""
    return run(base)


def test_a_right_fit_passes(calibration):
    assert bool(calibration["calibrated"])
    assert {"sd_item", "location_rater[r5]", "log-likelihood"} <= set(
        calibration["quantity"].to_numpy()
    )
    assert 0.35 < float(calibration["pit"].mean()) < 0.65


def test_a_flipped_sign_fails(base):
    table = run(base, lambda draws: {"location_rater": -draws["location_rater"]})
    failed = set(table["quantity"].to_numpy()[table["rejected"].to_numpy()])
    assert not bool(table["calibrated"])
    assert "log-likelihood" in failed


def test_truths_are_draws_of_the_posterior(base):
    _, tuned, truths = base
    assert dict(truths.sizes) | {"chain": 1, "draw": SIMULATIONS} == dict(truths.sizes)
    assert truths["draw"].to_numpy().tolist() == list(range(SIMULATIONS))
    # The observed ratings are far more probable under them than under draws of the prior.
    prior = draw_prior(tuned, draws=SIMULATIONS, seed=1)["prior"]
    values = [np.median(joint_log_likelihood(x, tuned)) for x in (truths, prior)]
    assert values[0] > values[1] + 10


@pytest.mark.parametrize("more", [{}, CARELESS])
def test_joined_ratings_have_both_likelihoods(more, rng):
    ratings = with_experts(crowd_ratings(rng, items=6, raters=5), rng)
    model = model_of(("item",), ("rater",), experts=True, **more)
    design = build_design(ratings, model)
    draws = draw_prior(design, draws=4, seed=2)["prior"]
    same = {scale.name: scale.category[None] for scale in design.scales}
    both = join_replicates(design, same)
    assert both.n_ratings == 2 * design.n_ratings
    assert [len(scale.rows) for scale in both.scales] == [
        2 * len(scale.rows) for scale in design.scales
    ]
    if not more:
        # Ratings are independent given the parameters, unless a class is shared.
        np.testing.assert_allclose(
            joint_log_likelihood(draws, both), 2 * joint_log_likelihood(draws, design)
        )
    other = {name: np.zeros_like(values) for name, values in same.items()}
    assert not np.allclose(
        joint_log_likelihood(draws, join_replicates(design, other)),
        joint_log_likelihood(draws, both),
    )


def test_the_note_says_where_truths_come_from(calibration):
    for converged, text in ((1, "of the observed ratings; each"), (0, ", which has not converged")):
        marked = calibration.assign_attrs(truths="posterior", base_converged=converged)
        (printed,) = report_tables(join_groups({"calibration": marked}, {}))
        assert text in printed.note
    (printed,) = report_tables(xr.DataTree.from_dict({"calibration": calibration}))
    assert "True values" not in printed.note
