"""A fifth of the raters click, and every rater scores a sixth of the items."""

from functools import partial

from tests.references.worlds.clickers import rate
from tests.references.worlds.crowd import ITEMS, CrowdWorld, draw_crowd

SHARE, PART = 0.2, 6


def keep(item, rater):
    """Ten of sixty items a rater, others for each."""
    return ((item * ITEMS).round().astype(int) + rater) % PART == 0


WORLD = CrowdWorld(rate, partial(draw_crowd, share=SHARE), keep=keep, attentive=0)
