"""Replicated ratings of a crowd through the functions that measure observed ones."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.crowd_counts import (
    count_crowd,
    measure_responsiveness,
    tabulate_counts,
    tally_crowd,
)
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import observed_data
from sharpbayes.metrics.crowd.scores import REPLICATE
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.replicates import Block, ReplicateDraws
from sharpbayes.report.document import weighed_document
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from sharpbayes.storage.results import open_results, save_results
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.weigh import named_weights, weigh
from tests.flat import flat

CHAINS, DRAWS = 2, 3


@pytest.fixture
def crowd():
    """The quickstart's study and data, and draws that repeat the observed ratings."""
    files = load_study("quickstart_crowd")
    study = read_study(files)
    design = build_design(study.ratings, files.model.spec)
    axes = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    same = observed_data(design).expand_dims(axes).copy(deep=True)
    return study, study.data, ReplicateDraws(xr.Dataset(), same, design, 1)


def test_without_noise_the_posterior_is_the_deterministic_value(crowd):
    study, _, draws = crowd
    metrics = CrowdMetrics(study).measure(draws, ["ratings"])[0]
    direct = study.responsiveness
    assert set(direct.data_vars) - set(metrics.data_vars) == {"reason"}
    for name in metrics.data_vars:
        wanted = direct[name].expand_dims(chain=CHAINS, draw=DRAWS).transpose(*metrics[name].dims)
        np.testing.assert_allclose(metrics[name], wanted, rtol=0, atol=1e-12)


@pytest.fixture
def exact_draws(monkeypatch):
    """Draws of metrics rounded by far less than a test looks at."""
    monkeypatch.setattr("sharpbayes.storage.precision.MAX_SHIFT", 2.0**-40)


@pytest.mark.usefixtures("exact_draws")
def test_other_levels_are_measured_as_the_definition_says(crowd):
    """WRA of all raters in one draw, by plain loops over items and experts."""
    study, data, draws = crowd
    level = draws.predictive["rating_score"]
    level.values[...] = np.random.default_rng(2).integers(0, 5, level.shape)
    metrics = CrowdMetrics(study).measure(draws, ["ratings"])[0]
    levels = level.isel(chain=1, draw=2).to_numpy()
    pairs = []
    for item in range(len(data.item.labels)):
        given = levels[data.item.codes == item]
        counts = [int((given == score).sum()) for score in range(5)]
        score = max(s for s in range(5) if counts[s] == max(counts))
        pairs += [(score, label) for label in data.expert_label[data.expert_item == item]]
    unsafe, safe = ([s for s, label in pairs if label == u] for u in (1, 0))
    wanted = np.mean([[a > b for b in safe] for a in unsafe])
    got = metrics["wra"].sel(group="all", by="all").isel(chain=1, draw=2)
    assert float(got) == pytest.approx(wanted)


def test_items_have_weights_of_their_own_in_every_draw(crowd, monkeypatch):
    study, _, draws = crowd
    monkeypatch.setattr("sharpbayes.posterior.replicates.RATINGS_PER_UNIT", {})
    metrics = CrowdMetrics(study).measure(draws, ["ratings", "items"])[0]
    counted = study.score_counts
    weight = Block(draws, 0, 1, 2).unit_weights(counted.plurality["item"], "item").isel(draw=0)
    direct = measure_responsiveness(study.crowd, counted, weights=weight)
    got = metrics["count"].isel(chain=0, draw=1)
    np.testing.assert_allclose(got, direct["count"].transpose(*got.dims), rtol=1e-12)
    assert float(metrics["mpa"].sel(group="all", by="all").std()) > 0


@pytest.mark.usefixtures("exact_draws")
def test_replicates_of_a_draw_are_pooled(crowd, monkeypatch):
    """WRA over two replicates of a draw by plain loops, each item with its weight."""
    study, data, draws = crowd
    monkeypatch.setattr("sharpbayes.posterior.replicates.MAX_REPLICATES", {"items": 2})
    draws = replace(draws, posterior=flat(draws.design, draws.shape), n_replicates=2)
    metrics = CrowdMetrics(study).measure(draws, ["ratings", "items"])[0]
    block = next(draws.blocks())
    weight = block.unit_weights(xr.DataArray(list(data.item.labels), dims="item"), "item")
    rows = {0: [], 1: []}
    for scores in np.split(block.replicates(["ratings", "items"])["score"], 2):
        for item in range(len(data.item.labels)):
            given = scores[2, data.item.codes == item].tolist()
            score = max(s for s in range(5) if given.count(s) == max(map(given.count, range(5))))
            for label in data.expert_label[data.expert_item == item]:
                rows[int(label)].append((score, float(weight[2, item])))
    above = sum(v * w for s, v in rows[1] for t, w in rows[0] if s > t)
    wanted = above / (sum(v for _, v in rows[1]) * sum(w for _, w in rows[0]))
    every = {"group": "all", "by": "all"}
    got = metrics.sel(every).isel(chain=0, draw=2)
    assert float(got["wra"]) == pytest.approx(wanted)
    direct = study.responsiveness.sel(every)
    assert int(got["items"]) == int(direct["items"])
    labels = data.expert_label.size
    assert float(got["count"].sum()) == pytest.approx(labels, rel=0.5)


def test_scores_of_a_replicate_are_compared_with_the_labels_of_all(crowd):
    """Labels by the crowd: rows of all pairs of two replicates, by plain loops."""
    (study, data, _), rng = crowd, np.random.default_rng(5)
    labels = study.crowd.labels.model_copy(update={"from_": "crowd", "cut": 2})
    spec = study.crowd.model_copy(update={"labels": labels})
    scores = xr.DataArray(
        rng.integers(0, 5, (2, 1, data.score.size)), dims=(REPLICATE, "draw", "rating")
    )
    weights = xr.DataArray(rng.gamma(1.0, size=(1, len(data.item.labels))), dims=("draw", "item"))
    got = tabulate_counts(tally_crowd(spec, data, scores), by="all", weights=weights)
    of_each = [count_crowd(spec, data, scores.isel(replicate=number)) for number in (0, 1)]
    wanted = sum(
        tabulate_counts(replace(one, label_count=other.label_count), by="all", weights=weights)
        for one in of_each
        for other in of_each
    )
    np.testing.assert_allclose(got, (wanted / 2).transpose(*got.dims), rtol=1e-12)
    assert float(got.sel(group="age=GenZ").sum()) > 0


@pytest.fixture(scope="module")
def fitted():
    few = [
        "sampler.chains=2",
        "sampler.draws=60",
        "sampler.tune=150",
        "sampler.predictive_draws=40",
        "bootstrap.replicates=50",
        "crowd.permutations=0",
        'uncertainty=[["ratings"], ["ratings", "items", "raters"]]',
    ]
    return fit(load_study("quickstart_crowd", overrides=few))


def test_posterior_and_bootstrap_agree_on_contrasts_of_groups(fitted):
    """Both let raters and items vary: the interval of one holds the centre of the other."""
    draws = fitted["posterior_responsiveness_ratings_items_raters"]["hm"].sel(by="all")
    bounds = fitted["responsiveness_difference"]["hm_interval"].sel(by="all")
    for group, other in (("age=GenX", "age=GenZ"), ("gender=Man", "gender=Woman")):
        gap = (draws.sel(group=group, drop=True) - draws.sel(group=other, drop=True)).median()
        low, high = bounds.sel(group=group, other=other).values
        assert low < float(gap) < high


def test_harshness_stands_on_both_scales(fitted):
    table = fitted["harshness_difference"].to_dataset()
    pair = {"group": "gender=Man", "other": "gender=Woman"}
    reverse = {"group": pair["other"], "other": pair["group"]}
    cell, other = table.sel(pair), table.sel(reverse)
    assert float(cell["difference"]) == pytest.approx(-0.230625)
    assert float(cell["latent_difference"]) < 0
    assert float(cell["prob_higher"]) < 0.2
    assert float(other["latent_difference"]) == -float(cell["latent_difference"])
    assert float(other["prob_higher"]) == pytest.approx(1 - float(cell["prob_higher"]))
    assert np.isnan(table["latent_difference"].sel(group="all")).all()
    assert table.attrs["latent_note"] == (
        "Latent: 95% posterior intervals of the difference of mean locations, in logits of the "
        "latent severity; they contain the posterior."
    )


def test_a_fit_of_a_crowd_has_posterior_metrics_for_every_list_of_sources(fitted):
    results = fitted
    metrics = results["posterior_responsiveness"]
    wide = results["posterior_responsiveness_ratings_items_raters"]
    assert metrics["hm"].dims == ("chain", "draw", "group", "by")
    every = {"group": "all", "by": "all"}
    assert float(wide["wra"].sel(every).std()) > float(metrics["wra"].sel(every).std())
    centre = float(metrics["wra"].sel(every).mean())
    assert centre == pytest.approx(float(results["responsiveness"]["wra"].sel(every)), abs=0.15)
    assert "which items" in wide.attrs["interval_note"]
    assert "raters x 4" in results["sample_size"]["design"]
    tables = report_tables(results)
    [widening] = [table for table in tables if table.name == "responsiveness_sources"]
    assert [row[0] for row in widening.rows] == ["ratings", "ratings, items, raters"]
    first, second = [table for table in tables if table.name == "posterior_responsiveness"]
    assert first.title == "Posterior responsiveness by group (ratings)"
    assert first.rows[0][0] == "all"
    middle = float(metrics["wra"].sel(every).median())
    assert first.rows[0][3].startswith(f"{middle:.2f} (")
    assert "items, raters" in second.title


# The model, and what varies: new raters are drawn with those experts who are raters of the model.
WEIGHED = {
    "crowd alone": ("crowd.fit=crowd_severity", 'uncertainty=["ratings"]'),
    "experts, new raters": (
        "crowd.fit=crowd_and_experts",
        'uncertainty=["ratings", "items", "raters"]',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("named", WEIGHED)
def test_weigh_of_a_crowd_equals_a_fresh_run(tmp_path, named):
    few = (
        *WEIGHED[named],
        "sampler.chains=2",
        "sampler.draws=60",
        "sampler.tune=150",
        "sampler.predictive_draws=40",
        "bootstrap.replicates=50",
        "crowd.permutations=0",
    )
    save_results(fit(load_study("quickstart_crowd", overrides=few)), tmp_path / "fit.nc")
    fresh = fit(load_study("quickstart_crowd", overrides=(*few, 'weights="population_us"')))
    stored = open_results(tmp_path / "fit.nc", whole=False)
    weighed = weigh(stored, named_weights(["population_us", "equal"]))
    for name in ("responsiveness_population", "posterior_responsiveness_population"):
        xr.testing.assert_equal(
            weighed["population_us"][name].to_dataset(), fresh[name].to_dataset()
        )
    raw, target = (
        weighed["equal/posterior_responsiveness_population"]
        .to_dataset()
        .sel(population=name, drop=True)
        for name in ("sample", "target")
    )
    xr.testing.assert_allclose(raw, target)
    [table] = report_tables(weighed)
    rows = ["population_us: sample", "population_us: target", "equal: sample"]
    assert [row[0] for row in table.rows] == rows
    assert set(weighed_document(weighed)["weights"]) == {"population_us", "equal"}
