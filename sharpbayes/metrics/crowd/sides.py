"""What items, raters and single ratings add to a measure of one group and of all others."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.cohesion import ROWS

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Influence:
    """What a measure owes to items and to single ratings, to first order.

    Attributes:
        item: What each item adds to it (item,).
        inside: Its change without one rating of an item inside the group (item, score).
        outside: Its change without one rating outside the group (item, score).
        used: Items that say something of it (item,).
    """

    item: Floats
    inside: Floats
    outside: Floats
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class Sides:
    """Ratings of a crowd, as those of one group and of all others.

    Attributes:
        score: Score of each rating (rating,).
        item: Item of each rating (rating,).
        rater: Rater of each rating (rating,).
        member: Who is in the group (rater,).
        n_scores: Number of scores of the scale.
        n_items: Number of items.
        cluster: Cluster of each item (item,); None where items are independent.
    """

    score: Codes
    item: Codes
    rater: Codes
    member: NDArray[np.bool_]
    n_scores: int
    n_items: int
    cluster: Codes | None

    @cached_property
    def counts(self) -> Floats:
        """Numbers of ratings inside the group and outside with each score (2, item, score)."""
        shape = (2, self.n_items, self.n_scores)
        counts = np.zeros(np.prod(shape))
        for rows in self._blocks():
            cell = self._side(rows) * self.n_items + self.item[rows]
            counts += np.bincount(cell * self.n_scores + self.score[rows], minlength=counts.size)
        return counts.reshape(shape)

    def sum_by_rater(self, influence: Influence) -> Floats:
        """Changes of a measure without each rater, (rater,)."""
        changes, total = np.stack([influence.inside, influence.outside]), np.zeros(self.member.size)
        for rows in self._blocks():
            single = changes[self._side(rows), self.item[rows], self.score[rows]]
            total += np.bincount(self.rater[rows], single, total.size)
        return total

    def count_by_rater(self, influence: Influence) -> Floats:
        """Numbers of ratings of each rater on the items that say something of a measure."""
        total = np.zeros(self.member.size)
        for rows in self._blocks():
            used = self.rater[rows][influence.used[self.item[rows]]]
            total += np.bincount(used, minlength=total.size)
        return total

    def _side(self, rows: slice) -> NDArray[np.int64]:
        """0 of ratings inside the group, 1 of those outside."""
        return np.where(self.member[self.rater[rows]], 0, 1)

    def _blocks(self) -> Iterator[slice]:
        """Ratings that are counted at a time, because counting copies them."""
        yield from (slice(start, start + ROWS) for start in range(0, self.score.size, ROWS))

    def sum_by_unit(self, influence: Influence) -> Floats:
        """What each item, or each cluster, adds to a measure; those that say nothing are left out.

        It is over (unit,).
        """
        if self.cluster is None:
            return influence.item[influence.used]
        sums, used = (np.bincount(self.cluster, x) for x in (influence.item, influence.used))
        return sums[used > 0]
