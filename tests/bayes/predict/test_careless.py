"""Careless raters in prediction: classes, replicated ratings, what is left out, by plain loops."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logsumexp

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.predict import leave_out as loo
from sharpbayes.bayes.predict.replication import (
    draw_classes,
    draw_new_levels,
    draw_ratings,
    joint_log_likelihood,
    latent_ratings,
    log_likelihood,
    posterior_predictive,
    rater_log_likelihood,
    rater_probability,
)
from tests.bayes.conftest import crowd_ratings, model_of, with_experts
from tests.bayes.kernel.test_careless import CARELESS, urn

TERMS = (("item",), ("rater",))


def fitted(ratings, *, draws=4):
    """Draws of the prior in place of a posterior, and the design."""
    design = build_design(ratings, model_of(*TERMS, **CARELESS))
    tree = sample_prior(build_model(design), draws=draws, seed=5)
    return tree["prior"].to_dataset(), design


@pytest.fixture
def crowd(rng):
    return fitted(crowd_ratings(rng, items=6, raters=4))


def ordinal(posterior, design, draw, row, category):
    """P(category) of a rating under the ordinal model."""
    values = posterior.isel(chain=0, draw=draw)
    item, rater = (term.index[row] for term in design.terms)
    eta = float(values["location_item"][item] + values["location_rater"][rater])
    cuts = np.concatenate([[-np.inf], values["threshold_score"], [np.inf]])
    return expit(cuts[category + 1] - eta) - expit(cuts[category] - eta)


def likelihood_of(posterior, design, draw, rater, rows):
    """p(ratings of a rater | draw), the class summed out; (ordinal part, careless part)."""
    share = float(posterior["careless_share"].isel(chain=0, draw=draw))
    categories = design.scales[0].category
    by_model = np.prod([ordinal(posterior, design, draw, row, categories[row]) for row in rows])
    return (1 - share) * by_model, share * urn(categories[rows], 5, 0.7)


def rows_of(design, rater):
    return np.flatnonzero(design.careless.index == rater)


def test_the_probability_of_the_class_is_bayes_rule(crowd):
    posterior, design = crowd
    probability = rater_probability(posterior, design)
    for draw, rater in itertools.product(range(4), range(4)):
        by_model, clicking = likelihood_of(posterior, design, draw, rater, rows_of(design, rater))
        assert probability[draw, rater] == pytest.approx(clicking / (by_model + clicking), rel=1e-9)


def test_the_joint_likelihood_sums_the_classes_out(crowd):
    posterior, design = crowd
    loglik = joint_log_likelihood(posterior, design)
    for draw in range(4):
        parts = [likelihood_of(posterior, design, draw, r, rows_of(design, r)) for r in range(4)]
        assert loglik[draw] == pytest.approx(np.log(np.sum(parts, axis=1)).sum(), rel=1e-9)


def test_the_likelihood_of_a_rating_is_given_the_others_of_its_rater(crowd):
    posterior, design = crowd
    loglik = log_likelihood(posterior, design)["rating_score"].to_numpy()[0]
    for draw, row in itertools.product(range(2), range(design.n_ratings)):
        rater = design.careless.index[row]
        rows = rows_of(design, rater)
        likelihood = sum(likelihood_of(posterior, design, draw, rater, rows))
        others = sum(likelihood_of(posterior, design, draw, rater, rows[rows != row]))
        assert loglik[draw, row] == pytest.approx(np.log(likelihood / others), rel=1e-5, abs=1e-5)


def test_experts_have_no_class_and_their_labels_the_ordinal_likelihood(rng):
    ratings = with_experts(crowd_ratings(rng, items=6, raters=4), rng)
    posterior, design = fitted(ratings)
    label = design.scales[1]
    loglik = log_likelihood(posterior, design)["rating_label"].to_numpy()[0]
    expected = latent_ratings(posterior, design, label).log_probability()
    np.testing.assert_allclose(loglik, expected, rtol=1e-5)
    joint = joint_log_likelihood(posterior, design)
    crowd_alone = fitted(crowd_ratings(np.random.default_rng(20260121), items=6, raters=4))[1]
    assert crowd_alone.n_ratings == 24
    mixed = joint - expected.sum(axis=1)
    parts = [
        [likelihood_of(posterior, design, draw, r, rows_of(design, r)) for r in range(4)]
        for draw in range(4)
    ]
    np.testing.assert_allclose(mixed, np.log(np.sum(parts, axis=2)).sum(axis=1), rtol=1e-9)


def elpd_by_hand(posterior, design, code):
    """log p(y_u | other ratings, draw) of every unit, unit by unit; shape (draw, unit)."""
    values = np.zeros((4, code.max() + 1))
    for draw, unit in itertools.product(range(4), range(code.max() + 1)):
        for rater in range(4):
            rows = rows_of(design, rater)
            kept = rows[code[rows] != unit]
            if len(kept) < len(rows):
                likelihood = sum(likelihood_of(posterior, design, draw, rater, rows))
                others = sum(likelihood_of(posterior, design, draw, rater, kept))
                values[draw, unit] += np.log(likelihood / others)
    return values


@pytest.mark.parametrize("by", ["rating", "group:gender", "item", "rater"])
@pytest.mark.parametrize("size", [1_000_000, 20])
def test_what_is_left_out_of_units_is_given_all_others(rng, monkeypatch, by, size):
    monkeypatch.setattr(loo, "BLOCK_VALUES", size)
    ratings = crowd_ratings(rng, items=6, raters=4)
    posterior, design = fitted(ratings)
    units = loo.make_units(ratings, by)
    ordered = loo._order_ratings(design, units)
    sums = rater_log_likelihood(posterior, design)
    block = range(len(units.labels))
    loglik = loo._log_likelihood(posterior, design, ordered, block, own_term=None, rater_sums=sums)
    expected = elpd_by_hand(posterior, design, units.code)
    np.testing.assert_allclose(loglik, expected, rtol=1e-8, atol=1e-10)
    for unit in (0, len(block) - 1):
        by_unit = loo.predict_unit(posterior, design, units, unit)
        assert by_unit == pytest.approx(logsumexp(expected[:, unit]) - np.log(4), rel=1e-8)


def test_an_own_effect_is_integrated_given_the_other_ratings(rng):
    ratings = crowd_ratings(rng, items=6, raters=4)
    posterior, design = fitted(ratings, draws=1)
    units = loo.make_units(ratings, "item")
    own_term, ordered = loo.find_own_term(design, units), loo._order_ratings(design, units)
    assert own_term.name == "location_item"
    # A spread of the effects of single units, which quadrature needs, from two draws.
    wide = xr.concat([posterior, posterior], "draw").assign_coords(draw=[0, 1])
    shift = xr.DataArray([-0.7, 0.7], dims="draw")
    wide = wide.assign(location_item=wide["location_item"] * 0.2 + shift)
    sums = rater_log_likelihood(wide, design)
    loglik = loo._log_likelihood(
        wide, design, ordered, range(6), own_term=own_term, rater_sums=sums
    )
    sd, grid = float(wide["sd_item"].isel(chain=0, draw=0)), np.linspace(-9, 9, 121)
    rows = np.flatnonzero(units.code == 0)
    total = -0.5 * (grid / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
    for row in rows:
        rater = design.careless.index[row]
        kept = rows_of(design, rater)
        kept = kept[kept != row]
        others, clicking = likelihood_of(wide, design, 0, rater, kept)
        share, scores = (
            float(wide["careless_share"].isel(chain=0, draw=0)),
            design.scales[0].category,
        )
        by_clicking = share * urn(scores[[*kept, row]], 5, 0.7)
        eta = grid + float(wide["location_rater"].isel(chain=0, draw=0)[rater])
        cuts = np.concatenate([[-np.inf], wide["threshold_score"].isel(chain=0, draw=0), [np.inf]])
        by_model = expit(cuts[scores[row] + 1] - eta) - expit(cuts[scores[row]] - eta)
        total += np.log((others * by_model + by_clicking) / (others + clicking))
    expected = logsumexp(total) + np.log(grid[1] - grid[0])
    assert loglik[0, 0] == pytest.approx(expected, abs=0.02)


def test_classes_and_scores_have_their_probabilities(crowd):
    posterior, design = crowd
    one = posterior.isel(draw=[1])
    # As many draws with the same parameters.
    many = one.isel(draw=[0] * 4000).assign_coords(draw=np.arange(4000))
    probability = rater_probability(one, design)[0]
    rng = np.random.default_rng(2)
    drawn = draw_classes(many, design, known=True, rng=rng)
    share = drawn["careless_rater"].mean(("chain", "draw"))
    np.testing.assert_allclose(share, probability, atol=4 * 0.5 / np.sqrt(4000))
    counts = np.bincount(design.scales[0].category[rows_of(design, 2)], minlength=5)
    expected = (0.7 + counts) / (3.5 + counts.sum())
    score = drawn["careless_score"].sel(rater="r2").mean(("chain", "draw"))
    np.testing.assert_allclose(score, expected, atol=0.02)
    fresh = draw_classes(many, design, known=False, rng=rng)
    of_prior = one["careless_share"].item()
    assert float(fresh["careless_rater"].mean()) == pytest.approx(of_prior, abs=0.02)
    score = fresh["careless_score"].mean(("chain", "draw", "rater"))
    np.testing.assert_allclose(score, 0.2, atol=0.02)


def test_ratings_of_careless_raters_come_from_their_own_distribution(crowd):
    posterior, design = crowd
    many = posterior.isel(draw=[1] * 4000).assign_coords(draw=np.arange(4000))
    rng = np.random.default_rng(2)
    drawn = draw_classes(many, design, known=True, rng=rng)
    certain = drawn.assign(careless_rater=xr.ones_like(drawn["careless_rater"]))
    latent = latent_ratings(many, design, design.scales[0])
    ratings = draw_ratings(latent, certain, design, rng)
    rows = rows_of(design, 2)
    expected = drawn["careless_score"].sel(rater="r2").mean(("chain", "draw"))
    for row in rows[:2]:
        frequency = np.bincount(ratings[:, row], minlength=5) / 4000
        np.testing.assert_allclose(frequency, expected, atol=4 * 0.5 / np.sqrt(4000))
    # Within a draw a distribution is the same for all items: scores repeat themselves.
    same = (ratings[:, rows[0]] == ratings[:, rows[1]]).mean()
    independent = float((expected**2).sum())
    assert same > independent + 0.02
    nobody = drawn.assign(careless_rater=xr.zeros_like(drawn["careless_rater"]))
    plain = draw_ratings(latent, nobody, design, np.random.default_rng(3))
    np.testing.assert_array_equal(plain, latent.draw(np.random.default_rng(3)))


def test_replicates_and_new_raters_have_classes(crowd):
    posterior, design = crowd
    predictive = posterior_predictive(posterior, design, seed=1)["rating_score"]
    assert predictive.shape == (1, 4, 24)
    rng = np.random.default_rng(1)
    new = draw_new_levels(posterior, design, "rater", rng=rng)
    assert {"careless_rater", "careless_score"} <= set(new)
    assert "careless_rater" not in draw_new_levels(posterior, design, "item", rng=rng)
