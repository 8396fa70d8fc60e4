"""Compiled loop from resampled raters to rows by score and label; machine code is cached."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sharpbayes.metrics.stats.kernels import GOLDEN, mix

Floats = NDArray[np.float64]
Counts = NDArray[np.uint16]
Index = NDArray[np.int64]


@njit(cache=True, nogil=True)
def tabulate_resampled_raters(  # noqa: PLR0917 - numba knows no keyword-only arguments
    seed: int,
    start: int,
    score: Index,
    rater: Index,
    run: Index,
    group: Index,
    block: Index,
    block_item: Index,
    stratum: Index,
    label: Floats,
    cut: int,
    weight: Counts,
    table: Floats,
) -> None:
    """Add the labels of every item to the plurality score of each group of resampled raters.

    A run holds the ratings of one item by one group: those from ``run[k]`` to ``run[k + 1]``, of
    ``group[k]``, -1 for none. A block holds the runs of one item in one grouping. ``weight``
    (replicates, groupings x raters) says how often a rater is drawn, ``rater`` is a column of it;
    without columns, the ratings of each run are drawn with replacement, independently of other
    items. ``stratum`` (items, n) are the strata of each item, -1 for none, ``label`` (items, 2)
    its safe and unsafe labels. With ``cut`` above 0 labels are those of the runs of other groups,
    unsafe from that score up. The result is ``table`` (replicates, groups, strata, scores, 2).
    """
    widest = 0
    for k in range(block.size - 1):
        widest = max(widest, block[k + 1] - block[k])
    counts = np.empty((widest, table.shape[3]), np.int64)
    for b in range(table.shape[0]):
        state = mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(start + b) * GOLDEN)
        for k in range(block_item.size):
            first, size, item = block[k], block[k + 1] - block[k], block_item[k]
            counts[:size] = 0
            for j in range(size):
                low, high = run[first + j], run[first + j + 1]
                if weight.shape[1]:
                    for r in range(low, high):
                        counts[j, score[r]] += weight[b, rater[r]]
                else:
                    state = _draw_ratings(state, score[low:high], counts[j])
            safe, unsafe = label[item, 0], label[item, 1]
            if cut > 0:
                safe, unsafe = 0.0 + counts[:size, :cut].sum(), 0.0 + counts[:size, cut:].sum()
            for j in range(size):
                g = group[first + j]
                if g >= 0:
                    _add_run(counts[j], stratum[item], safe, unsafe, cut, table[b, g])


@njit(cache=True, nogil=True)
def _draw_ratings(state: np.uint64, score: Index, counts: Index) -> np.uint64:
    """Count the scores of as many ratings as there are, drawn with replacement."""
    size = np.uint64(score.size)
    for _ in range(score.size):
        state += GOLDEN
        # Runs are short: the bias of 32 bits is below their length / 2^32.
        place = ((mix(state) >> np.uint64(32)) * size) >> np.uint64(32)
        counts[score[np.int64(place)]] += 1
    return state


@njit(cache=True, nogil=True)
def _add_run(  # noqa: PLR0917
    counts: Index, strata: Index, safe: float, unsafe: float, cut: int, table: Floats
) -> None:
    """Add labels to the plurality score of a run, the highest of a tie, in every stratum."""
    mode, highest = -1, 0
    for s in range(counts.size):
        if counts[s] > 0 and counts[s] >= highest:
            mode, highest = s, counts[s]
    if mode < 0:
        return
    if cut > 0:
        safe -= counts[:cut].sum()
        unsafe -= counts[cut:].sum()
    for b in strata:
        if b >= 0:
            table[b, mode, 0] += safe
            table[b, mode, 1] += unsafe
