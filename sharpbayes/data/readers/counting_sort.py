"""A sort that is compiled, apart from the rest so that only large data load the compiler."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.int32]


@njit(cache=True, nogil=True)
def sort_by_code(code: Codes, rows: Codes, codes: int) -> Codes:
    """Sort rows by code, stably, by counting."""
    place = np.zeros(codes + 1, dtype=np.int64)
    for row in rows:
        place[code[row] + 1] += 1
    for at in range(codes):
        place[at + 1] += place[at]
    found = np.empty_like(rows)
    for row in rows:
        found[place[code[row]]] = row
        place[code[row]] += 1
    return found
