"""Starts of chains: cutpoints at the shares of the categories, no effects, jittered."""

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, ScaleRatings
from sharpbayes.bayes.kernel.layout import ParameterLayout, threshold_name

Floats = NDArray[np.float64]
JITTER = 0.1
START_SD = 0.5


def initial_point(design: Design, layout: ParameterLayout, *, seed: int) -> Floats:
    """Return coordinates near the bulk of the posterior, jittered; shape (coordinate,)."""
    point = np.random.default_rng(seed).normal(0.0, JITTER, layout.size)
    scales = {threshold_name(design, scale): scale for scale in design.scales}
    for section in layout.coordinates:
        if section.name in scales:
            point[section.slice] += start_cutpoints(design, scales[section.name])
        elif section.name.endswith("_log__"):
            point[section.slice] += np.log(START_SD)
    return point


def start_cutpoints(design: Design, scale: ScaleRatings) -> Floats:
    """Return the coordinates of the cutpoints that the shares of categories suggest.

    Each category counts one rating more than it has, so that an unused one has a gap.
    """
    count = np.bincount(scale.category, minlength=len(scale.labels)).astype(float) + 1.0
    cutpoints = design.traits.start(count, design.link)
    if not design.ordered_cutpoints:
        return cutpoints
    return np.concatenate([cutpoints[[scale.median_cutpoint]], np.log(np.diff(cutpoints))])
