"""Judges or raters drawn anew from their population: effects by the posterior's own sds."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.errors import Diagnostic, SpecError
from sharpbayes.spec.model import StudentT

Floats = NDArray[np.float64]


def draw_new_levels(
    posterior: xr.Dataset, design: Design, column: str, *, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws in which every level of a column is a new one of the same population.

    Each effect of the column is drawn from the law that its term gives it, draw by draw:
    normal(0, sd) with the sd of that draw; a discrimination is exp(normal(0, sd)). All other
    variables are as they were.

    Args:
        posterior: Variables over (chain, draw, ...).
        design: Terms and labels.
        column: ``judge`` or ``rater``.
        rng: Random numbers.

    Returns:
        The posterior with the effects of the column's terms in location, spacing and
        discrimination replaced.

    Raises:
        SpecError: The model gives each level of the column an sd of its own.

    Source: posterior predictive of a new group member (Gelman and Hill 2007, chapter 12.8).
    """
    fresh = {}
    for term in design.terms:
        if column in term.dims:
            value = _effects(posterior, term, column, rng)
            value = np.exp(value) if term.kind == "discrimination" else value
            fresh[term.name] = (
                posterior[term.name].transpose("chain", "draw", *term.dims).copy(data=value)
            )
    return posterior.assign(fresh)


def _effects(posterior: xr.Dataset, term: Term, column: str, rng: np.random.Generator) -> Floats:
    """New effects; shape (chain, draw, *term.shape)."""
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], *term.shape)
    unit = rng.normal(size=shape)
    if isinstance(term.prior, StudentT):
        df = term.prior.df
        unit /= np.sqrt(rng.chisquare(df, size=shape) / df)
    if term.correlation is None:
        return unit * _sd(posterior, term)
    if term.dims[-1] == column:
        message = f"{term.stem} gives each {column} an sd of its own: none to draw a new one from"
        raise SpecError([Diagnostic("study", 0, "uncertainty", message)])
    own = posterior[f"correlation_{term.stem}"]
    matrix = own.transpose("chain", "draw", term.dims[-1], f"{term.dims[-1]}_other").to_numpy()
    factor = np.linalg.cholesky(matrix)
    lead = term.shape[:-1]
    factor = factor.reshape(*factor.shape[:2], *(1,) * len(lead), *factor.shape[2:])
    correlated: Floats = (factor @ unit[..., None])[..., 0]
    return correlated * _sd(posterior, term)


def _sd(posterior: xr.Dataset, term: Term) -> Floats | float:
    """The sd of each draw, or the fixed one; broadcasts to (chain, draw, *term.shape)."""
    if isinstance(term.prior.sd, float):
        return term.prior.sd
    found = posterior[f"sd_{term.stem}"].transpose("chain", "draw", ...).to_numpy()
    missing = 2 + len(term.shape) - found.ndim
    return found.reshape(*found.shape[:2], *(1,) * missing, *found.shape[2:])
