"""Runs of ratings in the kernel: log-likelihood and slopes without a transcendental a rating.

Ratings of one run share thresholds, level and everything but their cell. With E = exp(v) of each
cell tabulated, A = exp(-u) and B = exp(l) of the run's upper and lower threshold,

    P = 1 / (1 + A E) * E / (E + B) * (1 - exp(l - u)),

whose last factor is counted elsewhere. Products are carried from rating to rating and their
logarithm is taken when they get small. Where exponents could leave the range of doubles, an exact
path with a softplus a rating takes over.
"""

import math

import numba
import numpy as np

jit = numba.njit(error_model="numpy", nogil=True)

# exp(FAR) ** 4 is still a double: larger exponents go the exact path.
FAR = 150.0
SMALL = 1e-150
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# 1.5 * 2^52: adding it rounds to an integer, which is left in the low bits.
ROUND = 6755399441055744.0
SQRT_HALF = math.sqrt(0.5)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@numba.njit(error_model="numpy", nogil=True, fastmath={"contract", "nsz"})
def exp_table(v, sign, out):
    """Write exp(sign v), by a polynomial that vectorises; return whether all |v| < ``FAR``."""
    rounded = np.empty(len(v))
    near = 0
    for i in range(len(v)):
        near += 1 if abs(v[i]) < FAR else 0
    if near < len(v):
        return False
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
    return True


@jit
def inner_run(ratings, table, B, A, product, cell_slope):
    """Add a run at an inner level.

    Returns:
        The product carried on, the log-likelihood added to it, and the sums over ratings of the
        slopes in the upper and in the lower threshold.
    """
    total, over, under = 0.0, 0.0, 0.0
    for c in ratings:
        e = table[c]
        x = A * e
        p1, p2 = 1.0 + x, e + B
        q = 1.0 / (p1 * p2)
        product *= q * e
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        high, low = x * p2 * q, B * p1 * q
        over += high
        under += low
        cell_slope[c] += low - high
    return product, total, over, -under


@jit
def lowest_run(ratings, table, A, product, cell_slope):
    """Add a run at the lowest level."""
    total, over = 0.0, 0.0
    for c in ratings:
        x = A * table[c]
        q = 1.0 / (1.0 + x)
        product *= q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        high = x * q
        over += high
        cell_slope[c] -= high
    return product, total, over


@jit
def highest_run(ratings, table, B, product, cell_slope):
    """Add a run at the highest level."""
    total, under = 0.0, 0.0
    for c in ratings:
        e = table[c]
        q = 1.0 / (e + B)
        product *= e * q
        if product < SMALL:
            total += math.log(product)
            product = 1.0
        low = B * q
        under += low
        cell_slope[c] += low
    return product, total, -under


@jit
def exact_run(ratings, v, lower, upper, cell_slope):
    """Add a run rating by rating, by functions that neither overflow nor cancel."""
    total, over, under = 0.0, 0.0, 0.0
    for c in ratings:
        high, low = logistic(v[c] - upper), logistic(lower - v[c])
        total -= softplus(v[c] - upper) + softplus(lower - v[c])
        over += high
        under += low
        cell_slope[c] += low - high
    return total, over, -under


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
def probit_run(ratings, v, lower, upper, gap, cell_slope):
    """Add one run of a cumulative-probit model; returns as :func:`exact_run`."""
    total, over, under = 0.0, 0.0, 0.0
    for c in ratings:
        low, high = lower - v[c], upper - v[c]
        log_p = log_normal_between(low, high, gap)
        total += log_p
        steep_high = math.exp(-0.5 * high * high - LOG_SQRT_2PI - log_p)
        steep_low = math.exp(-0.5 * low * low - LOG_SQRT_2PI - log_p)
        over += steep_high
        under -= steep_low
        cell_slope[c] += steep_low - steep_high
    return total, over, under


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
    less = log_normal_cdf(low) - top
    return top + (math.log(-math.expm1(less)) if less > -0.7 else math.log1p(-math.exp(less)))


@jit
def log_normal_cdf(x):
    """Return log Phi(x), by a continued fraction where erfc would underflow."""
    if x > -30.0:
        return math.log(0.5 * math.erfc(-x * SQRT_HALF))
    fraction = 0.0
    for k in range(30, 0, -1):
        fraction = k / (-x + fraction)
    return -0.5 * x * x - LOG_SQRT_2PI - math.log(-x + fraction)
