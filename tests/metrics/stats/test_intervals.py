import numpy as np
import pytest
import xarray as xr
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import norm, t

from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.stats import resampling
from sharpbayes.metrics.stats.intervals import (
    bca_interval,
    percentile_interval,
    studentized_interval,
    symmetric_interval,
)
from sharpbayes.metrics.stats.resampling import jackknife, nested_bootstrap_counts

X = xr.DataArray(np.random.default_rng(1).gamma(0.5, 2.0, 60), dims="prompt")


def mean_of(weights):
    return xr.Dataset({"mean": weighted_mean(X, dim="prompt", weights=weights)})


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bounds_are_scipys_for_the_same_resamples(level):
    reference = scipy_bootstrap(
        (X.values,), np.mean, n_resamples=3000, confidence_level=level, method="BCa", rng=2
    )
    replicates = xr.DataArray(reference.bootstrap_distribution, dims="replicate")
    left_out = jackknife(mean_of, X, dim="prompt", block=7)
    bounds = bca_interval(replicates, X.mean(), left_out["mean"], level=level)
    np.testing.assert_allclose(bounds, reference.confidence_interval)


@pytest.mark.parametrize("block", [1, 13, 100])
def test_jackknife_leaves_out_one_prompt_at_a_time(block):
    estimates = jackknife(mean_of, X, dim="prompt", block=block)["mean"]
    np.testing.assert_allclose(estimates, [np.delete(X.values, unit).mean() for unit in range(60)])


def test_many_prompts_are_left_out_in_groups(monkeypatch):
    monkeypatch.setattr(resampling, "JACKKNIFE_GROUPS", 4)
    values = jackknife(mean_of, X, dim="prompt", block=3)["mean"]
    expected = [X.values[np.arange(60) % 4 != group].mean() for group in range(4)]
    np.testing.assert_allclose(values, expected)


def test_a_dataset_keeps_what_was_resampled_and_its_attributes():
    replicates = xr.DataArray(
        np.random.default_rng(3).random((2, 50)), dims=("model", "replicate"), attrs={"units": "1"}
    )
    resampled = xr.Dataset({"cvar": replicates, "size": 7})
    observed = xr.Dataset({"cvar": replicates.mean("replicate"), "size": 7})
    left_out = xr.Dataset({"cvar": replicates.isel(replicate=slice(9))})
    bounds = bca_interval(resampled, observed, left_out, level=0.9)
    assert list(bounds) == ["cvar"]
    assert bounds["cvar"].dims == ("model", "bound")
    assert bounds["cvar"].attrs == {"units": "1"}
    assert bounds["cvar"]["bound"].values.tolist() == ["lower", "upper"]


def test_resamples_on_one_side_and_missing_ones_have_no_bounds():
    replicates = xr.DataArray([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]], dims=("model", "replicate"))
    left_out = xr.DataArray(np.ones((2, 4)), dims=("model", "replicate"))
    observed = xr.DataArray([0.0, 2.0], dims="model")
    assert np.isnan(bca_interval(replicates, observed, left_out, level=0.9)).all()


def test_a_statistic_that_never_varies_has_bounds_on_itself():
    replicates = xr.DataArray(np.full(40, 2.0), dims="replicate")
    left_out = xr.DataArray(np.full(9, 2.0), dims="replicate")
    bounds = bca_interval(replicates, xr.DataArray(2.0), left_out, level=0.9)
    np.testing.assert_array_equal(bounds, [2.0, 2.0])


def test_generations_vary_beside_prompts_as_the_two_stages_say():
    n, m, replicates = 5, 3, 40_000
    values = xr.DataArray(np.random.default_rng(4).random((n, m)), dims=("prompt", "sample"))
    units = xr.DataArray(np.arange(n), dims="prompt")
    counts = resampling.bootstrap_counts(units, replicates=replicates, seed=5, dim="prompt")
    nested = nested_bootstrap_counts(counts, xr.ones_like(values, dtype=bool), seed=5)
    np.testing.assert_array_equal(nested.sum("sample"), m * counts)
    means = (nested * values).sum(("prompt", "sample")) / (n * m)
    within = values.var("sample")
    # Law of total variance: prompts vary by their means, generations inside a drawn prompt.
    expected = values.mean("sample").var() / n + within.mean() / (n * m)
    np.testing.assert_allclose(means.var(), expected, rtol=0.03)


def test_streams_of_generations_do_not_depend_on_blocks():
    units = xr.DataArray(np.arange(4), dims="prompt")
    answered = xr.DataArray(np.ones((4, 3), dtype=bool), dims=("prompt", "sample"))
    counts = resampling.bootstrap_counts(units, replicates=9, seed=1, dim="prompt")
    all_counts = nested_bootstrap_counts(counts, answered, seed=1)
    rest = nested_bootstrap_counts(counts.isel(replicate=slice(4, None)), answered, seed=1)
    xr.testing.assert_identical(all_counts.isel(replicate=slice(4, None)), rest)


def bootstrap_of_a_mean(x, replicates=2000, seed=5):
    """Means and their standard errors, observed and resampled."""
    rng = np.random.default_rng(seed)
    drawn = x[rng.integers(0, len(x), (replicates, len(x)))]
    root = np.sqrt(len(x))
    resampled = (drawn.mean(-1), drawn.std(-1) / root)
    return [xr.DataArray(values, dims="replicate") for values in resampled]


def test_studentized_bounds_are_worked_out_by_hand():
    x = X.values
    means, errors = bootstrap_of_a_mean(x)
    error = xr.DataArray(x.std() / np.sqrt(len(x)))
    interval = studentized_interval(means, X.mean(), errors, error, level=0.9)
    pivot = np.quantile((means.values - x.mean()) / errors.values, [0.95, 0.05])
    width = max(float(error), means.values.std(ddof=1))
    lower, upper = x.mean() - pivot * width
    percentile = np.quantile(means.values, [0.05, 0.95])
    np.testing.assert_allclose(
        interval, [min(lower, percentile[0]), max(upper, percentile[1])], rtol=1e-12
    )
    assert interval["bound"].values.tolist() == ["lower", "upper"]


def test_a_skewed_mean_reaches_farther_up_than_its_percentiles():
    means, errors = bootstrap_of_a_mean(X.values)
    interval = studentized_interval(means, X.mean(), errors, errors.mean(), level=0.95)
    assert float(interval[1]) > np.quantile(means.values, 0.975) + 0.1


def test_resamples_without_errors_have_their_percentile_interval():
    means, errors = bootstrap_of_a_mean(X.values)
    none = xr.zeros_like(errors)
    interval = studentized_interval(means, X.mean(), none, none[0], level=0.95)
    np.testing.assert_array_equal(interval, percentile_interval(means, level=0.95))


def test_missing_resamples_are_left_out_of_studentized_bounds():
    means, errors = bootstrap_of_a_mean(X.values)
    some = xr.concat([means, means * np.nan], "replicate")
    doubled = xr.concat([errors, errors], "replicate")
    options = {"level": 0.95}
    interval = studentized_interval(some, X.mean(), doubled, errors[0], **options)
    wanted = studentized_interval(means, X.mean(), errors, errors[0], **options)
    np.testing.assert_allclose(interval, wanted)


def test_a_symmetric_interval_is_wider_where_few_units_carry_it():
    means, _ = bootstrap_of_a_mean(X.values)
    bounds = {
        k: symmetric_interval(means, X.mean(), level=0.95, freedom=k) for k in (3.0, 60.0, np.inf)
    }
    for interval in bounds.values():
        np.testing.assert_allclose(interval.mean(), X.mean())
    reach = {k: float(x[1]) - float(X.mean()) for k, x in bounds.items()}
    np.testing.assert_allclose(reach[3.0] / reach[np.inf], t.ppf(0.975, 3) / norm.ppf(0.975))
    assert reach[3.0] > reach[60.0] > reach[np.inf]
