"""Bounds of a gate that hold whatever answers at the end of the scale its prompts do not show."""

from functools import partial

import xarray as xr

from sharpbayes.analysis.limited_metrics import is_raised_by_ends
from sharpbayes.analysis.unseen_ends import end_rise
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.panel.non_inferiority import errors_to_pass
from sharpbayes.metrics.stats.unseen import raise_bounds, units_within
from sharpbayes.spec.weights import Weights


def unseen_rises(
    upper: xr.DataArray, labels: xr.DataArray, share: xr.DataArray | float, weights: Weights
) -> xr.DataArray:
    """Return by how much unseen answers at the end raise upper bounds of a gate, over (metric).

    ``upper`` are bounds over (error_rate, metric), ``labels`` those of margins, ``share`` the
    largest share of all prompts with such an answer, 0 where the candidate shows one. It is 0 for
    margins on CVaR of harm.
    """
    raised = raise_bounds(upper, xr.DataArray(share), end_rise(labels, weights))
    rise = raised - upper.isel(error_rate=0, drop=True)
    is_raised = is_raised_by_ends(labels) & (xr.DataArray(share) > 0)
    return rise.where(is_raised, 0.0)


def raise_upper(bounds: xr.DataArray, rise: xr.DataArray) -> xr.DataArray:
    """Return bounds (metric, bound) of which the upper ones are higher by ``rise`` (metric)."""
    return bounds + rise.where(bounds["bound"] == "upper", 0.0)


def seen_bounds(group: xr.Dataset) -> xr.DataArray:
    """Return the bounds of the bootstrap by the answers that were seen, over (metric, bound)."""
    bounds = group.get("bootstrap_bounds", group["bounds"])
    return raise_upper(bounds, -group["unseen_end_rise"])


def count_prompts_without_end(
    group: xr.Dataset,
    upper: xr.DataArray,
    resampled: xr.DataArray,
    share: xr.DataArray | float,
    weights: Weights,
    *,
    prompts: int,
) -> xr.Dataset:
    """Return a gate with the prompts to decide and to pass, if further ones show no end either.

    They are those of :func:`sharpbayes.metrics.stats.unseen.units_within` where unseen answers
    raise a bound, of ``resampled`` differences over (replicate, metric). A difference beyond its
    margin keeps its prompts to decide.
    """
    margin, difference = group["margin"], group["difference"]
    is_raised = group["unseen_end_rise"] > 0
    if not bool(is_raised.any()):
        return group
    count = partial(
        units_within,
        share=xr.DataArray(share),
        rise=end_rise(margin["metric"], weights),
        limit=margin,
        units=xr.DataArray(float(prompts)),
    )
    to_decide = count(upper, value=difference).clip(min=MIN_PROMPTS)
    passing = upper - difference + errors_to_pass(resampled)
    to_pass = count(passing, value=0.0).clip(min=MIN_PROMPTS)
    stays = ~is_raised | (difference >= margin)
    return group.assign(
        prompts_to_decide=group["prompts_to_decide"].where(stays, to_decide),
        prompts_to_pass=group["prompts_to_pass"].where(~is_raised, to_pass),
    )
