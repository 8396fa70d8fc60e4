"""Crossings of factors: the position of each rating in them, and which levels lie in which.

Code -1 stands for a factor that does not apply to a rating: the rating has no position then.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.ratings import Factor

Index = NDArray[np.integer]
# Positions kept for every rating: half the memory, and there are fewer than 2^31 effects.
INDEX_TYPE = np.int32
# Codes that span more than this many values a rating are renumbered by sorting, not by a table.
SPARSE = 8


def cross(factors: Sequence[Factor]) -> tuple[Index, tuple[int, ...]]:
    """Return the position of each rating in a crossing of factors, row by row, and its shape.

    A rating has position -1 where one of the factors does not apply to it.

    >>> model, prompt = Factor(("a", "b"), np.array([0, 1])), Factor("pqr", np.array([2, 0]))
    >>> cross([model, prompt])
    (array([2, 3], dtype=int32), (2, 3))
    """
    shape = tuple(len(factor.labels) for factor in factors)
    applies = np.all([factor.codes >= 0 for factor in factors], axis=0)
    codes = [np.where(applies, factor.codes, 0) for factor in factors]
    index = np.ravel_multi_index(codes, shape).astype(INDEX_TYPE)
    return np.where(applies, index, INDEX_TYPE(-1)), shape


def parent_of(fine: Index, coarse: Index, *, size: int) -> Index | None:
    """Return the level of ``coarse`` that holds each level of ``fine``, or None if one straddles.

    A level of ``fine`` without a rating gets level 0, because no rating shows its parent.

    >>> parent_of(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1]), size=3).tolist()
    [0, 0, 1]
    """
    applies = fine >= 0
    if not applies.all() and (np.asarray(coarse)[~applies] >= 0).any():
        return None
    parent = np.zeros(size, dtype=np.int64)
    parent[fine[applies]] = coarse[applies]
    return parent if np.array_equal(parent[fine[applies]], coarse[applies]) else None


def find_combinations(codes: Sequence[Index]) -> tuple[Index, Index]:
    """Return the number of each rating's combination of codes, and the codes of each combination.

    >>> number, distinct = find_combinations([np.array([1, 0, 1]), np.array([2, 2, 2])])
    >>> number.tolist(), distinct.tolist()
    ([1, 0, 1], [[0, 2], [1, 2]])
    """
    joint: Index = np.zeros(len(codes[0]), dtype=INDEX_TYPE)
    for code in codes:
        position, values = _renumber(code)
        joint, _ = _renumber(joint.astype(np.int64) * values + position)
    rating = np.zeros(int(joint.max()) + 1, dtype=np.int64)
    rating[joint] = np.arange(len(joint))
    return joint, np.stack([np.asarray(code)[rating] for code in codes], axis=1).astype(np.int64)


def _renumber(code: Index) -> tuple[Index, int]:
    """Codes from 0 without gaps, in the same order, and their number."""
    low = int(code.min())
    span = int(code.max()) - low + 1
    if span > SPARSE * len(code):
        values, number = np.unique(code, return_inverse=True)
        return number.astype(INDEX_TYPE), len(values)
    used = np.zeros(span, dtype=np.bool_)
    used[code - low] = True
    number = used.cumsum(dtype=INDEX_TYPE) - INDEX_TYPE(1)
    return number[code - low], int(number[-1]) + 1


def median_count(index: Index) -> float:
    """Return the median number of ratings of the levels that have any; 0 where none has.

    >>> median_count(np.array([0, 0, 0, 2, -1]))
    2.0
    """
    counts = np.bincount(index[index >= 0])
    return float(np.median(counts[counts > 0])) if counts.any() else 0.0
