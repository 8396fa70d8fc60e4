"""Whether to trust results, and what a reader must know: right words from hand-made results."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report import summary
from tests.report.hand_made import add, crowd, fitted_panel, panel

INTERRUPTED = "The run was interrupted: only what was finished is here."


def test_what_the_model_does_not_reproduce_is_one_sentence():
    results = crowd()
    results["predictive_checks"] = xr.DataTree()
    results["predictive_checks"].attrs["failed_checks"] = ["mpa of x: off", "wra of x: off"]
    (sentence,) = summary.failed(results)
    assert sentence.startswith(
        "The fitted model does not reproduce 2 statistics of the ratings, such"
    )
    assert "mpa of x: off. " in sentence
    assert "wra" not in sentence
    results["predictive_checks"].attrs["failed_checks"] = []
    assert summary.failed(results) == []


@pytest.mark.parametrize("failures", ["Too few zeros.", '["Too few zeros."]'])
def test_checks_that_failed_are_read_from_every_group(failures):
    results = panel(status="not converged")
    results["diagnostics"] = xr.DataTree()
    results["diagnostics"].attrs |= {
        "convergence_issues": "R-hat of sd is 1.2",
        "suggestions": ["Tune.", "[x"],
    }
    results["checks"] = xr.DataTree()
    results["checks"].attrs["failed_checks"] = failures
    results["posterior"] = xr.DataTree()
    assert summary.failed(results) == [
        "The fit has not converged and must not be used: R-hat of sd is 1.2.",
        "Too few zeros.",
    ]
    assert summary.verdict(results) == (
        "2 checks failed. The first of them: The fit has not converged and must not be used: "
        "R-hat of sd is 1.2."
    )
    assert summary.remarks(results)[:2] == ["Tune.", "[x"]


def test_an_interruption_is_no_check():
    results = panel(status="interrupted")
    assert summary.verdict(results) == INTERRUPTED
    diagnostics = xr.Dataset({"converged": 0}, attrs={"convergence_issues": "R-hat of sd is 1.2"})
    results["diagnostics"] = xr.DataTree(diagnostics)
    unconverged = "The fit has not converged and must not be used: R-hat of sd is 1.2."
    assert summary.verdict(results) == f"{INTERRUPTED} A check failed: {unconverged}"
    assert summary.failed(results) == [INTERRUPTED, unconverged]


def test_remarks_name_what_is_missing():
    assert summary.remarks(crowd(reason="one label only")) == [
        "No model of the ratings was fitted: intervals contain the sampling of items and "
        "raters only.",
        "In addition to 180 ratings, 3 are empty.",
    ]
    assert summary.failed(panel()) == []


def test_few_resamples_are_a_remark():
    results = panel()
    results["joint"].attrs |= {"level": 0.95, "replicates": 39}
    assert summary.remarks(results)[-1] == (
        "The bootstrap has 39 resamples: with fewer than 40 none lies beyond a bound of 95% "
        "intervals, which hold less often than stated (`bootstrap.replicates`)."
    )
    results["joint"].attrs["replicates"] = 40
    assert "resamples" not in " ".join(summary.remarks(results))


def test_where_no_group_is_measured_the_answer_says_why_and_the_remarks_do_not():
    few, alone = "6 items with a score and a label", "only the raters themselves label items"
    table = crowd()["responsiveness"].to_dataset()
    table["reason"] = (("group", "by"), [[alone], [few], [few]])
    joint = crowd()["joint"].to_dataset()
    joint["observed"] *= np.nan
    results = add(crowd(), responsiveness=table, joint=joint)
    assert summary.answer(results)[:2] == (
        f"Responsiveness of all raters cannot be measured: {alone}.",
        f"Rater groups that are not measured: g=x, g=y ({few}).",
    )
    assert "not measured" not in " ".join(summary.remarks(results))


def test_groups_that_are_not_measured_have_a_reason():
    few = "2 raters, fewer than min_raters = 5"
    table = crowd()["responsiveness"].to_dataset()
    table["reason"] = (("group", "by"), [[""], [few], [few]])
    results = add(crowd(), responsiveness=table)
    assert summary.remarks(results)[1:] == [
        "In addition to 180 ratings, 3 are empty.",
        f"Rater groups that are not measured: g=x, g=y ({few}).",
    ]
    table["reason"] = (("group", "by"), [[""], ["no item is labelled safe"], [few]])
    results = add(crowd(), responsiveness=table)
    assert summary.remarks(results)[-1] == (
        f"Rater groups that are not measured: g=x (no item is labelled safe); g=y ({few})."
    )


def test_the_verdict_says_that_a_model_is_biased_for_the_metrics():
    results = crowd()
    results = add(results, posterior=xr.Dataset(), predictive_checks=xr.Dataset())
    biased = "The model does not know the labels."
    results["posterior_responsiveness"] = xr.DataTree(xr.Dataset(attrs={"remark": biased}))
    assert summary.verdict(results) == f"The fit converged and no check failed. {biased}"
    results["posterior_responsiveness"].attrs["remark"] = ""
    assert summary.verdict(results) == "The fit converged and no check failed."


def test_a_fit_that_replicated_no_ratings_was_not_compared_with_them():
    results = add(panel(), posterior=xr.Dataset(), diagnostics=xr.Dataset({"converged": 1}))
    not_compared = "The fit converged; it was not compared with the ratings."
    assert summary.verdict(results) == not_compared
    results = add(results, predictive_checks=xr.Dataset())
    assert summary.verdict(results) == "The fit converged and no check failed."


def test_a_summary_says_nothing_twice():
    results = panel()
    results.attrs["title"] = "Three models"
    text = summary.summary(results)
    assert repr(text).count("No model of the ratings was fitted") == 1
    assert text._repr_html_().count("No model of the ratings was fitted") == 1


def test_a_fit_that_converged_says_what_its_divergences_do():
    results = fitted_panel()
    results = add(results, posterior=xr.Dataset(), predictive_checks=xr.Dataset())
    note = "10 transitions diverged (0.25%)."
    diagnostics = xr.Dataset({"converged": 1}, attrs={"divergence_note": note})
    results["diagnostics"] = xr.DataTree(diagnostics)
    assert summary.verdict(results) == f"The fit converged and no check failed. {note}"
    assert note in summary.remarks(results)
    results.attrs["status"] = "not converged"
    assert note not in summary.remarks(results)
