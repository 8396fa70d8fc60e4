"""p values of resamples and their corrections, against SciPy and statsmodels."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sharpbayes.metrics.stats.multiplicity import benjamini_hochberg, holm, two_sided_p


@pytest.mark.parametrize("seed", range(20))
def test_corrections_are_those_of_statsmodels_and_scipy(seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random((3, 4)) ** 2, 2)
    p[rng.random(p.shape) < 0.2] = np.nan
    observed = p[~np.isnan(p)]
    # Holm's correction is that of statsmodels to the last bit.
    assert np.array_equal(holm(p)[~np.isnan(p)], multipletests(observed, method="holm")[1])
    assert benjamini_hochberg(p)[~np.isnan(p)] == pytest.approx(
        stats.false_discovery_control(observed)
    )
    assert np.array_equal(np.isnan(holm(p)), np.isnan(p))
    assert np.array_equal(np.isnan(benjamini_hochberg(p)), np.isnan(p))


def test_missing_p_values_do_not_count():
    p = np.array([0.02, np.nan, 0.03])
    np.testing.assert_allclose(holm(p), [0.04, np.nan, 0.04])
    np.testing.assert_allclose(benjamini_hochberg(p), [0.03, np.nan, 0.03])


def test_no_test_was_made():
    assert np.isnan(holm(np.full(3, np.nan))).all()
    assert benjamini_hochberg(np.empty(0)).size == 0


def test_two_sided_p_by_hand():
    # 4 resamples, one missing: T = 2 has 1 at or above and 3 at or below it.
    resampled = xr.DataArray([0.0, 1.0, 2.0, np.nan], dims="b")
    assert float(two_sided_p(resampled, xr.DataArray(2.0), dim="b")) == 1.0
    assert float(two_sided_p(resampled, xr.DataArray(9.0), dim="b")) == 2 / 4
    assert np.isnan(two_sided_p(resampled, xr.DataArray(np.nan), dim="b"))
    assert np.isnan(two_sided_p(resampled[3:], xr.DataArray(1.0), dim="b"))
    shifted = resampled + 1e-14
    assert float(two_sided_p(shifted, xr.DataArray(0.0), dim="b")) == 1.0
