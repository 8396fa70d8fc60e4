"""Ordinal likelihoods as PyMC variables.

Cumulative (Samejima 1968, McCullagh 1980): P(y <= k) = F(a (c_k - eta)), so that

    P(y = k) = F(a (c_k - eta)) - F(a (c_{k-1} - eta)),

with c_{-1} = -inf and c_{K-1} = inf, F the logistic function or the normal cdf. The difference of
two logistics is computed without cancellation from

    log P(y = k) = log(1 - exp(l - u)) - softplus(-u) - softplus(l),  u > l.
"""

from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

Tensor = Any
Floats = NDArray[np.float64]
Link = Literal["logit", "probit"]

# Stands for an infinite threshold: softplus(-FAR) and its gradient are exactly 0.
FAR = 1e30
# Below it Phi is computed through the scaled complementary error function.
FAR_BELOW = -5.0
HALF, SQRT_HALF = np.float64(0.5), np.sqrt(np.float64(0.5))


def cumulative(
    name: str, *, eta: Tensor, thresholds: Tensor, link: Link, level: NDArray[np.integer], dim: str
) -> Tensor:
    """Add observed levels with cumulative probabilities to the model in context.

    Args:
        name: Name of the variable.
        eta: a times the latent severity; shape (rating,).
        thresholds: a times the thresholds of each rating; shape (rating, K - 1).
        link: Of the logistic or the normal distribution.
        level: Observed levels; shape (rating,).
        dim: Name of the dimension of the ratings.
    """
    return pm.CustomDist(
        name,
        eta,
        thresholds,
        logp=_logit_logp if link == "logit" else _probit_logp,
        random=_logit_random if link == "logit" else _probit_random,
        signature="(),(n)->()",
        dtype="int64",
        observed=level,
        dims=dim,
    )


def _bounds(level: Tensor, eta: Tensor, thresholds: Tensor) -> tuple[Tensor, Tensor]:
    """Upper and lower threshold of each observed level, less the severity."""
    end = pt.full((thresholds.shape[0], 1), np.float64(FAR))
    cuts = pt.concatenate([-end, thresholds, end], axis=1)
    row = pt.arange(thresholds.shape[0])
    return cuts[row, level + 1] - eta, cuts[row, level] - eta


def _logit_logp(level: Tensor, eta: Tensor, thresholds: Tensor) -> Tensor:
    """Log-probability of each observed level under the logistic distribution."""
    upper, lower = _bounds(level, eta, thresholds)
    return pt.log1mexp(lower - upper) - pt.softplus(-upper) - pt.softplus(lower)


def _probit_logp(level: Tensor, eta: Tensor, thresholds: Tensor) -> Tensor:
    """Log-probability of each observed level under the normal distribution."""
    upper, lower = _bounds(level, eta, thresholds)
    flip = lower + upper > 0
    low, high = pt.where(flip, -upper, lower), pt.where(flip, -lower, upper)
    inside = low > -FAR / 2
    less = _log_normal_cdf(pt.where(inside, low, high - 1.0)) - _log_normal_cdf(high)
    return _log_normal_cdf(high) + pt.where(inside, pt.log1mexp(less), np.float64(0.0))


def _log_normal_cdf(x: Tensor) -> Tensor:
    """Log Phi(x), where Phi itself would underflow by the scaled complementary error function."""
    far = x < FAR_BELOW
    scaled = pt.erfcx(pt.where(far, -x, 0.0) * SQRT_HALF) * HALF
    plain = pt.erfc(pt.where(far, 0.0, -x) * SQRT_HALF) * HALF
    return pt.where(far, pt.log(scaled) - HALF * pt.where(far, x, 0.0) ** 2, pt.log(plain))


def _logit_random(
    eta: Floats, thresholds: Floats, rng: np.random.Generator, size: tuple[int, ...] | None
) -> NDArray[np.int64]:
    """Draw a level for each latent severity."""
    noise = rng.logistic(size=np.shape(eta) if size is None else size)
    return (np.expand_dims(eta + noise, -1) > thresholds).sum(axis=-1)


def _probit_random(
    eta: Floats, thresholds: Floats, rng: np.random.Generator, size: tuple[int, ...] | None
) -> NDArray[np.int64]:
    """Draw a level for each latent severity."""
    noise = rng.normal(size=np.shape(eta) if size is None else size)
    return (np.expand_dims(eta + noise, -1) > thresholds).sum(axis=-1)
