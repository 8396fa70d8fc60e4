"""Priors of closed kinds, as PyMC variables."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

from sharpbayes.spec.model import Normal, ThresholdPrior

Tensor = Any


def effect_sd(name: str, prior: Normal) -> Tensor:
    """Return the sd of a term's effects: a number, or a half-normal variable ``sd_<term>``."""
    if isinstance(prior.sd, float):
        return prior.sd
    return pm.HalfNormal(f"sd_{name}", sigma=prior.sd.scale)


def ordered_thresholds(
    name: str, prior: ThresholdPrior, *, shift: Tensor, dim: str, size: int
) -> Tensor:
    r"""Return growing thresholds whose independent normal prior is restricted to that order.

    p(c) = (K-1)! prod_k N(c_k | mean - shift, sd) for c_1 < ... < c_{K-1}: the law of sorted
    independent normals.
    """
    return pm.CustomDist(
        name,
        prior.mean - shift + np.zeros(size),
        np.float64(prior.sd),
        logp=_ordered_logp,
        random=_ordered_random,
        signature="(n),()->(n)",
        dims=dim,
        transform=pm.distributions.transforms.ordered,
        initval=np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1),
    )


def _ordered_logp(value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    """Log density of sorted independent normals."""
    independent = pm.logp(pm.Normal.dist(mean, sd), value).sum(axis=-1)
    return independent + pt.gammaln(value.shape[-1] + 1)


def _ordered_random(
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    rng: np.random.Generator,
    size: tuple[int, ...] | None,
) -> NDArray[np.float64]:
    """Draw independent normals and sort them."""
    shape = mean.shape if size is None else (*size, mean.shape[-1])
    return np.sort(rng.normal(mean, np.asarray(sd)[..., None], shape), axis=-1)
