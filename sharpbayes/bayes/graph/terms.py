"""Terms of a model as PyMC variables, parametrised so that a first fit samples well.

The model file declares the plain density

    effect_t ~ Normal(0, sd_t),  eta = sum_t x_t effect_t,  P(y <= k) = F(a (c_k - eta)),

where x_t is the scaled number of a slope, and 1 for a location.

Three changes of variables leave that density as it is (each has a Jacobian of 1, or one that the
prior cancels) and make it well conditioned:

- the mean of each mean group, which the ratings cannot separate from the cutpoints (or from a
  finer term that holds it), is a coordinate of its own by an orthogonal reflection; the cutpoints
  are sampled less those means;
- a term that is nested in a finer, well-informed term is the centre of its effects;
- effects are sampled divided by sd_t^w, with w = 0 where ratings say much of each effect and 1
  where they say little (Papaspiliopoulos, Roberts and Skold 2007);
- of two terms whose effects most ratings show in a sum, the sum is sampled, and what one of them
  has of it; so are means that one term holds for others (:mod:`..design.held_means`), outside of
  this graph.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.graph.priors import add_correlation, add_sd, add_sds_of_sum
from sharpbayes.bayes.graph.transforms import MeanFirst
from sharpbayes.spec.model import StudentT

Tensor = Any


class GraphTerm(NamedTuple):
    """A term's flat effects with their centres, less the means of their groups; means and sd."""

    effects: Tensor
    means: Tensor
    sd: Tensor


def take_effects(effects: Tensor, index: Index) -> Tensor:
    """Return the effects at an index, 0 where it is -1."""
    if (index >= 0).all():
        return effects[index]
    return pt.concatenate([effects, np.zeros(1)])[index]


def take_severities(effects: Tensor, term: Term) -> Tensor:
    """Return what a term adds to the severity of each rating: its effect, or number x slope."""
    severities = take_effects(effects, term.index)
    return severities if term.covariate is None else severities * term.covariate


def add_terms(design: Design) -> dict[str, GraphTerm]:
    """Add every term to the model in context, each after its parents."""
    terms: dict[str, GraphTerm] = {}
    for term in (term for term in design.parents_first if not term.sum_term):
        centres = []
        for parent in design.parents(term):
            effects, means, _ = terms[parent.term.name]
            centres.append(take_effects(means if parent.by_mean else effects, parent.position))
        centre = sum(centres) if centres else None
        if of_sum := design.sum_of(term):
            terms |= _add_sum(*of_sum, centre)
            continue
        sd_dim = term.dims[-1] if term.n_sds > 1 else None
        sd = add_sd(f"sd_{term.stem}", term.prior.sd, dim=sd_dim)
        effects = STRUCTURES[term.structure](term, sd, centre)
        terms[term.name] = _split_means(term, effects.ravel(), sd)
    return {term.name: terms[term.name] for term in design.parents_first}


def _add_sum(term: Term, part: Term, centre: Tensor | None) -> dict[str, GraphTerm]:
    """Add the sum y of the effects of two terms about its centre, and what the part has of it.

    With sds s and r, y ~ N(centre, total), total^2 = s^2 + r^2, and the part given y is normal with
    mean (r / total)^2 (y - centre) and sd s r / total.
    """
    sd, sd_of_part = add_sds_of_sum((term, part))
    total = pt.sqrt(sd**2 + sd_of_part**2)
    mean = 0.0 if centre is None else centre.reshape(term.shape)
    transform = MeanFirst(term.mean_group, term.powers.reshape(term.shape))
    sums = pm.Normal(f"{term.name}_offset", mean, total, dims=term.dims, transform=transform)
    transform = MeanFirst(part.mean_group)
    unit = pm.Normal(f"{part.name}_unit", 0.0, 1.0, dims=part.dims, transform=transform)
    deviations = (sums - mean).reshape(part.shape)
    effects = (sd_of_part / total) ** 2 * deviations + sd * sd_of_part / total * unit
    pm.Deterministic(part.name, effects, dims=part.dims)
    pm.Deterministic(term.name, (deviations - effects).reshape(term.shape), dims=term.dims)
    by_sum = _split_means(term, sums.ravel(), sd)
    return {
        term.name: by_sum._replace(effects=by_sum.effects - effects.ravel()),
        part.name: _split_means(part, effects.ravel(), sd_of_part),
    }


def _split_means(term: Term, effects: Tensor, sd: Tensor) -> GraphTerm:
    """Split the mean of each group from the effects."""
    inside = term.mean_group >= 0
    size = np.bincount(term.mean_group[inside], minlength=term.n_mean_groups)
    if not size.size:
        return GraphTerm(effects, pt.zeros(0), sd)
    zeros = pt.zeros(term.n_mean_groups)
    sums = pt.inc_subtensor(zeros[term.mean_group[inside]], effects[inside])
    means = sums / np.maximum(size, 1)
    return GraphTerm(effects - take_effects(means, term.mean_group), means, sd)


def _coordinate_name(term: Term) -> str:
    """Name of a term's variable before its exponential, if it has one."""
    return f"{term.name}_log" if term.on_log_scale else term.name


def _add_independent(term: Term, sd: Tensor, centre: Tensor | None) -> Tensor:
    """Add independent effects about their centre, by the prior of the term."""
    name, mean = _coordinate_name(term), 0.0
    if centre is not None:
        name, mean = f"{name}_offset", centre.reshape(term.shape)
    transform = MeanFirst(term.mean_group, term.powers.reshape(term.shape))
    if isinstance(term.prior, StudentT):
        value = pm.StudentT(
            name, nu=term.prior.df, mu=mean, sigma=sd, dims=term.dims, transform=transform
        )
    else:
        value = pm.Normal(name, mean, sd, dims=term.dims, transform=transform)
    if centre is not None:
        pm.Deterministic(term.name, value - mean, dims=term.dims)
    return value


def _add_zero_sum(term: Term, sd: Tensor, _centre: Tensor | None) -> Tensor:
    """Add effects that add up to 0 along every dimension."""
    name, axes = _coordinate_name(term), len(term.dims)
    if term.centred:
        return pm.ZeroSumNormal(name, sigma=sd, n_zerosum_axes=axes, dims=term.dims)
    unit = pm.ZeroSumNormal(f"{term.name}_unit", sigma=1.0, n_zerosum_axes=axes, dims=term.dims)
    return pm.Deterministic(name, unit * sd, dims=term.dims)


def _add_correlated(term: Term, sd: Tensor, centre: Tensor | None) -> Tensor:
    """Add effects with an sd each over the last dimension, correlated over it."""
    levels, dim = term.shape[-1], term.dims[-1]
    factor = add_correlation(f"correlation_{term.stem}", term.lkj_eta, levels, dim)
    transform, rows = MeanFirst(term.mean_group), term.size // levels
    if not term.centred:
        unit = pm.Normal(f"{term.name}_unit", 0.0, 1.0, dims=term.dims, transform=transform)
        effects = (unit.reshape((rows, levels)) @ factor.T) * sd
        return pm.Deterministic(term.name, effects.reshape(term.shape), dims=term.dims)
    mean = pt.zeros(term.shape) if centre is None else centre.reshape(term.shape)
    axes = ",".join([*(f"a{axis}" for axis in range(len(term.dims) - 1)), "d"])
    value = pm.CustomDist(
        f"{term.name}_offset",
        mean,
        factor * sd[:, None],
        logp=_rows_logp,
        random=_draw_rows,
        signature=f"({axes}),(d,d)->({axes})",
        dims=term.dims,
        transform=transform,
    )
    pm.Deterministic(term.name, value - mean, dims=term.dims)
    return value


def _rows_logp(value: Tensor, centre: Tensor, factor: Tensor) -> Tensor:
    """Log density of rows that are normal about their centre with this Cholesky factor."""
    levels = value.shape[-1]
    rows = (value - centre).reshape((-1, levels))
    unit = pt.linalg.solve_triangular(factor, rows.T, lower=True)
    scale = pt.log(pt.diagonal(factor)).sum() + 0.5 * levels * np.log(2.0 * np.pi)
    return -0.5 * (unit**2).sum() - rows.shape[0] * scale


def _draw_rows(
    centre: np.ndarray, factor: np.ndarray, rng: np.random.Generator, size: Any
) -> np.ndarray:
    """Draw rows about their centre."""
    shape = centre.shape if size is None else (*size, *centre.shape)
    return centre + rng.normal(size=shape) @ np.asarray(factor).T


# Adds the effects of a term, given their sd and centre, and returns effects plus centre.
STRUCTURES: dict[str, Callable[[Term, Tensor, Tensor | None], Tensor]] = {
    "independent": _add_independent,
    "zero_sum": _add_zero_sum,
    "correlated": _add_correlated,
}
