"""A metric is one entry of a table: what reads the table has it without another line."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.crowd import measure_crowd
from sharpbayes.analysis.panel import measure_panel
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
