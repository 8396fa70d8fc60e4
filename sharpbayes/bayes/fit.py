"""Ratings + model file -> posterior, prior, predictive, log-likelihood and diagnostics."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.build import build, rating_dim
from sharpbayes.bayes.checks import diagnose
from sharpbayes.bayes.design import Design, dim_name
from sharpbayes.bayes.replicate import log_likelihood, observed, posterior_predictive, thinned
from sharpbayes.bayes.sample import Progress, sample_posterior, sample_prior
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.study import Sampler


def fit_ratings(
    ratings: Ratings,
    design: Design,
    sampler: Sampler,
    *,
    seed: int,
    progress: Progress | None = None,
) -> dict[str, xr.Dataset]:
    """Return ArviZ's groups by name, and ``diagnostics``.

    Args:
        ratings: Observed ratings; they label the rating dimensions.
        design: The same ratings placed on the terms of a model.
        sampler: Chains, draws, and limits of convergence.
        seed: Seed of sampling, prior and replication.
        progress: See :func:`sharpbayes.bayes.sample.sample_posterior`.
    """
    model = build(design)
    seeds = np.random.SeedSequence(seed).generate_state(3)
    trace = sample_posterior(model, sampler, seed=int(seeds[0]), progress=progress)
    groups = {name: node.to_dataset() for name, node in trace.children.items()}
    groups["diagnostics"] = diagnose(trace, sampler)
    groups["observed_data"] = observed(design)
    if sampler.predictive:
        prior = sample_prior(model, draws=sampler.predictive, seed=int(seeds[1]))
        groups |= {name: node.to_dataset() for name, node in prior.children.items()}
        few = thinned(groups["posterior"], draws=sampler.predictive)
        groups["posterior_predictive"] = posterior_predictive(few, design, seed=int(seeds[2]))
        groups["log_likelihood"] = log_likelihood(few, design)
    return {name: _label_ratings(group, ratings, design) for name, group in groups.items()}


def _label_ratings(group: xr.Dataset, ratings: Ratings, design: Design) -> xr.Dataset:
    """Give the dimensions of ratings the study's labels, one coordinate a column."""
    for scale in design.scales:
        dim = rating_dim(scale.name)
        if dim in group.dims:
            labels = {
                f"{scale.name}_{dim_name(column)}": (
                    dim,
                    np.asarray(held.labels)[held.code[scale.rows]],
                )
                for column, held in ratings.columns.items()
                if column != "scale"
            }
            group = group.drop_vars(dim, errors="ignore").assign_coords(labels)
    return group
