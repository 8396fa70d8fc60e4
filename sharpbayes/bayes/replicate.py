"""Posterior draws -> latent severities, replicated ratings and pointwise log-likelihood.

Plain NumPy over blocks of draws: nothing is compiled and memory stays bounded.
"""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.build import rating_dim
from sharpbayes.bayes.design import Design, ScaleBlock
from sharpbayes.bayes.likelihoods import draw_level, log_probability

Floats = NDArray[np.float64]

# Latent severities held at once, so that a block of draws stays under some 100 MB.
BLOCK_CELLS = 4_000_000


def thinned(posterior: xr.Dataset, *, draws: int) -> xr.Dataset:
    """Return about ``draws`` draws in all, evenly spaced and as many from every chain."""
    each = max(1, min(posterior.sizes["draw"], draws // posterior.sizes["chain"]))
    chosen = np.linspace(0, posterior.sizes["draw"] - 1, each).round().astype(int)
    return posterior.isel(draw=np.unique(chosen))


def latent_severity(posterior: xr.Dataset, design: Design, scale: ScaleBlock) -> Floats:
    """Return eta = sum_t effect_t for the ratings on one scale; shape (sample, rating)."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    eta = np.zeros((samples, len(scale.rows)))
    for term in design.terms:
        effect = _flat(posterior, f"location_{term.name}", term.dims).reshape(samples, term.size)
        eta += effect[:, term.index[scale.rows]]
    return eta


def log_likelihood(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return log P(level_n | draw) of every rating, over (chain, draw, rating)."""

    def pointwise(eta: Floats, thresholds: Floats, scale: ScaleBlock) -> NDArray[np.float32]:
        value = log_probability(scale.level, eta=eta, thresholds=thresholds)
        return value.astype(np.float32)

    return _over_scales(posterior, design, pointwise)


def posterior_predictive(posterior: xr.Dataset, design: Design, *, seed: int) -> xr.Dataset:
    """Return ratings replicated for the observed cells, over (chain, draw, rating)."""
    rng = np.random.default_rng(seed)

    def replicated(eta: Floats, thresholds: Floats, _: ScaleBlock) -> NDArray[np.int16]:
        return draw_level(rng, eta=eta, thresholds=thresholds)

    return _over_scales(posterior, design, replicated)


def observed(design: Design) -> xr.Dataset:
    """Return the observed levels of each scale."""
    levels = {
        f"level_{scale.name}": (rating_dim(scale.name), scale.level.astype(np.int16))
        for scale in design.scales
    }
    return xr.Dataset(levels)


def _over_scales(
    posterior: xr.Dataset,
    design: Design,
    compute: Callable[[Floats, Floats, ScaleBlock], NDArray[np.generic]],
) -> xr.Dataset:
    """Apply a function of (eta, thresholds, scale) to every scale, in blocks of draws."""
    variables = {}
    for scale in design.scales:
        parts = [
            compute(
                latent_severity(block, design, scale),
                _flat(block, f"threshold_{scale.name}", (scale.cut_dim,)),
                scale,
            ).reshape(block.sizes["chain"], block.sizes["draw"], len(scale.rows))
            for block in _blocks(posterior, len(scale.rows))
        ]
        dims = ("chain", "draw", rating_dim(scale.name))
        variables[f"level_{scale.name}"] = (dims, np.concatenate(parts, axis=1))
    coords = {name: posterior.coords[name] for name in ("chain", "draw")}
    return xr.Dataset(variables, coords)


def _blocks(posterior: xr.Dataset, ratings: int) -> Iterator[xr.Dataset]:
    """Cut the draws into blocks of bounded size."""
    step = max(1, BLOCK_CELLS // (ratings * posterior.sizes["chain"]))
    for start in range(0, posterior.sizes["draw"], step):
        yield posterior.isel(draw=slice(start, start + step))


def _flat(posterior: xr.Dataset, name: str, dims: tuple[str, ...]) -> Floats:
    """Return a variable as (sample, level), chains one after the other."""
    values = posterior[name].transpose("chain", "draw", *dims).to_numpy()
    return values.reshape(values.shape[0] * values.shape[1], -1)
