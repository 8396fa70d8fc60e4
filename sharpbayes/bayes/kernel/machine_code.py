"""The kernel as machine code that nutpie calls by address, kept on disk from run to run.

Nothing of a study is in the code: addresses and shapes of the arrays of its :class:`KernelData`
come in one array of integers. Code on disk is found by the digest of its sources, so that no
version runs another's.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.kernel.data import KernelData
from sharpbayes.bayes.kernel.density import constrain, density, likelihood

DOUBLES = types.CPointer(types.double)
LOGP = types.int64(types.uint64, DOUBLES, DOUBLES, DOUBLES, types.voidptr)
CONSTRAIN = types.int64(types.uint64, types.uint64, DOUBLES, DOUBLES, types.voidptr)
WIDTH = 3  # Address, rows and columns of an array.
PACKED = 1 + WIDTH * len(KernelData._fields)
FINE, OTHER_SOURCES, BAD_GRADIENT, BAD_DENSITY = 0, 1, 3, 4


def digest() -> int:
    """Return a number that changes with any source of the machine code."""
    folder = Path(__file__).parent
    text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def pack(data: KernelData) -> Index:
    """Return the digest, then address, rows and columns of every array, which must live on."""
    entries = [digest()]
    for array in data:
        rows, columns = (*array.shape, 1)[:2]
        entries += [array.ctypes.data, rows, columns]
    return np.array(entries, dtype=np.int64)


@numba.extending.intrinsic
def pointer(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Turn an address into a pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


def reader(dtype: Any, axes: int) -> Any:
    """Return what reads the n-th packed array, along one axis or two."""

    @numba.njit(error_model="numpy", nogil=True)
    def read(user, n):
        address, rows, columns = user[1 + WIDTH * n : 1 + WIDTH * (n + 1)]
        if axes == 1:
            return numba.carray(pointer(address), (rows,), dtype=dtype)
        return numba.carray(pointer(address), (rows, columns), dtype=dtype)

    return read


ints, floats, links = (reader(kind, 1) for kind in (np.int64, np.float64, np.uint32))
int_table, float_table = reader(np.int64, 2), reader(np.float64, 2)


@numba.njit(error_model="numpy", nogil=True)
def unpack(user):
    """Return the arrays that :func:`pack` packed."""
    return KernelData(
        sizes=ints(user, 0),
        term=int_table(user, 1),
        axes=int_table(user, 2),
        mean_group=ints(user, 3),
        centre_links=links(user, 4),
        prior=float_table(user, 5),
        scale=int_table(user, 6),
        scale_prior=float_table(user, 7),
        shift_links=int_table(user, 8),
        gap_links=int_table(user, 9),
        cutpoint_set=int_table(user, 10),
        set_links=int_table(user, 11),
        discrimination_links=int_table(user, 12),
        pair=int_table(user, 13),
        counts=floats(user, 14),
        location_links=int_table(user, 15),
        cell_location=links(user, 16),
        cell_start=ints(user, 17),
        group_links=int_table(user, 18),
        block=int_table(user, 19),
        block_start=ints(user, 20),
        rating_cell=links(user, 21),
    )


@cache
def logp_code() -> Any:
    """Return the log density and gradient, as C calls them."""
    sources = digest()

    @numba.cfunc(LOGP, cache=True, error_model="numpy")
    def logp(n, z_pointer, grad_pointer, value_pointer, user_pointer):
        user = numba.carray(user_pointer, (PACKED,), dtype=np.int64)
        if user[0] != sources:
            return OTHER_SOURCES
        z, grad = numba.carray(z_pointer, (n,)), numba.carray(grad_pointer, (n,))
        value = density(unpack(user), z, grad)
        numba.carray(value_pointer, (1,))[0] = value
        if not np.isfinite(value):
            return BAD_DENSITY
        for derivative in grad:
            if not np.isfinite(derivative):
                return BAD_GRADIENT
        return FINE

    return logp


@cache
def constrain_code() -> Any:
    """Return what turns coordinates into what is stored of a draw, as C calls it."""
    sources = digest()

    @numba.cfunc(CONSTRAIN, cache=True, error_model="numpy")
    def constrained(n, size, z_pointer, out_pointer, user_pointer):
        user = numba.carray(user_pointer, (PACKED,), dtype=np.int64)
        if user[0] != sources:
            return OTHER_SOURCES
        constrain(unpack(user), numba.carray(z_pointer, (n,)), numba.carray(out_pointer, (size,)))
        return FINE

    return constrained


@cache
def likelihood_code() -> Any:
    """Return log-likelihood and gradients, for PyMC graphs with priors that the kernel lacks."""
    sources = digest()

    @numba.njit(cache=True, error_model="numpy")
    def gradients(user, effects, cutpoints, gaps):
        if user[0] != sources:
            raise ValueError("packed by other sources")
        dU, d_cutpoints = np.zeros_like(effects), np.zeros_like(cutpoints)
        d_gaps = np.zeros_like(gaps)
        value = likelihood(unpack(user), effects, cutpoints, gaps, dU, d_cutpoints, d_gaps)
        # PyTensor's numba back end takes a scalar as an array without dimensions.
        return np.asarray(value), dU, d_cutpoints, d_gaps

    return gradients
