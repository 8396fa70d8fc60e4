"""Runs of ratings of an adjacent-category model in the kernel.

Ratings of one run share thresholds, level and everything but their cell. With v of each cell, t the
thresholds of the run and T_m = sum_{j < m} t_j,

    P(k) = exp(k v - T_k) / sum_m exp(m v - T_m),

whose sum is a polynomial in E = exp(v), tabulated, with weights exp(-T_m). It is at least 1, so
that its inverse is carried from rating to rating and the logarithm is taken when that gets small.
Where exponents could leave the range of doubles, an exact path takes over.
"""

import math

import numba

from sharpbayes.bayes.kernel.cumulative import SMALL

jit = numba.njit(error_model="numpy", nogil=True)

# exp(FAR) ** 2 and SMALL / exp(FAR) ** 1.5 are still doubles: larger exponents go the exact path.
FAR = 300.0


@jit
def weigh_levels(t, climb, weight):
    """Write T_m and exp(-T_m) of every level."""
    climb[0], weight[0] = 0.0, 1.0
    for j in range(len(t)):
        climb[j + 1] = climb[j] + t[j]
        weight[j + 1] = math.exp(-climb[j + 1])


@jit
def in_range(climb, farthest):
    """Return whether no exponent of a run exceeds ``FAR``, for severities up to ``farthest``."""
    steepest = 0.0
    for each in climb:
        steepest = max(steepest, abs(each))
    return farthest * (len(climb) - 1) + steepest < FAR


@jit
def adjacent_run(ratings, v, table, climb, weight, level, product, cell_slope, share):
    """Add a run, and to ``share`` the probability of each level summed over its ratings.

    Returns:
        The product carried on, and the log-likelihood added to it.
    """
    total, top = 0.0, len(weight) - 1
    for c in ratings:
        e = table[c]
        whole, steep = weight[top], 0.0
        for m in range(top - 1, -1, -1):
            steep = steep * e + whole
            whole = whole * e + weight[m]
        q = 1.0 / whole
        product *= q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        total += level * v[c] - climb[level]
        cell_slope[c] += level - steep * e * q
        for m in range(top + 1):
            share[m] += weight[m] * q
            q *= e
    return product, total


@jit
def exact_adjacent_run(ratings, v, climb, level, cell_slope, share):
    """Add a run rating by rating, by functions that do not overflow."""
    total = 0.0
    for c in ratings:
        highest = 0.0
        for m in range(len(climb)):
            highest = max(highest, m * v[c] - climb[m])
        whole = 0.0
        for m in range(len(climb)):
            whole += math.exp(m * v[c] - climb[m] - highest)
        total += (level * v[c] - climb[level] - highest) - math.log(whole)
        cell_slope[c] += level
        for m in range(len(climb)):
            each = math.exp(m * v[c] - climb[m] - highest) / whole
            share[m] += each
            cell_slope[c] -= m * each
    return total
