"""Careless raters who click: a fifth gives scores that have nothing to do with the item."""

from functools import partial

import numpy as np

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score_plainly

SHARE, LAW = 0.2, (0.1, 0.2, 0.3, 0.25, 0.15)


def rate(rng, crowd, severity):
    """Clickers draw each score from one law."""
    scores = score_plainly(rng, crowd, severity)
    clicked = rng.choice(len(LAW), p=LAW, size=scores.shape)
    return np.where(crowd.kind == 1, clicked, scores)


WORLD = CrowdWorld(
    rate,
    partial(draw_crowd, share=SHARE),
    remedy="careless_labels.toml",
    announced_by="rater_agreement_spread",
    attentive=0,
)
