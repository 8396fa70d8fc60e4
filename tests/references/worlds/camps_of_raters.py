"""Raters in two camps: what makes an item worse for one half makes it better for the other.

How an item divides the camps has nothing to do with how severe it is on average.
"""

from functools import partial

from tests.references.worlds.crowd import CrowdWorld, draw_crowd, score

DIVISION_SD = 1.2


def rate(rng, crowd, severity):
    """Each item has a division, which counts for one camp and against the other."""
    division = rng.normal(0, DIVISION_SD, severity.size)
    side = 2 * crowd.kind - 1
    return score(rng, severity[:, None] + crowd.bias + division[:, None] * side)


WORLD = CrowdWorld(rate, partial(draw_crowd, share=0.5), announced_by="rater_correlation")
