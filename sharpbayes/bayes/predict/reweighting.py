"""Draws of an earlier posterior -> draws that know further ratings, by importance sampling.

Draws of p(theta | old) have the weights p(new | theta) under p(theta | old, new). Their tail is
smoothed; the shape k of its Pareto distribution tells whether they can be relied on. Draws are then
resampled, as many from each chain, in their order: what a draw is repeated for counts against the
effective sample size, so that convergence is checked as ever.

Source: Vehtari, Simpson, Gelman, Yao and Gabry 2024; systematic resampling: Kitagawa 1996.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.predict.psis import largest_good_k
from sharpbayes.bayes.predict.replication import (
    BLOCK_VALUES,
    joint_log_likelihood,
    latent_ratings,
    thin,
)

# Weights of so many draws are computed first. Beyond this k no mean of theirs exists.
TRIED_FIRST, HOPELESS_K = 400, 1.0
# Attributes of a design that follow from ratings and change no meaning of a parameter.
OF_RATINGS = ("terms", "scales", "careless", "n_ratings", "inseparable_terms")
# Attributes of a term that give its effects their meaning.
OF_TERM = ("name", "dims", "shape", "prior", "structure", "correlation", "scale", "column")


@dataclass(frozen=True)
class EarlierFit:
    """A fit of some of the ratings, whose posterior a fit of all of them goes on from.

    ``new`` tells of each rating of all whether the earlier fit lacks it.
    """

    design: Design
    posterior: xr.Dataset
    sample_stats: xr.Dataset
    new: NDArray[np.bool_]


class Reweighted(NamedTuple):
    """Draws that know further ratings, with what tells whether to rely on them."""

    trace: xr.DataTree
    pareto_k: float
    effective_draws: float

    @property
    def reliable(self) -> bool:
        """Whether k is below its limit for so many draws."""
        sizes = self.trace["posterior"].sizes
        return self.pareto_k < largest_good_k(sizes["chain"] * sizes["draw"])


def have_same_parameters(earlier: Design, grown: Design) -> bool:
    """Tell whether two designs have the same parameters with the same meaning and prior."""
    fields = [name for name in Design.__dataclass_fields__ if name not in OF_RATINGS]
    if any(getattr(earlier, name) != getattr(grown, name) for name in fields):
        return False
    terms = [[getattr(t, name) for t in d.terms for name in OF_TERM] for d in (earlier, grown)]
    scales = [[(scale.name, scale.labels) for scale in d.scales] for d in (earlier, grown)]
    classes = [
        d.careless and (d.careless.n_raters, d.careless.share, d.careless.concentration)
        for d in (earlier, grown)
    ]
    return terms[0] == terms[1] and scales[0] == scales[1] and classes[0] == classes[1]


def reweight(earlier: EarlierFit, grown: Design, *, seed: int) -> Reweighted | None:
    """Return the earlier draws as draws that know all ratings of a design.

    None where the design has other parameters, or further ratings are of a level that had no
    rating on their scale, and no draws. Some draws alone are returned where their k is so large
    that all of them cannot be relied on either.
    """
    if not have_same_parameters(earlier.design, grown):
        return None
    first_draws = thin(earlier.posterior, draws=TRIED_FIRST)
    if first_draws.sizes["draw"] < earlier.posterior.sizes["draw"]:
        tried = replace(
            earlier,
            posterior=first_draws,
            sample_stats=earlier.sample_stats.sel(draw=first_draws["draw"]),
        )
        weighted = _reweight(tried, grown, seed=seed)
        if weighted is None or weighted.pareto_k > HOPELESS_K:
            return weighted
    return _reweight(earlier, grown, seed=seed)


def _reweight(earlier: EarlierFit, grown: Design, *, seed: int) -> Reweighted | None:
    """Return all draws of an earlier fit as draws that know all ratings; None as above."""
    log_weights = new_log_likelihood(earlier, grown)
    if not np.isfinite(log_weights).all():
        return None
    # ArviZ takes what leaves ratings out: it turns the sign.
    smoothed, k = array_stats.psislw(-log_weights.ravel())
    weights = np.exp(smoothed - smoothed.max()).reshape(log_weights.shape)
    chosen = resample_chains(weights, rng=np.random.default_rng(seed))
    effective = weights.sum() ** 2 / (weights**2).sum()
    stats = earlier.sample_stats.copy()
    added = xr.DataArray(log_weights, dims=("chain", "draw"))
    stats["logp"] = stats["logp"] + added
    groups = {"posterior": earlier.posterior, "sample_stats": stats}
    groups = {name: take_draws(group, chosen) for name, group in groups.items()}
    return Reweighted(xr.DataTree.from_dict(groups), float(k), float(effective))


def new_log_likelihood(earlier: EarlierFit, grown: Design) -> Floats:
    """Return log p(new ratings | old ratings, draw) of every draw, (chain, draw)."""
    chains, draws = (earlier.posterior.sizes[name] for name in ("chain", "draw"))
    size = max(1, BLOCK_VALUES // (grown.n_ratings * chains))
    blocks = []
    for start in range(0, draws, size):
        block = earlier.posterior.isel(draw=slice(start, start + size))
        if grown.careless is None:
            added = _log_likelihood_of(block, grown, earlier.new)
        else:  # Ratings of a rater share their class.
            added = joint_log_likelihood(block, grown)
            added -= joint_log_likelihood(block, earlier.design)
        blocks.append(added.reshape(chains, -1))
    return np.concatenate(blocks, axis=1)


def _log_likelihood_of(posterior: xr.Dataset, design: Design, rows: NDArray[np.bool_]) -> Floats:
    """Return the log-likelihood of some of the ratings of every draw, (sample,)."""
    total = np.zeros(posterior.sizes["chain"] * posterior.sizes["draw"])
    for scale in design.scales:
        chosen = rows[scale.rows]
        part = replace(scale, rows=scale.rows[chosen], category=scale.category[chosen])
        if chosen.any():
            total += latent_ratings(posterior, design, part).log_probability().sum(axis=1)
    return total


def resample_chains(weights: Floats, *, rng: np.random.Generator) -> Index:
    """Return positions of draws of each chain by their weights, in order; (chain, draw).

    Draw d of a chain of D is taken as often as (u + 0, ..., u + D - 1) / D falls into its share of
    the chain's weights, with u uniform: between floor and ceiling of D times its share.
    """
    chains, draws = weights.shape
    ends = np.cumsum(weights, axis=1)
    ends /= ends[:, -1:]
    points = (rng.random((chains, 1)) + np.arange(draws)) / draws
    return np.stack(
        [np.searchsorted(*pair, side="right") for pair in zip(ends, points, strict=True)]
    )


def take_draws(group: xr.Dataset, chosen: Index) -> xr.Dataset:
    """Return chosen draws of each chain under the labels that the draws had."""
    positions = xr.DataArray(chosen, dims=("chain", "draw"))
    selected = group.drop_vars("draw", errors="ignore").isel(
        chain=xr.DataArray(np.arange(len(chosen)), dims="chain"), draw=positions
    )
    return selected.assign_coords(chain=group["chain"], draw=np.arange(chosen.shape[1]))
