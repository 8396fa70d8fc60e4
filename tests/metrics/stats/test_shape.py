"""Skewness and kurtosis against SciPy."""

import numpy as np
import xarray as xr
from scipy import stats

from sharpbayes.metrics.stats.shape import excess_kurtosis, skewness


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
