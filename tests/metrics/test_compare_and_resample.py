import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.compare import (
    admissible,
    cvar_difference,
    separable,
    tiers,
    tiers_by_overlap,
)
from sharpbayes.metrics.resample import bootstrap, multiplicities, percentile_interval

MODELS = ["a", "b", "c", "d"]


def by_model(values):
    return xr.DataArray(values, {"model": MODELS}, "model")


def interval_of(difference, half):
    return xr.concat([difference - half, difference + half], "bound").assign_coords(
        bound=["lower", "upper"]
    )


def test_admissible_includes_the_tolerance_and_leaves_out_the_unknown():
    assert admissible(by_model([3.9, 4.0, 4.1, np.nan]), 4.0).values.tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_a_tier_opens_where_a_model_is_apart_from_the_whole_tier():
    # b is 1 above a, c 1 above b and 2 above a; with intervals of +-1.5 only a and c are apart,
    # so c stays with b; d is 5 above c and opens tier 2
    cvar = by_model([1.0, 2.0, 3.0, 8.0])
    found = tiers(cvar, interval_of(cvar_difference(cvar), 1.5))
    assert found.values.tolist() == [1, 1, 1, 2]
    assert tiers(cvar, interval_of(cvar_difference(cvar), 0.5)).values.tolist() == [1, 2, 3, 4]


def test_tiers_follow_cvar_and_not_the_order_of_models():
    cvar = by_model([8.0, np.nan, 1.0, 1.1])
    found = tiers(cvar, interval_of(cvar_difference(cvar), 0.5))
    assert found.values.tolist() == [2, 0, 1, 1]


def test_tiers_by_overlap():
    cvar = by_model([1.0, 2.0, 5.0, 9.0])
    bounds = xr.DataArray(
        [[0.5, 1.9], [1.8, 2.5], [4.0, 6.0], [7.0, 11.0]],
        {"model": MODELS, "bound": ["lower", "upper"]},
        ("model", "bound"),
    )
    assert tiers_by_overlap(cvar, bounds).values.tolist() == [1, 1, 2, 3]


def test_nothing_is_separable_from_itself():
    cvar = by_model([1.0, 2.0, 3.0, 4.0])
    found = separable(interval_of(cvar_difference(cvar), 0.1))
    assert not np.diag(found).any()
    assert found.sum() == 12


def test_counts_add_up_and_do_not_depend_on_blocks():
    units = xr.DataArray([f"p{n}" for n in range(7)], dims="prompt")
    whole = multiplicities(units, replicates=10, seed=3, dim="prompt")
    part = multiplicities(units, replicates=4, seed=3, dim="prompt", start=5)
    assert (whole.sum("prompt") == 7).all()
    xr.testing.assert_equal(whole.isel(replicate=slice(5, 9)), part)
    other = multiplicities(units, replicates=10, seed=4, dim="prompt")
    assert not whole.equals(other)


def test_counts_have_the_moments_of_the_multinomial():
    n, replicates = 20, 40_000
    units = xr.DataArray(np.arange(n), dims="prompt")
    counts = multiplicities(units, replicates=replicates, seed=1, dim="prompt").to_numpy()
    # mean 1, variance 1 - 1/n, covariance -1/n; five standard errors each
    error = 5 / np.sqrt(replicates)
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=error)
    covariance = np.cov(counts.T)
    np.testing.assert_allclose(np.diag(covariance), 1 - 1 / n, atol=3 * error)
    off = covariance[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(off, -1 / n, atol=2 * error)


@pytest.mark.parametrize("block", [1, 3, 100])
def test_bootstrap_does_not_depend_on_the_block(block):
    values = xr.DataArray([1.0, 2.0, 4.0, 8.0], dims="prompt")

    def mean(weights):
        return xr.Dataset({"mean": (weights * values).sum("prompt") / weights.sum("prompt")})

    found = bootstrap(mean, values, replicates=10, seed=2, dim="prompt", block=block)
    expected = bootstrap(mean, values, replicates=10, seed=2, dim="prompt", block=10)
    xr.testing.assert_equal(found, expected)
    assert found.sizes["replicate"] == 10


def test_the_interval_of_a_mean_covers_as_often_as_it_says():
    rng = np.random.default_rng(5)
    inside = 0
    for trial in range(300):
        sample = xr.DataArray(rng.normal(size=60), dims="prompt")
        weights = multiplicities(sample, replicates=400, seed=trial, dim="prompt")
        means = (weights * sample).sum("prompt") / 60
        lower, upper = percentile_interval(means, level=0.9).values
        inside += lower <= 0 <= upper
    # 90% of 300 is 270, its standard error sqrt(300 * 0.9 * 0.1) = 5.2; percentile intervals of a
    # mean of 60 are a little short
    assert 270 - 4 * 5.2 <= inside <= 270 + 3 * 5.2


def test_missing_replicates_are_left_out_of_an_interval():
    x = xr.DataArray([[np.nan, 1.0, 3.0], [np.nan] * 3], dims=("model", "replicate"))
    found = percentile_interval(x, level=0.5)
    # quartiles of 1 and 3: 1.5 and 2.5
    np.testing.assert_array_equal(found, [[1.5, 2.5], [np.nan, np.nan]])
