"""Bounds of differences of means in the gate that few prompts carry."""

from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.rare_harm import MIN_CARRYING, ROUNDING, reweight_prompts
from sharpbayes.metrics.panel.profile import MEANS, prompt_values
from sharpbayes.metrics.panel.tail import unit_weights
from sharpbayes.metrics.stats.bounded_means import bounded_mean_interval
from sharpbayes.metrics.stats.population import PopulationWeights


def bound_rare_differences(
    plan: ProfilePlan, bounds: xr.DataArray, limit: xr.DataArray, *, confidence: float
) -> xr.DataArray:
    """Return bounds (metric, bound) of a gate, with Gaffke's where harm is rare on both sides.

    A candidate less its reference is a mean over prompts, within -``limit`` and ``limit`` (metric).
    Fewer than five prompts that carry it, and the mean of either side, leave its bounds to what was
    not seen; a release that changes few of many harmful answers keeps its bounds. Prompts are
    counted by their target weights. Upper bounds are at the confidence, the lower ones corrected
    for the number of metrics. Differences of tails keep their bounds.

    Source: Gaffke 2005.
    """
    rare = list_rare_differences(plan, bounds)
    if not rare:
        return bounds
    means = reweight_prompts(plan, partial(plan.profile, names=rare))
    units = plan.fewest_prompts.sel(model=[CANDIDATE, REFERENCE]).min()
    error_rate = (1.0 - confidence) / np.array([bounds.sizes["metric"], 1])
    bounds = bounds.copy()
    for name in rare:
        new, old = (means[name].sel(model=model, drop=True) for model in (CANDIDATE, REFERENCE))
        ceiling = float(limit.sel(metric=name))
        interval = partial(
            bounded_mean_interval, new - old, units=units, low=-ceiling, high=ceiling
        )
        ends = [
            interval(level=1.0 - 2.0 * share).to_numpy()[k] for k, share in enumerate(error_rate)
        ]
        bounds.loc[{"metric": name}] = ends
    return bounds


def list_rare_differences(plan: ProfilePlan, bounds: xr.DataArray) -> list[str]:
    """Return the metrics (metric) with a mean of either side and a difference that few carry."""
    names = [name for name in map(str, bounds["metric"].to_numpy()) if name in MEANS]
    return [name for name in names if _count_carrying(plan, name) < MIN_CARRYING - ROUNDING]


def raise_prompts_needed(
    group: xr.Dataset, plan: ProfilePlan, limit: xr.DataArray, *, confidence: float
) -> xr.Dataset:
    """Return a gate with so many prompts to decide and to pass that rare harm allows them.

    L (1 - (1 - c)^(1/n)) <= margin

    Bounds of rare harm shrink with the number of prompts and not with its root: with less than n
    prompts, none of which shows harm, the bound lies beyond the margin. L is the ``limit``
    (metric) of a difference and c the confidence. Where prompts have weights n is that of prompts
    that all count as much as the one that counts most.

    Source: Hanley and Lippman-Hand 1983.
    """
    rare = list_rare_differences(plan, limit)
    if not rare:
        return group
    units = plan.fewest_prompts.sel(model=[CANDIDATE, REFERENCE]).min()
    share = (group["margin"] / limit).clip(max=1.0 - ROUNDING)
    needed = np.log(1.0 - confidence) / np.log1p(-share) * plan.table.sizes["prompt"] / units
    fewest = np.ceil(needed).where(limit["metric"].isin(rare), 0.0)
    to_decide, to_pass = group["prompts_to_decide"], group["prompts_to_pass"]
    is_beyond = group["difference"] > group["margin"]
    return group.assign(
        prompts_to_decide=to_decide.where(is_beyond, to_decide.clip(min=fewest)),
        prompts_to_pass=to_pass.clip(min=fewest),
    )


def _count_carrying(plan: ProfilePlan, name: str) -> float:
    """Return how many prompts carry a mean of either side or their difference, of all the most.

    (sum_i c_i)^2 / sum_i (c_i^2 / m_i)

    c_i is the size of what prompt i adds to a mean or to the difference, m_i its weight as a share
    of that of the prompt that weighs most, 1 without target shares. They are counted as Gaffke's
    bounds count prompts: a light one is a part of one that weighs most.
    """
    values = prompt_values(plan.table, name, policy=plan.policy)
    values = values.mean([dim for dim in values.dims if dim not in ("model", "prompt")])
    # A value is that of a prompt already, however often it was answered.
    shares = plan.shares
    target = None if shares is None else PopulationWeights(plan.table["category"], shares, None)
    units = unit_weights(values, dim="prompt", weights=target)
    weights = units.weights * values.notnull()
    floor = plan.floor if name == "mean" else 0.0
    added = (weights * (values - floor)).fillna(0.0) / weights.sum("prompt")
    new, old = (added.sel(model=model, drop=True) for model in (CANDIDATE, REFERENCE))
    parts = xr.concat([new, old, abs(new - old)], "part")
    heaviest = weights.max("prompt")
    share = (weights / heaviest).sel(model=[CANDIDATE, REFERENCE]).max("model")
    squares = (parts**2 / share.where(share > 0)).sum("prompt")
    carrying = parts.sum("prompt") ** 2 / squares.where(squares > 0)
    return float(carrying.fillna(0.0).max())
