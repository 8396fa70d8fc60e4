"""The array layer: compiled loops without labels, machine code cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.integer]
Counts = NDArray[np.uint16]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _mixed(state: np.uint64) -> np.uint64:
    """Output of splitmix64 (Steele, Lea and Flood 2014) for one state."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def count_draws(seed: int, start: int, counts: Counts) -> None:
    """Fill each row with the counts of n draws with replacement from n units.

    Row r is replicate ``start + r`` and has a stream of its own, so that blocks and threads do
    not change results. Draws are exact: 32-bit words by Lemire's method (2019), with rejection.

    Args:
        seed: Seed of all streams.
        start: Number of the first replicate.
        counts: Result; shape (replicates, n).
    """
    replicates, n = counts.shape
    size = np.uint64(n)
    low_mask = np.uint64(0xFFFFFFFF)
    threshold = np.uint64(2**32) % size if n else size
    for row in range(replicates):
        state = _mixed(_mixed(np.uint64(seed) + _GOLDEN) + np.uint64(start + row) * _GOLDEN)
        counts[row] = 0
        drawn = 0
        while drawn < n:
            state += _GOLDEN
            word = _mixed(state)
            for _ in range(2):
                product = (word & low_mask) * size
                word >>= np.uint64(32)
                if drawn < n and (product & low_mask) >= threshold:
                    counts[row, np.int64(product >> np.uint64(32))] += 1
                    drawn += 1


@njit(cache=True, nogil=True)
def count_nested(seed: int, start: int, outer: Counts, counts: Floats) -> None:
    """Fill the counts of draws with replacement inside units that were drawn already.

    A unit with count c has c times m draws among its m members. Row r has a stream of its own.

    Args:
        seed: Seed of all streams; not that of ``outer``.
        start: Number of the first replicate.
        outer: Counts of units; shape (replicates, n).
        counts: Result; shape (replicates, n, m).
    """
    replicates, n, m = counts.shape
    for row in range(replicates):
        state = _mixed(_mixed(np.uint64(seed) + _GOLDEN) + np.uint64(start + row) * _GOLDEN)
        counts[row] = 0.0
        for unit in range(n):
            for _ in range(np.int64(outer[row, unit]) * m):
                state += _GOLDEN
                # Members are few: the bias of 32 bits without rejection is below m / 2^32.
                member = ((_mixed(state) >> np.uint64(32)) * np.uint64(m)) >> np.uint64(32)
                counts[row, unit, np.int64(member)] += 1.0


@njit(cache=True, nogil=True)
def tail_means(  # noqa: PLR0917 - numba knows no keyword-only arguments
    ordered: Floats,
    carried: Floats,
    order: Index,
    present: Index,
    weights: Floats | Counts,
    totals: Floats,
    value_row: Index,
    weight_row: Index,
    alpha: float,
    split: bool,  # noqa: FBT001
    var: Floats,
    means: Floats,
) -> None:
    """Walk the upper tail of rows of values under rows of weights.

    Args:
        ordered: Values, ascending, the missing ones last; shape (v, n).
        carried: Other numbers of each unit to average over the tail; shape (c, v, n).
        order: Which unit each of ``ordered`` is of; shape (v, n).
        present: How many values of a row are not missing; shape (v,).
        weights: Non-negative weight of each unit; shape (w, n).
        totals: Sums of ``weights`` over units; shape (w,).
        value_row: For each result its row of values; shape (k,).
        weight_row: For each result its row of weights; shape (k,).
        alpha: Tail level in (0, 1).
        split: Whether only so much of the atom at the quantile counts as fills a mass of 1 - alpha.
        var: Result: quantiles, NaN where no value has weight; shape (k,).
        means: Result: means of the values and of the carried numbers over the tail, NaN likewise;
            shape (1 + c, k).
    """
    w, held = np.empty(weights.shape[1]), -1
    for k in range(value_row.size):
        row = value_row[k]
        if weight_row[k] != held:
            # A walk jumps about: read in order once, its row is in the cache.
            held = weight_row[k]
            for i in range(w.size):
                w[i] = weights[held, i]
        values, unit = ordered[row, : present[row]], order[row, : present[row]]
        total = _total(w, unit, totals[held])
        var[k] = np.nan
        means[:, k] = np.nan
        if total > 0.0:
            first, last, over, atom, excess = _walk_down(values, w, unit, total, alpha * total)
            share = ((1.0 - alpha) * total - over) / atom if split else 1.0
            var[k] = values[last]
            top = values[-1]
            part = share * atom
            means[0, k] = top - (excess + part * (top - var[k])) / (over + part)
            for c in range(carried.shape[0]):
                means[c + 1, k] = _mean_from(carried[c, row], w, unit, first, last, share)


@njit(cache=True, nogil=True)
def _total(w: Floats, unit: Index, whole: float) -> float:
    """Weight of the units that are present."""
    if unit.size == w.size:
        return whole
    total = 0.0
    for u in unit:
        total += w[u]
    return total


@njit(cache=True, nogil=True)
def _walk_down(
    values: Floats, w: Floats, unit: Index, total: float, target: float
) -> tuple[int, int, float, float, float]:
    """Go from the top to the lowest value whose cumulative weight reaches the target.

    Returns:
        First and last position of the values equal to that one (the atom), the weight above them,
        their weight, and how far the values above lie below the top one, summed by weight: so the
        mean of equal values is that value, and models with equal tails differ by exactly 0.
    """
    over, excess, top, at = 0.0, 0.0, values[-1], values.size - 1
    while at >= 3:  # noqa: PLR2004 - four at once: their sums do not wait for each other
        a, b, c, d = w[unit[at]], w[unit[at - 1]], w[unit[at - 2]], w[unit[at - 3]]
        four = (a + b) + (c + d)
        if total - (over + four) < target:
            break
        over += four
        excess += (a * (top - values[at]) + b * (top - values[at - 1])) + (
            c * (top - values[at - 2]) + d * (top - values[at - 3])
        )
        at -= 4
    while at < values.size - 1 and values[at + 1] == values[at]:
        at += 1
        over -= w[unit[at]]
        excess -= w[unit[at]] * (top - values[at])
    value, last, atom = values[at], at, 0.0
    while at >= 0:
        if values[at] != value:
            if total - (over + atom) < target:
                break
            over += atom
            excess += atom * (top - value)
            value, last, atom = values[at], at, 0.0
        atom += w[unit[at]]
        at -= 1
    return at + 1, last, over, atom, excess


@njit(cache=True, nogil=True)
def _mean_from(  # noqa: PLR0917
    numbers: Floats, w: Floats, unit: Index, first: int, last: int, share: float
) -> float:
    """Weighted mean from a position to the top, the atom counted by its share.

    It is summed from the first number on, so that the mean of equal numbers is that number.
    """
    base = numbers[unit[first]]
    total = mass = 0.0
    for j in range(first, last + 1):
        total += share * w[unit[j]] * (numbers[unit[j]] - base)
        mass += share * w[unit[j]]
    for j in range(last + 1, unit.size):
        total += w[unit[j]] * (numbers[unit[j]] - base)
        mass += w[unit[j]]
    return base + total / mass


@njit(cache=True, nogil=True)
def pooled(x: Floats, temperature: float, result: Floats) -> None:
    """Fill in the log-sum-exp over the middle axis, of the values that are not missing.

    Args:
        x: Values, NaN where missing; shape (a, j, b).
        temperature: tau > 0.
        result: tau log(mean_j exp(x_j / tau)), NaN where every value is missing; shape (a, b).
    """
    before, members, after = x.shape
    for i in range(before):
        for k in range(after):
            top, count = -np.inf, 0
            for j in range(members):
                if not np.isnan(x[i, j, k]):
                    top = max(top, x[i, j, k])
                    count += 1
            # Around the maximum nothing overflows, and expm1 with log1p is exact when it is hot.
            excess = 0.0
            for j in range(members):
                # The maximum itself adds expm1(0) = 0.
                if x[i, j, k] < top:
                    excess += np.expm1((x[i, j, k] - top) / temperature)
            result[i, k] = np.nan
            if count:
                result[i, k] = top + temperature * np.log1p(excess / count)
