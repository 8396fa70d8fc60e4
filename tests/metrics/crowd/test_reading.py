"""Who reads the items: exact p values of raters who do not, small ones of raters who do."""

import numpy as np
import pytest
from scipy import stats

from sharpbayes.metrics.crowd.reading import SHUFFLES, reading

ITEMS, RATERS = 40, 10
ITEM, RATER = (codes.ravel() for codes in np.indices((ITEMS, RATERS)))
SUSPECT = np.arange(RATERS) < 3


def scores_of(rng, sign):
    """Scores of raters who see ``sign`` times the severity of an item."""
    severity = rng.normal(size=ITEMS)
    return np.digitize(np.asarray(sign)[RATER] * severity[ITEM] + rng.normal(size=400), [-1, 0, 1])


def read(rng, sign, **more):
    given = {"item": ITEM, "rater": RATER, "suspect": SUSPECT, "seed": 1} | more
    return reading(scores_of(rng, sign), **given)


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(5)
    score = scores_of(rng, np.ones(RATERS))
    data = reading(score, item=ITEM, rater=RATER, suspect=SUSPECT, seed=1)
    table = score.reshape(ITEMS, RATERS) - score.reshape(ITEMS, RATERS).mean(axis=0)
    assert float(data["peer_correlation"][0]) == pytest.approx(
        stats.pearsonr(table[:, 0], table[:, 1:3].mean(axis=1)).statistic
    )
    assert float(data["crowd_correlation"][2]) == pytest.approx(
        stats.pearsonr(table[:, 2], table[:, 3:].mean(axis=1)).statistic
    )
    assert np.isnan(data["reading_p"][3:]).all()


def test_raters_who_click_have_uniform_p_values():
    rng = np.random.default_rng(6)
    sign = np.where(SUSPECT, 0, 1)
    p = np.concatenate([read(rng, sign)["reading_p"].values[:3] for _ in range(100)])
    # Twice the smaller of two p values is at most 0.1 in a tenth of cases or fewer.
    assert 0.04 < (p <= 0.1).mean() < 0.15


def test_an_opinion_that_suspects_share_is_seen():
    rng = np.random.default_rng(7)
    data = read(rng, np.where(SUSPECT, -1, 1))
    assert (data["reading_p"].values[:3] <= 4 / (SHUFFLES + 1)).all()
    assert data["peer_correlation"].values[:3].mean() > 0.3
    assert (data["crowd_correlation"].values[:3] < -0.3).all()


def test_one_score_for_everything_or_few_shared_items_say_nothing():
    rng = np.random.default_rng(8)
    score = scores_of(rng, np.ones(RATERS))
    score[RATER == 0] = 2
    few = (RATER != 1) | (ITEM < 4)
    data = reading(score[few], item=ITEM[few], rater=RATER[few], suspect=SUSPECT, seed=1)
    assert np.isnan(data["reading_p"].values).tolist() == [True, True, False, *[True] * 7]


def test_a_lone_suspect_is_compared_with_the_others_alone():
    rng = np.random.default_rng(9)
    data = read(rng, np.ones(RATERS), suspect=np.arange(RATERS) == 4)
    assert np.isnan(data["peer_correlation"]).all()
    assert float(data["reading_p"][4]) == 2 / (SHUFFLES + 1)
