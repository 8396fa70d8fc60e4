"""Tables of fits and of their comparison."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.tables.declaration import build_tables
from sharpbayes.report.tables.fit import MANY_FITS_TABLES


def compared(*, bad=0, behind=2.0, error=3.0):
    """A comparison of two models over 60 units, of which some are not predicted reliably."""
    of_model = {
        "elpd": [-734.0, -736.0],
        "elpd_difference": [0.0, -behind],
        "difference_se": [0.0, error],
        "weight": [0.6, 0.4],
        "p": [np.nan, 0.5],
        "bad_k": [bad, 0],
        "refitted": [0, 0],
        "converged": [1, 1],
        "integrated": ["prompt", "prompt"],
    }
    data = xr.Dataset(
        {name: ("model", values) for name, values in of_model.items()},
        {"model": ["p1", "p2"], "unit": np.arange(60)},
        {"by": "prompt", "without_unit": 0},
    )
    return xr.DataTree.from_dict({"/comparison": data})


@pytest.mark.parametrize(("bad", "is_read"), [(6, True), (7, False), (41, False)])
def test_no_order_is_read_where_many_units_are_not_predicted_reliably(bad, is_read):
    note = build_tables(MANY_FITS_TABLES, compared(bad=bad))[0].note
    assert note.endswith("Not shown to predict worse than the first: p2.") == is_read
    assert note.endswith("neither the order nor the differences can be read.") != is_read


@pytest.mark.parametrize(("behind", "error"), [(0.0, 0.0), (6.0, 3.0), (6.1, 3.0)])
def test_a_fit_that_predicts_as_well_as_the_first_is_named(behind, error):
    note = build_tables(MANY_FITS_TABLES, compared(behind=behind, error=error))[0].note
    assert ("Not shown to predict worse than the first: p2." in note) == (behind <= 2 * error)
