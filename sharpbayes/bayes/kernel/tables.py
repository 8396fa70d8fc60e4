"""Arrays of integers of different lengths as one."""

from collections.abc import Sequence

import numpy as np

from sharpbayes.bayes.design.crossing import Index


def make_table(rows: Sequence[Sequence[int]], *, columns: int = 1) -> Index:
    """Return rows of integers of different lengths as one table, filled with 0."""
    width = max([columns, *(len(row) for row in rows)])
    table = np.zeros((len(rows), width), dtype=np.int64)
    for position, row in enumerate(rows):
        table[position, : len(row)] = row
    return table


def join_parts(parts: list[Index]) -> Index:
    """Return one array after the other; and a 0, since the kernel takes no empty array."""
    return np.concatenate([*parts, np.zeros(1, dtype=np.int64)])
