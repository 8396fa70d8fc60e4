"""Traditional measures against SciPy and scikit-learn on the rows written out."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score

from sharpbayes.metrics.crowd.association import auc_pr, auc_roc, kendall_tau, spearman

MEASURES = {
    kendall_tau: lambda label, score: kendalltau(score, label).statistic,
    spearman: lambda label, score: spearmanr(score, label).statistic,
    auc_roc: roc_auc_score,
    auc_pr: average_precision_score,
}


def table_of(safe, unsafe):
    return xr.DataArray(np.array([safe, unsafe], dtype=float).T, dims=("score", "unsafe"))


def rows_of(table):
    """Every row of the table as (label, score)."""
    counts = table.values.astype(int)
    score, label = (index.ravel() for index in np.indices(counts.shape))
    return np.repeat(label, counts.ravel()), np.repeat(score, counts.ravel())


def random_tables(number, *, both_used):
    """Small tables with unused scores; with both labels and two scores used, or with neither."""
    rng = np.random.default_rng(20260121)
    while number:
        levels = rng.integers(2, 8)
        counts = rng.integers(0, 4, (2, levels)) * (rng.random((2, levels)) < 0.6)
        table = table_of(*counts)
        used = (counts.sum(axis=0) > 0).sum() >= 2 and (counts.sum(axis=1) > 0).all()
        if used == both_used:
            number -= 1
            yield table


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_measures_equal_other_implementations(measure):
    for table in random_tables(300, both_used=True):
        assert float(measure(table)) == pytest.approx(MEASURES[measure](*rows_of(table)), abs=1e-12)


def test_by_hand():
    # Safe 2, 1, 0 and unsafe 0, 1, 2 at scores 0, 1, 2: of 9 pairs of one safe and one unsafe row
    # 2*3 + 1*2 = 8 are concordant, 1*1 = 1 is tied, none is discordant.
    table = table_of([2, 1, 0], [0, 1, 2])
    assert float(auc_roc(table)) == pytest.approx((8 + 0.5) / 9)
    # Pairs that differ in score: 15 pairs less 3 tied (one in each score).
    assert float(kendall_tau(table)) == pytest.approx(8 / np.sqrt(12 * 9))
    # Mean ranks 1.5, 3.5, 5.5, from their mean -2, 0, 2; sum of squares 16; labels 9/6.
    assert float(spearman(table)) == pytest.approx((0 * -2 + 1 * 0 + 2 * 2) / np.sqrt(16 * 9 / 6))
    # From the top: recall 2/3 at precision 2/2, then 1/3 at 3/4.
    assert float(auc_pr(table)) == pytest.approx(2 / 3 * 1 + 1 / 3 * 3 / 4)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("counts", [([1, 2], [0, 0]), ([0, 0], [1, 2]), ([0, 0], [0, 0])])
def test_missing_without_both_labels(measure, counts):
    assert np.isnan(measure(table_of(*counts)))


def test_a_single_used_score():
    table = table_of([0, 3, 0], [0, 1, 0])
    assert np.isnan(kendall_tau(table))
    assert np.isnan(spearman(table))
    assert float(auc_roc(table)) == 0.5
    assert float(auc_pr(table)) == 0.25  # 1 of 4 rows


@settings(deadline=None, max_examples=50)
@given(counts=st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=2, max_size=6))
def test_reversing_the_scale_reverses_the_order(counts):
    table = xr.DataArray(np.array(counts, dtype=float), dims=("score", "unsafe"))
    turned = table.isel(score=slice(None, None, -1))
    for measure in (kendall_tau, spearman):
        np.testing.assert_allclose(measure(turned), -measure(table), atol=1e-12)
    np.testing.assert_allclose(auc_roc(turned), 1 - auc_roc(table), atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_weights_matter_only_by_their_ratios(measure):
    table = table_of([3, 1, 0], [1, 0, 3])
    assert float(measure(table / 7)) == pytest.approx(float(measure(table)))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_leading_dimensions_equal_a_loop(measure):
    tables = list(random_tables(5, both_used=True)) + list(random_tables(5, both_used=False))
    padded = [table.pad(score=(0, 7 - table.sizes["score"]), constant_values=0) for table in tables]
    stacked = xr.concat(padded, "replicate")
    np.testing.assert_allclose(measure(stacked), [measure(table) for table in tables], rtol=1e-12)
