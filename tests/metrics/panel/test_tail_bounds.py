"""Bounds of CVaR: no fill leaves them, some fill attains them, and complete values have none."""

from itertools import product

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.metrics.panel.tail_bounds import tail_bounds
from sharpbayes.metrics.stats.population import PopulationWeights

STUDIES = 30
estimators = pytest.mark.parametrize("estimator", ["inclusive", "rockafellar-uryasev"])


def draw_bounds(rng):
    """Few small integers, which tie, a few of them between two bounds."""
    size = rng.integers(3, 8)
    low = rng.integers(0, 4, size).astype(float)
    high = low.copy()
    for unit in rng.choice(size, rng.integers(0, 4), replace=False):
        low[unit], high[unit] = np.sort(rng.integers(0, 5, 2))
    return low, high


def fill(low, high):
    """All values between the bounds that are halves, and those just below a whole number."""
    near = np.r_[np.arange(0.0, 5.0, 0.5), np.arange(1.0, 5.0) - 1e-7]
    ranges = [np.unique(np.clip(near, *pair)) for pair in zip(low, high, strict=True)]
    return over_prompts(list(product(*ranges)))


def over_prompts(values):
    values = np.asarray(values, dtype=float)
    return xr.DataArray(values, dims=("fill", "prompt")[-values.ndim :])


@estimators
@pytest.mark.parametrize("is_weighted", [False, True])
def test_no_fill_leaves_the_bounds_and_some_attain_them(estimator, is_weighted):
    rng = np.random.default_rng(1)
    for _ in range(STUDIES):
        low, high = draw_bounds(rng)
        weights = over_prompts(rng.integers(1, 4, low.size)) if is_weighted else None
        settings = {"estimator": estimator, "weights": weights}
        settings["alpha"] = rng.choice([0.5, 0.6, 0.75, 0.8, 0.9])
        values = conditional_value_at_risk(fill(low, high), **settings)
        lower, upper = tail_bounds(over_prompts(low), over_prompts(high), **settings).values
        assert float(values.min()) == pytest.approx(lower)
        assert float(values.max()) <= upper + 1e-12
        if not is_weighted or estimator == "rockafellar-uryasev":
            assert float(values.max()) == pytest.approx(upper, abs=1e-6)


def test_the_inclusive_cvar_of_least_and_largest_values_is_no_bound():
    """A value that rises to VaR makes the tail longer; one that falls below it shorter."""
    low, high = over_prompts([0.0, 1.0, 1.0, 3.0]), over_prompts([1.0, 1.0, 1.0, 3.0])
    ends = (conditional_value_at_risk(x, alpha=0.75, estimator="inclusive") for x in (low, high))
    assert [float(value) for value in ends] == [pytest.approx(5 / 3), 1.5]
    bounds = tail_bounds(low, high, alpha=0.75, estimator="inclusive")
    assert bounds.values == pytest.approx([1.5, 5 / 3])


@estimators
def test_complete_values_have_their_cvar_for_both_bounds(estimator):
    """To the last bit, so that models with equal tails stay equal."""
    x = xr.DataArray(np.random.default_rng(2).integers(0, 3, (3, 40)) / 7, dims=("model", "prompt"))
    x[0, :5], x[1] = np.nan, np.nan
    category = xr.DataArray(["a", "b"] * 20, dims="prompt")
    shares = PopulationWeights(category, xr.DataArray([0.3, 0.7], {"category": ["a", "b"]}))
    for weights in (None, shares):
        settings = {"alpha": 0.9, "estimator": estimator, "weights": weights}
        value = conditional_value_at_risk(x, **settings)
        for bound in tail_bounds(x, x, **settings).transpose("bound", "model"):
            np.testing.assert_array_equal(bound, value)


def test_repeated_answers_are_values_of_one_distribution():
    rng = np.random.default_rng(3)
    low = xr.DataArray(rng.integers(0, 4, (2, 6, 3)) / 1.0, dims=("model", "prompt", "sample"))
    high = low + (rng.random(low.shape) < 0.2)
    settings = {"alpha": 0.8, "estimator": "inclusive"}
    bounds = tail_bounds(low, high, dim=("prompt", "sample"), **settings)
    for model in range(2):
        units = (x[model].stack(unit=("prompt", "sample")) for x in (low, high))
        alone = tail_bounds(*units, dim="unit", **settings)
        np.testing.assert_array_equal(bounds.isel(model=model), alone)
