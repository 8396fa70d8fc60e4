"""Compiled loops over values of a panel; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.integer]
Counts = NDArray[np.uint16]
# Share of all weight within which a cumulative weight meets alpha: 0.55 of 100 is
# 55.00000000000001 in floating point.
ROUNDING = 1e-12
# Bins of values from the lowest to the highest one, by which the upper tail is found unsorted.
BINS = 256


@njit(cache=True, nogil=True)
def select_tails(  # noqa: PLR0917 - numba knows no keyword-only arguments
    rows: Floats,
    weights: Floats,
    weight_row: Index,
    present: Index,
    totals: Floats,
    share: float,
    unit: Index,
    count: Index,
) -> None:
    """Fill in the units of each row of values that its upper tail may need, in their order.

    ``rows`` (v, n) are values, NaN where one is missing, ``present`` (v,) how many are not,
    ``weights`` (w, n) and ``totals`` (w,) as for :func:`tail_means`, ``weight_row`` (v,) the row of
    weights of each. Units are those of the highest of equally wide bins that have more than a
    share of the weight together; ``count`` (v,) is their number, and ``unit`` (v, n) has no meaning
    beyond it.
    """
    mass, lowest = np.empty(BINS), np.empty(BINS)
    for v in range(rows.shape[0]):
        values, w = rows[v], weights[weight_row[v]]
        needed = share * _total(w, values, present[v], totals[weight_row[v]])
        low, high = np.inf, -np.inf
        for x in values:
            if not np.isnan(x):
                low, high = min(low, x), max(high, x)
        bound = low
        scale = (BINS - 1) / (high - low) if low < high else np.inf
        if 0.0 < scale < np.inf:
            mass[:], lowest[:] = 0.0, np.inf
            for u in range(values.size):
                if not np.isnan(values[u]):
                    b = int((values[u] - low) * scale)
                    mass[b] += w[u]
                    lowest[b] = min(lowest[b], values[u])
            b, above = BINS - 1, mass[BINS - 1]
            while b > 0 and above <= needed:
                b -= 1
                above += mass[b]
            bound = lowest[b]
        count[v] = 0
        for u in range(values.size):
            if values[u] >= bound:
                unit[v, count[v]] = u
                count[v] += 1


@njit(cache=True, nogil=True)
def tail_means(  # noqa: PLR0917
    rows: Floats,
    present: Index,
    ordered: Floats,
    order: Index,
    count: Index,
    others: Floats,
    weights: Floats | Counts,
    totals: Floats,
    value_row: Index,
    weight_row: Index,
    alpha: float,
    split: bool,  # noqa: FBT001
    cells: int,
    var: Floats,
    means: Floats,
    errors: Floats,
) -> None:
    """Compute the quantile and the tail means of rows of values under rows of weights.

    ``rows`` (v, n) are values, NaN where one is missing, ``present`` (v,) how many are not.
    ``ordered`` (v, m) are the highest of them, ascending, ``order`` (v, m) their units, and
    ``count`` (v,) their number; where ``errors`` are asked for, it is that of all. ``others``
    (c, v, m) are other numbers of these units to average over the tail. ``weights`` (w, n) are not
    negative, ``totals`` (w,) their sums; ``value_row`` and ``weight_row`` (k,) are the rows of each
    result. With ``split``, values equal to the quantile count only as far as they fill a mass of
    1 - alpha.

    Results are ``var`` (k,), the quantiles, and ``means`` (1 + c, k) over the tail, of the values
    and of ``others``; NaN where no value has weight. ``errors`` (k,) are standard errors of the
    tail means of the values, from their influence (x - VaR)+ / tail share. Successive ``cells``
    units are repeated answers to one prompt, and prompts are what is sampled. Empty ``errors`` are
    not computed.
    """
    w, current = np.empty(weights.shape[1]), -1
    by_prompt = np.zeros((2, weights.shape[1] // cells))
    for k in range(value_row.size):
        row = value_row[k]
        if weight_row[k] != current:
            # The scan reads weights in the order of values: a copied row stays in the cache.
            current = weight_row[k]
            for i in range(w.size):
                w[i] = weights[current, i]
        values, unit = ordered[row, : count[row]], order[row, : count[row]]
        total = _total(w, rows[row], present[row], totals[current])
        var[k] = np.nan
        means[:, k] = np.nan
        if total > 0.0:
            target = max(alpha - ROUNDING, alpha / 2) * total
            first, last, over, ties, shortfall = _scan(values, w, unit, total, target)
            share = max((1.0 - alpha) * total - over, 0.0) / ties if split else 1.0
            var[k] = values[last]
            top = values[-1]
            part = share * ties
            means[0, k] = top - (shortfall + part * (top - var[k])) / (over + part)
            if errors.size:
                excess, square = _excess(values, w, unit, first, cells, by_prompt)
                variance = max(square / total - (excess / total) ** 2, 0.0)
                prompts = _count_prompts(unit, cells, by_prompt)
                errors[k] = np.sqrt(variance / prompts) * total / (over + part)
            for c in range(others.shape[0]):
                numbers = others[c, row, : count[row]]
                means[c + 1, k] = _mean_from(numbers, w, unit, first, last, share)


@njit(cache=True, nogil=True)
def _total(w: Floats, values: Floats, present: int, total_of_all: float) -> float:
    """Weight of the units whose values are present."""
    if present == w.size:
        return total_of_all
    total = 0.0
    for u in range(w.size):
        if not np.isnan(values[u]):
            total += w[u]
    return total


@njit(cache=True, nogil=True)
def _scan(
    values: Floats, w: Floats, unit: Index, total: float, target: float
) -> tuple[int, int, float, float, float]:
    """Go from the top to the lowest value, the quantile, where cumulative weight meets the target.

    The result is the first and last position of the values equal to the quantile, the weight above
    them, their weight, and the weighted sum of the distances of values above them from the top one.
    Sums of distances make the mean of equal values that value, so that models with equal tails
    differ by exactly 0.
    """
    over, shortfall, top, i = 0.0, 0.0, values[-1], values.size - 1
    while i >= 3:  # noqa: PLR2004 - four at a time: their sums do not wait for each other
        a, b, c, d = w[unit[i]], w[unit[i - 1]], w[unit[i - 2]], w[unit[i - 3]]
        four = (a + b) + (c + d)
        if total - (over + four) < target:
            break
        over += four
        shortfall += (a * (top - values[i]) + b * (top - values[i - 1])) + (
            c * (top - values[i - 2]) + d * (top - values[i - 3])
        )
        i -= 4
    while i < values.size - 1 and values[i + 1] == values[i]:
        i += 1
        over -= w[unit[i]]
        shortfall -= w[unit[i]] * (top - values[i])
    value, last, ties = values[i], i, 0.0
    while i >= 0:
        if values[i] != value:
            if total - (over + ties) < target:
                break
            over += ties
            shortfall += ties * (top - value)
            value, last, ties = values[i], i, 0.0
        ties += w[unit[i]]
        i -= 1
    return i + 1, last, over, ties, shortfall


@njit(cache=True, nogil=True)
def _excess(  # noqa: PLR0917
    values: Floats, w: Floats, unit: Index, first: int, cells: int, by_prompt: Floats
) -> tuple[float, float]:
    """Weighted sums of the excess over the quantile and of its square, by prompt."""
    total = square = 0.0
    for j in range(first, unit.size):
        excess = values[j] - values[first]
        total += w[unit[j]] * excess
        if cells == 1:
            square += w[unit[j]] * excess**2
        else:
            by_prompt[0, unit[j] // cells] += w[unit[j]] * excess
    if cells > 1:
        for u in unit:
            by_prompt[1, u // cells] += w[u]
        for q in range(by_prompt.shape[1]):
            if by_prompt[1, q] > 0.0:
                square += by_prompt[0, q] ** 2 / by_prompt[1, q]
        by_prompt[:] = 0.0
    return total, square


@njit(cache=True, nogil=True)
def _count_prompts(unit: Index, cells: int, by_prompt: Floats) -> int:
    """Count the prompts with at least one of these answers."""
    if cells == 1:
        return unit.size
    for u in unit:
        by_prompt[1, u // cells] = 1.0
    prompts = int(by_prompt[1].sum())
    by_prompt[:] = 0.0
    return prompts


@njit(cache=True, nogil=True)
def _mean_from(  # noqa: PLR0917
    numbers: Floats, w: Floats, unit: Index, first: int, last: int, share: float
) -> float:
    """Weighted mean from a position to the top; a share counts of the values up to ``last``.

    Differences from the first number are summed, so that the mean of equal numbers is that number.
    """
    base = numbers[first]
    total = mass = 0.0
    for j in range(first, last + 1):
        total += share * w[unit[j]] * (numbers[j] - base)
        mass += share * w[unit[j]]
    for j in range(last + 1, unit.size):
        total += w[unit[j]] * (numbers[j] - base)
        mass += w[unit[j]]
    return base + total / mass


@njit(cache=True, nogil=True)
def look_up_values(codes: Index, table: Floats, values: Floats) -> None:
    """Fill in the value of each code from a table (b, 1 + code), over the middle axis of (a, b, c).

    A code of -1 has the first column.
    """
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            for k in range(codes.shape[2]):
                values[i, j, k] = table[j, 1 + codes[i, j, k]]


@njit(cache=True, nogil=True)
def pool_log_sum_exp(x: Floats, temperature: float, result: Floats) -> None:
    """Fill in tau log(mean_j exp(x_j / tau)) over the middle axis of x (a, j, b).

    Values that are NaN are left out; the result is NaN where every value is.
    """
    before, members, after = x.shape
    for i in range(before):
        for k in range(after):
            top, count = -np.inf, 0
            for j in range(members):
                if not np.isnan(x[i, j, k]):
                    top = max(top, x[i, j, k])
                    count += 1
            # Around the maximum nothing overflows, and expm1 with log1p is exact for a high tau.
            excess = 0.0
            for j in range(members):
                # The maximum itself adds expm1(0) = 0.
                if x[i, j, k] < top:
                    excess += np.expm1((x[i, j, k] - top) / temperature)
            result[i, k] = top if count else np.nan
            if excess < 0.0:
                result[i, k] += temperature * np.log1p(excess / count)
