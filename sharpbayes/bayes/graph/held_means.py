"""Means that one term holds for others in PyMC's graph; ``design.held_means`` has the algebra.

PyMC's variables are the terms themselves. What is sampled in place of their means takes the place
of their coordinates in the density, with the volume of the change.
"""

from collections.abc import Mapping
from typing import Any

import pytensor.tensor as pt

from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.design.held_means import find_held_means
from sharpbayes.bayes.graph.transforms import MeanFirst
from sharpbayes.bayes.kernel.layout import coordinate_names

Tensor = Any


def hold_means(design: Design, sampled: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
    """Return the coordinates that differ from those that are sampled, and the log volume.

    Both are by the names of coordinates.
    """
    if (held := find_held_means(design)) is None:
        return {}, pt.zeros(())
    holder, name = held.holder, coordinate_names(design, held.holder)[2]
    sd, weight, first = _sd(design, holder, sampled), holder.non_centring, list(held.first)
    sds = [_sd(design, mean.term, sampled, mean.level) for mean in held.means]
    factors = [m.effects**0.5 / s**m.power for m, s in zip(held.means, sds, strict=True)]
    variance = pt.stack([s**2 / m.effects for m, s in zip(held.means, sds, strict=True)])
    others = sd**2 * (held.average**2).sum(axis=1) + pt.dot(held.later, variance)
    of_sum = pt.sqrt(sd**2 + pt.dot(held.of_sum, variance)) / sd**weight
    share = variance / (variance + others)
    spread = pt.sqrt(share * others)
    values = sampled[name].ravel()
    values = pt.set_subtensor(values[first], values[first] * of_sum)
    changed = {name: values.reshape(holder.shape)}
    sums = pt.dot(held.average, MeanFirst(holder.mean_group).reflect(values * sd**weight))
    volume = pt.log(of_sum).sum() + pt.log(spread).sum()
    means: list[Tensor] = []
    for row, mean in enumerate(held.means):
        name = coordinate_names(design, mean.term)[2]
        earlier = sum(held.earlier[row, k] * value for k, value in enumerate(means))
        unit = sampled[name].ravel()[mean.first]
        means.append(share[row] * (sums[row] - earlier) + spread[row] * unit)
        coordinates: Tensor = changed.get(name, sampled[name])
        flat = pt.set_subtensor(coordinates.ravel()[mean.first], means[row] * factors[row])
        changed[name] = flat.reshape(mean.term.shape)
        volume += pt.log(factors[row])
    return changed, volume


def _sd(design: Design, term: Term, sampled: Mapping[str, Tensor], level: int = 0) -> Tensor:
    """Return the sd of a term's effects (of a level), that of the sum where a sum is sampled."""
    if isinstance(term.prior.sd, float):
        return pt.constant(term.prior.sd)
    return pt.exp(sampled[coordinate_names(design, term)[0]].ravel()[level])
