"""How often bootstrap intervals of a panel hold the truth, in studies simulated from its model."""

from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_bootstrap import bootstrap_profile
from sharpbayes.analysis.profile_plan import ProfilePlan, tabulate_replicates
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.predict.replication import draw_new_levels, latent_ratings
from sharpbayes.execution.tasks import IN_PROCESS, Arrays, Execution, compute_parts
from sharpbayes.metrics.panel.profile import METRICS
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.replicates import Categories, pool_replicates

# The population has so many times the prompts of the study.
POPULATION = 20
MAX_REPLICATES = 1000
# Separates the random streams of these studies from those of the fits.
STREAM = 0xB007
COVERED = tuple(metric.name for metric in METRICS if metric.compared)


def bootstrap_coverage(
    metrics: PanelMetrics,
    design: Design,
    truths: xr.Dataset,
    *,
    seed: int,
    execution: Execution = IN_PROCESS,
) -> xr.Dataset:
    """Return the coverage of the study's bootstrap intervals in studies of known parameters.

    Each draw of ``truths`` over (chain, draw, ...) gives ratings for the cells of the study, whose
    intervals are those of `measure`, of at most 1,000 resamples. The truth is the metric of ratings
    of 20 times as many new prompts, by the same judges of the same models. ``bootstrap_coverage``
    is over (metric, model), of mean, volatility, CVaR and policy score. Missing intervals are left
    out.
    """
    [plan] = metrics.plans
    plan = _with_fewer_replicates(plan)

    def simulate(number: int) -> Arrays:
        rng = np.random.default_rng([seed, STREAM, number])
        draw = truths.isel(draw=[number])
        study = _tabulate(replace(metrics, plans=[plan]), draw, design, rng)
        new = draw_new_levels(truths.isel(draw=[number] * POPULATION), design, "prompt", rng=rng)
        population = _tabulate(metrics, new, design, rng)
        truth = replace(plan, table=population).profile()
        bootstrapped = bootstrap_profile(replace(plan, table=study))
        covered = [_holds(bootstrapped.interval(name), truth[name]) for name in COVERED]
        return {"covered": np.stack(covered)}

    numbers = {f"bootstrap-{number}": number for number in range(truths.sizes["draw"])}
    covered = np.stack([part["covered"] for part in compute_parts(simulate, numbers, execution)])
    boot = plan.study.spec.bootstrap
    array = xr.DataArray(covered, dims=("simulation", "metric", "model")).mean("simulation")
    return xr.Dataset(
        {"bootstrap_coverage": array},
        {"metric": list(COVERED), "model": metrics.observed["model"].to_numpy()},
        {
            "bootstrap_interval": boot.interval,
            "bootstrap_level": boot.level,
            "bootstrap_studies": len(covered),
        },
    )


def _with_fewer_replicates(plan: ProfilePlan) -> ProfilePlan:
    """The plan with at most so many resamples."""
    boot = plan.study.spec.bootstrap
    fewer = boot.model_copy(update={"replicates": min(boot.replicates, MAX_REPLICATES)})
    spec = plan.study.spec.model_copy(update={"bootstrap": fewer})
    return replace(plan, study=replace(plan.study, spec=spec))


def _tabulate(
    metrics: PanelMetrics, draws: xr.Dataset, design: Design, rng: np.random.Generator
) -> xr.Dataset:
    """Harm and risk of each prompt in ratings of all draws, pooled over the draws."""
    ratings: Categories = {
        scale.name: latent_ratings(draws, design, scale).draw(rng) for scale in design.scales
    }
    [table] = tabulate_replicates(metrics.plans, metrics.positions.fill(ratings))
    return pool_replicates(table, draws.sizes["draw"], "prompt").isel(draw=0, drop=True)


def _holds(interval: xr.DataArray, truth: xr.DataArray) -> np.ndarray:
    """Whether an interval holds the truth, by model; NaN without an interval."""
    lower, upper = interval.transpose("bound", "model").to_numpy()
    holds = (lower <= truth.to_numpy()) & (truth.to_numpy() <= upper)
    return np.where(np.isnan(lower), np.nan, holds)
