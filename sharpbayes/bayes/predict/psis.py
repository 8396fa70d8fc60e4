"""Pareto-smoothed importance sampling of many units at once, in machine code.

The numbers are those of ``arviz_stats``, to 1e-9 in a test: Vehtari, Gelman and Gabry (2017), with
the generalised Pareto fit of Zhang and Stephens (2009) and its weak prior (Vehtari et al. 2024).
ArviZ smooths one unit after the other. On two threads it takes six times as long (docs/adr/0016).
"""

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.predict.kernels import compiled

Floats = NDArray[np.float64]
Index = NDArray[np.integer]

# Prior of the fit: strength of the grid's scale; k has mean 1/2 with the weight of ten draws.
GRID_SCALE, PRIOR_DRAWS, PRIOR_K = 3.0, 10.0, 0.5
MIN_TAIL = 5
# Importance weights with a larger k are not reliable, however many draws there are.
MAX_GOOD_K = 0.7
NEGLIGIBLE = 10.0 * np.finfo(np.float64).eps


def largest_good_k(draws: int) -> float:
    """Return the largest Pareto k with which the weights of so many draws are reliable.

    min(1 - 1 / log10(S), 0.7)

    Source: Vehtari, Simpson, Gelman, Yao and Gabry 2024.

    >>> round(largest_good_k(500), 3), largest_good_k(4000)
    (0.629, 0.7)
    """
    return float(min(1.0 - 1.0 / np.log10(draws), MAX_GOOD_K))


def psis_loo(log_likelihood: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ``elpd``, ``pareto_k`` and ``p`` of every unit when it is left out.

    elpd_u = log sum_s w_s p(y_u | s) / sum_s w_s,  w_s = 1 / p(y_u | s), its tail smoothed;
    p_u = log mean_s p(y_u | s) - elpd_u.

    ``log_likelihood`` is log p(y_u | draw), shape (draw, unit); draws count as independent. k is
    missing where the largest weights are so much alike that no Pareto distribution fits, infinite
    where there are too few draws, and 0 where all weights are equal.
    """
    tail = tail_length(len(log_likelihood))
    # NumPy sorts: to compile that took longer than all the rest.
    smallest_first = np.array(log_likelihood.T, order="C")
    smallest_first.partition(tail)
    smallest_first[:, :tail].sort()
    return _loo_units(smallest_first, tail)


def psis_pit(log_likelihood: Floats, below: Floats) -> tuple[Floats, Floats, Floats]:
    """Return P(Y_u < y_u), P(Y_u = y_u) and k of every unit when it is left out.

    sum_s w_s p_s / sum_s w_s,  w_s = 1 / p(y_u | s), its tail smoothed, p_s the probability in
    draw s. ``log_likelihood`` is log p(y_u | draw), ``below`` P(Y_u < y_u | draw), shape (draw,
    unit); k is that of :func:`psis_loo`.
    """
    by_unit, below_by_unit = np.ascontiguousarray(log_likelihood.T), np.ascontiguousarray(below.T)
    order = np.argsort(by_unit)
    return _pit_units(by_unit, below_by_unit, order, tail_length(len(log_likelihood)))


def tail_length(draws: int) -> int:
    """Return how many of the largest weights of so many draws are smoothed, as in ArviZ."""
    return int(3.0 * np.sqrt(draws)) if draws > 225 else draws // 5  # noqa: PLR2004


@compiled
def _pit_units(
    log_likelihood: Floats, below: Floats, order: Index, tail: int
) -> tuple[Floats, Floats, Floats]:
    """Both probabilities and k of every row; shape (unit, draw)."""
    units = len(log_likelihood)
    lower, equal, pareto_k = np.empty(units), np.empty(units), np.empty(units)
    for unit in range(units):
        weights, pareto_k[unit] = _smoothed_weights(log_likelihood[unit], order[unit], tail)
        total = weights.sum()
        lower[unit] = (weights * below[unit]).sum() / total
        equal[unit] = (weights * np.exp(log_likelihood[unit])).sum() / total
    return lower, equal, pareto_k


@compiled
def _smoothed_weights(log_likelihood: Floats, order: Index, tail: int) -> tuple[Floats, float]:
    """Weight of every draw when a unit is left out, and k; ``order`` is that of the likelihood."""
    draws, smallest = len(log_likelihood), log_likelihood[order[0]]
    weights = np.exp(smallest - log_likelihood)
    if smallest == log_likelihood[order[draws - 1]]:
        return weights, 0.0
    if tail < MIN_TAIL:
        return weights, np.inf
    # The largest weights are those of the smallest likelihoods.
    largest = order[:tail][::-1]
    k, smoothed = _smooth(weights[largest], weights[order[tail]])
    if np.isfinite(k):
        for position in range(tail):
            weights[largest[position]] = smoothed[position]
    return weights, k


@compiled
def _loo_units(log_likelihood: Floats, tail: int) -> tuple[Floats, Floats, Floats]:
    """``elpd``, k and p of every row, of which the smallest are first; shape (unit, draw)."""
    units = len(log_likelihood)
    elpd, pareto_k, p = np.empty(units), np.empty(units), np.empty(units)
    for unit in range(units):
        elpd[unit], pareto_k[unit], lppd = _loo_unit(log_likelihood[unit], tail)
        p[unit] = lppd - elpd[unit]
    return elpd, pareto_k, p


@compiled
def _loo_unit(log_likelihood: Floats, tail: int) -> tuple[float, float, float]:
    """``elpd``, k and log mean likelihood of one unit; the smallest likelihoods are first."""
    draws, smallest, largest = len(log_likelihood), log_likelihood[0], log_likelihood.max()
    lppd = largest + np.log(np.exp(log_likelihood - largest).mean())
    if smallest == largest:
        return lppd, 0.0, lppd
    weights = np.exp(smallest - log_likelihood)
    if tail < MIN_TAIL:
        return smallest - np.log(weights.mean()), np.inf, lppd
    log_tail = smallest - log_likelihood[:tail][::-1]
    k, smoothed = _smooth(np.exp(log_tail), weights[tail])
    # A draw with an unchanged weight has w p = exp(smallest), whichever it is.
    changed = np.log(smoothed) - log_tail if np.isfinite(k) else np.zeros(tail)
    top = max(changed.max(), 0.0)
    ratio = (draws - tail) * np.exp(-top) + np.exp(changed - top).sum()
    return smallest + top + np.log(ratio) - np.log(weights[tail:].sum() + smoothed.sum()), k, lppd


@compiled
def _smooth(weights: Floats, cutoff: float) -> tuple[float, Floats]:
    """Shape of the largest weights, and the quantiles of their Pareto distribution, at most 1."""
    if weights[-1] == weights[0]:
        return 0.0, weights
    k, sigma = _fit_pareto(weights - cutoff)
    if not np.isfinite(k):
        return k, weights
    count = len(weights)
    log_survival = np.log1p(-(np.arange(count) + 0.5) / count)
    excess = -log_survival if k == 0.0 else np.expm1(-k * log_survival) / k
    return k, np.minimum(cutoff + sigma * excess, 1.0)


@compiled
def _fit_pareto(excess: Floats) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto distribution; ``excess`` is sorted."""
    count = len(excess)
    quartile = excess[int(count / 4 + 0.5) - 1]
    if quartile <= excess[0]:
        return np.nan, np.nan
    points = 30 + int(np.sqrt(count))
    theta = 1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    theta = theta / (GRID_SCALE * quartile) + 1.0 / excess[-1]
    shape = np.array([_mean_log(value, excess) for value in theta])
    profile = count * (np.log(-theta / shape) - shape - 1.0)
    weight = np.exp(profile - profile.max())
    weight *= weight >= NEGLIGIBLE * weight.sum()
    best = (theta * weight).sum() / weight.sum()
    k = _mean_log(best, excess)
    sigma = -k / best
    k = (count * k + PRIOR_DRAWS * PRIOR_K) / (count + PRIOR_DRAWS)
    return (np.inf, np.nan) if np.isnan(k) else (k, sigma)


@compiled
def _mean_log(theta: float, excess: Floats) -> float:
    """Mean of log(1 - theta x)."""
    total = 0.0
    for value in excess:
        total += np.log1p(-theta * value)
    return total / len(excess)
