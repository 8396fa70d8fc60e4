"""Power-scaling by weights: ArviZ's numbers, exact normal posteriors, and published examples."""

import json
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.power_scaling import (
    STEP,
    pareto_k,
    power_scale,
    sensitivity,
    shift_error,
    weighted_mean,
)

PUBLISHED = Path(__file__).parents[1] / "references" / "priorsense.json"


def array(values):
    chains, draws = values.shape[:2]
    coords = {"chain": range(chains), "draw": range(draws)}
    return xr.DataArray(values, coords, (*DRAWS, *(f"d{n}" for n in range(values.ndim - 2))))


@pytest.fixture(scope="module")
def normal():
    """Draws of N(1/2, sd^2 = 1/2): a prior N(0, 1) and one observation of 1 with sd 1."""
    rng = np.random.default_rng(5)
    x = array(rng.normal(0.5, np.sqrt(0.5), (4, 5000)))
    return {"x": x, "prior": -0.5 * x**2, "likelihood": -0.5 * (1 - x) ** 2}


def test_sensitivity_is_that_of_arviz(normal):
    data = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"x": normal["x"]}),
            "log_prior": xr.Dataset({"x": normal["prior"]}),
            "log_likelihood": xr.Dataset({"y": normal["likelihood"].expand_dims("n", -1)}),
        }
    )
    for group in ("prior", "likelihood"):
        value = sensitivity(normal["x"], power_scale(normal[group], STEP))
        assert float(value) == pytest.approx(float(az.psense(data, group=group)["x"]), rel=1e-12)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_weighted_means_are_those_of_the_exact_posterior(normal, power):
    """Under the power the prior has a precision of ``power``: mean and variance follow."""
    weight = power_scale(normal["prior"], [power]).isel(power=0)
    assert float(weight.sum()) == pytest.approx(1.0)
    mean = float(weighted_mean(normal["x"], weight))
    square = float(weighted_mean(normal["x"] ** 2, weight))
    assert mean == pytest.approx(1 / (1 + power), abs=0.02)
    assert square - mean**2 == pytest.approx(1 / (1 + power), abs=0.02)
    assert float(pareto_k(normal["prior"], [power])[0]) < 0.5


def test_pareto_k_tells_weights_that_fail(normal):
    """Under a power of -1 the posterior has no variance, and no number of draws has weights."""
    wide = array(np.random.default_rng(1).normal(0, 1, (4, 1000)))
    k = pareto_k(-0.5 * wide**2, [1 - 0.2, 1 - 0.9, 1 - 1.5])
    # exp(c x^2 / 2) of a standard normal x has a Pareto tail of shape c.
    assert k.to_numpy() == pytest.approx([0.2, 0.9, 1.5], abs=0.3)


def test_a_constant_density_moves_nothing():
    x = array(np.random.default_rng(2).normal(size=(2, 50)))
    steps = power_scale(x * 0 + 3.0, STEP)
    np.testing.assert_array_equal(steps, 0.01)
    np.testing.assert_array_equal(pareto_k(x * 0, STEP), 0.0)
    assert float(sensitivity(x, steps)) == pytest.approx(0.0, abs=1e-6)


def test_too_few_draws_have_an_infinite_k():
    x = array(np.random.default_rng(2).normal(size=(2, 12)))
    np.testing.assert_array_equal(pareto_k(x, [2.0]), np.inf)
    assert float(power_scale(x, [2.0]).sum()) == pytest.approx(1.0)


def test_weights_of_densities_that_are_not_finite_are_equal():
    x = array(np.random.default_rng(2).normal(size=(2, 50)))
    x[0, 0] = -np.inf
    np.testing.assert_array_equal(power_scale(x, [0.5]), 0.01)
    np.testing.assert_array_equal(pareto_k(x, [0.5]), np.inf)


def test_a_tail_of_equal_weights_is_left_as_it_is():
    """Repeated draws, as of an update, may fill the tail with one value."""
    values = np.concatenate([np.zeros(60), np.linspace(-3, -1, 40)]).reshape(2, 50)
    weight = power_scale(array(values), [2.0]).to_numpy().ravel()
    np.testing.assert_allclose(weight, np.exp(values.ravel()) / np.exp(values).sum())
    assert float(pareto_k(array(values), [2.0])[0]) == 0.0


@pytest.mark.parametrize("draws", [1, 2, 4])
def test_a_handful_of_draws_is_no_error(draws):
    x = array(np.random.default_rng(2).normal(size=(1, draws)))
    assert float(power_scale(x, STEP).isel(power=0).sum()) == pytest.approx(1.0)
    assert float(sensitivity(x, power_scale(x, STEP))) >= 0.0


def test_sensitivity_is_missing_where_a_draw_is(normal):
    values = np.stack([normal["x"].to_numpy()] * 2, axis=-1)
    values[0, 0, 1] = np.nan
    values_of_draws = sensitivity(array(values), power_scale(normal["prior"], STEP))
    assert float(values_of_draws[0]) > 0
    assert np.isnan(values_of_draws[1])


def test_the_error_of_a_shift_is_that_between_repetitions():
    rng = np.random.default_rng(6)
    shifts, errors = [], []
    for _ in range(150):
        x = array(rng.normal(0.5, np.sqrt(0.5), (4, 250)))
        weight = power_scale(-0.5 * x**2, [2.0]).isel(power=0)
        event = (x > 1.0).astype(float)
        shifts.append(float(weighted_mean(event, weight) - event.mean()))
        errors.append(float(shift_error(event, weight)))
    assert np.mean(errors) == pytest.approx(np.std(shifts), rel=0.2)


def test_published_examples_of_priorsense():
    """`python -m tests.references.priorsense` made the file from the draws that priorsense has."""
    rows = json.loads(PUBLISHED.read_text("utf-8"))["published"]
    assert len(rows) == 4
    for row in rows:
        assert round(row["sensitivity"], 3) == row["priorsense"], row
