"""Draws of an earlier posterior that know new ratings."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.replication import joint_log_likelihood
from sharpbayes.bayes.predict.reweighting import (
    EarlierFit,
    have_same_parameters,
    new_log_likelihood,
    resample_chains,
    reweight,
)
from tests.bayes.conftest import crowd_ratings, model_of
from tests.bayes.kernel.test_careless import CARELESS

TERMS = (("item",), ("rater",))


def earlier_fit(ratings, model, new, *, draws=400):
    """An earlier fit of all but the new ratings, with draws of the prior as its posterior."""
    design = build_design(ratings.of(~new), model)
    prior = draw_prior(design, draws=draws, seed=3)["prior"]
    columns = {name: prior[name] for name in ("chain", "draw")}
    stats = xr.Dataset({"logp": (("chain", "draw"), np.zeros((1, draws)))}, columns)
    return EarlierFit(design, prior, stats, new)


@pytest.fixture
def ratings(rng):
    return crowd_ratings(rng, items=8, raters=5)


@pytest.mark.parametrize("options", [{}, CARELESS], ids=["ordinal", "careless"])
def test_weights_are_the_likelihood_of_the_new_ratings_given_the_old(ratings, options):
    model, new = model_of(*TERMS, **options), np.arange(40) % 9 == 4
    earlier, grown = earlier_fit(ratings, model, new), build_design(ratings, model)
    both = [joint_log_likelihood(earlier.posterior, d) for d in (grown, earlier.design)]
    assert new_log_likelihood(earlier, grown)[0] == pytest.approx(both[0] - both[1], rel=1e-9)


def test_reweighted_draws_have_the_mean_of_the_weighted_ones(ratings):
    model, new = model_of(*TERMS), np.arange(40) == 7
    earlier, grown = earlier_fit(ratings, model, new, draws=4000), build_design(ratings, model)
    reweighted = reweight(earlier, grown, seed=1)
    assert reweighted.reliable
    weights = np.exp(new_log_likelihood(earlier, grown)[0])
    assert reweighted.effective_draws == pytest.approx(
        weights.sum() ** 2 / (weights**2).sum(), rel=0.02
    )
    effects = earlier.posterior["location_item"].isel(chain=0, item=1).to_numpy()
    drawn = reweighted.trace["posterior"]["location_item"].isel(chain=0, item=1)
    assert float(drawn.mean()) == pytest.approx(np.average(effects, weights=weights), abs=0.02)
    assert abs(float(drawn.mean()) - effects.mean()) > 0.1
    assert drawn["draw"].to_numpy().tolist() == list(range(4000))
    stored = reweighted.trace["sample_stats"]["logp"].to_numpy()
    assert np.isin(stored, new_log_likelihood(earlier, grown)).all()


def test_ratings_that_draws_exclude_have_no_reliable_weights(ratings):
    score = np.where(np.arange(40) % 5 == 0, 4, 0).astype(np.int16)
    contrary = replace(ratings, score=np.where(np.arange(40) < 20, score, 4 - score))
    model, new = model_of(*TERMS), np.arange(40) >= 4
    reweighted = reweight(earlier_fit(contrary, model, new), build_design(contrary, model), seed=1)
    assert reweighted is None or not reweighted.reliable


def test_other_parameters_have_no_weights(ratings):
    model, new = model_of(*TERMS), np.arange(40) >= 35
    # The last item has new ratings alone.
    items = ratings.factors["item"]
    fewer = ratings.of(~new)
    factors = fewer.factors | {"item": replace(fewer.factors["item"], labels=items.labels[:7])}
    before = build_design(replace(fewer, factors=factors), model)
    grown = build_design(ratings, model)
    assert not have_same_parameters(before, grown)
    assert have_same_parameters(build_design(fewer, model), grown)
    assert not have_same_parameters(build_design(ratings, model_of(("item",))), grown)
    earlier = replace(earlier_fit(ratings, model, new), design=before)
    assert reweight(earlier, grown, seed=1) is None


def test_draws_are_taken_by_their_weights_and_in_order(rng):
    weights = rng.gamma(1.0, size=(3, 50))
    chosen = resample_chains(weights, rng=rng)
    assert (np.diff(chosen, axis=1) >= 0).all()
    for row, shares in zip(chosen, 50 * weights / weights.sum(1, keepdims=True), strict=True):
        taken = np.bincount(row, minlength=50)
        assert (np.floor(shares) <= taken).all()
        assert (taken <= np.ceil(shares)).all()
    assert resample_chains(np.ones((1, 6)), rng=rng).tolist() == [list(range(6))]
