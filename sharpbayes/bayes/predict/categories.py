"""Levels from latent severities, over draws and ratings: their log-probability, and new ones.

NumPy alone. The definition is :mod:`sharpbayes.bayes.graph.likelihoods`; a likelihood is one function
here for its log-probability and one for drawing, in the tables at the end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_ndtr

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import ScaleRatings
from sharpbayes.spec.model import Likelihood

Floats = NDArray[np.float64]
Levels = NDArray[np.int16]


@dataclass(frozen=True)
class LatentRatings:
    """What the ratings on one scale come from, draw by draw.

    Attributes:
        scale: The scale.
        likelihood: Which levels a threshold parts.
        link: ``logit`` or ``probit``.
        severity: eta of each rating; shape (sample, rating).
        factor: Discrimination a of each rating; shape (sample, rating) or (sample, 1).
        thresholds: Of each set; shape (sample, set, K - 1).
        which: Set of each rating; shape (rating,).
    """

    scale: ScaleRatings
    likelihood: Likelihood
    link: str
    severity: Floats
    factor: Floats
    thresholds: Floats
    which: Index

    def cut(self, position: Index) -> Floats:
        """Return a (c - eta) for a threshold of each rating, infinite beyond the ends."""
        inside = np.clip(position, 0, self.scale.n_cutpoints - 1)
        cuts = self.thresholds[:, self.which, inside]
        values = self.factor * (cuts - self.severity)
        return np.where(
            position < 0, -np.inf, np.where(position < self.scale.n_cutpoints, values, np.inf)
        )

    def past(self, k: int) -> Floats:
        """Return a (eta - c_k) of each rating."""
        return self.factor * (self.severity - self.thresholds[:, self.which, k])

    def noise(self, rng: np.random.Generator) -> Floats:
        """Draw from the distribution of the link for each rating."""
        shape = self.severity.shape
        return rng.logistic(size=shape) if self.link == "logit" else rng.normal(size=shape)


def log_probability(latent: LatentRatings) -> Floats:
    """Return log P(level) of each observed rating; shape (sample, rating)."""
    return LOG_PROBABILITY[latent.likelihood](latent)


def draw_categories(latent: LatentRatings, rng: np.random.Generator) -> Levels:
    """Draw a level for each rating; shape (sample, rating)."""
    return DRAW[latent.likelihood](latent, rng)


def _cumulative(latent: LatentRatings) -> Floats:
    """Log of the probability between two thresholds."""
    level = latent.scale.category
    upper, lower = latent.cut(level), latent.cut(level - 1)
    if latent.link == "logit":
        with np.errstate(divide="ignore"):
            narrow = np.log(-np.expm1(lower - upper))
        return narrow + log_expit(upper) + log_expit(-lower)
    flip = lower + upper > 0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    top = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return top + np.log(-np.expm1(log_ndtr(low) - top))


def _adjacent(latent: LatentRatings) -> Floats:
    """Weight of the level less the logarithm of the sum of all weights."""
    whole = np.zeros(latent.severity.shape)
    weight, own = np.zeros_like(whole), np.zeros_like(whole)
    for k in range(latent.scale.n_cutpoints):
        weight += latent.past(k)
        np.logaddexp(whole, weight, out=whole)
        np.copyto(own, weight, where=latent.scale.category == k + 1)
    own -= whole
    return own


def _continuation(latent: LatentRatings) -> Floats:
    """Sum of the logarithms of passing each threshold that was passed, and of then stopping."""
    total = np.zeros(latent.severity.shape)
    log_cdf = log_expit if latent.link == "logit" else log_ndtr
    for k in range(latent.scale.n_cutpoints):
        met = np.flatnonzero(latent.scale.category >= k)
        passed = np.where(latent.scale.category[met] > k, 1.0, -1.0)
        total[:, met] += log_cdf(passed * latent.past(k)[:, met])
    return total


def _draw_cumulative(latent: LatentRatings, rng: np.random.Generator) -> Levels:
    """The number of thresholds below eta plus noise / a."""
    reached = latent.severity + latent.noise(rng) / latent.factor
    level = np.zeros(reached.shape, dtype=np.int16)
    for k in range(latent.scale.n_cutpoints):
        level += reached > latent.thresholds[:, latent.which, k]
    return level


def _draw_adjacent(latent: LatentRatings, rng: np.random.Generator) -> Levels:
    """The level whose weight plus Gumbel noise is largest."""
    weight = np.zeros(latent.severity.shape)
    level = np.zeros(weight.shape, dtype=np.int16)
    largest = rng.gumbel(size=weight.shape)
    for k in range(latent.scale.n_cutpoints):
        weight += latent.past(k)
        value = weight + rng.gumbel(size=weight.shape)
        level[value > largest] = k + 1
        np.maximum(largest, value, out=largest)
    return level


def _draw_continuation(latent: LatentRatings, rng: np.random.Generator) -> Levels:
    """The first threshold that eta plus noise / a, drawn anew at each, does not pass."""
    level = np.zeros(latent.severity.shape, dtype=np.int16)
    for k in range(latent.scale.n_cutpoints):
        level += (level == k) & (latent.past(k) + latent.noise(rng) > 0.0)
    return level


LOG_PROBABILITY = {
    "cumulative": _cumulative,
    "adjacent": _adjacent,
    "continuation": _continuation,
}
DRAW = {
    "cumulative": _draw_cumulative,
    "adjacent": _draw_adjacent,
    "continuation": _draw_continuation,
}
