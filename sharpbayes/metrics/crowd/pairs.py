"""Counts of pairs of scores of one item, for many partitions of the raters on every thread."""

import numpy as np
from numpy.typing import NDArray

from sharpbayes.execution.threads import thread_map
from sharpbayes.metrics.crowd.kernels import count_pairs

# Scores that each count is over.
SCORES = {"within": 2, "cross": 2, "inside": 1, "outside": 1}
# Partitions that one thread counts at a time.
BLOCK = 8


def count_partition_pairs(
    kind: NDArray[np.number],
    *,
    first: NDArray[np.int64],
    rows: tuple[NDArray[np.int32], NDArray[np.int16]],
    n_scores: int,
    n_groups: int,
) -> tuple[NDArray[np.float64], ...]:
    """Count pairs of scores for each partition of the raters by itself.

    Args:
        kind: Group of each rater, ``n_groups`` for none; (..., rater).
        first: First rating of each item, and the number of ratings; (item + 1,).
        rows: Rater of each rating, ordered by item, and its score; (rating,).
        n_scores: Number of scores of the scale, K + 1.
        n_groups: Number of groups.

    Returns:
        ``within`` and ``cross`` (..., score, score, group), ``inside`` and ``outside`` (..., score,
        group); see :func:`sharpbayes.metrics.crowd.cohesion.pair_counts`.

    >>> first, rows = np.array([0, 2]), (np.arange(2, dtype="i4"), np.array([0, 1], dtype="i2"))
    >>> within, *_ = count_partition_pairs(np.array([0, 0]), first=first, rows=rows, n_scores=2, n_groups=1)
    >>> within[..., 0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    flat = kind.reshape(-1, kind.shape[-1]).astype(np.uint32)
    shapes = [(*[n_scores] * number, n_groups) for number in SCORES.values()]
    found = [np.zeros((len(flat), *shape)) for shape in shapes]

    def count(block: slice) -> None:
        kinds = np.ascontiguousarray(flat[block].T)
        count_pairs(first, *rows, kinds, *(each[block] for each in found))

    thread_map(count, [slice(at, at + BLOCK) for at in range(0, len(flat), BLOCK)])
    return tuple(
        each.reshape(*kind.shape[:-1], *shape) for each, shape in zip(found, shapes, strict=True)
    )
