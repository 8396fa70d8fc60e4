"""What `compare` says first: which model predicts best, or that nothing tells."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t

from sharpbayes.analysis.predictive_order import predicts_worse
from sharpbayes.report.summary import answer


def compared(gaps, errors, *, units=60, bad=(), converged=(), by="item"):
    """A comparison of as many models as there are differences, the first of them 0."""
    count = len(gaps)
    of_model = {
        "elpd": -700.0 - np.array(gaps, dtype=float),
        "elpd_difference": -np.array(gaps, dtype=float),
        "difference_se": np.array(errors, dtype=float),
        "bad_k": [*bad] or [0] * count,
        "refitted": [0] * count,
        "converged": [*converged] or [1] * count,
        "integrated": [""] * count,
    }
    data = xr.Dataset(
        {name: ("model", values) for name, values in of_model.items()},
        {"model": [f"m{n}" for n in range(count)], "unit": np.arange(units)},
        {"by": by, "without_unit": 0},
    )
    return xr.DataTree.from_dict({"/comparison": data})


def test_the_model_that_predicts_best_is_named_with_its_lead():
    assert answer(compared([0, 20.0, 30.0], [0, 5.0, 6.0])) == (
        "m0 predicts the ratings of a left-out item best: the expected log predictive density of "
        "m0 is 20.0 above that of m1 (standard error 5.0).",
    )
    [alone] = answer(compared([0, 20.0], [0, 5.0], by="rating"))
    assert alone.startswith("m0 predicts left-out ratings best: ")


def test_models_that_nothing_distinguishes_are_named_together():
    first, second = answer(compared([0, 3.0, 30.0], [0, 1.0, 6.0]))
    assert first == (
        "These ratings do not tell which of m0 and m1 predicts the ratings of a left-out item "
        "best: the expected log predictive density of m0 is 3.0 above that of m1 (standard "
        "error 1.0). A choice between them needs another reason."
    )
    assert second.startswith("m0 predicts better than m2: ")


def test_a_fit_that_has_not_converged_is_not_compared():
    assert answer(compared([0, 20.0], [0, 5.0], converged=[1, 0])) == (
        "The fit of m1 has not converged: which model predicts best is not known.",
    )
    [both] = answer(compared([0, 20.0], [0, 5.0], converged=[0, 0]))
    assert both.startswith("The fits of m0 and m1 have not converged: ")


def test_units_that_are_not_predicted_reliably_are_counted():
    some = answer(compared([0, 20.0], [0, 5.0], bad=[0, 6]))
    assert some[1] == (
        "6 units of 60 by m1 were not predicted reliably, nor fitted again; --refits does."
    )
    [many] = answer(compared([0, 20.0], [0, 5.0], bad=[0, 7]))
    assert many.startswith("Which model predicts best is not known: 7 of 60 units")


@pytest.mark.parametrize("units", [6, 60])
def test_a_difference_is_read_beyond_four_and_beyond_what_chance_gives(units):
    """The quantile is shared by the comparisons with the first model."""
    limit = t.ppf(1 - 0.05 / 4, units - 1)
    gaps = [0, 2.0 * limit - 0.01, 2.0 * limit + 0.01]
    worse = predicts_worse(compared(gaps, [0, 2.0, 2.0], units=units)["comparison"].to_dataset())
    assert worse.to_numpy().tolist() == [False, False, True]
    small = compared([0, 3.9, 4.1], [0, 0.1, 0.1], units=units)
    assert predicts_worse(small["comparison"].to_dataset()).to_numpy().tolist() == [
        *(False, False, True)
    ]
    few = compared([0, 50.0], [0, 1.0], units=4)
    assert not predicts_worse(few["comparison"].to_dataset()).any()
