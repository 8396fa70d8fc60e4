"""What numbers of ratings do to metrics of groups, against random subsets drawn by NumPy."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.crowd_intervals import measure_intervals
from tests.references.coverage_crowd import (
    METRICS,
    crowd_study,
    observe,
    simulate,
    true_metrics,
)


def study_of(sizes, seed, items=60):
    """A crowd of two groups of one law, everyone rating everything."""
    rng = np.random.default_rng(seed)
    return simulate(rng, "normal", (items, np.array(sizes), 2), *crowd_study())


def compared(study):
    """Differences of the second group less the first."""
    _, pairs, _ = measure_intervals(study, observe(study), METRICS)
    return pairs.sel(by="all", group="group=1", other="group=0")


def test_groups_of_one_size_have_the_plain_difference():
    study = study_of((8, 8), 1)
    pair, values = compared(study), observe(study).sel(by="all")
    for name in METRICS:
        assert float(pair[f"{name}_size_effect"]) == 0.0
        plain = values[name].sel(group="group=1") - values[name].sel(group="group=0")
        assert float(pair[name]) == pytest.approx(float(plain), abs=1e-12)


def test_groups_of_nearly_one_size_have_the_plain_difference():
    """Six raters and seven: subsets would give the effect of chance, be it of the wrong sign."""
    for sizes, is_plain in (((6, 7), True), ((20, 24), True), ((6, 9), False)):
        pair = compared(study_of(sizes, 4))
        assert (float(pair["hm_size_effect"]) == 0.0) == is_plain


def test_the_effect_is_that_of_random_subsets_of_the_raters():
    study = study_of((5, 40), 2)
    score = study.data.score.reshape(60, 45).T
    pair, rng = compared(study), np.random.default_rng(3)
    subsets = [
        true_metrics(score[5 + rng.permutation(40)[:5]], study.data.item_label) for _ in range(2000)
    ]
    expected = true_metrics(score[5:], study.data.item_label) - np.mean(subsets, axis=0)
    error = np.std(subsets, axis=0) / np.sqrt(200)
    for k, name in enumerate(METRICS):
        assert float(pair[f"{name}_size_effect"]) == pytest.approx(expected[k], abs=4 * error[k])
    assert expected[-1] > 0.05


@pytest.mark.slow
def test_a_large_group_is_not_told_from_a_small_one_of_its_law():
    pairs = xr.concat([compared(study_of((5, 50), seed)) for seed in range(40)], "study")
    assert abs(float(pairs["hm"].mean())) < 0.03
    assert float(pairs["hm_size_effect"].mean()) > 0.05
    assert float((pairs["hm_p"] < 0.05).mean()) <= 0.1
