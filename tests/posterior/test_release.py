"""What a release tells is what its own answer tells: choice, verdicts, and what is compared."""

import pytest
import xarray as xr

from sharpbayes.posterior.lowest import is_disputed
from sharpbayes.posterior.release import (
    choose_model,
    read_verdicts,
    rests_on_unseen_ends,
    tells_means,
    tells_tails,
)
from sharpbayes.report.tables.declaration import View
from tests.report.hand_made import ALL, add, crowd, evidence, fitted_panel, panel

MODELS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, "b"),
        ({"carried": []}, "cannot tell"),
        ({"carried": [], "companion": True}, "b (by policy score)"),
        ({"carried": [], "tail": 1.5}, "b (by mean log-risk)"),
        ({"carried": [], "tail": 0.5}, "cannot tell"),
    ],
)
def test_the_model_is_lowest_by_what_the_evidence_compares(parts, expected):
    assert choose_model(panel()) == "b"
    assert choose_model(add(panel(), evidence=evidence(MODELS, **parts))) == expected


@pytest.mark.parametrize("results", [panel(), fitted_panel()])
def test_a_choice_by_tails_that_unseen_ends_could_change_is_on_condition(results):
    """a lies 2 above b: 1% of prompts at the end of the scale would add 2.8."""
    known = evidence(MODELS).assign(unseen_end_share=("model", [0.0, 0.01, 0.0]))
    known = add(results, evidence=known.assign_attrs(epsilon=1e-6, alpha=0.95))
    assert choose_model(known) == "b"
    assert rests_on_unseen_ends(known, "b")
    assert not rests_on_unseen_ends(known, "b (by policy score)")
    assert not rests_on_unseen_ends(known, "cannot tell")
    known["evidence"]["unseen_end_share"][:] = 0
    assert not rests_on_unseen_ends(known, "b")


@pytest.mark.parametrize("results", [panel(), fitted_panel()])
@pytest.mark.parametrize(("share", "is_open"), [(0.06, True), (0.05, False)])
def test_a_choice_by_scores_that_unseen_ends_could_change_is_on_condition(results, share, is_open):
    """c lies 0.05 above b, whose score of 0.05 a share u of such answers raises by 0.95 u."""
    known = evidence(MODELS, carried=[], companion=True)
    known = known.assign(unseen_end_share=("model", [0.0, share, 0.0]))
    known = add(results, evidence=known.assign_attrs(epsilon=1e-6, alpha=0.95))
    assert choose_model(known) == "b (by policy score)"
    assert rests_on_unseen_ends(known, "b (by policy score)") == is_open
    assert not rests_on_unseen_ends(known, "cannot tell")


def test_the_only_model_is_chosen():
    assert choose_model(add(panel(cvar=(1.0,)), evidence=evidence("a", carried=[]))) == "a"


@pytest.mark.parametrize(
    ("carried", "expected"), [(ALL, "b"), (["distinguishable"], "cannot tell")]
)
def test_a_selection_by_unknown_tails_is_no_choice(carried, expected):
    results = add(fitted_panel(), evidence=evidence(MODELS, carried=carried))
    assert choose_model(results) == expected


def test_a_selection_by_the_policy_score_says_so():
    results = add(fitted_panel(), evidence=evidence(MODELS, carried=[]))
    decision = results["decision"].to_dataset().assign_attrs(criterion="policy_score")
    assert choose_model(add(results, decision=decision)) == "b (by policy score)"


@pytest.mark.parametrize(
    ("probability", "disputed", "expected"),
    [
        ((0.0, 0.9, 0.1), False, "b (by mean log-risk)"),
        ((0.6, 0.3, 0.1), False, "a (by mean log-risk)"),
        ((0.9, 0.1, 0.0), True, "cannot tell"),
    ],
)
def test_a_fit_that_recommends_none_names_the_lowest_of_its_posterior(
    probability, disputed, expected
):
    """``a`` is lowest by the posterior and ``b`` observed: if that is sure, it is disputed."""
    limited = evidence(MODELS, carried=[], tail=1.5)
    results = add(fitted_panel(probability=probability), evidence=limited)
    assert choose_model(results) == expected
    assert is_disputed(View(results), "mean") == disputed


def test_a_choice_by_the_policy_score_says_so_of_one_model_and_of_several():
    one = {"cvar": (1.0,)}
    fit = fitted_panel(**one, median=(1.0,), probability=(1.0,))
    choices = []
    for results in (panel(**one), fit, panel()):
        results.attrs["weights"] = '[decision]\nby = "policy_score"\n'
        choices.append(
            choose_model(add(results, evidence=evidence(results["joint"]["model"].values)))
        )
    assert choices == ["a (by policy score)", "a (by policy score)", "b (by policy score)"]


def test_verdicts_go_no_further_than_the_evidence():
    results = panel(admissible=(True, True, False))
    known = {"a": "within", "b": "within", "c": "beyond"}
    assert read_verdicts(add(results, evidence=evidence(MODELS))) == known
    results = add(results, evidence=evidence(MODELS, carried=["lowest"]))
    assert set(read_verdicts(results).values()) == {"cannot tell"}
    state = [["not admissible", "admissible", "admissible"]]
    labels = {"threshold": ["mean"], "model": MODELS}
    results = add(results, tolerance=xr.Dataset({"state": (tuple(labels), state)}, labels))
    assert read_verdicts(results) == {"a": "not admissible", "b": "cannot tell", "c": "cannot tell"}


def test_without_a_tolerance_there_is_no_verdict():
    results = add(panel(), evidence=evidence(MODELS, carried=[]))
    assert set(read_verdicts(results).values()) == {"no tolerance"}
    assert read_verdicts(crowd()) == dict.fromkeys(["all", "g=x", "g=y"], "-")


@pytest.mark.parametrize(
    ("parts", "tails", "means"),
    [
        ({}, True, True),
        ({"carried": ["lowest"], "tail": 1.5}, False, True),
        ({"carried": [], "tail": 0.5}, False, False),
    ],
)
def test_what_is_compared_depends_on_the_evidence(parts, tails, means):
    results = add(panel(), evidence=evidence(MODELS, **parts))
    assert (tells_tails(results), tells_means(results)) == (tails, means)


def test_a_crowd_has_means_and_no_tails():
    assert (tells_tails(crowd()), tells_means(crowd())) == (False, True)
