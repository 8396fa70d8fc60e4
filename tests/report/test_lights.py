"""What the answer rests on: four questions, each with a word and a reason."""

import json

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.lights import lights
from tests.report.hand_made import (
    add,
    by_mean,
    crowd,
    evidence,
    fitted_crowd,
    fitted_panel,
    panel,
    stability,
)

MODELS = ["a", "b", "c"]
KEPT = ("judge", "j1", "b", False, 0.1)
MOVED = ("judge", "j2", "c", True, 0.5)
OTHER = ("epsilon", "0.01", "c", True, 0.5)


def states(results):
    """State and reason by the first word of the question."""
    return {light.question.split()[0]: (light.state, light.reason) for light in lights(results)}


def fit(*, converged=True, failed=(), checks=True):
    """Groups of a fit, and of its comparison with the ratings."""
    groups = {"diagnostics": xr.Dataset({"converged": ((), converged)})}
    if checks:
        attrs = {"failed_checks": json.dumps(list(failed)), "checks": 65}
        groups["predictive_checks"] = xr.Dataset(attrs=attrs)
    return groups


def test_measured_results_without_evidence_are_not_known():
    assert states(panel()) == {
        "Enough": ("not known", "The results do not tell what their data carry."),
        "Stable": ("not known", "There are no two judges to leave one out."),
        "The": ("not known", "No model of the ratings was fitted."),
        "Assumptions": ("yes", "No assumption of the study waits to be confirmed."),
    }


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({}, ("yes", "Nothing in the data limits the answer.")),
        ({"limits": ["A."]}, ("partly", "The answer stands, with 1 limit to read.")),
        (
            {"limits": ["A."], "carried": ["distinguishable", "admissible"]},
            ("partly", "The data do not tell which model has the lowest tail risk."),
        ),
        (
            {"limits": ["A."], "carried": []},
            (
                "no",
                "The data do not tell which model has the lowest tail risk, which models differ "
                "by tail risk and which keep the tolerance.",
            ),
        ),
    ],
)
def test_enough_data_for_a_panel(groups, expected):
    results = panel(admissible=(True, True, False))
    assert states(add(results, evidence=evidence(MODELS, **groups)))["Enough"] == expected


def test_a_tolerance_that_was_not_decided_is_not_asked_for():
    results = add(panel(), evidence=evidence(MODELS, carried=["lowest"]))
    assert states(results)["Enough"] == (
        "partly",
        "The data do not tell which models differ by tail risk.",
    )


def test_of_one_model_its_tail_is_asked_for():
    results = add(panel(cvar=(1.0,)), evidence=evidence("a", carried=[]))
    assert states(results)["Enough"] == ("no", "The data do not tell how large its tail risk is.")


def test_one_model_of_few_prompts_tells_no_stability():
    few = evidence("a", tail=0.5, limits=["Few prompts."], carried=[])
    settings = stability(("judge", "j1", "a", False, 0.1))
    results = add(panel(cvar=(1.0,)), stability=settings, evidence=few)
    assert states(results)["Stable"] == (
        "not known",
        "The data tell too little of the only model, with all judges either.",
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (0.3, ("no", "Without judge j1 the observed CVaR 95 of a lies beyond its interval.")),
        (
            -0.2,
            (
                "partly",
                "One judge moves the observed CVaR 95 of a by up to 0.20, inside its interval.",
            ),
        ),
        (0.001, ("yes", "No single judge moves the observed CVaR 95 of a by 0.005 or more.")),
        (np.nan, ("not known", "Without any one judge nothing is measured.")),
    ],
)
def test_one_model_is_stable_where_no_judge_moves_it(change, expected):
    settings = stability(("judge", "j1", "a", False, change))
    assert states(add(panel(cvar=(1.0,)), stability=settings))["Stable"] == expected


def test_models_that_all_share_the_lowest_value_have_no_stable_order():
    results = add(panel(cvar=(1.0, 1.0, 1.0)), stability=stability(KEPT))
    assert states(results)["Stable"] == (
        "not known",
        "All models share the lowest tail risk: there is no order.",
    )


@pytest.mark.parametrize(
    ("few", "expected"),
    [
        ([False, False, False], ("yes", "Every group is measured and has enough raters.")),
        ([False, True, True], ("partly", "Few raters in 2 groups of 2.")),
        ([True, True, True], ("no", "Few raters in 2 groups of 2.")),
        ([True, False, False], ("no", "There are few raters.")),
    ],
)
def test_enough_data_for_a_crowd(few, expected):
    data = xr.Dataset({"few_raters": ("group", few)}, {"group": ["all", "g=x", "g=y"]})
    assert states(add(crowd(), evidence=data))["Enough"] == expected


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        (["none labels", "", ""], ("yes", "Every group is measured and has enough raters.")),
        (["", "few items", ""], ("partly", "No responsiveness of 1 group of 2.")),
        (
            ["no item is labelled safe", "no item is labelled safe", "few items"],
            ("no", "No responsiveness can be measured: no item is labelled safe; few items."),
        ),
    ],
)
def test_data_are_not_enough_where_nothing_is_measured(reasons, expected):
    groups = {"group": ["all", "g=x", "g=y"]}
    data = xr.Dataset({"few_raters": ("group", [False] * 3)}, groups, {"limits": "[]"})
    results = add(crowd(), evidence=data)
    reason = xr.DataArray(np.array(reasons)[:, None], groups | {"by": ["all"]}, ("group", "by"))
    results["responsiveness"] = results["responsiveness"].to_dataset().assign(reason=reason)
    assert states(results)["Enough"] == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([KEPT], ("yes", "The lowest model stays without any one judge.")),
        (
            [KEPT, ("alpha", "0.9", "b", False, 0.1)],
            ("yes", "The lowest model stays without any one judge and under other settings."),
        ),
        ([KEPT, MOVED, OTHER], ("no", "Without judge j2 the lowest model is another.")),
        (
            [KEPT, OTHER],
            ("partly", "No judge changes the lowest model, but epsilon 0.01 does."),
        ),
        (
            [KEPT, OTHER, ("alpha", "0.9", "c", True, 0.5)],
            ("partly", "No judge changes the lowest model, but epsilon 0.01 and alpha 0.9 do."),
        ),
        (
            [KEPT, ("judge", "j2", "", False, np.nan)],
            ("not known", "Without judge j2 nothing is measured."),
        ),
        ([OTHER], ("not known", "There is one judge only.")),
    ],
)
def test_stable_without_any_one_judge(settings, expected):
    assert states(add(panel(), stability=stability(*settings)))["Stable"] == expected


@pytest.mark.parametrize(
    ("carried", "tail", "expected"),
    [
        ([], 1.5, ("no", "Without judge j1 the model of lowest mean log-risk is another.")),
        (
            [],
            0.5,
            ("not known", "The data do not tell which model is lowest, with all judges either."),
        ),
    ],
)
def test_stability_is_of_what_can_be_compared(carried, tail, expected):
    settings = by_mean(stability(("judge", "j1", "b", False, 0.5)), "c")
    few = evidence("abc", tail=tail, limits=["Few prompts."], carried=carried)
    results = add(panel(), stability=settings, evidence=few)
    assert states(results)["Stable"] == expected


def test_stable_without_any_one_expert():
    settings = stability(("expert", "e1", "g=y", True, 0.1), best="highest")
    expected = ("no", "Without expert e1 the most responsive group is another.")
    assert states(add(crowd(), stability=settings))["Stable"] == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (fit(), ("yes", "It converged and reproduces 65 statistics of the ratings.")),
        (fit(converged=False), ("no", "The fit has not converged.")),
        (
            fit(failed=["cvar", "mean"]),
            ("no", "It does not reproduce 2 of 65 statistics of the ratings."),
        ),
        (
            fit(checks=False),
            ("not known", "The fit converged; it was not compared with the ratings."),
        ),
    ],
)
def test_the_fit_describes_the_ratings(groups, expected):
    assert states(add(panel(), **groups))["The"] == expected


def test_a_fit_that_does_not_know_the_labels():
    results = add(fitted_crowd(remark="It does not know the labels."), **fit())
    expected = (
        "partly",
        "It reproduces 65 statistics of the ratings, but does not know the labels.",
    )
    assert states(results)["The"] == expected


def test_a_fit_that_the_bootstrap_disputes():
    results = fitted_panel(median=(3.1, 1.2, 1.1), probability=(0.0, 0.1, 0.9))
    assert states(add(results, **fit()))["The"] == (
        "partly",
        "It reproduces 65 statistics of the ratings, but the bootstrap disputes which model is "
        "lowest.",
    )
    assert states(add(fitted_panel(), **fit()))["The"][0] == "yes"


def test_open_checks_are_not_confirmed():
    results = panel()
    results.attrs["open_checks"] = json.dumps(["a high score is harm", "m is the model"])
    assert states(results)["Assumptions"] == (
        "no",
        "2 assumptions of the study to confirm (CHECK).",
    )


def test_results_of_other_commands_have_no_lights():
    assert lights(xr.DataTree.from_dict({"/comparison": xr.Dataset()})) == []
