import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.independence import (
    effective_judges,
    error_correlation,
    judge_errors,
    judge_independence,
)

JUDGES = list("abcdef")


def panel_of(cells, judges=JUDGES):
    return xr.DataArray(cells, {"judge": judges}, ("prompt", "judge"))


def test_errors_are_of_cells_that_all_have_scored():
    x = panel_of([[0.2, 0.4, 0.6], [np.nan, 0.1, 0.3]], JUDGES[:3])
    np.testing.assert_allclose(judge_errors(x, None), [[-0.2, 0.0, 0.2]], atol=1e-15)
    reference = xr.DataArray([0.5, 0.5], dims="prompt")
    np.testing.assert_allclose(judge_errors(x, reference), [[-0.3, -0.1, 0.1]])


def test_correlation_of_errors_is_numpys():
    rng = np.random.default_rng(1)
    x = panel_of(rng.random((50, 6)))
    truth = xr.DataArray(rng.random(50), dims="prompt")
    correlation = error_correlation(judge_errors(x, truth))
    np.testing.assert_allclose(correlation, np.corrcoef((x.values - truth.values[:, None]).T))


def test_a_judge_without_errors_has_no_correlation():
    truth = xr.DataArray(np.linspace(0, 1, 9), dims="prompt")
    noise = np.random.default_rng(2).random(9)
    x = panel_of(np.stack([truth.values, noise], axis=1), ["a", "b"])
    correlation = error_correlation(judge_errors(x, truth))
    assert np.isnan(correlation.sel(judge="a")).all()
    assert float(correlation.sel(judge="b", other_judge="b")) == pytest.approx(1.0)


def test_independent_judges_count_one_each_with_a_reference_and_without():
    rng = np.random.default_rng(3)
    truth = xr.DataArray(rng.random(200_000), dims="prompt")
    x = panel_of(truth.values[:, None] + rng.normal(0, 0.1, (200_000, 6)))
    for reference in (truth, None):
        independence = judge_independence(x, reference)
        assert float(independence["effective_judges"]) == pytest.approx(6, rel=0.02)
        np.testing.assert_allclose(independence["effective_judges_without"], 5, rtol=0.02)


def test_errors_in_common_count_as_the_variance_of_the_mean_says():
    rng = np.random.default_rng(4)
    shared, own_sd = 0.3, 0.1
    truth = xr.DataArray(rng.random(200_000), dims="prompt")
    errors = rng.normal(0, shared, (200_000, 1)) + rng.normal(0, own_sd, (200_000, 6))
    effective = judge_independence(panel_of(truth.values[:, None] + errors), truth)[
        "effective_judges"
    ]
    # n of the same variance whose mean has the variance of this mean
    expected = (shared**2 + own_sd**2) / (shared**2 + own_sd**2 / 6)
    assert float(effective) == pytest.approx(expected, rel=0.02)


def test_judges_who_agree_in_two_camps_count_as_two():
    rng = np.random.default_rng(5)
    camps = rng.random((500, 2))[:, [0, 0, 0, 1, 1, 1]]
    independence = judge_independence(panel_of(camps), None)
    assert float(independence["effective_judges"]) == pytest.approx(2.0)
    np.testing.assert_allclose(independence["effective_judges_without"], 2.0)


def test_without_a_judge_is_the_panel_of_the_others():
    rng = np.random.default_rng(6)
    x = panel_of(rng.random((40, 6)) ** np.arange(1, 7))
    effective = judge_independence(x, None)["effective_judges_without"]
    for judge in JUDGES:
        others = x.sel(judge=[name for name in JUDGES if name != judge])
        expected = effective_judges(judge_errors(others, None), against_reference=False)
        assert float(effective.sel(judge_out=judge)) == pytest.approx(expected)


def test_too_few_judges_or_cells_have_no_number():
    x = panel_of(np.random.default_rng(7).random((20, 6)))
    assert np.isnan(judge_independence(x.isel(judge=[0, 1]), None)["effective_judges"])
    assert np.isnan(judge_independence(x.isel(judge=[0]), None)["effective_judges"])
    assert np.isnan(judge_independence(x.isel(prompt=[0]), None)["effective_judges"])
    three = judge_independence(x.isel(judge=[0, 1, 2]), None)
    assert np.isfinite(three["effective_judges"])
    assert np.isnan(three["effective_judges_without"]).all()


def test_judges_who_always_agree_count_as_one():
    same = np.repeat(np.random.default_rng(8).random((20, 1)), 6, axis=1)
    assert float(judge_independence(panel_of(same), None)["effective_judges"]) == 1.0
