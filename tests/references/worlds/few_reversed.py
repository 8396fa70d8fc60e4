"""A fifth of the raters read the scale from its other end."""

from functools import partial

from tests.references.worlds.crowd import CrowdWorld, draw_crowd
from tests.references.worlds.reversed_scale import rate

SHARE = 0.2
WORLD = CrowdWorld(rate, partial(draw_crowd, share=SHARE), attentive=0)
