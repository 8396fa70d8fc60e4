"""The CVaR of values that are known to lie between two bounds each."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.kernels import ROUNDING
from sharpbayes.metrics.panel.tail import (
    Estimator,
    Weights,
    conditional_value_at_risk,
    unit_weights,
    value_at_risk,
)
from sharpbayes.metrics.stats.unseen import Rise

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def tail_bounds(
    low: xr.DataArray,
    high: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return bounds of the CVaR of values x that are anywhere in low <= x <= high.

    lower = v + sum w (low - v)+ / sum w 1[high >= v],  v = VaR(low)

    ``rockafellar-uryasev`` grows with every value, so that its bounds are its values of ``low`` and
    of ``high``. ``inclusive`` does not: a value that rises to VaR joins the tail as its lowest.
    Its lower bound, which some values attain, is that of the equation. Its upper bound is the
    largest mean over values that can be the tail, in the order of ``high``: those that must be in
    it, where ``low`` >= VaR(high), and as many others as make it largest, but at least a mass above
    1 - alpha. Some values come as near to it as one likes where all weights are equal, or where
    ``low`` and ``high`` have one VaR. With other weights it is the Rockafellar-Uryasev CVaR of
    ``high``, which no CVaR can exceed, but perhaps none attains.

    Values are in any unit over (..., ``dim``), missing in both or in none; the other arguments are
    those of :func:`sharpbayes.metrics.panel.tail.conditional_value_at_risk`. The result is over
    (bound, ...) with ``bound`` = lower, upper; NaN where nothing is left.

    Source: Manski 1989 for bounds of what is missing; none for the inclusive estimator.

    >>> low = xr.DataArray([0.0, 1.0, 1.0, 3.0], dims="prompt")
    >>> high = xr.DataArray([1.0, 1.0, 1.0, 3.0], dims="prompt")
    >>> tail_bounds(low, high, alpha=0.75, estimator="inclusive").values.round(2)
    array([1.5 , 1.67])
    """

    def cvar(x: xr.DataArray, kind: Estimator = estimator) -> xr.DataArray:
        return conditional_value_at_risk(x, alpha=alpha, estimator=kind, dim=dim, weights=weights)

    bound = xr.DataArray(["lower", "upper"], dims="bound", name="bound")
    if estimator == "rockafellar-uryasev":
        return xr.concat([cvar(low), cvar(high)], bound)
    var, var_of_high = (
        value_at_risk(x, alpha=alpha, dim=dim, weights=weights) for x in (low, high)
    )
    # Whatever can be at VaR is there: it makes the tail as long as can be, and adds nothing to it.
    lower = cvar(low.where(high < var, np.maximum(low, var)))
    is_tail = _find_largest_tail(low, high, var_of_high, alpha=alpha, dim=dim, weights=weights)
    upper = cvar(high.where(is_tail, low))
    if weights is not None:
        upper = upper.where(var == var_of_high, cvar(high, "rockafellar-uryasev"))
    return xr.concat([lower, upper], bound)


def unseen_end_rise(share: xr.DataArray, *, alpha: float, epsilon: float) -> xr.DataArray:
    """Return by how much a CVaR of log-risk rises at most if a share of prompts gains an end.

    min(q / (1 - alpha), 1) (-log epsilon)

    q is the ``share`` of all prompts whose answer moves to the end of the scale in one dimension,
    in [0, 1] over (...). CVaR is subadditive, and this is the CVaR of what is added. The result is
    in nats over (...), in [0, -log epsilon]; NaN where the share is.

    Source: Artzner et al. 1999 for the subadditivity; SHARP, Eq. 21 for the log-risk of an end.

    >>> float(unseen_end_rise(xr.DataArray(0.01), alpha=0.95, epsilon=1e-6).round(2))
    2.76
    """
    return Rise(1.0 - alpha, -float(np.log(epsilon)))(share)


def _find_largest_tail(
    low: xr.DataArray,
    high: xr.DataArray,
    var: xr.DataArray,
    *,
    alpha: float,
    dim: str | Sequence[str],
    weights: Weights | None,
) -> xr.DataArray:
    """Return which values, at their largest, are the tail of the largest mean from a VaR on."""
    dims = [dim] if isinstance(dim, str) else list(dim)
    w = unit_weights(high, dim=dims, weights=weights).weights.where(high.notnull(), 0.0)
    low, high, w, var = xr.broadcast(low, high, w, var)
    rows = (x.transpose(*var.dims) for x in (low, high, w, var))
    is_tail: xr.DataArray = xr.apply_ufunc(
        _largest_tail,
        *rows,
        input_core_dims=[dims] * 4,
        output_core_dims=[dims],
        kwargs={"alpha": alpha},
        vectorize=True,
        output_dtypes=[bool],
    )
    return is_tail


def _largest_tail(low: Floats, high: Floats, w: Floats, var: Floats, *, alpha: float) -> Booleans:
    """Return the tail of one list: what must be in it, and what makes its mean larger.

    A tail has more mass than 1 - alpha: what is below it does not meet alpha.
    """
    order = np.argsort(-high, axis=None)
    certain, optional = low >= var, (low < var) & (high >= var)
    chosen = (w * optional).ravel()[order]
    mass = w[certain].sum() + np.r_[0.0, np.cumsum(chosen)]
    values = np.where(optional, w * high, 0.0).ravel()[order]
    total = (w * high)[certain].sum() + np.r_[0.0, np.cumsum(values)]
    is_long_enough = w.sum() - mass < max(alpha - ROUNDING, alpha / 2) * w.sum()
    mean = np.divide(total, mass, where=is_long_enough, out=np.full_like(mass, -np.inf))
    rank = np.argsort(order).reshape(high.shape)
    tail: Booleans = certain | (optional & (rank < mean.argmax()))
    return tail
