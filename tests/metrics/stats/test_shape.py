"""Skewness and kurtosis against SciPy, correlation against NumPy."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.metrics.stats.shape import excess_kurtosis, mean_correlation, skewness


def test_both_are_scipys_and_leave_missing_values_out():
    values = np.random.default_rng(1).exponential(size=(3, 40))
    values[0, 5:9] = np.nan
    x = xr.DataArray(values, dims=("draw", "prompt"))
    np.testing.assert_allclose(
        skewness(x, dim="prompt"), stats.skew(values, axis=1, nan_policy="omit")
    )
    np.testing.assert_allclose(
        excess_kurtosis(x, dim="prompt"), stats.kurtosis(values, axis=1, nan_policy="omit")
    )


def test_equal_values_have_no_shape():
    x = xr.DataArray(np.ones(5), dims="item")
    assert np.isnan(skewness(x, dim="item"))
    assert np.isnan(excess_kurtosis(x, dim="item"))


def test_the_mean_correlation_is_that_of_every_two_labels():
    values = np.random.default_rng(2).normal(size=(2, 30, 3)).cumsum(axis=2)
    x = xr.DataArray(values, dims=("draw", "prompt", "dimension"))
    wanted = [np.corrcoef(draw, rowvar=False)[np.triu_indices(3, 1)].mean() for draw in values]
    np.testing.assert_allclose(mean_correlation(x, dim="prompt", over="dimension"), wanted)


def test_missing_values_make_no_pairs():
    both = np.random.default_rng(3).normal(size=(20, 2)).cumsum(axis=1)
    x = xr.DataArray(both, dims=("prompt", "dimension"))
    lone = xr.DataArray(np.where([True, False], both, np.nan), dims=x.dims)
    assert np.isnan(mean_correlation(lone, dim="prompt", over="dimension"))
    partly = x.where(xr.DataArray(np.arange(20) < 12, dims="prompt") | (x["dimension"] == 0))
    z = (partly - partly.mean("prompt")) / partly.std("prompt")
    wanted = float((z[:12, 0] * z[:12, 1]).mean())
    assert float(mean_correlation(partly, dim="prompt", over="dimension")) == pytest.approx(wanted)
