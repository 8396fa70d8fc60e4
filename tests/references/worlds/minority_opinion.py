"""Nobody is careless: a fifth of the raters are harsher, and see a third of the items otherwise.

On every third item the severity that they see is the opposite of what all others see.
"""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score

SHARE, HARSHER, EVERY = 0.2, 1.0, 3


def rate(rng, crowd, severity):
    """The minority turns the severity of every third item around."""
    opposite = np.where(np.arange(severity.size) % EVERY == 0, -severity, severity)
    of_minority = opposite[:, None] + crowd.bias + HARSHER
    perceived = np.where(crowd.kind == 1, of_minority, severity[:, None] + crowd.bias)
    return score(rng, perceived)


WORLD = CrowdWorld(rate, partial(draw_crowd, share=SHARE))
