"""Sentences about what other fits of a study select, and which have not converged."""

import xarray as xr

from sharpbayes.report.lights import _objection_to_fit
from sharpbayes.report.panel_answer import panel_answer
from sharpbayes.report.refits import refit_sentences
from sharpbayes.report.tables.declaration import View
from tests.report.hand_made import add, fitted_panel, refits


def sentences(tree):
    return list(refit_sentences(View(tree)))


def test_the_answer_says_which_fit_selects_another_model_and_which_has_not_converged():
    fits = {"without judge j1": "a", "priors x 0.5": "b", "priors x 2": "b"}
    tree = add(fitted_panel(), sensitivity=refits(fits, failed=["priors x 2"]))
    expected = [
        "Other fits do not select b but a without judge j1.",
        "Other fits also select b: with priors half as wide and with priors twice as wide.",
        "Of other fits, 1 fit has not converged and says little: with priors twice as wide.",
    ]
    assert sentences(tree) == expected
    assert {*expected} <= {*panel_answer(View(tree))}
    assert _objection_to_fit(View(tree)) == "1 other fit selects other models"


def test_fits_that_select_the_same_are_no_objection():
    fits = {"priors x 3": "b", "errors of judges correlate 0.3": "b"}
    tree = add(fitted_panel(), sensitivity=refits(fits))
    assert sentences(tree) == [
        "Other fits also select b: with priors 3 times as wide and with errors of judges that "
        "correlate 0.3."
    ]
    assert _objection_to_fit(View(tree)) == ""


def test_of_a_crowd_the_largest_shift_is_said():
    shift = xr.DataArray(
        [[[0.0], [0.0]], [[0.1], [-0.456]]],
        {"refit": ["baseline", "priors x 2"], "group": ["all", "g=x"], "by": ["all"]},
        ("refit", "group", "by"),
    )
    table = xr.Dataset({"hm_shift": shift, "converged": ("refit", [1, 1])})
    tree = add(fitted_panel(), sensitivity=table)
    assert sentences(tree) == [
        "In other fits HM moves by at most 0.46 of its posterior sd (g=x, with priors twice as "
        "wide)."
    ]


def test_without_other_fits_nothing_is_said():
    assert sentences(fitted_panel()) == []
    assert sentences(add(fitted_panel(), sensitivity=refits({}))) == []
