"""Compiled loop over every two raters of an item; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Scores = NDArray[np.int64]
# The variance of a share of equal scores is no smaller than this.
LEAST = 1e-9


@njit(cache=True, nogil=True)
def compare_raters(  # noqa: PLR0917 - numba knows no keyword-only arguments
    first: Codes,
    rater: Codes,
    score: Scores,
    residual: Floats,
    frequency: Floats,
    min_shared: int,
    result: Floats,
) -> None:
    """Compare every two raters who share items, for each draw.

    ``first`` is the first rating of each item, and the number of ratings; ``rater`` (rating) those
    of an item in increasing order; ``score`` and ``residual`` (draw, rating); ``frequency`` (draw,
    rater, score) how often a rater gives a score. The result (draw, 4) has the mean square of
    the correlations of residuals, weighted by shared items, and the largest excess of equal scores
    in standard deviations, both of pairs with ``min_shared`` shared items or more, and the two
    raters of that excess, -1 where there is none.
    """
    raters = frequency.shape[1]
    shared = np.zeros((raters, raters))
    product = np.zeros((raters, raters))
    same = np.zeros((raters, raters))
    for i in range(first.size - 1):
        for a in range(first[i], first[i + 1]):
            for b in range(first[i], a):
                shared[rater[a], rater[b]] += 1.0
    for d in range(score.shape[0]):
        product[:] = 0.0
        same[:] = 0.0
        for i in range(first.size - 1):
            for a in range(first[i], first[i + 1]):
                row, value, level = rater[a], residual[d, a], score[d, a]
                for b in range(first[i], a):
                    product[row, rater[b]] += value * residual[d, b]
                    same[row, rater[b]] += level == score[d, b]
        _summarise(shared, product, same, frequency[d], min_shared, result[d])


@njit(cache=True, nogil=True)
def _summarise(  # noqa: PLR0917
    shared: Floats,
    product: Floats,
    same: Floats,
    frequency: Floats,
    min_shared: int,
    result: Floats,
) -> None:
    """Mean squared correlation, largest excess of equal scores over pairs, and its two raters."""
    result[2:] = -1.0
    total, weight, largest = 0.0, 0.0, -np.inf
    for a in range(len(shared)):
        for b in range(a):
            n, chance = shared[a, b], 0.0
            if n < min_shared:
                continue
            total += product[a, b] ** 2 / n
            weight += n
            for s in range(frequency.shape[1]):
                chance += frequency[a, s] * frequency[b, s]
            if chance < 1.0 - LEAST:
                sd = np.sqrt(max(n * chance * (1.0 - chance), LEAST))
                excess = (same[a, b] - n * chance) / sd
                if excess > largest:
                    largest = excess
                    result[2], result[3] = b, a
    result[0] = total / weight if weight > 0.0 else np.nan
    result[1] = largest if largest > -np.inf else np.nan
