"""Rating blocks in the kernel under the adjacent-category likelihood.

Ratings of one block share cutpoints and category; they differ by their cell. With v the severity of
a cell, t the cutpoints of the block (less what is constant in it) and T_m = sum_{j < m} t_j,

    P(k) = exp(k v - T_k) / sum_m exp(m v - T_m).

The sum is a polynomial in E = exp(v), tabulated, with coefficients exp(-T_m). It is at least 1: its
inverse multiplies a product that runs on from rating to rating, and the logarithm of the product is
taken when it gets small. An exact path takes over where exponents could leave the range of doubles.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import SCALE
from sharpbayes.bayes.kernel.interval import SMALL, exp_table, jit

# exp(FAR) ** 2 and SMALL / exp(FAR) ** 1.5 are still doubles: larger exponents take the exact path.
FAR = 300.0


@jit
def weigh_categories(t, cumulative, weight):
    """Write T_m and exp(-T_m) of every category; return the largest |T_m|."""
    cumulative[0], weight[0], largest = 0.0, 1.0, 0.0
    for j in range(len(t)):
        cumulative[j + 1] = cumulative[j] + t[j]
        weight[j + 1] = math.exp(-cumulative[j + 1])
        largest = max(largest, abs(cumulative[j + 1]))
    return largest


@jit
def adjacent_block(cells, v, table, cumulative, weight, category, product, d_cell, share):
    """Add a block, and to ``share`` the probability of each category; return product and log."""
    total, top = 0.0, len(weight) - 1
    for c in cells:
        e = table[c]
        denominator, derivative = weight[top], 0.0
        for m in range(top - 1, -1, -1):
            derivative = derivative * e + denominator
            denominator = denominator * e + weight[m]
        q = 1.0 / denominator
        product *= q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        total += category * v[c] - cumulative[category]
        d_cell[c] += category - derivative * e * q
        for m in range(top + 1):
            share[m] += weight[m] * q
            q *= e
    return product, total


@jit
def exact_adjacent_block(cells, v, cumulative, category, d_cell, share):
    """Add a block rating by rating, by functions that do not overflow."""
    total = 0.0
    for c in cells:
        highest = 0.0
        for m in range(len(cumulative)):
            highest = max(highest, m * v[c] - cumulative[m])
        denominator = 0.0
        for m in range(len(cumulative)):
            denominator += math.exp(m * v[c] - cumulative[m] - highest)
        total += (category * v[c] - cumulative[category] - highest) - math.log(denominator)
        d_cell[c] += category
        for m in range(len(cumulative)):
            probability = math.exp(m * v[c] - cumulative[m] - highest) / denominator
            share[m] += probability
            d_cell[c] -= m * probability
    return total


@jit
def adjacent_blocks(p, a, v, group, cutpoints, d_cell, d_group, d_cutpoints, d_a):
    """Return the log-likelihood of all blocks; add its derivatives."""
    widest = 1 + np.max(p.scale[:, SCALE.cutpoints])
    t, cumulative, weight, share = np.zeros((4, widest))
    table, farthest = np.empty(len(v)), 0.0
    near = exp_table(v, 1.0, table)
    for value in v:
        farthest = max(farthest, abs(value))
    total, product, largest = 0.0, 1.0, 0.0
    for r in range(p.block.shape[0]):
        g, s, q, below, _ = p.block[r]
        start, size = p.cutpoint_set[s, 1], p.scale[p.cutpoint_set[s, 0], SCALE.cutpoints] + 1
        cells = p.rating_cell[p.block_start[r] : p.block_start[r + 1]]
        if r == 0 or p.block[r - 1, 0] != g or p.block[r - 1, 1] != s or p.block[r - 1, 2] != q:
            for j in range(size - 1):
                t[j] = a[q] * (cutpoints[start + j] - group[g])
            largest = weigh_categories(t[: size - 1], cumulative, weight)
        share[:] = 0.0
        if near and farthest * (size - 1) + largest < FAR:
            product, more = adjacent_block(
                cells, v, table, cumulative, weight[:size], below + 1, product, d_cell, share
            )
        else:
            more = exact_adjacent_block(cells, v, cumulative[:size], below + 1, d_cell, share)
        total += more
        above = 0.0
        for j in range(size - 2, -1, -1):
            above += share[j + 1]
            d_cutpoint = above - (len(cells) if j <= below else 0)
            d_group[g] -= a[q] * d_cutpoint
            d_cutpoints[start + j] += a[q] * d_cutpoint
            d_a[q] += d_cutpoint * t[j]
    return total + math.log(product)
