"""The risk profile of a model: its distribution over prompts in a few numbers (SHARP, A.7-A.8)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.comparison import policy_score
from sharpbayes.metrics.panel.tail import (
    Estimator,
    UnitWeights,
    Weights,
    conditional_value_at_risk,
    log_risk_tail,
    unit_weights,
)

# Of each statistic: what it is, its unit and its range.
MEANING = {
    "mean": ("mean cumulative log-risk", "nat", "[0, inf)"),
    "volatility": ("standard deviation of cumulative log-risk", "nat", "[0, inf)"),
    "var": ("VaR of cumulative log-risk", "nat", "[0, inf)"),
    "cvar": ("CVaR of cumulative log-risk", "nat", "[0, inf)"),
    "radius_cvar": ("CVaR of harm radius", "1", "[0, 1]"),
    "max_cvar": ("CVaR of the largest harm over dimensions", "1", "[0, 1]"),
    "any_harm_mean": ("mean any-harm", "1", "[0, 1]"),
    "any_harm_cvar": ("CVaR of any-harm", "1", "[0, 1]"),
    "dimension_mean": ("mean harm of a dimension", "1", "[0, 1]"),
    "dimension_cvar": ("CVaR of the harm of a dimension", "1", "[0, 1]"),
    "tail_share": ("share of a dimension in the CVaR of cumulative log-risk", "1", "[0, 1]"),
    "policy_score": ("mean harm under the policy weights", "1", "[0, 1]"),
}


def weighted_mean(
    x: xr.DataArray, *, dim: str | Sequence[str], weights: Weights | None
) -> xr.DataArray:
    """Return the mean over ``dim``: sum_q w_q x_q / sum_q w_q.

    Args:
        x: Values in any unit over (..., ``dim``); missing ones are left out.
        dim: Dimension, or dimensions, of the distribution.
        weights: As for :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Returns:
        Means over the other dimensions, those of ``weights`` first; NaN where nothing is left.

    Raises:
        ValueError: A weight is negative or missing.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Source: SHARP, Eqs 23 and 30.

    Examples:
        >>> x = xr.DataArray([1.0, 4.0], dims="prompt")
        >>> float(weighted_mean(x, dim="prompt", weights=xr.DataArray([2.0, 1.0], dims="prompt")))
        2.0
    """
    w = unit_weights(x, dim=dim, weights=weights)
    return _mean(x, w, dim)


def volatility(
    x: xr.DataArray, *, dim: str | Sequence[str], weights: Weights | None
) -> xr.DataArray:
    """Return the population standard deviation: sqrt(sum_q w_q (x_q - mean)^2 / sum_q w_q).

    Args:
        x: Values in any unit over (..., ``dim``); missing ones are left out.
        dim: Dimension, or dimensions, of the distribution.
        weights: As for :func:`sharpbayes.metrics.panel.tail.value_at_risk`.

    Returns:
        Standard deviations (ddof 0), shaped as for :func:`weighted_mean`.

    Raises:
        ValueError: A weight is negative or missing.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Source: SHARP, Eq. 24.

    Examples:
        >>> float(volatility(xr.DataArray([1.0, 3.0], dims="prompt"), dim="prompt", weights=None))
        1.0
    """
    w = unit_weights(x, dim=dim, weights=weights)
    # Centred on the plain mean, so that the difference of moments loses no digits.
    centred = x - x.mean(dim)
    variance = _mean(centred**2, w, dim) - _mean(centred, w, dim) ** 2
    return variance.clip(min=0.0) ** 0.5


def profile(
    panel: xr.Dataset,
    *,
    alpha: float,
    policy: xr.DataArray | None,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the risk profile of every model.

    Args:
        panel: From :func:`sharpbayes.metrics.panel.risk.panel`; over (..., model, ``dim``[, dimension]).
        alpha: Tail level in (0, 1).
        policy: Weights over (dimension) that add up to 1; None weighs dimensions alike.
        estimator: As for :func:`sharpbayes.metrics.panel.tail.conditional_value_at_risk`.
        dim: Dimension, or dimensions, of the distribution.
        weights: Counts of a resample, or other weights, over (..., ``dim``); None: ones.

    Returns:
        Over (..., model): ``mean``, ``volatility``, ``var``, ``cvar`` of log-risk, ``radius_cvar``,
        ``max_cvar``, ``any_harm_mean``, ``any_harm_cvar``, ``policy_score``; over (..., model,
        dimension): ``dimension_mean``, ``dimension_cvar``, ``tail_share``. The dimensions that
        ``weights`` add come first. Missing prompts are left out; a model with none left is NaN.

    Raises:
        ValueError: ``alpha``, ``policy`` or ``weights`` is out of range.
        xarray.AlignmentError: ``panel`` and ``weights`` or ``policy`` have other labels.

    Source: SHARP, Eqs 23-26, 30-31; Tables 1-4 and 12.

    Examples:
        >>> from sharpbayes.metrics.panel.risk import panel
        >>> x = xr.DataArray([[[0.0, 0.5]], [[0.5, 0.5]]], dims=("prompt", "judge", "dimension"))
        >>> made = panel(x, temperature=0.2, epsilon=1e-6, judges_missing="available")
        >>> found = profile(made, alpha=0.5, policy=None, estimator="rockafellar-uryasev")
        >>> float(found["policy_score"])
        0.375
        >>> float(found["cvar"].round(4)), found["tail_share"].round(4).values
        (1.3863, array([0.5, 0.5]))
    """
    log_risk, harm, any_harm = panel["log_risk"], panel["harm"], panel["any_harm"]
    w = unit_weights(log_risk, dim=dim, weights=weights)
    # Matrix products are of floats: counts of a resample become that once.
    floats = UnitWeights(w.each.astype(float, copy=False), w.total)
    average = partial(weighted_mean, dim=dim, weights=floats)
    cvar = partial(conditional_value_at_risk, alpha=alpha, estimator=estimator, dim=dim, weights=w)
    found = log_risk_tail(
        panel["log_risk_part"], log_risk, alpha=alpha, estimator=estimator, dim=dim, weights=w
    )
    dimension_mean = average(harm)
    found = found.assign(
        mean=average(log_risk),
        volatility=volatility(log_risk, dim=dim, weights=floats),
        radius_cvar=cvar(panel["radius"]),
        max_cvar=cvar(harm.max("dimension", skipna=False)),
        any_harm_mean=average(any_harm),
        any_harm_cvar=cvar(any_harm),
        dimension_mean=dimension_mean,
        dimension_cvar=cvar(harm),
        policy_score=policy_score(dimension_mean, _policy(policy, dimension_mean)),
    )
    return _described(found)


def _mean(x: xr.DataArray, w: UnitWeights, dim: str | Sequence[str]) -> xr.DataArray:
    """Weighted mean of what is present, as matrix products."""
    there = x.notnull()
    total: xr.DataArray = (
        w.total
        if bool(there.all())
        else xr.dot(w.each, there.astype(float), dim=dim, optimize=True)
    )
    # One set of weights needs no matrix product, which would move the units of every draw.
    many = w.total.ndim > 0
    weighed: xr.DataArray = xr.dot(w.each, x.where(there, 0.0), dim=dim, optimize=many)
    return weighed / total.where(total > 0)


def _policy(policy: xr.DataArray | None, dimension_mean: xr.DataArray) -> xr.DataArray:
    """The policy, or equal weights."""
    if policy is not None:
        return policy
    size = dimension_mean.sizes["dimension"]
    return xr.DataArray(np.full(size, 1.0 / size), dims="dimension")


def _described(found: xr.Dataset) -> xr.Dataset:
    """The statistics in the order of their table, each with what it is."""
    ordered = found[list(MEANING)]
    for name, (long_name, units, span) in MEANING.items():
        ordered[name].attrs = {"long_name": long_name, "units": units, "range": span}
    return ordered
