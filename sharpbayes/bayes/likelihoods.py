"""Ordinal likelihoods, as PyMC variables and as NumPy functions of the same parameters.

Cumulative logit (Samejima 1968, McCullagh 1980): P(y <= k) = logistic(c_k - eta), so that

    P(y = k) = logistic(c_k - eta) - logistic(c_{k-1} - eta),

with c_{-1} = -inf and c_{K-1} = inf. The difference of two logistics is computed without
cancellation from

    log P(y = k) = log(1 - exp(c_{k-1} - c_k)) - softplus(eta - c_k) - softplus(c_{k-1} - eta).
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

Tensor = Any
Floats = NDArray[np.float64]

# Stands for an infinite threshold: softplus(-FAR) and its gradient are exactly 0.
FAR = 1e30


def cumulative(
    name: str, *, eta: Tensor, thresholds: Tensor, level: NDArray[np.int64], dim: str
) -> Tensor:
    """Add observed levels with cumulative-logit probabilities to the model in context."""
    return pm.CustomDist(
        name,
        eta,
        thresholds,
        logp=_cumulative_logp,
        random=_cumulative_random,
        signature="(),(n)->()",
        dtype="int64",
        observed=level,
        dims=dim,
    )


def _cumulative_logp(level: Tensor, eta: Tensor, thresholds: Tensor) -> Tensor:
    """Log-probability of each observed level; thresholds come with one leading dimension."""
    end = pt.as_tensor(np.array([FAR]))
    cuts = pt.concatenate([-end, thresholds[0], end])
    gaps = pt.log1mexp(cuts[:-1] - cuts[1:])
    high, low = cuts[level + 1], cuts[level]
    return gaps[level] - pt.softplus(eta - high) - pt.softplus(low - eta)


def _cumulative_random(
    eta: Floats, thresholds: Floats, rng: np.random.Generator, size: tuple[int, ...] | None
) -> NDArray[np.int64]:
    """Draw a level for each latent severity."""
    noise = rng.logistic(size=np.shape(eta) if size is None else size)
    return (np.expand_dims(eta + noise, -1) > thresholds).sum(axis=-1)


def log_probability(level: NDArray[np.int64], *, eta: Floats, thresholds: Floats) -> Floats:
    r"""Return log P(y = level) for each rating, with leading draws.

    Args:
        level: Observed levels from 0; shape (rating,).
        eta: Latent severity; shape (..., rating).
        thresholds: Growing cutpoints; shape (..., K - 1).

    Returns:
        Log-probabilities; shape (..., rating).

    Examples:
        >>> value = log_probability(
        ...     np.array([1]), eta=np.array([0.0]), thresholds=np.array([-1.0, 1.0])
        ... )
        >>> round(float(np.exp(value[0])), 6)  # logistic(1) - logistic(-1)
        0.462117
    """
    end = np.full((*thresholds.shape[:-1], 1), FAR)
    cuts = np.concatenate([-end, thresholds, end], axis=-1)
    gaps = np.log(-np.expm1(cuts[..., :-1] - cuts[..., 1:]))
    over = np.logaddexp(0.0, eta - cuts[..., level + 1])
    under = np.logaddexp(0.0, cuts[..., level] - eta)
    result: Floats = gaps[..., level] - over - under
    return result


def draw_level(rng: np.random.Generator, *, eta: Floats, thresholds: Floats) -> NDArray[np.int16]:
    """Draw a level for each latent severity; shapes as in :func:`log_probability`."""
    seen = eta + rng.logistic(size=eta.shape)
    level = np.zeros(eta.shape, dtype=np.int16)
    for cut in range(thresholds.shape[-1]):
        level += seen > thresholds[..., cut, None]
    return level
