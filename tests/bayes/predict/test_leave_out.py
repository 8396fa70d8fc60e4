"""Leaving out: against ArviZ on log-likelihoods held whole, exact refits, and known truths."""

from dataclasses import replace

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.special import expit, logsumexp
from scipy.stats import norm

from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict import leave_out as loo
from sharpbayes.bayes.predict import refit
from sharpbayes.bayes.predict.replication import log_likelihood, rater_log_likelihood
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.crowd import spread_factor
from sharpbayes.spec.study import Sampler
from tests.bayes.conftest import crowd_ratings, model_of, panel_ratings, with_experts

SAMPLER = Sampler(chains=2, tune=500, draws=500)
ITEM_AND_RATER = model_of(("item",), ("rater",))
RATER = model_of(("rater",))
ITEM = model_of(("item",))


def fitted(ratings, model, *, sampler=SAMPLER, seed=3):
    design = build_design(ratings, model)
    design = tune_design(design, ratings, model, seed=seed)
    trace = sample_kernel(design, sampler, seed=seed)
    return trace["posterior"].to_dataset(), design


def left_out(ratings, model, by, **more):
    posterior, design = fitted(ratings, model, **more)
    return loo.leave_out(posterior, design, loo.make_units(ratings, by))


def loo_by_arviz(posterior, design, code):
    """ArviZ's own numbers from the log-likelihood of all ratings at once, summed by unit."""
    loglik = log_likelihood(posterior, design)
    by_rating = np.empty((*loglik["rating_score"].shape[:2], design.n_ratings))
    for scale in design.scales:
        by_rating[..., scale.rows] = loglik[f"rating_{scale.name}"].to_numpy()
    summed = [by_rating[..., code == unit].sum(axis=-1) for unit in range(code.max() + 1)]
    units = xr.DataArray(np.stack(summed, axis=-1), dims=("chain", "draw", "unit"))
    tree = xr.DataTree.from_dict(
        {"posterior": posterior, "log_likelihood": xr.Dataset({"y": units})}
    )
    return az.loo(tree, pointwise=True, reff=1.0)


@pytest.fixture(scope="module")
def labelled():
    """Ratings on two scales and their fit."""
    rng = np.random.default_rng(20260121)
    ratings = with_experts(crowd_ratings(rng, items=12, raters=6), rng)
    return ratings, *fitted(ratings, ITEM_AND_RATER)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize("by", ["rating", "group:gender"])
@pytest.mark.parametrize("cells", [1_000_000, 5_000])
def test_numbers_are_those_of_arviz(labelled, monkeypatch, by, cells):
    """Two scales, in one block and in many; experts have no gender and stay in."""
    monkeypatch.setattr(loo, "BLOCK_VALUES", cells)
    ratings, posterior, design = labelled
    units = loo.make_units(ratings, by)
    table = loo.leave_out(posterior, design, units)
    wanted = loo_by_arviz(posterior, design, units.code)
    assert table.attrs["integrated"] == ""
    assert table["elpd"].to_numpy() == pytest.approx(wanted.elpd_i.to_numpy(), rel=1e-4)
    assert table["pareto_k"].to_numpy() == pytest.approx(wanted.pareto_k.to_numpy(), abs=1e-3)
    assert float(table["p"].sum()) == pytest.approx(wanted.p, rel=1e-3)
    assert table.attrs["good_k"] == pytest.approx(wanted.good_k)
    assert table.attrs["without_unit"] == (36 if by == "group:gender" else 0)


def test_quadrature_is_the_integral(rng):
    """One draw, one item: its ratings under a new effect, integrated by SciPy."""
    ratings = crowd_ratings(rng, items=5, raters=7)
    posterior, design = fitted(ratings, ITEM_AND_RATER)
    units = loo.make_units(ratings, "item")
    own_term = loo.find_own_term(design, units)
    assert own_term.name == "location_item"
    ordered = loo._order_ratings(design, units)
    sums = rater_log_likelihood(posterior, design)
    loglik = loo._log_likelihood(
        posterior, design, ordered, range(5), own_term=own_term, rater_sums=sums
    )
    draw = posterior.isel(chain=1, draw=17)
    cuts = np.concatenate([[-np.inf], draw["threshold_score"].to_numpy(), [np.inf]])
    rows = ratings.factors["item"].codes == 2
    level, rater = ratings.score[rows], ratings.factors["rater"].codes[rows]
    bias, sd = draw["location_rater"].to_numpy()[rater], float(draw["sd_item"])

    def density(x):
        share = expit(cuts[level + 1] - x - bias) - expit(cuts[level] - x - bias)
        return share.prod() * norm.pdf(x, 0.0, sd)

    wanted = np.log(quad(density, -30, 30, points=[-2, 0, 2], epsabs=0, limit=500)[0])
    assert loglik[500 + 17, 2] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("by", ["item", "rater"])
def test_what_is_left_out_is_predicted_as_by_a_fit_without_it(rng, by):
    ratings = crowd_ratings(rng, items=15, raters=12)
    sampler = Sampler(chains=2, tune=500, draws=2000)
    posterior, design = fitted(ratings, ITEM_AND_RATER, sampler=sampler)
    units = loo.make_units(ratings, by)
    table = loo.leave_out(posterior, design, units)
    assert table.attrs["integrated"] == f"location_{by}"
    good = np.flatnonzero(table["pareto_k"] < table.attrs["good_k"])
    assert len(good) >= 1
    for unit in good[:2]:
        exact = refit.refit_without_unit(
            design, ratings, ITEM_AND_RATER, sampler, units=units, unit=int(unit), seed=7
        )
        assert float(table["elpd"][unit]) == pytest.approx(exact, abs=0.3)


def test_a_rater_with_thresholds_of_its_own_is_drawn_anew(rng):
    """Several effects a rater: nothing is integrated, and a refit draws all of them."""
    model = model_of(("item",), ("rater",), thresholds={"by": ["scale", "rater"]})
    ratings = crowd_ratings(rng, items=15, raters=6)
    units = loo.make_units(ratings, "rater")
    design = build_design(ratings, model)
    assert loo.find_own_term(design, units) is None
    exact = refit.refit_without_unit(design, ratings, model, SAMPLER, units=units, unit=2, seed=1)
    assert -60.0 < exact < -15.0  # 15 ratings on five levels: log(1/5) each is -24


def test_a_unit_that_holds_a_scale_cannot_be_fitted_without(rng):
    ratings = panel_ratings(rng, models=2, prompts=4, judges=2)
    units = loo.make_units(ratings, "indicator")
    last = units.labels.index("z")
    model = model_of(("prompt",))
    design = build_design(ratings, model)
    assert np.isnan(
        refit.refit_without_unit(design, ratings, model, SAMPLER, units=units, unit=last, seed=1)
    )


@pytest.mark.parametrize("by", ["rating", "rater"])
def test_items_that_differ_are_predicted_better_by_a_model_that_says_so(rng, by):
    ratings = crowd_ratings(rng, items=30, raters=10)
    tables = {
        "with": left_out(ratings, ITEM_AND_RATER, by),
        "without": left_out(ratings, RATER, by),
    }
    table = loo.rank_models(tables, draws=dict.fromkeys(tables, 1000))
    assert table["model"].to_numpy().tolist() == ["with", "without"]
    best, worse = table["elpd_difference"].to_numpy()
    assert best == 0.0
    unit = tables["without"]["elpd"].to_numpy() - tables["with"]["elpd"].to_numpy()
    assert worse == pytest.approx(unit.sum())
    assert worse < -2 * float(table["difference_se"][1])
    assert float(table["difference_se"][1]) == pytest.approx(np.sqrt(unit.size * unit.var()))


def test_raters_that_differ_help_to_predict_a_new_item(rng):
    ratings = crowd_ratings(rng, items=30, raters=10)
    tables = {
        name: left_out(ratings, model, "item")
        for name, model in {"both": ITEM_AND_RATER, "item": ITEM}.items()
    }
    table = loo.rank_models(tables, draws=dict.fromkeys(tables, 1000))
    assert table["model"].to_numpy().tolist() == ["both", "item"]
    assert float(table["elpd_difference"][1]) < 0.0


def test_a_term_of_pure_noise_is_no_gain(rng):
    """Gender says nothing: the larger model is not clearly better."""
    ratings = crowd_ratings(rng, items=30, raters=10)
    more = model_of(("item",), ("rater",), ("item", "group:gender"))
    tables = {
        "plain": left_out(ratings, ITEM_AND_RATER, "rating"),
        "more": left_out(ratings, more, "rating"),
    }
    unit = (tables["more"]["elpd"] - tables["plain"]["elpd"]).to_numpy()
    assert unit.sum() < 2 * np.sqrt(unit.size * unit.var())


def test_exact_density_is_the_mean_over_draws(rng):
    ratings = crowd_ratings(rng, items=6, raters=4)
    posterior, design = fitted(ratings, ITEM_AND_RATER)
    units = loo.make_units(ratings, "rating")
    loglik = log_likelihood(posterior, design)["rating_score"].to_numpy().reshape(1000, -1)
    wanted = logsumexp(loglik[:, 5]) - np.log(1000)
    assert loo.predict_unit(posterior, design, units, 5) == pytest.approx(wanted, rel=1e-5)


def test_columns_that_are_spread_when_asked_for_are_left_out_too(rng):
    """Columns of raters and items of a crowd study are looked up through their owner."""
    ratings = crowd_ratings(rng, items=6, raters=4)
    gender = spread_factor(np.array(["b", "a", "b", "a"]), ratings.factors["rater"])
    grouped = replace(ratings, factors=ratings.factors | {"group:gender": gender})
    kept = ratings.factors["rater"].codes > 0
    fewer = grouped.of(kept)
    assert fewer.factors["group:gender"].codes.tolist() == [0, 1, 0] * 6
    assert fewer.factors["group:gender"].labels == ("a", "b")
    assert fewer.score.tolist() == ratings.score[kept].tolist()
