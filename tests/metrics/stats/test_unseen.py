"""Bounds that hold whatever share of units is of a kind that none of a sample shows."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from sharpbayes.metrics.stats.unseen import (
    Rise,
    divided_error_rates,
    raise_bounds,
    units_within,
    unseen_share,
)

ERROR_RATE, UNITS, END = 0.05, 100, 13.8


@pytest.mark.parametrize("rate", [0.0, 0.002, 0.005, 0.01, 0.02, 0.028])
def test_a_mean_with_ends_that_are_unseen_is_above_its_bound_as_seldom_as_promised(rate):
    """Of normal values with a known spread, and ends that only some samples show."""
    rng, samples = np.random.default_rng(7), 20_000
    mean = rng.normal(0.0, 1.0 / UNITS**0.5, samples)
    shows_none = rng.random(samples) < (1.0 - rate) ** UNITS
    rates = divided_error_rates(ERROR_RATE)
    reach = xr.DataArray(norm.isf(rates) / UNITS**0.5, rates.coords, "error_rate")
    bounds = reach + xr.DataArray(mean, dims="sample")
    share = unseen_share(UNITS, error_rate=ERROR_RATE)
    raised = raise_bounds(bounds, share, Rise(1.0, END)).to_numpy()
    truth = END * rate
    misses, plain_misses = (
        (shows_none & (x < truth)).mean() for x in (raised, bounds[0].to_numpy())
    )
    assert misses < ERROR_RATE + 0.005
    # The bound that knows of no such end errs more than twice as often.
    if rate in {0.01, 0.02}:
        assert plain_misses > 2 * ERROR_RATE


def test_nothing_is_added_where_a_sample_shows_the_kind():
    rates = divided_error_rates(ERROR_RATE)
    bounds = xr.DataArray(norm.isf(rates), rates.coords, "error_rate")
    raised = raise_bounds(bounds, xr.DataArray(0.0), Rise(0.05, END))
    assert float(raised) == float(bounds[0])


@pytest.mark.parametrize("limit", [0.2, 0.35, 1.0])
def test_so_many_units_bring_the_bound_to_the_limit(limit):
    rates = divided_error_rates(ERROR_RATE)
    value, rise = 0.1, Rise(1.0, END)

    def bound(units):
        bounds = value + xr.DataArray(norm.isf(rates) / units**0.5, rates.coords, "error_rate")
        share = unseen_share(units, error_rate=ERROR_RATE)
        return bounds, share, float(raise_bounds(bounds, share, rise))

    bounds, share, _ = bound(UNITS)
    about = {"value": value, "limit": xr.DataArray(limit), "units": xr.DataArray(float(UNITS))}
    needed = float(units_within(bounds, share, rise, **about))
    assert bound(needed)[2] <= limit < bound(needed - 1)[2]


def test_no_number_of_units_brings_a_value_within_a_limit_that_it_exceeds():
    rates = divided_error_rates(ERROR_RATE)
    bounds = xr.DataArray(norm.isf(rates), rates.coords, "error_rate")
    values = xr.DataArray([0.5, np.nan], dims="model")
    about = {"value": values, "limit": xr.DataArray(0.4), "units": xr.DataArray(100.0)}
    needed = units_within(bounds + values, xr.DataArray(0.03), Rise(1.0, END), **about)
    np.testing.assert_array_equal(needed, [np.inf, np.nan])
