"""Summaries of posterior draws."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.stats.draws import central_interval, summarise_draws
from sharpbayes.metrics.stats.intervals import percentile_interval


@pytest.fixture
def draws():
    values = np.random.default_rng(3).normal(size=(2, 3, 50))
    labels = {"model": ["a", "b", "c"], "chain": [0, 1], "draw": np.arange(50)}
    return xr.DataArray(values, labels, ("chain", "model", "draw"), attrs={"units": "nat"})


def test_the_interval_of_draws_is_over_all_chains(draws):
    interval = central_interval(draws, level=0.8)
    flat = draws.values.transpose(1, 0, 2).reshape(3, -1)
    np.testing.assert_allclose(interval, np.quantile(flat, [0.1, 0.9], axis=1).T)
    assert interval.dims == ("model", "bound")
    assert interval.attrs == {"units": "nat"}
    assert sorted(interval.coords) == ["bound", "model"]


def test_a_number_with_a_missing_draw_has_no_posterior_interval(draws):
    draws[0, 1, 7] = np.nan
    interval = central_interval(draws.to_dataset(name="cvar"), level=0.8)["cvar"]
    assert interval.isnull().all("bound").values.tolist() == [False, True, False]
    resampled = percentile_interval(draws, level=0.8, dim=("chain", "draw"))
    assert resampled.notnull().all()


def test_no_pairs_have_no_intervals():
    interval = central_interval(
        xr.DataArray(np.zeros((9, 0)), dims=("draw", "pair")), level=0.8, dim="draw"
    )
    assert interval.shape == (0, 2)


def test_a_number_that_a_draw_lacks_has_no_summary():
    values = np.array([[[1.0, 4.0], [2.0, np.nan], [3.0, 6.0]]])
    metrics = xr.Dataset({"cvar": (("chain", "draw", "model"), values)})
    table = summarise_draws(metrics, level=0.5)
    np.testing.assert_array_equal(table["cvar"], [2.0, np.nan])
    np.testing.assert_array_equal(table["cvar_sd"], [np.sqrt(2 / 3), np.nan])
    np.testing.assert_array_equal(table["cvar_interval"], [[1.5, 2.5], [np.nan, np.nan]])
