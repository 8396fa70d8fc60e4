"""Model spec + ratings -> ``pm.Model``; reads like the equation."""

import pymc as pm

from sharpbayes.bayes.design import Design
from sharpbayes.bayes.likelihoods import cumulative
from sharpbayes.bayes.priors import ordered_thresholds
from sharpbayes.bayes.terms import latent, place


def build(design: Design) -> pm.Model:
    """Return the PyMC model of a design, its dimensions labelled as in the study.

    eta_n = sum_t effect_t[n];  P(level_n <= k) = logistic(c_k - eta_n)

    Variables: ``location_<term>`` and ``sd_<term>`` for each term, ``threshold_<scale>`` for each
    scale and the observed ``level_<scale>``. Names that end in ``_unit`` or ``_placed`` are
    coordinates of the sampler (see :mod:`sharpbayes.bayes.terms`).
    """
    coords = {name: list(labels) for name, labels in design.coords.items()}
    with pm.Model(coords=coords) as model:
        placed = place(design)
        for position, scale in enumerate(design.scales):
            eta, shift = latent(placed, scale, position)
            name = f"threshold_{scale.name}"
            cuts = ordered_thresholds(
                f"{name}_placed",
                design.thresholds,
                shift=shift,
                dim=scale.cut_dim,
                size=len(scale.cut_labels),
            )
            pm.Deterministic(name, cuts + shift, dims=scale.cut_dim)
            model.add_coord(rating_dim(scale.name), length=len(scale.rows))
            cumulative(
                f"level_{scale.name}",
                eta=eta,
                thresholds=cuts,
                level=scale.level,
                dim=rating_dim(scale.name),
            )
    return model


def rating_dim(scale: str) -> str:
    """Return the dimension of the ratings on one scale.

    >>> rating_dim("severity")
    'severity_rating'
    """
    return f"{scale}_rating"


def public_names(model: pm.Model) -> list[str]:
    """Return the variables that mean something to a reader, sampler coordinates left out."""
    names = [rv.name for rv in [*model.free_RVs, *model.deterministics]]
    return [name for name in names if not name.endswith(("_unit", "_placed"))]
