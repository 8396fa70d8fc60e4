"""The kernel as machine code that nutpie calls by address, kept on disk from run to run.

Nothing of a study is in the code: addresses and shapes of the arrays of its plan come in one array
of integers. Code on disk is found by the digest of its sources, so that no version runs another's.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.kernel.density import density, expand, likelihood
from sharpbayes.bayes.kernel.plan import KernelData

Floats = NDArray[np.float64]
LOGP = types.int64(
    types.uint64,
    types.CPointer(types.double),
    types.CPointer(types.double),
    types.CPointer(types.double),
    types.voidptr,
)
EXPAND = types.int64(
    types.uint64,
    types.uint64,
    types.CPointer(types.double),
    types.CPointer(types.double),
    types.voidptr,
)
FIELDS = len(KernelData._fields)
WIDTH = 3  # Address, rows and columns of an array.
FINE, OTHER_SOURCES, BAD_GRADIENT, BAD_DENSITY = 0, 1, 3, 4


def digest() -> int:
    """Return a number that changes with any source of the machine code."""
    folder = Path(__file__).parent
    text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def pack(plan: KernelData) -> Index:
    """Return the digest of the sources, then address, rows and columns of every array of a plan.

    The plan must outlive the result, which only points to it.
    """
    entries = [digest()]
    for array in plan:
        rows, columns = (*array.shape, 1)[:2]
        entries += [array.ctypes.data, rows, columns]
    return np.array(entries, dtype=np.int64)


@numba.extending.intrinsic
def pointer(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Turn an address into a pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


jit = numba.njit(error_model="numpy", nogil=True)


@jit
def ints(user, n):
    """Return the n-th array of a plan, integers along one axis."""
    at = 1 + WIDTH * n
    return numba.carray(pointer(user[at]), (user[at + 1],), dtype=np.int64)


@jit
def int_table(user, n):
    """Return the n-th array of a plan, integers along two axes."""
    at = 1 + WIDTH * n
    return numba.carray(pointer(user[at]), (user[at + 1], user[at + 2]), dtype=np.int64)


@jit
def small_ints(user, n):
    """Return the n-th array of a plan, positions of 32 bits along one axis."""
    at = 1 + WIDTH * n
    return numba.carray(pointer(user[at]), (user[at + 1],), dtype=np.uint32)


@jit
def floats(user, n):
    """Return the n-th array of a plan, numbers along one axis."""
    at = 1 + WIDTH * n
    return numba.carray(pointer(user[at]), (user[at + 1],), dtype=np.float64)


@jit
def float_table(user, n):
    """Return the n-th array of a plan, numbers along two axes."""
    at = 1 + WIDTH * n
    return numba.carray(pointer(user[at]), (user[at + 1], user[at + 2]), dtype=np.float64)


@jit
def unpack(user):
    """Return the plan that :func:`pack` packed."""
    return KernelData(
        ints(user, 0),
        int_table(user, 1),
        int_table(user, 2),
        ints(user, 3),
        small_ints(user, 4),
        float_table(user, 5),
        int_table(user, 6),
        float_table(user, 7),
        int_table(user, 8),
        int_table(user, 9),
        int_table(user, 10),
        int_table(user, 11),
        int_table(user, 12),
        int_table(user, 13),
        floats(user, 14),
        int_table(user, 15),
        small_ints(user, 16),
        ints(user, 17),
        int_table(user, 18),
        int_table(user, 19),
        ints(user, 20),
        small_ints(user, 21),
    )


@cache
def logp_code() -> Any:
    """Return the log density and gradient, as C calls them."""
    sources = digest()

    @numba.cfunc(LOGP, cache=True, error_model="numpy")
    def logp(n, z_at, grad_at, value_at, user_at):
        user = numba.carray(user_at, (1 + WIDTH * FIELDS,), dtype=np.int64)
        if user[0] != sources:
            return OTHER_SOURCES
        z, grad = numba.carray(z_at, (n,)), numba.carray(grad_at, (n,))
        value = density(unpack(user), z, grad)
        numba.carray(value_at, (1,))[0] = value
        if not np.isfinite(value):
            return BAD_DENSITY
        for each in grad:
            if not np.isfinite(each):
                return BAD_GRADIENT
        return FINE

    return logp


@cache
def constrain_code() -> Any:
    """Return what turns coordinates into what is kept of a draw, as C calls it."""
    sources = digest()

    @numba.cfunc(EXPAND, cache=True, error_model="numpy")
    def expanded(n, size, z_at, out_at, user_at):
        user = numba.carray(user_at, (1 + WIDTH * FIELDS,), dtype=np.int64)
        if user[0] != sources:
            return OTHER_SOURCES
        expand(unpack(user), numba.carray(z_at, (n,)), numba.carray(out_at, (size,)))
        return FINE

    return expanded


@cache
def likelihood_code() -> Any:
    """Return log-likelihood and slopes, for graphs of models outside the kernel's families."""
    sources = digest()

    @numba.njit(cache=True, error_model="numpy")
    def slopes(user, effects, cuts, gaps):
        if user[0] != sources:
            raise ValueError("packed by other sources")
        slope, cut_slope = np.zeros_like(effects), np.zeros_like(cuts)
        gap_slope = np.zeros_like(gaps)
        value = likelihood(unpack(user), effects, cuts, gaps, slope, cut_slope, gap_slope)
        return value, slope, cut_slope, gap_slope

    return slopes
