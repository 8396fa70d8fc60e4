"""Models with unequal numbers of generations: each is resampled among its own."""

import json

import numpy as np
import pytest
import xarray as xr

from sharpbayes.analysis.repeated_answers import apply_by_answers, weigh_answers
from sharpbayes.metrics.panel.validation import friedman_test
from sharpbayes.report.summary import remarks, verdict
from sharpbayes.report.wording import resampled_units
from tests.panels import frame, measured, profiled

ROLE = ', sample = "sample"'
METRICS = ["mean", "volatility", "cvar", "policy_score", "dimension_mean"]


def first_answer_only(table, model):
    """A panel file in which a model has one generation of each prompt."""
    return table[(table["model"] != model) | (table["sample"] == "s0")]


def test_the_interval_of_a_model_does_not_depend_on_generations_of_others(tmp_path):
    table = frame(samples=4, prompts=30)
    one = table[table["sample"] == "s0"].drop(columns="sample")
    alone = profiled(tmp_path / "one", one)["profile_interval"].to_dataset()
    beside = profiled(tmp_path / "four", first_answer_only(table, "m0"), roles=ROLE)
    both = beside["profile_interval"].to_dataset()
    assert both["model"].values.tolist() == ["m0", "m1", "m2"]
    xr.testing.assert_allclose(both[METRICS].sel(model="m0"), alone[METRICS].sel(model="m0"))
    complete = profiled(tmp_path / "all", table, roles=ROLE)["profile_interval"].to_dataset()
    others = {"model": ["m1", "m2"]}
    xr.testing.assert_allclose(both[METRICS].sel(others), complete[METRICS].sel(others))


@pytest.mark.parametrize("lead", [(), ("simulation",)])
def test_parts_have_the_same_answers_and_come_back_in_order(lead):
    rng = np.random.default_rng(3)
    dims = (*lead, "model", "prompt", "sample", "dimension")
    harm = xr.DataArray(rng.random((*[3] * len(lead), 4, 6, 2, 1)), dims=dims)
    harm = harm.where(xr.DataArray(rng.random(harm.shape) < 0.8, dims=dims))
    harm[{"model": 2}] = harm[{"model": 0}]
    table = xr.Dataset({"harm": harm}, {"model": [*"abcd"]})
    masks = []

    def count(part, answered):
        masks.append(answered)
        missing = answered & part["harm"].isnull().all("dimension")
        assert not (missing & part["harm"].notnull().any(("sample", "dimension"))).any()
        return part.sum(("prompt", "sample", "dimension"))

    total = table.sum(("prompt", "sample", "dimension"))
    xr.testing.assert_identical(apply_by_answers(table, count), total)
    if not lead:
        assert len(masks) == 3


def test_a_prompt_counts_once_however_often_a_model_answered_it(tmp_path):
    table = frame(samples=4, prompts=30)
    first = table["prompt"] < "p10"
    uneven = table[(table["model"] != "m0") | first | (table["sample"] == "s0")]
    results = measured(tmp_path / "uneven", uneven, roles=ROLE)
    mean_of_prompts = results["panel"]["log_risk"].mean("sample").mean("prompt")
    np.testing.assert_allclose(results["profile"]["mean"], mean_of_prompts)
    assert results["profile_interval"]["mean"].notnull().all()
    assert results["evidence"].attrs["weighted"] == 0
    assert results["evidence"]["prompts"].values.tolist() == [30, 30, 30]
    [text] = [
        t for t in json.loads(results["evidence"].attrs["limits"]) if "Each prompt counts" in t
    ]
    assert text == (
        "Models have more scored answers to some prompts than to others (m0 1 to 4). Each prompt "
        "counts once for a model. Where answers were asked for again because of what the first "
        "ones were, numbers are still a little off."
    )
    assert text in json.loads(results["evidence"].attrs["remarks"])


@pytest.mark.parametrize("dims", [("model", "prompt"), ("model", "prompt", "sample")])
def test_even_numbers_of_answers_leave_counts_as_they_are(dims):
    rng = np.random.default_rng(2)
    harm = xr.DataArray(rng.random([3] * len(dims)), dims=dims)
    table, counts = xr.Dataset({"harm": harm}), xr.DataArray([1.0, 0.0, 2.0], dims="prompt")
    assert weigh_answers(table, counts) is counts
    assert weigh_answers(table, None) is None
    lacking = harm.where(harm["prompt"] != 0) if "sample" not in dims else harm
    assert weigh_answers(xr.Dataset({"harm": lacking}), counts) is counts


def test_prompts_are_shared_however_often_a_model_answered(tmp_path):
    table = first_answer_only(frame(samples=4, prompts=30), "m0")
    results = measured(tmp_path, table, roles=ROLE)
    assert (results["profile_interval"]["shared_prompts"] == 30).all()
    texts = " ".join(json.loads(results["evidence"].attrs["limits"]))
    assert "do not have the same prompts" not in texts


@pytest.mark.parametrize("model", ["m0", ""])
def test_tests_keep_prompts_that_a_model_answered_less_often(tmp_path, model):
    table = frame(samples=3)
    lacks = (table["prompt"] == "p03") & (table["model"] == "m1") & (table["sample"] == "s2")
    results = measured(tmp_path, first_answer_only(table[~lacks], model), roles=ROLE)
    tests = results["validation"].to_dataset()
    assert (tests.attrs["prompts"], tests.attrs["prompts_dropped"]) == (12, 0)
    cell = results["panel"]["log_risk"].mean("sample")
    expected = friedman_test(cell, dim="prompt")["friedman_chi2"]
    assert float(tests["friedman_chi2"]) == pytest.approx(float(expected))
    assert tests["component"].values.tolist() == ["model", "prompt", "interaction", "residual"]
    assert float(tests["eta2"].sum()) == pytest.approx(1.0)


def test_one_answer_to_each_prompt_has_no_interaction(tmp_path):
    """Which model answered in which round is no repetition."""
    table = frame(samples=2)
    results = measured(
        tmp_path, table[(table["sample"] == "s1") == (table["model"] == "m0")], roles=ROLE
    )
    tests = results["validation"].to_dataset()
    assert tests["component"].values.tolist() == ["model", "prompt", "residual"]


@pytest.mark.parametrize(
    ("resampled", "units"), [("true", "prompts and of generations"), ("false", "prompts")]
)
def test_the_first_screen_says_what_intervals_contain_as_the_tables_do(tmp_path, resampled, units):
    overrides = [f"bootstrap.resample_generations={resampled}"]
    results = measured(tmp_path, frame(samples=2), roles=ROLE, overrides=overrides)
    assert (
        f"contain the sampling of {units}, not"
        in results["profile_interval"].attrs["interval_note"]
    )
    assert resampled_units(results) == tuple(units.split(" and of "))
    sentence = (
        f"No model of the ratings was fitted: intervals contain the sampling of "
        f"{units.replace('and of', 'and')} only."
    )
    assert verdict(results) == sentence
    assert sentence in remarks(results)
