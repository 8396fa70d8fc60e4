"""Ratings in long form: who, about what, on which scale, which level."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Column:
    """A labelled column of a table of ratings.

    Attributes:
        labels: The distinct labels, in the order in which results show them.
        code: For each rating the position of its label, -1 where the column does not apply.
    """

    labels: tuple[str, ...]
    code: NDArray[np.int32]

    def of(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Column":
        """Return the column of some of the ratings, all its labels with it."""
        return Column(self.labels, self.code[rows])


@dataclass(frozen=True)
class Ratings:
    """Every observed rating of a study, one row each, in an order that rows of the file do not set.

    Attributes:
        level: Level of each rating on its own scale, from 0; shape (rating,).
        columns: Labelled columns by role: ``model``, ``prompt``, ``judge``, ``indicator``,
            ``dimension``, ``scale`` for a panel, with ``rater`` where people score too and
            ``own_family`` where families are declared; ``item``, ``rater``, ``scale`` and
            ``group:<column>`` for a crowd. Item columns are under their own name, labels from a
            column of items under ``item_label``.
        scales: Labels of the levels of each scale, by the name used in ``columns["scale"]``.
    """

    level: NDArray[np.int16]
    columns: dict[str, Column]
    scales: dict[str, tuple[str, ...]]

    def of(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Ratings":
        """Return some of the ratings: positions, or true where one is kept.

        >>> column = Column(("Man", "Woman"), np.array([0, 1], np.int32))
        >>> ratings = Ratings(np.array([0, 1], np.int16), {"gender": column}, {})
        >>> ratings.of(np.array([1])).level.tolist()
        [1]
        """
        columns = {name: held.of(rows) for name, held in self.columns.items()}
        return Ratings(self.level[rows], columns, self.scales)
