"""Rating blocks in the kernel where a category is an interval between two cutpoints.

Ratings of one block share cutpoints and category; they differ by their cell. With v the severity of
a cell, u and l the upper and lower cutpoint of the block (less what is constant in it), E = exp(v)
tabulated, A = exp(-u) and B = exp(l),

    P = 1 / (1 + A E) * E / (E + B) * (1 - exp(l - u)).

The last factor is constant in a block and is added elsewhere. No rating needs an exponential: the
product of P runs on from rating to rating, and its logarithm is taken when it gets small. Where
exponents could leave the range of doubles, an exact path computes a softplus for each rating.

The functions of blocks add the derivative by the severity of each cell to ``d_cell``, and return
the derivatives by the upper and by the lower cutpoint, summed over ratings.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.data import LOGIT, SCALE, SIZE
from sharpbayes.bayes.kernel.runs import PART, run_block
from sharpbayes.bayes.kernel.vectors import jit, jit_contract

# exp(FAR) ** 4 is still a double: larger exponents take the exact path.
FAR = 150.0
LOG_2 = math.log(2.0)
SMALL = 1e-150
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# 1.5 * 2^52: adding it rounds to an integer, which is left in the low bits.
ROUND = 6755399441055744.0
SQRT_HALF = math.sqrt(0.5)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@jit
def exp_table(v, sign, out):
    """Write exp(sign v), part by part; return whether all |v| < ``FAR``."""
    n_near = 0
    for i in range(len(v)):
        n_near += 1 if abs(v[i]) < FAR else 0
    if n_near < len(v):
        return False
    rounded = np.empty(min(PART, len(v)))
    for first in range(0, len(v), PART):
        size = min(PART, len(v) - first)
        exp_part(v[first : first + size], sign, out[first : first + size], rounded)
    return True


@jit_contract
def exp_part(v, sign, out, rounded):
    """Write exp(sign v) by a polynomial that vectorises; ``rounded`` is overwritten."""
    for i in range(len(v)):
        x = sign * v[i]
        shifted = x * LOG2_E + ROUND
        rounded[i] = shifted
        k = shifted - ROUND
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        q = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
        q = 1.0 / 39916800.0 + r * q
        q = 1.0 / 3628800.0 + r * q
        q = 1.0 / 362880.0 + r * q
        q = 1.0 / 40320.0 + r * q
        q = 1.0 / 5040.0 + r * q
        q = 1.0 / 720.0 + r * q
        q = 1.0 / 120.0 + r * q
        q = 1.0 / 24.0 + r * q
        q = 1.0 / 6.0 + r * q
        q = 0.5 + r * q
        out[i] = 1.0 + (r + r * r * q)
    bits, exponents = out.view(np.int64), rounded.view(np.int64)
    for i in range(len(v)):
        bits[i] += exponents[i] << 52


@jit
def inner_block(cells, table, B, A, product, d_cell):
    """Add a block at an inner category; return the running product and the log apart from it."""
    total, d_upper, d_lower = 0.0, 0.0, 0.0
    for c in cells:
        e = table[c]
        x = A * e
        p1, p2 = 1.0 + x, e + B
        q = 1.0 / (p1 * p2)
        product *= q * e
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        high, low = x * p2 * q, B * p1 * q
        d_upper += high
        d_lower += low
        d_cell[c] += low - high
    return product, total, d_upper, -d_lower


@jit
def lowest_block(cells, table, A, product, d_cell):
    """Add a block at the lowest category."""
    total, d_upper = 0.0, 0.0
    for c in cells:
        x = A * table[c]
        q = 1.0 / (1.0 + x)
        product *= q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        high = x * q
        d_upper += high
        d_cell[c] -= high
    return product, total, d_upper


@jit
def highest_block(cells, table, B, product, d_cell):
    """Add a block at the highest category."""
    total, d_lower = 0.0, 0.0
    for c in cells:
        e = table[c]
        q = 1.0 / (e + B)
        product *= e * q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        low = B * q
        d_lower += low
        d_cell[c] += low
    return product, total, -d_lower


@jit
def exact_block(cells, v, lower, upper, d_cell):
    """Add a block rating by rating, by functions that neither overflow nor cancel."""
    total, d_upper, d_lower = 0.0, 0.0, 0.0
    for c in cells:
        high, low = logistic(v[c] - upper), logistic(lower - v[c])
        total -= softplus(v[c] - upper) + softplus(lower - v[c])
        d_upper += high
        d_lower += low
        d_cell[c] += low - high
    return total, d_upper, -d_lower


@jit
def softplus(x):
    """Return log(1 + exp(x))."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@jit
def logistic(x):
    """Return 1 / (1 + exp(-x))."""
    small = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else small) / (1.0 + small)


@jit
def probit_block(cells, v, lower, upper, gap, d_cell):
    """Add a block under the normal distribution."""
    total, d_upper, d_lower = 0.0, 0.0, 0.0
    for c in cells:
        low, high = lower - v[c], upper - v[c]
        log_p = log_normal_between(low, high, gap)
        total += log_p
        d_high = math.exp(-0.5 * high * high - LOG_SQRT_2PI - log_p)
        d_low = math.exp(-0.5 * low * low - LOG_SQRT_2PI - log_p)
        d_upper += d_high
        d_lower -= d_low
        d_cell[c] += d_low - d_high
    return total, d_upper, d_lower


@jit
def log_normal_between(low, high, gap):
    """Return log(Phi(high) - Phi(low)), ``gap`` = high - low known to full precision."""
    if low + high > 0.0:
        low, high = -high, -low
    middle = 0.5 * (low + high)
    if gap * max(1.0, abs(middle)) < 1e-2:
        m2, w2 = middle * middle, gap * gap
        series = (m2 - 1.0) * w2 / 24.0 + (m2 * m2 - 6.0 * m2 + 3.0) * w2 * w2 / 1920.0
        return math.log(gap) - 0.5 * m2 - LOG_SQRT_2PI + math.log1p(series)
    top = log_normal_cdf(high)
    if low == -np.inf:
        return top
    ratio = log_normal_cdf(low) - top
    return top + (math.log(-math.expm1(ratio)) if ratio > -0.7 else math.log1p(-math.exp(ratio)))


@jit
def log_normal_cdf(x):
    """Return log Phi(x), by a continued fraction where erfc would underflow."""
    if x > -30.0:
        return math.log(0.5 * math.erfc(-x * SQRT_HALF))
    fraction = 0.0
    for k in range(30, 0, -1):
        fraction = k / (-x + fraction)
    return -0.5 * x * x - LOG_SQRT_2PI - math.log(-x + fraction)


@jit
def interval_blocks(p, a, v, group, cutpoints, gaps, d_cell, d_group, d_cutpoints, d_a):
    """Return the log-likelihood of all blocks; add its derivatives."""
    blocks = p.block.shape[0]
    upper, lower = block_bounds(p, a, group, cutpoints)
    d_upper, d_lower = np.zeros(blocks), np.zeros(blocks)
    near, table, high, low = bound_tables(p, v, upper, lower)
    first = np.int64(0)  # a literal would compile both functions for itself alone
    if near:
        total = near_blocks(p, first, blocks, table, low, high, d_cell, d_upper, d_lower)
    else:
        total = exact_blocks(p, first, blocks, a, v, gaps, lower, upper, d_cell, d_upper, d_lower)
    bounds_backward(p, a, upper, lower, d_upper, d_lower, d_group, d_cutpoints, d_a)
    return total


@jit
def block_bounds(p, a, group, cutpoints):
    """Return the upper and the lower cutpoint of each block, less what is constant in it."""
    upper, lower = np.zeros(p.block.shape[0]), np.zeros(p.block.shape[0])
    for r in range(p.block.shape[0]):
        g, s, q, below, above = p.block[r]
        start = p.cutpoint_set[s, 1]
        if above >= 0:
            upper[r] = a[q] * (cutpoints[start + above] - group[g])
        if below >= 0:
            lower[r] = a[q] * (cutpoints[start + below] - group[g])
    return upper, lower


@jit
def bound_tables(p, v, upper, lower):
    """Return whether exp(v), exp(-upper) and exp(lower) can all be tabulated, and the tables."""
    table, high, low = np.empty(len(v)), np.empty(len(upper)), np.empty(len(upper))
    near = p.sizes[SIZE.form] == LOGIT and exp_table(v, 1.0, table)
    near = near and exp_table(upper, -1.0, high) and exp_table(lower, 1.0, low)
    return near, table, high, low


@jit
def bounds_backward(p, a, upper, lower, d_upper, d_lower, d_group, d_cutpoints, d_a):
    """Pass the derivatives by the bounds of blocks to cutpoints, groups and discrimination."""
    for r in range(p.block.shape[0]):
        g, s, q, below, above = p.block[r]
        start = p.cutpoint_set[s, 1]
        d_group[g] -= a[q] * (d_upper[r] + d_lower[r])
        if above >= 0:
            d_cutpoints[start + above] += a[q] * d_upper[r]
            d_a[q] += d_upper[r] * upper[r]
        if below >= 0:
            d_cutpoints[start + below] += a[q] * d_lower[r]
            d_a[q] += d_lower[r] * lower[r]


@jit
def near_blocks(p, first, last, table, low, high, d_cell, d_upper, d_lower):
    """Return the log-likelihood of successive blocks under the logistic, inner gaps apart."""
    total, product = 0.0, 1.0
    for r in range(first, last):
        cells, run = p.rating_cell[p.block_start[r] : p.block_start[r + 1]], p.block_run[r]
        if run >= 0:
            A = high[r] if p.block[r, 4] >= 0 else 0.0
            B = low[r] if p.block[r, 3] >= 0 else 0.0
            block = slice(run, run + len(cells))
            more, d_upper[r], d_lower[r] = run_block(table[block], A, B, d_cell[block])
        elif p.block[r, 3] < 0:
            product, more, d_upper[r] = lowest_block(cells, table, high[r], product, d_cell)
        elif p.block[r, 4] < 0:
            product, more, d_lower[r] = highest_block(cells, table, low[r], product, d_cell)
        else:
            product, more, d_upper[r], d_lower[r] = inner_block(
                cells, table, low[r], high[r], product, d_cell
            )
        total += more
    return total + math.log(product)


@jit
def exact_blocks(p, first, last, a, v, gaps, lower, upper, d_cell, d_upper, d_lower):
    """Return the log-likelihood of successive blocks, under the logistic inner gaps apart."""
    total = 0.0
    for r in range(first, last):
        _, s, q, below, above = p.block[r]
        cells = p.rating_cell[p.block_start[r] : p.block_start[r + 1]]
        low, high = lower[r] if below >= 0 else -np.inf, upper[r] if above >= 0 else np.inf
        if p.sizes[SIZE.form] == LOGIT:
            more, d_upper[r], d_lower[r] = exact_block(cells, v, low, high, d_cell)
        else:
            inner = below >= 0 and above >= 0
            gap = a[q] * gaps[p.cutpoint_set[s, 1] + below] if inner else np.inf
            more, d_upper[r], d_lower[r] = probit_block(cells, v, low, high, gap, d_cell)
        total += more
    return total


@jit
def log_between(wide):
    """Return log(1 - exp(-wide))."""
    return math.log(-math.expm1(-wide)) if wide < LOG_2 else math.log1p(-math.exp(-wide))


@jit
def inner_gaps(p, counts, a, gaps, d_gaps, d_a):
    """Return sum n log(1 - exp(-a gap)) over the inner categories of every set."""
    total = 0.0
    for i in range(p.pair.shape[0]):
        s, q = p.pair[i, 0], p.pair[i, 1]
        start = p.cutpoint_set[s, 1]
        for k in range(p.scale[p.cutpoint_set[s, 0], SCALE.cutpoints] - 1):
            n = counts[p.pair[i, 2] + k]
            if n > 0.0:
                wide = a[q] * gaps[start + k]
                total += n * log_between(wide)
                derivative = n * math.exp(-wide) / -math.expm1(-wide)
                d_gaps[start + k] += derivative * a[q]
                d_a[q] += derivative * wide
    return total
