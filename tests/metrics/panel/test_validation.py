from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import xarray as xr
from scipy.stats import friedmanchisquare, rankdata, wilcoxon
from statsmodels.stats.anova import anova_lm

from sharpbayes.metrics.panel.validation import (
    common_prompts,
    friedman_test,
    two_way_anova,
    wilcoxon_tests,
)


def risks(*, seed, models=4, prompts=25, steps=None):
    rng = np.random.default_rng(seed)
    x = rng.gamma(0.8, 1.0, (models, prompts)) + 0.2 * np.arange(models)[:, None]
    x = x if steps is None else np.round(x * steps) / steps
    coords = {"model": [f"m{i}" for i in range(models)]}
    return xr.DataArray(x, coords, ("model", "prompt"))


@pytest.mark.parametrize("steps", [None, 1])
def test_friedman_is_scipys_with_ties_and_without(steps):
    x = risks(seed=1, steps=steps)
    test = friedman_test(x, dim="prompt")
    expected = friedmanchisquare(*x.values)
    assert float(test["friedman_chi2"]) == pytest.approx(expected.statistic)
    assert float(test["friedman_p"]) == pytest.approx(expected.pvalue)
    assert float(test["kendall_w"]) == pytest.approx(expected.statistic / (25 * 3))
    by_prompt = np.stack([rankdata(x.values[:, q]) for q in range(25)])
    np.testing.assert_allclose(test["average_rank"], by_prompt.mean(axis=0))


def test_friedman_by_its_formula():
    x = risks(seed=2)
    mean_rank = np.stack([rankdata(x.values[:, q]) for q in range(25)]).mean(axis=0)
    chi2 = 12 * 25 / (4 * 5) * ((mean_rank - 2.5) ** 2).sum()
    assert float(friedman_test(x, dim="prompt")["friedman_chi2"]) == pytest.approx(chi2)


def test_w_is_1_where_every_prompt_orders_models_alike():
    x = xr.DataArray(np.arange(4.0)[:, None] + np.arange(6.0), dims=("model", "prompt"))
    assert float(friedman_test(x, dim="prompt")["kendall_w"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "x", [np.zeros((3, 5)), np.ones((2, 5)) * [[1], [2]], np.ones((1, 5)), np.ones((3, 0))]
)
def test_friedman_has_no_answer_where_there_is_nothing_to_order(x):
    test = friedman_test(xr.DataArray(x, dims=("model", "prompt")), dim="prompt")
    assert np.isnan(test["friedman_chi2"])
    assert np.isnan(test["kendall_w"])
    middle = (len(x) + 1) / 2
    if x.size and len(x) != 2:
        np.testing.assert_allclose(test["average_rank"], np.full(len(x), middle))


@pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
@pytest.mark.parametrize("steps", [None, 2])
def test_pairs_are_scipys_signed_rank_with_holm_by_hand(zero_method, steps):
    x = risks(seed=3, steps=steps)
    tests = wilcoxon_tests(x, dim="prompt", zero_method=zero_method)
    pairs = list(combinations(range(4), 2))
    p = [wilcoxon(x.values[a], x.values[b], zero_method=zero_method).pvalue for a, b in pairs]
    corrected, worst = {}, 0.0
    for place, pair in enumerate(np.argsort(p, kind="stable")):
        worst = max(worst, min(1.0, (len(p) - place) * p[pair]))
        corrected[pairs[pair]] = worst
    for (a, b), plain in zip(pairs, p, strict=True):
        for i, j in ((a, b), (b, a)):
            assert tests["wilcoxon_p"].values[i, j] == pytest.approx(plain)
            assert tests["wilcoxon_p_holm"].values[i, j] == pytest.approx(corrected[a, b])
    assert np.isnan(np.diag(tests["wilcoxon_p"])).all()


def test_models_that_are_equal_everywhere_are_not_told_apart():
    x = xr.DataArray(np.ones((2, 6)), {"model": ["a", "b"]}, ("model", "prompt"))
    tests = wilcoxon_tests(x, dim="prompt", zero_method="pratt")
    assert float(tests["wilcoxon_p_holm"].sel(model="a", other="b")) == 1.0


def test_one_model_and_no_prompt_have_no_pairs():
    one = wilcoxon_tests(risks(seed=1, models=1), dim="prompt", zero_method="pratt")
    assert np.isnan(one["wilcoxon_p"]).all()
    none = wilcoxon_tests(risks(seed=1).isel(prompt=[]), dim="prompt", zero_method="pratt")
    assert np.isnan(none["wilcoxon_p_holm"]).all()


def test_two_way_is_the_anova_of_statsmodels():
    x = risks(seed=4)
    frame = x.to_dataframe("risk").reset_index()
    table = anova_lm(smf.ols("risk ~ C(model) + C(prompt)", frame).fit())["sum_sq"]
    shares = two_way_anova(x, dim="prompt")
    squares = [table["C(model)"], table["C(prompt)"], table["Residual"]]
    np.testing.assert_allclose(shares["eta2"], np.array(squares) / sum(squares))
    partial = [square / (square + squares[2]) for square in squares[:2]]
    np.testing.assert_allclose(shares["partial_eta2"], [*partial, np.nan])


def test_generations_split_the_residual_as_in_statsmodels():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3, 8, 4)) + rng.normal(size=(3, 8, 1)) + np.arange(8)[:, None]
    coords = {"model": list("abc"), "prompt": range(8), "sample": range(4)}
    array = xr.DataArray(x, coords, ("model", "prompt", "sample"))
    frame = array.to_dataframe("risk").reset_index()
    table = anova_lm(smf.ols("risk ~ C(model) * C(prompt)", frame).fit())["sum_sq"]
    squares = table[["C(model)", "C(prompt)", "C(model):C(prompt)", "Residual"]]
    shares = two_way_anova(array, dim="prompt", sample="sample")
    assert shares["component"].values.tolist() == ["model", "prompt", "interaction", "residual"]
    np.testing.assert_allclose(shares["eta2"], squares / squares.sum())


def test_cells_of_unequal_size_count_by_their_harmonic_mean():
    rng = np.random.default_rng(8)
    x = xr.DataArray(rng.normal(size=(2, 5, 3)), dims=("model", "prompt", "sample"))
    x[0, :, 1:], x[1, 2, 0] = np.nan, np.nan
    repeats = 10 / (5 / 1 + 4 / 3 + 1 / 2)
    of_means = two_way_anova(x.mean("sample"), dim="prompt")["eta2"]
    cell = x.mean("sample")
    squares = float(((cell - cell.mean()) ** 2).sum()) * repeats * of_means.values
    within = float(((x - cell) ** 2).sum())
    shares = two_way_anova(x, dim="prompt", sample="sample")["eta2"]
    total = squares.sum() + within
    np.testing.assert_allclose(shares, [*squares / total, within / total])


def test_nothing_that_varies_has_no_shares():
    shares = two_way_anova(
        xr.DataArray(np.full((3, 4), 0.1), dims=("model", "prompt")), dim="prompt"
    )
    assert np.isnan(shares["eta2"]).all()


def test_prompts_that_a_model_lacks_are_dropped_for_all():
    x = risks(seed=6)
    x[1, 3] = x[2, 7] = np.nan
    kept = common_prompts(x, dim="prompt")
    frame = pd.DataFrame(x.values.T).dropna()
    np.testing.assert_array_equal(kept, frame.to_numpy().T)
