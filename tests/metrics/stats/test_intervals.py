import numpy as np
import pytest
import xarray as xr
from scipy.stats import bootstrap as scipy_bootstrap

from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.stats import resampling
from sharpbayes.metrics.stats.intervals import bca_interval
from sharpbayes.metrics.stats.resampling import jackknife, nested_bootstrap_counts

X = xr.DataArray(np.random.default_rng(1).gamma(0.5, 2.0, 60), dims="prompt")


def mean_of(weights):
    return xr.Dataset({"mean": weighted_mean(X, dim="prompt", weights=weights)})


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bounds_are_scipys_for_the_same_resamples(level):
    made = scipy_bootstrap(
        (X.values,), np.mean, n_resamples=3000, confidence_level=level, method="BCa", rng=2
    )
    replicates = xr.DataArray(made.bootstrap_distribution, dims="replicate")
    left_out = jackknife(mean_of, X, dim="prompt", block=7)
    found = bca_interval(replicates, X.mean(), left_out["mean"], level=level)
    np.testing.assert_allclose(found, made.confidence_interval)


@pytest.mark.parametrize("block", [1, 13, 100])
def test_jackknife_leaves_out_one_prompt_at_a_time(block):
    found = jackknife(mean_of, X, dim="prompt", block=block)["mean"]
    np.testing.assert_allclose(found, [np.delete(X.values, at).mean() for at in range(60)])


def test_many_prompts_are_left_out_in_groups(monkeypatch):
    monkeypatch.setattr(resampling, "JACKKNIFE_GROUPS", 4)
    found = jackknife(mean_of, X, dim="prompt", block=3)["mean"]
    expected = [X.values[np.arange(60) % 4 != group].mean() for group in range(4)]
    np.testing.assert_allclose(found, expected)


def test_a_dataset_keeps_what_was_resampled_and_its_attributes():
    replicates = xr.DataArray(
        np.random.default_rng(3).random((2, 50)), dims=("model", "replicate"), attrs={"units": "1"}
    )
    resampled = xr.Dataset({"cvar": replicates, "size": 7})
    observed = xr.Dataset({"cvar": replicates.mean("replicate"), "size": 7})
    left_out = xr.Dataset({"cvar": replicates.isel(replicate=slice(9))})
    found = bca_interval(resampled, observed, left_out, level=0.9)
    assert list(found) == ["cvar"]
    assert found["cvar"].dims == ("model", "bound")
    assert found["cvar"].attrs == {"units": "1"}
    assert found["cvar"]["bound"].values.tolist() == ["lower", "upper"]


def test_resamples_on_one_side_and_missing_ones_have_no_bounds():
    replicates = xr.DataArray([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]], dims=("model", "replicate"))
    left_out = xr.DataArray(np.ones((2, 4)), dims=("model", "replicate"))
    observed = xr.DataArray([0.0, 2.0], dims="model")
    assert np.isnan(bca_interval(replicates, observed, left_out, level=0.9)).all()


def test_a_statistic_that_never_varies_has_bounds_on_itself():
    replicates = xr.DataArray(np.full(40, 2.0), dims="replicate")
    left_out = xr.DataArray(np.full(9, 2.0), dims="replicate")
    found = bca_interval(replicates, xr.DataArray(2.0), left_out, level=0.9)
    np.testing.assert_array_equal(found, [2.0, 2.0])


def test_generations_vary_beside_prompts_as_the_two_stages_say():
    n, m, replicates = 5, 3, 40_000
    values = xr.DataArray(np.random.default_rng(4).random((n, m)), dims=("prompt", "sample"))
    units = xr.DataArray(np.arange(n), dims="prompt")
    counts = resampling.bootstrap_counts(units, replicates=replicates, seed=5, dim="prompt")
    nested = nested_bootstrap_counts(counts, xr.DataArray(np.arange(m), dims="sample"), seed=5)
    np.testing.assert_array_equal(nested.sum("sample"), m * counts)
    means = (nested * values).sum(("prompt", "sample")) / (n * m)
    within = values.var("sample")
    # Law of total variance: prompts vary by their means, generations inside a drawn prompt.
    expected = values.mean("sample").var() / n + within.mean() / (n * m)
    np.testing.assert_allclose(means.var(), expected, rtol=0.03)


def test_streams_of_generations_do_not_depend_on_blocks():
    units = xr.DataArray(np.arange(4), dims="prompt")
    samples = xr.DataArray(np.arange(3), dims="sample")
    counts = resampling.bootstrap_counts(units, replicates=9, seed=1, dim="prompt")
    whole = nested_bootstrap_counts(counts, samples, seed=1)
    rest = nested_bootstrap_counts(counts.isel(replicate=slice(4, None)), samples, seed=1)
    xr.testing.assert_identical(whole.isel(replicate=slice(4, None)), rest)
