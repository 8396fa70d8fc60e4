"""Ratings + model file -> posterior, prior, predictive, log-likelihood and diagnostics."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.design import Design, dim_name, rating_dim
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build
from sharpbayes.bayes.graph.prior_draws import sample_prior
from sharpbayes.bayes.graph.verification import verify
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.predict.replication import (
    log_likelihood,
    observed,
    posterior_predictive,
    thin,
)
from sharpbayes.bayes.sampling.geometry import choose_weights
from sharpbayes.bayes.sampling.nuts import sample_graph, sample_kernel
from sharpbayes.bayes.sampling.retry import sample_until_converged
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import format_list
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.execution.threads import trim_memory
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

# Progress reports so many issues; `sharpbayes check` and the results list all.
REPORTED_ISSUES = 5


def fit_ratings(
    first: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    seed: int,
    retries: int = 0,
    execution: Execution = IN_PROCESS,
) -> dict[str, xr.Dataset]:
    """Return ArviZ's groups by name, and ``diagnostics``.

    Args:
        first: The model's design for these ratings, as
            :func:`sharpbayes.bayes.design.indexing.build_design` builds it.
        ratings: Observed ratings; they label the rating dimensions.
        model: The model file.
        sampler: Chains, draws, and limits of convergence.
        seed: Seed of sampling, prior and replication.
        retries: How often a fit that has not converged is sampled again, longer.
        execution: Where chains run, where they are kept, and who hears of progress.
    """
    seeds = [int(each) for each in np.random.SeedSequence(seed).generate_state(5)]
    progress = execution.progress
    issues = [str(issue) for issue in find_issues(ratings, first)]
    for issue in issues[:REPORTED_ISSUES]:
        progress(issue)
    powers = trial_weights(first, seed=seeds[4], execution=execution)
    design = build_design(ratings, model, non_centring=powers)
    trace, diagnostics = sample_until_converged(
        lambda settings, own: sample_terms(design, settings, [own, seeds[1]], execution=execution),
        sampler,
        seed=seeds[0],
        retries=retries,
        progress=progress,
    )
    groups = {str(name): node.to_dataset() for name, node in trace.children.items()}
    groups["diagnostics"] = diagnostics.assign_attrs(not_identified=issues)
    groups["observed_data"] = observed(design)
    groups["posterior"].attrs |= _geometry(design)
    if sampler.predictive_draws:
        progress("replicating ratings")
        prior = sample_prior(build(design), draws=sampler.predictive_draws, seed=seeds[2])
        groups |= {str(name): node.to_dataset() for name, node in prior.children.items()}
        few = thin(groups["posterior"], draws=sampler.predictive_draws)
        groups["posterior_predictive"] = posterior_predictive(few, design, seed=seeds[3])
        groups["log_likelihood"] = log_likelihood(few, design)
    return {name: _label_ratings(group, ratings, design) for name, group in groups.items()}


def trial_weights(first: Design, *, seed: int, execution: Execution) -> dict[str, float]:
    """Choose by a short trial run of terms as placed at first how each is sampled."""
    if first.unsupported_by_kernel:
        return {}
    execution.progress("a short trial run")
    return choose_weights(first, seed=seed, execution=execution)


def _geometry(design: Design) -> dict[str, list[str]]:
    """What was declared zero-sum, and how each term was sampled; the posterior is the same."""
    return {
        "zero_sum": [term.name for term in design.terms if term.zero_sum],
        "non_centring": [f"{term.name}: {term.non_centring:.2f}" for term in design.terms],
        "left_out": list(design.omitted_terms),
    }


def sample_terms(
    design: Design, sampler: Sampler, seeds: list[int], *, execution: Execution
) -> xr.DataTree:
    """Sample through the kernel where it can, after comparing it with the definition."""
    flat = parameter_layout(design)
    if design.unsupported_by_kernel:
        execution.progress(
            f"compiling PyMC's graph: {format_list(design.unsupported_by_kernel)} is outside the fast path"
        )
        return sample_graph(
            build(design, kernel_data=flat.kernel_data), sampler, seed=seeds[0], execution=execution
        )
    execution.progress("comparing the fast density with the model's definition")
    trim_memory()
    verify(design, seed=seeds[1])
    trim_memory()
    execution.progress("sampling")
    return sample_kernel(design, flat, sampler, seed=seeds[0], execution=execution)


def _label_ratings(group: xr.Dataset, ratings: Ratings, design: Design) -> xr.Dataset:
    """Give the dimensions of ratings the study's labels, one coordinate a column."""
    for scale in design.scales:
        dim = rating_dim(scale.name)
        if dim in group.dims:
            labels = {
                f"{scale.name}_{dim_name(column)}": (
                    dim,
                    np.append(held.labels, "")[held.codes[scale.rows]],
                )
                for column, held in ratings.factors.items()
                if column != "scale"
            }
            group = group.drop_vars(dim, errors="ignore").assign_coords(labels)
    return group
