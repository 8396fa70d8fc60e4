"""Tails whose prompts have one value: upper bounds that contain what the prompts can miss."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import read_study
from tests.panels import files_of, frame


def bootstrap_scores(tmp_path, scores, *, varied=False):
    """Resample one model with these scores of one judge, from 0 to 10, in one or all dimensions."""
    table = frame(models=1, prompts=len(scores), judges=("ann",))
    table["bias_a"] = table["bias_b"] = scores
    if not varied:
        table["truth"] = 10 - np.asarray(scores)
    plan = build_profile_plan(read_study(files_of(tmp_path, table)))
    return bootstrap_profile(plan)


def tail_of(number, prompts, *, score=6):
    """Scores of which so many have one value in the tail, and the others a lower one each."""
    return [score] * number + [index % 3 for index in range(prompts - number)]


def bounds_of(bootstrapped, name="cvar"):
    return bootstrapped.interval(name).isel(model=0).to_numpy()


def test_no_resample_exceeds_a_tail_of_one_value_but_its_bound_does(tmp_path):
    bootstrapped = bootstrap_scores(tmp_path, tail_of(12, 200))
    value = float(bootstrapped.observed["cvar"][0])
    assert float(bootstrapped.resampled["cvar"].max()) == pytest.approx(value)
    # None of 200 prompts exceeds the value: at 97.5% confidence 1.8% of all do at most.
    share = 1 - 0.025 ** (1 / 200)
    expected = value + share / 0.05 * (bootstrapped.ceiling - value)
    lower, upper = bounds_of(bootstrapped)
    assert lower < value
    assert upper == pytest.approx(expected)
    of_dimension = bootstrapped.interval("dimension_cvar").isel(model=0, dimension=0)
    harm = float(bootstrapped.observed["dimension_cvar"][0, 0])
    assert float(of_dimension.sel(bound="upper")) == pytest.approx(harm + share / 0.05 * (1 - harm))


def test_what_few_prompts_can_miss_fills_the_tail(tmp_path):
    bootstrapped = bootstrap_scores(tmp_path, tail_of(3, 40))
    assert bounds_of(bootstrapped)[1] == pytest.approx(bootstrapped.ceiling)
    # Two values, of which a resample seldom has both: most tails have one value all the same.
    scores = [7, *tail_of(1, 20)]
    assert bounds_of(bootstrap_scores(tmp_path, scores))[1] == pytest.approx(bootstrapped.ceiling)


def test_the_bound_of_a_lower_level_is_that_of_a_smaller_share(tmp_path):
    bootstrapped = bootstrap_scores(tmp_path, tail_of(12, 200))
    uppers = [
        float(bootstrapped.interval_at("cvar", rate).sel(bound="upper")[0])
        for rate in (0.01, 0.05, 0.2)
    ]
    assert uppers == sorted(uppers, reverse=True)
    assert len(set(uppers)) == 3


def test_prompts_that_do_not_count_alike_can_miss_more(tmp_path):
    bootstrapped = bootstrap_scores(tmp_path, tail_of(12, 200))
    heavy = xr.zeros_like(bootstrapped.fewest_prompts) + 80.0
    assert bounds_of(replace(bootstrapped, fewest_prompts=heavy))[1] > bounds_of(bootstrapped)[1]


def test_where_tails_vary_the_bound_is_that_of_resamples(tmp_path):
    scores = np.random.default_rng(3).integers(0, 9, 200)
    bootstrapped = bootstrap_scores(tmp_path, scores, varied=True)
    without = replace(bootstrapped, fewest_prompts=bootstrapped.fewest_prompts * np.inf)
    assert np.array_equal(bounds_of(bootstrapped), bounds_of(without))
    assert bounds_of(bootstrapped)[1] < bootstrapped.ceiling


def test_where_resamples_do_not_differ_there_is_no_interval(tmp_path):
    lower, upper = bounds_of(bootstrap_scores(tmp_path, tail_of(150, 200)))
    assert lower == upper
