import re
from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from sharpbayes.metrics.panel.pooling import log_sum_exp, mean_trials

scores = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def pooled(values, temperature, missing="available"):
    return log_sum_exp(xr.DataArray(values, dims="judge"), temperature=temperature, missing=missing)


def test_hand_value():
    # 0.2 log((1 + 1 + e^5)/3) = 0.2 log(150.4131591 / 3) = 0.2 * 3.914774 = 0.782955
    np.testing.assert_allclose(pooled([0.0, 0.0, 1.0], 0.2), 0.782955, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(scores, st.floats(1e-3, 1e3))
def test_scipy_agrees(values, temperature):
    reference = temperature * (logsumexp(np.array(values) / temperature) - np.log(len(values)))
    np.testing.assert_allclose(pooled(values, temperature), reference, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(scores, st.floats(1e-6, 1e9))
def test_it_is_between_mean_and_maximum(values, temperature):
    harm = float(pooled(values, temperature))
    assert np.mean(values) - 1e-12 <= harm <= max(values)


@settings(deadline=None, max_examples=60)
@given(scores)
def test_its_limits_are_maximum_and_mean(values):
    # tau log(1/J) is all that is left at tau -> 0; variance / (2 tau) at tau -> infinity
    np.testing.assert_allclose(pooled(values, 1e-9), max(values), atol=1e-8)
    np.testing.assert_allclose(pooled(values, 1e9), np.mean(values), atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_judges_changes_nothing(values, random):
    shuffled = random.sample(values, len(values))
    np.testing.assert_allclose(pooled(values, 0.2), pooled(shuffled, 0.2), atol=1e-14)


def test_missing_judges_are_left_out_and_none_is_missing():
    x = xr.DataArray([[0.2, np.nan, 0.8], [np.nan] * 3], dims=("prompt", "judge"))
    harm = log_sum_exp(x, temperature=0.2, missing="available")
    np.testing.assert_allclose(harm, [pooled([0.2, 0.8], 0.2), np.nan])


def test_missing_judges_can_be_refused():
    with pytest.raises(
        ValueError, match=r'^2 values of a judge are missing and judges\.missing is "error"$'
    ):
        pooled([0.1, np.nan, np.nan], 0.2, missing="error")
    assert float(pooled([0.1], 0.2, missing="error")) == 0.1


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_temperature_must_be_positive(temperature):
    message = f"temperature is {temperature}, it must be larger than 0"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pooled([0.5], temperature)


def test_leading_dimensions_equal_a_loop():
    x = xr.DataArray(
        np.random.default_rng(3).random((2, 4, 3, 2)),
        dims=("draw", "prompt", "judge", "dimension"),
    )
    harm = log_sum_exp(x, temperature=0.2, missing="available")
    for draw, prompt, dimension in np.ndindex(2, 4, 2):
        cell = {"draw": draw, "prompt": prompt, "dimension": dimension}
        np.testing.assert_allclose(harm.isel(cell), pooled(x.isel(cell).values, 0.2))


@pytest.mark.parametrize("lying", list(permutations(range(3))))
def test_the_order_in_memory_changes_nothing(lying):
    values = np.random.default_rng(9).random((5, 4, 3))
    relaid = np.ascontiguousarray(values.transpose(lying)).transpose(np.argsort(lying))
    x, same = (
        xr.DataArray(array, {"model": list("abcde")}, ("model", "judge", "p"))
        for array in (values, relaid)
    )
    pooled_x = log_sum_exp(x, temperature=0.2, missing="available")
    assert pooled_x.dims == ("model", "p")
    xr.testing.assert_identical(log_sum_exp(same, temperature=0.2, missing="available"), pooled_x)
    reference = 0.2 * (logsumexp(values / 0.2, axis=1) - np.log(4))
    np.testing.assert_allclose(pooled_x, reference, atol=1e-12)


def test_trials_are_averaged_over_those_that_are_present():
    x = xr.DataArray(
        [[[[0.0], [1.0], [0.5]], [[0.2], [np.nan], [np.nan]], [[np.nan]] * 3]],
        dims=("model", "judge", "trial", "indicator"),
    )
    np.testing.assert_allclose(mean_trials(x)[0, :, 0], [0.5, 0.2, np.nan])
    leading = xr.concat([x, 1 - x], "draw")
    xr.testing.assert_allclose(mean_trials(leading).isel(draw=0), mean_trials(x))
    without = x.isel(trial=0)
    assert mean_trials(without) is without
