"""Category of each rating, and the cutpoints that it is compared with."""

import numpy as np

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design


def find_bounds(design: Design) -> tuple[Index, Index, Index]:
    """Return rating, cutpoint below and cutpoint above of each comparison, -1 for none.

    A rating is one comparison. If the likelihood is stepwise, a rating of category k has passed the
    first k cutpoints and not the next: as many yes-no ratings, each with one cutpoint.
    """
    category, size = find_categories(design)
    rating = np.arange(design.n_ratings)
    if not design.traits.stepwise:
        return rating, category - 1, np.where(category < size, category, -1)
    steps = np.minimum(category + 1, size)
    rating = np.repeat(rating, steps)
    position = np.arange(len(rating)) - np.repeat(np.cumsum(steps) - steps, steps)
    passed = position < category[rating]
    return rating, np.where(passed, position, -1), np.where(passed, -1, position)


def find_categories(design: Design) -> tuple[Index, Index]:
    """Return the category of each rating, and the number of cutpoints of its scale."""
    category, size = np.zeros((2, design.n_ratings), dtype=np.int64)
    for scale in design.scales:
        category[scale.rows], size[scale.rows] = scale.category, scale.n_cutpoints
    return category, size
