"""Orderings of models against each other (SHARP, Tables 6, 9, 13, 14 and 16)."""

from functools import cache, lru_cache
from itertools import combinations, permutations
from math import factorial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.comparison import cvar_difference

# The aggregates that Table 13 compares, and the mean of Table 14.
AGGREGATES = ("cvar", "radius_cvar", "max_cvar", "any_harm_mean", "mean")
# Up to this number of models (362,880 orders), p of a rank correlation is exact.
MAX_EXACT = 9
# Sums of products of ranks that differ by less are equal.
TOLERANCE = 1e-9


def rank_agreement(x: xr.DataArray, reference: xr.DataArray) -> xr.Dataset:
    """Return rank correlations over models between orderings and a reference ordering.

    Of statistics over (..., model) these are ``kendall`` (tau-b), ``kendall_p``, ``spearman`` and
    ``spearman_p`` over the other dimensions. With up to 9 models each p is exact, ties included:
    the share of all n! orders with a correlation at least as far from 0. With more, Spearman's is
    that of the t distribution, but not below 2 / n!, and Kendall's is SciPy's, exact without ties.
    Models without either value are left out; NaN with fewer than two models, or where all values
    are the same.

    Source: SHARP, Tables 6, 9, 13 and 16; its Table 13 has p of the t distribution.

    >>> x = xr.DataArray([1.0, 2.0, 3.0, 5.0], dims="model")
    >>> agreement = rank_agreement(x, xr.DataArray([1.0, 3.0, 2.0, 4.0], dims="model"))
    >>> round(float(agreement["kendall"]), 4), round(float(agreement["spearman"]), 4)
    (0.6667, 0.8)
    >>> float(agreement["kendall_p"]) * 24, float(agreement["spearman_p"]) * 24  # of 4! = 24 orders
    (8.0, 8.0)
    """
    names = ("kendall", "kendall_p", "spearman", "spearman_p")
    values = xr.apply_ufunc(
        _agreement,
        x,
        reference,
        input_core_dims=[["model"], ["model"]],
        output_core_dims=[[] for _ in names],
        vectorize=True,
        join="exact",
        output_dtypes=[float] * len(names),
    )
    return xr.Dataset(dict(zip(names, values, strict=True)))


def aggregate_agreement(profile: xr.Dataset) -> xr.Dataset:
    """Return rank correlations between the orderings of models by different aggregates.

    The profile has the variables of :data:`AGGREGATES` over (model). The result has
    ``aggregate_kendall``, ``aggregate_kendall_p``, ``aggregate_spearman`` and
    ``aggregate_spearman_p`` over (aggregate, other_aggregate). Missing values are treated as by
    :func:`rank_agreement`.

    Source: SHARP, Table 13.

    >>> rows = xr.DataArray([1.0, 2.0, 3.0], dims="model")
    >>> aggregates = xr.Dataset(dict.fromkeys(AGGREGATES, rows))
    >>> aggregates["mean"] = -rows
    >>> aggregate_agreement(aggregates)["aggregate_kendall"].sel(other_aggregate="mean").values
    array([-1., -1., -1., -1.,  1.])
    """
    table = profile[list(AGGREGATES)].to_dataarray("aggregate")
    agreement = rank_agreement(table, table.rename(aggregate="other_aggregate"))
    return agreement.rename({name: f"aggregate_{name}" for name in agreement})


def decision_flip(
    mean: xr.DataArray, cvar: xr.DataArray, *, max_mean_gap: float, min_tail_gap: float
) -> xr.Dataset:
    """Return the pairs of models that are alike by their mean and apart by their tail.

    ``|mean(a) - mean(b)| <= max_mean_gap  and  |CVaR(a) - CVaR(b)| >= min_tail_gap``

    Of mean and CVaR of log-risk over (..., model) these are ``decision_flip`` and
    ``order_reversed`` (a flip where the model with the lower mean has the higher CVaR) over
    (..., model, other); symmetric, False on the diagonal and where a value is missing.

    Source: SHARP, Appendix F and Table 14, whose own pair keeps its order.

    >>> mean, cvar = (xr.DataArray(x, dims="model") for x in ([0.449, 0.463], [3.782, 3.499]))
    >>> flips = decision_flip(mean, cvar, max_mean_gap=0.1, min_tail_gap=0.25)
    >>> flips["order_reversed"].values
    array([[False,  True],
           [ True, False]])
    """
    by_mean, by_tail = cvar_difference(mean), cvar_difference(cvar)
    # A model is no flip of itself, however small the required gap of the tail.
    itself = xr.DataArray(np.eye(mean.sizes["model"], dtype=bool), dims=("model", "other"))
    flip = (abs(by_mean) <= max_mean_gap) & (abs(by_tail) >= min_tail_gap) & ~itself
    return xr.Dataset({"decision_flip": flip, "order_reversed": flip & (by_mean * by_tail < 0)})


def _agreement(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, ...]:
    """Kendall's tau-b and Spearman's rho with their p-values."""
    from scipy.stats import rankdata  # noqa: PLC0415 - a second to import

    present = ~(np.isnan(x) | np.isnan(y))
    x, y = rankdata(x[present]), rankdata(y[present])
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:  # noqa: PLR2004
        return (float("nan"),) * 4
    return _correlate_ranks(tuple(x.tolist()), tuple(y.tolist()))


@lru_cache(maxsize=1024)
def _correlate_ranks(x_ranks: tuple[float, ...], y_ranks: tuple[float, ...]) -> tuple[float, ...]:
    """Correlations of ranks; those of a sweep are mostly the same ones."""
    from scipy.stats import kendalltau, spearmanr  # noqa: PLC0415 - a second to import

    x, y = np.array(x_ranks), np.array(y_ranks)
    tau, rho = kendalltau(x, y), spearmanr(x, y)
    tau_p, rho_p = float(tau.pvalue), float(rho.pvalue)
    if x.size <= MAX_EXACT:
        rho_p = _extreme_share(_permuted_products(x, y))
        if min(np.unique(x).size, np.unique(y).size) < x.size:
            tau_p = _extreme_share(_permuted_concordance(x, y))
    # No p of n models without ties is smaller; that of the t distribution is 0 at rho = 1.
    rho_p = max(rho_p, 2 / factorial(x.size))
    return float(tau.statistic), tau_p, float(rho.statistic), rho_p


@cache
def _permutations(n: int) -> NDArray[np.int8]:
    """All orders of n things, the present one first; shape (n!, n)."""
    return np.array([*permutations(range(n))], dtype=np.int8)


def _extreme_share(statistics: NDArray[np.float64]) -> float:
    """Share of statistics at least as far from 0 as the first."""
    sizes = np.abs(statistics)
    return float((sizes >= sizes[0] - TOLERANCE).mean())


def _permuted_products(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of products of centred ranks for each order of y, as rho is but for its scale."""
    products: NDArray[np.float64] = (y - y.mean())[_permutations(y.size)] @ (x - x.mean())
    return products


def _permuted_concordance(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Concordant less discordant pairs for each order of y, as tau-b is but for its scale."""
    order, sign = _permutations(y.size), np.sign(y[:, None] - y)
    pairs = combinations(range(x.size), 2)
    terms = (np.sign(x[i] - x[j]) * sign[order[:, i], order[:, j]] for i, j in pairs)
    return np.asarray(sum(terms))
