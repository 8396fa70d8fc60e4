import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.metrics.stats.kernels import count_draws
from sharpbayes.metrics.stats.resampling import (
    bootstrap,
    bootstrap_counts,
    nested_bootstrap_counts,
)

UNITS = xr.DataArray([f"p{i}" for i in range(7)], dims="prompt").pipe(
    lambda units: units.assign_coords(prompt=units.values)
)
X = xr.DataArray(np.arange(7.0) ** 2, {"prompt": UNITS["prompt"]})


def mean_of(weights):
    return xr.Dataset({"mean": weighted_mean(X, dim="prompt", weights=weights), "size": 7})


def test_every_resample_draws_as_many_units_as_there_are():
    counts = bootstrap_counts(UNITS, replicates=50, seed=1, dim="prompt")
    assert counts.dims == ("replicate", "prompt")
    assert counts["prompt"].values.tolist() == UNITS.values.tolist()
    assert (counts.sum("prompt") == 7).all()
    assert counts["replicate"].values.tolist() == list(range(50))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**63 - 1), st.integers(1, 39))
def test_blocks_are_pieces_of_the_whole(seed, cut):
    all_counts = bootstrap_counts(UNITS, replicates=40, seed=seed, dim="prompt")
    first = bootstrap_counts(UNITS, replicates=cut, seed=seed, dim="prompt")
    rest = bootstrap_counts(UNITS, replicates=40 - cut, seed=seed, dim="prompt", start=cut)
    xr.testing.assert_identical(xr.concat([first, rest], "replicate"), all_counts)


def test_another_seed_gives_other_resamples():
    one, other = (bootstrap_counts(UNITS, replicates=5, seed=s, dim="prompt") for s in (1, 2))
    assert (one != other).any("prompt").all()


def test_draws_are_uniform_and_independent():
    counts = np.empty((20_000, 10))
    count_draws(12345, 0, counts)
    # Each unit is drawn 20,000 times in expectation.
    assert chisquare(counts.sum(axis=0)).pvalue > 1e-3
    # A multinomial count has variance n p (1 - p) = 10 * 0.1 * 0.9, and covariance -n p p.
    covariance = np.cov(counts.T)
    np.testing.assert_allclose(np.diag(covariance), 0.9, atol=0.04)
    np.testing.assert_allclose(covariance[np.triu_indices(10, 1)], -0.1, atol=0.03)
    # Neighbouring replicates have streams of their own.
    neighbours = np.corrcoef(counts[:-1, 0], counts[1:, 0])[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(20_000)


def test_compiled_draws_equal_plain_python():
    counts = np.empty((2, 5))
    count_draws(7, 3, counts)
    golden, word = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
        return z ^ (z >> 31)

    for row in range(2):
        state = mixed((mixed((7 + golden) & word) + (3 + row) * golden) & word)
        expected = np.zeros(5)
        while expected.sum() < 5:
            state = (state + golden) & word
            for half in (mixed(state) % 2**32, mixed(state) >> 32):
                product = half * 5
                if product % 2**32 >= 2**32 % 5 and expected.sum() < 5:
                    expected[product >> 32] += 1
        assert counts[row].tolist() == expected.tolist()


@pytest.mark.parametrize("block", [1, 7, 100])
def test_the_block_does_not_change_the_bootstrap(block):
    resampled = bootstrap(mean_of, UNITS, replicates=20, seed=3, dim="prompt", block=block)
    counts = bootstrap_counts(UNITS, replicates=20, seed=3, dim="prompt").values
    expected = [np.repeat(X.values, row.astype(int)).mean() for row in counts]
    np.testing.assert_allclose(resampled["mean"], expected)
    assert resampled["mean"].dims == ("replicate",)
    assert resampled["size"].dims == ()


def test_the_standard_error_of_a_mean_is_the_known_one():
    resampled = bootstrap(mean_of, UNITS, replicates=20_000, seed=4, dim="prompt", block=5_000)
    # The bootstrap variance of a mean is exactly the population variance over n.
    np.testing.assert_allclose(resampled["mean"].std(), np.sqrt(X.values.var() / 7), rtol=0.02)


def test_percentile_interval_by_hand():
    x = xr.DataArray(np.arange(41.0), dims="replicate", attrs={"units": "nat"})
    # 0.025 and 0.975 of 40 steps
    interval = percentile_interval(x, level=0.95)
    np.testing.assert_allclose(interval, [1.0, 39.0])
    assert interval["bound"].values.tolist() == ["lower", "upper"]
    assert interval.attrs == {"units": "nat"}


def test_missing_replicates_are_left_out_and_none_left_is_missing():
    values = np.stack([np.r_[np.arange(11.0), np.nan], np.full(12, np.nan)])
    x = xr.DataArray(values, {"model": ["a", "b"]}, ("model", "replicate"))
    interval = percentile_interval(x, level=0.8)
    assert interval.dims == ("model", "bound")
    np.testing.assert_allclose(interval, [[1.0, 9.0], [np.nan, np.nan]])


def test_intervals_of_a_dataset_leave_out_what_was_not_resampled():
    resampled = bootstrap(mean_of, UNITS, replicates=30, seed=3, dim="prompt", block=10)
    intervals = percentile_interval(resampled, level=0.9)
    assert list(intervals.data_vars) == ["mean"]
    np.testing.assert_allclose(intervals["mean"], np.quantile(resampled["mean"], [0.05, 0.95]))


def test_other_dimensions_keep_their_order_and_labels():
    rng = np.random.default_rng(5)
    x = xr.DataArray(
        rng.random((3, 2, 40, 4)), {"model": ["a", "b"]}, ("draw", "model", "chain", "other")
    )
    interval = percentile_interval(x, level=0.5, dim="chain")
    assert interval.dims == ("draw", "model", "other", "bound")
    assert interval["model"].values.tolist() == ["a", "b"]
    for draw, model, other in np.ndindex(3, 2, 4):
        expected = np.quantile(x.values[draw, model, :, other], [0.25, 0.75])
        np.testing.assert_allclose(interval.values[draw, model, other], expected)


def test_generations_are_drawn_among_those_that_a_prompt_has():
    answered = np.random.default_rng(2).random((7, 4)) < 0.6
    answered[0] = False
    answered = xr.DataArray(answered, {"prompt": UNITS["prompt"]}, ("prompt", "sample"))
    counts = bootstrap_counts(UNITS, replicates=300, seed=1, dim="prompt")
    nested = nested_bootstrap_counts(counts, answered, seed=1)
    some = answered.any("sample")
    np.testing.assert_array_equal(nested.where(~answered & some, 0), 0)
    drawn = counts * answered.sum("sample")
    np.testing.assert_array_equal(nested.sum("sample").where(some, 0), drawn)
    assert (nested.sum("replicate") > 0).where(answered, True).all()
