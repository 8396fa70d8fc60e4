"""What distinguishes the ordinal likelihoods, apart from the probabilities themselves.

A likelihood is one entry of :data:`TRAITS` here, one of ``DEFINITIONS`` in
:mod:`sharpbayes.bayes.graph.likelihoods` (for PyMC) and one class in
:mod:`sharpbayes.bayes.predict.categories` (for NumPy).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BOUNDED = "the prior alone bounds the thresholds there"


@dataclass(frozen=True)
class LikelihoodTraits:
    """What a fit needs to know of a likelihood."""

    # Cutpoints that the counts of the categories suggest under a link: F^-1 of the share at or
    # below each category; log odds of each to the next; F^-1 of the share of each among itself and
    # those above it.
    start: Callable[[Floats, str], Floats]
    # What the fit does about a category that nobody gave: below all used, above them, or between.
    unused: tuple[str, str, str]
    # Machine code of its rating blocks: ``interval``, the probability between two cutpoints, or
    # ``adjacent``; None if PyMC's own graph samples it.
    kernel: Literal["interval", "adjacent"] | None = None
    # Whether a rating of category k is k + 1 ratings with one cutpoint each: above each of the
    # first k cutpoints, then below the next.
    stepwise: bool = False


def _quantile(probability: Floats, link: str) -> Floats:
    """Inverse of the distribution function of a link."""
    from scipy.special import logit, ndtri  # noqa: PLC0415 - `check` starts without SciPy

    quantile: Floats = logit(probability) if link == "logit" else ndtri(probability)
    return quantile


TRAITS: dict[str, LikelihoodTraits] = {
    "cumulative": LikelihoodTraits(
        start=lambda count, link: _quantile(np.cumsum(count)[:-1] / count.sum(), link),
        unused=(BOUNDED, BOUNDED, "the gap between its thresholds shrinks as the prior lets it"),
        kernel="interval",
    ),
    "adjacent": LikelihoodTraits(
        start=lambda count, _link: np.log(count[:-1] / count[1:]),
        unused=(
            BOUNDED,
            BOUNDED,
            (
                "the threshold into it grows and the one out of it falls as the prior lets them; "
                "the ratings identify their sum"
            ),
        ),
        kernel="adjacent",
    ),
    "continuation": LikelihoodTraits(
        start=lambda count, link: _quantile((count / np.cumsum(count[::-1])[::-1])[:-1], link),
        unused=(
            BOUNDED,
            "the prior alone bounds the first threshold there and gives all beyond it",
            "the threshold above it falls as the prior lets it; the ratings identify the others",
        ),
        kernel="interval",
        stepwise=True,
    ),
}
