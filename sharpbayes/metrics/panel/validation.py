"""Do models differ, and what does the spread come from (SHARP, Appendix H.2 and H.3)."""

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.multiplicity import holm

ZeroMethod = Literal["pratt", "wilcox", "zsplit"]


def common_prompts(x: xr.DataArray, *, dim: str) -> xr.DataArray:
    """Return the prompts (``dim``) that every model has a value for, of x over (model, ``dim``)."""
    return x.dropna(dim)


def friedman_test(x: xr.DataArray, *, dim: str) -> xr.Dataset:
    """Return the Friedman test of equal models, prompts as blocks.

    chi2 = 12 n / (k (k + 1)) sum_M (R_M - (k + 1) / 2)^2, corrected for ties;
    W = chi2 / (n (k - 1))

    Of log-risk over (model, ``dim``), complete, with n prompts and k models, the result has
    ``friedman_chi2``, ``friedman_p`` (k - 1 degrees of freedom), ``kendall_w`` in [0, 1] and
    ``average_rank`` (model), 1 the lowest risk, ties at their mean rank. All but the ranks are NaN
    with fewer than three models and where all models tie on every prompt; NaN without a prompt.

    Source: SHARP, Tables 18 and 19.

    >>> x = xr.DataArray([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]], dims=("model", "prompt"))
    >>> tests = friedman_test(x, dim="prompt")
    >>> float(tests["friedman_chi2"]), float(tests["kendall_w"]), tests["average_rank"].values
    (3.0, 0.75, array([1. , 2.5, 2.5]))
    """
    from scipy.stats import friedmanchisquare, rankdata  # noqa: PLC0415 - a second to import

    values = x.transpose("model", dim).to_numpy()
    models, prompts = values.shape
    chi2 = p = float("nan")
    tied = bool((values == values[:1]).all())
    if models >= 3 and prompts and not tied:  # noqa: PLR2004 - of two models it is a sign test
        chi2, p = map(float, friedmanchisquare(*values))
    rank = rankdata(values, axis=0).mean(axis=1) if prompts else np.full(models, np.nan)
    labels = {"model": x["model"]} if "model" in x.coords else {}
    return xr.Dataset(
        {
            "friedman_chi2": chi2,
            "friedman_p": p,
            "kendall_w": kendall_w(chi2, prompts=prompts, models=models),
            "average_rank": ("model", rank),
        },
        labels,
    )


def kendall_w(chi2: float, *, prompts: int, models: int) -> float:
    """Return Kendall's coefficient of concordance: W = chi2 / (n (k - 1)).

    Of n prompts and k models it is in [0, 1]; NaN without a prompt or with one model.

    Source: SHARP, Table 18.

    >>> round(kendall_w(1629.91, prompts=901, models=11), 4)
    0.1809
    """
    return chi2 / (prompts * (models - 1)) if prompts and models > 1 else float("nan")


def wilcoxon_tests(x: xr.DataArray, *, dim: str, zero_method: ZeroMethod) -> xr.Dataset:
    """Return two-sided signed-rank tests of every two models, with Holm's correction.

    Equal values are ranked and left out of the sums by the ``zero_method`` ``pratt``, left out
    before ranking by ``wilcox``, and their ranks are split by ``zsplit``.

    Of log-risk over (model, ``dim``), complete, these are ``wilcoxon_p`` and ``wilcoxon_p_holm``
    over (model, other), symmetric, NaN on the diagonal and without a prompt; 1 for equal models.

    Source: SHARP, Appendix H.2.

    >>> x = xr.DataArray([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], {"model": ["a", "b"]},
    ...                  ("model", "prompt"))
    >>> tests = wilcoxon_tests(x, dim="prompt", zero_method="pratt")
    >>> float(tests["wilcoxon_p"].sel(model="a", other="b"))
    0.25
    """
    values = x.transpose("model", dim).to_numpy()
    first, second = np.triu_indices(len(values), k=1)
    differences = values[first] - values[second]
    p = np.array([_signed_rank(difference, zero_method) for difference in differences])
    tests = {}
    for name, by_pair in (("wilcoxon_p", p), ("wilcoxon_p_holm", holm(p))):
        square = np.full((len(values),) * 2, np.nan)
        square[first, second] = square[second, first] = by_pair
        tests[name] = (("model", "other"), square)
    labels = x["model"].to_numpy()
    return xr.Dataset(tests, {"model": labels, "other": labels})


def two_way_anova(x: xr.DataArray, *, dim: str, sample: str | None = None) -> xr.Dataset:
    """Return which share of the sum of squares models and prompts explain.

    L = mu + alpha_M + beta_q + e;  eta2_c = SS_c / SS_total;
    partial eta2_c = SS_c / (SS_c + SS_residual)

    Of log-risk over (model, ``dim``), complete, these are ``eta2`` and ``partial_eta2`` over
    (component): ``model``, ``prompt``, ``residual``. With repeated generations over ``sample`` the
    ``interaction`` of model and prompt is a component too, and the residual is the spread of the
    generations of a cell. Cells may have unequal numbers of them, one at least: their means count
    alike, as the harmonic mean of these numbers. The first add up to 1; the second has no value for
    ``residual``. NaN where nothing varies.

    Source: SHARP, Table 20; Yates 1934 for unweighted means of unequal cells.

    >>> x = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("model", "prompt"))
    >>> two_way_anova(x, dim="prompt")["eta2"].values
    array([0.8, 0.2, 0. ])
    """
    cell = x.mean(sample) if sample else x
    repeats = float(1 / (1 / x.count(sample)).mean()) if sample else 1
    grand, by_model, by_prompt = cell.mean(), cell.mean(dim), cell.mean("model")
    between = float(((cell - by_model - by_prompt + grand) ** 2).sum()) * repeats
    squares = {
        "model": float(((by_model - grand) ** 2).sum()) * cell.sizes[dim] * repeats,
        "prompt": float(((by_prompt - grand) ** 2).sum()) * cell.sizes["model"] * repeats,
    }
    if sample:
        squares |= {"interaction": between, "residual": float(((x - cell) ** 2).sum())}
    else:
        squares["residual"] = between
    ss = xr.DataArray(list(squares.values()), {"component": list(squares)}, "component")
    # What is left by rounding where nothing varies is no spread.
    varies = x.size > 0 and float(x.max()) > float(x.min())
    total = ss.sum() if varies else xr.DataArray(np.nan)
    eta2 = ss / total
    return xr.Dataset({"eta2": eta2, "partial_eta2": partial_eta2(eta2)})


def partial_eta2(eta2: xr.DataArray) -> xr.DataArray:
    """Return partial eta squared from eta squared: eta2_c / (eta2_c + eta2_residual).

    Both are over (component). NaN for the component ``residual``, and where both are 0.

    Source: SHARP, Table 20.

    >>> eta2 = xr.DataArray([0.139, 0.2583, 0.6027],
    ...                     {"component": ["model", "prompt", "residual"]})
    >>> partial_eta2(eta2).round(4).values
    array([0.1874, 0.3   ,    nan])
    """
    both = eta2 + eta2.sel(component="residual", drop=True)
    return (eta2 / both.where(both > 0)).where(eta2["component"] != "residual")


def _signed_rank(difference: NDArray[np.float64], zero_method: ZeroMethod) -> float:
    """The p value of one pair."""
    from scipy.stats import wilcoxon  # noqa: PLC0415 - a second to import

    if not difference.size:
        return float("nan")
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, zero_method=zero_method).pvalue)
