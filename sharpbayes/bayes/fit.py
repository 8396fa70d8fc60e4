"""Ratings + model file -> posterior, prior, predictive, log-likelihood and diagnostics."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.design import Design, Floats, rating_dim
from sharpbayes.bayes.design.identifiability import find_issues
from sharpbayes.bayes.design.size import (
    MAX_LABELLED,
    MAX_PRIOR_DRAWS,
    count_predictive_draws,
    count_prior_draws,
    keeps_ratings,
)
from sharpbayes.bayes.kernel.comparisons import comparison_digest, has_passed, remember_passed
from sharpbayes.bayes.predict import replication
from sharpbayes.bayes.predict.log_prior import log_prior
from sharpbayes.bayes.predict.prior import draw_prior
from sharpbayes.bayes.predict.reweighting import EarlierFit
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.bayes.sampling.retries import sample_until_converged
from sharpbayes.bayes.update import shorten_tuning, start_from, weight_draws
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import format_list
from sharpbayes.execution.progress import Phase, ProgressCallback
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.execution.threads import run_both, trim_memory
from sharpbayes.spec.model import Model, dim_name
from sharpbayes.spec.study import Sampler
from sharpbayes.storage.precision import round_draws, round_to_digits

# Progress reports so many issues; `sharpbayes check` and the results list all.
REPORTED_ISSUES = 5
# Significant binary digits of the log-likelihood of a rating, which is exact to 0.4% of its value.
LOG_LIKELIHOOD_DIGITS = 8
# Dimensions of a scale are `score_rating` and so on: a column of such a name labels no rating.
OF_SCALES = ("rating", "cutpoint", "gap")


def fit_ratings(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    seed: int,
    retries: int = 0,
    earlier: EarlierFit | None = None,
    execution: Execution = IN_PROCESS,
) -> dict[str, xr.Dataset]:
    """Return ArviZ's groups by name, and ``diagnostics``.

    ``ratings`` label the rating dimensions. A fit that has not converged is sampled again, longer,
    up to ``retries`` times. Of many ratings, those that the draws would replicate are not among the
    groups, nor is their log-likelihood; ``posterior_predictive`` has the draws that do it. A fit of
    ratings that were added to those of an ``earlier`` fit goes on from it, and ``diagnostics`` has
    the attribute ``update``, which says how.
    """
    seeds, progress = seeds_of_steps(seed), execution.progress
    issues = report_issues(ratings, design, progress)
    tuned, trace, diagnostics = _draw_posterior(
        design,
        ratings,
        model,
        sampler,
        seeds=seeds,
        retries=retries,
        earlier=earlier,
        execution=execution,
    )
    groups = {str(name): node.to_dataset() for name, node in trace.children.items()}
    groups["diagnostics"] = diagnostics.assign_attrs(not_identified=issues)
    return complete_groups(groups, tuned, ratings, sampler, seeds=seeds, progress=progress)


def seeds_of_steps(seed: int) -> list[int]:
    """Return a seed for each step of a fit that draws random numbers."""
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(6)]


def report_issues(ratings: Ratings, design: Design, progress: ProgressCallback) -> list[str]:
    """Return what ratings do not identify of a design; the first ones are told."""
    issues = [str(issue) for issue in find_issues(ratings, design)]
    for issue in issues[:REPORTED_ISSUES]:
        progress(issue)
    return issues


def complete_groups(
    groups: dict[str, xr.Dataset],
    tuned: Design,
    ratings: Ratings,
    sampler: Sampler,
    *,
    seeds: Sequence[int],
    progress: ProgressCallback,
) -> dict[str, xr.Dataset]:
    """Return groups with draws of a posterior, and all that follows from the draws."""
    # Whatever follows is computed from the draws as they are stored.
    groups["posterior"] = _round_parameters(groups["posterior"], tuned)
    groups["observed_data"] = replication.observed_data(tuned)
    groups["posterior"].attrs |= {
        "zero_sum": [term.name for term in tuned.terms if term.zero_sum],
        # Weighted draws of an earlier fit were sampled with its weights.
        "non_centring": groups["posterior"].attrs.get("non_centring")
        or [f"{term.name}: {term.non_centring:.2f}" for term in tuned.terms],
        "left_out": [*tuned.omitted_terms, *(stem for stem, _ in tuned.unidentified)],
    }
    groups["log_prior"] = round_draws(log_prior(groups["posterior"], tuned))
    if sampler.predictive_draws:
        progress(Phase.REPLICATION)
        size = min(sampler.predictive_draws, MAX_PRIOR_DRAWS)
        groups |= _sample_prior(tuned, draws=size, seed=seeds[2])
        groups["prior"] = _round_parameters(groups["prior"], tuned)
        number = count_predictive_draws(tuned.n_ratings, sampler.predictive_draws)
        draws = replication.thin(groups["posterior"], draws=number)
        groups |= _predict_ratings(draws, tuned, seed=seeds[3])
    labels = _rating_labels(ratings, tuned)
    return {name: _label_ratings(group, labels) for name, group in groups.items()}


def _predict_ratings(draws: xr.Dataset, design: Design, *, seed: int) -> dict[str, xr.Dataset]:
    """Return ``posterior_predictive`` and ``log_likelihood``; of many ratings the draws alone."""
    if not keeps_ratings(design.n_ratings, draws.sizes["chain"] * draws.sizes["draw"]):
        return {"posterior_predictive": draws[["chain", "draw"]].drop_attrs()}
    log_likelihood, predictive = run_both(
        lambda: replication.log_likelihood(draws, design),
        lambda: replication.posterior_predictive(draws, design, seed=seed),
    )
    return {
        "posterior_predictive": predictive,
        "log_likelihood": log_likelihood.map(
            lambda x: x.copy(data=round_to_digits(x.to_numpy(), LOG_LIKELIHOOD_DIGITS))
        ),
    }


def _draw_posterior(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    seeds: Sequence[int],
    retries: int,
    earlier: EarlierFit | None,
    execution: Execution,
) -> tuple[Design, xr.DataTree, xr.Dataset]:
    """Return the design that was sampled, draws and diagnostics.

    With an ``earlier`` fit its draws are weighted, where that is reliable, or chains start from
    them, and diagnostics say how.
    """
    update: dict[str, str] = {}
    if earlier is not None:
        weighted = weight_draws(earlier, design, sampler, seed=seeds[5])
        update = {"update": json.dumps(weighted.facts)}
        execution.progress(weighted.sentence)
        if weighted.diagnostics is not None:
            return design, weighted.trace, weighted.diagnostics.assign_attrs(update)
    starts: Floats | None = None
    if earlier is None or design.unsupported_by_kernel:
        tuned = tune_design(design, ratings, model, seed=seeds[4], execution=execution)
    else:
        tuned, starts = start_from(earlier, design, ratings, model)
        sampler = shorten_tuning(sampler)
    trace, diagnostics = sample_until_converged(
        lambda settings, own_seed: verify_and_sample(
            tuned, settings, seed=own_seed, verify_seed=seeds[1], starts=starts, execution=execution
        ),
        sampler,
        seed=seeds[0],
        retries=retries,
        progress=execution.progress,
    )
    return tuned, trace, diagnostics.assign_attrs(update)


def _round_parameters(draws: xr.Dataset, design: Design) -> xr.Dataset:
    """Round draws, except cutpoints, of which two might meet, and matrices of correlations."""
    cutpoints = {f"threshold_{scale.name}" for scale in design.scales}
    exact = [x for x in map(str, draws) if x in cutpoints or x.startswith("correlation_")]
    return round_draws(draws).assign(draws[exact].data_vars)


def _sample_prior(design: Design, *, draws: int, seed: int) -> dict[str, xr.Dataset]:
    """Return ``prior`` and ``prior_predictive``, by PyMC where it has what the program lacks.

    Of many ratings the latter has fewer draws.
    """
    predicted = count_prior_draws(design.n_ratings, draws)
    if not design.unsupported_by_kernel:
        return draw_prior(design, draws=draws, predicted=predicted, seed=seed)
    from sharpbayes.bayes.graph.model import build_model, sample_prior  # noqa: PLC0415 - PyMC is slow to load

    tree = sample_prior(build_model(design), draws=draws, seed=seed)
    groups = {str(name): node.to_dataset() for name, node in tree.children.items()}
    first = groups["prior_predictive"].isel(draw=slice(predicted))
    return groups | {"prior_predictive": first}


def verify_and_sample(
    design: Design,
    sampler: Sampler,
    *,
    seed: int,
    verify_seed: int,
    starts: Floats | None = None,
    execution: Execution = IN_PROCESS,
) -> xr.DataTree:
    """Sample a design while the kernel is compared with PyMC's graph, where the kernel samples it.

    Draws are returned after the comparison has passed; one that passed here before is not repeated.
    """

    def sample() -> xr.DataTree:
        return sample_posterior(design, sampler, seed=seed, starts=starts, execution=execution)

    if unsupported := design.unsupported_by_kernel:
        message = f"compiling PyMC's graph: the kernel does not support {format_list(unsupported)}"
        execution.progress(message)
        execution.progress(Phase.SAMPLING)
        return sample()
    execution.progress(Phase.SAMPLING)
    trim_memory()
    digest = comparison_digest(design, seed=verify_seed)
    if has_passed(digest):
        return sample()
    trace, _ = run_both(sample, lambda: _compare_with_graph(design, digest, seed=verify_seed))
    return trace


def _compare_with_graph(design: Design, digest: str, *, seed: int) -> None:
    """Compare the kernel with PyMC's graph, and keep that they agree."""
    from sharpbayes.bayes.graph.verification import verify_kernel  # noqa: PLC0415 - PyMC is slow to load

    verify_kernel(design, seed=seed)
    remember_passed(digest)
    trim_memory()


def _rating_labels(ratings: Ratings, design: Design) -> dict[str, dict[str, Any]]:
    """Return coordinates of each dimension of ratings: the study's columns, unless they are many.

    All groups share these texts in memory.
    """
    if design.n_ratings > MAX_LABELLED:
        return {rating_dim(scale.name): {} for scale in design.scales}
    return {
        (dim := rating_dim(scale.name)): {
            f"{scale.name}_{dim_name(column)}": (
                dim,
                np.append(factor.labels, "")[factor.codes[scale.rows]],
            )
            for column, factor in ratings.factors.items()
            if column != "scale" and dim_name(column) not in OF_SCALES
        }
        for scale in design.scales
    }


def _label_ratings(group: xr.Dataset, labels: dict[str, dict[str, Any]]) -> xr.Dataset:
    """Label the dimensions of ratings of a group."""
    for dim, coords in labels.items():
        if dim in group.dims:
            group = group.drop_vars(dim, errors="ignore").assign_coords(coords)
    return group
