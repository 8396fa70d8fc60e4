"""Priors of sds, correlations and cutpoints as PyMC variables.

Cutpoints are sampled less the means that they absorb (see :mod:`sharpbayes.bayes.graph.terms`):
with shift m, mean gap effects g and reference cutpoint r, the variable of the sampler is s, where

    s_r = c_r - m,   s_{k+1} - s_k = (c_{k+1} - c_k) exp(g_k)   if cutpoints are ordered,
                     s_{k+1} - s_k = c_{k+1} - c_k + g_k        if not.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.logprob.transforms import Transform

from sharpbayes.bayes.design.design import ScaleRatings, Term
from sharpbayes.bayes.graph.transforms import TotalRatio
from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT, Scale, ThresholdPrior

Tensor = Any
Floats = NDArray[np.float64]

SD_PRIORS: dict[type, Callable[[Any], tuple[Any, dict[str, float]]]] = {
    HalfNormal: lambda prior: (pm.HalfNormal, {"sigma": prior.scale}),
    Exponential: lambda prior: (pm.Exponential, {"scale": prior.mean}),
    HalfStudentT: lambda prior: (pm.HalfStudentT, {"nu": prior.df, "sigma": prior.scale}),
}


def add_sd(name: str, prior: float | Scale, *, dim: str | None) -> Tensor:
    """Return the sd of a term's effects: a number, or a variable with a prior of its own."""
    if isinstance(prior, float):
        return prior
    distribution, parameters = SD_PRIORS[type(prior)](prior)
    return distribution(name, **parameters, dims=dim)


def add_sds_of_sum(terms: tuple[Term, Term]) -> tuple[Tensor, Tensor]:
    """Return the sds of two terms that are sampled by their sum, each with its own prior."""
    laws = [SD_PRIORS[type(term.prior.sd)](term.prior.sd) for term in terms]
    sds = pm.CustomDist(
        f"sd_{terms[0].stem}_sum_offset",
        dist=lambda _size: pt.stack([law.dist(**parameters) for law, parameters in laws]),
        transform=TotalRatio(),
    )
    one, other = (pm.Deterministic(f"sd_{term.stem}", sds[n]) for n, term in enumerate(terms))
    return one, other


def add_correlation(name: str, eta: float, levels: int, dim: str) -> Tensor:
    r"""Return the Cholesky factor of a correlation matrix with an LKJ(eta) prior.

    Partial correlations are independent, 2 Beta(b, b) - 1 with b = eta + (D - 2 - column) / 2
    (Lewandowski, Kurowicka and Joe 2009). The matrix itself is the variable ``name``.
    """
    row, column = np.tril_indices(levels, -1)
    shape = eta + (levels - 2.0 - column) / 2.0
    partials = 2.0 * pm.Beta(f"{name}_unit", shape, shape, shape=len(row)) - 1.0
    factor = _cholesky_factor(partials, levels)
    pm.Deterministic(name, factor @ factor.T, dims=(dim, f"{dim}_other"))
    return factor


def _cholesky_factor(partials: Tensor, levels: int) -> Tensor:
    """Lower Cholesky factor with these partial correlations, row after row."""
    rows, position = [], 0
    for size in range(levels):
        remainder, entries = pt.as_tensor(np.float64(1.0)), []
        for _ in range(size):
            entries.append(partials[position] * pt.sqrt(remainder))
            remainder *= 1.0 - partials[position] ** 2
            position += 1
        zeros = [pt.as_tensor(np.float64(0.0))] * (levels - size - 1)
        rows.append(pt.stack([*entries, pt.sqrt(remainder), *zeros]))
    return pt.stack(rows)


class LogGaps(Transform):
    """Ordered values as one of them and the logarithms of the gaps between them."""

    name = "log_gaps"

    def __init__(self, position: int) -> None:
        """Take the position of the value that is kept."""
        self.position = position

    def forward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return one value and the log gaps."""
        return pt.concatenate([value[self.position][None], pt.log(pt.diff(value))])

    def backward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the ordered values."""
        return from_gaps(value[0], pt.exp(value[1:]), self.position)

    def log_jac_det(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the sum of the log gaps."""
        return value[1:].sum()


def from_gaps(value: Tensor, gaps: Tensor, position: int) -> Tensor:
    """Return values from the gaps between them (last axis) and the one at a position."""
    first = pt.zeros((*gaps.shape[:-1], 1))
    steps = pt.concatenate([first, pt.cumsum(gaps, axis=-1)], axis=-1)
    return value + steps - steps[..., position, None]


def add_cutpoints(
    scale: ScaleRatings, prior: ThresholdPrior, shift: Tensor, gap_means: Tensor, *, ordered: bool
) -> Tensor:
    r"""Return the sampled cutpoints s of a scale.

    Unordered: c_k ~ N(mean, sd) independently. Ordered: the distribution of sorted independent
    normals, p(c) = (K-1)! prod_k N(c_k | mean, sd) for c_1 < ... < c_{K-1}.
    """
    size, reference = scale.n_cutpoints, scale.reference_cutpoint
    name = f"threshold_{scale.name}_offset"
    if not ordered:
        below = (np.arange(size)[:, None] > np.arange(size - 1)).astype(float)
        moves = pt.dot(below, gap_means) if size > 1 else pt.zeros(1)
        centre = np.float64(prior.mean) - shift + moves - moves[reference]
        return pm.Normal(name, centre, np.float64(prior.sd), dims=scale.cutpoint_dim)
    return pm.CustomDist(
        name,
        np.float64(prior.mean),
        np.float64(prior.sd),
        shift,
        gap_means,
        np.zeros(size),
        logp=partial(_ordered_logp, reference),
        random=partial(_draw_ordered, reference),
        signature="(),(),(),(g),(n)->(n)",
        dims=scale.cutpoint_dim,
        transform=LogGaps(scale.median_cutpoint),
        initval=np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1),
    )


def restore_cutpoints(
    sampled: Tensor, shift: Tensor, gap_means: Tensor, reference: int, *, ordered: bool
) -> Tensor:
    """Return the cutpoints c that the sampled ones stand for."""
    gaps = pt.diff(sampled) * pt.exp(-gap_means) if ordered else pt.diff(sampled) - gap_means
    return from_gaps(sampled[reference] + shift, gaps, reference)


def _ordered_logp(reference: int, value: Tensor, *inputs: Tensor) -> Tensor:
    """Log density of sorted independent normals less the means that they absorb."""
    mean, sd, shift, gap_means, _ = inputs
    cutpoints = restore_cutpoints(value, shift, gap_means, reference, ordered=True)
    independent = pm.logp(pm.Normal.dist(mean, sd), cutpoints).sum()
    return independent + pt.gammaln(value.shape[-1] + 1) - gap_means.sum()


def _draw_ordered(
    reference: int, *inputs: Floats, rng: np.random.Generator, size: tuple[int, ...] | None
) -> Floats:
    """Sort independent normals and take from them the means that they absorb."""
    mean, sd, shift, gap_means, like = inputs
    shape = (*(np.shape(mean) if size is None else size), like.shape[-1])
    cutpoints = np.sort(rng.normal(mean[..., None], sd[..., None], shape), axis=-1)
    gaps = np.diff(cutpoints, axis=-1) * np.exp(gap_means)
    steps = np.insert(np.cumsum(gaps, axis=-1), 0, 0.0, axis=-1)
    middle = cutpoints[..., reference] - shift
    return middle[..., None] + steps - steps[..., reference, None]
