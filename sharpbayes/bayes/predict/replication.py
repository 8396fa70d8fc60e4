"""Posterior draws -> latent severities, replicated ratings and pointwise log-likelihood.

Everything is computed from the variables of the posterior in blocks of draws: nothing is compiled,
and memory stays bounded.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, ScaleRatings, rating_dim
from sharpbayes.bayes.predict.categories import LAWS, LatentRatings
from sharpbayes.bayes.sampling.draws import apply_gap_effects

Floats = NDArray[np.float64]

# Latent severities in memory at once: a block of draws stays under some 100 MB.
BLOCK_VALUES = 4_000_000


def thin(posterior: xr.Dataset, *, draws: int) -> xr.Dataset:
    """Return about ``draws`` draws in all, evenly spaced and as many from every chain."""
    chains, length = posterior.sizes["chain"], posterior.sizes["draw"]
    positions = np.linspace(0, length - 1, max(1, min(length, draws // chains)))
    return posterior.isel(draw=np.unique(positions.round().astype(int)))


def latent_ratings(posterior: xr.Dataset, design: Design, scale: ScaleRatings) -> LatentRatings:
    """Return the quantities that determine the ratings on one scale, for every draw."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    severity = np.zeros((samples, len(scale.rows)))
    for term in design.terms_of("location"):
        severity += _take(flatten_draws(posterior[term.name], *term.dims), term.index[scale.rows])
    log_discrimination = np.zeros((samples, 1))
    for term in design.terms_of("discrimination"):
        effects = term.to_effects(flatten_draws(posterior[term.name], *term.dims))
        log_discrimination = log_discrimination + _take(effects, term.index[scale.rows])
    cutpoint_set, thresholds = _cutpoint_sets(posterior, design, scale)
    law, discrimination = LAWS[design.likelihood], np.exp(log_discrimination)
    return law(scale, design.link, severity, discrimination, thresholds, cutpoint_set)


def _cutpoint_sets(
    posterior: xr.Dataset, design: Design, scale: ScaleRatings
) -> tuple[Index, Floats]:
    """Return the cutpoint set of each rating, and the thresholds of every set."""
    common = posterior[f"threshold_{scale.name}"]
    terms = design.gap_terms(scale)
    cutpoint_set, levels = design.cutpoint_sets(scale)
    if not terms:
        return cutpoint_set, flatten_draws(common, scale.cutpoint_dim)[:, None]
    effects = xr.zeros_like(posterior[terms[0].name].isel({terms[0].dims[0]: 0}, drop=True))
    for column, term in enumerate(terms):
        level = xr.DataArray(levels[:, column], dims="set")
        of_level = posterior[term.name].isel({term.dims[0]: level}).drop_vars(term.dims[0])
        effects = effects + of_level.where(level >= 0, 0.0)
    thresholds = apply_gap_effects(common, effects, scale, ordered=design.ordered_cutpoints)
    flat = flatten_draws(thresholds, "set", scale.cutpoint_dim)
    return cutpoint_set, flat.reshape(len(flat), len(levels), scale.n_cutpoints)


def log_likelihood(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return log P(category_n | draw) of every rating, over (chain, draw, rating)."""
    return _map_scales(posterior, design, lambda law: law.log_probability().astype(np.float32))


def posterior_predictive(posterior: xr.Dataset, design: Design, *, seed: int) -> xr.Dataset:
    """Return replicated ratings of the same items by the same raters, (chain, draw, rating)."""
    rng = np.random.default_rng(seed)
    return _map_scales(posterior, design, lambda latent: latent.draw(rng))


def observed_data(design: Design) -> xr.Dataset:
    """Return the observed categories of each scale."""
    values = {scale.name: scale.category.astype(np.int16) for scale in design.scales}
    return xr.Dataset({f"rating_{name}": (rating_dim(name), v) for name, v in values.items()})


def _map_scales(
    posterior: xr.Dataset, design: Design, compute: Callable[[LatentRatings], NDArray[np.generic]]
) -> xr.Dataset:
    """Apply a function of latent ratings to every scale, in blocks of draws."""
    variables, chains = {}, posterior.sizes["chain"]
    for scale in design.scales:
        count = len(scale.rows)
        size = max(1, BLOCK_VALUES // (count * chains))
        parts = []
        for start in range(0, posterior.sizes["draw"], size):
            block = posterior.isel(draw=slice(start, start + size))
            values = compute(latent_ratings(block, design, scale))
            parts.append(values.reshape(chains, -1, count))
        dims = ("chain", "draw", rating_dim(scale.name))
        variables[f"rating_{scale.name}"] = (dims, np.concatenate(parts, axis=1))
    return xr.Dataset(variables, {name: posterior.coords[name] for name in ("chain", "draw")})


def flatten_draws(array: xr.DataArray, *dims: str) -> Floats:
    """Return a variable as (sample, level), chains one after the other."""
    values = array.transpose("chain", "draw", *dims).to_numpy()
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _take(values: Floats, index: Index) -> Floats:
    """Effects at an index, 0 where it is -1; shape (sample, rating)."""
    return np.where(index >= 0, values[:, index], 0.0)
