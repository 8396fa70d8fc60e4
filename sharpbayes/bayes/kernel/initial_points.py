"""Where chains start: thresholds at the shares of the levels, no effects, jittered."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtri

from sharpbayes.bayes.design.design import Design, ScaleRatings
from sharpbayes.bayes.kernel.layout import ParameterLayout, threshold_name

Floats = NDArray[np.float64]
JITTER = 0.1
START_SD = 0.5


def initial_point(design: Design, layout: ParameterLayout, *, seed: int) -> Floats:
    """Return coordinates near the bulk of the posterior; shape (coordinate,).

    Args:
        design: Scales and their ratings.
        layout: Where each coordinate lies.
        seed: Seed of the jitter.
    """
    point = np.random.default_rng(seed).normal(0.0, JITTER, layout.size)
    scales = {threshold_name(design, scale): scale for scale in design.scales}
    for section in layout.coordinates:
        if section.name in scales:
            point[section.start : section.stop] += thresholds(design, scales[section.name])
        elif section.name.endswith("_log__"):
            point[section.start : section.stop] += np.log(START_SD)
    return point


def thresholds(design: Design, scale: ScaleRatings) -> Floats:
    """Return the coordinates of the thresholds that the shares of levels suggest.

    Anchor and log gaps where thresholds grow, else the thresholds. Each level is given one rating
    more than it has, so that unused ones have a gap.
    """
    count = np.bincount(scale.category, minlength=len(scale.labels)) + 1.0
    if design.likelihood == "adjacent":
        return np.log(count[:-1] / count[1:])
    if design.ordered_cutpoints:
        share = np.cumsum(count)[:-1] / count.sum()
    else:
        share = (count / np.cumsum(count[::-1])[::-1])[:-1]
    cuts: Floats = logit(share) if design.link == "logit" else ndtri(share)
    return (
        np.concatenate([cuts[[scale.median_cutpoint]], np.log(np.diff(cuts))])
        if design.ordered_cutpoints
        else cuts
    )
