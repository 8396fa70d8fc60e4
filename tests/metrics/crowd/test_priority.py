"""Priority against loops, and the root law of sample sizes against a simulation."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.crowd.priority import disagreement, priority
from sharpbayes.metrics.crowd.sample_size import sample_size


@pytest.mark.parametrize("seed", range(20))
def test_priority_is_a_mean_weighted_by_responsiveness(seed):
    rng = np.random.default_rng(seed)
    scores, weight = rng.integers(-1, 5, (4, 8)), rng.random(4)
    weight[rng.integers(4)] = np.nan
    plural = xr.DataArray(scores, dims=("group", "item"))
    priorities = priority(plural, xr.DataArray(weight, dims="group"), n_scores=5).values
    apart = disagreement(plural).values
    for i in range(8):
        rated = [(w, s) for w, s in zip(weight, scores[:, i], strict=True) if s >= 0]
        used = [(w, s) for w, s in rated if not np.isnan(w)]
        expected = sum(w * s for w, s in used) / sum(w for w, _ in used) / 4 if used else np.nan
        assert priorities[i] == pytest.approx(expected, nan_ok=True)
        values = [s for _, s in rated]
        assert apart[i] == pytest.approx(
            max(values) - min(values) if len(values) > 1 else np.nan, nan_ok=True
        )


def test_a_responsive_group_counts_for_more():
    plural = xr.DataArray([[4, 0], [0, 4]], dims=("group", "item"))
    priorities = priority(plural, xr.DataArray([0.9, 0.1], dims="group"), n_scores=5)
    assert priorities.values.tolist() == [0.9, 0.1]


def metrics(width, items):
    bounds = xr.DataArray(
        [[0.5 - w / 2, 0.5 + w / 2] for w in width],
        {"bound": ["lower", "upper"]},
        ("group", "bound"),
    )
    value = xr.DataArray([0.5, 0.7, 0.2], {"grouping": ("group", ["g", "g", "h"])}, "group")
    named = dict.fromkeys(("mpa", "wra", "hm"), value)
    return xr.Dataset(
        {**named, **{f"{n}_interval": bounds for n in named}, "items": ("group", items)}
    )


def test_additional_ratings_by_hand():
    counts = xr.DataArray([[30, 10], [400, 0], [5, 5]], dims=("group", "score"))
    sizes = sample_size(
        metrics([0.2, 0.05, 0.3], [20, 100, 10]), score_count=counts, target_interval_width=0.1
    )
    hm = sizes.sel(metric="hm")
    # 20 items of 2 ratings: 4 times as many; narrow enough; 9 times as many.
    assert hm["additional_items"].values.tolist() == [60, 0, 80]
    assert hm["additional_ratings"].values.tolist() == [120, 0, 80]
    assert not np.signbit(hm["additional_ratings"]).any()
    assert sizes["rank"].values.tolist() == [2, 1, 1]


def test_the_root_law_holds_for_a_mean_of_items():
    rng = np.random.default_rng(1)

    def width(items):
        x = rng.normal(size=items)
        means = x[rng.integers(0, items, (4000, items))].mean(axis=1)
        return np.subtract(*np.quantile(means, [0.975, 0.025]))

    counts = xr.DataArray([[1, 0]] * 3, dims=("group", "score"))
    wide = np.mean([width(50) for _ in range(20)])
    asked = sample_size(
        metrics([wide] * 3, [50] * 3), score_count=counts, target_interval_width=wide / 3
    )
    needed = 50 + int(asked["additional_items"].sel(metric="mpa")[0])
    assert needed == 450
    assert np.mean([width(needed) for _ in range(10)]) == pytest.approx(wide / 3, rel=0.05)


def test_without_a_group_no_item_has_a_disagreement():
    nobody = xr.DataArray(np.empty((0, 3), dtype=np.int16), dims=("group", "item"))
    assert disagreement(nobody).isnull().values.tolist() == [True, True, True]
