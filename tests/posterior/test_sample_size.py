"""Larger studies by replication: how wide differences are there, and what they would tell apart."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.analysis.crowd import measure_crowd
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import observed_data
from sharpbayes.posterior import panel as panel_metrics
from sharpbayes.posterior import sample_size
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import criterion
from sharpbayes.posterior.panel import PanelMetrics, profile_criterion, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.sample_size import (
    LargerStudies,
    crowd_sample_size,
    difference_precision,
    panel_sample_size,
    thin_draws,
)
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.spec.load import load_study
from sharpbayes.spec.weights import Decision
from sharpbayes.storage.results import open_results
from sharpbayes.workflows.next import read_fit, read_fit_files
from tests.flat import flat
from tests.panels import files_of, frame, reweighted
from tests.shared_results import as_converged

CHAINS, DRAWS = 2, 100


def replicates(loaded, files):
    """Draws whose ratings are levels at random."""
    design = build_design(loaded.ratings, files.model.spec)
    axes = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    ratings = observed_data(design).expand_dims(axes).copy(deep=True)
    rng = np.random.default_rng(7)
    for scale in design.scales:
        scores = ratings[f"rating_{scale.name}"]
        scores.values[...] = rng.integers(0, len(scale.labels), scores.shape)
    return ReplicateDraws(flat(design, (CHAINS, DRAWS)), ratings, design, 3)


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """A plan, its cells and draws of a small panel."""
    table = frame(prompts=40)
    files = files_of(tmp_path_factory.mktemp("panel") / "s", table)
    files = replace(files, model=load_study("quickstart").model)
    loaded = read_study(files)
    cells = rating_positions(loaded)
    return build_profile_plan(loaded), cells, replicates(loaded, files)


def chosen_by(plan, by):
    return reweighted(plan, decision=Decision(by=by))


@pytest.mark.parametrize("by", ["cvar", "policy_score", "worst_dimension"])
@pytest.mark.parametrize("weighed", [True, False])
def test_what_is_compared_is_that_of_the_whole_profile(panel, by, weighed):
    plan = chosen_by(panel[0], by)
    rng = np.random.default_rng(1)
    weights = xr.DataArray(rng.exponential(size=(5, 40)), dims=("draw", "prompt"))
    weights = weights if weighed else None
    wanted = criterion(plan.profile(weights), plan.weights)
    xr.testing.assert_allclose(profile_criterion(plan, plan.table, weights), wanted)


def open_all(plan):
    """A decision that leaves every pair open but that of m0 and m2."""
    models = plan.table["model"].to_numpy()
    still = ~np.eye(3, dtype=bool)
    still[0, 2] = still[2, 0] = False
    coords = {"model": models, "other": models}
    return xr.Dataset({"unresolved": (("model", "other"), still)}, coords, {"level": 0.9})


def further_prompts(plan, cells, draws):
    """What more prompts would tell of the pairs that are left open."""
    metrics = PanelMetrics([plan], cells)
    return panel_sample_size(metrics, draws, [open_all(plan)], sources=["prompts"])[0]


def test_four_times_the_prompts_halve_the_interval_of_a_mean(panel):
    plan, cells, draws = panel
    plan = chosen_by(plan, "policy_score")
    precision = further_prompts(plan, cells, draws)
    assert precision["design"].values.tolist() == ["prompts x 1", "prompts x 2", "prompts x 4"]
    width = precision["difference_width"].sel(model="m0", other="m1")
    np.testing.assert_allclose(width / width[0], [1, 2**-0.5, 0.5], atol=0.12)
    assert precision["difference_width"].sel(model="m0", other="m2").isnull().all()
    assert precision["prob_distinguishable"].sel(model="m0", other="m0").isnull().all()
    [table] = report_tables(xr.DataTree.from_dict({"/sample_size": precision}))
    assert [row[0] for row in table.rows] == ["m0 \N{MINUS SIGN} m1", "m1 \N{MINUS SIGN} m2"]


def test_once_the_prompts_are_as_wide_as_the_posterior_with_prompts(panel):
    plan, cells, draws = panel
    plan = chosen_by(plan, "policy_score")
    precision = further_prompts(plan, cells, draws)
    [profile] = PanelMetrics([plan], cells).measure(draws, ["ratings", "prompts"])
    score = criterion(profile, plan.weights)
    gap = score.sel(model="m0", drop=True) - score.sel(model="m1", drop=True)
    low, high = gap.quantile([0.05, 0.95])
    width = precision["difference_width"].sel(model="m0", other="m1")[0]
    assert float(width) == pytest.approx(float(high - low), rel=0.15)


def test_large_studies_have_fewer_replicates(panel, monkeypatch):
    plan, cells, draws = panel
    numbers = []

    def looked(_metrics, block):
        numbers.append(block.draws.n_replicates)
        raise LookupError

    monkeypatch.setattr(panel_metrics.PanelMetrics, "unit_tables", looked)
    for most, wanted in ((10**12, 32), (10 * draws.design.n_ratings * 200, 10), (1, 1)):
        monkeypatch.setattr(sample_size, "MAX_RATINGS", most)
        with pytest.raises(LookupError):
            further_prompts(plan, cells, draws)
        assert numbers.pop() == wanted


def test_nothing_is_asked_where_nothing_is_open(panel):
    plan, cells, draws = panel
    closed = open_all(plan) & False
    metrics = PanelMetrics([plan], cells)
    assert panel_sample_size(metrics, draws, [closed], sources=["prompts"]) == {}


def test_the_chance_is_that_of_a_normal_law():
    """A present difference N(1.2, 1) that a study leaves open with a variance of 1/4."""
    rng = np.random.default_rng(2)

    def drawn(sd):
        noise = rng.normal(0, sd, (4, 20_000)) + 1.2
        both = np.stack([noise, np.zeros_like(noise)], -1)
        return xr.DataArray(both, {"model": ["a", "b"]}, ("chain", "draw", "model"))

    precisions = difference_precision(
        [LargerStudies("prompts", {1: drawn(1.0), 4: drawn(0.5)})], "model", level=0.9
    )
    precision = precisions.sel(model="a", other="b")
    half = 0.5 * stats.norm.ppf(0.95)
    centre = stats.norm(1.2, np.sqrt(0.75))
    assert float(precision["difference_width"][1]) == pytest.approx(2 * half, rel=0.02)
    wanted = centre.sf(half) + centre.cdf(-half)
    assert float(precision["prob_distinguishable"][1]) == pytest.approx(wanted, abs=0.02)
    # The present study by itself: its centre is where it is, inside or outside.
    assert float(precision["prob_distinguishable"][0]) == 0.0
    assert float(precision["difference_width_mcse"][1]) < 0.02


def test_the_chance_takes_the_interval_as_skew_as_it_is():
    """An interval from -0.5 to 3.2 with a mean of 2.2: half its width does not reach 0."""
    draws = 3.2 - np.random.default_rng(3).exponential(size=(4, 5000))
    both = np.stack([draws, np.zeros_like(draws)], -1)
    once = xr.DataArray(both, {"model": ["a", "b"]}, ("chain", "draw", "model"))
    precision = difference_precision([LargerStudies("prompts", {1: once})], "model", level=0.95)
    assert float(precision["prob_distinguishable"].sel(model="a", other="b")[0]) == 0.0
    surer = difference_precision([LargerStudies("prompts", {1: once})], "model", level=0.5)
    assert float(surer["prob_distinguishable"].sel(model="a", other="b")[0]) == 1.0


def test_a_larger_study_takes_from_the_whole_variance_what_it_takes_from_its_part():
    """Units add 1 to a variance of 2: four times as many leave 1 + 1/4 of it."""
    rng = np.random.default_rng(4)

    def drawn(variance):
        noise = rng.normal(0, np.sqrt(variance), (4, 20_000))
        both = np.stack([noise, np.zeros_like(noise)], -1)
        return xr.DataArray(both, {"model": ["a", "b"]}, ("chain", "draw", "model"))

    once, larger, whole = drawn(1.0), drawn(0.25), drawn(2.0)
    studies = LargerStudies("items", {1: once, 4: larger}, whole=whole)
    width = difference_precision([studies], "model", level=0.9)["difference_width"]
    wanted = 2 * stats.norm.ppf(0.95) * np.sqrt([2.0, 1.25])
    np.testing.assert_allclose(width.sel(model="a", other="b"), wanted, rtol=0.03)


def test_once_the_items_or_raters_are_as_wide_as_the_interval_of_the_report(shared_results):
    results = as_converged(open_results(shared_results("fitted_crowd")))
    study, draws = read_fit(results, read_fit_files(results, None))
    metrics, sources = CrowdMetrics(study), ["ratings", "items", "raters"]
    pairs = results["responsiveness_difference"].to_dataset()
    [precision] = crowd_sample_size(metrics, draws, pairs, sources=sources, level=0.9).values()
    [posterior] = metrics.measure(draws, sources)
    wra = posterior["wra"].sel(by="all")
    names = {"group": "gender=Man", "other": "gender=Woman"}
    low, high = (wra.sel(group=names["group"]) - wra.sel(group=names["other"])).quantile(
        [0.05, 0.95]
    )
    width = precision["difference_width"].sel(difference_metric="wra", **names)
    assert float(width.sel(design="items x 1")) == pytest.approx(float(high - low), rel=0.1)
    assert float(width.sel(design="items x 1")) == float(width.sel(design="raters x 1"))
    assert float(width.sel(design="items x 4")) < float(width.sel(design="items x 1"))
    number = np.prod(thin_draws(draws).shape)
    assert precision.attrs["difference_note"] == (
        f"From {number} draws of the fit: a study of m times the items is "
        "m replicated studies pooled; one of m times the raters has that many new ones. Other "
        "sources of uncertainty stay as they are."
    )


def test_groups_of_a_crowd_are_told_apart_by_more_items():
    files = load_study("quickstart_crowd")
    loaded = read_study(files)
    draws = replicates(loaded, files)
    pairs = measure_crowd(loaded)["responsiveness_difference"]
    level = files.study.spec.bootstrap.level
    [precision] = crowd_sample_size(
        CrowdMetrics(loaded), draws, pairs, sources=["items"], level=level
    ).values()
    width = precision["difference_width"].sel(
        difference_metric="wra", group="gender=Man", other="gender=Woman"
    )
    np.testing.assert_allclose(width / width[0], [1, 2**-0.5, 0.5], atol=0.15)
    across = precision["difference_width"].sel(group="gender=Man", other="age=GenZ")
    assert across.isnull().all()
    assert len(report_tables(xr.DataTree.from_dict({"/sample_size": precision}))) == 2


def test_few_draws_are_spread_over_every_chain(panel):
    draws = panel[2]
    many = draws.predictive.isel(draw=np.tile(np.arange(DRAWS), 5))
    many = many.assign_coords(draw=np.arange(5 * DRAWS))
    empty = xr.Dataset(coords={name: many[name] for name in ("chain", "draw")})
    kept = thin_draws(replace(draws, predictive=many, posterior=empty))
    assert kept.shape == (2, 100)
    assert kept.predictive["draw"].values[[0, -1]].tolist() == [0, 499]
