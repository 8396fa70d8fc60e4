"""Units of one cluster are drawn together, and count as one."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.evidence import (
    count_clusters,
    count_prompts,
    effective_prompts,
    fewest_prompts,
    tail_prompts,
)
from sharpbayes.metrics.stats.clusters import mean_clusters, scale_errors, sum_clusters
from sharpbayes.metrics.stats.resampling import (
    bayesian_bootstrap_weights,
    bootstrap_counts,
    jackknife,
)

CLUSTERS = np.array(["b", "a", "b", "c", "a", "b"])


def of_prompts(values):
    """Values of six prompts in three clusters."""
    prompts = {"prompt": list("uvwxyz"), "cluster": ("prompt", CLUSTERS)}
    return xr.DataArray(values, prompts, "prompt")


@pytest.mark.parametrize("draw", [bootstrap_counts, bayesian_bootstrap_weights])
def test_prompts_of_a_cluster_have_one_weight(draw):
    weights = draw(of_prompts(range(6)), replicates=200, seed=3, dim="prompt").to_numpy()
    for name in "abc":
        members = weights[:, name == CLUSTERS]
        assert (members == members[:, :1]).all()
    first = [list(CLUSTERS).index(name) for name in "abc"]
    of_cluster = weights[:, first].astype(float)
    assert len(np.unique(of_cluster, axis=0)) > 5
    if draw is bootstrap_counts:
        assert (of_cluster.sum(axis=1) == 3).all()


def test_clusters_are_drawn_as_often_as_units_of_that_number_are():
    alone = xr.DataArray(np.zeros(3), dims="prompt")
    options = {"replicates": 50, "seed": 3, "dim": "prompt"}
    counts = bootstrap_counts(of_prompts(range(6)), **options)
    codes = np.unique(CLUSTERS, return_inverse=True)[1]
    assert (counts.to_numpy() == bootstrap_counts(alone, **options).to_numpy()[:, codes]).all()


def test_blocks_of_replicates_have_the_draws_of_all():
    prompts = of_prompts(range(6))
    every = bootstrap_counts(prompts, replicates=9, seed=1, dim="prompt")
    last = bootstrap_counts(prompts, replicates=4, seed=1, dim="prompt", start=5)
    assert every.isel(replicate=slice(5, None)).identical(last)


def test_the_jackknife_leaves_each_cluster_out():
    values = of_prompts([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    def mean(weights):
        return xr.Dataset({"mean": (weights * values).sum("prompt") / weights.sum("prompt")})

    left_out = jackknife(mean, values, dim="prompt", block=2)["mean"].to_numpy()
    expected = [values.to_numpy()[name != CLUSTERS].mean() for name in "abc"]
    np.testing.assert_allclose(left_out, expected, rtol=1e-15)


def test_sums_and_means_leave_missing_values_out():
    values = of_prompts([1.0, np.nan, 3.0, np.nan, 5.0, 6.0])
    assert sum_clusters(values, "prompt").values.tolist() == [5.0, 10.0, 0.0]
    np.testing.assert_array_equal(mean_clusters(values, "prompt"), [5.0, 10.0 / 3.0, np.nan])
    assert mean_clusters(values.drop_vars("cluster"), "prompt").size == 6


def test_errors_are_as_large_as_resamples_vary():
    values = xr.DataArray([[0.0, 4.0], [1.0, 1.0]], dims=("model", "replicate"))
    errors = xr.DataArray([[0.5, 1.0], [0.0, 3.0]], dims=values.dims)
    observed = xr.Dataset({"x": ("model", [1.0, 1.0]), "x_error": ("model", [0.5, 0.0])})
    resampled = xr.Dataset({"x": values, "x_error": errors})
    scaled, of_resamples = scale_errors(observed, resampled, {"x": "x_error"})
    assert scaled["x_error"].values.tolist() == [2.0, 0.0]
    assert of_resamples["x_error"].values.tolist() == [[2.0, 4.0], [0.0, 3.0]]
    assert of_resamples["x"].identical(resampled["x"])


def test_numbers_of_prompts_are_those_of_clusters_but_for_their_count():
    risk = of_prompts([6.0, 1.0, 6.0, 2.0, np.nan, 6.0])
    assert float(count_prompts(risk)) == 5.0
    assert float(count_clusters(risk)) == 3.0
    assert float(effective_prompts(risk)) == pytest.approx(25 / (9 + 1 + 1))
    assert float(fewest_prompts(risk)) == pytest.approx(5 / 3)
    # A tail of 2.5 answers: those at its edge and beyond are three, of one cluster.
    assert float(tail_prompts(risk, alpha=0.5)) == pytest.approx(2.5 / 3)
    assert float(tail_prompts(risk.drop_vars("cluster"), alpha=0.5)) == pytest.approx(2.5)


def test_clusters_of_one_prompt_each_count_as_prompts():
    risk = xr.DataArray(np.arange(40.0), dims="prompt")
    single = risk.assign_coords(cluster=("prompt", [f"c{n:02d}" for n in range(40)]))
    for count in (count_clusters, effective_prompts, fewest_prompts):
        assert float(count(single)) == pytest.approx(float(count(risk)))
    assert float(tail_prompts(single, alpha=0.9)) == pytest.approx(4.0)
    options = {"replicates": 20, "seed": 1, "dim": "prompt"}
    counts = [bootstrap_counts(x, **options).to_numpy() for x in (single, risk)]
    np.testing.assert_array_equal(*counts)
