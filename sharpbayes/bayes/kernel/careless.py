"""Careless raters in the kernel: a mixture of two likelihoods for each rater.

With L_r the log-likelihood of rater r under the ordinal model, C_r that of a careless rater (a
constant of the ratings) and pi = logistic(s) the share of careless raters,

    log p(y_r) = log((1 - pi) exp(L_r) + pi exp(C_r)),   w_r = (1 - pi) exp(L_r) / p(y_r).

Blocks of a rater follow one another. One pass adds up L_r and the derivatives of the blocks, which
are then weighted by w_r: the ratings are read once. ``s`` is the last entry of ``U``.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.correlated import sd_of
from sharpbayes.bayes.kernel.data import AT, LOGIT, SIZE
from sharpbayes.bayes.kernel.interval import (
    block_bounds,
    bound_tables,
    bounds_backward,
    exact_blocks,
    inner_gaps,
    jit,
    log_between,
    logistic,
    near_blocks,
    softplus,
)


@jit
def share_forward(p, z, U):
    """Write the log odds of the share to ``U``; return their log prior, a Beta(a, b)."""
    position = p.sizes[SIZE.careless]
    if position < 0:
        return 0.0
    U[len(U) - 1], a, b = z[position], p.careless[0], p.careless[1]
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant - a * softplus(-z[position]) - b * softplus(z[position])


@jit
def share_backward(p, z, dU, grad):
    """Add the derivative by the log odds of the share, prior included."""
    position = p.sizes[SIZE.careless]
    if position >= 0:
        a, b = p.careless[0], p.careless[1]
        grad[position] += dU[len(dU) - 1] + a - (a + b) * logistic(z[position])


@jit
def reference_offsets(p, z, U, stored):
    """Return log N(u - m | centre, spread) / N(b | 0, sd) of the effect b of each rater.

    u is the effect with its centres, less the mean of its group, m the median cutpoint less all
    means that it absorbs. Zeros without a reference. The first entry is of ratings without a rater.
    """
    offsets, t = np.zeros(len(p.rater_block)), p.sizes[SIZE.reference]
    if t >= 0:
        sd, median = sd_of(p.terms, t, z, 0), z[p.sizes[SIZE.median]]
        for r in range(p.terms.term[t, AT.size]):
            standardised, spread = stored[p.terms.term[t, AT.stored] + r] / sd, p.reference[r, 1]
            distance = (U[p.terms.term[t, AT.u] + r] - median - p.reference[r, 0]) / spread
            offsets[r + 1] = 0.5 * (standardised * standardised - distance * distance) + math.log(
                sd / spread
            )
    return offsets


@jit
def reference_backward(p, z, U, probability, dU, grad):
    """Add the derivatives of the reference; that of the prior of b is left to its term."""
    t = p.sizes[SIZE.reference]
    if t >= 0:
        median = p.sizes[SIZE.median]
        for r in range(p.terms.term[t, AT.size]):
            u, spread = p.terms.term[t, AT.u] + r, p.reference[r, 1]
            distance = (U[u] - z[median] - p.reference[r, 0]) / (spread * spread)
            dU[u] -= probability[r + 1] * distance
            grad[median] += probability[r + 1] * distance


@jit
def careless_blocks(p, U, parameters, offsets, dU, d_parameters, probability):
    """Return the log-likelihood of all raters; add its derivatives, write P(careless)."""
    a, v, group, cutpoints, gaps = parameters
    d_cell, d_group, d_cutpoints, d_gaps, d_a = d_parameters
    blocks, log_odds, logit = p.block.shape[0], U[len(U) - 1], p.sizes[SIZE.form] == LOGIT
    upper, lower = block_bounds(p, a, group, cutpoints)
    d_upper, d_lower = np.zeros(blocks), np.zeros(blocks)
    near, table, high, low = bound_tables(p, v, upper, lower)
    # Derivatives of one rater; counts of inner categories with the weights of raters.
    d_rater, counts, total = np.zeros(len(v)), np.zeros(len(p.counts)), 0.0
    for r in range(len(p.rater_block) - 1):
        first, last = p.rater_block[r], p.rater_block[r + 1]
        if first == last:
            continue
        if near:
            value = near_blocks(p, first, last, table, low, high, d_rater, d_upper, d_lower)
        else:
            value = exact_blocks(
                p, first, last, a, v, gaps, lower, upper, d_rater, d_upper, d_lower
            )
        value += block_gaps(p, first, last, a, gaps) if logit else 0.0
        weight = 1.0
        # The first blocks are of ratings that always follow the ordinal model.
        if r > 0:
            ordinal = value - softplus(log_odds)
            careless = p.careless[r + 1] + offsets[r] - softplus(-log_odds)
            value = max(ordinal, careless) + math.log1p(math.exp(-abs(ordinal - careless)))
            weight, probability[r] = math.exp(ordinal - value), math.exp(careless - value)
            dU[len(U) - 1] += 1.0 - weight - logistic(log_odds)
        total += value
        weigh_blocks(p, first, last, weight, d_rater, d_cell, d_upper, d_lower, counts)
    bounds_backward(p, a, upper, lower, d_upper, d_lower, d_group, d_cutpoints, d_a)
    if logit:
        inner_gaps(p, counts, a, gaps, d_gaps, d_a)
    return total


@jit
def block_gaps(p, first, last, a, gaps):
    """Return sum n log(1 - exp(-a gap)) over successive blocks at inner categories."""
    total = 0.0
    for r in range(first, last):
        _, s, q, below, above = p.block[r]
        if below >= 0 and above >= 0:
            n = p.block_start[r + 1] - p.block_start[r]
            total += n * log_between(a[q] * gaps[p.cutpoint_set[s, 1] + below])
    return total


@jit
def weigh_blocks(p, first, last, weight, d_own, d_cell, d_upper, d_lower, counts):
    """Weigh the derivatives of a rater's blocks and move those by cells; count inner categories."""
    for i in range(p.block_start[first], p.block_start[last]):
        c = p.rating_cell[i]
        d_cell[c] += weight * d_own[c]
        d_own[c] = 0.0
    for r in range(first, last):
        d_upper[r] *= weight
        d_lower[r] *= weight
        if p.block[r, 3] >= 0 and p.block[r, 4] >= 0:
            n = p.block_start[r + 1] - p.block_start[r]
            counts[p.pair[p.block_pair[r], 2] + p.block[r, 3]] += weight * n
