"""Careless raters as PyMC variables: a share, and ratings that are a mixture for each rater.

The class of a rater and the distribution of a careless rater's scores are summed and integrated
out; see :mod:`sharpbayes.bayes.design.careless`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

from sharpbayes.bayes.design.careless import SHARE, CarelessClass
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.graph.likelihoods import Draw, LogProbability
from sharpbayes.bayes.graph.terms import GraphTerm

Tensor = Any
Floats = NDArray[np.float64]


def add_share(careless: CarelessClass) -> Tensor:
    """Add the share of careless raters."""
    return pm.Beta(SHARE, np.float64(careless.share.a), np.float64(careless.share.b))


def reference_offsets(design: Design, terms: Mapping[str, GraphTerm]) -> Tensor:
    """Log density of the reference less that of the prior, for the effect of each rater.

    They are zeros without a reference; see :class:`sharpbayes.bayes.design.careless.Reference`.
    """
    careless, model = design.careless, pm.modelcontext(None)
    if careless is None or careless.reference is None:
        return pt.zeros(careless.n_raters if careless else 0)
    reference = careless.reference
    scale = design.scales[careless.scale]
    effect, median = terms[reference.term], model[f"threshold_{scale.name}_offset"]
    by_reference = pm.Normal.dist(reference.centre, reference.spread)
    prior = pm.Normal.dist(np.float64(0.0), effect.sd)
    log_reference = pm.logp(by_reference, effect.effects - median[scale.median_cutpoint])
    return log_reference - pm.logp(prior, model[reference.term])


def mixed_logp(
    ordinal: LogProbability,
    rater: Index,
    careless: CarelessClass,
    category: Tensor,
    *inputs: Tensor,
) -> Tensor:
    """Log-probability of all ratings on a scale, from that of each under the ordinal model."""
    eta, cutpoints, share, offsets = inputs
    log_prob, rated = ordinal(category, eta, cutpoints), rater >= 0
    by_rater = pt.inc_subtensor(pt.zeros(careless.n_raters)[rater[rated]], log_prob[rated])
    n_categories = cutpoints.shape[-1] + 1
    is_category = pt.eq(category[:, None], pt.arange(n_categories)).astype("float64")
    counts = pt.inc_subtensor(
        pt.zeros((careless.n_raters, n_categories))[rater[rated]], is_category[rated]
    )
    prior, c = careless.concentration * n_categories, np.float64(careless.concentration)
    parts = (pt.gammaln(c + counts) - pt.gammaln(c)).sum(axis=1)
    other = pt.gammaln(prior) - pt.gammaln(prior + counts.sum(axis=1)) + parts
    mixed = pt.logaddexp(pt.log1p(-share) + by_rater, pt.log(share) + other + offsets)  # type: ignore[attr-defined]
    # A rater without ratings has no class.
    mixed = mixed[np.unique(rater[rated])]
    return mixed.sum() + log_prob[~rated].sum()


def draw_mixed(
    ordinal: Draw,
    rater: Index,
    careless: CarelessClass,
    *inputs: Floats,
    rng: np.random.Generator,
    size: tuple[int, ...] | None,
) -> NDArray[np.integer]:
    """Draw the class of each rater, the distribution of a careless one, and all ratings."""
    eta, cutpoints, share, _ = inputs
    category, n_categories = ordinal(eta, cutpoints, rng, size), cutpoints.shape[-1] + 1
    shape = category.shape[:-1]
    is_careless = rng.random((*shape, careless.n_raters)) < np.expand_dims(share, -1)
    alpha = np.full(n_categories, careless.concentration)
    upto = rng.dirichlet(alpha, size=is_careless.shape).cumsum(axis=-1)[..., rater, :-1]
    clicked = (rng.random(category.shape)[..., None] > upto).sum(axis=-1)
    return np.where(is_careless[..., rater] & (rater >= 0), clicked, category)


def add_mixed_ratings(
    name: str,
    law: tuple[LogProbability, Draw],
    careless: CarelessClass,
    *,
    rater: Index,
    inputs: tuple[Tensor, Tensor, Tensor, Tensor],
    category: Index,
    dim: str,
) -> None:
    """Add the observed ratings of a scale, given severity, cutpoints, share and offsets."""
    logp, draw = law
    pm.CustomDist(
        name,
        *inputs,
        logp=partial(mixed_logp, logp, rater, careless),
        random=partial(draw_mixed, draw, rater, careless),
        signature="(n),(n,k),(),(r)->(n)",
        dtype="int64",
        observed=category,
        dims=dim,
    )
