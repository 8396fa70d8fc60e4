"""What ratings that nobody has made yet are worth, against worked cases."""

import numpy as np
import pytest
from scipy.stats import norm

from sharpbayes.posterior.information import (
    FIRST_UNIT,
    Offers,
    Populations,
    choose_purchases,
    expected_gain,
    explained_covariance,
    loss_slopes,
    unit_share,
)

DRAWS = 4000


def offers(mean, variance, cost, *, of_prompts=None, prompt_cost=1.0):
    prompts = None
    if of_prompts is not None:
        prompts = Populations(
            np.array([prompt_cost]), lambda counts: of_prompts * unit_share(counts[0], 10)
        )
    return Offers(mean, np.asarray(variance, float), np.asarray(cost, float), prompts)


def closed_form(mean, sd):
    """Loss of a choice between two that full knowledge of a normal difference saves."""
    return sd * norm.pdf(mean / sd) - mean * norm.cdf(-mean / sd)


@pytest.fixture
def halves():
    return np.arange(0, DRAWS, 2), np.arange(1, DRAWS, 2)


def normal_draws(seed, columns):
    return np.random.default_rng(seed).normal(size=(DRAWS, columns))


@pytest.mark.parametrize("explained", [0.0, 0.09, 0.36, 1.0])
def test_the_gain_of_a_normal_difference_is_the_closed_form(explained):
    difference = 0.5 + normal_draws(1, 1)
    difference = 0.5 + (difference - difference.mean(0)) / difference.std(0)
    gain = expected_gain(difference, np.array([[explained]]))
    expected = closed_form(0.5, np.sqrt(explained)) if explained else 0.0
    assert gain == pytest.approx(expected, abs=0.004)


def test_more_than_all_that_is_open_cannot_be_explained():
    difference = 0.5 + normal_draws(2, 2)
    everything = expected_gain(difference, np.cov(difference, rowvar=False, ddof=0))
    assert expected_gain(difference, np.eye(2) * 50) == pytest.approx(everything)
    assert everything == pytest.approx(np.maximum(0, (-difference).max(1)).mean())
    assert expected_gain(np.ones((9, 2)), np.eye(2)) == 0.0


def test_a_slope_is_the_derivative_of_the_loss():
    difference = 0.4 + 0.8 * normal_draws(3, 1)
    mean, sd = difference.mean(), difference.std()
    step = 1e-5
    numeric = (closed_form(mean, np.sqrt(sd**2 + step)) - closed_form(mean, sd)) / step
    assert loss_slopes(difference)[0] == pytest.approx(numeric, rel=1e-3)


def test_a_judgement_explains_what_linear_regression_says(halves):
    truth = normal_draws(4, 1)
    explained = explained_covariance(truth, offers(truth, [3.0], [1.0]), [0], halves)
    assert explained[0, 0] == pytest.approx(1 / 4, abs=0.02)


def test_chance_explains_nothing(halves):
    noise = normal_draws(5, 60)
    offered = offers(noise, np.full(60, 0.1), np.ones(60))
    explained = explained_covariance(normal_draws(6, 1), offered, range(60), halves)
    assert explained[0, 0] < 0.01


def test_the_best_for_its_price_comes_first_and_its_copy_last():
    truth = normal_draws(7, 2)
    difference = truth.sum(1, keepdims=True)
    mean = np.stack([truth[:, 0], truth[:, 0], truth[:, 1], np.zeros(DRAWS)], 1)
    cheap = offers(mean, np.full(4, 0.01), [1.0, 1.0, 1.0, 1.0])
    order = [one.number for one in choose_purchases(difference, cheap, 4)]
    assert {order[0], order[1]} in ({0, 2}, {1, 2})
    assert order[3] == 3
    dear = offers(mean, np.full(4, 0.01), [1.0, 1.0, 500.0, 1.0])
    assert next(choose_purchases(difference, dear, 1)).number in (0, 1)
    worth = [one.worth for one in choose_purchases(difference, cheap, 4)]
    assert worth[2] < worth[1] / 10


def test_prompts_are_bought_as_long_as_they_are_worth_more(halves):
    difference = normal_draws(8, 1)
    of_prompts = np.array([[0.8]])
    offered = offers(0.05 * difference, [1.0], [1.0], of_prompts=of_prompts)
    order = [one.number for one in choose_purchases(difference, offered, 3)]
    assert order == [FIRST_UNIT] * 3
    explained = explained_covariance(difference, offered, order, halves)
    assert explained[0, 0] == pytest.approx(0.8 * 3 / 13)


def test_units_of_several_populations_are_bought_by_worth_and_price(halves):
    difference = normal_draws(10, 2)

    def explain(counts):
        return np.diag([0.5, 0.1]) * unit_share(counts[:, None], np.array([10, 10]))

    none = np.zeros((DRAWS, 0))
    offered = Offers(none, np.zeros(0), np.zeros(0), Populations(np.array([1.0, 1.0]), explain))
    order = [one.number for one in choose_purchases(difference, offered, 20)]
    assert order[0] == FIRST_UNIT
    assert order.count(FIRST_UNIT) > order.count(FIRST_UNIT - 1) > 0
    assert offered.populations.count(order).sum() == 20
    dear = Offers(none, np.zeros(0), np.zeros(0), Populations(np.array([50.0, 1.0]), explain))
    order = [one.number for one in choose_purchases(difference, dear, 3)]
    assert order == [FIRST_UNIT - 1] * 3
    assert [dear.price(number) for number in (FIRST_UNIT, FIRST_UNIT - 1)] == [50.0, 1.0]


def test_models_far_apart_are_still_ordered():
    difference = 500.0 + normal_draws(9, 1)
    offered = offers(np.stack([0.1 * difference[:, 0], difference[:, 0]], 1), [1, 1], [1, 1])
    assert next(choose_purchases(difference, offered, 1)).number == 1
    assert not list(choose_purchases(difference, offers(np.zeros((DRAWS, 0)), [], []), 3))
