"""Careless raters in a design: who may be one, and the probability of their scores.

A rater r with scores y_r follows the ordinal model, or is careless: every score then comes from one
distribution of their own, theta_r ~ Dirichlet(c, ..., c), whatever the item. With share pi,

    p(y_r) = (1 - pi) prod_i P_ordinal(y_ri) + pi DM(y_r),
    DM(y)  = Gamma(Kc) / Gamma(Kc + n) prod_k Gamma(c + n_k) / Gamma(c),

where n_k counts the scores k. DM is the integral over theta_r. It depends on the scores alone.

Source: Zeger, Karim 1991 for latent classes of raters; Frigyik, Kapila and Gupta 2010 for DM.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.spec.model import Beta

Floats = NDArray[np.float64]
RATER = "rater"
# Names of the share in posteriors, of the class of each rater, and of the shares of their scores.
SHARE, CLASS, SCORE_SHARE = "careless_share", "careless_rater", "careless_score"
PROBABILITY = "careless_probability"


@dataclass(frozen=True)
class Reference:
    """Where the effects of careless raters are sampled: near those that the ordinal model gives.

    The ratings say nothing of the effect b of a careless rater, so that any density may take the
    place of its prior while the rater is careless (a pseudo-prior): the posterior of everything
    else is the same. With one near the effect that the rater would have otherwise, the two classes
    do not lie apart, and chains go from one to the other. Draws of careless raters are replaced by
    draws of the prior afterwards.

    Source: Carlin and Chib 1995.
    """

    term: str  # name of the location term by rater
    centre: Floats  # of the sampled effect less the sampled median cutpoint; shape (rater,)
    spread: Floats


@dataclass(frozen=True)
class CarelessClass:
    """Raters who may be careless; all their ratings are on one scale."""

    index: Index  # rater of each rating, -1 where the ordinal model always holds
    n_raters: int
    scale: int  # position of the scale
    share: Beta
    concentration: float
    reference: Reference | None = None


def count_scores(rater: Index, category: Index, *, shape: tuple[int, int]) -> Floats:
    """Count the scores of each rater, (rater, category); ratings of rater -1 are left out.

    >>> count_scores(np.array([0, 1, 0, -1]), np.array([2, 0, 2, 1]), shape=(2, 3)).tolist()
    [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]
    """
    counts, rated = np.zeros(shape), rater >= 0
    np.add.at(counts, (rater[rated], category[rated]), 1.0)
    return counts


def log_careless(counts: Floats, concentration: float) -> Floats:
    """Return log DM of counts of scores (..., category), in the order in which they were given.

    Two scores on a scale of two: a repeated one has probability 1/2 * 2/3.

    >>> float(np.exp(log_careless(np.array([2.0, 0.0]), 1.0)).round(12))
    0.333333333333
    """
    from scipy.special import gammaln  # noqa: PLC0415 - `check` starts without SciPy

    prior = concentration * counts.shape[-1]
    parts = gammaln(concentration + counts) - gammaln(concentration)
    values: Floats = gammaln(prior) - gammaln(prior + counts.sum(-1)) + parts.sum(-1)
    return values
