import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.normalisation import normalise, reverse
from sharpbayes.spec.scales import (
    BooleanScale,
    CategoricalScale,
    OrdinalScale,
    normalised_scores,
)

TABLE = xr.DataArray(
    [[0.0, 1.0, np.nan], [0.0, 0.5, 1.0]],
    {"indicator": ["flag", "explicitness"]},
    ("indicator", "score"),
)


def test_lookup_equals_a_plain_loop_whatever_the_order_of_dimensions():
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 3, (2, 5, 3))
    level = xr.DataArray(codes, {"indicator": TABLE["indicator"]}, ("indicator", "prompt", "judge"))
    normalised = normalise(level, TABLE)
    assert normalised.dims == ("indicator", "prompt", "judge")
    assert normalised.dtype == np.float64
    for i, j, k in np.ndindex(codes.shape):
        code = codes[i, j, k]
        expected = np.nan if code == -1 else TABLE.values[i, code]
        np.testing.assert_equal(normalised.values[i, j, k], expected)


def test_lookup_refuses_a_table_of_other_indicators():
    level = xr.DataArray([0, 1], {"indicator": ["explicitness", "flag"]}, ("indicator",))
    with pytest.raises(xr.AlignmentError, match="indicator"):
        normalise(level, TABLE)


def test_reverse_is_one_minus_phi_only_where_it_says():
    phi = xr.DataArray([[0.0, 0.25], [1.0, np.nan]], dims=("prompt", "indicator"))
    where = xr.DataArray([False, True], dims="indicator")
    np.testing.assert_array_equal(reverse(phi, where=where), [[0.0, 0.75], [1.0, np.nan]])
    assert reverse(phi, where=where).dims == phi.dims


def test_reverse_by_prompt_and_indicator():
    phi = xr.DataArray(np.full((2, 3, 2), 0.2), dims=("indicator", "judge", "prompt"))
    where = xr.DataArray([[True, False], [False, False]], dims=("prompt", "indicator"))
    reversed_phi = reverse(phi, where=where)
    assert reversed_phi.dims == phi.dims
    np.testing.assert_allclose(reversed_phi.isel(indicator=0, prompt=0), 0.8)
    np.testing.assert_allclose(reversed_phi.isel(indicator=1, prompt=0), 0.2)


def test_tables_of_scales_follow_equations_6_to_8():
    # (x - 1)/9, 0 or 1, and the declared values.
    ordinal = OrdinalScale(kind="ordinal", min=1, max=10)
    np.testing.assert_allclose(normalised_scores(ordinal), np.arange(10) / 9)
    assert normalised_scores(BooleanScale(kind="boolean")) == (0.0, 1.0)
    levels = CategoricalScale(
        kind="categorical", levels=("none", "implicit", "explicit"), values=(0.0, 0.5, 1.0)
    )
    assert normalised_scores(levels) == (0.0, 0.5, 1.0)
