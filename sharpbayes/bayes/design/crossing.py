"""Positions of ratings in columns and crossings of columns, and which columns lie in which."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.ratings import Factor

Index = NDArray[np.integer]
Codes = NDArray[np.integer]
# Positions that are kept for every rating: half the memory, and effects are fewer than 2^31.
SHORT = np.int32
# Codes that span more than this many values a rating are renumbered by sorting, not by a table.
SPARSE = 8


def crossed(columns: Sequence[Factor]) -> tuple[Index, tuple[int, ...]]:
    """Return the flat position of each rating in a crossing, cells numbered row by row.

    A rating that one of the columns does not apply to (code -1) has position -1.

    Examples:
        >>> model = Factor(("a", "b"), np.array([0, 1], dtype=np.int32))
        >>> prompt = Factor(("p", "q", "r"), np.array([2, 0], dtype=np.int32))
        >>> index, shape = crossed([model, prompt])
        >>> index.tolist(), shape
        ([2, 3], (2, 3))
    """
    shape = tuple(len(column.labels) for column in columns)
    applies = np.all([column.codes >= 0 for column in columns], axis=0)
    codes = [np.where(applies, column.codes, 0) for column in columns]
    index = np.ravel_multi_index(codes, shape).astype(SHORT)
    return np.where(applies, index, SHORT(-1)), shape


def parent_of(fine: Codes, coarse: Codes, *, size: int) -> Index | None:
    """Return for each level of ``fine`` its level of ``coarse``, or None if levels straddle.

    Levels of ``fine`` without a rating are given level 0: nothing tells their parent.

    Examples:
        >>> parent_of(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1]), size=3).tolist()
        [0, 0, 1]
    """
    applies = fine >= 0
    if not applies.all() and (np.asarray(coarse)[~applies] >= 0).any():
        return None
    found = np.zeros(size, dtype=np.int64)
    found[fine[applies]] = coarse[applies]
    return found if np.array_equal(found[fine[applies]], coarse[applies]) else None


def nested(index: Codes, value: Codes, *, size: int) -> Index:
    """As :func:`parent_of`, but all 0 where some position goes with several values."""
    applies = index >= 0
    parent = parent_of(index[applies], value[applies], size=size)
    return np.zeros(size, dtype=np.int64) if parent is None else parent


def combinations(codes: Sequence[Codes]) -> tuple[Index, Index]:
    """Return the number of each rating's combination of codes, and the codes of each combination.

    Args:
        codes: Integer codes, -1 allowed; each of shape (rating,).

    Returns:
        Combination of each rating, shape (rating,); codes, shape (combination, len(codes)).

    Examples:
        >>> which, found = combinations([np.array([1, 0, 1]), np.array([2, 2, 2])])
        >>> which.tolist(), found.tolist()
        ([1, 0, 1], [[0, 2], [1, 2]])
    """
    joint: Index = np.zeros(len(codes[0]), dtype=SHORT)
    for code in codes:
        position, values = _renumbered(code)
        joint, _ = _renumbered(joint.astype(np.int64) * values + position)
    first = np.zeros(int(joint.max()) + 1, dtype=np.int64)
    first[joint] = np.arange(len(joint))
    return joint, np.stack([np.asarray(code)[first] for code in codes], axis=1).astype(np.int64)


def _renumbered(code: Codes) -> tuple[Index, int]:
    """Codes from 0 without gaps, in the same order, and their number; sorted only if far apart."""
    low = int(code.min())
    span = int(code.max()) - low + 1
    if span > SPARSE * len(code):
        values, number = np.unique(code, return_inverse=True)
        return number.astype(SHORT), len(values)
    there = np.zeros(span, dtype=np.bool_)
    there[code - low] = True
    number = there.cumsum(dtype=SHORT) - SHORT(1)
    return number[code - low], int(number[-1]) + 1
