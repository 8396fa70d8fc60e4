"""The posterior of people's scores beside people alone and PPI++."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.debiased import debiased_group
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.posterior.debiased import add_posterior
from sharpbayes.posterior.judge_bias import human_draws
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from tests.peopled import simulated
from tests.posterior.test_judge_bias import made_up

SOURCES = ("ratings",)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    small = simulated(tmp_path_factory.mktemp("small"), seed=3, models=3, prompts=60, people=4)
    study = read_study(small.files)
    design = build_design(study.ratings, small.files.model.spec)
    posterior = made_up(design, np.random.default_rng(8))
    nothing = posterior.drop_vars(list(posterior.data_vars))
    draws = human_draws(ReplicateDraws(posterior, nothing, design, 4), study.ratings)
    plan = build_profile_plan(study)
    return PanelMetrics([plan], rating_positions(study)), draws, debiased_group(plan)["debiased"]


def joined(parts, table):
    metrics, draws, _ = parts
    return add_posterior(table, metrics, draws, sources=SOURCES, number=0)


def test_as_many_people_score_as_scored_a_labelled_answer(parts):
    metrics, draws, table = parts
    result = joined(parts, table)
    assert result.attrs["pooled"] == 2
    assert result["estimator"].to_numpy().tolist() == ["people", "ppi", "posterior"]
    both = replace(metrics, positions=replace(metrics.positions, judges=2))
    [profile] = both.measure(draws, SOURCES)
    for metric in ("mean", "policy_score"):
        wanted = profile[metric].median(["chain", "draw"])
        got = result["estimate"].sel(estimator="posterior", metric=metric)
        np.testing.assert_allclose(got, wanted)
    everyone = joined(parts, table.assign(raters=7))
    assert everyone.attrs["pooled"] == 3
    # more people are pooled to more harm
    higher = everyone["estimate"] > result["estimate"]
    assert bool(higher.sel(estimator="posterior", metric="policy_score").all())
    xr.testing.assert_identical(
        result["estimate"].sel(estimator=["people", "ppi"]).drop_attrs(),
        table["estimate"].transpose("estimator", "metric", "model").drop_attrs(),
    )


def test_what_disagrees_beyond_both_errors_fails_a_check(parts):
    _, _, table = parts
    plain = joined(parts, table)
    agreed = plain["estimate"].sel(estimator="posterior", drop=True)
    error = plain["error"].sel(estimator=["ppi", "posterior"], metric="mean", model="m1")
    far = float((error**2).sum() ** 0.5)
    for step, count in ((1.0, 0), (6.0, 1)):
        near = agreed.broadcast_like(table["estimate"])
        cell = (near["metric"] == "mean") & (near["model"] == "m1")
        estimate = xr.where(cell, near + step * far, near)
        result = joined(parts, table.assign(estimate=estimate))
        assert int(result["disagree"].sum()) == count
        texts = result.attrs.get("failed_checks", [])
        assert len(texts) == count
    ppi, posterior = (
        float(result["estimate"].sel(estimator=name, metric="mean", model="m1"))
        for name in ("ppi", "posterior")
    )
    p = float(result["disagree_p_holm"].sel(metric="mean", model="m1"))
    assert texts == [
        "PPI++ and the posterior of people's scores disagree about one value, most about mean of "
        f"m1: {ppi:.2f} and {posterior:.2f} (p = {p:.1g} after Holm's correction). Either the "
        "fitted model of people and judges is wrong, or the labelled prompts are no random sample, "
        "which the study does not declare."
    ]
