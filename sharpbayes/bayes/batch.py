"""The kernel at many points at once, on threads: densities, gradients, and what is stored."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats
from sharpbayes.bayes.kernel.layout import ParameterLayout
from sharpbayes.bayes.kernel.machine_code import constrain_code, logp_code, pack
from sharpbayes.execution.processors import cpu_count
from sharpbayes.execution.threads import thread_map

# Points that are worth a thread.
MIN_POINTS = 16


class BatchKernel:
    """The kernel of a design, called by address with rows of coordinates."""

    def __init__(self, layout: ParameterLayout) -> None:
        """Pack a layout, whose arrays the addresses point to: both live as long as this."""
        self.layout, self.packed = layout, pack(layout.kernel_data)

    def density(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log densities (point,) and their gradients (point, coordinate)."""
        points = np.ascontiguousarray(points)
        values, gradients = np.empty(len(points)), np.empty_like(points)
        user, size = self.packed.ctypes.data, points.shape[1]

        def fill(row: int) -> None:
            density_call()(size, _row(points, row), _row(gradients, row), _row(values, row), user)

        _fill_rows(fill, len(points))
        return values, gradients

    def stored(self, points: Floats) -> Floats:
        """Return what the kernel stores of draws, (point, value)."""
        points = np.ascontiguousarray(points)
        out = np.empty((len(points), self.layout.stored_size))
        user, sizes = self.packed.ctypes.data, (points.shape[1], out.shape[1])

        def fill(row: int) -> None:
            stored_call()(*sizes, _row(points, row), _row(out, row), user)

        _fill_rows(fill, len(points))
        return out


def _row(array: Floats, row: int) -> int:
    """The address of a row."""
    return int(array.ctypes.data + row * array.strides[0])


def _fill_rows(fill: Callable[[int], None], count: int) -> None:
    """Call a function with each row; ctypes leaves the lock of Python while machine code runs."""
    threads = min(cpu_count(), -(-count // MIN_POINTS))
    if threads <= 1:
        for row in range(count):
            fill(row)
        return
    blocks = np.array_split(np.arange(count), threads)

    def fill_block(block: Index) -> None:
        for row in block:
            fill(int(row))

    thread_map(fill_block, blocks)


@cache
def density_call() -> Any:
    """Return the log density and its gradient as a function of addresses."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *[ctypes.c_void_p] * 4)
    return kind(logp_code().address)


@cache
def stored_call() -> Any:
    """Return what stores a draw as a function of addresses."""
    sizes = [ctypes.c_uint64] * 2
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *sizes, *[ctypes.c_void_p] * 3)
    return kind(constrain_code().address)
