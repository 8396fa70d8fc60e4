"""Tabulated items against plain loops, with leading dimensions that differ."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.groups import shared_items
from sharpbayes.metrics.crowd.responsiveness import severity_table

REPLICATES, DRAWS, GROUPS, ITEMS, SCORES = 2, 3, 2, 11, 4


@pytest.fixture
def crowd():
    """Scores over (replicate, draw, group, item), labels, strata, and weights over (draw, item)."""
    rng = np.random.default_rng(8)
    dims = ("replicate", "draw", "group", "item")
    scores = rng.integers(-1, SCORES, (REPLICATES, DRAWS, GROUPS, ITEMS)).astype(np.int16)
    by = xr.DataArray(rng.random((2, ITEMS)) < 0.6, dims=("by", "item"))
    weights = xr.DataArray(rng.gamma(1.0, size=(DRAWS, ITEMS)), dims=("draw", "item"))
    return xr.DataArray(scores, dims=dims), by, weights


@pytest.mark.parametrize(
    "dims",
    [
        ("item", "unsafe"),
        ("group", "item", "unsafe"),
        ("draw", "item", "unsafe"),
        ("replicate", "draw", "group", "item", "unsafe"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_rows_are_counted_by_score_and_label(crowd, dims, weighted, kind):
    scores, by, weights = crowd
    sizes = {**scores.sizes, "unsafe": 2}
    labels = xr.DataArray(
        np.random.default_rng(9).integers(0, 3, [sizes[dim] for dim in dims]).astype(kind),
        dims=dims,
    )
    given = weights if weighted else None
    table = severity_table(scores, labels, by=by, n_scores=SCORES, weights=given)
    items = shared_items(scores, labels, by=by)
    assert table.dims == ("replicate", "draw", "group", "by", "score", "unsafe")
    everywhere = labels.broadcast_like(scores).transpose(*scores.dims, "unsafe").to_numpy()
    expected, shared = np.zeros(table.shape), np.zeros(items.shape)
    for replicate, draw, group, item in np.ndindex(scores.shape):
        score = int(scores[replicate, draw, group, item])
        if score < 0:
            continue
        label = everywhere[replicate, draw, group, item]
        times = float(weights[draw, item]) if weighted else 1.0
        for stratum in np.flatnonzero(by[:, item]):
            expected[replicate, draw, group, stratum, score] += times * label
            shared[replicate, draw, group, stratum] += label.sum() > 0
    np.testing.assert_allclose(table, expected, rtol=1e-13)
    np.testing.assert_array_equal(items, shared)


def test_a_score_off_the_scale_counts_nowhere(crowd):
    scores, by, _ = crowd
    labels = xr.DataArray(np.ones((ITEMS, 2), dtype=np.int32), dims=("item", "unsafe"))
    low = severity_table(scores, labels, by=by, n_scores=SCORES - 1)
    whole = severity_table(scores, labels, by=by, n_scores=SCORES)
    np.testing.assert_array_equal(low, whole.isel(score=slice(SCORES - 1)))
