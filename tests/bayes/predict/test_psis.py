"""Importance sampling of many units at once: against ArviZ, unit by unit."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.special import logsumexp

from sharpbayes.bayes.predict.psis import psis_loo, psis_pit


def heavy(rng, draws):
    """Log-likelihoods whose importance weights have finite, infinite and no variance."""
    return -np.stack([rng.pareto(shape, draws) ** 0.5 for shape in (8.0, 4.0, 2.0, 1.5)], axis=1)


@pytest.mark.parametrize("draws", [60, 225, 226, 1000, 8000])
@pytest.mark.parametrize("kind", ["normal", "heavy", "ties", "far"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_are_those_of_arviz(rng, draws, kind):
    values = {
        "normal": lambda: rng.normal(-3.0, [0.01, 0.5, 2.0, 5.0], (draws, 4)),
        "heavy": lambda: heavy(rng, draws),
        "ties": lambda: np.round(rng.normal(-2.0, 1.0, (draws, 4)), 2),
        "far": lambda: rng.normal(-900.0, 90.0, (draws, 4)),
    }[kind]()
    elpd, pareto_k, p = psis_loo(values)
    wanted = array_stats.loo(values.T[:, None, :])
    assert elpd == pytest.approx(wanted[0], rel=1e-9)
    assert pareto_k == pytest.approx(wanted[1], rel=1e-9, nan_ok=True)
    assert p == pytest.approx(wanted[2], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("draws", [225, 226, 8000])
def test_weights_that_underflow_are_not_relied_on(rng, draws):
    """ArviZ has no number, or a k that is small, where most weights are 0 to machine precision."""
    elpd, pareto_k, _ = psis_loo(-(rng.pareto(0.5, (draws, 20)) ** 0.9))
    assert np.isfinite(elpd).all()
    assert not (pareto_k <= 0.7).any()


def test_a_tail_of_one_value_has_no_k_and_plain_weights(rng):
    """A quarter of the tail is at the cutoff: nothing is smoothed, and k is not below any limit."""
    values = np.repeat([[-1.0]], 400, axis=0)
    values[:30] = rng.normal(-2.0, 0.1, (30, 1))
    elpd, pareto_k, _ = psis_loo(values)
    wanted = logsumexp(np.zeros(400)) - logsumexp(-values[:, 0])
    assert np.isnan(pareto_k[0])
    assert elpd[0] == pytest.approx(wanted)


def test_equal_weights_need_no_smoothing():
    elpd, pareto_k, p = psis_loo(np.full((1000, 2), -0.7))
    assert elpd == pytest.approx(-0.7)
    assert pareto_k.tolist() == [0.0, 0.0]
    assert p == pytest.approx(0.0, abs=1e-12)


def test_few_draws_cannot_say(rng):
    values = rng.normal(-1.0, 0.3, (20, 1))
    elpd, pareto_k, _ = psis_loo(values)
    assert pareto_k[0] == np.inf
    assert elpd[0] == pytest.approx(np.log(20) - logsumexp(-values[:, 0]))


@pytest.mark.parametrize("draws", [60, 1000])
def test_left_out_probabilities_have_the_weights_of_arviz(rng, draws):
    log_likelihood = np.minimum(rng.normal(-1.5, [0.05, 0.5, 1.0], (draws, 3)), -0.01)
    below = rng.random((draws, 3)) * (1 - np.exp(log_likelihood))
    lower, equal, pareto_k = psis_pit(log_likelihood, below)
    for unit in range(3):
        log_weights, k = array_stats.psislw(log_likelihood[:, unit])
        weights = np.exp(log_weights)
        assert pareto_k[unit] == pytest.approx(float(k), rel=1e-9)
        assert lower[unit] == pytest.approx(float(weights @ below[:, unit]), rel=1e-9)
        p = np.exp(log_likelihood[:, unit])
        assert equal[unit] == pytest.approx(float(weights @ p), rel=1e-9)
    assert psis_pit(np.full((30, 1), -0.7), np.full((30, 1), 0.2))[0] == pytest.approx(0.2)
