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
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.kernel.data import SIZE, HeldData, KernelData, TermData
from sharpbayes.bayes.kernel.density import (
    constrain,
    density,
    density_backward,
    density_forward,
    likelihood,
)
from sharpbayes.bayes.kernel.layout import ParameterLayout
from sharpbayes.bayes.kernel.vectors import jit

DOUBLES = types.CPointer(types.double)
LOGP = types.int64(types.uint64, DOUBLES, DOUBLES, DOUBLES, types.voidptr)
CONSTRAIN = types.int64(types.uint64, types.uint64, DOUBLES, DOUBLES, types.voidptr)
WIDTH = 3  # Address, rows and columns of an array.
ARRAYS = len(KernelData._fields) - 2 + len(TermData._fields) + len(HeldData._fields)
PACKED = (1 + ARRAYS, WIDTH)
RATER_BLOCK = 31  # Number of the array that has a row for each rater who may be careless.
FINE, OTHER_SOURCES, BAD_GRADIENT, BAD_DENSITY = 0, 1, 3, 4


@cache
def digest() -> int:
    """Return a number that changes with any source of the machine code."""
    folder = Path(__file__).parent
    text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def pack(data: KernelData) -> Index:
    """Return a row with the digest, then address, rows and columns of every array.

    The arrays must live on.
    """
    entries = [(digest(), 0, 0)]
    for array in list_arrays(data):
        rows, columns = (*array.shape, 1)[:2]
        entries.append((array.ctypes.data, rows, columns))
    return np.array(entries, dtype=np.int64)


def list_arrays(data: KernelData) -> list[NDArray[Any]]:
    """Return the arrays of the kernel's data in their order, parts of parts one after the other."""
    parts = (part if isinstance(part, tuple) else (part,) for part in data)
    return [array for part in parts for array in part]


@numba.extending.intrinsic
def pointer(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Turn an address into a pointer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


@jit
def table(entry, dtype):
    """Return a packed array; one with one axis has one column."""
    address, rows, columns = entry
    return numba.carray(pointer(address), (rows, columns), dtype=dtype)


@jit
def unpack(user):
    """Return the arrays that :func:`pack` packed."""
    # Numbers of rows as arguments of a function would compile it once for each of them.
    entries = user[1:]
    return KernelData(
        sizes=table(entries[0], np.int64).ravel(),
        terms=TermData(
            term=table(entries[1], np.int64),
            axes=table(entries[2], np.int64),
            mean_group=table(entries[3], np.int64).ravel(),
            centre_links=table(entries[4], np.uint32).ravel(),
            prior=table(entries[5], np.float64),
            unit_mean=table(entries[6], np.int64).ravel(),
        ),
        held=HeldData(
            holder=table(entries[7], np.int64).ravel(),
            mean=table(entries[8], np.int64),
            table=table(entries[9], np.float64),
            of_sum=table(entries[10], np.float64),
        ),
        scale=table(entries[11], np.int64),
        scale_prior=table(entries[12], np.float64),
        shift_links=table(entries[13], np.int64),
        gap_links=table(entries[14], np.int64),
        cutpoint_set=table(entries[15], np.int64),
        set_links=table(entries[16], np.int64),
        discrimination_links=table(entries[17], np.int64),
        pair=table(entries[18], np.int64),
        counts=table(entries[19], np.float64).ravel(),
        location_links=table(entries[20], np.uint32),
        cell_location=table(entries[21], np.uint32).ravel(),
        cell_start=table(entries[22], np.int64).ravel(),
        group_links=table(entries[23], np.int64),
        block=table(entries[24], np.int64),
        block_start=table(entries[25], np.int64).ravel(),
        rating_cell=table(entries[26], np.uint32).ravel(),
        location_slopes=table(entries[27], np.int64),
        location_numbers=table(entries[28], np.float64),
        group_slopes=table(entries[29], np.int64),
        group_numbers=table(entries[30], np.float64),
        rater_block=table(entries[RATER_BLOCK], np.int64).ravel(),
        block_pair=table(entries[32], np.int64).ravel(),
        careless=table(entries[33], np.float64).ravel(),
        reference=table(entries[34], np.float64),
        block_run=table(entries[35], np.int64).ravel(),
    )


@cache
def logp_code() -> Any:
    """Return the log density and gradient, as C calls them."""
    sources = digest()

    @numba.cfunc(LOGP, cache=True, error_model="numpy")
    def logp(n, z_pointer, grad_pointer, value_pointer, user_pointer):
        user = numba.carray(user_pointer, PACKED, dtype=np.int64)
        if user[0, 0] != sources:
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


def kernel_density(layout: ParameterLayout, point: Floats) -> tuple[float, Floats]:
    """Return log density and gradient, by the code that the sampler calls."""
    user, gradient, value = pack(layout.kernel_data), np.empty_like(point), np.empty(1)
    call = logp_code().ctypes
    pointers = [
        array.ctypes.data_as(call.argtypes[position])
        for position, array in enumerate((point, gradient, value), 1)
    ]
    call(len(point), *pointers, user.ctypes.data)
    return float(value[0]), gradient


@cache
def constrain_code() -> Any:
    """Return what turns coordinates into what is stored of a draw, as C calls it."""
    sources = digest()

    @numba.cfunc(CONSTRAIN, cache=True, error_model="numpy")
    def constrained(n, size, z_pointer, out_pointer, user_pointer):
        user = numba.carray(user_pointer, PACKED, dtype=np.int64)
        if user[0, 0] != sources:
            return OTHER_SOURCES
        constrain(unpack(user), numba.carray(z_pointer, (n,)), numba.carray(out_pointer, (size,)))
        return FINE

    return constrained


def stored_values(layout: ParameterLayout, point: Floats) -> Floats:
    """Return what is stored of a draw, by the code that the sampler calls."""
    user, out, call = (
        pack(layout.kernel_data),
        np.empty(layout.stored_size),
        constrain_code().ctypes,
    )
    pointers = [
        array.ctypes.data_as(call.argtypes[position])
        for position, array in enumerate((point, out), 2)
    ]
    call(len(point), len(out), *pointers, user.ctypes.data)
    return out


@cache
def likelihood_code() -> Any:
    """Return log-likelihood and gradients, for PyMC graphs with priors that the kernel lacks."""
    part = part_code()

    # It is compiled in each process: it takes a second, and code on disk cannot name another code.
    @numba.njit(error_model="numpy")
    def gradients(user, effects, cutpoints, gaps):
        # PyMC samples such models by the prior of the effects of careless raters.
        offsets = np.zeros(table(user[1 + RATER_BLOCK], np.int64).size)
        value, dx = part(user, np.concatenate((effects, cutpoints, gaps, offsets)))
        first, last = len(effects), len(effects) + len(cutpoints)
        # PyTensor's numba back end takes a scalar as an array without dimensions.
        return np.asarray(value), dx[:first], dx[first:last], dx[last : last + len(gaps)]

    return gradients


@cache
def halves_code() -> tuple[Any, Any]:
    """Return the density before and after its likelihood, which is computed elsewhere.

    The inputs of the likelihood, and its derivatives by them, are one vector: ``U``, cutpoints,
    gaps, offsets of raters.
    """
    sources = digest()

    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def forward(user, z):
        if user[0, 0] != sources:
            raise ValueError("packed by other sources")
        total, inputs, state = density_forward(unpack(user), z)
        return total, np.concatenate(inputs), state

    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def backward(user, z, x, dx, state, total):
        if user[0, 0] != sources:
            raise ValueError("packed by other sources")
        data, grad = unpack(user), np.empty_like(z)
        inputs, d_inputs = split_inputs(data, x), split_inputs(data, dx)
        value = density_backward(data, z, inputs, d_inputs, state, total, grad)
        return value, grad

    return forward, backward


@cache
def part_code() -> Any:
    """Return the log-likelihood of the ratings, and its derivatives, by the vector of its inputs.

    The derivative by the offset of a rater is the probability that the rater is careless.
    """
    sources = digest()

    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def part(user, x):
        if user[0, 0] != sources:
            raise ValueError("packed by other sources")
        data, dx = unpack(user), np.zeros_like(x)
        U, cutpoints, gaps, offsets = split_inputs(data, x)
        dU, d_cutpoints, d_gaps, probability = split_inputs(data, dx)
        value = likelihood(data, U, cutpoints, gaps, offsets, dU, d_cutpoints, d_gaps, probability)
        return value, dx

    return part


@jit
def split_inputs(p, x):
    """Return ``U``, cutpoints, gaps and offsets of raters from the inputs of the likelihood."""
    first, n = p.sizes[SIZE.vector], p.sizes[SIZE.cutpoints]
    last = first + 2 * n
    return x[:first], x[first : first + n], x[first + n : last], x[last:]
