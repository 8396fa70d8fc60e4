"""The order of models without a judge, by intervals as well as by its sign."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from sharpbayes.storage.results import open_results, save_results
from tests.panels import frame, measured

INDICATORS = ["bias_a", "bias_b", "truth"]
PAIR = {"other": "m1"}


def scored(lower, *, prompts=150, seed=4):
    """Two models; every judge scores m0 lower than m1 by so much, on the same prompts."""
    rng = np.random.default_rng(seed)
    table = frame(models=2, prompts=prompts, seed=seed, judges=tuple(lower))
    harm = rng.normal(0.0, 1.2, (2, prompts))
    harm += 4.0 - harm.mean(1, keepdims=True)  # the models differ by what judges add alone
    prompt_number = table["prompt"].rank(method="dense").astype(int) - 1
    answers = harm[(table["model"] == "m1").astype(int), prompt_number]
    step = table["judge"].map(lower) * (table["model"] == "m0")
    for name in INDICATORS:
        scores = answers - step + rng.normal(0.0, 0.8, len(table))
        scores = np.clip(scores.round(), 0, 9).astype(int)
        table[name] = 10 - scores if name == "truth" else scores
    return table


def of_policy(results):
    """What is lost by the policy score without each judge."""
    return results["stability"].to_dataset().sel(metric="policy_score")


BY_POLICY = {"weights": '[decision]\nby = "policy_score"\n'}


@pytest.fixture(scope="module")
def one_judge(tmp_path_factory):
    """Only cat scores m0 lower."""
    table = scored({"ann": 0.1, "bob": 0.1, "cat": 2.0})
    return measured(tmp_path_factory.mktemp("one"), table, **BY_POLICY)


def test_an_order_that_is_one_judges_is_lost_without_it(one_judge):
    lost = of_policy(one_judge)
    assert not lost["lojo_changed"].any()
    assert lost["lojo_unresolved"].values.tolist() == ["", "", "m1"]
    assert lost["lojo_decisive"].values.tolist() == [False, False, True]


def test_the_answer_names_the_judge_that_an_order_rests_on(one_judge):
    [sentence] = [text for text in answer(one_judge) if "rests on" in text]
    assert sentence == (
        "Without judge cat m0 is no longer distinguishable from m1 by policy score and by tail "
        "risk: the order rests on judge cat."
    )
    assert not any("No single judge" in text for text in answer(one_judge))
    [light] = [x for x in lights(one_judge) if x.question.startswith("Stable")]
    assert (light.state, light.reason) == (
        "no",
        "Without judge cat m0 is no longer distinguishable from m1 by policy score and by tail "
        "risk.",
    )


def test_an_order_that_all_judges_share_rests_on_none(tmp_path):
    results = measured(tmp_path, scored({"ann": 0.7, "bob": 0.7, "cat": 0.7}), **BY_POLICY)
    lost = of_policy(results)
    assert not (lost["lojo_unresolved"] != "").any()
    assert not lost["lojo_decisive"].any()
    assert any("No single judge changes" in text for text in answer(results))


def test_the_interval_without_a_judge_is_nearly_that_of_a_study_without_it(one_judge, tmp_path):
    table = scored({"ann": 0.1, "bob": 0.1, "cat": 2.0})
    without = measured(tmp_path, table[table["judge"] != "cat"])
    names = ("policy_score_difference_joint", "policy_score_difference_observed")
    pair = without["profile_interval"].to_dataset()[list(names)].sel(PAIR, drop=True)
    interval = one_judge["judges"]["lojo_policy_score_difference_joint"]
    assert interval.attrs["model"] == "m0"
    ours = interval.sel(PAIR).sel(judge_out="cat").to_numpy()
    theirs = pair[names[0]].sel(model="m0").to_numpy()
    assert ours.mean() == pytest.approx(float(pair[names[1]].sel(model="m0")))
    assert np.ptp(ours) == pytest.approx(np.ptp(theirs), rel=0.3)


def test_results_with_what_is_lost_are_stored_and_read_again(one_judge, tmp_path):
    save_results(one_judge, tmp_path / "results.nc")
    stored = open_results(tmp_path / "results.nc")
    for group in ("judges", "stability"):
        xr.testing.assert_equal(stored[group].to_dataset(), one_judge[group].to_dataset())


def test_what_a_judge_adds_is_the_difference_of_both(one_judge):
    judges = one_judge["judges"].to_dataset().sel(PAIR)
    by_all = one_judge["profile_interval"]["policy_score_difference_observed"]
    without, shift = (
        judges[f"lojo_policy_score_{kind}_joint"].mean("bound") for kind in ("difference", "shift")
    )
    np.testing.assert_allclose(without + shift, float(by_all.sel(model="m0", other="m1")))


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_intervals_of_every_kind_tell_on_whom_an_order_rests(tmp_path, kind):
    table = scored({"ann": 0.1, "bob": 0.1, "cat": 2.0}, prompts=60)
    results = measured(tmp_path, table, overrides=(f'bootstrap.interval="{kind}"',))
    assert of_policy(results)["lojo_unresolved"].values.tolist()[-1] == "m1"


def test_of_two_judges_the_one_who_shows_no_difference_is_left(tmp_path):
    results = measured(tmp_path, scored({"ann": 0.1, "bob": 2.0}, seed=5))
    lost = of_policy(results)
    assert lost["lojo_unresolved"].values.tolist() == ["", "m1"]
    assert lost["lojo_decisive"].values.tolist() == [False, True]


def test_without_a_distinguishable_model_nothing_is_lost(tmp_path):
    results = measured(tmp_path, scored({"ann": 0.0, "bob": 0.0}, prompts=30))
    assert "lojo_policy_score_difference_joint" not in results["judges"]
    assert (results["stability"]["unresolved"] == "").all()
    assert (results["stability"]["lojo_unresolved"] == "").all()


def test_models_with_other_prompts_are_compared_on_those_of_both(tmp_path):
    table = scored({"ann": 0.1, "bob": 0.1, "cat": 2.0})
    has_prompt = (table["model"] != "m1") | (table["prompt"] > "p02")
    results = measured(tmp_path, table[has_prompt])
    judges = results["judges"].to_dataset().sel(PAIR)
    middle = judges["lojo_policy_score_difference_joint"].mean("bound").sel(judge_out="cat")
    sub_index = results["panel"]["sub_index"].sel(judge=["ann", "bob"])
    whole = sub_index.notnull().all(["model", "judge", "dimension"])
    shared = measured(
        tmp_path / "shared",
        table[table["prompt"].isin(whole["prompt"].to_numpy()[whole.to_numpy()])].query(
            "judge != 'cat'"
        ),
    )["profile_interval"]["policy_score_difference_observed"]
    assert float(middle) == pytest.approx(float(shared.sel(model="m0", other="m1")))


def test_a_difference_without_any_spread_is_not_lost(tmp_path):
    table = frame(models=2, prompts=30)
    is_first = table["model"] == "m0"
    table["bias_a"] = table["bias_b"] = np.where(is_first, 1, 5)
    table["truth"] = np.where(is_first, 9, 5)
    assert (of_policy(measured(tmp_path, table))["lojo_unresolved"] == "").all()
