"""Bounds of means and tails of rare harm, of which resamples do not show enough."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import count_clusters
from sharpbayes.metrics.panel.profile import CVARS, MEANS, weighted_mean
from sharpbayes.metrics.stats.bounded_means import bounded_mean_interval, carrying_units
from sharpbayes.metrics.stats.resampling import bayesian_bootstrap_weights, block_size, bootstrap

# Tails of rare harm are bounded where limits and margins are about them.
HARMED = {name: variable for name, variable in CVARS.items() if variable in {"log_risk", "harm"}}
# Fewer prompts that carry a mean leave its bounds to what was not seen.
MIN_CARRYING = 5
# A standard error below this share of the range of a mean is a rounding error, and so is such a
# part of a number of prompts.
ROUNDING = 1e-9
NOTE = (
    "A mean that fewer than five prompts carry has Gaffke's bounds, which contain what so many "
    "prompts can miss, and a CVaR ends at the end of the scale where more prompts may be harmful "
    "than its tail holds."
)


@dataclass(frozen=True)
class RareHarm:
    """What bounds the means of a profile that few prompts carry, and tails of rare harm.

    Attributes:
        is_carried: Whether five prompts carry a mean, by name over (model, ...).
        fits_tail: Whether the prompts with any harm fit into the tail, by name of a CVaR over
            (model, ...).
        reweighted: The means in replicates of the Bayesian bootstrap, over (replicate, model, ...),
            and by the name of a CVaR the share of prompts with any harm.
        prompts: Number of prompts of each model, if all counted as much as the one that counts
            most.
        ends: Smallest and largest value of a prompt, by name.
        tail: Share of prompts in the tail.
    """

    is_carried: xr.Dataset
    fits_tail: xr.Dataset
    reweighted: xr.Dataset
    prompts: xr.DataArray
    ends: dict[str, tuple[float, float]]
    tail: float

    def bound(self, name: str, interval: xr.DataArray, *, level: float) -> xr.DataArray:
        """Return an interval of a metric, with Gaffke's bounds where few prompts carry a mean."""
        if name in self.fits_tail:
            return self._raise_tail(name, interval, level=level)
        if name not in self.is_carried:
            return interval
        bounded = self._bound_mean(name, *self.ends[name], level=level)
        return interval.where(self.is_carried[name], bounded).transpose(*interval.dims)

    def _raise_tail(self, name: str, interval: xr.DataArray, *, level: float) -> xr.DataArray:
        """Raise the upper bound of a CVaR to the end where all of the tail may be harmful.

        With harm in fewer prompts than the tail holds, VaR is no harm. It is not where more prompts
        are harmful than were seen.
        """
        share = self._bound_mean(name, 0.0, 1.0, level=level).sel(bound="upper", drop=True)
        may_fill = self.fits_tail[name] & (share > self.tail)
        lower, upper = (interval.sel(bound=side, drop=True) for side in ("lower", "upper"))
        raised = may_fill & (interval["bound"] == "upper") & (lower < upper)
        return interval.where(~raised, self.ends[name][1]).transpose(*interval.dims)

    def _bound_mean(self, name: str, low: float, high: float, *, level: float) -> xr.DataArray:
        """Return Gaffke's interval of a mean within a range."""
        return bounded_mean_interval(
            self.reweighted[name], units=self.prompts, low=low, high=high, level=level
        )


def bound_rare_harm(plan: ProfilePlan, observed: xr.Dataset) -> RareHarm | None:
    """Return what bounds rare harm in an observed profile with errors; None if harm is not rare.

    The number of prompts that carry a mean is that of
    :func:`sharpbayes.metrics.stats.bounded_means.carrying_units`, that of clusters where prompts
    have any: errors are theirs then. Where resamples do not differ, none do.

    Source: Gaffke 2005; the limit of five by measured coverage.
    """
    means, tails = ([name for name in names if name in observed] for names in (MEANS, HARMED))
    ends = {name: plan.range_of(name) for name in (*means, *tails)}
    prompts = count_clusters(plan.table["log_risk"], weights=plan.target_weights())
    is_carried = xr.Dataset(
        {name: _is_carried(observed, name, ends[name], prompts) for name in means}
    )
    tail, harmed = 1.0 - plan.weights.tail.alpha, _share_harmed(plan, None)[tails]
    fits_tail = (harmed > 0) & (harmed <= tail + ROUNDING)
    if all(map(bool, is_carried.all().values())) and not any(map(bool, fits_tail.any().values())):
        return None
    reweighted = reweight_prompts(
        plan,
        lambda weights: plan.profile(weights, names=means).assign(_share_harmed(plan, weights)),
    )
    return RareHarm(is_carried, fits_tail, reweighted, plan.fewest_prompts, ends, tail)


def reweight_prompts(
    plan: ProfilePlan, statistic: Callable[[xr.DataArray], xr.Dataset]
) -> xr.Dataset:
    """Return a statistic of weights (replicate, prompt) in the Bayesian bootstrap of a study."""
    return bootstrap(
        statistic,
        plan.table["prompt"],
        replicates=plan.study.spec.bootstrap.replicates,
        seed=plan.study.spec.seed,
        dim="prompt",
        block=block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim]))),
        draw=bayesian_bootstrap_weights,
    )


def _share_harmed(plan: ProfilePlan, weights: xr.DataArray | None) -> xr.Dataset:
    """Return the share of prompts with any harm, by the name of the CVaR of that harm."""
    shares = {}
    for name, variable in HARMED.items():
        values, floor = plan.table[variable], plan.floor if variable == "log_risk" else 0.0
        has_harm = (values > floor + ROUNDING).astype(float).where(values.notnull())
        shares[name] = weighted_mean(has_harm, dim=plan.dim, weights=plan.target_weights(weights))
    return xr.Dataset(shares)


def _is_carried(
    observed: xr.Dataset, name: str, ends: tuple[float, float], prompts: xr.DataArray
) -> xr.DataArray:
    """Return whether five prompts carry a mean, and it varies from prompt to prompt."""
    low, high = ends
    mean, error = observed[name] - low, observed[f"{name}_error"]
    carrying = carrying_units(mean, error, prompts)
    return (carrying >= MIN_CARRYING - ROUNDING) & (error > ROUNDING * (high - low)) | mean.isnull()
