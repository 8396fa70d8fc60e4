import numpy as np
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from sharpbayes.metrics.panel.pooling import log_sum_exp
from sharpbayes.metrics.panel.risk import (
    any_harm,
    log_any_harm,
    log_risk,
    log_risk_part,
    panel,
    radius,
)

EPSILON = 1e-6
harms = st.lists(st.floats(0, 1), min_size=4, max_size=4)


def harm_of(values):
    return xr.DataArray(values, dims="dimension")


def test_hand_values_of_equations_19_to_22():
    harm = harm_of([0.5, 0.5, 0.0, 0.2])
    # sqrt((0.25 + 0.25 + 0 + 0.04)/4); 1 - 0.5 * 0.5 * 1 * 0.8 = 0.8
    np.testing.assert_allclose(radius(harm), 0.135**0.5)
    np.testing.assert_allclose(any_harm(harm), 0.8)
    part = log_risk_part(harm, epsilon=EPSILON)
    expected = [-np.log(0.500001), -np.log(0.500001), -np.log(1.000001), -np.log(0.800001)]
    np.testing.assert_allclose(part, expected)
    np.testing.assert_allclose(log_risk(part), sum(expected))
    np.testing.assert_allclose(log_any_harm(any_harm(harm), epsilon=EPSILON), -np.log(0.200001))


def test_no_harm_gives_minus_log_of_one_and_epsilon_and_full_harm_stays_finite():
    part = log_risk_part(harm_of([0.0, 1.0]), epsilon=EPSILON)
    np.testing.assert_allclose(part, [-np.log1p(1e-6), 6 * np.log(10)])


def test_both_forms_of_equation_22_differ_once_epsilon_matters():
    harm = harm_of([1.0, 1.0])
    # the sum is 2 * 13.8 and grows with each failure, the other form ends at 13.8
    np.testing.assert_allclose(log_risk(log_risk_part(harm, epsilon=EPSILON)), 12 * np.log(10))
    np.testing.assert_allclose(log_any_harm(any_harm(harm), epsilon=EPSILON), 6 * np.log(10))


def test_a_missing_harm_makes_every_aggregate_missing():
    harm = harm_of([0.5, np.nan])
    part = log_risk_part(harm, epsilon=EPSILON)
    assert np.isnan([float(f) for f in (radius(harm), any_harm(harm), log_risk(part))]).all()
    assert not np.isnan(part[0])


@settings(deadline=None, max_examples=60)
@given(harms, st.integers(0, 3), st.floats(0, 1))
def test_every_aggregate_grows_with_every_coordinate(values, position, other):
    low, high = sorted((values[position], other))
    less, more = (
        harm_of([*values[:position], new, *values[position + 1 :]]) for new in (low, high)
    )
    assert float(any_harm(less)) <= float(any_harm(more)) + 1e-15
    assert float(radius(less)) <= float(radius(more)) + 1e-15
    risks = [
        float(log_risk(log_risk_part(coordinates, epsilon=EPSILON))) for coordinates in (less, more)
    ]
    assert risks[0] <= risks[1] + 1e-12


@settings(deadline=None, max_examples=60)
@given(harms)
def test_any_harm_is_between_the_largest_harm_and_one(values):
    assert max(values) - 1e-12 <= float(any_harm(harm_of(values))) <= 1


def test_panel_has_every_variable_and_leading_dimensions_equal_a_loop():
    rng = np.random.default_rng(4)
    dims = ("draw", "model", "prompt", "judge", "dimension")
    sub_index = xr.DataArray(rng.random((2, 2, 5, 3, 4)), dims=dims)
    sub_index[0, 0, 0] = np.nan
    settings_of = {"temperature": 0.2, "epsilon": EPSILON, "judges_missing": "available"}
    metrics = panel(sub_index, **settings_of)
    shapes = {name: variable.dims for name, variable in metrics.data_vars.items()}
    cell = ("draw", "model", "prompt")
    assert shapes == {
        "sub_index": dims,
        "harm": (*cell, "dimension"),
        "log_risk_part": (*cell, "dimension"),
        "log_risk": cell,
        "log_any_harm": cell,
        "any_harm": cell,
        "radius": cell,
    }
    for draw in range(2):
        xr.testing.assert_allclose(
            metrics.isel(draw=draw), panel(sub_index.isel(draw=draw), **settings_of)
        )
    assert np.isnan(metrics["log_risk"].values[0, 0, 0])
    assert metrics["log_risk"].isnull().sum() == 1
    pooled = log_sum_exp(sub_index, temperature=0.2, missing="available")
    xr.testing.assert_allclose(metrics["harm"], pooled.rename(None))


def test_the_order_of_judges_changes_nothing():
    x = xr.DataArray(
        np.random.default_rng(5).random((6, 3, 4)), dims=("prompt", "judge", "dimension")
    )
    settings_of = {"temperature": 0.2, "epsilon": EPSILON, "judges_missing": "available"}
    metrics = panel(x, **settings_of).drop_vars("sub_index")
    other = panel(x.isel(judge=[2, 0, 1]), **settings_of).drop_vars("sub_index")
    xr.testing.assert_allclose(metrics, other, rtol=1e-12)
