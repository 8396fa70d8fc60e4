"""Fits without a judge, under other priors and weights: each is the fit that it says it is."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.study import read_study
from sharpbayes.errors import SpecError
from sharpbayes.execution.cluster import cluster
from sharpbayes.execution.tasks import Execution
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from sharpbayes.spec.model import Model
from sharpbayes.workflows.context import RunContext
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.sensitivity import (
    BASELINE,
    list_refits,
    sensitivity,
    widen_priors,
)
from tests.panels import files_of, frame
from tests.peopled import simulated

SMALL = ("sampler.tune=60", "sampler.draws=60", "sampler.chains=2", "sampler.predictive_draws=40")
MODEL = """schema = "sharpbayes/model/2"
title = "Models and judges"
[[location]]
by = ["model"]
[[location]]
by = ["judge"]
"""
ASKED = 'sensitivity={leave_out=["judge"], priors=[0.5], weights=["equal"]}'
CROWD = (*SMALL, "bootstrap.replicates=40", "crowd.permutations=10")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Reads a small panel with what is put over it."""
    base = tmp_path_factory.mktemp("panel")
    (base / "model.toml").write_text(MODEL)
    return lambda *overrides: files_of(
        base, frame(), panel='fit = "./model.toml"', overrides=(*SMALL, *overrides)
    )


@pytest.fixture(scope="module")
def fitted(study):
    """A panel and its fit with everything asked for."""
    files = study(ASKED)
    return files, fit(files)


def median_of_fit(results, name):
    """Median of a number over the draws of the posterior metrics."""
    return results["posterior_profile"].to_dataset()[name].median(("chain", "draw")).to_numpy()


@pytest.mark.slow
def test_the_first_row_is_the_fit_itself(fitted):
    _, results = fitted
    refits = results["sensitivity"].to_dataset()
    baseline = refits.sel(refit=BASELINE, weights="weights")
    np.testing.assert_array_equal(baseline["cvar"], median_of_fit(results, "cvar"))
    np.testing.assert_array_equal(baseline["prob_best"], results["decision"]["prob_best"])
    assert (refits["cvar_shift"].sel(refit=BASELINE) == 0).all()
    assert refits["refit"].to_numpy().tolist() == [
        BASELINE,
        "without judge ann",
        "without judge bob",
        "without judge cat",
        "priors x 0.5",
    ]
    assert refits["weights"].to_numpy().tolist() == ["weights", "equal"]


@pytest.mark.slow
def test_a_refit_without_a_judge_is_the_fit_of_the_other_judges(study, fitted):
    _, results = fitted
    direct = fit(study('panel.judges=["ann", "cat"]'))
    refits = results["sensitivity"].to_dataset().sel(refit="without judge bob", weights="weights")
    np.testing.assert_array_equal(refits["cvar"], median_of_fit(direct, "cvar"))
    np.testing.assert_array_equal(refits["expected_loss"], direct["decision"]["expected_loss"])
    assert int(refits["converged"]) == int(direct["diagnostics"]["converged"])
    baseline = results["sensitivity"].to_dataset().sel(refit=BASELINE, weights="weights")
    shift = (refits["cvar"] - baseline["cvar"]) / baseline["cvar_sd"]
    np.testing.assert_allclose(refits["cvar_shift"], shift)


@pytest.mark.slow
def test_other_weights_over_the_fit_are_those_of_a_fit_with_them(study, fitted):
    _, results = fitted
    direct = fit(study("weights=equal"))
    refits = results["sensitivity"].to_dataset().sel(refit=BASELINE, weights="equal")
    np.testing.assert_array_equal(refits["cvar"], median_of_fit(direct, "cvar"))
    np.testing.assert_array_equal(refits["prob_less"], direct["decision"]["prob_less"])


@pytest.mark.slow
def test_refits_on_a_cluster_are_the_same_and_kept_ones_are_taken(fitted):
    pytest.importorskip("distributed")
    files, results = fitted
    groups = {str(name): node.to_dataset() for name, node in results.children.items()}
    kept = {}

    class Kept:
        get = staticmethod(kept.get)
        put = staticmethod(kept.__setitem__)

    with cluster("local:2") as workers:
        on_cluster = sensitivity(RunContext(files, Execution(workers.map, Kept())), groups)
    xr.testing.assert_identical(
        on_cluster.drop_attrs(), results["sensitivity"].to_dataset().drop_attrs()
    )
    assert len(kept) == 4

    def never(*_, **__):
        raise AssertionError

    xr.testing.assert_identical(
        on_cluster, sensitivity(RunContext(files, Execution(never, Kept())), groups)
    )


@pytest.mark.slow
def test_a_crowd_under_other_priors():
    files = load_study("quickstart_crowd", overrides=(*CROWD, "sensitivity.priors=[2.0]"))
    results = fit(files)
    refits = results["sensitivity"].to_dataset()
    assert refits["refit"].to_numpy().tolist() == [BASELINE, "priors x 2"]
    metric = results["posterior_responsiveness"].to_dataset()["hm"]
    np.testing.assert_array_equal(
        refits["hm"].sel(refit=BASELINE).to_numpy(),
        metric.median(("chain", "draw")).transpose("group", "by").to_numpy(),
    )
    assert (refits["hm"].sel(refit="priors x 2") != refits["hm"].sel(refit=BASELINE)).any()
    [table] = [t for t in report_tables(results) if t.name.startswith("sensitivity")]
    assert [row[0] for row in table.rows] == [BASELINE, "priors x 2"]


@pytest.mark.slow
def test_the_table_says_order_and_largest_shift(fitted):
    _, results = fitted
    [table] = [t for t in report_tables(results) if t.name.startswith("sensitivity")]
    refits = results["sensitivity"].to_dataset()
    assert len(table.rows) == 10
    row = next(row for row in table.rows if row[:2] == ("without judge ann", "equal"))
    cell = refits.sel(refit="without judge ann", weights="equal")
    order = sorted(cell["model"].to_numpy(), key=lambda name: float(cell["cvar"].sel(model=name)))
    assert row[2] == " < ".join(order)
    worst = max(cell["model"].to_numpy(), key=lambda m: abs(cell["cvar_shift"].sel(model=m)))
    assert row[5] == str(worst)


def test_every_prior_is_widened_and_correlations_are_not():
    model = Model.model_validate(
        {
            "schema": "sharpbayes/model/2",
            "title": "t",
            "thresholds": {"prior": {"sd": 3.0}},
            "location": [
                {"by": ["item"], "prior": {"kind": "normal", "sd": 2.0}},
                {
                    "by": ["rater"],
                    "prior": {
                        "kind": "student_t",
                        "df": 4.0,
                        "sd": {"kind": "half_student_t", "df": 3.0, "scale": 1.0},
                    },
                },
                {
                    "by": ["model", "dimension"],
                    "correlated_over": "dimension",
                    "prior": {"kind": "normal", "sd": {"kind": "exponential", "mean": 0.7}},
                },
            ],
            "discrimination": [{"by": ["rater"]}],
        }
    )
    wide = widen_priors(model, 0.5)
    assert wide.thresholds.prior.sd == 1.5
    assert (wide.thresholds.shift.sd.scale, wide.thresholds.gap.sd.scale) == (0.75, 0.25)
    item, rater, crossed = wide.location
    assert (item.prior.sd, rater.prior.sd.scale, crossed.prior.sd.mean) == (1.0, 0.5, 0.35)
    assert (rater.prior.df, crossed.correlation.eta) == (4.0, 2.0)
    assert wide.discrimination[0].prior.sd.scale == 0.25
    assert widen_priors(model, 1.0) == model


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("quickstart_crowd", 'sensitivity.leave_out=["judge"]', "shared_error and missing need a"),
        ("quickstart_crowd", 'sensitivity.weights=["equal"]', "shared_error and missing need a"),
        ("quickstart_crowd", "sensitivity.shared_error=[0.2]", "shared_error and missing need a"),
        ("quickstart", "sensitivity.shared_error=[1.0]", "must be smaller than 1"),
        ("quickstart", "sensitivity.priors=[0.0]", "sensitivity.priors"),
        ("quickstart", 'sensitivity.leave_out=["prompt"]', "sensitivity.leave_out"),
        ("quickstart", 'sensitivity.weights=["equals"]', "did you mean 'equal'"),
        ("quickstart", 'sensitivity.weights=["./no.toml"]', "no such file"),
    ],
)
def test_what_cannot_be_asked(name, asked, message):
    with pytest.raises(SpecError, match=message):
        load_study(name, overrides=(asked,))


def test_without_replicated_ratings_nothing_can_be_compared():
    with pytest.raises(SpecError, match=r"sampler\.predictive_draws must be > 0"):
        load_study(
            "quickstart", overrides=("sampler.predictive_draws=0", "sensitivity.priors=[2.0]")
        )


def test_a_single_judge_is_not_left_out(study):
    files = study('panel.judges=["ann"]', ASKED)
    assert [case.label for case in list_refits(read_study(files))] == ["priors x 0.5"]


def test_an_assumed_error_needs_answers_to_be_part_of(study):
    with pytest.raises(SpecError) as caught:
        study("sensitivity.shared_error=[0.2]")
    assert str(caught.value).endswith(
        "location: sensitivity.shared_error needs a term by model and prompt, without judge"
    )


def test_an_error_that_people_show_is_not_assumed(tmp_path):
    simulated(tmp_path / "s", seed=3, models=3, prompts=8, people=4)
    with pytest.raises(SpecError) as caught:
        load_study(tmp_path / "s" / "study.toml", overrides=("sensitivity.shared_error=[0.2]",))
    assert str(caught.value).endswith(
        "sensitivity: shared_error is what people's ratings show: a model with the column "
        '`machine` estimates it, such as fit = "judges_and_people"'
    )


@pytest.mark.slow
def test_answers_without_an_assumed_error(tmp_path):
    (tmp_path / "model.toml").write_text(MODEL + '[[location]]\nby = ["model", "prompt"]\n')
    asked = (*SMALL, "sensitivity.shared_error=[0.0, 0.5]")
    results = fit(files_of(tmp_path, frame(), panel='fit = "./model.toml"', overrides=asked))
    refits = results["sensitivity"].to_dataset().isel(weights=0)
    names = [f"errors of judges correlate {rho}" for rho in ("0", "0.5")]
    assert refits["refit"].to_numpy().tolist() == [BASELINE, *names]
    numbers = ["cvar", "mean", "prob_best", "expected_loss"]
    xr.testing.assert_equal(
        refits[numbers].sel(refit=names[0], drop=True),
        refits[numbers].sel(refit=BASELINE, drop=True),
    )
    # The spread of prompts within a model is partly error.
    spread = refits["volatility"].mean("model")
    assert float(spread.sel(refit=names[1])) < float(spread.sel(refit=BASELINE))
