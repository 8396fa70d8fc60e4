"""Draws of the prior of a design, and ratings that it expects, without PyMC.

Drawn is the plain density of a model file: sds, correlations, effects and cutpoints one after the
other. The coordinates of the sampler (:mod:`sharpbayes.bayes.graph.terms`) leave that density as it
is. PyMC's graph draws from the same distribution, which a test compares.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.careless import SHARE
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term
from sharpbayes.bayes.predict.replication import draw_effects, posterior_predictive
from sharpbayes.bayes.sampling.draws import label_dims, level_thresholds
from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT

Variable = tuple[tuple[str, ...], Floats]
Size = tuple[int, ...]

SD_DRAWS: dict[type, Callable[[np.random.Generator, Any, Size], Floats]] = {
    HalfNormal: lambda rng, prior, size: np.abs(rng.normal(0.0, prior.scale, size)),
    Exponential: lambda rng, prior, size: rng.exponential(prior.mean, size),
    HalfStudentT: lambda rng, prior, size: np.abs(rng.standard_t(prior.df, size)) * prior.scale,
}


def draw_prior(
    design: Design, *, draws: int, seed: int, predicted: int | None = None
) -> dict[str, xr.Dataset]:
    """Return ``prior`` and ``prior_predictive`` over (chain, draw), one chain.

    Ratings are ``predicted`` for so many of the draws, by default for all.
    """
    rng = np.random.default_rng(seed)
    prior = label_dims({}, design, draws=(1, draws))
    for term in design.terms:
        scales = label_dims(dict(_draw_scales(term, draws, rng)), design, draws=(1, draws))
        prior = prior.assign(scales)
        effects = {term.name: (term.dims, _draw_term(prior, term, rng))}
        prior = prior.assign(label_dims(effects, design, draws=(1, draws)))
    rest = {f"threshold_{s.name}": _draw_cutpoints(design, s, draws, rng) for s in design.scales}
    if design.careless:
        share = design.careless.share
        rest[SHARE] = ((), rng.beta(share.a, share.b, (1, draws)))
    prior = prior.assign(label_dims(rest, design, draws=(1, draws)))
    prior = prior.assign(dict(level_thresholds(prior, design)))
    state = int(rng.integers(2**63))
    first = prior.isel(draw=slice(predicted))
    predictive = posterior_predictive(first, design, seed=state, known=False)
    return {"prior": prior, "prior_predictive": predictive}


def _draw_scales(
    term: Term, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, Variable]]:
    """Yield the sds of a term that have a prior, and its matrix of correlations."""
    if not isinstance(term.prior.sd, float):
        dims = term.dims[-1:] if term.n_sds > 1 else ()
        size = (1, draws, *term.shape[-1:]) if dims else (1, draws)
        yield f"sd_{term.stem}", (dims, SD_DRAWS[type(term.prior.sd)](rng, term.prior.sd, size))
    if term.correlation:
        levels, dim = term.shape[-1], term.dims[-1]
        factor = _draw_factors(term.lkj_eta, levels, draws, rng)
        matrix = (factor @ factor.swapaxes(-1, -2))[None]
        yield f"correlation_{term.stem}", ((dim, f"{dim}_other"), matrix)


def _draw_factors(eta: float, levels: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw Cholesky factors of correlation matrices with an LKJ(eta) prior.

    Partial correlations are independent, 2 Beta(b, b) - 1 with b = eta + (D - 2 - column) / 2
    (Lewandowski, Kurowicka and Joe 2009).
    """
    factor = np.zeros((draws, levels, levels))
    for row in range(levels):
        remainder = np.ones(draws)
        for column in range(row):
            shape = eta + (levels - 2.0 - column) / 2.0
            partial = 2.0 * rng.beta(shape, shape, draws) - 1.0
            factor[:, row, column] = partial * np.sqrt(remainder)
            remainder *= 1.0 - partial**2
        factor[:, row, row] = np.sqrt(remainder)
    return factor


def _draw_term(prior: xr.Dataset, term: Term, rng: np.random.Generator) -> Floats:
    """Draw the effects of a term given its sds and correlations, as results hold them."""
    effects = draw_effects(prior, term, rng)
    if term.zero_sum:
        for axis in range(2, effects.ndim):
            effects = effects - effects.mean(axis=axis, keepdims=True)
    return term.to_results(effects)


def _draw_cutpoints(
    design: Design, scale: ScaleRatings, draws: int, rng: np.random.Generator
) -> Variable:
    """Draw the cutpoints of a scale: independent normals, sorted where they are ordered."""
    mean, sd = design.thresholds.mean, design.thresholds.sd
    cutpoints = rng.normal(mean, sd, (1, draws, scale.n_cutpoints))
    if design.ordered_cutpoints:
        cutpoints.sort(axis=-1)
    return (scale.cutpoint_dim,), cutpoints
