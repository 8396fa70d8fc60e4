"""Location terms as PyMC variables, parametrised so that a first fit samples well.

Nothing here changes the posterior. The density of the model file is the plain one,

    effect_t ~ Normal(0, sd_t),  eta = sum_t effect_t,  P(level <= k) = logistic(c_k - eta),

and three changes of variables with a Jacobian of 1 (or cancelled by the prior) make it well
conditioned:

- the mean of each term's effects, which the ratings cannot tell from the thresholds, is a
  coordinate of its own (an orthogonal reflection), and thresholds are sampled less those means;
- a term that is nested in a finer, well-informed term is the centre of its effects;
- a term with few ratings an effect is sampled as sd_t times standard normals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from sharpbayes.bayes.design import Design, Index, ScaleBlock, Term, parent_of
from sharpbayes.bayes.priors import effect_sd

Tensor = Any


class MeanFirst(Transform):
    """Reflection that turns each block of n values into sqrt(n) times its mean and n - 1 others."""

    name = "mean_first"

    def __init__(self, blocks: Sequence[Index]) -> None:
        """Take the positions of each block; those with one value stay as they are."""
        self.blocks = [block for block in blocks if len(block) > 1]

    def forward(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Reflect every block of the flattened values."""
        flat = value.ravel()
        for block in self.blocks:
            flat = pt.set_subtensor(flat[block], _reflect(flat[block], len(block)))
        return flat.reshape(value.shape)

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Reflect back: a reflection is its own inverse."""
        return self.forward(value, *inputs)

    def log_jac_det(self, value: Tensor, *_inputs: Tensor) -> Tensor:
        """Return 0: a reflection keeps volumes."""
        return pt.zeros_like(value.ravel()[0])


def _reflect(values: Tensor, n: int) -> Tensor:
    """Householder reflection between the unit vector along the mean and the first axis."""
    first = values.sum() / np.sqrt(n)
    return pt.concatenate([first[None], values[1:] - (first - values[0]) / (np.sqrt(n) - 1.0)])


@dataclass(frozen=True)
class Placed:
    """A term in the graph.

    Attributes:
        term: Its place in the design.
        value: Its effects, flat, plus those of the terms that it absorbed less their means.
    """

    term: Term
    value: Tensor

    def mean(self, position: int) -> Tensor:
        """Mean of the effects whose mean the thresholds of a scale hold."""
        if self.term.absorbed_by is not None:
            return self.value.mean()
        return self.value[self.term.block_of_scale(position)].mean()


def place(design: Design) -> list[Placed]:
    """Add every term to the model in context, coarser terms before those that absorb them."""
    placed: dict[str, Placed] = {}
    for term in sorted(design.terms, key=lambda term: term.size):
        inside = [other for other in placed.values() if other.term.absorbed_by == term.name]
        placed[term.name] = Placed(term, _effects(term, inside).ravel())
    return list(placed.values())


def latent(placed: list[Placed], scale: ScaleBlock, position: int) -> tuple[Tensor, Tensor]:
    """Return the latent severity of a scale's ratings less a sum of means, and that sum."""
    shift = sum(each.mean(position) for each in placed)
    eta = sum(
        (each.value - each.mean(position))[each.term.index[scale.rows]]
        for each in placed
        if each.term.absorbed_by is None
    )
    return eta, shift


def _effects(term: Term, inside: list[Placed]) -> Tensor:
    """Add one term: effects ``location_<term>`` and, where it varies, ``sd_<term>``."""
    name = f"location_{term.name}"
    sd = effect_sd(term.name, term.prior)
    mean_first = MeanFirst(term.blocks)
    if not term.centred:
        unit = pm.Normal(f"{name}_unit", 0.0, 1.0, dims=term.dims, transform=mean_first)
        return pm.Deterministic(name, unit * sd, dims=term.dims)
    if not inside:
        return pm.Normal(name, 0.0, sd, dims=term.dims, transform=mean_first)
    centre = sum(_spread(term, each) for each in inside)
    value = pm.Normal(f"{name}_placed", centre, sd, dims=term.dims, transform=mean_first)
    pm.Deterministic(name, value - centre, dims=term.dims)
    return value


def _spread(term: Term, coarse: Placed) -> Tensor:
    """Give each effect of ``term`` the centred value of the coarser term that holds it."""
    parent = parent_of(term, coarse.term)
    if parent is None:
        raise ValueError(f"{coarse.term.name} is not nested in {term.name}")
    return (coarse.value - coarse.value.mean())[parent].reshape(term.shape)
