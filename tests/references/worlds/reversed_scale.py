"""Half of the raters read the scale from its other end."""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import N_SCORES, CrowdWorld, draw_crowd, score_plainly


def rate(rng, crowd, severity):
    """A reversed score is 4 less the score."""
    scores = score_plainly(rng, crowd, severity)
    return np.where(crowd.kind == 1, N_SCORES - 1 - scores, scores)


WORLD = CrowdWorld(rate, partial(draw_crowd, share=0.5), announced_by="rater_correlation")
