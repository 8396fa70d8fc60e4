"""Compiled loops over a crowd's ratings, without labels; machine code cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Index = NDArray[np.int64]
Places = NDArray[np.uint32]
Levels = NDArray[np.int16]


@njit(cache=True, nogil=True)
def count_pairs(  # noqa: PLR0917 - numba knows no keyword-only arguments
    first: Index,
    rater: Places,
    level: Places,
    kind: Places,
    within: Floats,
    cross: Floats,
    inside: Floats,
    outside: Floats,
) -> None:
    """Count pairs of scores of one item, both from a group or one from inside it.

    Groups are the last dimension of everything, so that the inner loops run over them.

    Args:
        first: First rating of each item, and the number of ratings; shape (items + 1,).
        rater: Rater of each rating, ordered by item; shape (ratings,).
        level: Score of each rating times the number of groups plus one; shape (ratings,).
        kind: Group of each rater, the number of groups for none; shape (p, raters).
        within: Result: pairs inside each group, 1 / (m - 1) each; shape (p, s, s, groups).
        cross: Result: pairs across, (m + n) / (m n) each; shape (p, s, s, groups).
        inside: Result: scores inside, of items that have both sides; shape (p, s, groups).
        outside: Result: scores outside, of the same items; shape (p, s, groups).
    """
    levels, groups = inside.shape[1:]
    flat = np.empty(levels * (groups + 1))
    counts = flat.reshape(levels, groups + 1)
    size, pair, across, both = np.empty((4, groups))
    # Items outermost: their ratings stay in the nearest cache for all of the block.
    for i in range(first.size - 1):
        for p in range(within.shape[0]):
            flat[:] = 0.0
            for r in range(first[i], first[i + 1]):
                flat[kind[p, rater[r]] + level[r]] += 1.0
            _weigh(counts, size, pair, across, both)
            _add_pairs(counts, pair, across, within[p], cross[p])
            _add_margins(counts, both, inside[p], outside[p])
    for k in range(levels):
        for c in range(k):
            within[:, k, c] = within[:, c, k]


@njit(cache=True, nogil=True)
def _weigh(counts: Floats, size: Floats, pair: Floats, across: Floats, both: Floats) -> None:
    """Weigh the pairs of an item inside and across each group; 0 where it has none."""
    total = counts.sum()
    size[:] = 0.0
    for c in range(counts.shape[0]):
        for g in range(size.size):
            size[g] += counts[c, g]
    for g in range(size.size):
        m, n = size[g], total - size[g]
        pair[g] = 1.0 / (m - 1.0) if m > 1.0 else 0.0
        both[g] = 1.0 if m > 0.0 and n > 0.0 else 0.0
        across[g] = (m + n) / (m * n) if m > 0.0 and n > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _add_pairs(counts: Floats, pair: Floats, across: Floats, within: Floats, cross: Floats) -> None:
    """Add the ordered pairs of two ratings of one item."""
    for k in range(counts.shape[0]):
        whole = counts[k].sum()
        for c in range(counts.shape[0]):
            for g in range(pair.size):
                cross[c, k, g] += across[g] * counts[c, g] * (whole - counts[k, g])
        # Pairs inside are the same both ways: the upper triangle holds them until the end.
        for c in range(k + 1):
            own = 1.0 if c == k else 0.0
            for g in range(pair.size):
                within[c, k, g] += pair[g] * counts[c, g] * (counts[k, g] - own)


@njit(cache=True, nogil=True)
def _add_margins(counts: Floats, both: Floats, inside: Floats, outside: Floats) -> None:
    """Add the scores of an item that has raters on both sides."""
    for c in range(counts.shape[0]):
        whole = counts[c].sum()
        for g in range(both.size):
            inside[c, g] += both[g] * counts[c, g]
            outside[c, g] += both[g] * (whole - counts[c, g])


@njit(cache=True, nogil=True)
def tabulate_raters(  # noqa: PLR0917
    first: Index,
    rater: Codes,
    level: Levels,
    label: Floats,
    cut: int,
    weight: Floats,
    table: Floats,
) -> None:
    """Add the labels of its item to the score that each rating gave, in each replicate.

    Args:
        first: First rating of each item, and the number of ratings; shape (items + 1,).
        rater: Rater of each rating, ordered by item; shape (ratings,).
        level: Score of each rating.
        label: Safe and unsafe labels of each item; shape (items, 2).
        cut: Where labels are the crowd's own: scores at or above it are unsafe, and a rating does
            not label its own item. 0 for labels from elsewhere.
        weight: How often each item counts; shape (replicates, items).
        table: Result: rows by score and label; shape (replicates, raters, scores, 2).
    """
    for b in range(weight.shape[0]):
        for i in range(first.size - 1):
            times = weight[b, i]
            # A third of the items is not in a resample.
            if times == 0.0:
                continue
            safe, unsafe = times * label[i, 0], times * label[i, 1]
            own = times if cut > 0 else 0.0
            for r in range(first[i], first[i + 1]):
                cell = table[b, rater[r], level[r]]
                high = own if level[r] >= cut else 0.0
                cell[0] += safe - (own - high)
                cell[1] += unsafe - high


@njit(cache=True, nogil=True)
def count_raters(  # noqa: PLR0917
    item: Codes, rater: Codes, level: Levels, others: Floats, scores: Floats, rated: Floats
) -> None:
    """Count each rater's ratings by score, and those of items that somebody else labels.

    Args:
        item: Item of each rating; shape (ratings,).
        rater: Rater of each rating.
        level: Score of each rating.
        others: Labels of each item, those of one rating of it taken out; shape (items,).
        scores: Result: ratings with each score; shape (raters, scores).
        rated: Result: ratings of items that have a label; shape (raters,).
    """
    for r in range(level.size):
        scores[rater[r], level[r]] += 1.0
        rated[rater[r]] += 1.0 if others[item[r]] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def count_scores(item: Codes, rater: Codes, level: Levels, kind: Index, counts: Codes) -> None:
    """Count the scores that raters of each kind gave to each item; missing ones nowhere.

    Args:
        item: Item of each rating; shape (ratings,).
        rater: Rater of each rating.
        level: Score of each rating, negative where missing.
        kind: Kind of each rater; shape (raters,).
        counts: Result; shape (kinds, items, scores).
    """
    for r in range(level.size):
        if level[r] >= 0:
            counts[kind[rater[r]], item[r], level[r]] += 1
