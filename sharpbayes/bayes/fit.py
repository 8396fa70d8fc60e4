"""Ratings + model file -> posterior, prior, predictive, log-likelihood and diagnostics."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.design import Design, dim_name, rating_dim
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.graph.model import build_model
from sharpbayes.bayes.graph.prior_draws import sample_prior
from sharpbayes.bayes.graph.verification import verify_kernel
from sharpbayes.bayes.predict import replication
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
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
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    seed: int,
    retries: int = 0,
    execution: Execution = IN_PROCESS,
) -> dict[str, xr.Dataset]:
    """Return ArviZ's groups by name, and ``diagnostics``.

    ``ratings`` label the rating dimensions. A fit that has not converged is sampled again, longer,
    up to ``retries`` times.
    """
    seeds = [int(word) for word in np.random.SeedSequence(seed).generate_state(5)]
    progress = execution.progress
    issues = [str(issue) for issue in find_issues(ratings, design)]
    for issue in issues[:REPORTED_ISSUES]:
        progress(issue)
    if not design.unsupported_by_kernel:
        progress("a short trial run")
    tuned = tune_design(design, ratings, model, seed=seeds[4], execution=execution)
    trace, diagnostics = sample_until_converged(
        lambda settings, own_seed: verify_and_sample(
            tuned, settings, seed=own_seed, verify_seed=seeds[1], execution=execution
        ),
        sampler,
        seed=seeds[0],
        retries=retries,
        progress=progress,
    )
    groups = {str(name): node.to_dataset() for name, node in trace.children.items()}
    groups["diagnostics"] = diagnostics.assign_attrs(not_identified=issues)
    groups["observed_data"] = replication.observed_data(tuned)
    groups["posterior"].attrs |= {
        "zero_sum": [term.name for term in tuned.terms if term.zero_sum],
        "non_centring": [f"{term.name}: {term.non_centring:.2f}" for term in tuned.terms],
        "left_out": list(tuned.omitted_terms),
    }
    if sampler.predictive_draws:
        progress("replicating ratings")
        prior = sample_prior(build_model(tuned), draws=sampler.predictive_draws, seed=seeds[2])
        groups |= {str(name): node.to_dataset() for name, node in prior.children.items()}
        draws = replication.thin(groups["posterior"], draws=sampler.predictive_draws)
        groups["posterior_predictive"] = replication.posterior_predictive(
            draws, tuned, seed=seeds[3]
        )
        groups["log_likelihood"] = replication.log_likelihood(draws, tuned)
    return {name: _label_ratings(group, ratings, tuned) for name, group in groups.items()}


def verify_and_sample(
    design: Design,
    sampler: Sampler,
    *,
    seed: int,
    verify_seed: int,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """Sample a design after comparing the kernel with PyMC's graph, where the kernel samples it."""
    if unsupported := design.unsupported_by_kernel:
        message = f"compiling PyMC's graph: the kernel does not support {format_list(unsupported)}"
        execution.progress(message)
    else:
        execution.progress("comparing the fast density with the model's definition")
        trim_memory()
        verify_kernel(design, seed=verify_seed)
        trim_memory()
        execution.progress("sampling")
    return sample_posterior(design, sampler, seed=seed, execution=execution)


def _label_ratings(group: xr.Dataset, ratings: Ratings, design: Design) -> xr.Dataset:
    """Label the dimensions of ratings by the study's columns, one coordinate a column."""
    for scale in design.scales:
        dim = rating_dim(scale.name)
        if dim in group.dims:
            labels = {
                f"{scale.name}_{dim_name(column)}": (
                    dim,
                    np.append(factor.labels, "")[factor.codes[scale.rows]],
                )
                for column, factor in ratings.factors.items()
                if column != "scale"
            }
            group = group.drop_vars(dim, errors="ignore").assign_coords(labels)
    return group
