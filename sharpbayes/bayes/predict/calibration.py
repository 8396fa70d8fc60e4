"""Simulation-based calibration: does the sampler return the posterior of its model?

Each simulation fits ratings that were drawn from the model with parameters from the prior. If
everything is right, the true value of a quantity is one more draw from its posterior, and its rank
among the posterior's draws is uniform (Talts et al. 2018; for the log-likelihood Modrak et al.
2023).

Given the observed ratings, parameters are draws of their posterior, and each fit has the observed
ratings together with one replicate of each. Ranks are uniform again, and the check is of the part
of the parameter space that the study is in (Säilynoja, Schmitt, Bürkner and Vehtari 2025).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from arviz_stats.ecdf_utils import ecdf_pit
from numpy.typing import NDArray
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.graph.model import build_model, sample_prior
from sharpbayes.bayes.predict.replication import (
    draw_classes,
    draw_ratings,
    joint_log_likelihood,
    latent_ratings,
    thin,
)
from sharpbayes.bayes.sampling.convergence import LARGE_TERM, check_convergence, stack_parameters
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_posterior
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.progress import silent
from sharpbayes.execution.tasks import IN_PROCESS, Arrays, Execution, compute_parts
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

# Returns the posterior of the ratings in a design, sampled with a seed.
Fit = Callable[[Design, int], xr.DataTree]
Categories = dict[str, NDArray[np.integer]]
# Metrics by name, shape (sample,), from categories of each scale, shape (sample, rating).
Metrics = Callable[[Categories], Mapping[str, Floats]]

# A true value is ranked among this many draws, so that they are nearly independent. This needs as
# many effective draws of every parameter, and an R-hat up to the limit.
RANKED_DRAWS, RANKED_RHAT = 100, 1.05
COVERAGE_LEVELS = (0.5, 0.8, 0.9, 0.95)
BAND_LEVEL, FAMILY_ERROR = 0.95, 0.05
BAND_DRAWS = 1000
FIT_QUALITY = ("converged", "rhat", "ess", "divergences")
REPORT_EVERY = 25


def calibrate(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    simulations: int,
    seed: int,
    fit: Fit | None = None,
    metrics: Metrics | None = None,
    truths: xr.Dataset | None = None,
    execution: Execution = IN_PROCESS,
) -> xr.Dataset:
    """Fit ratings with known parameters many times, and rank the true values in their posteriors.

    Quantities: every sd, correlation, threshold and effect of terms of up to 12 levels; for larger
    terms the first effect and the spread of all; the log-likelihood of all ratings; the mean
    category on each scale, and ``metrics``, of replicated ratings. The true value of these last
    ones is their value in further ratings that are drawn from the true parameters, and that the
    fit has not seen; their posterior is their value in the ratings replicated from each draw. This
    checks posterior metrics with ``uncertainty = ["ratings"]``, predictive noise included. A
    missing metric counts as less than any number.

    With ``truths``, draws of the posterior of the observed ratings from :func:`posterior_truths`,
    each fit has the observed ratings and one replicate of each, and no trial run. Otherwise the
    scores of ``ratings`` and the categories of ``design`` are not used. ``fit`` returns a posterior
    in place of the sampler. In other processes the chains of a fit run one after another,
    in this process together. :func:`summarise_calibration` describes the results.
    """
    cores = 1 if execution.map_function else None
    fit = fit or (
        sampling_fit(ratings, model, sampler, execution=Execution(cores=cores))
        if truths is None
        else partial(_sample, sampler=sampler, execution=Execution(cores=cores))
    )
    seeds = np.random.SeedSequence(seed).generate_state(simulations + 1)
    has_observed = truths is not None
    if truths is None:
        truths = draw_truths(design, simulations=simulations, seed=seed)
    # A task that is sent to a worker cannot hold the progress callback of this process.
    progress = silent if execution.map_function else execution.progress

    def simulate(number: int) -> Arrays:
        if number % REPORT_EVERY == 0:
            progress(f"simulation {number + 1} of {simulations}")
        truth, rng = truths.isel(draw=[number]), np.random.default_rng(int(seeds[number + 1]))
        with_classes = draw_classes(truth, design, known=has_observed, rng=rng)
        drawn = {
            scale.name: draw_ratings(
                latent_ratings(truth, design, scale), with_classes, design, rng
            )
            for scale in design.scales
        }
        simulated = (join_replicates if has_observed else replace_categories)(design, drawn)
        trace = fit(simulated, int(rng.integers(2**31)))
        cells = design if has_observed else simulated
        pit = _rank_quantities(trace, truth, simulated, cells, rng=rng, metrics=metrics)
        diagnostics = check_convergence(trace, sampler)
        ess = np.minimum(diagnostics["ess_bulk"], diagnostics["ess_tail"])
        return {
            "quantity": np.array(list(pit)),
            "pit": np.array(list(pit.values())),
            "converged": np.array(bool(diagnostics["converged"])),
            "rhat": np.array(float(diagnostics["rhat"].max())),
            "ess": np.array(float(ess.min())),
            "divergences": np.array(int(diagnostics["divergences"])),
        }

    numbers = {f"simulation-{number}": number for number in range(simulations)}
    return summarise_calibration(compute_parts(simulate, numbers, execution), seed=seed)


def draw_truths(design: Design, *, simulations: int, seed: int) -> xr.Dataset:
    """Draw the true parameters of every simulation from the prior, over (chain, draw, ...)."""
    state = int(np.random.SeedSequence(seed).generate_state(1)[0])
    tree = sample_prior(build_model(design), draws=simulations, seed=state)
    return tree["prior"].to_dataset()


def posterior_truths(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    simulations: int,
    seed: int,
    execution: Execution = IN_PROCESS,
) -> tuple[Design, xr.Dataset, bool]:
    """Fit the observed ratings, and draw the true parameters of every simulation from the fit.

    Returned are the design with the coordinates of the fit, parameters over (chain, draw, ...),
    evenly spaced among all draws, and whether the fit has converged.
    """
    state = int(np.random.SeedSequence(seed).generate_state(1)[0])
    tuned = tune_design(design, ratings, model, seed=state, execution=execution)
    trace = sample_posterior(tuned, sampler, seed=state, execution=execution)
    converged = bool(check_convergence(trace, sampler)["converged"])
    posterior = trace["posterior"].to_dataset()
    total, length = posterior.sizes["chain"] * posterior.sizes["draw"], posterior.sizes["draw"]
    position = np.linspace(0, total - 1, simulations).round().astype(int)
    chain, draw = (xr.DataArray(x, dims="truth") for x in np.divmod(position, length))
    truths = posterior.isel(chain=chain, draw=draw).drop_vars(["chain", "draw"])
    truths = truths.rename(truth="draw").expand_dims(chain=[0])
    return tuned, truths.assign_coords(draw=np.arange(simulations)), converged


def _sample(design: Design, seed: int, *, sampler: Sampler, execution: Execution) -> xr.DataTree:
    """Sample a design in the coordinates that it has."""
    return sample_posterior(design, sampler, seed=seed, execution=execution)


def sampling_fit(ratings: Ratings, model: Model, sampler: Sampler, *, execution: Execution) -> Fit:
    """Return a fit as of observed ratings: a trial run that chooses coordinates, then sampling."""

    def fit(design: Design, seed: int) -> xr.DataTree:
        tuned = tune_design(design, ratings, model, seed=seed, execution=execution)
        return sample_posterior(tuned, sampler, seed=seed, execution=execution)

    return fit


def replace_categories(design: Design, categories: Mapping[str, NDArray[np.integer]]) -> Design:
    """Return the design of other ratings of the same items by the same raters, (1, rating)."""
    scales = (replace(scale, category=categories[scale.name][0]) for scale in design.scales)
    return replace(design, scales=tuple(scales))


def join_replicates(design: Design, categories: Mapping[str, NDArray[np.integer]]) -> Design:
    """Return the design of its ratings together with one replicate of each, (1, rating)."""
    number = design.n_ratings
    both = np.tile(np.arange(number), 2)
    scales = tuple(
        replace(
            scale,
            rows=np.concatenate([scale.rows, scale.rows + number]),
            category=np.concatenate([scale.category, categories[scale.name][0]]),
        )
        for scale in design.scales
    )
    careless = design.careless and replace(design.careless, index=design.careless.index[both])
    terms = tuple(term.of(both) for term in design.terms)
    return replace(design, terms=terms, scales=scales, careless=careless, n_ratings=2 * number)


def _rank_quantities(
    trace: xr.DataTree,
    truth: xr.Dataset,
    design: Design,
    cells: Design,
    *,
    rng: np.random.Generator,
    metrics: Metrics | None,
) -> dict[str, float]:
    """Rank the true value of every quantity in the posterior of its simulated ratings.

    Further ratings are drawn for the ``cells``, a design with the observed cells once.
    """
    draws = thin(trace["posterior"].to_dataset(), draws=RANKED_DRAWS)
    # A true value without ratings is missing where the draws are.
    has_draws = {name: draws[name].isel(chain=0, draw=0, drop=True).notnull() for name in draws}
    truth = xr.Dataset({name: truth[str(name)].where(has_draws[name]) for name in draws})
    (true, true_categories), (drawn, categories) = (
        _quantities(values, design, cells, rng) for values in (truth, draws)
    )
    ranks = {name: _pit(float(true[name][0]), drawn[name], rng) for name in true}
    if metrics is None:
        return ranks
    # One call costs as much for the truth alone as for the truth and a hundred draws.
    both = {name: np.concatenate([true_categories[name], categories[name]]) for name in categories}
    values = {name: np.nan_to_num(value, nan=-np.inf) for name, value in metrics(both).items()}
    return ranks | {name: _pit(value[0], value[1:], rng) for name, value in values.items()}


def _quantities(
    draws: xr.Dataset, design: Design, cells: Design, rng: np.random.Generator
) -> tuple[dict[str, Floats], Categories]:
    """Return the ranked quantities by name, shape (sample,), and replicated ratings of cells."""
    values = dict(_parameters(draws)) | {"log-likelihood": joint_log_likelihood(draws, design)}
    with_classes = draw_classes(draws, design, known=True, rng=rng)
    categories: Categories = {
        scale.name: draw_ratings(latent_ratings(draws, cells, scale), with_classes, cells, rng)
        for scale in cells.scales
    }
    means = {f"replicated mean of {name}": c.mean(axis=1) for name, c in categories.items()}
    return values | means, categories


def _parameters(draws: xr.Dataset) -> Iterator[tuple[str, Floats]]:
    """Yield every parameter of small terms, and the first and the spread of large ones."""
    for name in sorted(map(str, draws.data_vars)):
        labels, values = stack_parameters(draws[[name]])
        flat, label = values.reshape(len(values), -1), np.array(labels, dtype=object)
        present = ~np.isnan(flat).any(axis=1)
        if name.startswith("correlation_"):
            # Each correlation stands once below the diagonal.
            present &= np.tri(int(np.sqrt(len(flat))), k=-1, dtype=bool).ravel()
        label, flat = label[present], flat[present]
        count = len(flat) if len(flat) <= LARGE_TERM else 1
        yield from zip(label[:count].tolist(), flat[:count], strict=True)
        if count < len(flat):
            yield f"spread of {name}", flat.std(axis=0)


def _pit(true: float, drawn: Floats, rng: np.random.Generator) -> float:
    """Rank of a true value among draws in (0, 1), uniform if it is one of them; ties at random."""
    below, ties = int((drawn < true).sum()), int((drawn == true).sum())
    return (below + rng.random() * (ties + 1)) / (len(drawn) + 1)


def summarise_calibration(parts: Sequence[Arrays], *, seed: int) -> xr.Dataset:
    """Return bands, tests and coverage of the ranks of true values, from the parts in a store.

    ``pit (quantity, simulation)`` in (0, 1); ``ecdf``, ``lower`` and ``upper`` less the diagonal
    over ``(quantity, point)`` with simultaneous 95% bands (Säilynoja et al. 2022, by ArviZ);
    ``outside (quantity)``; ``p_value`` and ``p_holm (quantity)`` of uniformity (ArviZ; Holm 1979);
    ``coverage``, ``coverage_lower``, ``coverage_upper (quantity, level)`` of central intervals;
    ``fit_converged (simulation)`` by the study's limits, ``fit_rhat``, ``fit_ess`` and
    ``fit_divergences``, the worst of its parameters; ``fit_ranked``, whether the fit has the 100
    effective draws and an R-hat of at most 1.05 that ranks need; ``rejected (quantity)``, whether
    ``p_holm`` is below 5%, so that ranks are not uniform; ``calibrated``, 1 if none is.
    """
    names = parts[0]["quantity"].tolist()
    ranks = [dict(zip(part["quantity"].tolist(), part["pit"], strict=True)) for part in parts]
    pit = np.array([[rank[name] for rank in ranks] for name in names])
    curves = [ecdf_pit(row, BAND_LEVEL, BAND_DRAWS, rng=np.random.default_rng(seed)) for row in pit]
    point, ecdf, lower, upper = np.stack(curves, axis=1)
    p_value = np.atleast_1d(array_stats.uniformity_test(pit, method="prit_c")[0])
    p_holm = multipletests(p_value, method="holm")[1]
    rejected = ~(p_holm >= FAMILY_ERROR)
    quality = {name: np.array([part[name].item() for part in parts]) for name in FIT_QUALITY}
    ranked = (quality["rhat"] <= RANKED_RHAT) & (quality["ess"] >= RANKED_DRAWS)
    table = xr.Dataset(
        {
            "pit": (("quantity", "simulation"), pit),
            "ecdf": (("quantity", "point"), ecdf - point),
            "lower": (("quantity", "point"), lower - point),
            "upper": (("quantity", "point"), upper - point),
            "outside": ("quantity", ((ecdf < lower) | (ecdf > upper)).any(axis=1)),
            "p_value": ("quantity", p_value),
            "p_holm": ("quantity", p_holm),
            "rejected": ("quantity", rejected),
            "calibrated": int(not rejected.any()),
        }
        | {f"fit_{name}": ("simulation", value) for name, value in quality.items()}
        | {"fit_ranked": ("simulation", ranked)},
        {"quantity": names, "point": point[0], "simulation": np.arange(pit.shape[1])},
    )
    return table.assign(_coverage(pit)).assign_coords(level=list(COVERAGE_LEVELS))


def _coverage(pit: Floats) -> dict[str, tuple[tuple[str, str], Floats]]:
    """Share of true values inside central intervals, with Wilson's 95% interval."""
    inside = np.abs(2.0 * pit - 1.0)[:, :, None] <= np.array(COVERAGE_LEVELS)
    counts, total = inside.sum(axis=1), pit.shape[1]
    bounds = [binomtest(int(n), total).proportion_ci(BAND_LEVEL, "wilson") for n in counts.flat]
    lower, upper = np.array(bounds).T.reshape(2, *counts.shape)
    dims = ("quantity", "level")
    values = {"coverage": counts / total, "coverage_lower": lower, "coverage_upper": upper}
    return {name: (dims, value) for name, value in values.items()}
