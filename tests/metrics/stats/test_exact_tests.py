"""Exact tests, against all ways to mark units and against SciPy."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from sharpbayes.metrics.stats import exact_tests
from sharpbayes.metrics.stats.exact_tests import fisher_p, rank_sum_p


def draw_counts(rng, units, marked, scores):
    score = rng.integers(0, scores, units)
    is_marked = np.arange(units) < marked
    return score, np.bincount(score, minlength=scores), np.bincount(score[is_marked], None, scores)


@pytest.mark.parametrize("seed", range(40))
def test_the_law_of_a_rank_sum_is_that_of_all_ways_to_mark(seed):
    rng = np.random.default_rng(seed)
    units = int(rng.integers(4, 11))
    number = int(rng.integers(1, units))
    score, count, marked = draw_counts(rng, units, number, 2 + seed % 4)
    ranks = stats.rankdata(score)
    sums = [ranks[list(chosen)].sum() for chosen in combinations(range(units), number)]
    expected = np.mean(np.array(sums) <= ranks[:number].sum())
    assert rank_sum_p(count, marked) == pytest.approx(expected, rel=1e-12)


def test_of_two_scores_it_is_fishers_at_any_size(monkeypatch):
    count, marked = np.array([130, 70]), np.array([100, 35])
    table = [[35, 100], [35, 30]]
    expected = stats.fisher_exact(table, alternative="less").pvalue
    assert rank_sum_p(count, marked) == pytest.approx(expected)
    monkeypatch.setattr(exact_tests, "MAX_TABLE", 10**6)
    assert rank_sum_p(count, marked) == pytest.approx(expected)
    assert fisher_p(35, 135, 70, 200) == pytest.approx(expected)


def test_large_tables_are_cut_by_their_margins():
    count, marked = np.array([100, 60, 30, 10]), np.array([80, 20, 5, 1])
    # 100 low scores are nearer to 106 marked units than 160.
    assert rank_sum_p(count, marked) == pytest.approx(fisher_p(26, 106, 100, 200))
    assert rank_sum_p(np.array([200]), np.array([90])) == pytest.approx(1.0)


def test_units_that_are_all_marked_or_none_show_nothing():
    assert rank_sum_p(np.array([3, 4]), np.array([3, 4])) == 1.0
    assert rank_sum_p(np.array([3, 4]), np.array([0, 0])) == 1.0
    assert rank_sum_p(np.array([0, 0]), np.array([0, 0])) == 1.0
