"""Variances over items and raters, against closed forms and simulation."""

import numpy as np
import pytest
from scipy import stats

from sharpbayes.metrics.stats.two_way import (
    Resamples,
    combine,
    lower_tail_p,
    rater_variance,
    t_interval,
    wider_interval,
)


def test_the_noise_of_single_ratings_is_taken_out_of_the_variance_of_raters():
    rng = np.random.default_rng(1)
    raters, ratings = rng.normal(0, 0.5, 4000), rng.normal(0, 0.3, 4000)
    m = np.array(5.0)
    expected = (raters.var(ddof=1) - ratings.var(ddof=1)) * 5 / 4
    assert rater_variance(raters, ratings, n_raters=m) == pytest.approx(expected)
    assert rater_variance(ratings, raters, n_raters=m) == 0


def test_the_interval_is_students_with_satterthwaites_freedom():
    items = np.random.default_rng(2).normal(0, 1, 500)
    variance = items.var(ddof=1)
    spread = combine(items, n_items=np.array(80.0), raters=np.array(2.0), n_raters=np.array(4.0))
    freedom = (variance + 2) ** 2 / (variance**2 / 79 + 4 / 3)
    assert spread.freedom == pytest.approx(freedom)
    expected = stats.t.interval(0.9, freedom, 7.0, np.sqrt(variance + 2))
    assert t_interval(np.array(7.0), spread, level=0.9) == pytest.approx(expected)


@pytest.mark.parametrize(("value", "low", "high"), [(0.98, 0.0, 1.0), (-0.9, -1.0, 1.0)])
def test_the_wider_interval_keeps_the_range(value, low, high):
    rng = np.random.default_rng(3)
    draws = [np.clip(value + rng.normal(0, 0.05, 400), low, high) for _ in range(3)]
    bounds = wider_interval(
        np.array(value),
        Resamples(*draws, n_items=np.array(50.0), n_raters=np.array(5.0)),
        level=0.95,
        bounds=(low, high),
    )
    assert low <= bounds[0] < value < bounds[1] <= high


def test_resamples_that_do_not_differ_give_no_interval():
    same = np.zeros((50, 1))
    bounds = wider_interval(
        np.zeros(1),
        Resamples(same, same, same, n_items=np.full(1, 50.0), n_raters=np.full(1, 5.0)),
        level=0.95,
        bounds=(0.0, 1.0),
    )
    assert np.isnan(bounds).all()


def test_an_interval_that_would_miss_its_value_is_missing():
    # Raters add less than single ratings to the variance, but more to that of the logits: only
    # values beyond the distance from the end at which logits are taken count there.
    raters, ratings = np.zeros(500), np.full(500, 0.045)
    raters[0], ratings[::2] = 0.06, 0.0
    bounds = wider_interval(
        np.array(0.0),
        Resamples(np.zeros(500), raters, ratings, n_items=np.array(12.0), n_raters=np.array(25.0)),
        level=0.95,
        bounds=(0.0, 1.0),
    )
    assert np.isnan(bounds).all()


@pytest.mark.parametrize("observed", [0.3, 0.45, 0.02])
def test_the_p_value_is_the_rate_at_which_the_upper_bound_reaches_a_value(observed):
    rng = np.random.default_rng(4)
    draws = [np.clip(observed + rng.normal(0, 0.05, 400), 0, 1) for _ in range(3)]
    resamples = Resamples(*draws, n_items=np.array(50.0), n_raters=np.array(5.0))
    p = float(lower_tail_p(np.array(observed), resamples, value=0.5, bounds=(0.0, 1.0)))
    bounds = wider_interval(np.array(observed), resamples, level=1 - 2 * p, bounds=(0.0, 1.0))
    assert bounds[1] == pytest.approx(0.5, abs=0.001)


def test_resamples_that_do_not_differ_have_no_p_value():
    same = np.full(50, 0.3)
    resamples = Resamples(same, same, same, n_items=np.array(50.0), n_raters=np.array(5.0))
    assert np.isnan(lower_tail_p(np.array(0.3), resamples, value=0.5, bounds=(0.0, 1.0)))
