"""Careless raters given draws: mixtures of likelihoods, classes of raters, and their scores.

Definitions are those of :mod:`sharpbayes.bayes.design.careless`. The class of a rater is not a
parameter of the posterior: it is drawn from its probability given the ratings and a draw,

    P(careless) = pi exp(C) / ((1 - pi) exp(L) + pi exp(C)),

where L and C are the log-likelihoods of all ratings of the rater under both classes.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from sharpbayes.bayes.design.careless import (
    CLASS,
    RATER,
    SCORE_SHARE,
    SHARE,
    CarelessClass,
    count_scores,
    log_careless,
)
from sharpbayes.bayes.design.crossing import Index, find_combinations
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings


def careless_raters(design: Design, scale: ScaleRatings) -> Index | None:
    """Return who gave each rating of a scale, -1 for one that has no class; None if all have none.

    ``scale`` may hold some of the ratings of the design's scale.
    """
    careless = design.careless
    if careless is None or design.scales[careless.scale].name != scale.name:
        return None
    return careless.index[scale.rows]


def rater_counts(design: Design, careless: CarelessClass) -> Floats:
    """Return the counts of the observed scores of each rater, (rater, category)."""
    scale = design.scales[careless.scale]
    shape = (careless.n_raters, len(scale.labels))
    return count_scores(careless.index[scale.rows], scale.category, shape=shape)


def sum_columns(values: Floats, column: Index, *, size: int) -> Floats:
    """Sum values (sample, rating) by the column of each rating; -1 belongs to none."""
    inside = np.flatnonzero(column >= 0)
    ones = np.ones(len(inside))
    return np.asarray(values @ csr_array((ones, (inside, column[inside])), (len(column), size)))


def share_draws(draws: xr.Dataset) -> Floats:
    """Return the share of careless raters of each draw, (sample, 1)."""
    return draws[SHARE].transpose("chain", "draw").to_numpy().reshape(-1, 1)


def log_mixture(ordinal: Floats, careless: Floats, share: Floats) -> Floats:
    """Return log((1 - share) exp(ordinal) + share exp(careless))."""
    mixed: Floats = np.logaddexp(np.log1p(-share) + ordinal, np.log(share) + careless)
    return mixed


def prob_careless(ordinal: Floats, careless: Floats, share: Floats) -> Floats:
    """Return P(careless) given both log-likelihoods of a rater's ratings."""
    probability: Floats = expit(np.log(share) - np.log1p(-share) + careless - ordinal)
    return probability


def log_left_out(
    log_ratings: Floats, others: Floats, share: Floats, *, counts: Floats, without: Floats, c: float
) -> Floats:
    """Return log p(ratings that are left out | the rater's other ratings, draw).

    ``log_ratings`` and ``others`` are log-likelihoods of both under the ordinal model, ``counts``
    are those of all scores of the rater and ``without`` those of the others (..., category), ``c``
    is the concentration.
    """
    whole = log_mixture(others + log_ratings, log_careless(counts, c), share)
    return whole - log_mixture(others, log_careless(without, c), share)


@dataclass(frozen=True)
class RaterPairs:
    """Raters with ratings in units that are left out: a pair for each rater of each unit."""

    unit: Index  # shape (pair,)
    rater: Index
    counts: Floats  # of all scores of the rater, (pair, category)
    without: Floats  # of their scores outside the unit
    concentration: float

    def columns(self, unit: Index, rater: Index) -> Index:
        """Return the pair of each rating."""
        size = int(self.rater.max()) + 1
        return np.searchsorted(self.unit * size + self.rater, unit * size + rater)

    def log_likelihood(self, inside: Floats, others: Floats, share: Floats) -> Floats:
        """Return log p(ratings of the pair | the rater's other ratings, draw), (sample, pair)."""
        return log_left_out(
            inside,
            others,
            share,
            counts=self.counts,
            without=self.without,
            c=self.concentration,
        )


def find_pairs(design: Design, scale: ScaleRatings, unit: Index) -> RaterPairs:
    """Return the pairs of the unit and the rater of some ratings of a scale."""
    careless, rater = design.careless, careless_raters(design, scale)
    if careless is None or rater is None:
        raise ValueError("no rater of these ratings may be careless")
    position, pairs = find_combinations([unit, rater])
    shape = (len(pairs), len(scale.labels))
    inside = count_scores(position, scale.category, shape=shape)
    counts = rater_counts(design, careless)[pairs[:, 1]]
    return RaterPairs(pairs[:, 0], pairs[:, 1], counts, counts - inside, careless.concentration)


def assign_classes(
    draws: xr.Dataset,
    careless: CarelessClass,
    *,
    probability: Floats,
    counts: Floats,
    rng: np.random.Generator,
) -> xr.Dataset:
    """Add the class of every rater and the distribution of a careless rater's scores to draws.

    ``probability`` is that of the class, (sample, rater) or (sample, 1); ``counts`` are scores that
    are known of each rater, (rater, category).
    """
    sizes = tuple(draws.sizes[dim] for dim in ("chain", "draw"))
    shape = (sizes[0] * sizes[1], careless.n_raters)
    is_careless = rng.random(shape) < probability
    gamma = rng.gamma(np.broadcast_to(careless.concentration + counts, (*shape, counts.shape[1])))
    total = gamma.sum(axis=-1, keepdims=True)
    # A tiny concentration may leave only zeros: then the scores are alike.
    score = np.where(total > 0.0, gamma / np.where(total > 0.0, total, 1.0), 1.0 / gamma.shape[-1])
    dims = ("chain", "draw", RATER)
    return draws.assign(
        {
            CLASS: (dims, is_careless.reshape(*sizes, -1)),
            SCORE_SHARE: ((*dims, "careless_category"), score.reshape(*sizes, *score.shape[1:])),
        }
    )


def replace_careless(
    category: NDArray[np.integer], draws: xr.Dataset, rater: Index, rng: np.random.Generator
) -> NDArray[np.integer]:
    """Return categories (sample, rating) with scores of careless raters in place of theirs."""
    dims = ("chain", "draw", RATER)
    is_careless = draws[CLASS].transpose(*dims).to_numpy().reshape(len(category), -1)
    score = draws[SCORE_SHARE].transpose(*dims, ...).to_numpy()
    upto = score.reshape(len(category), -1, score.shape[-1]).cumsum(axis=-1)[..., :-1]
    for sample, rating in enumerate(is_careless[:, rater] & (rater >= 0)):
        positions = np.flatnonzero(rating)
        if positions.size:
            uniform = rng.random(positions.size)[:, None]
            passed = uniform > upto[sample, rater[positions]]
            category[sample, positions] = passed.sum(axis=1)
    return category
