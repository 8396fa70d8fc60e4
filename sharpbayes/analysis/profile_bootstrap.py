"""Resamples of the prompts of a panel, from which intervals of its profile follow."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.rare_harm import bound_rare_harm
from sharpbayes.analysis.shared_prompts import SharedPrompts, find_prompt_sets
from sharpbayes.metrics.panel.evidence import count_prompts, counted_answers, spread_freedom
from sharpbayes.metrics.panel.profile import METRICS
from sharpbayes.metrics.stats.clusters import scale_errors
from sharpbayes.metrics.stats.resampling import block_size, bootstrap, jackknife

# Metrics of which the differences between models have intervals.
COMPARED = tuple(metric.name for metric in METRICS if metric.compared)


def bootstrap_profile(
    plan: ProfilePlan, *, names: Collection[str] | None = None, differences: bool = False
) -> BootstrappedProfile:
    """Resample the prompts of a panel, the same for every model.

    ``names`` restricts the metrics. With ``differences`` intervals of differences alone are wanted,
    which need no standard errors.
    """
    errors = plan.study.spec.bootstrap.interval == "studentized" and not differences
    resampled, jackknifed = _resample(
        plan,
        partial(plan.profile_resample, errors=errors, names=names),
        partial(plan.profile, names=names),
    )
    observed = plan.profile(errors=errors, names=names)
    if errors and plan.clusters is not None:
        of_metric = {str(name): f"{name}_error" for name in observed if f"{name}_error" in observed}
        observed, resampled = scale_errors(observed, resampled, of_metric)
    return BootstrappedProfile(
        observed=observed,
        resampled=resampled,
        jackknifed=jackknifed,
        prompts=count_prompts(plan.table["log_risk"], weights=plan.target_weights()),
        fewest_prompts=plan.fewest_prompts,
        tail_prompts=plan.tail_prompts,
        alpha=plan.weights.tail.alpha,
        ceiling=plan.ceiling,
        bootstrap=plan.study.spec.bootstrap,
        shared=_share_prompts(plan),
        rare_harm=bound_rare_harm(plan, observed) if errors else None,
        clusters=plan.clusters,
        freedom=freedom_of_shares(plan),
    )


def freedom_of_shares(plan: ProfilePlan) -> xr.DataArray | None:
    """Return the degrees of freedom of means under shares of categories; None without shares.

    A few prompts of a category with a large share carry most of an error, and show little of it.
    """
    if plan.shares is None:
        return None
    return spread_freedom(plan.table["log_risk"], weights=plan.target_weights())


def bootstrap_differences(plan: ProfilePlan, names: Collection[str]) -> BootstrappedProfile:
    """Resample what intervals of differences of some metrics need."""
    return bootstrap_profile(plan, names=names, differences=True)


def _resample(
    plan: ProfilePlan,
    resample: Callable[[xr.DataArray], xr.Dataset],
    leave_out: Callable[[xr.DataArray], xr.Dataset],
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """A statistic of resampled prompts and, for BCa intervals, without each prompt in turn."""
    boot, prompts = plan.study.spec.bootstrap, plan.table["prompt"]
    block = block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim])))
    replicates, seed = boot.replicates, plan.study.spec.seed
    resampled = bootstrap(
        resample, prompts, replicates=replicates, seed=seed, dim="prompt", block=block
    )
    if boot.interval != "bca":
        return resampled, None
    return resampled, jackknife(leave_out, prompts, dim="prompt", block=block)


def _share_prompts(plan: ProfilePlan) -> SharedPrompts | None:
    """The metrics that models are compared by, on the prompts of both models of every pair."""
    counted = counted_answers(plan.table["log_risk"], weights=plan.target_weights())
    sets = find_prompt_sets(counted)
    if sets is None:
        return None
    table = plan.table.drop_vars(["judge", "sub_index"], errors="ignore")
    plans = [replace(plan, table=table.where(mask)) for mask in sets.masks]

    def profile_sets(counts: xr.DataArray | None = None, *, resample: bool = False) -> xr.Dataset:
        profiles = [
            part.profile_resample(counts, names=COMPARED)
            if resample and counts is not None
            else part.profile(counts, names=COMPARED)
            for part in plans
        ]
        return xr.concat(profiles, "prompt_set")

    resampled, jackknifed = _resample(plan, partial(profile_sets, resample=True), profile_sets)
    tails = xr.concat([part.tail_prompts for part in plans], "prompt_set")
    return SharedPrompts(sets, profile_sets(), resampled, jackknifed, tails)
