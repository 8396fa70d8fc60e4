"""The group ``variance_components`` of a panel on disk, its table, and trials in the profile."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan, tabulate_trials
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.panel.variance_components import variance_components
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.check import study_summary_document, study_summary_tables
from sharpbayes.workflows.check import check
from tests.panels import files_of, frame, measured

TRIAL = ', trial = "trial"'


@pytest.fixture(scope="module")
def table():
    trials = [frame(prompts=6, seed=seed).assign(trial=f"t{seed}") for seed in range(3)]
    return pd.concat(trials)


@pytest.fixture(scope="module")
def results(tmp_path_factory, table):
    return measured(tmp_path_factory.mktemp("trials"), table, roles=TRIAL)


def test_the_profile_is_that_of_the_mean_over_trials(tmp_path, table, results):
    keys = ["model", "prompt", "judge"]
    scores = table.groupby(keys)[["bias_a", "bias_b", "truth"]].mean() / 10
    squares = (scores["bias_a"] ** 2 + scores["bias_b"] ** 2) / 2
    bias = results["panel"]["sub_index"].sel(dimension="bias")
    wanted = (squares**0.5).to_xarray().transpose(*bias.dims)
    np.testing.assert_allclose(bias, wanted)
    # trials that are all alike change nothing
    one = table[table["trial"] == "t0"]
    alike = pd.concat([one, one.assign(trial="t1")])
    averaged = measured(tmp_path / "once", one.drop(columns="trial"))
    twice = measured(tmp_path / "twice", alike, roles=TRIAL)
    xr.testing.assert_allclose(averaged["profile"].to_dataset(), twice["profile"].to_dataset())
    assert "variance_components" not in averaged


def test_the_group_is_the_metric_of_single_trials(tmp_path, table, results):
    components = results["variance_components"].to_dataset()
    plan = build_profile_plan(read_study(files_of(tmp_path, table, roles=TRIAL)))
    x = tabulate_trials(plan)
    assert x.sizes["trial"] == 3
    xr.testing.assert_allclose(
        components["variance"].drop_attrs(),
        variance_components(x).transpose("dimension", "component"),
    )
    low, high = components["variance_interval"].transpose("bound", ...)
    known = np.isfinite(components["variance"].to_numpy())
    estimate = components["variance"].clip(min=0).to_numpy()[known]
    assert (low.to_numpy()[known] <= estimate).all()
    assert (estimate <= np.maximum(high.to_numpy()[known], 0)).all()
    np.testing.assert_allclose(components["variance_share"].sum("component"), 1.0)


def test_the_table_names_what_the_scores_separate(results):
    [component_table] = [
        t for t in report_tables(results) if t.title == "Where the variance of judgements lies"
    ]
    assert component_table.header == (
        "dimension",
        "component",
        "variance of the sub-index",
        "share",
    )
    components = ["model", "prompt", "model x prompt", "judge", "judge x answer", "trial"]
    assert [row[1] for row in component_table.rows] == components * 2
    assert component_table.note == (
        "`judge x answer`: a judge departs from the others on one answer, in all its trials. "
        "`trial`: it departs from itself, which more trials average out. An estimate below 0 "
        "counts as 0. Of the sub-indices of single judgements. 95% intervals by the jackknife over "
        "prompts: these models and judges, other prompts like these."
    )


def test_an_estimate_below_0_is_shown_inside_its_interval(results):
    components = results["variance_components"].to_dataset()
    below = components["variance"] * 0 - 0.002
    bounds = xr.DataArray([0.0, 0.003], dims="bound")
    changed = components.assign(variance=below, variance_interval=(below * 0 + 1) * bounds)
    tree = results.copy()
    tree["variance_components"] = xr.DataTree(changed)
    [table] = [t for t in report_tables(tree) if t.title == "Where the variance of judgements lies"]
    assert {row[2] for row in table.rows} == {"0.000 (0.000 to 0.003)"}


def test_check_counts_the_trials_of_a_cell(tmp_path, table):
    summary = check(files_of(tmp_path, table.iloc[1:], roles=TRIAL))
    [trial_table] = [t for t in study_summary_tables(summary) if t.title.startswith("How often")]
    assert trial_table.rows == (
        ("trials of a judge on an answer (`trial`)", "2", "2.98", "3", "54"),
    )
    [document] = study_summary_document(summary)["repeats"]
    assert document["most"] == 3
