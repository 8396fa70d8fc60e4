import numpy as np
import pytest
from scipy import stats

from sharpbayes.metrics.stats import rank_tests


def pairs(seed, *, size, steps):
    """Two samples that are associated; with steps many values are equal."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    y = x + rng.normal(size=size)
    return (np.round(x * steps) / steps, np.round(y * steps) / steps) if steps else (x, y)


SAMPLES = [
    pairs(seed, size=size, steps=steps)
    for seed, size in enumerate([2, 3, 5, 9, 13, 14, 33, 34, 50, 51, 200])
    for steps in (0, 2, 20)
]


@pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
def test_signed_ranks_are_scipys(zero_method):
    for x, y in SAMPLES:
        if (x != y).any():
            expected = stats.wilcoxon(x, y, zero_method=zero_method).pvalue
            assert rank_tests.signed_rank(x - y, zero_method=zero_method) == expected


def test_kendall_and_spearman_are_scipys():
    for x, y in SAMPLES:
        found, expected = rank_tests.kendall(x, y), stats.kendalltau(x, y)
        np.testing.assert_array_equal(found, (expected.statistic, expected.pvalue))
        if len(x) > 2 and min(np.ptp(x), np.ptp(y)) > 0:
            found, expected = (
                rank_tests.spearman(*map(stats.rankdata, (x, y))),
                stats.spearmanr(x, y),
            )
            np.testing.assert_allclose(found, (expected.statistic, expected.pvalue), rtol=1e-12)


@pytest.mark.parametrize(("order", "p"), [([1, 2, 3], 1 / 3), ([1, 3, 2], 1.0), ([2, 1, 3], 1.0)])
def test_kendalls_p_is_the_share_of_orders(order, p):
    assert rank_tests.kendall(np.arange(3.0), np.array(order, float)).p == pytest.approx(p)


def test_a_large_number_of_pairs_in_one_order_has_hardly_any_p():
    x = np.arange(200.0)
    assert rank_tests.kendall(x, x) == (pytest.approx(1.0), 0.0)


@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_few_or_constant_values_have_no_correlation(x, y):
    assert np.isnan(rank_tests.kendall(np.array(x), np.array(y))).all()


@pytest.mark.parametrize("steps", [0, 1])
def test_friedmans_test_is_scipys(steps):
    values = np.random.default_rng(3).gamma(1.0, size=(4, 25))
    values = np.round(values) if steps else values
    assert rank_tests.friedman(values) == tuple(stats.friedmanchisquare(*values))
