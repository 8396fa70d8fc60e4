"""Variance components against analyses of variance, by hand, and against worlds of NumPy."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.variance_components import (
    COMPONENTS,
    share_of_variance,
    variance_components,
)
from sharpbayes.metrics.stats.intervals import jackknife_interval
from tests.references.worlds.trials import TrialWorld

DIMS = ("model", "prompt", "judge", "sample", "trial")


def draw(rng, *sizes, sds=(1, 1, 1, 1, 1, 1, 1)):
    m, q, j, s, t = sizes
    shapes = [
        *((m, 1, 1, 1, 1), (1, q, 1, 1, 1), (m, q, 1, 1, 1), (m, q, 1, s, 1)),
        *((1, 1, j, 1, 1), (m, q, j, s, 1), (m, q, j, s, t)),
    ]
    parts = [rng.normal(0, sd, shape) for sd, shape in zip(sds, shapes, strict=True)]
    return xr.DataArray(sum(parts), dims=DIMS)


def test_one_way_is_the_analysis_of_variance():
    x = draw(np.random.default_rng(1), 1, 12, 1, 1, 5)
    cell = x.mean("trial")
    within = float(x.var("trial", ddof=1).mean())
    between = 5 * float(cell.var(ddof=1))
    components = variance_components(x)
    assert float(components.sel(component="trial")) == pytest.approx(within)
    assert float(components.sel(component="prompt")) == pytest.approx((between - within) / 5)
    others = ["model", "model x prompt", "generation", "judge", "judge x answer"]
    assert components.sel(component=others).isnull().all()


def test_crossed_models_and_prompts_are_the_analysis_of_variance():
    x = draw(np.random.default_rng(2), 4, 9, 1, 1, 3)
    cell = x.mean("trial").squeeze(drop=True)
    within = float(x.var("trial", ddof=1).mean())
    rest = cell - cell.mean("model") - cell.mean("prompt") + cell.mean()
    crossed = float((rest**2).sum()) / (3 * 8)
    components = variance_components(x)
    wanted = {
        "model": float(cell.mean("prompt").var(ddof=1)) - crossed / 9,
        "prompt": float(cell.mean("model").var(ddof=1)) - crossed / 4,
        "model x prompt": crossed - within / 3,
        "trial": within,
    }
    for name, value in wanted.items():
        assert float(components.sel(component=name)) == pytest.approx(value), name


def test_all_components_of_unequal_numbers_are_unbiased():
    rng = np.random.default_rng(3)
    sds = np.sqrt([0.0, 0.8, 0.4, 0.3, 0.0, 0.4, 0.6])
    studies = []
    for _ in range(30):
        x = draw(rng, 3, 40, 3, 2, 3, sds=sds)
        studies.append(variance_components(x.where(rng.random(x.shape) < 0.7)))
    mean, error = np.mean(studies, 0), np.std(studies, 0) / np.sqrt(30)
    np.testing.assert_array_less(np.abs(mean - sds**2), 4 * error + 0.002)


def test_a_constant_and_leading_dimensions_change_nothing():
    x = draw(np.random.default_rng(4), 3, 6, 2, 2, 2)
    components = variance_components(x)
    both = variance_components(xr.concat([x, 2 * x + 7], "dimension"))
    assert both.dims == ("dimension", "component")
    np.testing.assert_allclose(both[0], components)
    np.testing.assert_allclose(both[1], 4 * components)
    assert both["component"].to_numpy().tolist() == list(COMPONENTS)


def test_a_weight_of_0_leaves_a_prompt_out():
    x = draw(np.random.default_rng(5), 3, 6, 2, 1, 2).assign_coords(prompt=range(6))
    weights = xr.DataArray([[0, 1, 1, 1, 1, 1], [1] * 6], dims=("replicate", "prompt"))
    components = variance_components(x, weights=weights.astype(float))
    shifted = x - x.mean()  # sums are about the mean of all prompts
    np.testing.assert_allclose(components[1], variance_components(x))
    np.testing.assert_allclose(components[0], variance_components(shifted.isel(prompt=slice(1, 6))))


def test_a_component_that_nothing_separates_is_in_one_above():
    rng = np.random.default_rng(6)
    x = draw(rng, 3, 200, 1, 1, 1)
    shares = share_of_variance(variance_components(x))
    assert shares.sel(component=["generation", "judge", "judge x answer", "trial"]).isnull().all()
    total = float(variance_components(x).sel(component="model x prompt"))
    assert total == pytest.approx(4.0, rel=0.25)  # crossing, generation, judge x answer, trial


def test_jackknife_intervals_hold_the_truth_of_a_world():
    rng, world, covered = np.random.default_rng(7), TrialWorld(prompts=25, trials=4), []
    for _ in range(25):
        table, truth = world.simulate(rng)
        keys = ["model", "prompt", "judge", "sample", "trial"]
        x = table.set_index(keys)["score"].to_xarray().astype(float) / 4
        kept = xr.DataArray(1 - np.eye(25), dims=("replicate", "prompt"))
        left_out = variance_components(x, weights=kept)
        bounds = jackknife_interval(variance_components(x), left_out, level=0.9)
        low, high = bounds.transpose("bound", "component").to_numpy()
        covered.append((low <= truth["observed"]) & (truth["observed"] <= high))
    share = np.mean(covered, 0)[world.present]
    assert share.min() > 0.7
