"""Normal scores of draws by their ranks, for R-hat and effective sample sizes."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtri

from sharpbayes.bayes.design.design import Floats


def normal_scores(values: Floats) -> Floats:
    """Return normal scores of the ranks among the draws of each row, (row, draw).

    score = Phi^-1((rank - 3/8) / (n + 1/4)); equal draws have the mean of their ranks.

    Source: Blom 1958; Vehtari et al. 2021, Eq. 14.

    >>> normal_scores(np.array([[3.0, 1.0, 2.0]])).round(3).tolist()
    [[0.869, -0.869, 0.0]]
    """
    number = values.shape[1]
    # A mean of ranks is a multiple of 1/2: there are few scores, and they are looked up.
    ranks = np.arange(2, 2 * number + 1) / 2
    table = ndtri((ranks - 3 / 8) / (number + 1 / 4))
    scores = np.empty(values.shape)
    _look_up_scores(values, np.argsort(values, axis=1), table, scores)
    return scores


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
