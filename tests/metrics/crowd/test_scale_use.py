"""Scale use by hand, and drift against SciPy's regression."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.multitest import multipletests

from sharpbayes.metrics.crowd.scale_use import drift, scale_use


def used(*counts):
    return scale_use(xr.DataArray(list(counts), dims="score"))


def test_indices_by_hand():
    indices = used(1, 2, 3, 0)  # K = 3: the middle is scores 1 and 2
    assert float(indices["extreme_response"]) == pytest.approx(1 / 6)
    assert float(indices["central_tendency"]) == pytest.approx(5 / 6)
    assert float(indices["scale_range_used"]) == pytest.approx(2 / 3)
    assert float(used(1, 2, 4, 2, 1)["central_tendency"]) == 0.4  # K = 4: score 2 alone
    assert float(indices["mean_score"]) == pytest.approx(8 / 6)
    assert indices["score_share"].values == pytest.approx([1 / 6, 2 / 6, 3 / 6, 0])


def test_one_score_none_and_a_scale_without_a_middle():
    assert float(used(0, 4, 0)["scale_range_used"]) == 0
    none = used(0, 0, 0)
    names = ("extreme_response", "central_tendency", "scale_range_used", "mean_score")
    assert all(np.isnan(none[name]) for name in names)
    assert np.isnan(used(3, 4)["central_tendency"])
    assert float(used(3, 4)["extreme_response"]) == 1


def brute_drift(level, item, rater, order, who):
    x, y = [], []
    for r in np.flatnonzero(rater == who):
        others = level[(item == item[r]) & (rater != who)]
        if len(others) and np.isfinite(order[r]):
            x.append(order[r])
            y.append(level[r] - others.mean())
    x = (np.array(x) - min(x)) / (max(x) - min(x))
    return stats.linregress(x, y)


@pytest.mark.parametrize("seed", range(10))
def test_drift_is_the_regression_on_what_others_do_not_explain(seed):
    rng = np.random.default_rng(seed)
    kept = rng.random(30 * 5) < 0.8
    item, rater = (code[kept] for code in np.divmod(np.arange(30 * 5), 5))
    order = rng.permutation(item.size).astype(float)
    level = rng.integers(0, 5, item.size) + (order > 60) * (rater == 2)
    order[rng.random(item.size) < 0.1] = np.nan
    drifts = drift(level, item=item, rater=rater, time=order, n_raters=6, min_items=5)
    expected = [brute_drift(level, item, rater, order, who) for who in range(5)]
    assert drifts["drift"].values[:5] == pytest.approx([e.slope for e in expected])
    assert drifts["drift_p"].values[:5] == pytest.approx([e.pvalue for e in expected])
    holm = multipletests([e.pvalue for e in expected], method="holm")[1]
    assert drifts["drift_p_holm"].values[:5] == pytest.approx(holm)
    assert np.isnan(drifts["drift"].values[5])


def test_drift_needs_an_order_that_moves_and_enough_items():
    item, rater = np.divmod(np.arange(40), 2)
    level = np.random.default_rng(0).integers(0, 3, 40)
    order = np.where(rater == 0, 7.0, item)
    drifts = drift(level, item=item, rater=rater, time=order, n_raters=2, min_items=3)
    assert np.isnan(drifts["drift"]).values.tolist() == [True, False]
    few = drift(level, item=item, rater=rater, time=order, n_raters=2, min_items=21)
    assert np.isnan(few["drift"]).all()
