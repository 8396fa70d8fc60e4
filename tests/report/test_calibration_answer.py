"""What `calibrate` says first: what ranks contradict, and how little few simulations tell."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.calibration_answer import NO_BASE
from sharpbayes.report.summary import answer

QUANTITIES = ["sd_item", "WRA[all]"]


def calibration(*, p=(0.2, 0.6), converged=20, **attrs):
    """Simulations of two quantities, of which the first has the lower coverage."""
    coverage = np.array([[0.5, 0.7], [0.45, 0.95]])
    data = xr.Dataset(
        {
            "p_holm": ("quantity", list(p)),
            "coverage": (("quantity", "level"), coverage),
            "coverage_lower": (("quantity", "level"), coverage - 0.2),
            "coverage_upper": (("quantity", "level"), (coverage + 0.15).clip(max=1.0)),
            "fit_converged": ("simulation", np.arange(20) < converged),
        },
        {"quantity": QUANTITIES, "level": [0.5, 0.9], "simulation": np.arange(20)},
        {"base_converged": 1} | attrs,
    )
    return xr.DataTree.from_dict({"/calibration": data})


def test_few_simulations_are_no_proof_of_calibration():
    assert answer(calibration()) == (
        "Nothing in 20 simulations contradicts that the fits are calibrated: the smallest "
        "corrected p value of 2 quantities is 0.2.",
        "Of all true values 82% lie in their 90% intervals; the lowest share, of sd_item, is 70%, "
        "and so many simulations tell no more than 50% to 85% (95% interval).",
        "20 of 20 fits met the limits of convergence.",
    )


def test_quantities_with_uneven_ranks_are_named():
    assert answer(calibration(p=(0.2, 0.01)))[0] == (
        "The fits are not calibrated: in 20 simulations the ranks of the true values of WRA[all] "
        "are not uniform; the smallest corrected p value of 2 quantities is 0.01."
    )


@pytest.mark.parametrize(
    ("converged", "sentence"),
    [
        (15, "15 of 20 fits met the limits of convergence; the others count too."),
        (
            0,
            "None of 20 fits met the limits of convergence: this tells little of fits that do, "
            "which alone are shown as results.",
        ),
    ],
)
def test_fits_that_have_not_converged_are_counted(converged, sentence):
    assert answer(calibration(converged=converged))[2] == sentence


def test_truths_of_a_fit_that_has_not_converged_tell_nothing():
    assert answer(calibration(base_converged=0))[0] == NO_BASE


def test_the_bootstrap_is_counted_beside_the_fits():
    results = calibration(bootstrap_level=0.95, bootstrap_studies=20)
    shares = [[0.9, 0.8], [0.6, 0.7]]
    data = results["calibration"].to_dataset().assign_coords(metric=["mean", "cvar"])
    data["bootstrap_coverage"] = (("metric", "model"), shares)
    results["calibration"] = xr.DataTree(data)
    assert answer(results)[-1] == (
        "At this design 95% bootstrap intervals held the value of new prompts in these shares of "
        "20 simulated studies: mean log-risk 85%; tail risk 65%."
    )


@pytest.mark.parametrize("share", [0.04, 0.3])
def test_looking_again_is_said_to_err_only_where_that_is_shown(share):
    shares = np.array([[[0.02, share], [0.0, 0.01]]])
    variables = dict.fromkeys(("wrong", "ever_wrong"), (("world", "rule", "look"), shares))
    errors = {f"{name}_mcse": (("world", "rule", "look"), shares / 10) for name in variables}
    rules = ["fixed, policy score", "bootstrap, CVaR"]
    coords = {"world": ["no difference"], "rule": rules, "look": [1, 2]}
    attrs = {"first": "a", "second": "b", "level": 0.95, "simulations": 300}
    data = xr.Dataset(variables | errors, coords, attrs)
    first, second = answer(xr.DataTree.from_dict({"/peeking": data}))
    assert first.startswith("Where a and b do not differ, deciding at any of 2 looks is wrong in ")
    assert f"the fixed interval of the policy score {100 * share:.1f} \u00b1 " in first
    assert "the bootstrap interval of CVaR 1.0 \u00b1 0.1%" in first
    assert second == (
        "Whoever looks again and again errs more often than the 5% that is meant by the fixed "
        "interval of the policy score."
        if share > 0.05
        else "No rule is shown to err more often than the 5% that is meant."
    )
