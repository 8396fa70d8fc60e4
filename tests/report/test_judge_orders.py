"""What the answer and its status box say of differences that are lost without a judge."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.lights import lights
from sharpbayes.report.summary import answer
from tests.report.hand_made import add, by_mean, evidence, fitted_panel, panel, stability

JUDGES = ("j1", "j2", "j3")


def settings(unresolved, decisive, *, judges=JUDGES, changed=None):
    """Stability of a panel that is lowest in b, with what is lost without each judge."""
    is_changed = changed or [False] * len(judges)
    rows = [
        ("judge", judge, "c" if moved else "b", moved, 0.0)
        for judge, moved in zip(judges, is_changed, strict=True)
    ]
    lost = {"unresolved": ("setting", unresolved), "decisive": ("setting", decisive)}
    return stability(*rows).assign(lost)


def said(results):
    """Sentences on judges."""
    return [text for text in answer(results) if "judge" in text and "distinguishable from" in text]


def light(results):
    """The status box of judges."""
    [box] = [box for box in lights(results) if box.question.startswith("Stable")]
    return box.state, box.reason


@pytest.mark.parametrize(
    ("unresolved", "decisive", "sentences", "box"),
    [
        (
            ["", "", "a"],
            [False, False, True],
            [
                "Without judge j3 b is no longer distinguishable from a by tail risk: the order "
                "rests on judge j3."
            ],
            ("no", "Without judge j3 b is no longer distinguishable from a by tail risk."),
        ),
        (
            ["", "", "a"],
            [False, False, False],
            [
                "Without judge j3 b is no longer distinguishable from a by tail risk; chance alone "
                "may explain that."
            ],
            ("partly", "Without judge j3 b is no longer distinguishable from a by tail risk."),
        ),
        (
            ["a", "", "a"],
            [True, False, True],
            [
                "Without any one of judges j1 and j3 b is no longer distinguishable from a by tail "
                "risk: the order rests on each of them."
            ],
            (
                "no",
                "Without any one of judges j1 and j3 b is no longer distinguishable from a by tail "
                "risk.",
            ),
        ),
        (
            ["a", "a", "a"],
            [False, False, True],
            [
                "Without judge j3 b is no longer distinguishable from a by tail risk: the order "
                "rests on judge j3.",
                "Without any one of judges j1 and j2 b is no longer distinguishable from a by tail "
                "risk; chance alone may explain that.",
            ],
            ("no", "Without judge j3 b is no longer distinguishable from a by tail risk."),
        ),
    ],
)
def test_a_difference_that_is_lost_without_a_judge(unresolved, decisive, sentences, box):
    results = add(panel(), stability=settings(unresolved, decisive))
    assert said(results) == sentences
    assert not any("No single judge changes" in text for text in answer(results))
    assert (
        answer(results)[-1] == "No single judge moves the observed CVaR 95 of b by 0.005 or more."
    )
    assert light(results) == box


def test_judges_who_score_alike_are_named_together():
    lost = settings(["", "a"], [False, True], judges=("j1", "j2 and j3"))
    lost["kind"] = ("setting", ["judge", "judges"])
    pair = {"pair": ["j2 vs j3"], "model": ["a"], "dimension": ["harm"]}
    dims = tuple(pair)
    alike = xr.Dataset(
        {name: (dims, np.full((1, 1, 1), x)) for name, x in (("equal_share", 1.0), ("overlap", 9))},
        pair,
        {"alike_judges": '{"j2 and j3": ["j2", "j3"]}'},
    )
    alike["concordance"] = xr.ones_like(alike["equal_share"])
    alike["concordance_mean"] = alike["concordance"].mean("model")
    results = add(panel(), stability=lost, judges=alike)
    [sentence] = said(results)
    assert sentence == (
        "Without judges j2 and j3 b is no longer distinguishable from a by tail risk: the order "
        "rests on them."
    )


def test_a_judge_without_whom_another_model_is_lowest_is_named_for_that():
    results = add(
        panel(), stability=settings(["a", "", ""], [True] * 3, changed=[True, False, False])
    )
    assert said(results) == []
    assert answer(results)[-1].startswith("The answer depends on the judge j1: without it")
    assert light(results) == ("no", "Without judge j1 the lowest model is another.")


def test_a_difference_that_the_answer_does_not_state_is_not_lost():
    unknown = evidence("abc", carried=["lowest"])
    results = add(panel(), stability=settings(["a", "", ""], [True] * 3), evidence=unknown)
    assert said(results) == []
    assert light(results)[0] == "yes"


def test_after_a_fit_that_names_the_same_model_it_is_said_too():
    results = add(fitted_panel(), stability=settings(["", "", "a"], [False, False, True]))
    assert len(said(results)) == 1
    other = fitted_panel(probability=(0.0, 0.4, 0.6))
    assert said(add(other, stability=settings(["", "", "a"], [False, False, True]))) == []


def test_results_of_earlier_versions_know_the_sign_alone():
    plain = settings(["a", "", ""], [True] * 3).drop_vars(["unresolved", "decisive"])
    results = add(panel(), stability=plain)
    assert said(results) == []
    assert light(results)[0] == "yes"


def test_by_the_mean_where_tails_do_not_tell():
    few = evidence("abc", tail=1.5, limits=["Few prompts."], carried=[])
    moved = by_mean(settings(["", "", ""], [False] * 3), "b").assign(
        lojo_unresolved=(("metric", "judge_out"), np.array([["", "", "a and c"]])),
        lojo_decisive=(("metric", "judge_out"), np.array([[False, False, True]])),
    )
    [sentence] = said(add(panel(), stability=moved, evidence=few))
    assert sentence == (
        "Without judge j3 b is no longer distinguishable from a and c by mean log-risk: the order "
        "rests on judge j3."
    )
