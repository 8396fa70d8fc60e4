"""Where chains start: thresholds at the shares of the levels, no effects, jittered."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtri

from sharpbayes.bayes.design import Design, ScaleBlock
from sharpbayes.bayes.layout import Layout

Floats = NDArray[np.float64]
JITTER = 0.1
START_SD = 0.5


def initial_point(design: Design, layout: Layout, *, seed: int) -> Floats:
    """Return coordinates near the bulk of the posterior; shape (coordinate,).

    Args:
        design: Scales and their ratings.
        layout: Where each coordinate lies.
        seed: Seed of the jitter.
    """
    point = np.random.default_rng(seed).normal(0.0, JITTER, layout.size)
    starts = {f"threshold_{scale.name}": scale for scale in design.scales}
    for section in layout.coordinates:
        if section.name.endswith("_anchored__"):
            scale = starts[section.name.removesuffix("_placed_anchored__")]
            point[section.start : section.stop] += anchored(scale, link=design.link)
        elif section.name.endswith("_log__"):
            point[section.start : section.stop] += np.log(START_SD)
    return point


def anchored(scale: ScaleBlock, *, link: str) -> Floats:
    """Return the anchor and the log gaps of the thresholds that the shares of levels suggest.

    Each level is given one rating more than it has, so that unused ones have a gap.
    """
    share = np.bincount(scale.level, minlength=len(scale.labels)) + 1.0
    below = np.cumsum(share / share.sum())[:-1]
    cuts = logit(below) if link == "logit" else ndtri(below)
    return np.concatenate([cuts[[scale.anchor]], np.log(np.diff(cuts))])
