"""Orderings of models against each other (SHARP, Tables 6, 9, 13, 14 and 16)."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The aggregates that Table 13 compares, and the mean of Table 14.
AGGREGATES = ("cvar", "radius_cvar", "max_cvar", "any_harm_mean", "mean")


def rank_agreement(x: xr.DataArray, reference: xr.DataArray) -> xr.Dataset:
    """Return rank correlations over models between orderings and a reference ordering.

    Of statistics over (..., model) these are ``kendall`` (tau-b), ``kendall_p``, ``spearman`` and
    ``spearman_p`` over the other dimensions: Kendall's p is exact without ties, Spearman's that of
    SciPy's t approximation. Models without either value are left out; NaN with fewer than two
    models, or where all values are the same; ``spearman_p`` with fewer than three.

    Source: SHARP, Tables 6, 9, 13 and 16.

    >>> x = xr.DataArray([1.0, 2.0, 3.0, 5.0], dims="model")
    >>> found = rank_agreement(x, xr.DataArray([1.0, 3.0, 2.0, 4.0], dims="model"))
    >>> round(float(found["kendall"]), 4), round(float(found["spearman"]), 4)
    (0.6667, 0.8)
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
    ``aggregate_spearman_p`` over (aggregate, other_aggregate).

    Source: SHARP, Table 13.

    >>> rows = xr.DataArray([1.0, 2.0, 3.0], dims="model")
    >>> made = xr.Dataset(dict.fromkeys(AGGREGATES, rows))
    >>> made["mean"] = -rows
    >>> aggregate_agreement(made)["aggregate_kendall"].sel(other_aggregate="mean").values
    array([-1., -1., -1., -1.,  1.])
    """
    table = profile[list(AGGREGATES)].to_dataarray("aggregate")
    agreement = rank_agreement(table, table.rename(aggregate="other_aggregate"))
    return agreement.rename({name: f"aggregate_{name}" for name in agreement})


def decision_flip(
    mean: xr.DataArray, cvar: xr.DataArray, *, max_mean_gap: float, min_tail_gap: float
) -> xr.Dataset:
    """Return the pairs of models that are alike by their mean and apart by their tail.

    |mean(a) - mean(b)| <= max_mean_gap  and  |CVaR(a) - CVaR(b)| >= min_tail_gap

    Of mean and CVaR of log-risk over (..., model) these are ``decision_flip`` and
    ``order_reversed`` (a flip where the model with the lower mean has the higher CVaR) over
    (..., model, other); symmetric, False on the diagonal and where a value is missing.

    Source: SHARP, Appendix F and Table 14, whose own pair keeps its order.

    >>> mean, cvar = (xr.DataArray(x, dims="model") for x in ([0.449, 0.463], [3.782, 3.499]))
    >>> found = decision_flip(mean, cvar, max_mean_gap=0.1, min_tail_gap=0.25)
    >>> found["order_reversed"].values
    array([[False,  True],
           [ True, False]])
    """
    by_mean = (mean - mean.rename(model="other")).transpose(..., "model", "other")
    by_tail = (cvar - cvar.rename(model="other")).transpose(..., "model", "other")
    # A model is no flip of itself, however small the required gap of the tail.
    itself = xr.DataArray(np.eye(mean.sizes["model"], dtype=bool), dims=("model", "other"))
    flip = (abs(by_mean) <= max_mean_gap) & (abs(by_tail) >= min_tail_gap) & ~itself
    return xr.Dataset({"decision_flip": flip, "order_reversed": flip & (by_mean * by_tail < 0)})


def _agreement(x: Floats, y: Floats) -> tuple[float, float, float, float]:
    """Kendall's tau-b and Spearman's rho with their p-values."""
    from scipy.stats import kendalltau, spearmanr  # noqa: PLC0415 - a second to import

    present = ~(np.isnan(x) | np.isnan(y))
    x, y = x[present], y[present]
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:  # noqa: PLR2004
        return (float("nan"),) * 4
    tau, rho = kendalltau(x, y), spearmanr(x, y)
    return float(tau.statistic), float(tau.pvalue), float(rho.statistic), float(rho.pvalue)
