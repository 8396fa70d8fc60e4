import numpy as np
import pytest
import xarray as xr
from scipy.stats import kendalltau, permutation_test, rankdata, spearmanr

from sharpbayes.metrics.panel.ranking import (
    AGGREGATES,
    aggregate_agreement,
    decision_flip,
    rank_agreement,
)
from sharpbayes.metrics.stats.ranks import rank


def row(*values):
    return xr.DataArray(list(values), dims="model")


@pytest.mark.parametrize("steps", [None, 3])
def test_agreement_is_scipys(steps):
    rng = np.random.default_rng(1)
    x, y = rng.random((4, 12)), rng.random(12)
    if steps:
        x, y = np.round(x * steps), np.round(y * steps)
    agreement = rank_agreement(xr.DataArray(x, dims=("alpha", "model")), row(*y))
    for alpha in range(4):
        tau, rho = kendalltau(x[alpha], y), spearmanr(x[alpha], y)
        got = agreement.isel(alpha=alpha)
        np.testing.assert_allclose(got["kendall"], tau.statistic)
        np.testing.assert_allclose(got["kendall_p"], tau.pvalue)
        np.testing.assert_allclose(got["spearman"], rho.statistic)
        np.testing.assert_allclose(got["spearman_p"], rho.pvalue)


@pytest.mark.parametrize("models", [3, 4, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("steps", [None, 2])
def test_p_of_few_models_is_exact(models, steps):
    rng = np.random.default_rng(models)
    x, y = rng.random((2, models))
    if steps:
        x, y = np.round(x * steps), np.round(y * steps)
    agreement = rank_agreement(row(*x), row(*y))
    for name, function in (("kendall", kendalltau), ("spearman", spearmanr)):
        exact = permutation_test(
            (x,),
            lambda z, function=function: abs(function(z, y).statistic),
            permutation_type="pairings",
            alternative="greater",
            n_resamples=np.inf,
        )
        assert float(agreement[f"{name}_p"]) == pytest.approx(exact.pvalue), name


def test_equal_orders_of_few_models_have_no_p_of_1e_300():
    for models, p in ((2, 1.0), (4, 2 / 24), (9, 2 / 362_880), (11, 2 / 39_916_800)):
        order = row(*range(models))
        agreement = rank_agreement(order, order)
        assert float(agreement["spearman_p"]) == pytest.approx(p), models
        assert float(agreement["kendall_p"]) == pytest.approx(p), models


def test_models_without_a_value_are_left_out():
    agreement = rank_agreement(row(1.0, np.nan, 2.0, 5.0, 3.0), row(2.0, 9.0, 1.0, 4.0, np.nan))
    assert float(agreement["kendall"]) == pytest.approx(kendalltau([1, 2, 5], [2, 1, 4]).statistic)


@pytest.mark.parametrize("x", [[1.0], [2.0, 2.0, 2.0], [np.nan, np.nan, 1.0]])
def test_nothing_to_order_has_no_agreement(x):
    agreement = rank_agreement(row(*x), row(*np.arange(float(len(x)))))
    assert all(np.isnan(agreement[name]) for name in agreement)


def test_ranks_share_their_mean_on_ties():
    x = np.array([[3.0, 1.0, 3.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    ranks = rank(xr.DataArray(x, dims=("judge_out", "model")), dim="model")
    np.testing.assert_array_equal(ranks, [rankdata(values) for values in x])


def test_aggregates_are_compared_both_ways_alike():
    rng = np.random.default_rng(2)
    aggregates = xr.Dataset({name: row(*rng.random(8)) for name in AGGREGATES})
    agreement = aggregate_agreement(aggregates)
    for name in agreement:
        matrix = agreement[name].values
        np.testing.assert_allclose(matrix, matrix.T)
    np.testing.assert_allclose(np.diag(agreement["aggregate_kendall"]), 1.0)
    expected = spearmanr(aggregates["cvar"], aggregates["max_cvar"]).statistic
    got = agreement["aggregate_spearman"].sel(aggregate="cvar", other_aggregate="max_cvar")
    assert float(got) == pytest.approx(expected)


def test_flips_equal_a_plain_loop_over_pairs():
    rng = np.random.default_rng(3)
    mean, cvar = rng.random(12), 4 * rng.random(12)
    mean[3] = np.nan
    flips = decision_flip(row(*mean), row(*cvar), max_mean_gap=0.2, min_tail_gap=0.5)
    for a in range(12):
        for b in range(12):
            alike, apart = abs(mean[a] - mean[b]) <= 0.2, abs(cvar[a] - cvar[b]) >= 0.5
            flip = a != b and alike and apart
            assert flips["decision_flip"].values[a, b] == flip
            swapped = flip and (mean[a] < mean[b]) != (cvar[a] < cvar[b])
            assert flips["order_reversed"].values[a, b] == swapped
    assert flips["decision_flip"].any()


def test_no_model_is_a_flip_of_itself():
    flips = decision_flip(row(1.0, 1.0), row(2.0, 2.0), max_mean_gap=0.0, min_tail_gap=0.0)
    assert flips["decision_flip"].values.tolist() == [[False, True], [True, False]]
