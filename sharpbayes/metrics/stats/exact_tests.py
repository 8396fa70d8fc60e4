"""Exact tests of whether marked units have low scores, given both margins.

How often each score was given and how many units are marked are held fixed. The law of large
numbers is not asked for: with few marked units or few different scores it is far off in a tail.
"""

from math import comb

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer]

# Units times units with the rarer mark, up to which the law of a rank sum is enumerated: 0.02 s.
MAX_TABLE = 5000


def fisher_p(both: int, first: int, second: int, total: int) -> float:
    """Return the p value of so few units that have two marks, by Fisher's exact test, one-sided.

    ``P(X <= both)``, X hypergeometric: the number among ``second`` units, drawn at random from
    ``total``, that are among the ``first`` marked ones.

    Source: Fisher 1935.

    >>> round(fisher_p(0, 5, 5, 10), 6)  # 1 / 252
    0.003968
    """
    from scipy.stats import hypergeom  # noqa: PLC0415 - a second to import

    return float(hypergeom.cdf(both, total, first, second))


def sign_p(more: Counts | int, fewer: Counts | int) -> NDArray[np.float64]:
    """Return the p values of so many of the units that differ on one side, one-sided.

    ``P(X >= more)``, X binomial of ``more + fewer`` units with probability 1/2.

    Source: the sign test, Arbuthnott 1710.

    >>> sign_p(np.array([4, 5]), 0).tolist()
    [0.0625, 0.03125]
    """
    from scipy.special import bdtrc  # noqa: PLC0415 - slow to load

    return np.asarray(bdtrc(more - 1, more + fewer, 0.5), dtype=float)


def rank_sum_p(count: Counts, marked: Counts) -> float:
    """Return the exact p value of so low scores of the marked units, one-sided.

    ``P(W <= w)``, W the sum of the midranks of the marked units, over all ways to mark as many.

    Of the numbers of units with each score, ascending, and of the marked ones among them, (score,).
    Larger tables than 5,000, units times those with the rarer mark, are cut into low and high
    scores for Fisher's exact test. As many are low as are marked, or nearly: the cut depends on the
    margins alone.

    Source: Mann and Whitney 1947; with ties Streitberg and Röhmel 1986 (the shift algorithm).

    >>> rank_sum_p(np.array([1, 1, 1, 1]), np.array([1, 1, 0, 0]))  # 1 / 6
    0.16666666666666666
    """
    count, marked = count[count > 0], marked[count > 0]
    total, number = int(count.sum()), int(marked.sum())
    if not 0 < number < total:
        return 1.0
    if total * min(number, total - number) > MAX_TABLE:
        cut = int(np.abs(np.cumsum(count)[: max(count.size - 1, 1)] - number).argmin()) + 1
        return fisher_p(int(marked[cut:].sum()), number, int(count[cut:].sum()), total)
    # Twice the midrank, less a constant. Few marked units take fewer steps, and low sums too.
    rank = 2 * np.cumsum(count) - count
    if 2 * number > total:
        marked, number, rank = count - marked, total - number, -rank
    rank -= rank.min()
    return _count_low_sums(count, rank, number, int(rank @ marked)) / comb(total, number)


def _count_low_sums(count: Counts, rank: Counts, number: int, sum_of_ranks: int) -> float:
    """Number of ways to mark ``number`` units with at most this sum of ranks."""
    ways = np.zeros((number + 1, sum_of_ranks + 1))
    ways[0, 0] = 1.0
    for units, step in zip(count.tolist(), rank.tolist(), strict=True):
        before, ways = ways, np.zeros_like(ways)
        for n in range(min(units, number, sum_of_ranks // step if step else units) + 1):
            ways[n:, n * step :] += (
                comb(units, n) * before[: number + 1 - n, : sum_of_ranks + 1 - n * step]
            )
    return float(ways[number].sum())
