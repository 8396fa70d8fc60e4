"""Simulation-based calibration: whether the sampler returns the posterior of the model it is given.

Parameters are drawn from the prior and ratings from the model, at the study's own design; each set
of ratings is fitted as data would be. If everything is right, the truth is one more draw of the
posterior, so that its rank among the posterior's draws is uniform (Talts et al. 2018; Modrak et
al. 2023 for the log-likelihood among the quantities).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from arviz_stats.ecdf_utils import ecdf_pit
from numpy.typing import NDArray
from scipy.stats import binomtest

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.graph.model import build
from sharpbayes.bayes.graph.prior_draws import sample_prior
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.predict.categories import draw_categories, log_probability
from sharpbayes.bayes.predict.replication import latent_ratings, thin
from sharpbayes.bayes.sampling.convergence import FEW_LEVELS, check_convergence, stack_parameters
from sharpbayes.bayes.sampling.geometry import choose_weights
from sharpbayes.bayes.sampling.nuts import sample_graph, sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.progress import silent
from sharpbayes.execution.tasks import IN_PROCESS, Arrays, Execution, compute_parts
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

Floats = NDArray[np.float64]
Fit = Callable[[Ratings, Model, int], xr.DataTree]
Levels = dict[str, NDArray[np.integer]]
# Metrics of ratings by name, shape (sample,), from levels of each scale, shape (sample, rating).
Metrics = Callable[[Levels], Mapping[str, Floats]]

# Draws that a truth is ranked among: few enough of each fit to be nearly independent, if the fit
# has as many effective ones of every parameter and chains that agree.
RANKED, AGREE = 100, 1.05
LEVELS = (0.5, 0.8, 0.9, 0.95)
BAND, ERROR = 0.95, 0.05
BAND_DRAWS = 1000
REPORT_EVERY = 25


def calibrate(
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    simulations: int,
    seed: int,
    fit: Fit | None = None,
    metrics: Metrics | None = None,
    execution: Execution = IN_PROCESS,
) -> xr.Dataset:
    """Fit ratings with known truth many times, and say how truths lie in their posteriors.

    Quantities: every sd, correlation, threshold and effect of terms of up to 12 levels; of larger
    terms the first effect and the spread of all; the log-likelihood of all ratings; the mean level
    on each scale, and ``metrics``, of ratings made anew. The truth of those last ones is the value
    in further ratings of the same cells made from the true parameters, which the fit has not seen;
    its posterior is the value in ratings replicated from each draw. So what is checked is the
    posterior twin with ``uncertainty = ["ratings"]``, predictive noise included.

    Args:
        ratings: The study's own; their levels are not used.
        model: The model file.
        sampler: Settings of each fit.
        simulations: Number of fits.
        seed: Seed of the truths, ratings and fits.
        fit: What returns the posterior of ratings under a model, with a seed, in place of the
            sampler.
        metrics: Metrics of interest as functions of the ratings; where one is missing, it counts as
            less than any number.
        execution: Where simulations run and are kept. In other processes the chains of a fit run
            one after another, in this one together.

    Returns:
        What :func:`summarise_calibration` returns.
    """
    design = build_design(ratings, model)
    sampled = fit or _sampler(sampler, cores=1 if execution.map_function else None)
    seeds = np.random.SeedSequence(seed).generate_state(simulations + 1)
    truths = sample_prior(build(design), draws=simulations, seed=int(seeds[0]))[
        "prior"
    ].to_dataset()
    # A task that is sent to a worker cannot hold the progress callback of this process.
    progress = silent if execution.map_function else execution.progress

    def simulation(number: int) -> Arrays:
        if number % REPORT_EVERY == 0:
            progress(f"simulation {number + 1} of {simulations}")
        truth, rng = truths.isel(draw=[number]), np.random.default_rng(int(seeds[number + 1]))
        again = replace_categories(ratings, design, _levels(truth, design, rng))
        trace = sampled(again, model, int(rng.integers(2**31)))
        found = _places(trace, truth, build_design(again, model), rng, metrics)
        return {
            "quantity": np.array(list(found)),
            "pit": np.array(list(found.values())),
        } | _fit(check_convergence(trace, sampler))

    numbers = {f"simulation-{number}": number for number in range(simulations)}
    made = compute_parts(simulation, numbers, execution)
    return summarise_calibration(made, seed=seed)


def _fit(diagnostics: xr.Dataset) -> Arrays:
    """How a fit went: within the limits, largest R-hat, smallest ESS, divergences."""
    ess = np.minimum(diagnostics["ess_bulk"], diagnostics["ess_tail"])
    return {
        "converged": np.array(bool(diagnostics["converged"])),
        "rhat": np.array(float(diagnostics["rhat"].max())),
        "ess": np.array(float(ess.min())),
        "divergences": np.array(int(diagnostics["divergences"])),
    }


def _sampler(sampler: Sampler, *, cores: int | None = None) -> Fit:
    """What a fit of data does: a trial run that chooses coordinates, then the sampler."""
    execution = Execution(cores=cores)

    def fit(made: Ratings, model: Model, seed: int) -> xr.DataTree:
        design = build_design(made, model)
        if design.unsupported_by_kernel:
            return sample_graph(
                build(design, kernel_data=parameter_layout(design).kernel_data), sampler, seed=seed
            )
        design = build_design(
            made, model, non_centring=choose_weights(design, seed=seed, execution=execution)
        )
        return sample_kernel(
            design, parameter_layout(design), sampler, seed=seed, execution=execution
        )

    return fit


def _places(
    trace: xr.DataTree,
    truth: xr.Dataset,
    made: Design,
    rng: np.random.Generator,
    metrics: Metrics | None,
) -> dict[str, float]:
    """Place a truth in the posterior of ratings that were made of it."""
    draws = thin(trace["posterior"].to_dataset(), draws=RANKED)
    truth = xr.Dataset({name: _known(truth[str(name)], draws[name]) for name in draws})
    (true, seen), (drawn, replicated) = (_quantities(each, made, rng) for each in (truth, draws))
    places = {name: _pit(float(true[name][0]), drawn[name], rng) for name in true}
    if metrics is None:
        return places
    # In one call, which costs as much for the truth alone as for a hundred draws beside it.
    both = {name: np.concatenate([seen[name], replicated[name]]) for name in seen}
    measured = {name: np.nan_to_num(held, nan=-np.inf) for name, held in metrics(both).items()}
    return places | {name: _pit(held[0], held[1:], rng) for name, held in measured.items()}


def _levels(
    posterior: xr.Dataset, design: Design, rng: np.random.Generator
) -> list[NDArray[np.int16]]:
    """Levels of each scale that draws give; shape (sample, rating)."""
    return [
        draw_categories(latent_ratings(posterior, design, scale), rng) for scale in design.scales
    ]


def replace_categories(
    ratings: Ratings, design: Design, levels: Sequence[NDArray[np.integer]]
) -> Ratings:
    """Return other ratings of the same cells.

    Args:
        ratings: The ratings.
        design: Their design.
        levels: Levels of each scale of the design; shape (1, rating).
    """
    level = ratings.score.copy()
    for scale, own in zip(design.scales, levels, strict=True):
        level[scale.rows] = own[0]
    return replace(ratings, score=level)


def _quantities(
    draws: xr.Dataset, made: Design, rng: np.random.Generator
) -> tuple[dict[str, Floats], Levels]:
    """Return what is ranked, by name, shape (sample,), and ratings made anew."""
    found = dict(_parameters(draws))
    by_scale = [
        log_probability(latent_ratings(draws, made, scale)).sum(axis=1) for scale in made.scales
    ]
    found["log-likelihood"] = np.sum(by_scale, axis=0)
    names = [scale.name for scale in made.scales]
    levels: Levels = dict(zip(names, _levels(draws, made, rng), strict=True))
    for name, level in levels.items():
        found[f"replicated mean of {name}"] = level.mean(axis=1)
    return found, levels


def _parameters(draws: xr.Dataset) -> Iterator[tuple[str, Floats]]:
    """Yield every parameter of small terms, and of large ones the first and the spread."""
    for name in sorted(map(str, draws.data_vars)):
        if name.endswith(("_unit", "_placed", "_log")):
            continue
        labels, values = stack_parameters(draws[[name]])
        flat = values.reshape(len(values), -1)
        if name.startswith("correlation_"):
            below = np.flatnonzero(np.tri(int(np.sqrt(len(flat))), k=-1).ravel())
            labels, flat = [labels[row] for row in below], flat[below]
        seen = ~np.isnan(flat).any(axis=1)
        labels, flat = [label for label, keep in zip(labels, seen, strict=True) if keep], flat[seen]
        few = len(flat) if len(flat) <= FEW_LEVELS else 1
        yield from zip(labels[:few], flat[:few], strict=True)
        if few < len(flat):
            yield f"spread of {name}", flat.std(axis=0)


def _known(truth: xr.DataArray, draws: xr.DataArray) -> xr.DataArray:
    """A truth, missing where no ratings are and draws are missing."""
    return truth.where(draws.isel(chain=0, draw=0, drop=True).notnull())


def _pit(true: float, drawn: Floats, rng: np.random.Generator) -> float:
    """Place of a truth among draws, in (0, 1): uniform if it is one of them, ties at random."""
    below, ties = int((drawn < true).sum()), int((drawn == true).sum())
    return (below + rng.random() * (ties + 1)) / (len(drawn) + 1)


def summarise_calibration(made: Sequence[Arrays], *, seed: int) -> xr.Dataset:
    """Return bands, tests and coverage of places of truths.

    Args:
        made: Of each simulation ``quantity``, ``pit``, ``converged``, ``rhat``, ``ess`` and
            ``divergences``, as a store keeps them.
        seed: Seed of the bands.

    Returns:
        ``pit (quantity, simulation)`` in (0, 1); ``ecdf``, ``lower`` and ``upper`` less the
        diagonal over ``(quantity, point)`` with simultaneous 95% bands (Säilynoja et al. 2022, by
        ArviZ); ``outside (quantity)``; ``p_value`` and ``p_holm (quantity)`` of uniformity (ArviZ);
        ``coverage``, ``coverage_lower``, ``coverage_upper (quantity, level)`` of central
        intervals; ``fit_converged (simulation)`` by the study's limits, ``fit_rhat``, ``fit_ess``
        and ``fit_divergences``, the worst of its parameters; ``fit_ranked``, whether it has the
        100 effective draws and an R-hat of at most 1.05 that places among 100 draws need;
        ``calibrated``, 1 if no ``p_holm`` is below 5%.
    """
    names = made[0]["quantity"].tolist()
    places = [dict(zip(one["quantity"].tolist(), one["pit"], strict=True)) for one in made]
    pit = np.array([[one[name] for one in places] for name in names])
    curves = np.stack(
        [ecdf_pit(each, BAND, BAND_DRAWS, rng=np.random.default_rng(seed)) for each in pit], axis=1
    )
    point, ecdf, lower, upper = curves
    p_value = np.atleast_1d(array_stats.uniformity_test(pit, method="prit_c")[0])
    p_holm = holm(p_value)
    table = xr.Dataset(
        {
            "pit": (("quantity", "simulation"), pit),
            "ecdf": (("quantity", "point"), ecdf - point),
            "lower": (("quantity", "point"), lower - point),
            "upper": (("quantity", "point"), upper - point),
            "outside": ("quantity", ((ecdf < lower) | (ecdf > upper)).any(axis=1)),
            "p_value": ("quantity", p_value),
            "p_holm": ("quantity", p_holm),
            "calibrated": int((p_holm >= ERROR).all()),
        }
        | _fits(made),
        {"quantity": names, "point": point[0], "simulation": np.arange(pit.shape[1])},
    )
    return table.assign(_coverage(pit)).assign_coords(level=list(LEVELS))


def _fits(made: Sequence[Arrays]) -> dict[str, tuple[str, NDArray[np.generic]]]:
    """How the fits went, over simulations."""
    names = ("converged", "rhat", "ess", "divergences")
    found = {f"fit_{name}": np.array([one[name].item() for one in made]) for name in names}
    found["fit_ranked"] = (found["fit_rhat"] <= AGREE) & (found["fit_ess"] >= RANKED)
    return {name: ("simulation", values) for name, values in found.items()}


def _coverage(pit: Floats) -> dict[str, tuple[tuple[str, str], Floats]]:
    """Share of truths inside central intervals, with Wilson's 95% interval."""
    inside = np.abs(2.0 * pit - 1.0)[:, :, None] <= np.array(LEVELS)
    counts, total = inside.sum(axis=1), pit.shape[1]
    bounds = [
        [binomtest(int(count), total).proportion_ci(BAND, method="wilson") for count in row]
        for row in counts
    ]
    held = {
        "coverage": counts / total,
        "coverage_lower": np.array([[each.low for each in row] for row in bounds]),
        "coverage_upper": np.array([[each.high for each in row] for row in bounds]),
    }
    return {name: (("quantity", "level"), values) for name, values in held.items()}


def holm(p_value: Floats) -> Floats:
    """Return p values corrected for their number (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_value)
    steps = p_value[order] * np.arange(len(p_value), 0, -1)
    held = np.empty_like(p_value)
    held[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return held
