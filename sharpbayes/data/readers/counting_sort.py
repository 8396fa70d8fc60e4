"""A compiled sort; a module of its own, so that only large data load the compiler."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.int32]


@njit(cache=True, nogil=True)
def sort_by_code(code: Codes, rows: Codes, codes: int) -> Codes:
    """Sort rows by code, stably, by counting."""
    position = np.zeros(codes + 1, dtype=np.int64)
    for row in rows:
        position[code[row] + 1] += 1
    for value in range(codes):
        position[value + 1] += position[value]
    sorted_rows = np.empty_like(rows)
    for row in rows:
        sorted_rows[position[code[row]]] = row
        position[code[row]] += 1
    return sorted_rows
