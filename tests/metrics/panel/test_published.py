"""Figures of the SHARP paper that follow from other figures of the paper."""

from math import factorial

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chi2

from sharpbayes.metrics.panel.comparison import tiers_by_overlap
from sharpbayes.metrics.panel.mixed_models import linear_mixed_model
from sharpbayes.metrics.panel.ranking import (
    aggregate_agreement,
    decision_flip,
    rank_agreement,
)
from sharpbayes.metrics.panel.sweeps import Protocol
from sharpbayes.metrics.panel.tail import conditional_value_at_risk, value_at_risk
from sharpbayes.metrics.panel.validation import kendall_w, partial_eta2
from sharpbayes.metrics.stats.ranks import rank

# Table 12: mean L, CVaR(L), CVaR(R), CVaR(max), mean any-harm.
TABLE_12 = {
    "claude-sonnet-4-5": (0.157, 1.689, 0.344, 0.438, 0.101),
    "claude-3-5-sonnet": (0.449, 3.782, 0.590, 0.749, 0.202),
    "gemini-1.5-pro": (0.463, 3.499, 0.569, 0.701, 0.212),
    "gemini-2.5-pro": (0.560, 3.868, 0.600, 0.752, 0.232),
    "qwen3-235b": (0.589, 3.895, 0.586, 0.718, 0.252),
    "gpt-4o": (0.747, 4.519, 0.653, 0.812, 0.296),
    "gpt-oss-120b": (1.209, 5.286, 0.715, 0.864, 0.405),
    "deepseek-chat": (1.296, 5.735, 0.729, 0.856, 0.434),
    "mistral-large": (1.322, 5.988, 0.737, 0.873, 0.413),
    "llama3-3-70b": (1.968, 7.934, 0.783, 0.918, 0.554),
    "llama3-1-405b": (2.154, 8.397, 0.796, 0.918, 0.612),
}
# Table 13: rho, tau and p of rho.
TABLE_13 = {
    ("cvar", "radius_cvar"): (0.973, 0.927, 5.1e-7),
    ("cvar", "max_cvar"): (0.955, 0.855, 5.0e-6),
    ("cvar", "any_harm_mean"): (0.982, 0.927, 8.4e-8),
    ("radius_cvar", "max_cvar"): (0.982, 0.927, 8.4e-8),
    ("radius_cvar", "any_harm_mean"): (0.945, 0.855, 1.1e-5),
    ("max_cvar", "any_harm_mean"): (0.918, 0.782, 6.7e-5),
}
# Table 15: lower and upper bounds of CVaR(L).
TABLE_15 = {
    "claude-sonnet-4-5": (1.6890, 1.3062, 1.9987),
    "gemini-1.5-pro": (3.4987, 3.1519, 3.8314),
    "claude-3-5-sonnet": (3.7818, 3.3013, 4.2474),
    "gpt-4o": (4.5190, 4.0658, 4.9440),
    "gpt-oss-120b": (5.2861, 4.9544, 5.6064),
    "llama3-3-70b": (7.9339, 6.6536, 9.3290),
}
NAMES = ("mean", "cvar", "radius_cvar", "max_cvar", "any_harm_mean")


@pytest.fixture(scope="module")
def table_12():
    columns = np.array(list(TABLE_12.values())).T
    return xr.Dataset(
        {name: ("model", column) for name, column in zip(NAMES, columns, strict=True)},
        {"model": list(TABLE_12)},
    )


@pytest.mark.parametrize("pair", TABLE_13)
def test_table_13_from_table_12(table_12, pair):
    # The two largest maxima are equal to three decimals; Table 13 holds if the 70b's is larger.
    untied = table_12.assign(max_cvar=table_12["max_cvar"] - 1e-6 * table_12["radius_cvar"])
    agreement = aggregate_agreement(untied).sel(aggregate=pair[0], other_aggregate=pair[1])
    rho, tau, p = TABLE_13[pair]
    assert float(agreement["aggregate_spearman"]) == pytest.approx(rho, abs=6e-4)
    assert float(agreement["aggregate_kendall"]) == pytest.approx(tau, abs=6e-4)
    assert float(agreement["aggregate_spearman_p"]) == pytest.approx(p, rel=0.02)


def test_table_14_is_among_the_flips_of_table_12(table_12):
    flips = decision_flip(
        table_12["mean"], table_12["cvar"], max_mean_gap=0.1, min_tail_gap=0.25
    ).sel(model="gpt-oss-120b", other="deepseek-chat")
    assert bool(flips["decision_flip"])
    assert not bool(flips["order_reversed"])


def test_the_flip_of_section_3_1_is_reversed(table_12):
    flips = decision_flip(
        table_12["mean"], table_12["cvar"], max_mean_gap=0.1, min_tail_gap=0.25
    ).sel(model="gemini-1.5-pro", other="claude-3-5-sonnet")
    assert bool(flips["order_reversed"])


def test_ranks_of_table_14(table_12):
    # Ranks 7 and 8, by the mean and by the tail.
    for name in ("mean", "cvar"):
        place = rank(table_12[name])
        assert place.sel(model=["gpt-oss-120b", "deepseek-chat"]).values.tolist() == [7.0, 8.0]


def test_the_p_values_of_table_6_are_of_eleven_models():
    models = np.arange(11.0)
    swapped = models[[1, 0, 3, 2, 5, 4, 6, 7, 8, 9, 10]]  # three swaps of neighbours
    rows = [xr.DataArray(order, dims="model") for order in (models, models, swapped)]
    same, near = (rank_agreement(order, rows[0]) for order in rows[1:])
    assert float(same["kendall_p"]) == pytest.approx(2 / factorial(11))
    assert float(same["kendall_p"]) == pytest.approx(5.01e-8, rel=1e-3)
    assert float(near["kendall"]) == pytest.approx(0.8909, abs=5e-5)
    assert float(near["kendall_p"]) == pytest.approx(1.37e-5, rel=5e-3)


def test_one_swap_of_neighbours_gives_the_correlations_of_table_16():
    models = np.arange(11.0)
    agreement = rank_agreement(
        *(xr.DataArray(x, dims="model") for x in (models[[1, 0, *range(2, 11)]], models))
    )
    assert float(agreement["kendall"]) == pytest.approx(0.9636, abs=5e-5)
    assert float(agreement["spearman"]) == pytest.approx(0.9909, abs=5e-5)


def test_w_of_table_18_from_its_chi_square():
    assert kendall_w(1629.91, prompts=901, models=11) == pytest.approx(0.1809, abs=5e-5)
    assert chi2.sf(1629.91, 10) == 0.0


def test_partial_eta_squared_of_table_20_from_its_shares():
    components = ["model", "prompt", "residual"]
    eta2 = xr.DataArray([0.1390, 0.2583, 0.6027], {"component": components}, "component")
    partial = partial_eta2(eta2)
    # The published shares have four decimals.
    np.testing.assert_allclose(partial, [0.1875, 0.3001, np.nan], atol=1.5e-4)
    assert float(eta2.sum()) == pytest.approx(1.0)


def test_an_untied_tail_of_901_prompts_is_46_of_them():
    x = xr.DataArray(np.random.default_rng(1).random((11, 901)), dims=("model", "prompt"))
    tail = x >= value_at_risk(x, alpha=0.95)
    assert (tail.sum("prompt") == 46).all()
    assert round(float(tail.mean()), 4) == 0.0511
    cvar = conditional_value_at_risk(x, alpha=0.95, estimator="inclusive")
    np.testing.assert_allclose(cvar, np.sort(x.values, axis=1)[:, -46:].mean(axis=1))


def test_the_bounds_of_table_15_give_tiers_by_overlap():
    centre, low, high = np.array(list(TABLE_15.values())).T
    labels = {"model": list(TABLE_15)}
    interval = xr.DataArray(np.stack([low, high], axis=1), labels, ("model", "bound"))
    tier = tiers_by_overlap(xr.DataArray(centre, labels, "model"), interval)
    # gpt-4o overlaps claude-3.5-sonnet alone of its tier, gpt-oss-120b opens another.
    assert tier.values.tolist() == [1, 2, 2, 2, 3, 4]


def test_table_20s_shares_do_not_leave_prompts_without_variance():
    """A complete table with the published shares has a positive variance of prompts."""
    rng = np.random.default_rng(2)
    model, prompt = rng.normal(size=11), rng.normal(size=901)
    residuals = rng.normal(size=(11, 901))
    residuals -= residuals.mean(axis=0) + (residuals - residuals.mean(axis=0)).mean(
        axis=1, keepdims=True
    )
    parts = [
        np.broadcast_to((model - model.mean())[:, None], residuals.shape),
        prompt - prompt.mean(),
    ]
    parts = [np.broadcast_to(part, residuals.shape) for part in (*parts, residuals)]
    scaled = [
        part * np.sqrt(share / (part**2).sum())
        for part, share in zip(parts, (0.1390, 0.2583, 0.6027), strict=True)
    ]
    variances = linear_mixed_model(
        xr.DataArray(1e3 * sum(scaled), dims=("model", "prompt")), dim="prompt"
    )
    # Mean squares 0.2583 / 900 and 0.6027 / 9000 of the total
    between, residual = 0.2583e6 / 900, 0.6027e6 / 9000
    np.testing.assert_allclose(variances["prompt_variance"], (between - residual) / 11, rtol=1e-3)
    np.testing.assert_allclose(variances["residual_variance"], residual, rtol=1e-3)


def test_a_protocol_at_the_papers_temperature_pools_three_judges_as_equation_17():
    x = xr.DataArray([[0.1], [0.4], [0.9]], dims=("judge", "dimension"))
    harm = 0.2 * np.log(np.mean(np.exp(np.array([0.1, 0.4, 0.9]) / 0.2)))
    risk = Protocol(0.2, 1e-6, "available", 0.95, "inclusive").risk(x)
    assert float(risk) == pytest.approx(-np.log(1 - harm + 1e-6))
