"""Ratings in long form: one row a rating, with the person or judge, the object and the scale."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.integer] | NDArray[np.bool_]


@dataclass(frozen=True)
class Factor:
    """A labelled column of a table of ratings, as R's ``factor``.

    Attributes:
        labels: The distinct labels, in the order in which results show them.
        codes: Position of each rating's label; -1 where the rating has none.
    """

    labels: tuple[str, ...]
    codes: NDArray[np.int32]

    def of(self, rows: Rows) -> "Factor":
        """Return the factor of some of the ratings, with all its labels."""
        return Factor(self.labels, self.codes[rows])


@dataclass(frozen=True)
class Ratings:
    """All observed ratings of a study; their order does not depend on the rows of the file.

    Attributes:
        score: Position of each rating on its scale, from 0; shape (rating,).
        factors: Labelled columns by role. A panel has ``model``, ``prompt``, ``judge``,
            ``indicator``, ``dimension`` and ``scale``, with ``rater`` where people score too and
            ``own_family`` where families are declared. A crowd has ``item``, ``rater``, ``scale``
            and ``group:<column>``; columns of items are under their own name, labels from a column
            of items under ``item_label``.
        scales: Labels of the scores of each scale, by its name in ``factors["scale"]``.
    """

    score: NDArray[np.int16]
    factors: dict[str, Factor]
    scales: dict[str, tuple[str, ...]]

    def of(self, rows: Rows) -> "Ratings":
        """Return some of the ratings: their positions, or true for each one that is kept."""
        factors = {name: factor.of(rows) for name, factor in self.factors.items()}
        return Ratings(self.score[rows], factors, self.scales)


def append_codes(
    factors: Mapping[str, Factor],
    codes: Mapping[str, NDArray[np.integer]],
    count: int,
    labels: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Factor]:
    """Append ``count`` ratings to factors; a factor without codes for them has no label there."""
    none = np.full(count, -1)
    return {
        name: Factor(
            (labels or {}).get(name, factor.labels),
            np.concatenate([factor.codes, codes.get(name, none)]).astype(np.int32),
        )
        for name, factor in factors.items()
    }
