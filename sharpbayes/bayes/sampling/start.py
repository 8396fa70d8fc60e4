"""Where chains of a model with careless raters start, and the reference of their effects.

Far from the posterior every rater looks careless: the effects of items explain no score yet, and a
distribution of each rater's own does. A chain from there never learns the effects of items.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from sharpbayes.bayes.design.careless import RATER, Reference, count_scores
from sharpbayes.bayes.design.design import Design, Floats, Term
from sharpbayes.bayes.kernel.layout import (
    ParameterLayout,
    initial_point,
    parameter_layout,
    threshold_name,
)
from sharpbayes.bayes.kernel.machine_code import kernel_density, stored_values
from sharpbayes.spec.model import Normal

# Sds stay where they are: the density of effects and their sd together has no maximum.
START_SD = 1.0
STEPS = 200
# The reference is wider than the effects under the ordinal model by this factor.
WIDER = 1.5
PROBIT_INFORMATION = np.pi**2 / 3.0


def find_start(design: Design, layout: ParameterLayout) -> Floats | None:
    """Return coordinates from which chains start; None where any start will do.

    The share of careless raters starts at its prior, everything else at the largest density of the
    ordinal model alone, given sds of 1.
    """
    if design.careless is None:
        return None
    plain = parameter_layout(replace(design, careless=None))
    point = initial_point(design, layout, seed=0)
    free = np.ones(plain.size, dtype=bool)
    for section in plain.coordinates:
        if section.name.startswith("sd_"):
            free[section.slice] = False
            point[section.slice] = np.log(START_SD)
    current = point[: plain.size].copy()

    def negative(values: Floats) -> tuple[float, Floats]:
        current[free] = values
        density, gradient = kernel_density(plain, current)
        return -density, -gradient[free]

    best = minimize(
        negative, current[free], jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    point[: plain.size][free] = best.x
    return point


def add_reference(design: Design) -> Design:
    """Return a design with a reference for the effects of careless raters, where it can have one.

    Its centre is the effect at the start of chains. Its spread follows from the information of n
    ratings with shares p_k on a shift of the log odds, n (1 - sum p_k^3) / 3 (Whitehead 1993), and
    an sd of 1 of the effects.
    """
    careless, term = design.careless, _reference_term(design)
    if careless is None or term is None:
        return design
    plain = replace(design, careless=replace(careless, reference=None))
    layout = parameter_layout(plain)
    point = find_start(plain, layout)
    if point is None:
        return design
    scale = design.scales[careless.scale]
    shape = (careless.n_raters, len(scale.labels))
    counts = count_scores(careless.index[scale.rows], scale.category, shape=shape)
    number = np.maximum(counts.sum(axis=1), 1.0)
    information = number * (1.0 - ((counts / number[:, None]) ** 3).sum(axis=1)) / 3.0
    information *= PROBIT_INFORMATION if design.link == "probit" else 1.0
    cutpoints = next(s for s in layout.coordinates if s.name == threshold_name(design, scale))
    median = point[cutpoints.slice][0 if design.ordered_cutpoints else scale.median_cutpoint]
    reference = Reference(
        term=term.name,
        centre=_sampled_effects(plain, layout, point, term) - median,
        spread=WIDER / np.sqrt(information + 1.0 / START_SD**2),
    )
    return replace(design, careless=replace(careless, reference=reference))


def _reference_term(design: Design) -> Term | None:
    """The location term by rater, if its effects are normal and cutpoints absorb their mean."""
    for term in design.terms_of("location"):
        absorbed = bool((term.mean_group < 0).all()) or (
            design.careless is not None and term.swept_mean[design.careless.scale] >= 0
        )
        plain = term.structure == "independent" and isinstance(term.prior, Normal)
        if term.dims == (RATER,) and plain and absorbed:
            return term
    return None


def _sampled_effects(design: Design, layout: ParameterLayout, point: Floats, term: Term) -> Floats:
    """Effects of a term with those of its parents, less the means of their groups."""
    values = stored_values(layout, point)
    stored = {section.name: values[section.slice] for section in layout.stored}
    effects = _add_parents(design, term, stored)
    for group in np.unique(term.mean_group[term.mean_group >= 0]):
        effects[term.mean_group == group] -= effects[term.mean_group == group].mean()
    return effects


def _add_parents(design: Design, term: Term, stored: dict[str, Floats]) -> Floats:
    """Effects of a term with those of its parents, and of theirs."""
    effects = stored[term.name].copy()
    for parent in design.parents(term):
        if not parent.by_mean:
            of_parent = _add_parents(design, parent.term, stored)
            effects += np.where(parent.position >= 0, of_parent[parent.position], 0.0)
    return effects
