"""Priors of closed kinds, as PyMC variables."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.logprob.transforms import Transform

from sharpbayes.bayes.design.design import ScaleRatings
from sharpbayes.spec.model import LKJ, Exponential, HalfNormal, HalfStudentT, ThresholdPrior

Tensor = Any


def scale_prior(
    name: str, prior: float | HalfNormal | Exponential | HalfStudentT, *, dim: str | None
) -> Tensor:
    """Return the sd of a term's effects: a number, or a variable with a prior of its own."""
    if isinstance(prior, float):
        return prior
    if isinstance(prior, Exponential):
        return pm.Exponential(name, scale=prior.mean, dims=dim)
    if isinstance(prior, HalfStudentT):
        return pm.HalfStudentT(name, nu=prior.df, sigma=prior.scale, dims=dim)
    return pm.HalfNormal(name, sigma=prior.scale, dims=dim)


def cholesky_correlation(name: str, prior: LKJ | None, levels: int, dim: str) -> Tensor:
    r"""Return the Cholesky factor of a correlation matrix with an LKJ(eta) prior.

    Partial correlations are independent, 2 Beta(b, b) - 1 with b = eta + (D - 2 - column) / 2
    (Lewandowski, Kurowicka and Joe 2009). The matrix itself is the variable ``name``.
    """
    row, column = np.tril_indices(levels, -1)
    shape = (prior.eta if prior else 1.0) + (levels - 2.0 - column) / 2.0
    partial = 2.0 * pm.Beta(f"{name}_unit", shape, shape, shape=len(row)) - 1.0
    factor = _factor_of(partial, levels)
    pm.Deterministic(name, factor @ factor.T, dims=(dim, f"{dim}_other"))
    return factor


def _factor_of(partial: Tensor, levels: int) -> Tensor:
    """Lower Cholesky factor with these partial correlations, row after row."""
    rows, position = [], 0
    for size in range(levels):
        left, entries = pt.as_tensor(np.float64(1.0)), []
        for _ in range(size):
            entries.append(partial[position] * pt.sqrt(left))
            left *= 1.0 - partial[position] ** 2
            position += 1
        zeros = [pt.as_tensor(np.float64(0.0))] * (levels - size - 1)
        rows.append(pt.stack([*entries, pt.sqrt(left), *zeros]))
    return pt.stack(rows)


class Anchored(Transform):
    """Growing values as one of them, the anchor, and the logarithms of the gaps between them."""

    name = "anchored"

    def __init__(self, anchor: int) -> None:
        """Take the position of the anchor."""
        self.anchor = anchor

    def forward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the anchor and the log gaps."""
        return pt.concatenate([value[self.anchor][None], pt.log(pt.diff(value))])

    def backward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the growing values."""
        return spread(value[0], pt.exp(value[1:]), self.anchor)

    def log_jac_det(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return the sum of the log gaps."""
        return value[1:].sum()


def spread(anchor: Tensor, gaps: Tensor, position: int) -> Tensor:
    """Return values from the gaps between them (last axis) and the one at a position."""
    first = pt.zeros((*gaps.shape[:-1], 1))
    steps = pt.concatenate([first, pt.cumsum(gaps, axis=-1)], axis=-1)
    return anchor + steps - steps[..., position, None]


def free_thresholds(
    name: str, prior: ThresholdPrior, scale: ScaleRatings, *, shift: Tensor, stretch: Tensor
) -> Tensor:
    r"""Return thresholds in any order, c_k ~ N(mean, sd) independently.

    What is returned, and sampled, is c moved by -shift and with ``stretch`` added to its gaps,
    about the middle threshold.
    """
    size = scale.n_cutpoints
    below = (np.arange(size)[:, None] > np.arange(size - 1)).astype(float)
    moves = pt.dot(below, stretch) if size > 1 else pt.zeros(1)
    centre = np.float64(prior.mean) - shift + moves - moves[scale.reference_cutpoint]
    return pm.Normal(name, centre, np.float64(prior.sd), dims=scale.cutpoint_dim)


def unmoved(cuts: Tensor, shift: Tensor, stretch: Tensor, pivot: int) -> Tensor:
    """Return the thresholds c of :func:`free_thresholds` of what is sampled in their place."""
    return spread(cuts[pivot] + shift, pt.diff(cuts) - stretch, pivot)


def ordered_thresholds(
    name: str, prior: ThresholdPrior, scale: ScaleRatings, *, shift: Tensor, stretch: Tensor
) -> Tensor:
    r"""Return growing thresholds whose independent normal prior is restricted to that order.

    p(c) = (K-1)! prod_k N(c_k | mean, sd) for c_1 < ... < c_{K-1}: the law of sorted independent
    normals. What is returned, and sampled, is c moved by -shift and with its gaps stretched by
    exp(stretch) about the middle threshold.
    """
    size = scale.n_cutpoints
    return pm.CustomDist(
        name,
        np.float64(prior.mean),
        np.float64(prior.sd),
        shift,
        stretch,
        np.zeros(size),
        logp=_ordered_logp(scale.reference_cutpoint),
        random=_ordered_random(scale.reference_cutpoint),
        signature="(),(),(),(g),(n)->(n)",
        dims=scale.cutpoint_dim,
        transform=Anchored(scale.median_cutpoint),
        initval=np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1),
    )


def unstretched(cuts: Tensor, shift: Tensor, stretch: Tensor, pivot: int) -> Tensor:
    """Return the thresholds c of what is sampled in their place."""
    gaps = pt.diff(cuts) * pt.exp(-stretch)
    return spread(cuts[pivot] + shift, gaps, pivot)


def _ordered_logp(pivot: int) -> Any:
    """Log density of sorted independent normals, moved and stretched."""

    def logp(
        value: Tensor, mean: Tensor, sd: Tensor, shift: Tensor, stretch: Tensor, _: Tensor
    ) -> Tensor:
        cuts = unstretched(value, shift, stretch, pivot)
        independent = pm.logp(pm.Normal.dist(mean, sd), cuts).sum()
        return independent + pt.gammaln(value.shape[-1] + 1) - stretch.sum()

    return logp


def _ordered_random(pivot: int) -> Any:
    """Draw independent normals, sort them, move and stretch them."""

    def random(  # noqa: PLR0917 - PyMC passes parameters by position
        mean: NDArray[np.float64],
        sd: NDArray[np.float64],
        shift: NDArray[np.float64],
        stretch: NDArray[np.float64],
        like: NDArray[np.float64],
        rng: np.random.Generator,
        size: tuple[int, ...] | None,
    ) -> NDArray[np.float64]:
        shape = (*(np.shape(mean) if size is None else size), like.shape[-1])
        cuts = np.sort(rng.normal(mean[..., None], sd[..., None], shape), axis=-1)
        gaps = np.diff(cuts, axis=-1) * np.exp(stretch)
        steps = np.insert(np.cumsum(gaps, axis=-1), 0, 0.0, axis=-1)
        middle = cuts[..., pivot] - shift
        return middle[..., None] + steps - steps[..., pivot, None]

    return random
