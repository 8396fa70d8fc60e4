"""How well draws tell the probability that a rater is careless."""

import numpy as np
import pytest

from sharpbayes.posterior import careless


def test_the_error_of_a_probability_is_that_of_a_mean_over_draws():
    draws = np.random.default_rng(1).normal(0.4, 0.03, (4, 1000, 3))
    draws[..., 2] = np.repeat(draws[:, ::10, 2], 10, axis=1)  # a tenth as many that differ
    draws[..., 1] = 1.0
    error = careless._monte_carlo_error(draws)
    assert error[0] == pytest.approx(0.03 / np.sqrt(4000), rel=0.1)
    assert error[1] == 0.0
    assert error[2] == pytest.approx(0.03 / np.sqrt(400), rel=0.2)
