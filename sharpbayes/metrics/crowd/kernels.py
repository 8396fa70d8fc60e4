"""Compiled loops over a crowd's ratings, without labels; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Index = NDArray[np.int64]
Groups = NDArray[np.uint32]
Scores = NDArray[np.int16]
Counts = NDArray[np.int32]
Members = NDArray[np.bool_]
# Counts of labels, weighted or not.
Labels = NDArray[np.number]


@njit(cache=True, nogil=True)
def count_pairs(  # noqa: PLR0917 - numba knows no keyword-only arguments
    first: Index,
    rater: Codes,
    score: Scores,
    group: Groups,
    within: Floats,
    cross: Floats,
    inside: Floats,
    outside: Floats,
) -> None:
    """Count pairs of scores of one item, both from a group or one from inside it.

    ``first`` is the first rating of each item, and the number of ratings; ``rater`` and ``score``
    are those of each rating, ordered by item; ``group`` (raters, p) is the number of groups for
    none. Results are ``within``, 1 / (m - 1) each, and ``cross``, (m + n) / (m n) each, both
    (p, s, s, groups); ``inside`` and ``outside`` (p, s, groups) count items that have both sides.
    Groups are the last dimension of everything, so that the inner loops run over them.
    """
    partitions, n_scores, n_groups = inside.shape
    # Counts are integers: adding one to a float waits for the addition before it.
    counts = np.empty((partitions, n_scores * (n_groups + 1)), np.int32)
    everyone = np.empty(n_scores)
    # Items are outermost: their ratings stay in the nearest cache for the whole block.
    for i in range(first.size - 1):
        ratings = slice(first[i], first[i + 1])
        _count_item(rater[ratings], score[ratings], n_groups + 1, group, counts)
        for c in range(n_scores):
            everyone[c] = counts[0, c * (n_groups + 1) : (c + 1) * (n_groups + 1)].sum()
        _add_item(counts, everyone, within, cross, inside, outside)
    for k in range(n_scores):
        for c in range(k):
            within[:, k, c] = within[:, c, k]


@njit(cache=True, nogil=True)
def _count_item(rater: Codes, score: Scores, stride: int, group: Groups, counts: Codes) -> None:
    """Count the ratings of an item by score and group, for every partition of the raters."""
    counts[:] = 0
    for r in range(rater.size):
        groups, start = group[np.uint32(rater[r])], np.uint32(score[r] * stride)
        for p in range(groups.size):
            counts[p, groups[p] + start] += 1


@njit(cache=True, nogil=True)
def _add_item(  # noqa: PLR0917
    counts: Codes, everyone: Floats, within: Floats, cross: Floats, inside: Floats, outside: Floats
) -> None:
    """Add an item to the results of every partition."""
    by_group = np.empty((everyone.size, inside.shape[2]))
    size, pair = np.empty(inside.shape[2]), np.empty(inside.shape[2])
    across, both = np.empty(inside.shape[2]), np.empty(inside.shape[2])
    total = everyone.sum()
    for p in range(counts.shape[0]):
        _read_counts(counts[p], by_group, size)
        _weight_pairs(size, total, pair, across, both)
        _add_pairs(by_group, everyone, pair, across, within[p], cross[p])
        _add_margins(by_group, everyone, both, inside[p], outside[p])


@njit(cache=True, nogil=True)
def _read_counts(counts: Codes, by_group: Floats, size: Floats) -> None:
    """Ratings of an item by score and group, and by group; those of no group are left out."""
    size[:] = 0.0
    for c in range(by_group.shape[0]):
        start = c * (size.size + 1)
        for g in range(size.size):
            by_group[c, g] = counts[start + g]
            size[g] += by_group[c, g]


@njit(cache=True, nogil=True)
def _weight_pairs(size: Floats, total: float, pair: Floats, across: Floats, both: Floats) -> None:
    """Weights of the pairs of an item inside and across each group; 0 where it has none."""
    for g in range(size.size):
        m, n = size[g], total - size[g]
        pair[g] = 1.0 / (m - 1.0) if m > 1.0 else 0.0
        both[g] = 1.0 if m > 0.0 and n > 0.0 else 0.0
        across[g] = (m + n) / (m * n) if m > 0.0 and n > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _add_pairs(  # noqa: PLR0917
    by_group: Floats, everyone: Floats, pair: Floats, across: Floats, within: Floats, cross: Floats
) -> None:
    """Add the ordered pairs of two ratings of one item.

    Rows are bound to names: loops over single rows become vector instructions.
    """
    for k in range(by_group.shape[0]):
        second, number = by_group[k], everyone[k]
        for c in range(by_group.shape[0]):
            one, row = by_group[c], cross[c, k]
            for g in range(pair.size):
                row[g] += across[g] * one[g] * (number - second[g])
        # Pairs inside are the same both ways: the upper triangle holds them until the end.
        for c in range(k + 1):
            one, row, itself = by_group[c], within[c, k], 1.0 if c == k else 0.0
            for g in range(pair.size):
                row[g] += pair[g] * one[g] * (second[g] - itself)


@njit(cache=True, nogil=True)
def _add_margins(
    by_group: Floats, everyone: Floats, both: Floats, inside: Floats, outside: Floats
) -> None:
    """Add the scores of an item that has raters on both sides."""
    for c in range(by_group.shape[0]):
        for g in range(both.size):
            inside[c, g] += both[g] * by_group[c, g]
            outside[c, g] += both[g] * (everyone[c] - by_group[c, g])


@njit(cache=True, nogil=True)
def add_labels(  # noqa: PLR0917
    score: Scores,
    label: Labels,
    stratum: Members,
    weight: Floats,
    position: Index,
    table: Floats,
) -> None:
    """Add the labels of each item, times its weight, to the score that a group gave it.

    ``score`` and ``weight`` are over (.., item), ``label`` (.., item, 2) and ``stratum`` (.., by,
    item); ``position`` (row, 4) says which score, label, stratum and weight are those of a row of
    ``table`` (row, by, score, 2). Scores off the scale are missing and count nowhere.
    """
    for row in range(table.shape[0]):
        scores, labels = score[position[row, 0]], label[position[row, 1]]
        strata, weights = stratum[position[row, 2]], weight[position[row, 3]]
        for i in range(scores.size):
            if scores[i] < 0 or scores[i] >= table.shape[2]:
                continue
            safe, unsafe = weights[i] * labels[i, 0], weights[i] * labels[i, 1]
            for b in range(strata.shape[0]):
                if strata[b, i]:
                    table[row, b, scores[i], 0] += safe
                    table[row, b, scores[i], 1] += unsafe


@njit(cache=True, nogil=True)
def add_items(
    score: Scores, label: Labels, stratum: Members, position: Index, items: Index
) -> None:
    """Count the items that have a score and a label; arguments as in :func:`add_labels`."""
    for row in range(items.shape[0]):
        scores, labels = score[position[row, 0]], label[position[row, 1]]
        strata = stratum[position[row, 2]]
        for i in range(scores.size):
            if scores[i] >= 0 and labels[i, 0] + labels[i, 1] > 0:
                for b in range(strata.shape[0]):
                    items[row, b] += 1 if strata[b, i] else 0


@njit(cache=True, nogil=True)
def label_outside(counts: NDArray[np.number], everyone: int, cut: int, label: Labels) -> None:
    """Count ratings from outside each group that are below a score, and at or above it.

    ``counts`` are over (row, group, item, score), with all raters in the group ``everyone``, and
    ``label`` (row, group, item, 2).
    """
    rows, groups, items, scores = counts.shape
    for row in range(rows):
        for g in range(groups):
            for i in range(items):
                everyone_s, group_s = counts[row, everyone, i], counts[row, g, i]
                below, above = everyone_s[0] - group_s[0], everyone_s[cut] - group_s[cut]
                for s in range(1, cut):
                    below += everyone_s[s] - group_s[s]
                for s in range(cut + 1, scores):
                    above += everyone_s[s] - group_s[s]
                label[row, g, i, 0], label[row, g, i, 1] = below, above


@njit(cache=True, nogil=True)
def tabulate_raters(  # noqa: PLR0917
    first: Index,
    rater: Codes,
    score: Scores,
    label: Floats,
    cut: int,
    weight: Floats,
    table: Floats,
) -> None:
    """Add the labels of its item to the score that each rating gave, in each replicate.

    ``first``, ``rater`` and ``score`` are those of :func:`count_pairs`; ``label`` (items, 2) are
    safe and unsafe labels, ``weight`` (replicates, items) says how often each item counts, and
    the result ``table`` is (replicates, raters, scores, 2). Where labels are the crowd's own,
    scores at or above ``cut`` are unsafe, and a rating does not label its own item; otherwise 0.
    """
    for b in range(weight.shape[0]):
        for i in range(first.size - 1):
            times = weight[b, i]
            # A third of the items is not in a resample.
            if times == 0.0:
                continue
            safe, unsafe = times * label[i, 0], times * label[i, 1]
            own_weight = times if cut > 0 else 0.0
            for r in range(first[i], first[i + 1]):
                cell = table[b, rater[r], score[r]]
                high = own_weight if score[r] >= cut else 0.0
                cell[0] += safe - (own_weight - high)
                cell[1] += unsafe - high


@njit(cache=True, nogil=True)
def count_raters(  # noqa: PLR0917
    item: Codes, rater: Codes, score: Scores, others: Floats, counts: Floats, rated: Floats
) -> None:
    """Count each rater's ratings by score, and those of items that somebody else labels.

    ``others`` are the labels of each item, those of one rating of it taken out. Results are
    ``counts`` (raters, scores) and ``rated`` (raters,).
    """
    for r in range(score.size):
        counts[rater[r], score[r]] += 1.0
        rated[rater[r]] += 1.0 if others[item[r]] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def add_classes(by_class: Counts, member: Members, counts: Counts) -> None:
    """Add the counts of each class (class, cell) to those of its groups (group, cell).

    ``member`` (class, group) says which groups a class belongs to. Loops over single rows become
    vector instructions.
    """
    for c in range(by_class.shape[0]):
        added = by_class[c]
        for g in range(counts.shape[0]):
            if member[c, g]:
                total = counts[g]
                for cell in range(added.size):
                    total[cell] += added[cell]


@njit(cache=True, nogil=True)
def find_modes(counts: Counts, modes: Scores) -> None:
    """Fill in the score with the largest count of each row (row, score), the highest of a tie.

    It is -1 where every count is 0.
    """
    for row in range(counts.shape[0]):
        mode, largest = -1, 0 * counts[row, 0]
        for score in range(counts.shape[1]):
            count = counts[row, score]
            # Without a branch, which counts of single ratings would often take unexpectedly.
            mode += ((count > 0) & (count >= largest)) * (score - mode)
            largest = max(largest, count)
        modes[row] = mode


@njit(cache=True, nogil=True)
def count_scores(
    item: Codes, rater: Codes, score: Scores, rater_class: Index, counts: Codes
) -> None:
    """Count the scores that raters of each class gave to each item: (classes, items, scores).

    A negative score is missing and counts nowhere.
    """
    for r in range(score.size):
        if score[r] >= 0:
            counts[rater_class[rater[r]], item[r], score[r]] += 1
