"""Bounds of means that few prompts carry: resamples do not show enough of a rare harm."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel import profile
from sharpbayes.metrics.panel.evidence import count_prompts, fewest_prompts
from sharpbayes.metrics.stats.bounded_means import bounded_mean_interval, carrying_units
from sharpbayes.metrics.stats.resampling import bayesian_bootstrap_weights, block_size, bootstrap

MEANS = tuple(metric.name for metric in profile.METRICS if metric.mean_of)
# Fewer prompts that carry a mean leave its bounds to what was not seen.
LEAST_CARRYING = 5
# A standard error below this share of the range of a mean is a rounding error, and so is such a
# part of a number of prompts.
ROUNDING = 1e-9
NOTE = (
    "A mean that fewer than five prompts carry has Gaffke's bounds, which contain what so many "
    "prompts can miss."
)


@dataclass(frozen=True)
class RareHarm:
    """What bounds the means of a profile that few prompts carry.

    Attributes:
        is_carried: Whether five prompts carry a mean, by name over (model, ...).
        reweighted: The means in replicates of the Bayesian bootstrap, over (replicate, model, ...).
        prompts: Number of prompts of each model, if all counted as much as the one that counts
            most.
        ends: Smallest and largest value of a prompt, by name.
    """

    is_carried: xr.Dataset
    reweighted: xr.Dataset
    prompts: xr.DataArray
    ends: dict[str, tuple[float, float]]

    def bound(self, name: str, interval: xr.DataArray, *, level: float) -> xr.DataArray:
        """Return an interval of a metric, with Gaffke's bounds where few prompts carry a mean."""
        if name not in self.is_carried:
            return interval
        least, most = self.ends[name]
        bounded = bounded_mean_interval(
            self.reweighted[name], units=self.prompts, least=least, most=most, level=level
        )
        return interval.where(self.is_carried[name], bounded).transpose(*interval.dims)


def bound_rare_harm(plan: ProfilePlan, observed: xr.Dataset) -> RareHarm | None:
    """Return what bounds the means of an observed profile with errors; None if many carry all.

    The number of prompts that carry a mean is that of
    :func:`sharpbayes.metrics.stats.bounded_means.carrying_units`. Where resamples do not differ,
    none do.

    Source: Gaffke 2005; the limit of five by measured coverage.
    """
    ends = {name: _find_ends(plan, observed[name]) for name in MEANS if name in observed}
    prompts = count_prompts(plan.table["log_risk"])
    is_carried = xr.Dataset(
        {name: _is_carried(observed, name, ends[name], prompts) for name in ends}
    )
    if bool(is_carried.all().to_array().all()):
        return None
    boot, units = plan.study.spec.bootstrap, plan.table["prompt"]
    reweighted = bootstrap(
        lambda weights: plan.profile(weights, names=list(ends)),
        units,
        replicates=boot.replicates,
        seed=plan.study.spec.seed,
        dim="prompt",
        block=block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim]))),
        draw=bayesian_bootstrap_weights,
    )
    fewest = fewest_prompts(plan.table["log_risk"], weights=plan.target_weights())
    return RareHarm(is_carried, reweighted, fewest, ends)


def _find_ends(plan: ProfilePlan, mean: xr.DataArray) -> tuple[float, float]:
    """Return the smallest and the largest value that a prompt can add to a mean."""
    return (plan.floor, plan.ceiling) if mean.attrs["units"] == "nat" else (0.0, 1.0)


def _is_carried(
    observed: xr.Dataset, name: str, ends: tuple[float, float], prompts: xr.DataArray
) -> xr.DataArray:
    """Return whether five prompts carry a mean, and it varies from prompt to prompt."""
    least, most = ends
    mean, error = observed[name] - least, observed[f"{name}_error"]
    carrying = carrying_units(mean, error, prompts)
    return (carrying >= LEAST_CARRYING - ROUNDING) & (
        error > ROUNDING * (most - least)
    ) | mean.isnull()
