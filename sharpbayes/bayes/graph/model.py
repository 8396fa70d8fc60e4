"""Model spec + ratings -> ``pm.Model``; reads like the equation."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from sharpbayes.bayes.design.crossing import Index, combinations
from sharpbayes.bayes.design.design import Design, ScaleRatings, rating_dim
from sharpbayes.bayes.graph.likelihoods import observed_levels
from sharpbayes.bayes.graph.priors import (
    free_thresholds,
    ordered_thresholds,
    spread,
    unmoved,
    unstretched,
)
from sharpbayes.bayes.graph.terms import Placed, place
from sharpbayes.bayes.kernel.plan import KernelData

Tensor = Any
HIDDEN = ("_unit", "_placed", "_log")


def build(design: Design, *, kernel_data: KernelData | None = None) -> pm.Model:
    """Return the PyMC model of a design, its dimensions labelled as in the study.

    eta_n = sum_t effect_t[n];  P(level_n) from a_n (c_{n,k} - eta_n), by the model's likelihood
    (see :mod:`sharpbayes.bayes.graph.likelihoods`): cumulative is P(level_n <= k) = F(a_n (c_{n,k} -
    eta_n)).

    Variables: ``location_<term>`` and ``sd_<term>`` for each term, ``threshold_<scale>`` for each
    scale, ``gap_<scale>_<column>`` and ``threshold_<scale>_<column>`` where a column has
    thresholds of its own, ``discrimination_<term>``, and the observed ``rating_<scale>``. Names
    that end in ``_unit``, ``_placed`` or ``_log`` are coordinates of the sampler (see
    :mod:`sharpbayes.bayes.graph.terms`).

    Args:
        design: Terms of a model indexed by ratings.
        kernel_data: The same as flat arrays: the likelihood is then the one node ``ratings`` of
            :mod:`sharpbayes.bayes.graph.kernel_op`, equal and quicker, and no level is observed.
    """
    coords = {name: list(labels) for name, labels in design.coords.items()}
    for term in design.terms:
        if term.correlation:
            coords[f"{term.dims[-1]}_other"] = coords[term.dims[-1]]
    with pm.Model(coords=coords) as model:
        placed = place(design)
        factor = _discrimination(design, placed)
        sets = [_thresholds(design, placed, *scale) for scale in enumerate(design.scales)]
        if kernel_data is not None:
            pm.Potential("ratings", _one_node(kernel_data, placed, sets))
            return model
        for scale, found in zip(design.scales, sets, strict=True):
            eta = sum(
                placed[term.name].at(term.index[scale.rows])
                for term in design.terms_of("location")
                if term.child_term is None
            )
            a = factor[scale.rows]
            model.add_coord(rating_dim(scale.name), length=len(scale.rows))
            observed_levels(
                f"rating_{scale.name}",
                likelihood=design.likelihood,
                eta=a * (eta + pt.zeros(len(scale.rows))),
                thresholds=a[:, None] * found.cuts[found.which],
                link=design.link,
                level=scale.category,
                dim=rating_dim(scale.name),
            )
    return model


class Sets(NamedTuple):
    """Sets of thresholds on one scale: cuts, gaps between them, and the set of each rating."""

    cuts: Tensor
    gaps: Tensor
    which: Index


def _one_node(kernel_data: KernelData, placed: dict[str, Placed], sets: list[Sets]) -> Tensor:
    """Log-likelihood of all ratings, from effects and thresholds one after the other."""
    # PyTensor's back end for numba takes a while to import, and the kernel needs none of it.
    from sharpbayes.bayes.graph.kernel_op import ratings_likelihood  # noqa: PLC0415

    effects = [part for each in placed.values() for part in (each.rest, each.means)]
    gaps = [pt.concatenate([each.gaps, pt.ones((each.gaps.shape[0], 1))], axis=1) for each in sets]
    return ratings_likelihood(
        kernel_data,
        pt.concatenate([np.zeros(1), *effects]),
        pt.concatenate([each.cuts.ravel() for each in sets]),
        pt.concatenate([each.ravel() for each in gaps]),
    )


def _discrimination(design: Design, placed: dict[str, Placed]) -> Tensor:
    """Factor of each rating; adds ``discrimination_<term>``."""
    log = pt.zeros(design.n_ratings)
    for term in design.terms_of("discrimination"):
        values = placed[term.name].rest
        pm.Deterministic(term.name, pt.exp(values).reshape(term.shape), dims=term.dims)
        log += placed[term.name].at(term.index)
    return pt.exp(log)


def _thresholds(
    design: Design, placed: dict[str, Placed], position: int, scale: ScaleRatings
) -> Sets:
    """Thresholds on a scale, less the means that they hold; adds the variables."""
    gap_terms = [term for term in design.terms_of("gap") if term.scale == position]
    shift = sum(
        placed[term.name].means[term.swept_mean[position]]
        for term in design.terms_of("location")
        if term.swept_mean[position] >= 0
    ) + pt.zeros(())
    gaps = max(scale.n_cutpoints - 1, 0)
    stretch = sum(placed[term.name].means for term in gap_terms) + pt.zeros(gaps)
    name = f"threshold_{scale.name}"
    prior = ordered_thresholds if design.ordered_cutpoints else free_thresholds
    sampled = prior(f"{name}_placed", design.thresholds, scale, shift=shift, stretch=stretch)
    plain = unstretched if design.ordered_cutpoints else unmoved
    common = plain(sampled, shift, stretch, scale.reference_cutpoint)
    pm.Deterministic(name, common, dims=scale.cutpoint_dim)
    for term in gap_terms:
        _own_thresholds(design, scale, common, term.dims[0])
    nothing = [np.zeros(len(scale.rows), dtype=np.int64)]
    which, levels = combinations([term.index[scale.rows] for term in gap_terms] or nothing)
    stretch = pt.zeros((len(levels), gaps))
    for column, term in enumerate(gap_terms):
        stretch += _rows(placed[term.name].rest, levels[:, column], gaps)
    own = _gaps(design, sampled, stretch)
    return Sets(
        spread(sampled[scale.reference_cutpoint], own, scale.reference_cutpoint), own, which
    )


def _gaps(design: Design, cuts: Tensor, stretch: Tensor) -> Tensor:
    """Gaps between thresholds, stretched; or with the stretch added, where they need not grow."""
    gaps = pt.diff(cuts)
    return pt.exp(pt.log(gaps) + stretch) if design.ordered_cutpoints else gaps + stretch


def _rows(values: Tensor, level: Index, gaps: int) -> Tensor:
    """Stretches of the gaps for some levels; 0 for level -1."""
    rows = pt.concatenate([values.reshape((-1, gaps)), pt.zeros((1, gaps))])
    return rows[level]


def _own_thresholds(design: Design, scale: ScaleRatings, common: Tensor, dim: str) -> None:
    """Add the thresholds of each level of a column, other columns at their mean."""
    model = pm.modelcontext(None)
    stretch = model[f"gap_{scale.name}_{dim}"]
    own = spread(
        common[scale.reference_cutpoint], _gaps(design, common, stretch), scale.reference_cutpoint
    )
    severity = design.location_of(scale, dim)
    if severity is not None:
        name, row = severity
        value = model[name]
        own -= (value if row is None else value[row])[:, None]
    pm.Deterministic(f"threshold_{scale.name}_{dim}", own, dims=(dim, scale.cutpoint_dim))


def public_names(model: pm.Model) -> list[str]:
    """Return the variables that mean something to a reader, sampler coordinates left out."""
    names = [rv.name for rv in [*model.free_RVs, *model.deterministics]]
    return [name for name in names if not name.endswith(HIDDEN)]
