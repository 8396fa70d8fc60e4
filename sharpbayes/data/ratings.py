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
