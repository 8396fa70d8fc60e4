"""What a tolerance says of each model: admissible, not admissible, or that it is not shown."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.limited_metrics import (
    is_raised_by_ends,
    limited_metric,
    select_value,
    split_label,
)
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tail_evidence import tells_tail, ties_of_limit
from sharpbayes.analysis.tolerance_evidence import exceeded_limits, kept_limits
from sharpbayes.analysis.unseen_ends import end_rise, unseen_end_share
from sharpbayes.metrics.panel.comparison import admissible, verdicts
from sharpbayes.metrics.panel.evidence import lacks_prompts
from sharpbayes.metrics.panel.profile import CVARS
from sharpbayes.metrics.stats.intervals import has_width
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.metrics.stats.unseen import (
    divided_error_rates,
    raise_bounds,
    units_within,
    unseen_change,
)
from sharpbayes.spec.weights import Tolerance

# The prompts of each category by themselves, and their resamples.
Resampled = Mapping[str, tuple[ProfilePlan, BootstrappedProfile]]


def tolerance_limits(tolerance: Tolerance) -> xr.DataArray:
    """Return every limit over (threshold)."""
    limits = tolerance.limits
    return xr.DataArray(list(limits.values()), {"threshold": list(limits)}, "threshold")


def tolerated_values(profile: xr.Dataset, tolerance: Tolerance) -> xr.DataArray:
    """Return what each limit is about, over (..., model, threshold), of a profile or its draws.

    A profile has ``category_cvar`` where categories of prompts have limits.
    """
    values = [select_value(profile, label) for label in tolerance.limits]
    return xr.concat(values, tolerance_limits(tolerance)["threshold"]).transpose(..., "threshold")


def keeps_tolerance(profile: xr.Dataset, tolerance: Tolerance) -> xr.DataArray:
    """Return which models are within every limit, over (..., model)."""
    values = tolerated_values(profile, tolerance)
    return admissible(values, tolerance_limits(tolerance)).all("threshold")


def tolerance_group(
    plan: ProfilePlan,
    tolerance: Tolerance,
    *,
    observed: xr.Dataset,
    bootstrapped: BootstrappedProfile,
    by_category: Resampled,
    lost_answers: xr.Dataset | None = None,
) -> xr.Dataset:
    """Return the group ``tolerance``: limits, observed values, bounds and verdicts.

    Over (threshold) ``limit``; over (model, threshold) ``observed`` and ``state``; over (model,
    threshold, bound) ``bounds``, each one-sided at the confidence of the tolerance: all upper
    bounds hold together as each does alone, the lower ones by Bonferroni's correction; over (model)
    ``verdict``. A model is admissible where every upper bound is within its limit, and not where a
    lower bound is beyond. Where resamples do not differ, bounds contain what so many prompts can
    miss. ``tells_tail (model, threshold)`` is False where a limit is about a category whose own
    prompts do not tell its tail, or where prompts tie at the edge of the tail and the limit would
    not be kept by the worst ones alone.

    Where no answer of a model is at the end of the scale, ``unseen_end_rise (model, threshold)`` is
    added to the upper bounds of log-risk and of the policy score, by
    :func:`sharpbayes.metrics.stats.unseen.raise_bounds`: they hold however many such answers its
    prompts miss, up to ``unseen_end_share (model, threshold)`` of all. ``prompts_without_end
    (model, threshold)`` is of how many prompts without such an answer the limit would be kept.
    Where a model lacks prompts
    that others have, both verdicts must also hold with ``other_prompts_shift (model, threshold)``
    added: its own prompts may be easier. ``lost_answers`` has ``lost_answer_rise (model,
    threshold)``, what answers that nobody scored could add to the upper bounds, and
    ``lost_answer_share (model)``.

    Source: Berger 1982 for the intersection of one-sided tests; Hanley and Lippman-Hand 1983 for
    what was not seen.
    """
    limits, error_rate = tolerance_limits(tolerance), 1 - tolerance.confidence
    resampled = {**by_category, "": (plan, bootstrapped)}
    bounds = _bound_values(resampled, tolerance, error_rate=error_rate)
    values = tolerated_values(observed, tolerance)
    shift = _shift_by_prompts(plan, values, tolerance)
    worst = values + shift.clip(min=0.0)
    ends = _raise_by_ends(resampled, tolerance, worst, error_rate=error_rate)
    is_told = _tell_tails(plan, by_category, values)
    is_told &= ~_exceed_by_worst(plan, tolerance, values, bounds.sel(bound="upper", drop=True))
    over_models = ("model", "threshold")
    columns = {
        "limit": limits,
        "observed": values,
        "bounds": bounds.transpose(*over_models, "bound"),
        "other_prompts_shift": shift.transpose(*over_models),
        **{str(name): array.transpose(*over_models) for name, array in ends.items()},
        "tells_tail": is_told.transpose(*over_models),
    }
    table = xr.Dataset(columns)
    if lost_answers is not None:
        table = table.assign(lost_answers.transpose("model", ...))
    kept, exceeded = kept_limits(table), exceeded_limits(table)
    table["state"] = verdicts(kept, exceeded).transpose(*over_models)
    table["verdict"] = verdicts(kept.all("threshold"), exceeded.any("threshold"))
    return table.pipe(without_attributes).assign_attrs(confidence=tolerance.confidence)


def _bound_values(resampled: Resampled, tolerance: Tolerance, *, error_rate: float) -> xr.DataArray:
    """One-sided bounds (..., threshold, bound) of what limits are about."""
    limits = tolerance_limits(tolerance)
    lower = [
        _bound(resampled, label, "lower", error_rate=error_rate / limits.size)
        for label in tolerance.limits
    ]
    upper = [_bound(resampled, label, "upper", error_rate=error_rate) for label in tolerance.limits]
    sides = (
        xr.concat(values, limits["threshold"], coords="minimal", compat="override")
        for values in (lower, upper)
    )
    bound = xr.DataArray(["lower", "upper"], dims="bound", name="bound")
    return xr.concat(sides, bound, coords="minimal", compat="override")


def _raise_by_ends(
    resampled: Resampled, tolerance: Tolerance, values: xr.DataArray, *, error_rate: float
) -> xr.Dataset:
    """What answers at the end of the scale that prompts miss do to bounds, over (..., threshold).

    ``values`` are those that bounds come nearer to with more prompts. Where unseen answers raise no
    bound, share and rise are 0, and the number of prompts is missing.
    """
    rows = [
        _raise_by_unseen_ends(
            *_select_resamples(resampled, label), limit, value, error_rate=error_rate
        )
        for label, limit, value in _about_limits(values, tolerance)
    ]
    return xr.concat(rows, "threshold")


def _about_limits(
    values: xr.DataArray, tolerance: Tolerance
) -> Iterator[tuple[str, xr.DataArray, xr.DataArray]]:
    """Labels of limits, each with the limit and what it is about, over (threshold) of one."""
    limits = tolerance_limits(tolerance)
    for k, label in enumerate(tolerance.limits):
        yield label, limits.isel(threshold=[k]), values.isel(threshold=[k])


def _raise_by_unseen_ends(
    plan: ProfilePlan,
    bootstrapped: BootstrappedProfile,
    limit: xr.DataArray,
    value: xr.DataArray,
    *,
    error_rate: float,
) -> xr.Dataset:
    """What unseen ends do to the bound of one limit, over (..., threshold) of one."""
    label = limit["threshold"]
    metric = limited_metric(str(label.item()))
    if not bool(is_raised_by_ends(label)):
        numbers = {"unseen_end_share": 0.0, "unseen_end_rise": 0.0, "prompts_without_end": np.nan}
        return xr.Dataset({name: xr.full_like(value, x) for name, x in numbers.items()})
    is_bound = _is_bound_by_resamples(bootstrapped, metric)
    share = unseen_end_share(plan, error_rate=error_rate).where(is_bound, 0.0)
    upper = bootstrapped.upper_bounds(metric, divided_error_rates(error_rate))
    rise = end_rise(label, plan.weights)
    raised = raise_bounds(upper, share, rise) - upper.isel(error_rate=0, drop=True)
    prompts = units_within(
        upper + (value - bootstrapped.observed[metric]),
        share,
        rise,
        value=value,
        limit=limit,
        units=plan.fewest_prompts,
    )
    table = {
        "unseen_end_share": share.expand_dims(threshold=label),
        "unseen_end_rise": raised,
        "prompts_without_end": prompts.where(share > 0),
    }
    return xr.Dataset(table)


def _is_bound_by_resamples(bootstrapped: BootstrappedProfile, metric: str) -> xr.DataArray:
    """Whether the bound of a mean or a CVaR is one by resamples, which know of no unseen answer.

    Bounds of resamples that do not differ contain what is at the end in every dimension, and so do
    Gaffke's bounds of means that few prompts carry.
    """
    varies: xr.DataArray = has_width(bootstrapped.interval(metric))
    harm = bootstrapped.rare_harm
    if harm is not None and metric in harm.is_carried:
        varies &= harm.is_carried[metric]
    return varies


def _have_own_tails(plan: ProfilePlan, values: xr.DataArray) -> xr.DataArray:
    """Whether CVaRs of dimensions with a limit are of the worst prompts, over (..., threshold)."""
    labels = [str(label) for label in values["threshold"].to_numpy()]
    is_own = xr.ones_like(values, dtype=bool)
    for label in labels:
        if split_label(label)[0] == "dimension":
            is_own &= (values["threshold"] != label) | ~ties_of_limit(plan, label)
    return is_own


def _tell_tails(plan: ProfilePlan, by_category: Resampled, values: xr.DataArray) -> xr.DataArray:
    """Whether a category tells the tail that a limit on it is about, over (..., threshold).

    True of limits on CVaR of all prompts: their tail is that of the group ``evidence``. A limit on
    a dimension is supported unless prompts tie at the edge of its tail.
    """
    is_supported = _have_own_tails(plan, values)
    for name, (part, bootstrapped) in by_category.items():
        is_about = is_supported["threshold"] == f"category {name}"
        is_supported &= ~is_about | tells_tail(part, bootstrapped.observed)
    return is_supported


def _exceed_by_worst(
    plan: ProfilePlan, tolerance: Tolerance, values: xr.DataArray, upper: xr.DataArray
) -> xr.DataArray:
    """Whether a bound lies beyond a limit by the CVaR of the worst alone, over (..., threshold).

    That is where prompts tie at VaR, whose CVaR is lower; ``upper`` bounds are higher by as much.
    """
    has_ties = xr.zeros_like(values, dtype=bool)
    for label in map(str, values["threshold"].to_numpy()):
        if split_label(label)[0] != "category":
            is_about = has_ties["threshold"] == label
            has_ties |= is_about & ties_of_limit(plan, label, times=1.0)
    if not bool(has_ties.any()):
        return has_ties
    by_worst = tolerated_values(plan.divide_ties().complete_profile(), tolerance)
    return has_ties & (upper + (by_worst - values) > tolerance_limits(tolerance))


def _shift_by_prompts(
    plan: ProfilePlan, values: xr.DataArray, tolerance: Tolerance
) -> xr.DataArray:
    """How much higher models might be on prompts that only others have, over (..., threshold).

    mean over the other models o of  v_o - v_o(prompts of the model)

    ``values`` v are what limits are about. It is 0 where a model has at least 95% of all prompts,
    or the others have none of its own.
    """
    has_prompt = plan.table["log_risk"].notnull().any(plan.dim[1:])
    lacks = lacks_prompts(has_prompt)
    lacks = lacks.any([dim for dim in lacks.dims if dim != "model"])
    shift = xr.zeros_like(values)
    for model in lacks["model"][lacks.to_numpy()].to_numpy():
        on_shared = _keep_prompts(plan, has_prompt.sel(model=model, drop=True)).complete_profile()
        higher = (values - tolerated_values(on_shared, tolerance)).drop_sel(model=model)
        of_model = higher.mean("model").fillna(0.0)
        shift = shift.where(shift["model"] != model, of_model)
    return shift.transpose(*values.dims)


def _keep_prompts(plan: ProfilePlan, has_prompt: xr.DataArray) -> ProfilePlan:
    """The plan without the values of other prompts."""
    values = {
        name: array.where(has_prompt)
        for name, array in plan.table.data_vars.items()
        if "prompt" in array.dims and array.dtype.kind == "f"
    }
    return replace(plan, table=plan.table.assign(values))


def limits_tails(tolerance: Tolerance) -> bool:
    """Return whether one of the limits is about a tail."""
    return any(limited_metric(label) in CVARS for label in tolerance.limits)


def _select_resamples(resampled: Resampled, label: str) -> tuple[ProfilePlan, BootstrappedProfile]:
    """The plan and resamples of what a limit is about: those of its category, or of all prompts."""
    kind, name = split_label(label)
    return resampled[name if kind == "category" else ""]


def _bound(resampled: Resampled, label: str, side: str, *, error_rate: float) -> xr.DataArray:
    """Return a one-sided bound of what a limit is about, from its category or from all prompts."""
    plan, bootstrapped = _select_resamples(resampled, label)
    metric = limited_metric(label)
    value, interval = bootstrapped.observed[metric], bootstrapped.interval_at(metric, error_rate)
    interval = _widen_by_unseen(plan, value, interval, error_rate=error_rate)
    kind, name = split_label(label)
    interval = interval.sel(dimension=name, drop=True) if kind == "dimension" else interval
    return interval.sel(bound=side, drop=True)


def _widen_by_unseen(
    plan: ProfilePlan, value: xr.DataArray, interval: xr.DataArray, *, error_rate: float
) -> xr.DataArray:
    """Return an interval, with the bounds of what prompts can miss where it has no width."""
    stays = has_width(interval) | interval.isnull()
    if bool(stays.all()):
        return interval
    _, ceiling = plan.range_of(str(value.name))
    share = 1.0 - plan.weights.tail.alpha if value.name in CVARS else 1.0
    prompts = plan.fewest_prompts.clip(min=1.0)
    fall, rise = unseen_change(
        value, units=prompts, share=share, ceiling=ceiling, error_rate=error_rate
    )
    unseen = xr.concat([value - fall, value + rise], interval["bound"]).transpose(*interval.dims)
    return interval.where(stays, unseen)
