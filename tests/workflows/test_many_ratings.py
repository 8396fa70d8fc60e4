"""Fits of many ratings: what results leave out is computed from the draws when it is needed."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.bayes import fit as fitting
from sharpbayes.bayes.design import size
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.posterior.fit_data import read_fit_groups, replicate_draws
from sharpbayes.posterior.replicates import Block
from sharpbayes.report.page import page_text
from sharpbayes.spec.load import load_study, reload_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.compare import compare
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import named_weights, posterior_profile, weigh
from tests.shared_results import SMALL

OVERRIDES = (*SMALL, "crowd.permutations=9", "crowd.fit=crowd_severity")
RATINGS = "rating_score"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A crowd whose ratings count as too many to be replicated in results, or to be labelled."""
    path = tmp_path_factory.mktemp("many") / "r.nc"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(size, "MAX_KEPT", 5000)
        patch.setattr(size, "MAX_REPLICATED", 16 * 3200)
        patch.setattr(size, "MIN_DRAWS", 10)
        patch.setattr(fitting, "MAX_LABELLED", 500)
        save_results(fit(load_study("quickstart_crowd", overrides=OVERRIDES)), path)
    return path


def without_ratings(results):
    """Results as those of many ratings are."""
    bare = results.copy()
    draws = results["posterior_predictive"].to_dataset()[["chain", "draw"]]
    bare["posterior_predictive"] = xr.DataTree(draws)
    return bare


def test_draws_stay_and_what_follows_from_them_is_left_out(crowd):
    results = open_results(crowd)
    assert "log_likelihood" not in results
    predictive = results["posterior_predictive"].to_dataset()
    assert list(predictive.variables) == ["chain", "draw"]
    assert predictive.sizes == {"chain": 2, "draw": 8}  # of 20 that are asked for
    ratings = int(results.attrs["data_ratings"])
    assert results["prior_predictive"][RATINGS].shape == (1, 5000 // ratings, ratings)
    assert not set(results["observed_data"].coords) - {"chain", "draw"}
    summary = az.summary(results, var_names=["sd_item"])
    assert len(summary) == 1


@pytest.mark.usefixtures("without_figures")
def test_the_page_says_nothing_of_what_is_left_out(crowd):
    page = page_text(open_results(crowd))
    assert "HM: bootstrap and posterior" in page
    assert "ratings observed and replicated" not in page


def test_every_use_of_a_draw_has_the_same_ratings_whatever_its_block(crowd):
    results = open_results(crowd)
    context = RunContext(load_study("quickstart_crowd", overrides=OVERRIDES))
    design = build_design(context.study.ratings, context.model.spec)
    draws = replicate_draws(read_fit_groups(results), design, context.study)
    [one] = Block(draws, 1, 2, 8).ratings(["ratings"]).values()
    [other] = Block(draws, 1, 5, 6).ratings(["ratings"]).values()
    assert one.dtype == np.int8
    np.testing.assert_array_equal(one[3], other[0])
    assert (one[3] != one[4]).any()


def test_frequencies_are_checked_in_replicates_of_every_draw(crowd):
    checks = open_results(crowd)["predictive_checks"]
    replicated = checks["frequency_score_age_replicated"]
    np.testing.assert_allclose(replicated.sum("score_category"), 1.0)
    assert float(abs(replicated - checks["frequency_score_age_observed"]).max()) < 0.2


def test_other_commands_need_only_the_draws(crowd):
    table = compare({"one": crowd, "two": crowd}, by="rating", refits=0)["comparison"]
    assert table["elpd_unit"].sizes["unit"] == int(open_results(crowd).attrs["data_ratings"])


def test_other_weights_and_the_gate_replicate_ratings_anew(shared_results):
    results = open_results(shared_results("fitted_panel"))
    weights = named_weights(["sharp"])
    with_own = weigh(without_ratings(results), weights)["sharp"]
    stored = weigh(results, weights)["sharp"]
    for name in ("profile", "posterior_profile"):
        assert set(with_own[name].data_vars) == set(stored[name].data_vars)
    difference = abs(with_own["joint"]["posterior_median"] - stored["joint"]["posterior_median"])
    assert float(difference.max()) < 0.2
    study = stored_study(reload_study(results.attrs), results["ratings"].to_dataset())
    profile = posterior_profile(without_ratings(results), study, study.weights)
    xr.testing.assert_equal(profile["mean"], with_own["posterior_profile"]["mean"])
