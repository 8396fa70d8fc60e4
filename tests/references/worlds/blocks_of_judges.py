"""Blocks of judges: judge 0 scores models 0 and 1, judges 1 and 2 score models 2 and 3.

No cell of one block is scored by a judge of the other, so that a difference between models of two
blocks is a difference between judges as well.
"""

import numpy as np

from tests.references.worlds.panel import (
    MODELS,
    PanelWorld,
    draw_severity,
    seen_by_judges,
    seen_by_people,
)


def see(rng, panel, prompts):
    """Judges see the severity."""
    severity = draw_severity(rng, panel, prompts)
    return seen_by_judges(panel, severity), seen_by_people(severity)


def omit_scores(_rng, scores):
    """Judge 0 scores models 0 and 1, the others models 2 and 3."""
    model, judge = np.arange(len(scores))[:, None], np.arange(scores.shape[2])
    scored = (model < MODELS // 2) == (judge == 0)
    return np.where(scored[:, None, :, None], scores, -1)


WORLD = PanelWorld(see, change=omit_scores, announced_by="judge")
