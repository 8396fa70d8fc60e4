"""Ordinal likelihoods as PyMC variables: the definition.

With K levels 0 .. K - 1, thresholds c_0 .. c_{K-2} and F the logistic function or the normal cdf:

- cumulative (Samejima 1968, McCullagh 1980): P(y <= k) = F(a (c_k - eta)), so that
  P(y = k) = F(a (c_k - eta)) - F(a (c_{k-1} - eta)), with c_{-1} = -inf and c_{K-1} = inf;
- adjacent (Masters 1982, Muraki 1992): log P(y = k + 1) / P(y = k) = a (eta - c_k);
- continuation (Tutz 1990): P(y = k | y >= k) = F(a (c_k - eta)).

With two levels all three are one. The difference of two logistics is computed without cancellation
from

    log P(y = k) = log(1 - exp(l - u)) - softplus(-u) - softplus(l),  u > l.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

from sharpbayes.spec.model import Likelihood

Tensor = Any
Floats = NDArray[np.float64]
Levels = NDArray[np.integer]
Link = Literal["logit", "probit"]
Size = tuple[int, ...] | None
Random = Callable[[Floats, Floats, np.random.Generator, Size], Levels]

# Stands for an infinite threshold: softplus(-FAR) and its gradient are exactly 0.
FAR = 1e30
# Below it Phi is computed through the scaled complementary error function.
FAR_BELOW = -5.0
HALF, SQRT_HALF = np.float64(0.5), np.sqrt(np.float64(0.5))


def observed_levels(
    name: str,
    *,
    likelihood: Likelihood,
    link: Link,
    eta: Tensor,
    thresholds: Tensor,
    level: Levels,
    dim: str,
) -> Tensor:
    """Add observed levels to the model in context.

    Args:
        name: Name of the variable.
        likelihood: Which levels a threshold parts.
        link: Of the logistic or the normal distribution.
        eta: a times the latent severity; shape (rating,).
        thresholds: a times the thresholds of each rating; shape (rating, K - 1).
        level: Observed levels; shape (rating,).
        dim: Name of the dimension of the ratings.
    """
    logp, random = LAWS[likelihood, link]
    return pm.CustomDist(
        name,
        eta,
        thresholds,
        logp=logp,
        random=random,
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


def _adjacent_logp(level: Tensor, eta: Tensor, thresholds: Tensor) -> Tensor:
    """Log-probability of each observed level: its weight among those of all levels."""
    weight = pt.cumsum(eta[:, None] - thresholds, axis=1)
    weight = pt.concatenate([pt.zeros((weight.shape[0], 1)), weight], axis=1)
    own = weight[pt.arange(weight.shape[0]), level]
    return own - pm.math.logsumexp(weight, axis=1, keepdims=False)


def _continuation_logp(log_cdf: Callable[[Tensor], Tensor]) -> Any:
    """Log-probability of passing every threshold below each observed level, and not the next."""

    def logp(level: Tensor, eta: Tensor, thresholds: Tensor) -> Tensor:
        at = pt.arange(thresholds.shape[1])
        past = eta[:, None] - thresholds
        passed = pt.where(at < level[:, None], log_cdf(past), 0.0)
        stopped = pt.where(pt.eq(at, level[:, None]), log_cdf(-past), 0.0)
        return (passed + stopped).sum(axis=1)

    return logp


def _log_logistic(x: Tensor) -> Tensor:
    """Log of the logistic function."""
    return -pt.softplus(-x)


def _noise(link: Link, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw from the distribution of a link."""
    return rng.logistic(size=shape) if link == "logit" else rng.normal(size=shape)


def _cumulative_random(link: Link) -> Random:
    """Draw a level for each latent severity: one noise, all thresholds."""

    def random(eta: Floats, thresholds: Floats, rng: np.random.Generator, size: Size) -> Levels:
        noise = _noise(link, rng, np.shape(eta) if size is None else size)
        return (np.expand_dims(eta + noise, -1) > thresholds).sum(axis=-1)

    return random


def _continuation_random(link: Link) -> Random:
    """Draw a level for each latent severity: a noise at each threshold, up to the first stop."""

    def random(eta: Floats, thresholds: Floats, rng: np.random.Generator, size: Size) -> Levels:
        shape = (*(np.shape(eta) if size is None else size), thresholds.shape[-1])
        passed = np.expand_dims(eta, -1) + _noise(link, rng, shape) > thresholds
        return np.cumprod(passed, axis=-1).sum(axis=-1)

    return random


def _adjacent_random(
    eta: Floats, thresholds: Floats, rng: np.random.Generator, size: Size
) -> Levels:
    """Draw a level for each latent severity: the largest of weights plus Gumbel noise."""
    weight = np.cumsum(np.expand_dims(eta, -1) - thresholds, axis=-1)
    weight = np.concatenate([np.zeros((*weight.shape[:-1], 1)), weight], axis=-1)
    shape = (*(np.shape(eta) if size is None else size), weight.shape[-1])
    return (weight + rng.gumbel(size=shape)).argmax(axis=-1)


LAWS: dict[tuple[str, str], tuple[Any, Random]] = {
    ("cumulative", "logit"): (_logit_logp, _cumulative_random("logit")),
    ("cumulative", "probit"): (_probit_logp, _cumulative_random("probit")),
    ("adjacent", "logit"): (_adjacent_logp, _adjacent_random),
    ("continuation", "logit"): (_continuation_logp(_log_logistic), _continuation_random("logit")),
    ("continuation", "probit"): (
        _continuation_logp(_log_normal_cdf),
        _continuation_random("probit"),
    ),
}
