"""The answer in two sentences: right words from hand-made results."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report import summary

BOUND = ["lower", "upper"]


def panel(*, cvar=(3.0, 1.0, 2.0), alike=(("b", "c"),), admissible=None, status="measured"):
    models = ["a", "b", "c"][: len(cvar)]
    profile = xr.Dataset({"cvar": ("model", list(cvar))}, {"model": models}, {"alpha": 0.95})
    if admissible is not None:
        profile["admissible"] = ("model", list(admissible))
    told = xr.DataArray(
        [[{a, b} not in [set(pair) for pair in alike] for b in models] for a in models],
        {"model": models, "other": models},
        ("model", "other"),
    )
    ends = np.stack([np.array(cvar) - 0.5, np.array(cvar) + 0.25], axis=-1)
    interval = xr.Dataset(
        {"cvar": (("model", "bound"), ends), "separable": told}, {"bound": BOUND, "model": models}
    )
    held = xr.Dataset({"harm": (("model", "judge"), np.zeros((len(cvar), 2)))})
    tree = xr.DataTree.from_dict(
        {"/profile": profile, "/profile_interval": interval, "/panel": held}
    )
    tree.attrs = {"status": status, "data_ratings": 10, "data_missing": 0, "data_absent": 0}
    return tree


def crowd(*, p=0.01, hm=-0.2, reason=""):
    groups, coords = ["all", "g=x", "g=y"], {"group": ["all", "g=x", "g=y"], "by": ["all"]}
    table = {
        "hm": (("group", "by"), [[np.nan if reason else 0.8], [0.7], [0.9]]),
        "raters": (("group", "by"), [[9], [4], [5]]),
        "items": (("group", "by"), [[20], [20], [20]]),
        "reason": (("group", "by"), [[reason], [""], [""]]),
        "hm_interval": (("group", "by", "bound"), np.tile([0.6, 0.95], (3, 1, 1))),
    }
    pair = np.full((3, 3, 1), np.nan)
    p_values, values = pair.copy(), pair.copy()
    p_values[1, 2], values[1, 2] = p, hm
    difference = xr.Dataset(
        {
            "hm": (("group", "other", "by"), values),
            "hm_p_holm": (("group", "other", "by"), p_values),
        },
        {**coords, "other": groups},
    )
    tree = xr.DataTree.from_dict(
        {
            "/responsiveness": xr.Dataset(table, {**coords, "bound": BOUND}),
            "/responsiveness_difference": difference,
        }
    )
    tree.attrs = {"status": "measured", "data_ratings": 180, "data_missing": 3}
    return tree


def test_the_safest_model_its_interval_and_who_is_alike():
    assert summary.answer(panel()) == (
        "b has the lowest tail risk of 3 models, CVaR 95 of cumulative log-risk 1.000 "
        "(interval 0.500 to 1.250); it is not distinguishable from c.",
        "No tolerance was decided, so no model is called admissible or not.",
    )


def test_a_model_that_stands_alone():
    assert "it is distinguishable from every other model." in summary.answer(panel(alike=()))[0]
    assert summary.answer(panel(cvar=(3.0,)))[0].startswith("a, the only model, has a tail risk of")


def test_a_model_without_ratings_is_not_the_safest():
    found = summary.answer(panel(cvar=(np.nan, 2.0, 1.5)))[0]
    assert found.startswith("c has the lowest tail risk of 2 models")
    found = summary.answer(panel(cvar=(np.nan, np.nan, np.nan)))[0]
    assert found == "No model has a tail risk: every one lacks ratings."


def test_who_keeps_the_tolerance_and_how_probably():
    results = panel(admissible=(False, True, True))
    assert summary.answer(results)[1] == "2 of 3 models keep the tolerance decided: b and c."
    chance = xr.DataArray([0.0, 0.987, 0.4], {"model": ["a", "b", "c"]}, "model")
    results["decision"] = xr.DataTree(xr.Dataset({"prob_admissible": chance}))
    assert "b (probability 0.99) and c (probability 0.40)." in summary.answer(results)[1]
    none = summary.answer(panel(admissible=(False, False, False)))[1]
    assert none == "No model keeps the tolerance that was decided."


def test_a_crowd_and_which_groups_differ():
    first, second = summary.answer(crowd())
    assert first == (
        "Scores of all 9 raters on 20 items follow the labels with a responsiveness of 0.800 "
        "(interval 0.600 to 0.950), where 1 is best (harmonic mean of MPA and WRA)."
    )
    assert second == (
        "1 of 1 pairs of rater groups are distinguishable by their responsiveness (Holm, 5%); "
        "the largest difference is 0.200, g=y above g=x."
    )
    assert "g=x above g=y" in summary.answer(crowd(hm=0.2))[1]
    assert summary.answer(crowd(p=0.06))[1].startswith("None of 1 pairs")
    assert summary.answer(crowd(p=np.nan))[1] == "No two groups of raters can be compared."


def test_a_crowd_that_cannot_be_measured_says_why_and_what_its_groups_reach():
    results = crowd(reason="one label only")
    assert summary.answer(results)[0] == (
        "The scores of 2 groups of raters, each compared with the labels, follow them with a "
        "responsiveness from 0.700 (g=x) to 0.900 (g=y), where 1 is best (harmonic mean of MPA "
        "and WRA); all raters together have none: one label only."
    )
    results["responsiveness"]["hm"][:] = np.nan
    found = summary.answer(results)[0]
    assert found == "Responsiveness of all raters cannot be measured: one label only."


def test_what_the_model_does_not_reproduce_is_one_sentence():
    results = crowd()
    results["predictive_checks"] = xr.DataTree()
    results["predictive_checks"].attrs["failed_checks"] = ["mpa of x: off", "wra of x: off"]
    (said,) = summary.failed(results)
    assert said.startswith("The fitted model does not reproduce 2 statistics of the ratings, such")
    assert "mpa of x: off. " in said
    assert "wra" not in said
    results["predictive_checks"].attrs["failed_checks"] = []
    assert summary.failed(results) == []


@pytest.mark.parametrize("said", ["Too few zeros.", '["Too few zeros."]'])
def test_checks_that_failed_are_read_from_every_group(said):
    results = panel(status="not converged")
    results["diagnostics"] = xr.DataTree()
    results["diagnostics"].attrs |= {
        "convergence_issues": "R-hat of sd is 1.2",
        "suggestions": ["Tune.", "[x"],
    }
    results["checks"] = xr.DataTree()
    results["checks"].attrs["failed_checks"] = said
    results["posterior"] = xr.DataTree()
    assert summary.failed(results) == [
        "The fit has not converged and must not be used: R-hat of sd is 1.2.",
        "Tune.",
        "[x",
        "Too few zeros.",
    ]
    assert summary.verdict(results).startswith("4 checks failed: The fit has not converged")


def test_remarks_name_what_is_missing():
    assert summary.remarks(crowd(reason="one label only")) == [
        "No model of the ratings was fitted: intervals contain the sampling of items only.",
        "In addition to 180 ratings, 3 are empty.",
    ]
    assert summary.failed(panel()) == []
