"""Ranks against SciPy."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import rankdata

from sharpbayes.metrics.stats.ranks import rank


@pytest.mark.parametrize("method", ["average", "min"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_ranks_are_those_of_scipy(method, descending, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, (3, 8)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    ranks = rank(
        xr.DataArray(x, dims=("fit", "model")), method=method, descending=descending, dim="model"
    )
    signed = -x if descending else x
    expected = rankdata(signed, method=method, axis=1, nan_policy="omit")
    np.testing.assert_array_equal(ranks, expected)


def test_nothing_to_rank():
    assert np.isnan(rank(xr.DataArray([np.nan, np.nan], dims="model"))).all()
    assert rank(xr.DataArray(np.empty(0), dims="model")).size == 0
