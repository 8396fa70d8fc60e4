"""Sentences about slopes of numbers."""

import pytest
import xarray as xr

from sharpbayes.report.tables.slopes import slope_sentences


def slopes_of(by):
    """Slopes of a column: the common one, and that of a judge where there are any."""
    names = ["size", *["size j0"] * bool(by)]
    interval = (("slope", "bound"), [[-1.5, -0.5]] * len(names))
    data = {
        "column": ("slope", ["size"] * len(names)),
        "by": ("slope", ["", *[by] * bool(by)]),
        "mean": ("slope", [-1.0] * len(names)),
        "interval": interval,
        "range_mean": ("slope", [-1.0] * len(names)),
        "range_interval": interval,
    }
    coords = {"slope": names, "covariate": ["size"], "bound": ["lower", "upper"]}
    slopes = xr.Dataset(data, coords, {"link": "logit"})
    return xr.DataTree.from_dict({"/slopes": slopes})


@pytest.mark.parametrize(
    ("by", "alike"),
    [("", ", if this is the same for all (the model has no `by` for it)"), ("judge", "")],
)
def test_a_slope_without_by_is_said_to_be_taken_for_the_same(by, alike):
    assert list(slope_sentences(slopes_of(by))) == [
        "Less harm is seen where size is larger: −1.00 (−1.50 to −0.50) logits from its lowest to "
        f"its highest{alike}."
    ]
