"""Loops over vectors that compilers turn into vector instructions, and how functions compile."""

import numba

# Compiled functions alone call these. Wrappers by which Python could were a third of the time that
# they take to compile.
INNER = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
jit = numba.njit(**INNER)
# Compiled into its callers: returning many arrays took 1 of the 14 microseconds of 400 ratings.
jit_inline = numba.njit(**INNER, inline="always")
# A product and a sum may be rounded once.
jit_contract = numba.njit(**INNER, fastmath={"contract", "nsz"})
# Sums and products may be taken in any order, so that they vectorise.
jit_sum = numba.njit(**INNER, fastmath={"reassoc", "contract", "nsz"})


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
