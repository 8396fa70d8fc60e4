"""Posterior draws -> latent severities, replicated ratings and pointwise log-likelihood.

From the variables of the posterior alone, over blocks of draws: nothing is compiled, and memory
stays bounded.
"""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index, combinations
from sharpbayes.bayes.design.design import Design, ScaleRatings, rating_dim
from sharpbayes.bayes.predict.categories import LatentRatings, draw_categories, log_probability
from sharpbayes.bayes.sampling.draws import apply_gap_effects

Floats = NDArray[np.float64]

# Latent severities held at once, so that a block of draws stays under some 100 MB.
BLOCK_CELLS = 4_000_000


def thin(posterior: xr.Dataset, *, draws: int) -> xr.Dataset:
    """Return about ``draws`` draws in all, evenly spaced and as many from every chain."""
    each = max(1, min(posterior.sizes["draw"], draws // posterior.sizes["chain"]))
    chosen = np.linspace(0, posterior.sizes["draw"] - 1, each).round().astype(int)
    return posterior.isel(draw=np.unique(chosen))


def latent_ratings(posterior: xr.Dataset, design: Design, scale: ScaleRatings) -> LatentRatings:
    """Return what the ratings on one scale come from, for every draw."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    severity = np.zeros((samples, len(scale.rows)))
    for term in design.terms_of("location"):
        severity += _gathered(_flat(posterior, term.name, term.dims), term.index[scale.rows])
    log_factor = np.zeros((samples, 1))
    for term in design.terms_of("discrimination"):
        effects = np.log(_flat(posterior, term.name, term.dims))
        log_factor = log_factor + _gathered(effects, term.index[scale.rows])
    which, thresholds = _sets(posterior, design, scale)
    return LatentRatings(
        scale, design.likelihood, design.link, severity, np.exp(log_factor), thresholds, which
    )


def _sets(posterior: xr.Dataset, design: Design, scale: ScaleRatings) -> tuple[Index, Floats]:
    """Set of each rating, and the thresholds of every set."""
    common = posterior[f"threshold_{scale.name}"]
    gap_terms = [
        term for term in design.terms_of("gap") if design.scales[term.scale].name == scale.name
    ]
    nothing = [np.zeros(len(scale.rows), dtype=np.int64)]
    which, levels = combinations([term.index[scale.rows] for term in gap_terms] or nothing)
    if not gap_terms:
        return which, _flat(common, None, (scale.cutpoint_dim,))[:, None, :]
    stretch = xr.zeros_like(posterior[gap_terms[0].name].isel({gap_terms[0].dims[0]: 0}, drop=True))
    for column, term in enumerate(gap_terms):
        level = xr.DataArray(levels[:, column], dims="set")
        own = posterior[term.name].isel({term.dims[0]: level}).drop_vars(term.dims[0])
        stretch = stretch + own.where(level >= 0, 0.0)
    own = apply_gap_effects(common, stretch, scale, ordered=design.ordered_cutpoints)
    flat = _flat(own, None, ("set", scale.cutpoint_dim))
    return which, flat.reshape(len(flat), len(levels), scale.n_cutpoints)


def log_likelihood(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return log P(level_n | draw) of every rating, over (chain, draw, rating)."""
    return _over_scales(
        posterior, design, lambda latent: log_probability(latent).astype(np.float32)
    )


def posterior_predictive(posterior: xr.Dataset, design: Design, *, seed: int) -> xr.Dataset:
    """Return ratings replicated for the observed cells, over (chain, draw, rating)."""
    rng = np.random.default_rng(seed)
    return _over_scales(posterior, design, lambda latent: draw_categories(latent, rng))


def observed(design: Design) -> xr.Dataset:
    """Return the observed levels of each scale."""
    levels = {
        f"rating_{scale.name}": (rating_dim(scale.name), scale.category.astype(np.int16))
        for scale in design.scales
    }
    return xr.Dataset(levels)


def _over_scales(
    posterior: xr.Dataset, design: Design, compute: Callable[[LatentRatings], NDArray[np.generic]]
) -> xr.Dataset:
    """Apply a function of what ratings come from to every scale, in blocks of draws."""
    variables = {}
    for scale in design.scales:
        parts = [
            compute(latent_ratings(block, design, scale)).reshape(
                block.sizes["chain"], block.sizes["draw"], len(scale.rows)
            )
            for block in _blocks(posterior, len(scale.rows))
        ]
        dims = ("chain", "draw", rating_dim(scale.name))
        variables[f"rating_{scale.name}"] = (dims, np.concatenate(parts, axis=1))
    coords = {name: posterior.coords[name] for name in ("chain", "draw")}
    return xr.Dataset(variables, coords)


def _blocks(posterior: xr.Dataset, ratings: int) -> Iterator[xr.Dataset]:
    """Cut the draws into blocks of bounded size."""
    step = max(1, BLOCK_CELLS // (ratings * posterior.sizes["chain"]))
    for start in range(0, posterior.sizes["draw"], step):
        yield posterior.isel(draw=slice(start, start + step))


def _flat(data: xr.Dataset | xr.DataArray, name: str | None, dims: tuple[str, ...]) -> Floats:
    """Return a variable as (sample, level), chains one after the other."""
    array = data if isinstance(data, xr.DataArray) else data[name]
    values = array.transpose("chain", "draw", *dims).to_numpy()
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _gathered(values: Floats, index: Index) -> Floats:
    """Effects at an index, 0 where it is -1; shape (sample, rating)."""
    return np.where(index >= 0, values[:, index], 0.0)
