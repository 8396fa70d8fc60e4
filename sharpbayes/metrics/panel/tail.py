"""The upper tail of a distribution over prompts (SHARP, A.7)."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.kernels import select_tails, tail_means
from sharpbayes.metrics.stats.population import PopulationWeights

Estimator = Literal["inclusive", "rockafellar-uryasev"]
# Share of the weight by which more is sorted than a tail needs: sums are rounded.
MARGIN = 1e-9


class UnitWeights(NamedTuple):
    """Checked weights over (..., unit), and their sums over the units."""

    weights: xr.DataArray
    total: xr.DataArray


class Tail(NamedTuple):
    """Quantile, mean of the upper tail and its standard error, and means of other values there."""

    var: xr.DataArray
    mean: xr.DataArray
    error: xr.DataArray
    others: list[xr.DataArray]


Weights = xr.DataArray | UnitWeights | PopulationWeights


def value_at_risk(
    x: xr.DataArray,
    *,
    alpha: float,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return the alpha-quantile, always one of the values.

    VaR = inf{v : P(x <= v) >= alpha}, NumPy's inverted_cdf

    A share of weight that is within 1e-12 of alpha has met it, so that 11 of 20 values are 55% of
    them in floating point too.

    Values are in any unit over (..., ``dim``), one dimension or several; missing ones are left out.
    Weights are over (..., ``dim``), and constant over a dimension of ``dim`` that they lack; those
    of a target population depend on which values are missing. The result is over the other
    dimensions, those of the weights first; NaN where nothing is left.

    Raises:
        ValueError: ``alpha`` is not inside (0, 1), or a weight is negative or missing.
        xarray.AlignmentError: ``x`` and ``weights`` have other labels.

    Source: SHARP, Eq. 25.

    >>> x = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="prompt")
    >>> float(value_at_risk(x, alpha=0.75))
    3.0
    """
    return upper_tail(x, alpha=alpha, estimator="inclusive", dim=dim, weights=weights).var


def conditional_value_at_risk(
    x: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return the mean of the upper tail, in the unit of ``x``.

    CVaR = E[x | x >= VaR]

    The estimator ``inclusive`` is the mean of all values at or above VaR, ties included;
    ``rockafellar-uryasev`` that of a mass of exactly 1 - alpha: of the values equal to VaR only the
    share that fills it counts. Missing values are left out, NaN where nothing is left; all else is
    as for :func:`value_at_risk`.

    Source: SHARP, Eq. 26; Rockafellar and Uryasev 2002 for the other estimator.

    >>> x = xr.DataArray([1.0, 2.0, 3.0, 5.0], dims="prompt")
    >>> float(conditional_value_at_risk(x, alpha=0.75, estimator="inclusive"))
    4.0
    >>> float(conditional_value_at_risk(x, alpha=0.75, estimator="rockafellar-uryasev"))
    5.0
    """
    return upper_tail(x, alpha=alpha, estimator=estimator, dim=dim, weights=weights).mean


def log_risk_tail(
    part: xr.DataArray,
    log_risk: xr.DataArray,
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
    errors: bool = False,
) -> xr.Dataset:
    """Return VaR and CVaR of the cumulative log-risk L, and the share of each dimension in CVaR.

    S_i = E[l_i | L >= VaR(L)] / CVaR(L)

    L over (..., ``dim``) is the sum of its parts l_i over (..., ``dim``, dimension), in nat. The
    result has ``var``, ``cvar`` and ``tail_share`` (..., dimension), shares that add up to 1. Other
    arguments, missing values and errors are those of :func:`conditional_value_at_risk`. With
    ``errors`` it has ``cvar_error``, the standard error of CVaR; see :func:`upper_tail`.

    Source: SHARP, Eqs 25 and 26, Table 4.

    >>> part = xr.DataArray([[0.0, 1.0], [1.0, 3.0]], dims=("prompt", "dimension"))
    >>> tail = log_risk_tail(part, part.sum("dimension"), alpha=0.9, estimator="inclusive")
    >>> float(tail["cvar"]), tail["tail_share"].values
    (4.0, array([0.25, 0.75]))
    """
    parts = [part.isel(dimension=i, drop=True) for i in range(part.sizes["dimension"])]
    tail = upper_tail(
        log_risk, parts, alpha=alpha, estimator=estimator, dim=dim, weights=weights, errors=errors
    )
    labels = part["dimension"] if "dimension" in part.coords else "dimension"
    share = xr.concat(tail.others, labels) / tail.mean.where(tail.mean != 0)
    values = {"var": tail.var, "cvar": tail.mean, "tail_share": share.transpose(..., "dimension")}
    return xr.Dataset(values | ({"cvar_error": tail.error} if errors else {}))


def unit_weights(
    x: xr.DataArray, *, dim: str | Sequence[str], weights: Weights | None
) -> UnitWeights:
    """Return checked weights of the values along ``dim`` and their sums; None gives ones.

    Every function takes what this returns in place of ``weights``, to prepare them only once.
    """
    if isinstance(weights, UnitWeights):
        return weights
    dims = [dim] if isinstance(dim, str) else list(dim)
    if weights is None:
        ones = xr.DataArray(np.ones([x.sizes[name] for name in dims]), dims=dims)
        return UnitWeights(ones, ones.sum(dims))
    if isinstance(weights, PopulationWeights):
        weights = weights.of_values(x.notnull())
    # The smallest weight decides in one pass: it is NaN if any is missing. Counts need no check.
    if weights.dtype.kind != "u":
        if weights.size and not np.min(weights.to_numpy()) >= 0:
            raise ValueError("weights must not be negative or missing")
        weights = weights.astype(float, copy=False)
    weights, _ = xr.align(weights, x, join="exact", copy=False)
    lacking = {name: x.sizes[name] for name in dims if name not in weights.dims}
    weights = weights.expand_dims(lacking).transpose(..., *dims)
    return UnitWeights(weights, weights.sum(dims, skipna=False).astype(float, copy=False))


def upper_tail(
    x: xr.DataArray,
    others: Sequence[xr.DataArray] = (),
    *,
    alpha: float,
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
    errors: bool = False,
) -> Tail:
    """Return the quantile of x, the means of x and of other values over its tail, and an error.

    error = sqrt(Var(z) / n), z = (x - VaR)+ / P(x >= VaR)

    z is the influence of a value on CVaR, n the number of prompts, the first dimension of ``dim``;
    values along others are averaged first. Without ``errors`` the error is empty. Arguments are
    those of :func:`conditional_value_at_risk`.

    Source: Rockafellar and Uryasev 2002; Chen 2008 for the error.

    >>> x = xr.DataArray([1.0, 2.0, 3.0, 5.0], dims="prompt")
    >>> tail = upper_tail(x, alpha=0.5, estimator="inclusive", errors=True)
    >>> float(tail.var), float(tail.mean.round(3)), float(tail.error.round(3))
    (2.0, 3.333, 0.816)
    """
    [tail] = upper_tails(
        x, others, alphas=[alpha], estimator=estimator, dim=dim, weights=weights, errors=errors
    )
    return tail


def upper_tails(
    x: xr.DataArray,
    others: Sequence[xr.DataArray] = (),
    *,
    alphas: Sequence[float],
    estimator: Estimator,
    dim: str | Sequence[str] = "prompt",
    weights: Weights | None = None,
    errors: bool = False,
) -> list[Tail]:
    """Return :func:`upper_tail` at each of several tail levels; values are sorted once."""
    for alpha in alphas:
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}, it must be inside (0, 1)")
    dims = [dim] if isinstance(dim, str) else list(dim)
    w, totals = unit_weights(x, dim=dims, weights=weights)
    x, *others = xr.align(x, *others, join="exact", copy=False)
    present = x.count(dims)
    rows = _matrix(x, present, dims).astype(np.float64, copy=False)
    weighting = _matrix(w, totals, dims), totals.to_numpy().ravel()
    value_row, weight_row = _number_rows(totals, present)
    result_rows = value_row.values.ravel(), weight_row.values.ravel()
    counts = present.to_numpy().ravel()
    # A standard error is over all prompts.
    share = 1.0 if errors else 1.0 - min(alphas)
    order, count = _order_tails(rows, counts, weighting, result_rows, share)
    other_rows = np.empty((len(others), *order.shape))
    for target, other in zip(other_rows, others, strict=True):
        target[:] = np.take_along_axis(_matrix(other, present, dims), order, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    arrays = (rows, counts, ordered, order, count, other_rows, *weighting, *result_rows)
    split, cells = estimator == "rockafellar-uryasev", math.prod(x.sizes[name] for name in dims[1:])
    coords, size = {**present.coords, **totals.coords}, value_row.size

    def label(values: np.ndarray) -> xr.DataArray:
        return xr.DataArray(values.reshape(value_row.shape), coords, value_row.dims)

    tails = []
    for alpha in alphas:
        var, means = np.empty(size), np.empty((1 + len(others), size))
        error = np.full(size if errors else 0, np.nan)
        tail_means(*arrays, float(alpha), split, cells, var, means, error)
        error_of_mean = label(error) if errors else xr.DataArray(error, dims="none")
        mean, *other_means = map(label, means)
        tails.append(Tail(label(var), mean, error_of_mean, other_means))
    return tails


def _number_rows(totals: xr.DataArray, present: xr.DataArray) -> tuple[xr.Variable, xr.Variable]:
    """Return the numbers of the rows of values and of weights of every result.

    Labels were aligned before; without them this broadcast takes a fraction of the time.
    """
    weight_number, value_number = (
        xr.Variable(lead.dims, np.arange(lead.size).reshape(lead.shape))
        for lead in (totals, present)
    )
    return 0 * weight_number + value_number, weight_number + 0 * value_number


def _order_tails(
    rows: np.ndarray,
    present: np.ndarray,
    weighting: tuple[np.ndarray, np.ndarray],
    result_rows: tuple[np.ndarray, np.ndarray],
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the units of each row of values in ascending order, and their number.

    Of a row with one row of weights lower units than a tail of this share needs are left out. Units
    with equal values keep their order, so that no result depends on what is left out.
    """
    value_row, weight_row = result_rows
    weights, totals = weighting
    if share == 1.0 or value_row.size > len(rows) or weights.dtype != np.float64:
        return np.argsort(rows, axis=-1, kind="stable").astype(np.uint32), present
    own_weights, count = np.empty_like(weight_row), np.empty_like(present)
    own_weights[value_row] = weight_row
    unit = np.zeros(rows.shape, np.uint32)
    select_tails(rows, weights, own_weights, present, totals, share + MARGIN, unit, count)
    unit = unit[:, : count.max(initial=0)]
    values = np.take_along_axis(rows, unit, axis=-1)
    values[np.arange(unit.shape[1]) >= count[:, None]] = np.nan
    return np.take_along_axis(unit, np.argsort(values, axis=-1, kind="stable"), axis=-1), count


def _matrix(x: xr.DataArray, lead: xr.DataArray, dims: Sequence[str]) -> np.ndarray:
    """Values as a contiguous matrix: a row for each cell of the leading dimensions."""
    units = int(np.prod([x.sizes[name] for name in dims]))
    ordered = x.transpose(*lead.dims, *dims).to_numpy()
    return np.ascontiguousarray(ordered.reshape(lead.size, units))
