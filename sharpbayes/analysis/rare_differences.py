"""Bounds of differences of means in the gate that few prompts carry."""

from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.rare_harm import LEAST_CARRYING, MEANS, ROUNDING, reweight_prompts
from sharpbayes.metrics.panel.profile import prompt_values
from sharpbayes.metrics.stats.bounded_means import bounded_mean_interval, carrying_units


def bound_rare_differences(
    plan: ProfilePlan, bounds: xr.DataArray, limit: xr.DataArray, *, confidence: float
) -> xr.DataArray:
    """Return bounds (metric, bound) of a gate, with Gaffke's where harm is rare on both sides.

    A candidate less its reference is a mean over prompts, within -``limit`` and ``limit`` (metric).
    Fewer than five prompts that carry it, and the mean of either side, leave its bounds to what was
    not seen; a release that changes few of many harmful answers keeps its bounds. Upper bounds are
    at the confidence, the lower ones corrected for the number of metrics. Differences of tails keep
    their bounds.

    Source: Gaffke 2005.
    """
    names = [name for name in map(str, bounds["metric"].to_numpy()) if name in MEANS]
    rare = [name for name in names if _count_carrying(plan, name) < LEAST_CARRYING - ROUNDING]
    if not rare:
        return bounds
    means = reweight_prompts(plan, partial(plan.profile, names=rare))
    units = plan.fewest_prompts.sel(model=[CANDIDATE, REFERENCE]).min()
    doubt = (1.0 - confidence) / np.array([bounds.sizes["metric"], 1])
    bounds = bounds.copy()
    for name in rare:
        new, old = (means[name].sel(model=model, drop=True) for model in (CANDIDATE, REFERENCE))
        most = float(limit.sel(metric=name))
        interval = partial(bounded_mean_interval, new - old, units=units, least=-most, most=most)
        ends = [interval(level=1.0 - 2.0 * share).to_numpy()[k] for k, share in enumerate(doubt)]
        bounds.loc[{"metric": name}] = ends
    return bounds


def _count_carrying(plan: ProfilePlan, name: str) -> float:
    """Return how many prompts carry a mean of either side or their difference, of all the most.

    They carry a difference by the size of what each adds to it.
    """
    values = prompt_values(plan.table, name, policy=plan.policy)
    values = values.mean([dim for dim in values.dims if dim not in ("model", "prompt")])
    least = plan.floor if name == "mean" else 0.0
    shares = ((values - least) / values.count("prompt")).fillna(0.0)
    new, old = (shares.sel(model=model, drop=True) for model in (CANDIDATE, REFERENCE))
    parts = xr.concat([new, old, abs(new - old)], "part")
    number = xr.DataArray(float(parts.sizes["prompt"]))
    error = parts.std("prompt") / number**0.5
    return float(carrying_units(parts.mean("prompt"), error, number).max())
