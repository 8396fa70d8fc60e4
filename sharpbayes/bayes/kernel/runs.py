"""Rating blocks whose cells follow one another, each with one rating.

Where a term has an effect for single answers of a judge, or there is one judge, most cells have one
rating. They are numbered block by block then, so that a block reads and writes its cells one after
the other, by vector instructions. The arithmetic is that of
:mod:`sharpbayes.bayes.kernel.interval`, with A = 0 without an upper and B = 0 without a lower
cutpoint. The product of P is that of mantissas, and the exponents are added up.
"""

import math

import numpy as np

from sharpbayes.bayes.kernel.vectors import jit_sum

# The product of so many mantissas, each below 2, is a double.
PART = 256
MANTISSA, ONE = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0x3FF0000000000000)
EXPONENT_BITS, EXPONENT_OF_ONE = np.uint64(52), 1023
LN2 = math.log(2.0)


@jit_sum
def run_block(table, A, B, d_cell):
    """Add a block; return its log-likelihood without inner gaps, and the derivatives by bounds."""
    share, total, d_upper, d_lower = np.empty(PART), 0.0, 0.0, 0.0
    for first in range(0, len(table), PART):
        size = min(PART, len(table) - first)
        high, low = part_of_block(
            table[first : first + size], A, B, d_cell[first : first + size], share
        )
        d_upper += high
        d_lower += low
        total += log_product(share[:size])
    return total, d_upper, -d_lower


@jit_sum
def part_of_block(table, A, B, d_cell, share):
    """Write P of each rating and add the derivatives by cells; return those by the bounds."""
    d_upper, d_lower = 0.0, 0.0
    for i in range(len(table)):
        e = table[i]
        x = A * e
        p1, p2 = 1.0 + x, e + B
        q = 1.0 / (p1 * p2)
        high, low = x * p2 * q, B * p1 * q
        share[i] = q * e
        d_upper += high
        d_lower += low
        d_cell[i] += low - high
    return d_upper, d_lower


@jit_sum
def log_product(values):
    """Return the sum of logarithms of positive values, which are overwritten."""
    bits, exponent, product = values.view(np.uint64), np.uint64(0), 1.0
    for i in range(len(bits)):
        exponent += bits[i] >> EXPONENT_BITS
        bits[i] = (bits[i] & MANTISSA) | ONE
    for i in range(len(values)):
        product *= values[i]
    return math.log(product) + LN2 * (np.int64(exponent) - EXPONENT_OF_ONE * len(values))
