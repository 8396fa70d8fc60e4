"""The upper tail of a distribution over prompts (SHARP, A.7)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.kernels import tail_means

Estimator = Literal["inclusive", "rockafellar-uryasev"]


class UnitWeights(NamedTuple):
    """Weights that were checked, over (..., unit), and their sums over the units."""

    each: xr.DataArray
    total: xr.DataArray


Weights = xr.DataArray | UnitWeights


def value_at_risk(
    x: xr.DataArray,
    *,
    alpha: float,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return the alpha-quantile, always one of the values.

    VaR = inf{v : P(x <= v) >= alpha}, NumPy's ``inverted_cdf``

    Args:
        x: Values in any unit over (..., ``dim``); missing ones are left out.
        alpha: Tail level in (0, 1).
        dim: Dimension, or dimensions, of the distribution.
        weights: Non-negative weights over (..., ``dim``), constant over a dimension of ``dim``
            that they lack; None weighs every value alike.

    Returns:
        Quantiles over the other dimensions, those of ``weights`` first; NaN where nothing is left.

    Raises:
        ValueError: ``alpha`` is not inside (0, 1), or a weight is negative or missing.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Source: SHARP, Eq. 25.

    Examples:
        >>> x = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="prompt")
        >>> float(value_at_risk(x, alpha=0.75))
        3.0
    """
    var, _ = _walk(x, [], alpha=alpha, dim=dim, weights=weights, split=False)
    return var


def conditional_value_at_risk(
    x: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return the mean of the upper tail.

    CVaR = E[x | x >= VaR]

    Args:
        x: Values in any unit over (..., ``dim``); missing ones are left out.
        alpha: Tail level in (0, 1).
        estimator: ``inclusive``: the mean of all values at or above VaR, ties included.
            ``rockafellar-uryasev``: the mean of a mass of exactly 1 - alpha, the atom at VaR split.
        dim: Dimension, or dimensions, of the distribution.
        weights: As for :func:`value_at_risk`.

    Returns:
        Means over the other dimensions, those of ``weights`` first; NaN where nothing is left.

    Raises:
        ValueError: As for :func:`value_at_risk`.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Source: SHARP, Eq. 26; Rockafellar and Uryasev 2002 for the other estimator.

    Examples:
        >>> x = xr.DataArray([1.0, 2.0, 3.0, 5.0], dims="prompt")
        >>> float(conditional_value_at_risk(x, alpha=0.75, estimator="inclusive"))
        4.0
        >>> float(conditional_value_at_risk(x, alpha=0.75, estimator="rockafellar-uryasev"))
        5.0
    """
    split = estimator == "rockafellar-uryasev"
    _, means = _walk(x, [], alpha=alpha, dim=dim, weights=weights, split=split)
    return means[0]


def tail_share(
    part: xr.DataArray,
    log_risk: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return the share of each dimension in the tail of the cumulative log-risk.

    S_i = E[l_i | L >= VaR(L)] / CVaR(L)

    Args:
        part: l_i over (..., ``dim``, dimension).
        log_risk: L over (..., ``dim``), the sum of ``part``; missing ones are left out.
        alpha: Tail level in (0, 1).
        estimator: As for :func:`conditional_value_at_risk`.
        dim: Dimension, or dimensions, of the distribution.
        weights: As for :func:`value_at_risk`.

    Returns:
        Shares over (..., dimension) that add up to 1; NaN where nothing is left.

    Raises:
        ValueError: As for :func:`value_at_risk`.
        xarray.AlignmentError: The arguments have other labels.

    Source: SHARP, Table 4.

    Examples:
        >>> part = xr.DataArray([[0.0, 1.0], [1.0, 3.0]], dims=("prompt", "dimension"))
        >>> share = tail_share(part, part.sum("dimension"), alpha=0.9, estimator="inclusive")
        >>> share.values
        array([0.25, 0.75])
    """
    tail = log_risk_tail(part, log_risk, alpha=alpha, estimator=estimator, dim=dim, weights=weights)
    return tail["tail_share"]


def log_risk_tail(
    part: xr.DataArray,
    log_risk: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str],
    weights: Weights | None,
) -> xr.Dataset:
    """Return ``var``, ``cvar`` and ``tail_share`` of the cumulative log-risk in one pass.

    The arguments are those of :func:`tail_share`; the variables are what :func:`value_at_risk`,
    :func:`conditional_value_at_risk` and :func:`tail_share` return.

    Examples:
        >>> part = xr.DataArray([[0.0, 1.0], [1.0, 3.0]], dims=("prompt", "dimension"))
        >>> tail = log_risk_tail(part, part.sum("dimension"), alpha=0.9,
        ...                      estimator="inclusive", dim="prompt", weights=None)
        >>> float(tail["var"]), float(tail["cvar"])
        (4.0, 4.0)
    """
    parts = [part.isel(dimension=i, drop=True) for i in range(part.sizes["dimension"])]
    split = estimator == "rockafellar-uryasev"
    var, means = _walk(log_risk, parts, alpha=alpha, dim=dim, weights=weights, split=split)
    cvar = means[0]
    labels = part["dimension"] if "dimension" in part.coords else "dimension"
    share = xr.concat(means[1:], labels) / cvar.where(cvar != 0)
    return xr.Dataset({"var": var, "cvar": cvar, "tail_share": share.transpose(..., "dimension")})


def unit_weights(
    x: xr.DataArray, *, dim: str | Sequence[str], weights: Weights | None
) -> UnitWeights:
    """Return a weight for every value along ``dim``: ones, or ``weights`` after a check.

    Whoever asks for many statistics of the same values prepares their weights once: what this
    returns is taken in place of weights everywhere.

    Args:
        x: Values over (..., ``dim``).
        dim: Dimension, or dimensions, of the distribution.
        weights: As for :func:`value_at_risk`.

    Returns:
        Weights over (..., ``dim``) and their sums over ``dim``.

    Raises:
        ValueError: A weight is negative or missing.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Examples:
        >>> x = xr.DataArray([7.0, 8.0], dims="prompt")
        >>> each, total = unit_weights(x, dim="prompt", weights=None)
        >>> each.values, float(total)
        (array([1., 1.]), 2.0)
    """
    if isinstance(weights, UnitWeights):
        return weights
    dims = [dim] if isinstance(dim, str) else list(dim)
    if weights is None:
        ones = xr.DataArray(np.ones([x.sizes[each] for each in dims]), dims=dims)
        return UnitWeights(ones, ones.sum(dims))
    # The smallest decides in one pass, and is NaN if any is missing. Counts are never either.
    if weights.dtype.kind != "u":
        if weights.size and not np.min(weights.to_numpy()) >= 0:
            raise ValueError("weights must not be negative or missing")
        weights = weights.astype(float, copy=False)
    weights, _ = xr.align(weights, x, join="exact", copy=False)
    lacking = {each: x.sizes[each] for each in dims if each not in weights.dims}
    held = weights.expand_dims(lacking).transpose(..., *dims)
    return UnitWeights(held, held.sum(dims, skipna=False).astype(float, copy=False))


def _walk(
    x: xr.DataArray,
    carried: Sequence[xr.DataArray],
    *,
    alpha: float,
    dim: str | Sequence[str],
    weights: Weights | None,
    split: bool,
) -> tuple[xr.DataArray, list[xr.DataArray]]:
    """Quantile of x, and tail means of x and of what is carried along, by the compiled walk."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, it must be inside (0, 1)")
    dims = [dim] if isinstance(dim, str) else list(dim)
    w, totals = unit_weights(x, dim=dims, weights=weights)
    x, *carried = xr.align(x, *carried, join="exact", copy=False)
    present = x.count(dims)
    rows = _rows(x, present, dims)
    order = np.argsort(rows, axis=-1)
    others = np.empty((len(carried), *rows.shape))
    for place, each in zip(others, carried, strict=True):
        place[:] = _rows(each, present, dims)
    # Labels were aligned: without them the broadcast takes a fraction of the time.
    weight_number, value_number = _numbered(totals), _numbered(present)
    weight_row, value_row = weight_number + 0 * value_number, 0 * weight_number + value_number
    var, means = np.empty(value_row.size), np.empty((1 + len(carried), value_row.size))
    tail_means(
        np.take_along_axis(rows, order, axis=-1).astype(np.float64, copy=False),
        others,
        order.astype(np.uint32),
        present.to_numpy().ravel(),
        _rows(w, totals, dims),
        totals.to_numpy().ravel(),
        value_row.values.ravel(),
        weight_row.values.ravel(),
        float(alpha),
        split,
        var,
        means,
    )
    coords = {**present.coords, **totals.coords}
    labelled = [
        xr.DataArray(each.reshape(value_row.shape), coords, value_row.dims)
        for each in (var, *means)
    ]
    return labelled[0], labelled[1:]


def _rows(x: xr.DataArray, lead: xr.DataArray, dims: Sequence[str]) -> np.ndarray:
    """Values as a contiguous matrix: a row for each cell of the leading dimensions."""
    units = int(np.prod([x.sizes[each] for each in dims]))
    ordered = x.transpose(*lead.dims, *dims).to_numpy()
    return np.ascontiguousarray(ordered.reshape(lead.size, units))


def _numbered(lead: xr.DataArray) -> xr.Variable:
    """The number of its row for each cell of the leading dimensions."""
    return xr.Variable(lead.dims, np.arange(lead.size).reshape(lead.shape))
