"""Compiled loops over ratings of draws; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Categories = NDArray[np.integer]
Index = NDArray[np.integer]

compiled = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def add_effects(effects: Floats, index: Index, severity: Floats) -> None:
    """Add an effect to the severity of each rating (sample, rating), nothing at an index of -1.

    ``effects`` are over (sample, effect), ``index`` over (rating,).
    """
    for sample in range(severity.shape[0]):
        for rating in range(severity.shape[1]):
            if index[rating] >= 0:
                severity[sample, rating] += effects[sample, index[rating]]


@compiled
def count_passed(  # noqa: PLR0917 - numba knows no keyword-only arguments
    severity: Floats,
    noise: Floats,
    discrimination: Floats,
    thresholds: Floats,
    cutpoint_set: Index,
    category: Index,
) -> None:
    """Fill in the number of thresholds below eta + noise / a of each rating (sample, rating).

    ``thresholds`` are over (sample, set, threshold) and ``cutpoint_set`` over (rating,); a single
    set is that of all ratings. ``discrimination`` is over (sample, rating) or (sample, 1).
    """
    common_set, common = thresholds.shape[1] == 1, discrimination.shape[1] == 1
    for sample in range(severity.shape[0]):
        for rating in range(severity.shape[1]):
            a = discrimination[sample, 0 if common else rating]
            value = severity[sample, rating] + noise[sample, rating] / a
            chosen = 0 if common_set else cutpoint_set[rating]
            passed = 0
            for k in range(thresholds.shape[2]):
                if value > thresholds[sample, chosen, k]:
                    passed += 1
            category[sample, rating] = passed


@compiled
def draw_strata(rng: np.random.Generator, cumulative: Floats, category: Categories) -> None:
    """Fill in categories (replicate, sample, rating), one from each stratum of their distribution.

    ``cumulative`` are the probabilities (threshold, sample, rating) of the categories up to each
    threshold. Strata are as many as replicates and equally probable; those of a rating are in
    random order.
    """
    number = category.shape[0]
    strata = np.arange(number)
    for sample in range(category.shape[1]):
        for rating in range(category.shape[2]):
            for replicate in range(number):
                # One random number says which of the strata that are left it is, and where in it.
                place = rng.random() * (number - replicate)
                chosen = replicate + int(place)
                strata[replicate], strata[chosen] = strata[chosen], strata[replicate]
                position = (strata[replicate] + place - int(place)) / number
                passed = 0
                for k in range(cumulative.shape[0]):
                    if position > cumulative[k, sample, rating]:
                        passed += 1
                category[replicate, sample, rating] = passed


@compiled
def move_levels(  # noqa: PLR0917
    rng: np.random.Generator,
    share: float,
    degrees: float,
    cumulative: Floats,
    order: Index,
    bounds: Index,
    stratum: Index,
    factor: Floats,
    observed: Floats,
    moved: Floats,
) -> None:
    """Replace a share of the levels by others of their stratum that are moved by a multivariate t.

    ``observed`` and ``moved`` are over (sample, level, effect). The t has the covariance F'F of an
    upper trapezoidal ``factor`` F over (sample, row, effect). ``stratum`` (level,) numbers from 0,
    ``order`` lists the levels by stratum, whose positions lie between two successive ``bounds``;
    ``cumulative`` (sample, level) adds up the weights in this order.
    """
    samples, levels, effects = observed.shape
    for sample in range(samples):
        for level in range(levels):
            if rng.random() >= share:
                continue
            first, after = bounds[stratum[level]], bounds[stratum[level] + 1]
            low = cumulative[sample, first - 1] if first > 0 else 0.0
            within = cumulative[sample, first:after]
            target = low + (within[-1] - low) * rng.random()
            # Rounding may lead behind the last level.
            place = min(np.searchsorted(within, target, side="right"), after - first - 1)
            moved[sample, level] = observed[sample, order[first + place]]
            length = np.sqrt((degrees - 2.0) / rng.chisquare(degrees))
            for row in range(factor.shape[1]):
                step = length * rng.standard_normal()
                for effect in range(row, effects):
                    moved[sample, level, effect] += step * factor[sample, row, effect]
