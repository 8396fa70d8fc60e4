"""Which differences between models the ratings show with a judge left out, by the bootstrap."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.intervals import has_width
from sharpbayes.metrics.stats.labels import stack_arrays

# Resamples show the spread of a difference to 4%; each judge takes as many.
REPLICATES = 400
# What variables without judges are called, and the dimension of the judges.
LEFT_OUT = {"lojo": "judge_out", "alike": "judges_out"}
# Resamples the prompts of a plan; it takes the names of metrics.
Resample = Callable[[ProfilePlan, Sequence[str]], BootstrappedProfile]


def intervals_without_judges(
    plan: ProfilePlan, groups: Mapping[str, xr.Dataset], resample: Resample
) -> xr.Dataset:
    """Return joint intervals of the differences between models with judges left out.

    Of each metric whose lowest model is distinguishable from another these are
    ``lojo_<metric>_difference_joint (judge_out, model, other, bound)``, model minus other without
    the judge, and ``lojo_<metric>_shift_joint``, the difference by all judges less that without the
    judge; ``alike_...`` over (judges_out, ...) without judges who score alike. They are made as
    those of all judges are, from the first 400 resamples. Empty where no order could be lost.

    The groups are those of :func:`sharpbayes.measure`, with ``judges``.
    """
    metrics = [name for name in HEADLINE if bool(_distinguishable(groups, name).any())]
    sets = _sets_left_out(groups["judges"])
    if not metrics or not sets:
        return xr.Dataset()
    few = _limit_replicates(plan)
    whole = resample(few, metrics)
    values: dict[str, xr.DataArray] = {}
    for prefix, left_out in sets.items():
        without = [resample(few.without_judges(names), metrics) for names in left_out.values()]
        values |= _intervals(prefix, list(left_out), whole, without, metrics)
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
    by_all, lowest = _distinguishable(groups, metric), _lowest(groups, metric)
    tables = [_lost(judges, f"{name}_{metric}", LEFT_OUT[name], by_all, lowest) for name in prefixes]
    return xr.concat(tables, "judge_out")


def _lost(
    judges: xr.Dataset, name: str, dim: str, by_all: xr.DataArray, lowest: str
) -> xr.Dataset:
    """The differences that are lost without each judge of a dimension."""
    without, shift = (
        _is_below(judges[f"{name}_{kind}_joint"].sel(model=lowest, drop=True))
        for kind in ("difference", "shift")
    )
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
    few = spec.model_copy(update={"bootstrap": bootstrap})
    return replace(plan, study=replace(plan.study, spec=few))


def _intervals(
    prefix: str,
    labels: list[str],
    whole: BootstrappedProfile,
    without: list[BootstrappedProfile],
    metrics: Sequence[str],
) -> dict[str, xr.DataArray]:
    """Intervals of differences without each judge, and of what the judge adds to them."""
    profiles = {"difference": without, "shift": [_subtract(whole, others) for others in without]}
    return {
        f"{prefix}_{metric}_{kind}_joint": stack_arrays(
            [_joint_interval(profile, metric) for profile in of_kind], LEFT_OUT[prefix], labels
        )
        for metric in metrics
        for kind, of_kind in profiles.items()
    }


def _subtract(whole: BootstrappedProfile, without: BootstrappedProfile) -> BootstrappedProfile:
    """What judges add to every metric, a model's on its own prompts."""
    jackknifed = None
    if whole.jackknifed is not None and without.jackknifed is not None:
        jackknifed = whole.jackknifed - without.jackknifed
    return replace(
        whole,
        observed=whole.observed - without.observed,
        resampled=whole.resampled - without.resampled,
        jackknifed=jackknifed,
        shared=None,
    )


def _joint_interval(profile: BootstrappedProfile, metric: str) -> xr.DataArray:
    """The interval that decides which models are distinguishable, missing without a width."""
    is_joint = profile.bootstrap.interval == "studentized"
    interval = (
        profile.joint_difference(metric)["_joint"]
        if is_joint
        else profile.difference_interval(metric)
    )
    return interval.transpose("model", "other", "bound").where(has_width(interval))
