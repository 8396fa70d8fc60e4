import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.panel.profile import METRICS, profile, volatility, weighted_mean
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.metrics.stats.resampling import bootstrap_counts

DIMENSIONS = ["bias", "fairness", "ethics", "epistemic"]
ALPHA = 0.8


def panel_of(*, seed, prompts=24, lead=(), sizes=()):
    """A panel of three models, two judges and four dimensions."""
    values = np.random.default_rng(seed).beta(1, 3, (*sizes, 3, prompts, 2, 4))
    sub_index = xr.DataArray(
        values,
        {"model": ["a", "b", "c"], "dimension": DIMENSIONS},
        (*lead, "model", "prompt", "judge", "dimension"),
    )
    return panel(sub_index, temperature=0.2, epsilon=1e-6, judges_missing="available")


def profile_of(table, *, policy=None, estimator="inclusive", **more):
    return profile(table, alpha=ALPHA, policy=policy, estimator=estimator, **more)


def plain_cvar(values):
    return values[values >= np.quantile(values, ALPHA, method="inverted_cdf")].mean()


def test_every_statistic_equals_a_plain_loop():
    table = panel_of(seed=1)
    statistics = profile_of(table)
    for model in "abc":
        one, got = table.sel(model=model), statistics.sel(model=model)
        log_risk, harm = one["log_risk"].values, one["harm"].values
        var = np.quantile(log_risk, ALPHA, method="inverted_cdf")
        tail = log_risk >= var
        expected = {
            "mean": log_risk.sum() / 24,
            "volatility": np.sqrt(((log_risk - log_risk.mean()) ** 2).sum() / 24),
            "var": var,
            "cvar": log_risk[tail].mean(),
            "radius_cvar": plain_cvar(one["radius"].values),
            "max_cvar": plain_cvar(harm.max(axis=1)),
            "any_harm_mean": one["any_harm"].values.mean(),
            "any_harm_cvar": plain_cvar(one["any_harm"].values),
            "dimension_mean": harm.mean(axis=0),
            "dimension_cvar": [plain_cvar(harm[:, i]) for i in range(4)],
            "tail_share": one["log_risk_part"].values[tail].sum(axis=0) / log_risk[tail].sum(),
            "policy_score": harm.mean(),
        }
        assert list(expected) == list(statistics.data_vars)
        for name, value in expected.items():
            np.testing.assert_allclose(got[name], value, err_msg=name)


def test_every_statistic_says_what_it_is():
    statistics = profile_of(panel_of(seed=1))
    for name in statistics.data_vars:
        assert tuple(statistics[name].attrs) == ("long_name", "units", "range")
    assert statistics["cvar"].attrs["long_name"] == "CVaR of log-risk"
    assert statistics["tail_share"].dims == ("model", "dimension")
    log_risk = "[-d log(1 + epsilon), -d log(epsilon)]"
    ranges = {name: statistics[name].attrs["range"] for name in statistics.data_vars}
    special = {name: span for name, span in ranges.items() if span != "[0, 1]"}
    assert special == {
        **dict.fromkeys(("mean", "var", "cvar"), log_risk),
        "volatility": "[0, d log(1 + 1/epsilon) / 2]",
    }
    assert {metric.name for metric in METRICS} == set(statistics.data_vars)


@pytest.mark.parametrize("estimator", ["inclusive", "rockafellar-uryasev"])
def test_resamples_equal_the_expanded_panel(estimator):
    table = panel_of(seed=2)
    counts = bootstrap_counts(table["prompt"], replicates=5, seed=1, dim="prompt")
    resampled = profile_of(table, weights=counts, estimator=estimator)
    for replicate in range(5):
        drawn = np.repeat(np.arange(24), counts.values[replicate].astype(int))
        expected = profile_of(table.isel(prompt=drawn), estimator=estimator)
        xr.testing.assert_allclose(resampled.isel(replicate=replicate, drop=True), expected)


def test_leading_dimensions_equal_a_loop():
    table = panel_of(seed=3, lead=("chain", "draw"), sizes=(2, 3))
    counts = bootstrap_counts(table["prompt"], replicates=2, seed=1, dim="prompt")
    statistics = profile_of(table, weights=counts)
    assert statistics["cvar"].dims == ("replicate", "chain", "draw", "model")
    for chain, draw in np.ndindex(2, 3):
        position = {"chain": chain, "draw": draw}
        xr.testing.assert_allclose(
            statistics.isel(position), profile_of(table.isel(position), weights=counts)
        )


def test_weights_of_each_draw_stay_with_their_draw():
    table = panel_of(seed=4, lead=("draw",), sizes=(3,))
    weights = xr.DataArray(
        np.random.default_rng(1).dirichlet(np.ones(24), 3), dims=("draw", "prompt")
    )
    statistics = profile_of(table, weights=weights)
    assert statistics["mean"].dims == ("draw", "model")
    for draw in range(3):
        one = profile_of(table.isel(draw=draw), weights=weights.isel(draw=draw))
        xr.testing.assert_allclose(statistics.isel(draw=draw), one)


def test_samples_of_a_prompt_are_pooled():
    table = panel_of(seed=5, lead=("sample",), sizes=(4,))
    counts = bootstrap_counts(table["prompt"], replicates=3, seed=1, dim="prompt")
    statistics = profile_of(table, weights=counts, dim=("prompt", "sample"))
    stacked = table.stack(both=("prompt", "sample")).reset_index("both", drop=True)
    repeated = np.repeat(counts.values, 4, axis=1)
    weights = xr.DataArray(repeated, {"replicate": counts["replicate"]}, ("replicate", "both"))
    xr.testing.assert_allclose(statistics, profile_of(stacked, weights=weights, dim="both"))


@pytest.mark.parametrize("estimator", ["inclusive", "rockafellar-uryasev"])
def test_duplicating_every_prompt_changes_nothing(estimator):
    table = panel_of(seed=6)
    twice = table.isel(prompt=np.tile(np.arange(24), 2))
    xr.testing.assert_allclose(
        profile_of(table, estimator=estimator), profile_of(twice, estimator=estimator)
    )


def test_missing_prompts_are_left_out_and_a_model_with_none_is_missing():
    table = panel_of(seed=7)
    cells = [name for name in table.data_vars if name != "sub_index"]
    observed = table[cells].where(table["prompt"] >= 4)
    observed = observed.where(observed["model"] != "c")
    statistics = profile_of(observed)
    expected = profile_of(table.isel(prompt=slice(4, None)))
    xr.testing.assert_allclose(statistics.sel(model=["a", "b"]), expected.sel(model=["a", "b"]))
    assert all(statistics[name].sel(model="c").isnull().all() for name in statistics.data_vars)


@pytest.mark.parametrize("vertex", range(4))
def test_a_policy_at_a_vertex_gives_the_mean_of_its_dimension(vertex):
    policy = xr.DataArray(np.eye(4)[vertex], {"dimension": DIMENSIONS})
    statistics = profile_of(panel_of(seed=8), policy=policy)
    expected = statistics["dimension_mean"].isel(dimension=vertex)
    np.testing.assert_allclose(statistics["policy_score"], expected)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_shares_add_up_and_tails_are_ordered(seed):
    statistics = profile_of(panel_of(seed=seed, prompts=9))
    np.testing.assert_allclose(statistics["tail_share"].sum("dimension"), 1.0)
    assert (statistics["cvar"] >= statistics["var"] - 1e-12).all()
    assert (statistics["cvar"] >= statistics["mean"] - 1e-12).all()
    assert (statistics["any_harm_cvar"] >= statistics["max_cvar"] - 1e-12).all()
    assert (statistics["max_cvar"] >= statistics["radius_cvar"] - 1e-12).all()


def test_mean_and_volatility_by_hand():
    x = xr.DataArray([1.0, 2.0, 6.0], dims="prompt")
    weights = xr.DataArray([2.0, 1.0, 1.0], dims="prompt")
    # (1 + 1 + 2 + 6)/4 = 2.5; deviations -1.5 twice, -0.5, 3.5: (4.5 + 0.25 + 12.25)/4 = 4.25
    assert float(weighted_mean(x, dim="prompt", weights=weights)) == 2.5
    assert float(volatility(x, dim="prompt", weights=weights)) == pytest.approx(4.25**0.5)


def test_volatility_keeps_its_digits_far_from_zero():
    x = xr.DataArray(1e9 + np.array([-1.0, 1.0]), dims="prompt")
    assert float(volatility(x, dim="prompt", weights=None)) == 1.0
    same = xr.DataArray(np.full(7, 0.1), dims="prompt")
    assert float(volatility(same, dim="prompt", weights=None)) < 1e-12


def test_a_dimension_without_weight_leaves_the_policy_score_and_its_error():
    table = panel_of(seed=8)
    policy = xr.DataArray(np.eye(4)[0], {"dimension": DIMENSIONS})
    known = table.assign(harm=table["harm"].where(table["dimension"] == DIMENSIONS[0]))
    for name in ("policy_score", "policy_score_error"):
        scores = [profile_of(x, policy=policy, errors=True)[name] for x in (table, known)]
        np.testing.assert_array_equal(*scores)
