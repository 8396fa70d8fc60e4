"""Decisions under stronger and weaker priors: weighted means of the same events."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.fit_data import replicate_draws
from sharpbayes.posterior.power_scaling import weighted_mean
from sharpbayes.posterior.prior_sensitivity import _order_moves, prior_sensitivity
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.scaled_priors import ALL_PRIORS, scale_priors
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.context import RunContext, reload_files
from tests.bayes.conftest import crowd_ratings, model_of

CHAINS, LENGTH = 4, 250
# The criterion of model b; that of a is the sd of items, so that the prior of it decides.
LIMIT = 1.0


def weights(**sections):
    base = {"schema": "sharpbayes/weights/2", "title": "Made", "decision": {"confidence": 0.5}}
    return Weights.model_validate(base | sections)


def made_up(*, limit=LIMIT, weights_file=None):
    """Draws of sd_item far from 0, a profile of two models, and what metrics must have."""
    rng = np.random.default_rng(4)
    design = build_design(crowd_ratings(rng, items=5, raters=4), model_of(("item",), ("rater",)))
    flat = draw_prior(design, draws=CHAINS * LENGTH, seed=1)["prior"]
    posterior = xr.Dataset(
        {
            name: (x.dims, x.to_numpy().reshape(CHAINS, LENGTH, *x.shape[2:]))
            for name, x in flat.data_vars.items()
        },
        {"chain": range(CHAINS), "draw": range(LENGTH)},
    )
    posterior["sd_item"] = abs(posterior["sd_item"] * 0 + rng.normal(1.05, 0.4, (CHAINS, LENGTH)))
    cvar = xr.concat(
        [posterior["sd_item"], posterior["sd_item"] * 0 + limit],
        xr.DataArray(["a", "b"], dims="model", name="model"),
    ).transpose(*DRAWS, "model")
    tier = 1 + (cvar > cvar.min("model")).astype(np.int16)
    profile = xr.Dataset({"cvar": cvar, "tier": tier})
    weights_file = weights() if weights_file is None else weights_file
    if weights_file.tolerance is not None:
        profile["admissible"] = (cvar <= weights_file.tolerance.cvar).astype(np.int8)
    metrics = SimpleNamespace(plans=[SimpleNamespace(weights=weights_file)])
    draws = ReplicateDraws(posterior, posterior.drop_vars(list(posterior)), design, seed=1)
    return metrics, {"posterior_profile": profile}, draws


def test_probabilities_are_weighted_means_of_draws():
    metrics, groups, draws = made_up()
    table = prior_sensitivity(metrics, groups, scale_priors(groups, draws), level=0.95)
    sd = draws.posterior["sd_item"]
    for power in (0.5, 2.0):
        weight = np.exp((power - 1) * (-0.5 * (sd / 1.5) ** 2))
        expected = float((weight * (sd < LIMIT)).sum() / weight.sum())
        row = table.sel(prior="sd_item", power=power)
        assert float(row["prob_best"].sel(model="a")) == pytest.approx(expected, abs=0.003)
        assert float(row["prob_less"].sel(model="a", other="b")) == pytest.approx(
            float(row["prob_best"].sel(model="a")), abs=1e-12
        )
    xr.testing.assert_allclose(table["prob_best"].sum("model"), table["pareto_k"] * 0 + 1)


def test_only_priors_that_the_criterion_follows_are_sensitive():
    metrics, groups, draws = made_up()
    table = prior_sensitivity(metrics, groups, scale_priors(groups, draws), level=0.95)
    names = [ALL_PRIORS, "sd_item", "sd_rater", "threshold_score"]
    assert table["prior"].to_numpy().tolist() == names
    by_model = table["sensitivity"].sel(model="a")
    assert float(by_model.sel(prior="sd_item")) > 0.03
    assert float(by_model.sel(prior="sd_rater")) < float(by_model.sel(prior="sd_item")) / 2
    # Model b has the same criterion in every draw.
    np.testing.assert_allclose(table["sensitivity"].sel(model="b"), 0.0, atol=1e-6)
    sensitivity = float(table["parameter_sensitivity"].sel(prior="sd_item"))
    assert sensitivity == pytest.approx(float(by_model.sel(prior="sd_item")))
    assert table["law"].to_numpy().tolist()[:2] == ["their product", "half_normal(1.5)"]
    assert table.attrs["draws"] == 1000
    assert table.attrs["good_k"] == pytest.approx(1 - 1 / 3)


def test_a_selection_that_a_prior_moves_is_found():
    """The mean of sd_item lies just above 1: counted twice, its prior draws it below."""
    metrics, groups, draws = made_up()
    excess = np.maximum(draws.posterior["sd_item"] - LIMIT, 0)
    short = np.maximum(LIMIT - draws.posterior["sd_item"], 0)
    assert float(excess.mean()) > float(short.mean())  # b has the lower expected loss
    table = prior_sensitivity(metrics, groups, scale_priors(groups, draws), level=0.95)
    moves = table["selection_moves"].sel(prior="sd_item")
    assert moves.to_numpy().tolist() == [False, True]
    twice = table.sel(prior="sd_item", power=2.0)
    assert bool(twice["selected"].sel(model="a"))
    assert not table["selection_moves"].sel(prior="sd_rater").any()
    # The probability of the order shifts by less than a tenth: no such move.
    assert not table["order_moves"].any()
    assert not table["tier_moves"].any()


def test_a_verdict_that_a_prior_moves_is_found():
    at_risk = weights(tolerance={"cvar": 1.55, "confidence": 0.9})
    metrics, groups, draws = made_up(weights_file=at_risk)
    kept = float((draws.posterior["sd_item"] <= 1.55).mean())
    table = prior_sensitivity(metrics, groups, scale_priors(groups, draws), level=0.95)
    verdict = table["verdict"].sel(model="a", prior="sd_item").to_numpy().tolist()
    before = "admissible" if kept >= 0.9 else "cannot tell"
    moves = table["verdict_moves"].sel(model="a", prior="sd_item").to_numpy().tolist()
    assert len({before, *verdict}) == 2
    assert moves == [text != before for text in verdict]
    # Where the evidence does not carry a verdict, no prior has another one than the decision has.
    models = table["model"]
    decided = models.copy(data=["not admissible", *["cannot tell"] * (models.size - 1)])
    one = xr.ones_like(models, dtype=float).expand_dims(threshold=["cvar"])
    bounds = one.expand_dims(bound=["lower", "upper"])
    tolerance = xr.Dataset(
        {"limit": ("threshold", [1.55]), "observed": one, "unseen_end_rise": 0 * one}
    ).assign(bounds=bounds)
    restricted = {
        "evidence": xr.Dataset(attrs={"carried": "[]"}),
        "tolerance": tolerance.assign(state=decided.expand_dims(threshold=["cvar"])),
        "decision": decided.to_dataset(name="verdict"),
    }
    table = prior_sensitivity(metrics, groups | restricted, scale_priors(groups, draws), level=0.95)
    assert (table["verdict"] == decided).all()
    assert not table["verdict_moves"].any()


def test_an_order_that_shifts_by_no_more_than_its_error_does_not_move():
    """Of few draws one that weighs much carries the order across one half."""
    is_lower, weight = np.arange(40) < 21, np.where(np.arange(40) == 39, 12.0, 1.0)
    for repeats, expected in ((1, False), (100, True)):
        order = np.random.default_rng(1).permutation(40 * repeats)
        lower, share = (
            xr.DataArray(np.tile(x, repeats)[order].reshape(4, -1).astype(float), dims=DRAWS)
            for x in (is_lower, weight)
        )
        lower, share = lower.expand_dims(other=["b"]), share / share.sum()
        before, after = lower.mean(DRAWS), weighted_mean(lower, share)
        assert before.item() > 0.5
        assert after.item() < before.item() - 0.1
        assert bool(_order_moves(lower, share, before, after)) == expected


@pytest.mark.parametrize("name", ["fitted_panel", "fitted_crowd"])
def test_every_fit_has_the_group(name, shared_results):
    results = open_results(shared_results(name))
    table, log_prior = (results[g].to_dataset() for g in ("prior_sensitivity", "log_prior"))
    assert table["prior"].to_numpy().tolist() == [ALL_PRIORS, *log_prior]
    assert log_prior.sizes == {name: results["posterior"].sizes[name] for name in DRAWS}
    # With 40 draws no weights are reliable.
    assert np.isinf(table["pareto_k"]).all()
    context = RunContext(reload_files(results))
    groups = {str(name): node.to_dataset() for name, node in results.children.items()}
    draws = replicate_draws(groups, context.design, context.study)
    again = prior_sensitivity(context.metrics, groups, scale_priors(groups, draws), level=0.95)
    xr.testing.assert_allclose(again.drop_attrs(), table.drop_attrs())


def test_the_order_of_groups_is_that_of_hm(shared_results):
    results = open_results(shared_results("fitted_crowd"))
    table = results["prior_sensitivity"].to_dataset()
    hm = results["posterior_responsiveness"]["hm"].sel(by="all")
    pair = {"group": "gender=Man", "other": "gender=Woman"}
    less = float((hm.sel(group=pair["group"]) < hm.sel(group=pair["other"])).mean())
    by_prior = table["prob_less"].sel(pair)
    assert float(abs(by_prior - less).max()) < 0.5
    back = table["prob_less"].sel(group=pair["other"], other=pair["group"])
    np.testing.assert_allclose(by_prior + back, 1.0)
    assert bool(table["prob_less"].sel(group="gender=Man", other="age=GenZ").isnull().all())
