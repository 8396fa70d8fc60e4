"""Means that one term holds for others in PyMC's graph; ``design.held_means`` has the algebra.

PyMC's variables are the terms themselves. What is sampled in place of their means takes the place
of their coordinates in the density, with the volume of the change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace

from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.design.held_means import find_held_means
from sharpbayes.bayes.graph.transforms import MeanFirst
from sharpbayes.bayes.kernel.layout import coordinate_names

Tensor = Any


def put_sampled(
    design: Design, coordinates: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[list[Tensor], Tensor]:
    """Return outputs of the graph by the coordinates that are sampled, and the log volume."""
    sampled = {variable.name: variable for variable in coordinates}
    changed, volume = hold_means(design, sampled)
    replaced = {sampled[name]: value for name, value in changed.items()}
    return graph_replace(list(outputs), replaced, strict=False), volume


def hold_means(design: Design, sampled: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
    """Return the coordinates that differ from those that are sampled, and the log volume.

    Both are by the names of coordinates.
    """
    if (by_sum := find_held_means(design)) is None:
        return {}, pt.zeros(())
    holder, name = by_sum.holder, coordinate_names(design, by_sum.holder)[2]
    sd, weight, first = _sd(design, holder, sampled), holder.non_centring, list(by_sum.first)
    sds = [_sd(design, mean.term, sampled, mean.level) for mean in by_sum.means]
    factors = [m.effects**0.5 / s**m.power for m, s in zip(by_sum.means, sds, strict=True)]
    variance = pt.stack([s**2 / m.effects for m, s in zip(by_sum.means, sds, strict=True)])
    others = sd**2 * (by_sum.average**2).sum(axis=1) + pt.dot(by_sum.later, variance)
    of_sum = pt.sqrt(sd**2 + pt.dot(by_sum.of_sum, variance)) / sd**weight
    share = variance / (variance + others)
    spread = pt.sqrt(share * others)
    values = sampled[name].ravel()
    values = pt.set_subtensor(values[first], values[first] * of_sum)
    changed = {name: values.reshape(holder.shape)}
    sums = pt.dot(by_sum.average, MeanFirst(holder.mean_group).reflect(values * sd**weight))
    volume = pt.log(of_sum).sum() + pt.log(spread).sum()
    means: list[Tensor] = []
    for row, mean in enumerate(by_sum.means):
        name = coordinate_names(design, mean.term)[2]
        earlier = sum(by_sum.earlier[row, k] * value for k, value in enumerate(means))
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
