"""Means that few prompts carry: bounds that contain what the prompts of a study can miss."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import beta

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.rare_harm import NOTE
from sharpbayes.analysis.study import read_study
from sharpbayes.metrics.stats.bounded_means import bounded_mean_interval, carrying_units
from sharpbayes.metrics.stats.intervals import is_outside
from sharpbayes.metrics.stats.resampling import bayesian_bootstrap_weights
from tests.panels import files_of, frame, profiled


def harmful(hits, prompts=100):
    """Scores of a model for each number of hits: 10 on so many prompts, else 0; truth reversed."""
    table = frame(models=len(hits), prompts=prompts, judges=("ann",))
    for model, number in enumerate(hits):
        rows = table.index[table["model"] == f"m{model}"]
        harm = np.where(np.arange(prompts) < number, 10, 0)
        table.loc[rows, ["bias_a", "bias_b"]] = np.column_stack([harm, harm])
        table.loc[rows, "truth"] = 10 - harm
    return table


def clopper_pearson(hits, number, level=0.95):
    error_rate = (1 - level) / 2
    lower = beta.ppf(error_rate, hits, number - hits + 1) if hits else 0.0
    upper = beta.ppf(1 - error_rate, hits + 1, number - hits) if hits < number else 1.0
    return np.array([lower, upper])


@pytest.mark.parametrize(("hits", "number"), [(0, 30), (1, 30), (2, 100), (4, 300), (30, 30)])
def test_of_two_values_bounds_are_those_of_clopper_and_pearson(hits, number):
    x = xr.DataArray(np.arange(number) < hits, dims="prompt").astype(float)
    weights = bayesian_bootstrap_weights(x, replicates=20_000, seed=3, dim="prompt")
    means = (weights * x).sum("prompt") / weights.sum("prompt")
    units = xr.DataArray(float(number))
    bounds = bounded_mean_interval(means, units=units, low=0.0, high=1.0, level=0.95)
    np.testing.assert_allclose(bounds, clopper_pearson(hits, number), rtol=0.06, atol=1e-9)


def test_a_range_scales_and_mirrors_the_bounds():
    means = xr.DataArray(
        np.random.default_rng(1).beta(2, 50, (3, 500)), dims=("model", "replicate")
    )
    options = {"units": xr.DataArray(40.0), "level": 0.9}
    plain = bounded_mean_interval(means, low=0.0, high=1.0, **options)
    scaled = bounded_mean_interval(3 * means - 1, low=-1.0, high=2.0, **options)
    np.testing.assert_allclose(scaled, 3 * plain - 1, atol=1e-9)
    mirrored = bounded_mean_interval(1 - means, low=0.0, high=1.0, **options)
    np.testing.assert_allclose(mirrored, 1 - plain.isel(bound=[1, 0]), atol=1e-9)


def test_a_missing_mean_has_no_bounds():
    means = xr.DataArray([[0.1, 0.2], [np.nan, 0.2]], dims=("model", "replicate"))
    units = xr.DataArray([9.0, 0.0], dims="model")
    bounds = bounded_mean_interval(means, units=units, low=0.0, high=1.0, level=0.9)
    assert np.isfinite(bounds).values.tolist() == [[True, True], [False, False]]


def test_equal_values_count_their_number_and_one_large_value_counts_alone():
    values = xr.DataArray([[1.0] * 8, [50.0] + [0.1] * 7, [0.0] * 8], dims=("model", "prompt"))
    mean, error = values.mean("prompt"), values.std("prompt") / 8**0.5
    carrying = carrying_units(mean, error, xr.DataArray(8.0))
    squares = (values**2).sum("prompt")
    expected = (values.sum("prompt") ** 2 / squares.where(squares > 0)).fillna(0.0)
    np.testing.assert_allclose(carrying, expected)
    assert carrying.values.round(2).tolist() == [8.0, 1.03, 0.0]


def test_a_study_bounds_rare_harm_in_log_risk_as_in_the_score(tmp_path):
    results = profiled(tmp_path, harmful([0, 2, 12]), overrides=["bootstrap.replicates=4000"])
    interval = results["profile_interval"].to_dataset()
    for model, hits in (("m0", 0), ("m1", 2)):
        bounds = clopper_pearson(hits, 100)
        score, mean = (interval[name].sel(model=model) for name in ("policy_score", "mean"))
        np.testing.assert_allclose(score, bounds, rtol=0.04, atol=1e-9)
        np.testing.assert_allclose(mean, score * -2 * np.log(1e-6), rtol=1e-4, atol=1e-4)
    assert interval.attrs["interval_note"].endswith(NOTE)


def test_means_that_many_prompts_carry_are_as_they_were(tmp_path):
    plan = build_profile_plan(read_study(files_of(tmp_path, harmful([4, 5, 12]))))
    bootstrapped = bootstrap_profile(plan)
    alone = replace(bootstrapped, rare_harm=None)
    for name in ("mean", "policy_score", "any_harm_mean", "dimension_mean"):
        one, other = bootstrapped.interval(name), alone.interval(name)
        xr.testing.assert_identical(one.isel(model=[1, 2]), other.isel(model=[1, 2]))
        assert (one.isel(model=0) != other.isel(model=0)).any(), name
    tails = [of.interval("cvar") for of in (bootstrapped, alone)]
    upper, upper_alone = (tail.sel(bound="upper") for tail in tails)
    xr.testing.assert_identical(upper, upper_alone)
    plenty = build_profile_plan(read_study(files_of(tmp_path, harmful([50, 60, 70]))))
    assert bootstrap_profile(plenty).rare_harm is None


def test_a_prompt_that_stands_for_many_leaves_more_unseen(tmp_path):
    """Ten prompts are half of the population: their rate alone may be 1 - 0.05^(1/10)."""
    table = harmful([0, 0])
    table["kind"] = np.where(table["prompt"] < "p10", "rare", "common")
    weights = (
        "[population.category]\ncommon = 0.5\nrare = 0.5\n"
        "[tolerance]\npolicy_score = 0.5\nconfidence = 0.95\n"
    )
    results = profiled(tmp_path, table, roles=', category = "kind"', weights=weights)
    upper = results["tolerance"]["bounds"].sel(bound="upper", threshold="policy_score")
    np.testing.assert_allclose(upper, 1 - 0.05 ** (1 / 20), rtol=1e-6)
    assert (upper > 0.5 * (1 - 0.05 ** (1 / 10))).all()


@pytest.mark.parametrize("rate", [0.01, 0.02])
def test_intervals_hold_the_rate_of_rare_harm(tmp_path, rate):
    """Sixty models are sixty studies of 100 prompts each, whose rate NumPy knows."""
    hits = np.random.default_rng([9, round(1 / rate)]).binomial(100, rate, 60)
    files = files_of(tmp_path, harmful(hits), overrides=["bootstrap.replicates=400"])
    plan = build_profile_plan(read_study(files))
    bootstrapped = bootstrap_profile(plan, names=("policy_score",))
    lower, upper = bootstrapped.interval("policy_score").transpose("bound", ...)
    assert ((lower <= rate) & (rate <= upper)).mean() >= 0.93
    # Studentized resamples alone miss the rate of many: harm that was not seen.
    lower, upper = (
        replace(bootstrapped, rare_harm=None).interval("policy_score").transpose("bound", ...)
    )
    assert ((lower <= rate) & (rate <= upper)).mean() < 0.93


def test_a_tail_may_be_full_of_harm_that_two_of_a_hundred_show(tmp_path):
    """At a rate of just over 5% CVaR 95 is at its ceiling: 12% of studies show 2 at most, 4% 1."""
    weights = "[tolerance]\ncvar = 3.0\nconfidence = 0.95\n"
    many = ["bootstrap.replicates=1000"]
    results = profiled(tmp_path, harmful([1, 2, 12]), weights=weights, overrides=many)
    assert results["tolerance"]["state"].to_numpy()[:, 0].tolist() == [
        "admissible",
        "cannot tell",
        "not admissible",
    ]
    upper = results["profile_interval"].to_dataset().sel(bound="upper", model="m1")
    assert float(upper["cvar"]) == pytest.approx(-2 * np.log(1e-6))
    assert upper["dimension_cvar"].values.tolist() == [1.0, 1.0]


def test_a_study_of_one_prompt_has_bounds(tmp_path):
    table = pd.concat([harmful([0], prompts=1)])
    interval = profiled(tmp_path, table)["profile_interval"]["policy_score"]
    np.testing.assert_allclose(interval, [[0.0, 0.975]], atol=1e-9)


def test_a_bound_that_rounding_misses_is_not_missed():
    """No harm is a log-risk a little below 0, which sums in another order round otherwise."""
    floor = -9.999994999180672e-07
    interval = xr.DataArray([floor + 1e-21, 0.5], dims="bound")
    assert not is_outside(xr.DataArray(floor), interval)
    assert is_outside(xr.DataArray(-2e-6), interval)
