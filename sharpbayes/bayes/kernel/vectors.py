"""Loops over vectors that compilers turn into vector instructions, and how functions compile."""

import numba

jit = numba.njit(error_model="numpy", nogil=True)
# Compiled into its callers: returning many arrays took 1 of the 14 microseconds of 400 ratings.
jit_inline = numba.njit(error_model="numpy", nogil=True, inline="always")
# Sums may be taken in any order, so that they vectorise.
jit_sum = numba.njit(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})


@jit_sum
def sum_of(x):
    """Return the sum of values."""
    total = 0.0
    # A loop over values would not vectorise.
    for i in range(len(x)):
        total += x[i]
    return total


@jit_sum
def dot_of(x, y):
    """Return the sum of products."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@jit
def write(x, out):
    """Write values elsewhere; loops over one array vectorise where assignments of slices do not."""
    for i in range(len(x)):
        out[i] = x[i]


@jit
def multiply(x, factor):
    """Multiply values by a number."""
    for i in range(len(x)):
        x[i] *= factor


@jit
def raise_by(x, amount):
    """Add a number to values."""
    for i in range(len(x)):
        x[i] += amount


@jit
def add_times(x, factor, out):
    """Add a multiple of values to others."""
    for i in range(len(x)):
        out[i] += factor * x[i]
