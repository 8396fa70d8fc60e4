"""Two blocks of raters that share no item, the second with harsher raters."""

import numpy as np

from tests.references.worlds.crowd import RATERS, Crowd, CrowdWorld, draw_crowd

HARSHER = 1.5


def draw(rng):
    """The second half of the raters is harsher."""
    crowd = draw_crowd(rng)
    second = np.arange(RATERS) >= RATERS // 2
    return Crowd(crowd.bias + HARSHER * second, second.astype(int))


def keep(item, rater):
    """Each half of the raters scores a half of the items."""
    return (item < 0.5) == (rater < RATERS // 2)


WORLD = CrowdWorld(draw=draw, keep=keep, announced_by="rater")
