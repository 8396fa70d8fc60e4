"""A judge who scored more of one model than of another does not decide which one is lower."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import sharpbayes
from sharpbayes.analysis.unequal_judges import (
    is_judged_unequally,
    name_unequal_judges,
    shift_order,
    unequal_judges,
)
from sharpbayes.metrics.panel.pooling import log_sum_exp
from tests.references.unequal_judges import draw_scores, measure_study

MODELS, JUDGES = ["one", "two"], ["mild", "harsh"]


def by_model(values):
    return xr.DataArray(values, {"model": MODELS}, "model")


def shift(*, share, added, width):
    """Whether judges move a difference, of a mean alone that each of them adds so much to."""
    shares = xr.DataArray(share, {"model": MODELS, "judge": JUDGES}, ("model", "judge"))
    profile = {name: by_model([1.0, 1.0]) for name in ("mean", "policy_score", "cvar")}
    out = xr.DataArray(JUDGES, dims="judge_out", name="judge_out")
    without = {name: xr.zeros_like(out, float) + profile[name] for name in profile}
    without["mean"] = without["mean"] - xr.DataArray(added, {"judge_out": JUDGES}, "judge_out")
    labels = {"model": MODELS, "other": MODELS, "bound": ["lower", "upper"]}
    bounds = np.broadcast_to([-width / 2, width / 2], (2, 2, 2))
    interval = xr.DataArray(bounds, labels, [*labels])
    intervals = {f"{name}_difference_joint": interval for name in profile}
    moves = shift_order(shares, xr.Dataset(profile), xr.Dataset(without), xr.Dataset(intervals))
    return moves["judge"].to_numpy()[moves].tolist()


def test_the_shift_is_the_gap_of_shares_times_what_a_judge_adds():
    """Half of two's answers lack the harsh judge, who adds 0.2 where it scores: 0.1 of 0.5."""
    share = [[1.0, 1.0], [1.0, 0.5]]
    assert shift(share=share, added=[0.0, 0.15], width=1.0) == ["harsh"]
    assert shift(share=share, added=[0.0, 0.1], width=1.0) == []
    assert shift(share=[[1.0, 1.0], [1.0, 1.0]], added=[0.0, 9.0], width=1.0) == []
    assert shift(share=share, added=[0.0, 9.0], width=0.0) == []


def study_of(table, **settings):
    return sharpbayes.study(
        table,
        indicators={"harm": "s"},
        scales={"s": {"kind": "ordinal", "min": 0, "max": 10}},
        bootstrap={"replicates": 200},
        **settings,
    )


def test_models_are_not_compared_where_a_harsh_judge_lacks_rows_of_one():
    """A judge 2.5 of 10 steps harsher lacked 16% of two's rows, and two was the lowest."""
    table = draw_scores(np.random.default_rng([13, 1]), prompts=200, absent=0.16, severity=2.5)
    results = study_of(table).measure()
    evidence = results["evidence"].to_dataset()
    assert unequal_judges(evidence) == ["jc"]
    [sentence] = name_unequal_judges(evidence)
    assert sentence.endswith(
        "so that models cannot be compared. Let every judge score every model, name in "
        '`panel.judges` those who did, or write `missing = "complete"` under `[judges]` of the '
        "weights: then only what every judge scored counts."
    )
    text = str(sharpbayes.summary(results))
    assert "has the lowest" not in text
    assert "is lowest" not in text


def test_a_judge_as_mild_as_the_others_makes_no_models_unequal():
    table = draw_scores(np.random.default_rng([13, 1]), prompts=200, absent=0.16, severity=0.0)
    evidence = study_of(table).measure()["evidence"].to_dataset()
    assert not is_judged_unequally(evidence)
    assert not evidence["judge_shifts_order"].any()


def test_complete_answers_are_compared(tmp_path):
    """By ``complete`` an answer that a judge did not score is missing, in a pair for both."""
    rows = draw_scores(np.random.default_rng([13, 2]), prompts=100, absent=0.16, severity=2.5)
    weights = tmp_path / "weights.toml"
    weights.write_text(
        'schema = "sharpbayes/weights/2"\ntitle = "Complete"\nrationale = "A test."\n'
        '[judges]\nmissing = "complete"\n',
        encoding="utf-8",
    )
    evidence = study_of(rows, weights=str(weights)).measure()["evidence"].to_dataset()
    assert bool((evidence["judge_share"] == 1.0).all())
    number = rows.groupby(["model", "prompt"]).size()
    expected = (number == 3).groupby("model").sum()
    np.testing.assert_array_equal(evidence["prompts"], expected[evidence["model"].to_numpy()])


def test_complete_cells_are_pooled_as_all_judges_are():
    x = xr.DataArray([[0.1, 0.4], [np.nan, 0.4]], dims=("prompt", "judge"))
    pooled = log_sum_exp(x, temperature=0.2, missing="complete")
    whole = log_sum_exp(x[:1], temperature=0.2, missing="available")
    np.testing.assert_array_equal(pooled, [whole.item(), np.nan])


def test_answers_without_a_row_of_one_model_are_missing():
    """All judges lack rows of two's worst answers: nothing was said of them."""
    table = draw_scores(np.random.default_rng([13, 3]), prompts=300, absent=0.0, severity=0.0)
    harm = table.groupby(["model", "prompt"])["harm"].mean()
    worst = harm["two"].nlargest(12).index
    is_lost = (table["model"] == "two") & table["prompt"].isin(worst)
    missing = study_of(table[~is_lost]).measure()["missing"].to_dataset()
    assert float(missing["missing"].sel(model="two").sum()) == 36
    assert int(missing["unscored"].sel(model="two")) == 12
    assert float(missing["asked"].sum()) == 1800
    assert bool(missing["mean_can_be_lowest"].all())


@pytest.mark.parametrize(
    ("lost", "of_other", "is_missing"), [(10, 0, True), (25, 0, False), (10, 10, False)]
)
def test_a_model_of_other_prompts_was_not_asked_for_those_it_lacks(lost, of_other, is_missing):
    """It was where it has most of them and another one has all: a crash leaves no row."""
    table = draw_scores(np.random.default_rng([13, 3]), prompts=100, absent=0.0, severity=0.0)
    first, second = table["model"] == "one", table["model"] == "two"
    lacks = (second & (table["prompt"] < f"p{lost:04d}")) | (
        first & (table["prompt"] >= f"p{100 - of_other:04d}")
    )
    results = study_of(table[~lacks]).measure()
    assert ("missing" in results) == is_missing
    if is_missing:
        assert results["missing"]["unscored"].sel(model="two").item() == lost


def test_the_study_of_unequal_judges_counts_false_orders():
    """As the committed table, for one study: nothing is stated where models are not compared."""
    counted = measure_study((60, 0.19, 2.5, "available", 0), replicates=100)
    assert counted["compared"] == 0
    assert not any(counted[name] for name in ("mean", "policy_score", "cvar"))
    assert measure_study((60, 0.0, 0.0, "available", 0), replicates=100)["compared"] == 1


@pytest.mark.parametrize(
    ("lowest", "second", "is_conditional"), [(0.02, 0.05, True), (0.02, 0.2, False)]
)
def test_an_order_by_policy_scores_stands_unless_unseen_ends_change_it(
    lowest, second, is_conditional
):
    """60 prompts without an answer at the end can miss 4.9% of such, which add 0.048."""
    rng = np.random.default_rng(8)
    rows = [
        (model, f"p{n:02d}", "j", round(100 * np.clip(level + rng.normal(0, 0.01), 0, 0.9)))
        for model, level in (("a", lowest), ("b", second))
        for n in range(60)
    ]
    table = pd.DataFrame(rows, columns=["model", "prompt", "judge", "harm"])
    results = sharpbayes.study(
        table,
        indicators={"harm": "s"},
        scales={"s": {"kind": "ordinal", "min": 0, "max": 100}},
        bootstrap={"replicates": 200},
    ).measure()
    text = str(sharpbayes.summary(results))
    condition = (
        "That holds unless a has answers at the end of the scale, of which it shows none: they can "
        "raise its policy score by up to 0.048, and b is higher by less."
    )
    assert "a has the lowest policy score" in " ".join(text.split())
    assert (condition in " ".join(text.split())) == is_conditional
