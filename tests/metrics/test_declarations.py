"""A metric is one entry of a table: what reads the table has it without another line."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.crowd import measure_crowd
from sharpbayes.analysis.panel import measure_panel
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.study import read_study
from sharpbayes.analysis.target_population import population_counts, population_responsiveness
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import observed_data
from sharpbayes.metrics.crowd import responsiveness
from sharpbayes.metrics.panel import profile
from sharpbayes.metrics.stats.metric import Metric
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.study_metrics import study_metrics
from sharpbayes.spec.load import load_study
from sharpbayes.spec.study import Bootstrap

FEW = ("bootstrap.replicates=20", "crowd.permutations=0")


def top_recall(table):
    """Share of the unsafe rows that have the highest score."""
    unsafe = table.isel(unsafe=1, drop=True)
    return unsafe.isel(score=-1, drop=True) / unsafe.sum("score")


def posterior_of(study, model):
    """Posterior metrics of two draws that repeat the observed ratings."""
    design = build_design(study.ratings, model)
    axes = {"chain": [0], "draw": [0, 1]}
    same = observed_data(design).expand_dims(axes).copy(deep=True)
    draws = ReplicateDraws(xr.Dataset(), same, design, 1)
    [metrics] = study_metrics(study).measure(draws, ["ratings"])
    return metrics


@pytest.mark.parametrize("table", [responsiveness.METRICS, profile.METRICS])
def test_names_are_unique_and_say_what_they_mean(table):
    assert len({metric.name for metric in table}) == len(table)
    assert all(metric.label and metric.meaning and metric.range for metric in table)


def test_a_new_metric_of_a_crowd_is_one_entry(monkeypatch):
    entry = Metric(
        "top_recall", "top recall", "recall at the top", top_recall, compared=True, headline=True
    )
    monkeypatch.setattr(responsiveness, "METRICS", (*responsiveness.METRICS, entry))
    files = load_study("quickstart_crowd", overrides=FEW)
    study = read_study(files)
    groups = measure_crowd(study)
    measured = groups["responsiveness"]
    wanted = measured["recall"].isel(score=-1, drop=True)
    np.testing.assert_allclose(measured["top_recall"], wanted)
    assert measured["top_recall"].attrs["long_name"] == "recall at the top"
    assert measured["top_recall_interval"].notnull().any()
    assert {"top_recall", "top_recall_p_holm"} <= set(groups["responsiveness_difference"])
    assert {"top_recall", "top_recall_interval"} <= set(groups["raters"])
    assert "top_recall" in groups["sample_size"]["metric"]
    posterior = posterior_of(study, files.model.spec)["top_recall"].isel(chain=0, draw=1)
    np.testing.assert_allclose(posterior, measured["top_recall"])
    scores = xr.DataArray(study.data.score, dims="rating")
    weight = np.ones(len(study.data.rater.labels))
    counts = population_counts(study, weight, scores)
    assert "top_recall" in population_responsiveness(study, counts)


def test_a_new_metric_of_a_panel_is_one_entry(monkeypatch):
    entry = Metric("radius_mean", "mean radius", "mean radius", lambda d: d.mean("radius"))
    monkeypatch.setattr(profile, "METRICS", (*profile.METRICS, entry))
    files = load_study("quickstart", overrides=FEW[:1])
    study = read_study(files)
    groups = measure_panel(study)
    wanted = groups["panel"]["radius"].mean("prompt")
    np.testing.assert_allclose(groups["profile"]["radius_mean"], wanted)
    assert groups["profile"]["radius_mean"].attrs["range"] == "[0, 1]"
    assert groups["profile_interval"]["radius_mean"].dims == ("model", "bound")
    posterior = posterior_of(study, files.model.spec)["radius_mean"].isel(chain=0, draw=1)
    np.testing.assert_allclose(posterior, wanted)


def test_a_metric_is_declared_to_be_a_mean_or_a_cvar():
    meaning = {metric.name: metric.meaning for metric in profile.METRICS}
    assert set(profile.CVARS) == {name for name, text in meaning.items() if text.startswith("CVaR")}
    means = {name for name, text in meaning.items() if text.startswith("mean ")}
    assert set(profile.MEANS) == means


def test_the_interval_of_a_cvar_follows_from_its_declaration(monkeypatch):
    monkeypatch.setitem(profile.CVARS, "worst_radius", "radius")
    values = xr.DataArray(np.linspace(0.2, 0.6, 41)[:, None], dims=("replicate", "model"))
    values.attrs["units"] = "1"
    resampled = xr.Dataset({"worst_radius": values, "worst_radius_error": values * 0.0 + 0.1})
    bootstrapped = BootstrappedProfile(
        resampled.isel(replicate=20),
        resampled,
        None,
        prompts=xr.DataArray([10.0], dims="model"),
        fewest_prompts=xr.DataArray([10.0], dims="model"),
        tail_prompts=xr.DataArray([0.5], dims="model"),
        alpha=0.95,
        ceiling=20.0,
        bootstrap=Bootstrap(),
    )
    # Less than one prompt in the tail: nothing bounds it.
    assert bootstrapped.interval("worst_radius").sel(bound="upper").item() == 1.0
    monkeypatch.delitem(profile.CVARS, "worst_radius")
    assert bootstrapped.interval("worst_radius").sel(bound="upper").item() < 0.7
