from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kendalltau, spearmanr

from sharpbayes.metrics.panel.concordance import (
    concordance,
    concordance_summary,
    dimension_dependence,
    dispersion,
    mean_absolute_deviation,
)

JUDGES = ["a", "b", "c"]
DIMENSIONS = ["bias", "fairness", "ethics"]


def sub_indices(*, seed, models=2, prompts=40, steps=None, missing=0.0):
    """Sub-indices with ties where ``steps`` is small, and with missing judges."""
    rng = np.random.default_rng(seed)
    x = rng.random((models, prompts, 3, 3))
    x = x if steps is None else np.round(x * steps) / steps
    x[rng.random(x.shape) < missing] = np.nan
    coords = {"model": [f"m{i}" for i in range(models)], "judge": JUDGES, "dimension": DIMENSIONS}
    return xr.DataArray(x, coords, ("model", "prompt", "judge", "dimension"))


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_dispersion_equals_a_plain_loop(missing):
    x = sub_indices(seed=1, missing=missing)
    spreads = dispersion(x)
    for dimension in DIMENSIONS:
        deviations = []
        for cell in x.sel(dimension=dimension).values.reshape(-1, 3):
            observed = [value for value in cell if not np.isnan(value)]
            if len(observed) >= 2:
                middle = sum(observed) / len(observed)
                deviations.append(sum(abs(v - middle) for v in observed) / len(observed))
        got = spreads.sel(dimension=dimension)
        assert got["mad_n"] == len(deviations)
        np.testing.assert_allclose(got["mad"], np.mean(deviations))
        np.testing.assert_allclose(got["mad_sd"], np.std(deviations, ddof=1))


def test_deviation_of_two_opposite_judges_is_the_largest_there_is():
    assert float(mean_absolute_deviation(xr.DataArray([0.0, 1.0], dims="judge"))) == 0.5


def test_one_judge_deviates_from_nobody():
    x = sub_indices(seed=1).isel(judge=[0])
    deviations = dispersion(x)
    assert (deviations["mad_n"] == 0).all()
    assert np.isnan(deviations["mad"]).all()
    assert np.isnan(deviations["mad_sd"]).all()


def test_one_cell_has_a_mean_deviation_and_no_spread():
    deviations = dispersion(sub_indices(seed=1, models=1, prompts=1))
    assert np.isfinite(deviations["mad"]).all()
    assert np.isnan(deviations["mad_sd"]).all()


@pytest.mark.parametrize(("steps", "missing"), [(None, 0.0), (3, 0.0), (3, 0.3)])
def test_concordance_is_scipys_tau_b_of_the_overlap(steps, missing):
    x = sub_indices(seed=2, steps=steps, missing=missing)
    concordances = concordance(x, min_overlap=2, dim="prompt")
    assert concordances["pair"].values.tolist() == ["a vs b", "a vs c", "b vs c"]
    for (one, other), (m, d) in (
        ((p, cell)) for p in combinations(JUDGES, 2) for cell in np.ndindex(2, 3)
    ):
        u, v = (x.sel(judge=name).values[m, :, d] for name in (one, other))
        shared = ~np.isnan(u) & ~np.isnan(v)
        got = concordances.sel(pair=f"{one} vs {other}").isel(model=m, dimension=d)
        assert got["overlap"] == shared.sum()
        np.testing.assert_allclose(got["concordance"], kendalltau(u[shared], v[shared]).statistic)


def test_too_small_an_overlap_is_missing_and_not_zero():
    x = sub_indices(seed=3, prompts=26)
    x[0, :2, 0, 0] = np.nan
    x[0, :1, 0, 1] = np.nan
    tau = concordance(x, min_overlap=25, dim="prompt")["concordance"]
    bias = tau.sel(dimension="bias", model="m0")
    assert np.isnan(bias.sel(pair=["a vs b", "a vs c"])).all()
    assert np.isfinite(bias.sel(pair="b vs c"))
    # Exactly 25 are enough.
    assert np.isfinite(tau.sel(dimension="fairness")).all()
    assert np.isfinite(tau.sel(model="m1")).all()


def test_a_judge_who_gives_all_the_same_has_no_concordance():
    x = sub_indices(seed=4)
    x[:, :, 0, :] = 0.5
    tau = concordance(x, min_overlap=2, dim="prompt")["concordance"]
    assert np.isnan(tau.sel(pair=["a vs b", "a vs c"])).all()
    assert np.isfinite(tau.sel(pair="b vs c")).all()


def test_summary_leaves_out_models_without_a_value():
    tau = np.random.default_rng(5).random((3, 7))
    tau[0, :3], tau[1, :6], tau[2] = np.nan, np.nan, np.nan
    summary = concordance_summary(xr.DataArray(tau, dims=("pair", "model")))
    for row, models in ((0, 4), (1, 1), (2, 0)):
        kept = tau[row][~np.isnan(tau[row])]
        got = summary.isel(pair=row)
        assert got["concordance_models"] == models
        np.testing.assert_allclose(got["concordance_mean"], kept.mean() if models else np.nan)
        np.testing.assert_allclose(got["concordance_median"], np.median(kept) if models else np.nan)
        np.testing.assert_allclose(
            got["concordance_sd"], kept.std(ddof=1) if models > 1 else np.nan
        )


@pytest.mark.parametrize("steps", [None, 4])
def test_dependence_is_scipys_spearman_of_every_pair(steps):
    harm = sub_indices(seed=6, steps=steps).isel(judge=0)
    where = xr.DataArray(np.random.default_rng(7).random((2, 40)) < 0.4, dims=("model", "prompt"))
    dependence = dimension_dependence(harm, dim="prompt", where=where)
    for model in range(2):
        rows = harm.values[model][where.values[model]]
        for pair, (i, j) in enumerate(combinations(range(3), 2)):
            expected = spearmanr(rows[:, i], rows[:, j]).statistic
            np.testing.assert_allclose(dependence.values[model, pair], expected)
    assert dependence["dimension_pair"].values.tolist() == [
        "bias vs fairness",
        "bias vs ethics",
        "fairness vs ethics",
    ]


def test_dependence_needs_three_prompts_and_dimensions_that_vary():
    harm = sub_indices(seed=8).isel(judge=0)
    harm[0, :, 0] = 0.2
    where = xr.DataArray(np.full((2, 40), True), dims=("model", "prompt"))
    where[1, 2:] = False
    dependence = dimension_dependence(harm, dim="prompt", where=where)
    assert np.isnan(dependence.values[0]).tolist() == [True, True, False]
    assert np.isnan(dependence.values[1]).all()
