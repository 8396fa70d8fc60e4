"""Raters who copy: a fifth gives the scores of rater number 0 in 95 of 100 ratings."""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score_plainly

SHARE, SAME = 0.2, 0.95


def rate(rng, crowd, severity):
    """Copies are those of the first rater."""
    scores = score_plainly(rng, crowd, severity)
    copied = (crowd.kind == 1) & (rng.random(scores.shape) < SAME)
    return np.where(copied, scores[:, :1], scores)


WORLD = CrowdWorld(rate, partial(draw_crowd, share=SHARE), announced_by="rater_copies")
