"""Nobody is careless: a fifth of the raters follow the severity of items weakly."""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score

SHARE, SLOPE = 0.2, 0.3


def rate(rng, crowd, severity):
    """What raters of kind 1 see of a severity is less than a third of what the others see."""
    slope = np.where(crowd.kind == 1, SLOPE, 1.0)
    return score(rng, slope * severity[:, None] + crowd.bias)


WORLD = CrowdWorld(rate, partial(draw_crowd, share=SHARE))
