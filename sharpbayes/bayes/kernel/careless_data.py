"""Careless raters of a design as flat arrays for the kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.careless import count_scores, log_careless
from sharpbayes.bayes.design.design import Design

Floats = NDArray[np.float64]


def reference_positions(design: Design, thresholds: Sequence[int]) -> dict[str, int]:
    """Return the row of the term with a reference, and the coordinate of the median cutpoint."""
    median = _median_coordinate(design, thresholds)
    return {"reference": _reference_row(design), "median": median}


def careless_arrays(design: Design) -> dict[str, Any]:
    """Return the arrays of careless raters and of the reference of their effects."""
    return {"careless": _careless_constants(design), "reference": _reference_table(design)}


def _reference_row(design: Design) -> int:
    """Row of the term with a reference for the effects of careless raters, -1 without one."""
    if design.careless is None or design.careless.reference is None:
        return -1
    reference = design.careless.reference
    return [term.name for term in design.parents_first].index(reference.term)


def _median_coordinate(design: Design, thresholds: Sequence[int]) -> int:
    """Coordinate of the median cutpoint of the scale of careless raters; -1 without them."""
    if design.careless is None:
        return -1
    position = design.careless.scale
    offset = 0 if design.ordered_cutpoints else design.scales[position].median_cutpoint
    return thresholds[position] + offset


def _reference_table(design: Design) -> Floats:
    """Centre and spread of the reference of each rater, one row each."""
    if design.careless is None or design.careless.reference is None:
        return np.zeros((1, 2))
    reference = design.careless.reference
    return np.column_stack([reference.centre, reference.spread])


def _careless_constants(design: Design) -> Floats:
    """Parameters of the prior of the share, then log P(scores) of every careless rater."""
    careless = design.careless
    if careless is None:
        return np.zeros(1)
    scale = design.scales[careless.scale]
    shape = (careless.n_raters, len(scale.labels))
    counts = count_scores(careless.index[scale.rows], scale.category, shape=shape)
    share = [careless.share.a, careless.share.b]
    return np.concatenate([share, log_careless(counts, careless.concentration)])
