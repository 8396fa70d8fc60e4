"""Replicated ratings through the functions that measure observed ones."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.replication import (
    draw_new_levels,
    observed_data,
    severity_effects,
)
from sharpbayes.bayes.predict.smoothed_bootstrap import replace_levels
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import Block, ReplicateDraws, pool_replicates
from sharpbayes.spec.load import load_study
from tests.panels import JUDGES, files_of, frame, reweighted

CHAINS, DRAWS = 2, 3


def parts(files):
    """Study, positions and draws that replicate the observed ratings exactly."""
    study = read_study(files)
    design = build_design(study.ratings, load_study("quickstart").model.spec)
    axes = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    same = observed_data(design).expand_dims(axes).copy(deep=True)
    draws = ReplicateDraws(xr.Dataset(), same, design, 1)
    return study, rating_positions(study), draws


@pytest.fixture
def one_replicate(monkeypatch):
    """Replicates as they are, where sources about a population would need several."""
    monkeypatch.setattr("sharpbayes.posterior.replicates.RATINGS_PER_UNIT", {})


@pytest.fixture
def small(tmp_path):
    table = frame(prompts=10)
    # a missing score, a row that is not there, an indicator reversed for some prompts only
    table["bias_b"] = table["bias_b"].astype("Int64")
    table.loc[4, "bias_b"] = None
    return files_of(tmp_path / "s", table.drop(index=[17]), weights="[tolerance]\ncvar = 2.0\n")


def test_without_noise_the_posterior_is_the_deterministic_value(small):
    study, positions, draws = parts(small)
    plan = build_profile_plan(study)
    [profile] = PanelMetrics([plan], positions).measure(draws, ["ratings"])
    direct = plan.profile()
    assert set(direct.data_vars) <= set(profile.data_vars)
    for name in direct.data_vars:
        wanted = direct[name].expand_dims(chain=CHAINS, draw=DRAWS).transpose(*profile[name].dims)
        np.testing.assert_allclose(profile[name], wanted, rtol=0, atol=1e-12)


def test_reversed_and_missing_cells_go_back_to_where_they_came_from(small):
    study, positions, draws = parts(small)
    block = next(draws.blocks())
    scores = positions.fill(block.ratings(["ratings"]))["score"].isel(draw=0)
    wanted = study.scores["score"].sel(judge=list(JUDGES)).transpose(*scores.dims)
    np.testing.assert_array_equal(scores, wanted)
    assert "severity_reversed" in positions.position


def test_a_reversal_by_prompt_turns_replicates_of_those_prompts_alone(tmp_path):
    files = files_of(
        tmp_path / "s",
        frame(prompts=6),
        overrides=['panel.indicators.truth={ scale = "severity", reverse = { kind = "race" } }'],
    )
    study, positions, draws = parts(files)
    scores = positions.fill(next(draws.blocks()).ratings(["ratings"]))["score"].isel(draw=1)
    np.testing.assert_array_equal(scores, study.scores["score"].transpose(*scores.dims))


def test_a_replicate_is_measured_as_the_formulas_say(small):
    """One draw with other levels, against the definitions written out in NumPy."""
    study, positions, draws = parts(small)
    rng = np.random.default_rng(3)
    for scale in draws.design.scales:
        ratings = draws.predictive[f"rating_{scale.name}"]
        ratings.values[...] = rng.integers(0, 11, ratings.shape)
    [profile] = PanelMetrics([build_profile_plan(study)], positions).measure(draws, ["ratings"])
    block = Block(draws, 1, 2, 3)
    level = positions.fill(block.ratings(["ratings"]))["score"].isel(draw=0)
    x = level.transpose("model", "prompt", "judge", "indicator").to_numpy() / 10.0
    x[x < 0] = np.nan
    bias = np.sqrt((x[..., 0] ** 2 + x[..., 1] ** 2) / 2)
    harm = []
    for sub in (bias, 1 - x[..., 2]):
        weight = np.exp(sub / 0.2)
        harm.append(0.2 * np.log(np.nanmean(weight, axis=-1)))
    risk = -np.log(1 - np.stack(harm, -1) + 1e-6).sum(-1)
    for model, row in enumerate(risk):
        threshold = np.quantile(row, 0.95, method="inverted_cdf")
        got = float(profile["cvar"].isel(chain=1, draw=2, model=model))
        np.testing.assert_allclose(got, row[row >= threshold].mean(), rtol=1e-9)


def test_blocks_have_every_draw_once_and_no_more_than_they_may(small, monkeypatch):
    _, _, draws = parts(small)
    per_draw = draws.design.n_ratings
    for name in ("BLOCK_RATINGS", "PANEL_BLOCK_RATINGS"):
        monkeypatch.setattr(f"sharpbayes.posterior.replicates.{name}", 2 * per_draw)
    blocks = list(draws.blocks())
    for chain in range(CHAINS):
        starts, stops = zip(*((b.start, b.stop) for b in blocks if b.chain == chain), strict=True)
        assert (*starts, DRAWS) == (0, *stops)
    lengths = {block.size for block in blocks}
    assert max(lengths) == 2


@pytest.mark.usefixtures("one_replicate")
def test_results_do_not_depend_on_the_size_of_blocks(small, monkeypatch):
    study, positions, draws = parts(small)
    plan, sources = build_profile_plan(study), ["ratings", "prompts"]
    [one_block] = PanelMetrics([plan], positions).measure(draws, sources)
    monkeypatch.setattr("sharpbayes.posterior.replicates.BLOCK_RATINGS", 1)
    [single] = PanelMetrics([plan], positions).measure(draws, sources)
    xr.testing.assert_identical(one_block, single)


def test_weights_that_share_nothing_are_measured_as_by_themselves(small):
    study, positions, draws = parts(small)
    plan = build_profile_plan(study)
    judges = plan.weights.judges.model_copy(update={"temperature": 3.0})
    hot = reweighted(plan, judges=judges)
    both = PanelMetrics([plan, hot, plan], positions).measure(draws, ["ratings"])
    [alone] = PanelMetrics([hot], positions).measure(draws, ["ratings"])
    xr.testing.assert_identical(both[1], alone)
    xr.testing.assert_identical(both[0], both[2])
    assert float(abs(both[0]["cvar"] - alone["cvar"]).max()) > 1e-3


@pytest.mark.usefixtures("one_replicate")
def test_prompts_have_dirichlet_weights_paired_over_models(small):
    study, positions, draws = parts(small)
    plan = build_profile_plan(study)
    [profile] = PanelMetrics([plan], positions).measure(draws, ["ratings", "prompts"])
    block = Block(draws, 1, 2, 3)
    w = block.unit_weights(positions.scores["prompt"], "prompt").isel(draw=0)
    risk = plan.table["log_risk"]
    observed = risk.notnull()
    wanted = (w * risk.fillna(0)).sum("prompt") / (w * observed).sum("prompt")
    np.testing.assert_allclose(profile["mean"].isel(chain=1, draw=2), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("units", "prompts", "items"),
    [(100, 5, 4), (300, 15, 10), (8, 2, 2), (8_000, 32, 20)],
    ids=["so many", "more", "fewest", "most"],
)
def test_a_unit_has_many_ratings_over_all_replicates(small, units, prompts, items):
    """400 where it is a prompt, 250 where it is an item; one replicate where it is no population.

    There are 2 replicates at least, and 32 or 20 at most.
    """
    draws = parts(small)[2]
    draws = replace(draws, design=replace(draws.design, n_ratings=8_000))
    assert draws.replicated_for(["ratings", "prompts"], units).n_replicates == prompts
    assert draws.replicated_for(["ratings", "items"], units).n_replicates == items
    assert draws.replicated_for(["ratings", "judges"], units).n_replicates == 1


def test_all_replicates_have_500_prompts(small):
    """At most 32 replicates; items need none for it."""
    draws = parts(small)[2]
    many = replace(draws.design, n_ratings=10**9)
    wanted = {2000: 2, 100: 5, 40: 13, 10: 32}
    for prompts, number in wanted.items():
        posterior = xr.Dataset({"x": ("prompt", np.zeros(prompts))})
        sized = replace(draws, design=many, posterior=posterior)
        assert sized.replicated_for(["ratings", "prompts"], 10).n_replicates == number
        assert sized.replicated_for(["ratings", "items"], 10).n_replicates == 2


def test_weights_have_the_moments_of_a_dirichlet():
    empty = xr.Dataset(coords={"chain": [0], "draw": np.arange(2000)})
    block = Block(ReplicateDraws(empty, empty, None, 5), 0, 0, 2000)
    w = block.unit_weights(xr.DataArray(np.zeros(8), dims="prompt"), "prompt") / 8
    np.testing.assert_allclose(w.sum("prompt"), 1.0)
    law = stats.dirichlet(np.ones(8))
    np.testing.assert_allclose(w.mean("draw"), law.mean(), atol=0.01)
    np.testing.assert_allclose(w.var("draw"), law.var(), rtol=0.2)


@pytest.fixture(scope="module")
def posterior():
    """A posterior of the quickstart with known sds, every draw the same."""
    design = build_design(
        read_study(load_study("quickstart")).ratings, load_study("quickstart").model.spec
    )
    shape, variables = (2, 400), {}
    for term in design.terms:
        variables[term.name] = (("chain", "draw", *term.dims), np.ones((*shape, *term.shape)))
        variables[f"sd_{term.stem}"] = (("chain", "draw"), np.ones(shape))
    return design, xr.Dataset(variables)


def test_new_judges_follow_the_law_of_their_terms(posterior):
    design, parameters = posterior
    fresh = draw_new_levels(parameters, design, "judge", rng=np.random.default_rng(1))
    changed = {name for name in parameters.data_vars if not fresh[name].equals(parameters[name])}
    assert changed == {term.name for term in design.terms if "judge" in term.dims}
    assert any(name.startswith("location") for name in changed)
    assert any(name.startswith("gap") for name in changed)
    for name in changed:
        values = fresh[name].to_numpy().ravel()
        assert stats.kstest(values, "norm").pvalue > 1e-3, name


def test_a_new_discrimination_is_a_positive_factor(posterior):
    design, parameters = posterior
    fresh = draw_new_levels(parameters, design, "indicator", rng=np.random.default_rng(1))
    values = fresh["discrimination_indicator"].to_numpy().ravel()
    assert stats.kstest(np.log(values), "norm").pvalue > 1e-3


def test_correlated_effects_keep_their_correlation(posterior):
    design, parameters = posterior
    term = next(t for t in design.terms if t.name == "location_judge_dimension")
    correlated = replace(term, correlation=object())
    rho = np.full((4, 4), 0.8) + 0.2 * np.eye(4)
    lead = (2, 400)
    names = ("chain", "draw", "dimension", "dimension_other")
    parameters = parameters.assign(
        sd_judge_dimension=(names[:3], np.tile([1.0, 2.0, 3.0, 4.0], (*lead, 1))),
        correlation_judge_dimension=(names, np.broadcast_to(rho, (*lead, 4, 4))),
    )
    fresh = draw_new_levels(
        parameters, replace(design, terms=(correlated,)), "judge", rng=np.random.default_rng(2)
    )
    rows = fresh["location_judge_dimension"].transpose(..., "dimension").to_numpy().reshape(-1, 4)
    np.testing.assert_allclose(np.corrcoef(rows.T), rho, atol=0.06)
    np.testing.assert_allclose(rows.std(0), [1, 2, 3, 4], rtol=0.06)


PROMPT_TERMS = ("location_prompt_dimension", "location_model_prompt_dimension")


@pytest.fixture(scope="module")
def prompts(posterior):
    """The same with effects of prompts that depend on each other, and unequal weights."""
    design, parameters = posterior
    rng = np.random.default_rng(3)
    common = rng.normal(size=(30, 1))
    effects = {
        "location_prompt_dimension": common + 0.5 * rng.normal(size=(30, 4)),
        "location_model_prompt_dimension": 0.3 * common + rng.normal(size=(4, 30, 4)),
    }
    one_chain = parameters.isel(chain=[0])
    known = {
        name: one_chain[name].copy(data=np.broadcast_to(values, one_chain[name].shape))
        for name, values in effects.items()
    }
    return design, one_chain.assign(known), rng.dirichlet(np.ones(30))


ONE_CATEGORY = np.zeros(30, dtype=int)


def replaced(prompts, share, strata=ONE_CATEGORY):
    design, parameters, weights = prompts
    every = np.tile(weights, (parameters.sizes["draw"], 1))
    rng = np.random.default_rng(4)
    effects = severity_effects(parameters, design)
    [fresh] = replace_levels(
        effects, design, "prompt", weights=every, strata=strata, share=share, rng=rng, number=1
    )
    changed = {name for name in fresh if not np.array_equal(fresh[name], effects[name])}
    replaced_by = {
        name: parameters[name].copy(data=fresh[name].reshape(parameters[name].shape))
        for name in fresh
    }
    return parameters.assign(replaced_by), changed


def rows_of(dataset):
    """Effects of prompts over (draw, prompt, effect)."""
    arrays = [dataset[name].transpose("chain", "draw", "prompt", ...) for name in PROMPT_TERMS]
    return np.concatenate([x.to_numpy()[0].reshape(*x.shape[1:3], -1) for x in arrays], axis=-1)


def test_new_prompts_are_observed_ones_moved_by_a_t(prompts):
    _, parameters, weights = prompts
    fresh, changed = replaced(prompts, 1.0)
    assert changed == set(PROMPT_TERMS)
    known, rows = rows_of(parameters)[0], rows_of(fresh).reshape(-1, 20)
    bandwidth = 1.06 * 30**-0.2
    covariance = np.cov(known.T, aweights=weights, ddof=0)
    np.testing.assert_allclose(rows.mean(0), weights @ known, atol=0.05)
    np.testing.assert_allclose(np.cov(rows.T), (1 + bandwidth**2) * covariance, atol=0.14)
    scale = bandwidth * np.sqrt(covariance[0, 0] * 3 / 5)

    def mixture(values):
        return stats.t(5, known[:, 0], scale).cdf(np.asarray(values)[..., None]) @ weights

    assert stats.kstest(rows[:, 0], mixture).pvalue > 1e-3


def test_replicates_have_other_new_prompts_and_the_first_is_that_of_one(prompts):
    design, parameters, weights = prompts
    effects = severity_effects(parameters, design)
    options = {
        "weights": np.tile(weights, (parameters.sizes["draw"], 1)),
        "strata": ONE_CATEGORY,
        "share": 0.5,
    }
    two, one = (
        replace_levels(
            effects, design, "prompt", rng=np.random.default_rng(4), number=number, **options
        )
        for number in (2, 1)
    )
    for name in PROMPT_TERMS:
        np.testing.assert_array_equal(two[0][name], one[0][name])
        assert (two[0][name] != two[1][name]).mean() > 0.5


def test_few_prompts_with_many_effects_are_moved_where_they_differ():
    rng = np.random.default_rng(6)
    term = SimpleNamespace(name="x", dims=("prompt", "dimension"), shape=(3, 5))
    known = rng.normal(size=(3, 5))
    [fresh] = replace_levels(
        {"x": np.tile(known.ravel(), (20_000, 1))},
        SimpleNamespace(severity_terms=[term]),
        "prompt",
        weights=np.full((20_000, 3), 1 / 3),
        strata=np.zeros(3, dtype=int),
        share=1.0,
        rng=rng,
        number=1,
    )
    rows = fresh["x"].reshape(-1, 5)
    # Three prompts span two directions, and no new one leaves them.
    differences = np.linalg.svd(rows - known.mean(0), compute_uv=False)
    assert (differences[2:] < 1e-9 * differences[0]).all()
    bandwidth = 1.06 * 3**-0.2
    covariance = np.cov(known.T, ddof=0)
    np.testing.assert_allclose(np.cov(rows.T), (1 + bandwidth**2) * covariance, atol=0.06)


def test_a_share_of_the_prompts_is_new(prompts):
    _, parameters, _ = prompts
    fresh, _ = replaced(prompts, 0.25)
    new = (rows_of(fresh) != rows_of(parameters)).all(axis=-1)
    same = (rows_of(fresh) == rows_of(parameters)).all(axis=-1)
    assert (new | same).all()
    assert abs(new.mean() - 0.25) < 0.02
    assert not replaced(prompts, 0.0)[1]


LIMITS = """[tolerance]
cvar = 3.0
policy_score = 0.6
[tolerance.dimension]
bias = 0.8
[tolerance.category]
age = 2.5
"""


def test_every_limit_is_kept_or_not_in_every_draw(tmp_path):
    files = files_of(
        tmp_path / "s",
        frame(prompts=10),
        roles=', category = "kind"',
        weights=LIMITS,
        overrides=['uncertainty=["ratings"]'],
    )
    study, positions, draws = parts(files)
    plan, measured = profile_panel(study)
    groups = panel_groups(PanelMetrics([plan], positions), draws, {"w": measured})["w"]
    # Replicates are the observed ratings: every probability is that of what was observed.
    tolerance = measured["tolerance"]
    within = tolerance["observed"] <= tolerance["limit"]
    np.testing.assert_array_equal(groups["tolerance"]["prob_within"], within)
    assert 0 < int(within.sum()) < within.size
    kept = within.all("threshold").to_numpy()
    words = np.where(kept, "admissible", "not admissible")
    assert groups["decision"]["verdict"].to_numpy().tolist() == words.tolist()
    assert groups["posterior_profile"]["category_cvar"].dims[:2] == ("chain", "draw")


def test_categories_keep_their_prompts_in_pooled_replicates(tmp_path):
    weights = "[tolerance.category]\nage = 2.5\nrace = 1.0\n"
    files = files_of(
        tmp_path / "s", frame(prompts=10), roles=', category = "kind"', weights=weights
    )
    plan = build_profile_plan(read_study(files))
    twice = xr.concat([plan.table, plan.table], "draw", data_vars="all", coords="minimal")
    pooled = replace(plan, table=pool_replicates(twice, 2, "prompt"))
    [one] = pooled.category_cvar().values()
    np.testing.assert_allclose(one.isel(draw=0), plan.category_cvar()["category_cvar"])


def test_a_new_prompt_is_of_the_category_of_the_one_whose_place_it_takes(prompts):
    design, parameters, weights = prompts
    severe = np.arange(30) % 3 == 0
    moved = parameters["location_prompt_dimension"] + xr.DataArray(100.0 * severe, dims="prompt")
    apart = design, parameters.assign(location_prompt_dimension=moved), weights
    fresh, _ = replaced(apart, 1.0, severe.astype(int))
    effects = fresh["location_prompt_dimension"].isel(chain=0)
    np.testing.assert_array_equal(effects > 50, np.broadcast_to(severe[:, None], effects.shape))
    # Within a category they vary as much as its prompts do, not as prompts of all categories.
    known = rows_of(apart[1])[0]
    rows = rows_of(fresh)[:, severe].reshape(-1, known.shape[1])
    of_category = weights[severe] / weights[severe].sum()
    np.testing.assert_allclose(rows.mean(0), of_category @ known[severe], rtol=0.02, atol=0.1)
    assert rows.std(0).max() < 3
    # In one category it is any of the prompts.
    fresh, _ = replaced(apart, 1.0)
    assert (fresh["location_prompt_dimension"].isel(chain=0) > 50).any("draw").all()
