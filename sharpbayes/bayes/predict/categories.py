"""Categories of ratings given latent severities: log-probabilities, and random draws.

NumPy only; :mod:`sharpbayes.bayes.graph.likelihoods` defines the same likelihoods for PyMC. Each
entry of :data:`sharpbayes.bayes.design.likelihoods.TRAITS` is a class in :data:`LAWS` here.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats, ScaleRatings
from sharpbayes.bayes.predict.kernels import count_passed, draw_strata

Categories = NDArray[np.integer]


@dataclass(frozen=True)
class LatentRatings(ABC):
    """Quantities that determine the ratings on one scale, for every draw."""

    scale: ScaleRatings  # with the observed categories
    link: str  # logit or probit
    severity: Floats  # eta of each rating; shape (sample, rating)
    discrimination: Floats  # a of each rating; shape (sample, rating) or (sample, 1)
    thresholds: Floats  # thresholds c of each cutpoint set; shape (sample, set, K - 1)
    cutpoint_set: Index  # set of each rating; shape (rating,)

    @abstractmethod
    def log_probability(self) -> Floats:
        """Return log P(category) of each observed rating; shape (sample, rating)."""

    def cumulative_probability(self) -> Floats:
        """Return P(category <= k) of each rating; shape (K - 1, sample, rating)."""
        probability = np.empty((self.scale.n_cutpoints, *self.severity.shape))
        for k, row in enumerate(probability):
            category = np.full_like(self.scale.category, k)
            at_k = replace(self, scale=replace(self.scale, category=category))
            np.exp(at_k.log_probability(), out=row)
        return np.cumsum(probability, axis=0, out=probability)

    def below_probability(self) -> Floats:
        """Return P(category below the observed one) of each rating; shape (sample, rating)."""
        below = np.zeros(self.severity.shape)
        for k, probability in enumerate(self.cumulative_probability()):
            np.copyto(below, probability, where=self.scale.category == k + 1)
        return below

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Categories:
        """Draw a category for each rating; shape (sample, rating)."""

    def draw_stratified(self, number: int, rng: np.random.Generator) -> Categories:
        """Draw a number of categories for each rating; shape (number, sample, rating).

        Each by itself has the distribution of :meth:`draw`. Those of one rating come from equally
        probable parts of it, one from each in random order, so that they are spread evenly
        (Latin hypercube sampling: McKay, Beckman and Conover 1979).
        """
        shape = (number, *self.severity.shape)
        category: Categories = np.empty(shape, dtype=self.scale.category_type)
        draw_strata(rng, self.cumulative_probability(), category)
        return category

    def below(self, position: Index) -> Floats:
        """Return a (c - eta) for one threshold of each rating, infinite beyond either end."""
        last = self.scale.n_cutpoints
        chosen = self.cutpoint_set * last + np.clip(position, 0, last - 1)
        values = self.thresholds.reshape(len(self.thresholds), -1).take(chosen, axis=1)
        values -= self.severity
        values *= self.discrimination
        values[:, position < 0] = -np.inf
        values[:, position >= last] = np.inf
        return values

    def above(self, k: int) -> Floats:
        """Return a (eta - c_k) of each rating."""
        return self.discrimination * (self.severity - self.threshold(k))

    def threshold(self, k: int) -> Floats:
        """Return c_k of each rating, (sample, rating); (sample, 1) if all have the same."""
        if self.thresholds.shape[1] == 1:
            return self.thresholds[:, :, k]
        return self.thresholds[:, :, k].take(self.cutpoint_set, axis=1)

    @property
    def cdf(self) -> np.ufunc:
        """Cumulative distribution function F of the link."""
        return expit if self.link == "logit" else ndtr

    def noise(self, rng: np.random.Generator) -> Floats:
        """Draw from the distribution of the link for each rating."""
        shape = self.severity.shape
        return rng.logistic(size=shape) if self.link == "logit" else rng.normal(size=shape)


class Cumulative(LatentRatings):
    """P(category <= k) = F(a (c_k - eta))."""

    def log_probability(self) -> Floats:
        """Log-probability between the two thresholds of the category."""
        upper, lower = self.below(self.scale.category), self.below(self.scale.category - 1)
        if self.link == "logit":
            with np.errstate(divide="ignore"):
                width = np.log(-np.expm1(lower - upper))
            width += log_expit(upper)
            width += log_expit(-lower)
            return width
        # The normal distribution is most exact in its lower tail.
        mirrored = lower + upper > 0
        low, high = np.where(mirrored, -upper, lower), np.where(mirrored, -lower, upper)
        top = log_ndtr(high)
        with np.errstate(divide="ignore"):
            return top + np.log(-np.expm1(log_ndtr(low) - top))

    def cumulative_probability(self) -> Floats:
        """F at every threshold."""
        probability = np.empty((self.scale.n_cutpoints, *self.severity.shape))
        for k, row in enumerate(probability):
            self.cdf(-self.above(k), out=row)
        return probability

    def below_probability(self) -> Floats:
        """F at the lower threshold of the category."""
        probability: Floats = self.cdf(self.below(self.scale.category - 1))
        return probability

    def draw(self, rng: np.random.Generator) -> Categories:
        """Number of thresholds below eta + noise / a."""
        category: Categories = np.empty(self.severity.shape, dtype=self.scale.category_type)
        count_passed(
            self.severity,
            self.noise(rng),
            self.discrimination,
            self.thresholds,
            self.cutpoint_set,
            category,
        )
        return category


class Adjacent(LatentRatings):
    """log P(category = k + 1) / P(category = k) = a (eta - c_k), with the logit link."""

    def log_probability(self) -> Floats:
        """Log-weight of the category less the logarithm of the sum of all weights."""
        total = np.zeros(self.severity.shape)
        weight, own_weight = np.zeros_like(total), np.zeros_like(total)
        for k in range(self.scale.n_cutpoints):
            weight += self.above(k)
            np.logaddexp(total, weight, out=total)
            np.copyto(own_weight, weight, where=self.scale.category == k + 1)
        own_weight -= total
        return own_weight

    def draw(self, rng: np.random.Generator) -> Categories:
        """Category with the largest sum of log-weight and Gumbel noise."""
        weight = np.zeros(self.severity.shape)
        category = np.zeros(weight.shape, dtype=self.scale.category_type)
        largest = rng.gumbel(size=weight.shape)
        for k in range(self.scale.n_cutpoints):
            weight += self.above(k)
            value = weight + rng.gumbel(size=weight.shape)
            category[value > largest] = k + 1
            np.maximum(largest, value, out=largest)
        return category


class Continuation(LatentRatings):
    """P(category = k | category >= k) = F(a (c_k - eta))."""

    def log_probability(self) -> Floats:
        """Sum of the log-probabilities to pass each lower threshold, and then to stop."""
        total = np.zeros(self.severity.shape)
        log_cdf = log_expit if self.link == "logit" else log_ndtr
        for k in range(self.scale.n_cutpoints):
            reached = np.flatnonzero(self.scale.category >= k)
            sign = np.where(self.scale.category[reached] > k, 1.0, -1.0)
            total[:, reached] += log_cdf(sign * self.above(k)[:, reached])
        return total

    def draw(self, rng: np.random.Generator) -> Categories:
        """First threshold that eta plus new noise / a does not pass."""
        category = np.zeros(self.severity.shape, dtype=self.scale.category_type)
        for k in range(self.scale.n_cutpoints):
            category += (category == k) & (self.above(k) + self.noise(rng) > 0.0)
        return category


LAWS: dict[str, type[LatentRatings]] = {
    "cumulative": Cumulative,
    "adjacent": Adjacent,
    "continuation": Continuation,
}
