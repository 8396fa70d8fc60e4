"""Agreement of raters against NumPy, and the raters that each number is there for."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from sharpbayes.metrics.crowd import rater_agreement as module
from sharpbayes.metrics.crowd.rater_agreement import find_copies, rater_agreement

ITEMS, RATERS = 50, 12


def crowd(seed=1):
    """Scores (item, rater) of raters who see the same severity."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 1.5, (ITEMS, 1)) + rng.logistic(size=(ITEMS, RATERS))
    return np.digitize(latent, [-2, -0.7, 0.7, 2])


def agreement(scores, kept=None):
    """The five numbers of scores (item, rater)."""
    item, rater = (codes.ravel() for codes in np.indices(scores.shape))
    kept = np.full(item.size, fill_value=True) if kept is None else kept.ravel()
    return rater_agreement(
        xr.DataArray(scores.ravel()[kept], dims="rating"),
        item=item[kept],
        rater=rater[kept],
        n_scores=5,
    )


def test_numbers_are_those_of_numpy():
    scores = crowd()
    result = agreement(scores)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (RATERS - 1)
    r = [np.corrcoef(scores[:, k], others[:, k])[0, 1] for k in range(RATERS)]
    assert float(result["rater_agreement"]) == pytest.approx(np.mean(r))
    assert float(result["rater_agreement_spread"]) == pytest.approx(np.var(np.arctanh(r)))
    share = np.stack([(scores == s).mean(axis=0) for s in range(5)])
    entropy = stats.entropy(share) / np.log(5)
    assert float(result["rater_entropy_spread"]) == pytest.approx(np.std(entropy))
    residual = scores - scores.mean(axis=1, keepdims=True)
    residual = stats.zscore(residual, axis=0)
    pairs = np.tril_indices(RATERS, -1)
    correlation = (residual.T @ residual / ITEMS)[pairs]
    assert float(result["rater_correlation"]) == pytest.approx(np.mean(correlation**2))
    same = (scores[:, :, None] == scores[:, None]).sum(axis=0)[pairs]
    chance = (share.T @ share)[pairs]
    excess = (same - ITEMS * chance) / np.sqrt(ITEMS * chance * (1 - chance))
    assert float(result["rater_copies"]) == pytest.approx(excess.max())


def straight_lines(scores):
    scores[:, :2] = 3


def clicks(scores):
    scores[:, :3] = np.random.default_rng(5).integers(0, 5, (ITEMS, 3))


def copies(scores):
    scores[:, 1] = scores[:, 0]


def reversals(scores):
    scores[:, : RATERS // 2] = 4 - scores[:, : RATERS // 2]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rater_entropy_spread", straight_lines),
        ("rater_agreement_spread", clicks),
        ("rater_copies", copies),
        ("rater_correlation", reversals),
    ],
)
def test_each_number_rises_with_what_it_is_there_for(name, change):
    plain = [float(agreement(crowd(seed))[name]) for seed in range(20)]
    changed = crowd(seed=0)
    change(changed)
    assert float(agreement(changed)[name]) > max(plain)


def test_draws_lead_and_missing_ratings_are_none():
    kept = np.random.default_rng(2).random((ITEMS, RATERS)) < 0.6
    single = [agreement(crowd(seed), kept) for seed in (1, 2)]
    item, rater = (codes[kept] for codes in np.indices(kept.shape))
    both = xr.DataArray(np.stack([crowd(seed)[kept] for seed in (1, 2)]), dims=("draw", "rating"))
    joined = rater_agreement(both, item=item, rater=rater, n_scores=5)
    xr.testing.assert_allclose(joined, xr.concat(single, "draw"))


@pytest.mark.parametrize(("items", "raters"), [(1, 6), (30, 1), (3, 3)])
def test_too_few_items_or_raters_have_no_agreement(items, raters):
    result = agreement(crowd()[:items, :raters])
    assert result.to_array().isnull().all()


def test_raters_and_comparisons_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_RATERS", 6)
    monkeypatch.setattr(module, "MAX_COMPARISONS", ITEMS * 15 // 2)
    scores = crowd()
    scores[:, 1] = scores[:, 0]
    assert float(agreement(scores)["rater_copies"]) > 5


def test_the_raters_who_are_named_are_those_of_the_statistic(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPARISONS", ITEMS * RATERS * (RATERS - 1) // 4)
    scores = crowd()
    scores[1::2, 1] = scores[1::2, 0]  # items that are not compared
    scores[::4, 1] = scores[::4, 0]
    scores[::2, 3] = scores[::2, 2]
    item, rater = (codes.ravel() for codes in np.indices(scores.shape))
    first, second, same, shared = find_copies(scores.ravel(), item=item, rater=rater)
    assert (first, second, shared) == (2, 3, ITEMS)
    assert same == (scores[:, 2] == scores[:, 3]).sum()
