"""GAI of the same mix of items: where it is GAI itself, and where the mix alone makes GAI."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.cohesion import agreement_measures, cohesion
from sharpbayes.metrics.crowd.groups import assign_groups
from sharpbayes.metrics.crowd.matched_items import (
    gai_matched,
    is_by_items,
    match_intervals,
    match_items,
)

DISTANCES = ("nominal", "ordinal", "interval")
N_ITEMS, N_RATERS, N_SCORES = 60, 10, 5


def draw_ratings(seed, *, chosen=None, sd=0.7):
    """Ratings of two groups, of four raters and of six, who are alike."""
    rng = np.random.default_rng(seed)
    severity = np.where(np.arange(N_ITEMS) % 2, rng.normal(0, 0.2, N_ITEMS), rng.normal(size=60))
    latent = severity + sd * rng.normal(size=(N_RATERS, N_ITEMS))
    score = np.searchsorted([-1.0, -0.3, 0.3, 1.0], latent)
    rater, item = np.nonzero(np.ones_like(score) if chosen is None else chosen)
    membership = assign_groups({"g": np.repeat(["a", "b"], [4, 6])}, [["g"]], n_raters=N_RATERS)
    ratings = {"item": item, "rater": rater, "membership": membership, "n_scores": N_SCORES}
    return score[rater, item], ratings


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_gai_where_all_items_have_the_same_raters(distance, seed):
    score, ratings = draw_ratings(seed)
    few = {"permutations": 0, "seed": 1, "min_raters": 2, "min_items": 2}
    gai = cohesion(score, **ratings, **few, distance=distance)["gai"]
    matched = gai_matched(score, **ratings, distance=distance)["gai_matched"]
    assert np.isfinite(gai).sum() == 2
    np.testing.assert_allclose(matched, gai, rtol=1e-12)


def test_pairs_are_weighted_sums_over_items():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 4, (2, 12, 3)).astype(float)
    x[0], y[1] = 0.0, 0.0
    within, cross, of_group, others = np.zeros((3, 3)), np.zeros((3, 3)), 0.0, 0.0
    for inside, outside in zip(x, y, strict=True):
        m, n = inside.sum(), outside.sum()
        if m < 2 or n < 1:
            continue
        of_group, others = of_group + m, others + n
        cross += (m + n) * np.outer(inside / m, outside / n)
        within += (m + n) * (np.outer(inside, inside) - np.diag(inside)) / (m * (m - 1))
    pairs = match_items(x, y)
    share = cross / cross.sum()
    np.testing.assert_allclose(pairs["within"], within / within.sum() * of_group)
    np.testing.assert_allclose(pairs["cross"], share * of_group)
    np.testing.assert_allclose(pairs["inside"], share.sum(axis=1) * of_group)
    np.testing.assert_allclose(pairs["outside"], share.sum(axis=0) * others)


def test_equal_groups_have_a_gai_of_one_whatever_items_they_rated():
    rng = np.random.default_rng(3)
    density = np.where(np.arange(N_ITEMS) % 2, [[0.9], [0.4]], [[0.4], [0.9]])
    chosen = rng.random((40, N_RATERS, N_ITEMS)) < np.repeat(density, [4, 6], axis=0)
    few = {"permutations": 0, "seed": 1, "min_raters": 2, "min_items": 2, "distance": "interval"}
    values = []
    for number, of_study in enumerate(chosen):
        score, ratings = draw_ratings(number, chosen=of_study)
        gai = cohesion(score, **ratings, **few)["gai"].sel(group="g=a")
        matched = gai_matched(score, **ratings, distance="interval")["gai_matched"]
        values.append((float(gai), float(matched.sel(group="g=a"))))
    gai, matched = np.nanmean(values, axis=0)
    error = np.nanstd(values, axis=0)[1] / np.sqrt(len(values))
    assert gai < 0.9
    assert abs(matched - 1) < 4 * error


@pytest.mark.parametrize("side", [0, 1])
def test_no_item_with_both_sides_gives_nothing(side):
    counts = np.zeros((2, 3, N_SCORES))
    counts[side, :, :2] = 2.0
    measures = agreement_measures(match_items(*counts), distance="ordinal")
    assert np.isnan(measures["gai"])


@pytest.mark.parametrize(
    ("gai", "interval", "matched", "expected"),
    [
        (0.5, (0.4, 0.6), 1.0, True),
        (0.5, (0.4, 0.6), 0.65, False),  # it stays below 1
        (0.5, (0.4, 0.6), 1.5, True),  # it is above 1
        (0.5, (0.2, 1.1), 1.0, False),  # within the interval of GAI
        (1.5, (1.3, 1.8), 1.1, True),
        (1.5, (1.3, 1.8), 1.25, False),
        (1.5, (1.3, 1.8), 2.5, False),
        (1.5, (1.3, 1.8), 0.6, True),
        (1.5, (np.nan, np.nan), 0.6, False),
        (np.nan, (np.nan, np.nan), 0.6, False),
    ],
)
def test_what_is_by_the_items(gai, interval, matched, expected):
    table = xr.Dataset({"gai": gai, "gai_interval": ("bound", [*interval]), "gai_matched": matched})
    assert bool(is_by_items(match_intervals(table))) is expected
