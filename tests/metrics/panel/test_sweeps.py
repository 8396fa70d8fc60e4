from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.special import logsumexp
from scipy.stats import kendalltau, spearmanr

from sharpbayes.metrics.panel.sweeps import (
    Protocol,
    alpha_sweep,
    ensembles,
    leave_one_judge_out,
    temperature_sweep,
)

PROTOCOL = Protocol(0.2, 1e-6, "available", 0.8, "inclusive")
JUDGES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def sub_index():
    x = np.random.default_rng(1).beta(0.8, 2.0, (5, 30, 3, 2))
    coords = {"model": list("vwxyz"), "judge": JUDGES, "dimension": ["bias", "ethics"]}
    return xr.DataArray(x, coords, ("model", "prompt", "judge", "dimension"))


def plain_risk(x, temperature=0.2):
    """Cumulative log-risk of (model, prompt, judge, dimension), by SciPy's log-sum-exp."""
    harm = temperature * logsumexp(x / temperature, axis=2, b=1 / x.shape[2])
    return -np.log(1 - harm + 1e-6).sum(axis=-1)


def plain_cvar(risk, alpha=0.8):
    cvars = []
    for one in risk:
        var = np.sort(one)[int(np.ceil(alpha * len(one) - 1e-9)) - 1]
        cvars.append(np.mean([value for value in one if value >= var]))
    return np.array(cvars)


def test_leaving_out_a_judge_pools_the_others(sub_index):
    policy = xr.DataArray([0.5, 0.3, 0.2][: sub_index.sizes["dimension"]], dims="dimension")
    policy = policy / policy.sum()
    profiles = leave_one_judge_out(sub_index, PROTOCOL, policy=policy)
    full = plain_cvar(plain_risk(sub_index.values))
    for j, judge in enumerate(JUDGES):
        expected = plain_cvar(plain_risk(np.delete(sub_index.values, j, axis=2)))
        got = profiles.sel(judge_out=judge)
        np.testing.assert_allclose(got["lojo_cvar"], expected)
        assert got["lojo_rank"].values.tolist() == (expected.argsort().argsort() + 1).tolist()
        np.testing.assert_allclose(got["lojo_tau"], kendalltau(expected, full).statistic)
        np.testing.assert_allclose(got["lojo_tau_p"], kendalltau(expected, full).pvalue)


def test_ensembles_are_profiles_of_their_judges(sub_index):
    named = {"study": JUDGES, "first": ["a"], "rest": ["c", "b"]}
    profiles = ensembles(sub_index, named, PROTOCOL)
    cvar = {}
    for name, judges in named.items():
        risk = plain_risk(sub_index.values[:, :, [JUDGES.index(judge) for judge in judges]])
        cvar[name] = plain_cvar(risk)
        np.testing.assert_allclose(profiles["ensemble_mean"].sel(ensemble=name), risk.mean(axis=1))
        np.testing.assert_allclose(profiles["ensemble_cvar"].sel(ensemble=name), cvar[name])
    pair = profiles.sel(ensemble="first", other_ensemble="rest")
    np.testing.assert_allclose(pair["ensemble_difference"], cvar["first"] - cvar["rest"])
    np.testing.assert_allclose(
        pair["ensemble_kendall"], kendalltau(cvar["first"], cvar["rest"]).statistic
    )
    np.testing.assert_allclose(
        pair["ensemble_spearman"], spearmanr(cvar["first"], cvar["rest"]).statistic
    )
    assert profiles["disjoint"].values.tolist() == [
        [False, False, False],
        [False, False, True],
        [False, True, False],
    ]


def test_temperatures_are_tried_one_by_one_with_the_protocols_own(sub_index):
    sweep = temperature_sweep(sub_index, (0.05, 0.5), PROTOCOL)
    assert sweep["temperature"].values.tolist() == [0.05, 0.2, 0.5]
    base = plain_cvar(plain_risk(sub_index.values))
    risks = {t: plain_risk(sub_index.values, t) for t in (0.05, 0.2, 0.5)}
    for temperature, risk in risks.items():
        got = sweep.sel(temperature=temperature)
        np.testing.assert_allclose(got["temperature_mean"], risk.mean(axis=1))
        np.testing.assert_allclose(got["temperature_cvar"], plain_cvar(risk))
        tau = kendalltau(plain_cvar(risk), base).statistic
        np.testing.assert_allclose(got["temperature_kendall"], tau)
    table = np.stack([plain_cvar(risk) for risk in risks.values()])
    np.testing.assert_allclose(sweep["temperature_spread"], np.ptp(table, axis=0))


def test_a_higher_temperature_never_raises_harm(sub_index):
    sweep = temperature_sweep(sub_index, (0.05, 0.1, 0.4, 2.0), PROTOCOL)["temperature_mean"]
    assert (sweep.diff("temperature") < 0).all()


def test_tail_levels_are_tried_one_by_one(sub_index):
    risk = PROTOCOL.risk(sub_index)
    sweep = alpha_sweep(risk, (0.5, 0.95), PROTOCOL)
    assert sweep["alpha"].values.tolist() == [0.5, 0.8, 0.95]
    for alpha in (0.5, 0.8, 0.95):
        expected = plain_cvar(plain_risk(sub_index.values), alpha)
        np.testing.assert_allclose(sweep["alpha_cvar"].sel(alpha=alpha), expected)
        rho = spearmanr(expected, plain_cvar(plain_risk(sub_index.values))).statistic
        np.testing.assert_allclose(sweep["alpha_spearman"].sel(alpha=alpha), rho)
    assert (sweep["alpha_cvar"].diff("alpha") >= 0).all()


def test_the_other_estimator_and_weights_of_prompts_reach_every_sweep(sub_index):
    weights = xr.DataArray(np.r_[np.ones(15), np.zeros(15)], dims="prompt")
    half = replace(PROTOCOL, weights=weights, estimator="rockafellar-uryasev")
    plain = replace(PROTOCOL, estimator="rockafellar-uryasev")
    one = temperature_sweep(sub_index, (), half)["temperature_cvar"]
    other = temperature_sweep(sub_index.isel(prompt=slice(15)), (), plain)["temperature_cvar"]
    np.testing.assert_allclose(one, other)
