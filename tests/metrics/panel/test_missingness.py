"""Missing scores: bounds, the test of severity and tilted draws against known laws."""

import numpy as np
import pytest
import statsmodels.api as sm
import xarray as xr
from scipy import special, stats

from sharpbayes.metrics.panel.missingness import (
    fill_bounds,
    missing_slope,
    other_severity,
    tilted_scores,
)
from tests.references import missing_slope as missing_slope_study

DIMS = ("model", "prompt", "judge", "dimension")


def panel(rng, *, models=2, prompts=300, judges=3, noise=0.05):
    """Sub-indices of judges who see one severity, without a missing one."""
    severity = rng.uniform(0.2, 0.8, (models, prompts, 1, 1))
    return xr.DataArray(severity + rng.normal(0, noise, (models, prompts, judges, 1)), dims=DIMS)


def test_bounds_fill_what_is_missing_and_nothing_else():
    x = xr.DataArray([0.5, np.nan, np.nan], dims="judge")
    missing = xr.DataArray([False, True, False], dims="judge")
    np.testing.assert_array_equal(fill_bounds(x, missing), [[0.5, 0.0, np.nan], [0.5, 1.0, np.nan]])


def test_others_are_those_of_the_same_answer():
    x = xr.DataArray([[0.2, 0.4, 0.6], [np.nan, np.nan, 0.3]], dims=("prompt", "judge"))
    np.testing.assert_allclose(other_severity(x), [[0.5, 0.4, 0.3], [0.3, 0.3, np.nan]])


def test_slope_and_clustered_error_are_those_of_statsmodels():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 3, 80, 2)) + np.array([0.0, 1.0])
    intercepts = np.array([[0.0, 0.5], [-0.5, 0.0], [0.5, -1.0]])
    unscored = rng.random(x.shape) < special.expit(0.8 * x - 1 - intercepts[:, None])
    # One never scores a dimension, one always does: neither tells anything.
    unscored[:, 1, :, 1], unscored[:, 2, :, 0] = True, False
    dims = ("model", "judge", "prompt", "dimension")
    table = missing_slope(xr.DataArray(unscored, dims=dims), xr.DataArray(x, dims=dims), level=0.95)
    judge, prompt, dimension = (np.indices(x.shape)[axis].ravel() for axis in (1, 2, 3))
    kept = ~np.isin(2 * judge + dimension, [3, 4])
    stratum = np.unique((2 * judge + dimension)[kept], return_inverse=True)[1]
    fitted = sm.Logit(
        unscored.ravel()[kept].astype(float), np.column_stack([np.eye(4)[stratum], x.ravel()[kept]])
    ).fit(disp=0, cov_type="cluster", cov_kwds={"groups": prompt[kept], "use_correction": False})
    assert float(table["slope"]) == pytest.approx(fitted.params[-1], rel=1e-6)
    # Statsmodels has no correction for clusters with an event, and takes a normal law.
    clusters = np.unique(prompt[kept & unscored.ravel()]).size
    assert int(table["slope_clusters"]) == clusters
    error = fitted.bse[-1] * (clusters / (clusters - 1)) ** 0.5
    assert float(table["slope_error"]) == pytest.approx(error, rel=1e-5)
    law = stats.t(clusters - 1, fitted.params[-1], error)
    np.testing.assert_allclose(table["slope_interval"], law.interval(0.95), rtol=1e-5)
    assert float(table["slope_p"]) == pytest.approx(2 * min(law.cdf(0), law.sf(0)), rel=1e-4)


def test_prompts_in_clusters_are_as_one():
    """Each prompt three times, as a cluster, says what it says once."""
    rng = np.random.default_rng(4)
    x = xr.DataArray(rng.normal(size=(2, 3, 60)), dims=("model", "judge", "prompt"))
    missing = rng.random(x.shape) < special.expit(0.8 * x - 1)
    copies = xr.DataArray(np.repeat(np.arange(60), 3), dims="prompt")
    labels = {"cluster": copies}
    repeated = missing.isel(prompt=copies).assign_coords(labels)
    once = missing_slope(missing, x, level=0.95)
    xr.testing.assert_allclose(
        missing_slope(repeated, x.isel(prompt=copies), level=0.95), once, rtol=1e-6
    )


@pytest.mark.parametrize("world", missing_slope_study.WORLDS)
def test_a_judge_who_never_scores_a_dimension_does_not_move_the_slope(world):
    errors, covered = missing_slope_study.measure_slopes(
        world, slope=0.0, strata="by judge and dimension", studies=40
    )
    assert abs(errors.mean()) < 4 * errors.std() / 40**0.5
    assert covered.sum() >= 29  # 40 x 90% less four standard errors


@pytest.mark.parametrize("is_rare", [True, False])
def test_fewer_than_ten_prompts_with_a_missing_score_tell_no_slope(is_rare):
    """Nor do fewer than ten with a present one."""
    rng = np.random.default_rng(5)
    x = xr.DataArray(rng.normal(size=(2, 3, 50)), dims=("model", "judge", "prompt"))
    rare = xr.zeros_like(x, dtype=bool)
    rare[0, 0, :9], rare[1, 0, :9] = True, True
    missing = rare if is_rare else ~rare
    assert bool(missing_slope(missing, x, level=0.9)["slope_p"].isnull())
    tenth = missing.copy()
    tenth[0, 0, 9] = is_rare
    table = missing_slope(tenth, x, level=0.9)
    assert int(table["slope_clusters"]) == 10
    assert bool(table["slope_p"].notnull())


def test_scores_that_are_missing_at_random_seldom_show_a_slope():
    p_values = missing_slope_study.measure_rates("a judge on 10 prompts of 3 models", studies=80)
    assert (p_values < 0.05).sum() <= 9  # 80 x 5% and two and a half standard errors
    few = missing_slope_study.measure_rates("4 scores", studies=5)
    assert bool(np.isnan(few).all())


def test_differences_between_dimensions_are_no_slope():
    x = xr.DataArray([[[0.0] * 20, [5.0] * 20]], dims=("judge", "dimension", "prompt"))
    unscored = xr.DataArray([[[1, 0] * 10, [1] * 20]], dims=x.dims) > 0
    assert bool(missing_slope(unscored, x, level=0.9)["slope"].isnull())


def test_slopes_that_nothing_shows_are_missing():
    x = xr.DataArray([[*range(30)]], dims=("judge", "prompt")) / 1.0
    apart = x > 14
    for unscored, severity in ((apart, x), (apart, 0 * x), (apart & False, x), (apart, x * np.nan)):
        assert bool(missing_slope(unscored, severity, level=0.9)["slope"].isnull())


def test_without_a_tilt_draws_follow_the_other_judges():
    rng = np.random.default_rng(4)
    complete = panel(rng)
    unscored = xr.zeros_like(complete, dtype=bool)
    unscored[:, :60, 0] = True
    filled = tilted_scores(
        complete.where(~unscored), unscored, tilts=np.array([0.0, 2.0]), draws=40, seed=1
    )
    assert filled.dims == ("tilt", "draw", *DIMS)
    xr.testing.assert_equal(
        filled.isel(tilt=0, draw=0).where(~unscored, drop=True).drop_vars("tilt"),
        complete.where(~unscored, drop=True),
    )
    errors = (filled.mean("draw") - complete).where(unscored)
    assert abs(float(errors.isel(tilt=0).mean())) < 0.01
    # the shift is tilt times the residual variance over the sd of all
    unit = float(complete.where(~unscored).std())
    shift = float((errors.isel(tilt=1) - errors.isel(tilt=0)).mean())
    assert shift == pytest.approx(2 * 0.05**2 * 1.5 / unit, rel=0.15)


def test_answers_that_nobody_scored_are_drawn_from_the_tilted_scores():
    values = np.array([0.1] * 6 + [0.9] * 2 + [0.5] * 4)
    complete = xr.DataArray(np.repeat(values, 2).reshape(1, 12, 2, 1), dims=DIMS)
    unscored = xr.zeros_like(complete, dtype=bool)
    unscored[:, 8:] = True
    known = complete.where(~unscored)
    filled = tilted_scores(known, unscored, tilts=np.array([0.0, 1.0]), draws=500, seed=1)
    drawn = filled.isel(prompt=slice(8, None))
    unit = float(known.std())
    odds = 2 * np.exp(0.8 / unit) / 6
    share = (drawn > 0.5).mean(["draw", "prompt", "judge"]).to_numpy().ravel()
    np.testing.assert_allclose(share, [0.25, odds / (1 + odds)], atol=0.03)
    # judges share the rank of an answer
    assert bool((drawn.isel(judge=0) == drawn.isel(judge=1)).all())


def test_true_scores_are_found_under_their_own_tilt():
    rng = np.random.default_rng(6)
    complete = panel(rng, prompts=4000, judges=1, noise=0.0)
    unit = float(complete.std())
    chance = 1 / (1 + np.exp(2.0 - 1.0 * (complete - 0.5) / unit))
    unscored = complete.copy(data=rng.random(complete.shape) < chance.to_numpy())
    unscored = unscored.astype(bool)
    known = complete.where(~unscored)
    # the unit is that of the scores that are there
    tilt = float(known.std()) / unit
    filled = tilted_scores(known, unscored, tilts=np.array([0.0, tilt]), draws=20, seed=2)
    means = filled.where(unscored).mean([*DIMS, "draw"])
    truth = float(complete.where(unscored).mean())
    assert float(means[0]) < truth - 0.02
    assert float(means[1]) == pytest.approx(truth, abs=0.01)
