"""Coordinates of the effects: a short trial run tells how much the ratings inform them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.linalg import eigh

from sharpbayes.bayes.design.design import CENTRED_BELOW, Design, Floats, Term
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.bayes.sampling.start import add_reference
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

TRIAL = Sampler(chains=2, tune=100, draws=50, max_depth=5)
# Of the weights 0, 0.25, 0.5, 0.75 and 1, those nearest to this slope mixed best
# where measured (docs/adr/0003).
WEIGHT_PER_SHARE = 1.4
# A low quantile of the sd: where it may be near 0, centred effects get stuck in a funnel.
LOW_QUANTILE = 0.05
# Keeps a matrix of correlations that are nearly 1 positive definite.
ROUNDING = 1e-6
# Ratings of the trial run; of more some are taken at random, and of each scale so many.
MAX_TRIAL_RATINGS, MIN_PER_SCALE = 1_000_000, 1_000


def tune_design(
    design: Design, ratings: Ratings, model: Model, *, seed: int, execution: Execution = IN_PROCESS
) -> Design:
    """Return a design with the non-centring weights that :func:`choose_weights` chooses.

    Where raters may be careless it has a reference for their effects too.

    ``ratings`` may be others of the same items by the same raters: the categories of the design
    are kept.
    """
    if design.unsupported_by_kernel:
        return design
    weights = choose_weights(add_reference(design), seed=seed, execution=execution)
    return set_weights(design, ratings, model, weights)


def set_weights(
    design: Design, ratings: Ratings, model: Model, weights: Mapping[str, float]
) -> Design:
    """Return a design with these non-centring weights, and a reference where it has one."""
    tuned = replace(build_design(ratings, model, non_centring=weights), scales=design.scales)
    return add_reference(tuned)


def choose_weights(
    design: Design, *, seed: int, execution: Execution = IN_PROCESS
) -> dict[str, float]:
    """Return what :func:`find_weights` chooses by a trial run of a million ratings at most."""
    if not any(term.n_sds for term in design.terms):
        return {}
    return run_trial(design, seed=seed, execution=execution)[0]


def run_trial(
    design: Design, *, seed: int, execution: Execution
) -> tuple[dict[str, float], xr.Dataset]:
    """Return the weights that a trial run of a million ratings at most chooses, and its draws."""
    part = take_ratings(design, seed=seed)
    trace = sample_kernel(part, TRIAL, seed=seed, execution=Execution(cores=execution.cores))
    trial = trace["posterior"].to_dataset()
    return find_weights(trial, part, rating_share=part.n_ratings / design.n_ratings), trial


def find_weights(
    posterior: xr.Dataset, design: Design, *, rating_share: float = 1.0
) -> dict[str, float]:
    """Return the non-centring weight of each term that has an sd of its own, by draws.

    Effects that keep a share s of their prior variance are nearly independent of their sd when
    they are divided by sd^w, w = min(1, 1.4 s), with

    s = mean_i Var(effect_i | ratings) / q(sd | ratings)^2,

    where q is the 5% quantile. The mean of a group of effects that is only identified together
    with another term is left out. Of correlated effects s is the share of the combination of
    levels that keeps most, such as the difference of two levels that nearly always agree.

    Draws may be of a share f of the ratings, ``rating_share``, at random. n ratings with
    information I each leave s = 1 / (1 + n I sd^2) of the variance, so that all of them leave
    f s / (f s + 1 - s) where those of the draws leave s.
    """
    weights, posterior = {}, _add_parts(posterior, design)
    for term in (term for term in design.terms if term.n_sds and not term.sum_term):
        share = prior_variance_share(posterior, design, term)
        if rating_share < 1.0:
            share = rating_share * share / (rating_share * share + 1.0 - min(share, 1.0))
        weights[term.name] = min(1.0, WEIGHT_PER_SHARE * share)
    # A term that holds the means of other terms is sampled together with them, and the ratings
    # inform their sum. It is centred unless the ratings say too little about its own effects.
    holders = {term.mean_holder for term in design.terms if term.mean_holder}
    return weights | {name: 0.0 for name in holders if weights.get(name, 0.0) < CENTRED_BELOW}


def _add_parts(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return draws with sums, and their sds, in place of the terms that are sampled by them."""
    for part in (term for term in design.terms if term.sum_term):
        term = next(term for term in design.terms if term.name == part.sum_term)
        effects, of_part = (
            posterior[t.name].transpose("chain", "draw", *t.dims) for t in (term, part)
        )
        sums = effects + of_part.to_numpy().reshape(effects.shape)
        sd = np.hypot(posterior[f"sd_{term.stem}"], posterior[f"sd_{part.stem}"])
        posterior = posterior.assign({term.name: sums, f"sd_{term.stem}": sd})
    return posterior


def take_ratings(design: Design, *, seed: int) -> Design:
    """Return the design of some ratings, taken at random, where there are many."""
    if design.n_ratings <= MAX_TRIAL_RATINGS:
        return design
    rng, rows = np.random.default_rng(seed), []
    for scale in design.scales:
        share = MAX_TRIAL_RATINGS * len(scale.rows) // design.n_ratings
        number = min(len(scale.rows), max(share, MIN_PER_SCALE))
        rows.append(rng.choice(scale.rows, number, replace=False))
    return design.of(np.sort(np.concatenate(rows)))


def prior_variance_share(posterior: xr.Dataset, design: Design, term: Term) -> float:
    """Return the mean share of their prior variance that effects keep, less the means of groups.

    The mean of a group is identified only together with another term. Of correlated effects it is
    the largest share that a combination of levels keeps.
    """
    parents = [parent.position for parent in design.parents(term) if parent.by_mean]
    groups = parents[0] if parents else term.mean_group
    if term.kind == "slope":  # The common slope and the mean of its deviations.
        groups = np.zeros_like(groups)
    values = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    # The draws of an earlier fit are needed as they are: chains begin at some of them.
    flat = term.to_effects(values).reshape(-1, term.size).copy()
    # Gap effects of a level without ratings on the scale are missing.
    present = ~np.isnan(flat).any(axis=0)
    for group in np.unique(groups[present & (groups >= 0)]):
        members = present & (groups == group)
        flat[:, members] -= flat[:, members].mean(axis=1, keepdims=True)
    rated = present & (np.isin(np.arange(term.size), term.index) | (term.kind == "gap"))
    sd = posterior[f"sd_{term.stem}"].quantile(LOW_QUANTILE, ("chain", "draw"))
    complete_rows = rated.reshape(-1, term.shape[-1]).all(axis=1) if term.correlation else rated
    if term.correlation and complete_rows.any():
        rows = flat.reshape(len(flat), -1, sd.size)[:, complete_rows]
        return _largest_share(rows, sd.to_numpy(), _mean_correlation(posterior, term))
    return float(flat[:, rated].var(axis=0).mean() / (sd**2).mean())


def _mean_correlation(posterior: xr.Dataset, term: Term) -> Floats:
    """Return the mean of a term's matrices of correlations."""
    dim = term.dims[-1]
    matrix = posterior[f"correlation_{term.stem}"].transpose(..., dim, f"{dim}_other")
    return matrix.mean(("chain", "draw")).to_numpy()


def _largest_share(rows: Floats, sd: Floats, correlation: Floats) -> float:
    """Return the largest share of its prior variance that a combination of levels keeps.

    It is the largest eigenvalue of the posterior covariance within rows, of effects over (sample,
    row, level), relative to the covariance of the prior.
    """
    errors = (rows - rows.mean(axis=0)).reshape(-1, sd.size)
    matrix = (1.0 - ROUNDING) * correlation + ROUNDING * np.eye(sd.size)
    prior = matrix * np.outer(sd, sd)
    return float(eigh(errors.T @ errors / len(errors), prior, eigvals_only=True)[-1])
