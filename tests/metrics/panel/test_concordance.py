from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kendalltau, norm, spearmanr

from sharpbayes.metrics.panel.concordance import (
    concordance,
    concordance_summary,
    contrary_judges,
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
        expected = kendalltau(u[shared], v[shared], alternative="less")
        np.testing.assert_allclose(got["concordance"], expected.statistic)
        np.testing.assert_allclose(got["concordance_p"], expected.pvalue)


def test_variants_of_a_prompt_count_as_one_against_concordance():
    """Each prompt three times over has the tau-b and, nearly, the p value of the prompts."""
    once = sub_indices(seed=9, models=1, prompts=60)
    names = ("prompt", [f"s{number}" for number in range(60)])
    tripled = xr.concat([once.assign_coords(cluster=names)] * 3, "prompt")
    independent = tripled.drop_vars("cluster")
    p = [
        concordance(x, min_overlap=25, dim="prompt")["concordance_p"].to_numpy()
        for x in (once, tripled, independent)
    ]
    np.testing.assert_allclose(norm.ppf(p[1]), norm.ppf(p[0]), rtol=0.02)
    np.testing.assert_allclose(norm.ppf(p[1]) * 3**0.5, norm.ppf(p[2]))


def test_one_large_cluster_leaves_few_independent_prompts():
    x = sub_indices(seed=9, models=1, prompts=60)
    sizes = np.array([30, *[1] * 30])
    named = x.assign_coords(cluster=("prompt", np.repeat(np.arange(31), sizes)))
    p = [concordance(y, min_overlap=25, dim="prompt")["concordance_p"] for y in (x, named)]
    factor = (60**2 / (sizes**2).sum() / 60) ** 0.5
    np.testing.assert_allclose(norm.ppf(p[1]), factor * norm.ppf(p[0]))


def pairs_with(tau, p):
    """Tau-b and p of pairs (pair, model, dimension)."""
    dims = ("pair", "model", "dimension")
    return xr.Dataset({"concordance": (dims, tau), "concordance_p": (dims, p)})


def test_judges_are_contrary_beyond_chance_for_all_pairs_and_dimensions():
    """p of the models of a pair are joined as if they were one, then corrected by Holm."""
    tau = np.full((3, 2, 2), 0.1)
    p = np.full((3, 2, 2), 0.7)
    tau[0, :, 0], p[0, :, 0] = (-0.3, -0.4), (0.02, 0.001)
    tau[1, :, 1], p[1, :, 1] = (-0.3, -0.3), (0.02, 0.02)
    verdict = contrary_judges(pairs_with(tau, p))
    joined = norm.cdf(norm.ppf([0.02, 0.001]).mean())
    assert float(verdict["concordance_p_holm"][0, 0]) == pytest.approx(6 * joined)
    assert float(verdict["concordance_p_holm"][1, 1]) == pytest.approx(5 * 0.02)
    assert verdict["contrary"].values.tolist() == [[True, False], [False, False], [False, False]]
    alone = contrary_judges(pairs_with(tau, p).isel(pair=[1], dimension=[1]))
    assert bool(alone["contrary"])


@pytest.mark.parametrize(
    ("tau", "is_contrary"),
    [
        ((-0.9, -0.8), True),
        ((-0.9, np.nan), True),
        ((-0.29, -0.3), False),
        ((-0.9, 0.0), False),
        ((np.nan, np.nan), False),
    ],
)
def test_contrary_judges_are_so_by_every_model_and_by_much(tau, is_contrary):
    tau = np.array(tau)
    p = np.where(np.isnan(tau), np.nan, np.where(tau < 0, 0.0, 1.0))
    verdict = contrary_judges(pairs_with(tau[None, :, None], p[None, :, None]))
    assert bool(verdict["contrary"]) == is_contrary
    assert np.isnan(verdict["concordance_p_holm"]).all() == np.isnan(tau).all()


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
