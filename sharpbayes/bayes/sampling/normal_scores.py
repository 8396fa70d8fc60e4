"""Normal scores of draws by their ranks, for R-hat and effective sample sizes."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtri

from sharpbayes.bayes.design.design import Floats


def normal_scores(values: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Return normal scores of draws (row, draw), and of their distances from a centre (row,).

    score = Phi^-1((rank - 3/8) / (n + 1/4)); equal draws have the mean of their ranks.

    Draws are sorted once: from either end of a row in order its distances fall towards the centre.

    Source: Blom 1958; Vehtari et al. 2021, Eq. 14 and section 4.2.

    >>> scores, folded = normal_scores(np.array([[3.0, 1.0, 2.5]]), np.array([2.5]))
    >>> scores.round(3).tolist(), folded.round(3).tolist()
    ([[0.869, -0.869, 0.0]], [[0.0, 0.869, -0.869]])
    """
    order = np.argsort(values, axis=1)
    distance = np.abs(values - centre[:, None])
    folded_order = np.empty_like(order)
    _merge_ends(distance, order, folded_order)
    return _score(values, order), _score(distance, folded_order)


def _score(values: Floats, order: NDArray[np.integer]) -> Floats:
    """Normal scores of the values of each row from their order."""
    number = values.shape[1]
    # A mean of ranks is a multiple of 1/2: there are few scores, and they are looked up.
    ranks = np.arange(2, 2 * number + 1) / 2
    table = ndtri((ranks - 3 / 8) / (number + 1 / 4))
    scores = np.empty(values.shape)
    _look_up_scores(values, order, table, scores)
    return scores


@njit(cache=True, nogil=True)
def _merge_ends(distance: Floats, order: NDArray[np.integer], merged: NDArray[np.integer]) -> None:
    """Fill in the order of distances that fall from both ends of another order, row by row."""
    for row in range(distance.shape[0]):
        first, last = 0, distance.shape[1] - 1
        for place in range(last, -1, -1):
            if distance[row, order[row, first]] > distance[row, order[row, last]]:
                merged[row, place] = order[row, first]
                first += 1
            else:
                merged[row, place] = order[row, last]
                last -= 1


@njit(cache=True, nogil=True)
def _look_up_scores(
    values: Floats, order: NDArray[np.integer], table: Floats, scores: Floats
) -> None:
    """Fill in the score of each value from the order of its row."""
    rows, number = values.shape
    for row in range(rows):
        first = 0
        while first < number:
            after = first + 1
            while (
                after < number and values[row, order[row, after]] == values[row, order[row, first]]
            ):
                after += 1
            score = table[first + after - 1]
            for place in range(first, after):
                scores[row, order[row, place]] = score
            first = after
