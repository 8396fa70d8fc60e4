"""Which models the lowest one is distinguishable from with a judge left out, by the bootstrap."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.intervals import has_width
from sharpbayes.metrics.stats.labels import stack_arrays

# The same resamples with and without a judge show the ratio of two spreads well.
REPLICATES = 400
# What variables without judges are called, and the dimension of the judges.
LEFT_OUT = {"lojo": "judge_out", "alike": "judges_out"}
# Differences to other models.
Values = NDArray[np.float64]
# Resamples the prompts of a plan; it takes the names of metrics.
Resample = Callable[[ProfilePlan, Sequence[str]], BootstrappedProfile]


def intervals_without_judges(
    plan: ProfilePlan,
    groups: Mapping[str, xr.Dataset],
    by_all: BootstrappedProfile,
    resample: Resample,
) -> xr.Dataset:
    """Return intervals of the differences of the lowest model to others with judges left out.

    d_-j + (bound - d) s_-j / s, with d and ``bound`` the difference and its joint interval by all
    judges, s the standard deviation of d over the first 400 resamples, s_-j that without judge j

    Of each metric whose lowest model is distinguishable from another these are
    ``lojo_<metric>_difference_joint (judge_out, other, bound)``, the lowest model less another
    without the judge, and ``lojo_<metric>_shift_joint``, the same of d - d_-j, what the judge adds;
    ``alike_...`` over (judges_out, ...) without judges who score alike. The lowest model is in the
    attribute ``model``. Empty where no model is distinguishable, or with one judge.

    The groups are ``profile``, ``profile_interval`` and ``judges``.
    """
    metrics = [name for name in HEADLINE if bool(_distinguishable(groups, name).any())]
    sets = _sets_left_out(groups["judges"])
    values: dict[str, xr.DataArray] = {}
    for prefix, left_out in sets.items() if metrics else ():
        limited = _limit_replicates(plan)
        without = [resample(limited.without_judges(names), metrics) for names in left_out.values()]
        for metric in metrics:
            comparison = _compare_lowest(groups, metric, by_all)
            pairs = zip(*map(comparison.without, without), strict=True)
            for kind, intervals in zip(("difference", "shift"), pairs, strict=True):
                stacked = stack_arrays(intervals, LEFT_OUT[prefix], list(left_out))
                stacked = stacked.drop_vars("model").assign_attrs(model=_lowest(groups, metric))
                values[f"{prefix}_{metric}_{kind}_joint"] = stacked.transpose(..., "bound")
    return xr.Dataset(values)


def lost_differences(groups: Mapping[str, xr.Dataset], metric: str) -> xr.Dataset:
    """Return which models the lowest is distinguishable from by all judges, but not without some.

    Over (judge_out), sets of judges who score alike among them: ``unresolved``, the models as a
    sentence lists them, empty where there are none, and ``decisive``, whether the difference to one
    of them is smaller without the judge by more than chance. Empty without such intervals.
    """
    judges = groups.get("judges", xr.Dataset())
    prefixes = [name for name in LEFT_OUT if f"{name}_{metric}_difference_joint" in judges]
    if not prefixes:
        return xr.Dataset()
    by_all = _distinguishable(groups, metric)
    tables = [_lost(judges, f"{name}_{metric}", LEFT_OUT[name], by_all) for name in prefixes]
    return xr.concat(tables, "judge_out")


def _lost(judges: xr.Dataset, name: str, dim: str, by_all: xr.DataArray) -> xr.Dataset:
    """The differences that are lost without each judge of a dimension."""
    without, shift = (_is_below(judges[f"{name}_{kind}_joint"]) for kind in ("difference", "shift"))
    is_lost = (by_all & ~without).transpose(dim, "other")
    models = is_lost["other"].to_numpy()
    names = [join_names(models[row].tolist(), limit=len(models)) for row in is_lost.to_numpy()]
    table = {"unresolved": (dim, names), "decisive": (is_lost & shift).any("other")}
    return xr.Dataset(table).rename({dim: "judge_out"})


def _distinguishable(groups: Mapping[str, xr.Dataset], metric: str) -> xr.DataArray:
    """From which others the model of lowest value is distinguishable by all judges, (other)."""
    name, interval = f"{metric}_difference_joint", groups["profile_interval"]
    if name not in interval or not bool(groups["profile"][metric].notnull().any()):
        return xr.DataArray([False], dims="other")
    return _is_below(interval[name].sel(model=_lowest(groups, metric), drop=True))


def _lowest(groups: Mapping[str, xr.Dataset], metric: str) -> str:
    """The first model of lowest value."""
    return str(select_value(groups["profile"], metric).idxmin("model").item())


def _is_below(interval: xr.DataArray) -> xr.DataArray:
    """Where an interval over (..., bound) lies below 0."""
    return interval.sel(bound="upper", drop=True) < 0


def _sets_left_out(judges: xr.Dataset) -> dict[str, dict[str, Sequence[str]]]:
    """The judges of every set that is left out, by the name of the set, for each prefix."""
    sets: dict[str, dict[str, Sequence[str]]] = {}
    if "lojo_cvar" in judges:
        sets["lojo"] = {name: [name] for name in judges["judge_out"].to_numpy().tolist()}
    if "alike_cvar" in judges:
        alike = json.loads(judges.attrs["alike_judges"])
        sets["alike"] = {name: alike[name] for name in judges["judges_out"].to_numpy().tolist()}
    return sets


def _limit_replicates(plan: ProfilePlan) -> ProfilePlan:
    """The plan with as many replicates as show a spread."""
    spec = plan.study.spec
    replicates = min(spec.bootstrap.replicates, REPLICATES)
    bootstrap = spec.bootstrap.model_copy(update={"replicates": replicates})
    limited = spec.model_copy(update={"bootstrap": bootstrap})
    return replace(plan, study=replace(plan.study, spec=limited))


@dataclass(frozen=True)
class _Comparison:
    """The lowest model by a metric against all others, by all judges.

    Attributes:
        metric: By what models are compared.
        interval: Joint interval of the difference, the lowest model less another, (other, bound).
        by_all: The bootstrap by all judges.
    """

    metric: str
    interval: xr.DataArray
    by_all: BootstrappedProfile

    def without(self, others: BootstrappedProfile) -> tuple[xr.DataArray, xr.DataArray]:
        """Return intervals of the difference by other judges, and of what it is smaller by."""
        observed, resampled = self._difference(others)
        by_all, resampled_by_all = self._by_all
        shift = resampled_by_all[: len(resampled)] - resampled
        return self._interval(observed, resampled), self._interval(by_all - observed, shift)

    @cached_property
    def _by_all(self) -> tuple[Values, Values]:
        """The difference by all judges, and its resamples."""
        return self._difference(self.by_all)

    def _difference(self, profile: BootstrappedProfile) -> tuple[Values, Values]:
        """A difference over (other), and its resamples over (replicate, other)."""
        model = str(self.interval["model"].item())
        observed = profile.observed_difference(self.metric).sel(model=model)
        resampled = profile.resampled_difference(self.metric, model)
        return observed.to_numpy(), resampled.transpose("replicate", "other").to_numpy()

    def _interval(self, value: Values, resampled: Values) -> xr.DataArray:
        """The interval by all judges, moved to a value and scaled by its spread."""
        by_all, resampled_by_all = self._by_all
        spread, of_all = (x.std(0, ddof=1) for x in (resampled, resampled_by_all[: len(resampled)]))
        # Bounds without any spread are the difference, and tell nothing of what has one.
        ratio = np.where(spread > 0, np.nan, 1.0)
        np.divide(spread, of_all, out=ratio, where=of_all > 0)
        bounds = self.interval.transpose("bound", "other")
        moved = bounds.copy(data=value + (bounds.to_numpy() - by_all) * ratio)
        return moved.where(has_width(moved)) if self.metric == "cvar" else moved


def _compare_lowest(
    groups: Mapping[str, xr.Dataset], metric: str, by_all: BootstrappedProfile
) -> _Comparison:
    """The model of lowest value against all others."""
    model = _lowest(groups, metric)
    interval = groups["profile_interval"][f"{metric}_difference_joint"]
    return _Comparison(metric, interval.sel(model=model), by_all)
