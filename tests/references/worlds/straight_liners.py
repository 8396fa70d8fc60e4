"""Careless raters who answer along a line: a fifth gives one score of its own, 9 times of 10."""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score_plainly

SHARE, SAME = 0.2, 0.9


def rate(rng, crowd, severity):
    """Straight-liners give the score that their bias makes the usual one."""
    scores = score_plainly(rng, crowd, severity)
    usual_score = np.digitize(2 * crowd.bias, (-1.0, -0.3, 0.3, 1.0))
    line = (crowd.kind == 1) & (rng.random(scores.shape) < SAME)
    return np.where(line, usual_score, scores)


WORLD = CrowdWorld(
    rate,
    partial(draw_crowd, share=SHARE),
    remedy="careless_labels.toml",
    announced_by="rater_entropy_spread",
    attentive=0,
)
