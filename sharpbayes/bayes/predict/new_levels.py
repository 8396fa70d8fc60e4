"""New judges or raters from the population that the fitted ones come from."""

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
    """Return draws in which every level of a column is a new one from the same population.

    Each effect of the column is drawn from its prior given the hyperparameters of the draw:
    normal(0, sd) for locations and gaps, exp(normal(0, sd)) for discriminations. All other
    variables stay as they are. A model that gives each level of the column its own sd is an error.

    Source: posterior predictive of a new group member (Gelman and Hill 2007, chapter 12.8).
    """
    new_effects = {}
    for term in design.terms:
        if column in term.dims:
            values = term.to_results(_draw_effects(posterior, term, column, rng))
            effects = posterior[term.name].transpose("chain", "draw", *term.dims)
            new_effects[term.name] = effects.copy(data=values)
    return posterior.assign(new_effects)


def _draw_effects(
    posterior: xr.Dataset, term: Term, column: str, rng: np.random.Generator
) -> Floats:
    """Draw effects of a term; shape (chain, draw, *term.shape)."""
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], *term.shape)
    unit = rng.normal(size=shape)
    if isinstance(term.prior, StudentT):
        df = term.prior.df
        unit /= np.sqrt(rng.chisquare(df, size=shape) / df)
    if term.correlation is None:
        return unit * _sd(posterior, term)
    dim = term.dims[-1]
    if dim == column:
        message = f"{term.stem} gives each {column} an sd of its own: none to draw a new one from"
        raise SpecError([Diagnostic("study", 0, "uncertainty", message)])
    correlation = posterior[f"correlation_{term.stem}"]
    matrix = correlation.transpose("chain", "draw", dim, f"{dim}_other").to_numpy()
    axes = tuple(range(2, len(term.shape) + 1))
    factor = np.expand_dims(np.linalg.cholesky(matrix), axes)
    return (factor @ unit[..., None])[..., 0] * _sd(posterior, term)


def _sd(posterior: xr.Dataset, term: Term) -> Floats | float:
    """The sd of each draw, or the fixed one; broadcasts to (chain, draw, *term.shape)."""
    if isinstance(term.prior.sd, float):
        return term.prior.sd
    sd = posterior[f"sd_{term.stem}"].transpose("chain", "draw", ...).to_numpy()
    return np.expand_dims(sd, tuple(range(2, 4 + len(term.shape) - sd.ndim)))
