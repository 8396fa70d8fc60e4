"""Ordinal likelihoods as PyTensor expressions: their definition.

With K categories 0 .. K - 1, cutpoints c_0 .. c_{K-2}, severity eta, discrimination a, and F the
logistic or the normal distribution function:

- cumulative (Samejima 1968, McCullagh 1980): P(y <= k) = F(a (c_k - eta)), so that
  P(y = k) = F(a (c_k - eta)) - F(a (c_{k-1} - eta)), with c_{-1} = -inf and c_{K-1} = inf;
- adjacent (Masters 1982, Muraki 1992): log P(y = k + 1) / P(y = k) = a (eta - c_k);
- continuation (Tutz 1990): P(y = k | y >= k) = F(a (c_k - eta)).

With two categories all three are one. :data:`DEFINITIONS` has for each likelihood and link the
log-probability of observed categories and a function that draws new ones. Both take a eta, of
shape (rating,), and a c, of shape (rating, K - 1).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

Tensor = Any
Floats = NDArray[np.float64]
Categories = NDArray[np.integer]
Size = tuple[int, ...] | None
LogProbability = Callable[[Tensor, Tensor, Tensor], Tensor]
Noise = Callable[..., Floats]
Draw = Callable[[Floats, Floats, np.random.Generator, Size], Categories]

# Stands for an infinite cutpoint: softplus(-INFINITE) and its gradient are exactly 0.
INFINITE = 1e30
# Below it Phi is computed through the scaled complementary error function.
FAR_BELOW = -5.0
LOGISTIC, NORMAL = np.random.Generator.logistic, np.random.Generator.normal
HALF, SQRT_HALF = np.float64(0.5), np.sqrt(np.float64(0.5))


def _bounds(category: Tensor, eta: Tensor, cutpoints: Tensor) -> tuple[Tensor, Tensor]:
    """Upper and lower cutpoint of each observed category, less the severity."""
    end = pt.full((cutpoints.shape[0], 1), np.float64(INFINITE))
    padded = pt.concatenate([-end, cutpoints, end], axis=1)
    row = pt.arange(cutpoints.shape[0])
    return padded[row, category + 1] - eta, padded[row, category] - eta


def _cumulative_logit(category: Tensor, eta: Tensor, cutpoints: Tensor) -> Tensor:
    """log(1 - exp(l - u)) - softplus(-u) - softplus(l) for bounds l < u: nothing cancels."""
    upper, lower = _bounds(category, eta, cutpoints)
    return pt.log1mexp(lower - upper) - pt.softplus(-upper) - pt.softplus(lower)


def _cumulative_probit(category: Tensor, eta: Tensor, cutpoints: Tensor) -> Tensor:
    """Log of a difference of two normal distribution functions, by the tail that is smaller."""
    upper, lower = _bounds(category, eta, cutpoints)
    flip = lower + upper > 0
    low, high = pt.where(flip, -upper, lower), pt.where(flip, -lower, upper)
    inside = low > -INFINITE / 2
    log_ratio = _log_normal_cdf(pt.where(inside, low, high - 1.0)) - _log_normal_cdf(high)
    return _log_normal_cdf(high) + pt.where(inside, pt.log1mexp(log_ratio), np.float64(0.0))


def _log_normal_cdf(x: Tensor) -> Tensor:
    """Log Phi(x), where Phi itself would underflow by the scaled complementary error function."""
    far = x < FAR_BELOW
    scaled = pt.erfcx(pt.where(far, -x, 0.0) * SQRT_HALF) * HALF
    plain = pt.erfc(pt.where(far, 0.0, -x) * SQRT_HALF) * HALF
    return pt.where(far, pt.log(scaled) - HALF * pt.where(far, x, 0.0) ** 2, pt.log(plain))


def _adjacent_logit(category: Tensor, eta: Tensor, cutpoints: Tensor) -> Tensor:
    """Log of the weight of each observed category among the weights of all."""
    weight = pt.cumsum(eta[:, None] - cutpoints, axis=1)
    weight = pt.concatenate([pt.zeros((weight.shape[0], 1)), weight], axis=1)
    observed = weight[pt.arange(weight.shape[0]), category]
    return observed - pm.math.logsumexp(weight, axis=1, keepdims=False)


def _continuation(
    log_cdf: Callable[[Tensor], Tensor], category: Tensor, eta: Tensor, cutpoints: Tensor
) -> Tensor:
    """Log-probability of passing each cutpoint below the observed category, and not the next."""
    position = pt.arange(cutpoints.shape[1])
    past = eta[:, None] - cutpoints
    passed = pt.where(position < category[:, None], log_cdf(past), 0.0)
    stopped = pt.where(pt.eq(position, category[:, None]), log_cdf(-past), 0.0)
    return (passed + stopped).sum(axis=1)


def _draw_cumulative(
    noise: Noise, eta: Floats, cutpoints: Floats, rng: np.random.Generator, size: Size
) -> Categories:
    """One noise a rating is compared with all cutpoints."""
    latent = eta + noise(rng, size=np.shape(eta) if size is None else size)
    return (np.expand_dims(latent, -1) > cutpoints).sum(axis=-1)


def _draw_continuation(
    noise: Noise, eta: Floats, cutpoints: Floats, rng: np.random.Generator, size: Size
) -> Categories:
    """A noise at each cutpoint, up to the first one that is not passed."""
    shape = (*(np.shape(eta) if size is None else size), cutpoints.shape[-1])
    passed = np.expand_dims(eta, -1) + noise(rng, size=shape) > cutpoints
    return np.cumprod(passed, axis=-1).sum(axis=-1)


def _draw_adjacent(
    eta: Floats, cutpoints: Floats, rng: np.random.Generator, size: Size
) -> Categories:
    """The category with the largest weight plus Gumbel noise."""
    weight = np.cumsum(np.expand_dims(eta, -1) - cutpoints, axis=-1)
    weight = np.concatenate([np.zeros((*weight.shape[:-1], 1)), weight], axis=-1)
    shape = (*(np.shape(eta) if size is None else size), weight.shape[-1])
    return (weight + rng.gumbel(size=shape)).argmax(axis=-1)


DEFINITIONS: dict[tuple[str, str], tuple[LogProbability, Draw]] = {
    ("cumulative", "logit"): (_cumulative_logit, partial(_draw_cumulative, LOGISTIC)),
    ("cumulative", "probit"): (_cumulative_probit, partial(_draw_cumulative, NORMAL)),
    ("adjacent", "logit"): (_adjacent_logit, _draw_adjacent),
    ("continuation", "logit"): (
        partial(_continuation, lambda x: -pt.softplus(-x)),
        partial(_draw_continuation, LOGISTIC),
    ),
    ("continuation", "probit"): (
        partial(_continuation, _log_normal_cdf),
        partial(_draw_continuation, NORMAL),
    ),
}
