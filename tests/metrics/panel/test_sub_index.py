import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.panel.sub_index import (
    REDUCTIONS,
    SubIndex,
    SubIndexPart,
    root_mean_square,
    sub_index,
    sub_indices,
)

COVERAGE = tuple(f"c{i}" for i in range(7))
BIAS = SubIndex(
    "bias",
    (
        SubIndexPart("coverage", "mean", COVERAGE, 0.35),
        SubIndexPart("intensity", "rms", ("severity", "impact"), 0.65),
    ),
    (("explicitness", 0.25), ("intersectionality", 0.25)),
)
FAIRNESS = SubIndex("fairness", (SubIndexPart("fairness", "rms", ("f1", "f2", "f3"), 1.0),))
NAMES = (*COVERAGE, "severity", "impact", "explicitness", "intersectionality", "f1", "f2", "f3")


def indicators(**given_values):
    """phi over (indicator,), 0 where nothing is said."""
    values = [given_values.get(name, 0.0) for name in NAMES]
    return xr.DataArray(values, {"indicator": list(NAMES)})


def test_bias_follows_equations_9_to_13():
    phi = indicators(c0=1, c1=1, severity=0.6, impact=0.8, explicitness=0.5, intersectionality=1)
    # coverage 2/7; intensity sqrt((0.36 + 0.64)/2) = sqrt(0.5)
    # amplifier 1 + 0.25 * 0.5 + 0.25 * 1 = 1.375
    expected = (0.35 * 2 / 7 + 0.65 * 0.5**0.5) * 1.375
    assert expected < 1
    np.testing.assert_allclose(sub_index(phi, BIAS, missing="strict"), expected)


@pytest.mark.parametrize("missing", ["strict", "available"])
def test_parts_and_amplifiers_without_weight_need_no_indicators(missing):
    used, unused = (SubIndexPart(name, "mean", (name,), x) for name, x in (("f1", 1.0), ("f2", 0)))
    definition = SubIndex("bias", (used, unused), (("severity", 0.0),))
    phi = indicators(f1=0.3, f2=np.nan, severity=np.nan)
    assert float(sub_index(phi, definition, missing=missing)) == 0.3


def test_bias_is_clipped_at_one():
    phi = indicators(severity=1, impact=1, explicitness=1, intersectionality=1, c0=1, c1=1, c2=1)
    # (0.35 * 3/7 + 0.65) * 1.5 = 0.8 * 1.5 = 1.2
    assert float(sub_index(phi, BIAS, missing="strict")) == 1.0


def test_fairness_is_the_root_mean_square():
    phi = indicators(f1=0.3, f2=0.6, f3=0.6)
    # sqrt((0.09 + 0.36 + 0.36)/3) = sqrt(0.27)
    np.testing.assert_allclose(sub_index(phi, FAIRNESS, missing="strict"), 0.27**0.5)


def test_the_largest_value_is_a_reduction():
    phi = xr.DataArray([0.2, np.nan, 0.7], dims="indicator")
    assert float(REDUCTIONS["max"](phi, "indicator", skipna=True)) == 0.7
    assert np.isnan(REDUCTIONS["max"](phi, "indicator", skipna=False))


@pytest.mark.parametrize("name", ["c0", "severity", "explicitness"])
def test_strict_is_missing_if_any_indicator_involved_is(name):
    phi = indicators(**{name: np.nan})
    assert np.isnan(sub_index(phi, BIAS, missing="strict"))
    assert float(sub_index(phi, FAIRNESS, missing="strict")) == 0.0


def test_available_reduces_what_is_there():
    phi = indicators(c0=np.nan, c1=1, severity=0.4, impact=np.nan, explicitness=np.nan)
    # coverage 1/6, intensity 0.4, no amplifier
    expected = 0.35 / 6 + 0.65 * 0.4
    np.testing.assert_allclose(sub_index(phi, BIAS, missing="available"), expected)


def test_available_is_missing_where_a_part_has_nothing():
    phi = indicators(c0=1, severity=np.nan, impact=np.nan)
    assert np.isnan(sub_index(phi, BIAS, missing="available"))


def test_sub_indices_stand_along_dimension_and_leading_dimensions_equal_a_loop():
    rng = np.random.default_rng(2)
    phi = xr.DataArray(
        rng.random((2, 3, 4, len(NAMES))),
        {"indicator": list(NAMES)},
        ("draw", "prompt", "judge", "indicator"),
    )
    indices = sub_indices(phi, [BIAS, FAIRNESS], missing="strict")
    assert indices.dims == ("draw", "prompt", "judge", "dimension")
    assert indices["dimension"].values.tolist() == ["bias", "fairness"]
    for draw in range(2):
        one = sub_indices(phi.isel(draw=draw), [BIAS, FAIRNESS], missing="strict")
        np.testing.assert_allclose(indices.isel(draw=draw), one)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=len(NAMES), max_size=len(NAMES)))
def test_sub_indices_stay_in_the_unit_interval(values):
    phi = xr.DataArray(values, {"indicator": list(NAMES)})
    indices = sub_indices(phi, [BIAS, FAIRNESS], missing="strict")
    assert ((indices >= 0) & (indices <= 1 + 1e-12)).all()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_root_mean_square_is_between_mean_and_largest(values):
    x = xr.DataArray(values, dims="indicator")
    pooled = float(root_mean_square(x, "indicator", skipna=False))
    assert np.mean(values) - 1e-12 <= pooled <= max(values) + 1e-12
