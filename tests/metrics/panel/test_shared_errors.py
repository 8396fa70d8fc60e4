"""Errors that judges share, and halo, against numbers worked by hand and by NumPy."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.metrics.panel.shared_errors import halo, judge_correlation, people_correlation

JUDGES = {"judge": ["ann", "bob", "cat"]}


def scores(*shape, seed=1, dims=("answer", "dimension", "judge")):
    return xr.DataArray(np.random.default_rng(seed).normal(size=shape), JUDGES, dims)


def test_residuals_of_judges_correlate_as_by_numpy():
    x = scores(30, 1, 3)
    residual = (x - x.mean("judge")).isel(dimension=0).to_numpy()
    wanted = np.corrcoef(residual, rowvar=False)[np.triu_indices(3, 1)]
    correlation = judge_correlation(x)
    np.testing.assert_allclose(correlation, wanted)
    assert correlation["pair"].values.tolist() == ["ann and bob", "ann and cat", "bob and cat"]


def test_a_shared_error_raises_the_correlation_of_its_pair_alone():
    x = scores(400, 2, 3)
    x[..., :2] += np.random.default_rng(2).normal(size=(400, 2, 1))
    assert judge_correlation(x).values.argmax() == 0


def test_missing_cells_of_a_judge_are_left_out_pair_by_pair():
    x = scores(30, 1, 3)
    part = x.copy()
    part[20:, :, 2] = np.nan
    both = judge_correlation(part).sel(pair="ann and cat")
    residual = part - part.mean("judge")
    residual = (residual - residual.mean("answer")).isel(dimension=0, answer=slice(0, 20))
    a, c = residual[:, 0], residual[:, 2]
    assert float(both) == pytest.approx(float((a * c).sum() / np.sqrt((a**2).sum() * (c**2).sum())))
    part[:, :, 2] = np.nan
    assert judge_correlation(part).isnull().values.tolist() == [False, True, True]


def test_draws_lead_and_do_not_mix():
    draws = xr.concat([scores(30, 2, 3, seed=n) for n in (1, 2)], "draw")
    for function, renamed in (
        (judge_correlation, draws),
        (halo, draws.rename(dimension="indicator")),
    ):
        joined = function(renamed)
        for draw in (0, 1):
            np.testing.assert_allclose(joined.isel(draw=draw), function(renamed.isel(draw=draw)))


def test_halo_is_the_mean_correlation_of_indicators():
    rng = np.random.default_rng(3)
    impression = np.sqrt(0.5) * rng.normal(size=(4000, 1, 3))
    x = impression + np.sqrt(0.5) * rng.normal(size=(4000, 4, 3))
    correlation = halo(xr.DataArray(x, JUDGES, ("answer", "indicator", "judge")))
    np.testing.assert_allclose(correlation, 0.5, atol=0.03)


def test_halo_of_one_judge_or_one_indicator_is_missing():
    x = scores(30, 2, 3, dims=("answer", "indicator", "judge"))
    assert halo(x.isel(judge=[0])).isnull().all()
    assert halo(x.isel(indicator=[0])).isnull().all()
    assert halo(x.isel(answer=slice(0, 2))).isnull().all()


def test_people_correlate_over_the_cells_of_both_by_dimension():
    x = scores(20, 2, 3).mean("judge")
    people = 2 * x + xr.DataArray([0.0, 9.0], dims="dimension")
    assert float(people_correlation(x, people)) == pytest.approx(1.0)
    assert float(people_correlation(x, people.where(people["dimension"] > 5))) != 1.0
    assert np.isnan(people_correlation(x, people.where(False)))
