"""Terms of a model as PyMC variables, parametrised so that a first fit samples well.

Nothing here changes the posterior. The density of the model file is the plain one,

    effect_t ~ Normal(0, sd_t),  eta = sum_t effect_t,  P(level <= k) = F(a (c_k - eta)),

and three changes of variables with a Jacobian of 1 (or cancelled by the prior) make it well
conditioned:

- the mean of each block of a term's effects, which the ratings cannot tell from the thresholds
  (or from a finer term that holds it), is a coordinate of its own (an orthogonal reflection), and
  what holds it is sampled less those means;
- a term that is nested in a finer, well-informed term is the centre of its effects;
- effects are sampled divided by sd_t to a power, 0 where ratings say much of each, 1 where they
  say little (Papaspiliopoulos, Roberts and Skold 2007).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.graph.priors import cholesky_correlation, scale_prior
from sharpbayes.spec.model import StudentT

Tensor = Any


class MeanFirst(Transform):
    """Reflection that turns each block of n values into sqrt(n) times its mean and n - 1 others.

    Values are divided by their sd, the last parameter of their law, to a power.
    """

    name = "mean_first"

    def __init__(self, block: Index, power: float = 0.0) -> None:
        """Take the block of each value, -1 for none; blocks with one value stay as they are."""
        self.power = power
        code, first, where, size = np.unique(
            block, return_index=True, return_inverse=True, return_counts=True
        )
        moved = (code >= 0) & (size > 1)
        self.inside = np.flatnonzero(moved[where])
        self.block = (np.cumsum(moved) - 1)[where[self.inside]]
        self.first, self.size = first[moved], size[moved].astype(float)

    def forward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Divide by the scale, then reflect."""
        return self.reflected(value / self.scale(inputs) if self.power else value)

    def backward(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Reflect back, a reflection being its own inverse, then multiply by the scale."""
        values = self.reflected(value)
        return values * self.scale(inputs) if self.power else values

    def log_jac_det(self, value: Tensor, *inputs: Tensor) -> Tensor:
        """Return the log scale of every value: a reflection keeps volumes."""
        if not self.power:
            return pt.zeros_like(value.ravel()[0])
        return pt.zeros_like(value) + pt.log(self.scale(inputs))

    def scale(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Return the sd to the power."""
        return inputs[-1] ** np.float64(self.power)

    def reflected(self, value: Tensor) -> Tensor:
        """Reflect every block of the flattened values: Householder, mean against first value."""
        if not self.first.size:
            return value
        flat = value.ravel()
        inside = flat[self.inside]
        mean = pt.inc_subtensor(pt.zeros(len(self.size))[self.block], inside) / self.size**0.5
        step = (mean - flat[self.first]) / (self.size**0.5 - 1.0)
        moved = pt.set_subtensor(flat[self.inside], inside - step[self.block])
        return pt.set_subtensor(moved[self.first], mean).reshape(value.shape)


@dataclass(frozen=True)
class Placed:
    """A term in the graph.

    Attributes:
        term: Its place in the design.
        rest: Its effects, flat, plus the centres that they absorbed, less the block means.
        means: Mean of each block.
    """

    term: Term
    rest: Tensor
    means: Tensor

    def at(self, index: Index) -> Tensor:
        """Return the effects at an index, 0 where it is -1."""
        return gathered(self.rest, index)


def gathered(values: Tensor, index: Index) -> Tensor:
    """Return the values at an index, 0 where it is -1."""
    if (index >= 0).all():
        return values[index]
    return pt.concatenate([values, np.zeros(1)])[index]


def place(design: Design) -> dict[str, Placed]:
    """Add every term to the model in context, centres before what is centred at them."""
    placed: dict[str, Placed] = {}
    for term in design.parents_first:
        centres = [
            gathered(placed[other.name].rest if whole else placed[other.name].means, parent)
            for other, whole, parent in design.sources(term)
        ]
        value = _effects(term, sum(centres) if centres else None).ravel()
        placed[term.name] = _split(term, value)
    return placed


def _split(term: Term, value: Tensor) -> Placed:
    """Split the mean of each block from the effects."""
    size = np.bincount(term.mean_group[term.mean_group >= 0], minlength=term.n_mean_groups)
    if not size.size:
        return Placed(term, value, pt.zeros(0))
    inside = term.mean_group >= 0
    sums = pt.inc_subtensor(pt.zeros(term.n_mean_groups)[term.mean_group[inside]], value[inside])
    means = sums / np.maximum(size, 1)
    return Placed(term, value - gathered(means, term.mean_group), means)


def _effects(term: Term, centre: Tensor | None) -> Tensor:
    """Add one term: its effects under its name and, where it varies, ``sd_<term>``."""
    sd = scale_prior(
        f"sd_{term.stem}", term.prior.sd, dim=term.dims[-1] if term.n_sds > 1 else None
    )
    if term.zero_sum:
        return _zero_sum(term, sd)
    if term.correlation:
        return _correlated(term, sd, centre)
    transform, name = MeanFirst(term.mean_group, term.non_centring), f"{term.name}{term.log_suffix}"
    if centre is None:
        return _normal(term, name, 0.0, sd, transform)
    centre = centre.reshape(term.shape)
    value = _normal(term, f"{name}_placed", centre, sd, transform)
    pm.Deterministic(name, value - centre, dims=term.dims)
    return value


def _normal(term: Term, name: str, centre: Tensor, sd: Tensor, transform: Transform) -> Tensor:
    """Add independent effects about their centre, by the prior of the term."""
    if isinstance(term.prior, StudentT):
        return pm.StudentT(
            name, nu=term.prior.df, mu=centre, sigma=sd, dims=term.dims, transform=transform
        )
    return pm.Normal(name, centre, sd, dims=term.dims, transform=transform)


def _zero_sum(term: Term, sd: Tensor) -> Tensor:
    """Add effects that add up to 0 along every dimension."""
    name, axes = f"{term.name}{term.log_suffix}", len(term.dims)
    if term.centred:
        return pm.ZeroSumNormal(name, sigma=sd, n_zerosum_axes=axes, dims=term.dims)
    unit = pm.ZeroSumNormal(f"{term.name}_unit", sigma=1.0, n_zerosum_axes=axes, dims=term.dims)
    return pm.Deterministic(name, unit * sd, dims=term.dims)


def _correlated(term: Term, sd: Tensor, centre: Tensor | None) -> Tensor:
    """Add effects with an sd each over the last dimension, correlated over it."""
    levels, dim = term.shape[-1], term.dims[-1]
    factor = cholesky_correlation(f"correlation_{term.stem}", term.correlation, levels, dim)
    transform, rows = MeanFirst(term.mean_group), term.size // levels
    if not term.centred:
        unit = pm.Normal(f"{term.name}_unit", 0.0, 1.0, dims=term.dims, transform=transform)
        effects = (unit.reshape((rows, levels)) @ factor.T) * sd
        return pm.Deterministic(term.name, effects.reshape(term.shape), dims=term.dims)
    about = pt.zeros(term.shape) if centre is None else centre.reshape(term.shape)
    value = pm.CustomDist(
        f"{term.name}_placed",
        about,
        factor * sd[:, None],
        logp=_rows_logp,
        random=_rows_random,
        signature=f"({_axes(term)}),(d,d)->({_axes(term)})",
        dims=term.dims,
        transform=transform,
    )
    pm.Deterministic(term.name, value - about, dims=term.dims)
    return value


def _axes(term: Term) -> str:
    """Names of the axes of a term, for a signature; the last is ``d``."""
    return ",".join([*(f"a{axis}" for axis in range(len(term.dims) - 1)), "d"])


def _rows_logp(value: Tensor, centre: Tensor, factor: Tensor) -> Tensor:
    """Log density of rows that are normal about their centre with this Cholesky factor."""
    levels = value.shape[-1]
    rows = (value - centre).reshape((-1, levels))
    unit = pt.linalg.solve_triangular(factor, rows.T, lower=True)
    scale = pt.log(pt.diagonal(factor)).sum() + 0.5 * levels * np.log(2.0 * np.pi)
    return -0.5 * (unit**2).sum() - rows.shape[0] * scale


def _rows_random(
    centre: np.ndarray, factor: np.ndarray, rng: np.random.Generator, size: Any
) -> np.ndarray:
    """Draw rows about their centre."""
    shape = centre.shape if size is None else (*size, *centre.shape)
    return centre + rng.normal(size=shape) @ np.asarray(factor).T
