"""Ratings in long form: who, about what, on which scale, which level."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Factor:
    """A labelled column of a table of ratings.

    Attributes:
        labels: The distinct labels, in the order in which results show them.
        codes: For each rating the position of its label, -1 where the column does not apply.
    """

    labels: tuple[str, ...]
    codes: NDArray[np.int32]

    def of(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Factor":
        """Return the column of some of the ratings, all its labels with it."""
        return Factor(self.labels, self.codes[rows])


@dataclass(frozen=True)
class Ratings:
    """Every observed rating of a study, one row each, in an order that rows of the file do not set.

    Attributes:
        score: Position of each rating on its own scale, from 0; shape (rating,).
        factors: Labelled columns by role: ``model``, ``prompt``, ``judge``, ``indicator``,
            ``dimension``, ``scale`` for a panel, with ``rater`` where people score too and
            ``own_family`` where families are declared; ``item``, ``rater``, ``scale`` and
            ``group:<column>`` for a crowd. Item columns are under their own name, labels from a
            column of items under ``item_label``.
        scales: Labels of the levels of each scale, by the name used in ``factors["scale"]``.
    """

    score: NDArray[np.int16]
    factors: dict[str, Factor]
    scales: dict[str, tuple[str, ...]]

    def of(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Ratings":
        """Return some of the ratings: positions, or true where one is kept.

        >>> column = Factor(("Man", "Woman"), np.array([0, 1], np.int32))
        >>> ratings = Ratings(np.array([0, 1], np.int16), {"gender": column}, {})
        >>> ratings.of(np.array([1])).score.tolist()
        [1]
        """
        factors = {name: held.of(rows) for name, held in self.factors.items()}
        return Ratings(self.score[rows], factors, self.scales)
