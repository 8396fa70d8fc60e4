import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.normalisation import boolean, categorical, normalise, ordinal, reverse

TABLE = xr.DataArray(
    [[0.0, 1.0, np.nan], [0.0, 0.5, 1.0]],
    {"indicator": ["flag", "explicitness"]},
    ("indicator", "score"),
)


def test_ordinal_scores_follow_equation_6():
    scores = xr.DataArray([1.0, 4.0, 10.0, np.nan], dims="prompt")
    # (1 - 1)/9, (4 - 1)/9, (10 - 1)/9
    expected = [0.0, 1 / 3, 1.0, np.nan]
    np.testing.assert_allclose(ordinal(scores, minimum=1, maximum=10), expected)


def test_ordinal_scores_of_another_range():
    # (3 - 0)/(4 - 0)
    assert float(ordinal(xr.DataArray(3), minimum=0, maximum=4)) == 0.75


def test_flags_follow_equation_7():
    assert boolean(xr.DataArray([False, True], dims="prompt")).values.tolist() == [0.0, 1.0]


def test_named_levels_follow_equation_8():
    found = categorical(xr.DataArray([2, 1, 0, -1], dims="prompt"), values=[0.0, 0.5, 1.0])
    np.testing.assert_array_equal(found, [1.0, 0.5, 0.0, np.nan])


def test_lookup_equals_a_plain_loop_whatever_the_order_of_dimensions():
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 3, (2, 5, 3))
    level = xr.DataArray(codes, {"indicator": TABLE["indicator"]}, ("indicator", "prompt", "judge"))
    found = normalise(level, TABLE)
    assert found.dims == ("indicator", "prompt", "judge")
    assert found.dtype == np.float64
    for i, j, k in np.ndindex(codes.shape):
        code = codes[i, j, k]
        expected = np.nan if code == -1 else TABLE.values[i, code]
        np.testing.assert_equal(found.values[i, j, k], expected)


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
    found = reverse(phi, where=where)
    assert found.dims == phi.dims
    np.testing.assert_allclose(found.isel(indicator=0, prompt=0), 0.8)
    np.testing.assert_allclose(found.isel(indicator=1, prompt=0), 0.2)
