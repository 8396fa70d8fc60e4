"""Is a candidate at least as safe as its reference: by the paired bootstrap of observed ratings."""

import json
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_differences import (
    Differences,
    drift_of_judges,
    gate_values,
    measure_differences,
    subtract_sides,
)
from sharpbayes.analysis.gate_ends import count_prompts_without_end, raise_upper, unseen_rises
from sharpbayes.analysis.gate_evidence import has_ties, reason_to_withhold, withhold
from sharpbayes.analysis.gate_margins import compared_metrics, gate_margins, required_gate
from sharpbayes.analysis.gate_study import (
    ANCHOR_NOW,
    ANCHOR_THEN,
    CANDIDATE,
    REFERENCE,
    Comparison,
)
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.rare_differences import (
    bound_rare_differences,
    list_rare_differences,
    raise_prompts_needed,
)
from sharpbayes.analysis.unseen_ends import unseen_end_share
from sharpbayes.metrics.panel.non_inferiority import (
    INCONCLUSIVE,
    difference_bounds,
    gate_verdict,
    metric_states,
    operating_characteristics,
    prompts_needed,
)
from sharpbayes.metrics.panel.profile import MEANS
from sharpbayes.metrics.stats.unseen import unseen_change
from sharpbayes.spec.weights import Gate


def measure_gate(comparison: Comparison) -> xr.Dataset:
    """Return the group ``gate`` of observed ratings.

    Over (metric): ``margin``, ``difference`` (candidate less reference, less the drift of judges),
    ``drift`` (missing without anchors), ``state``, ``power``, ``power_shut``,
    ``prompts_to_decide``, ``prompts_to_pass``; over (metric, bound) ``bounds``; over (side, metric)
    ``value``; over (scenario, outcome) ``outcome_share``; over (judge_out, metric)
    ``difference_without``, the difference without each judge. Attributes: ``verdict``,
    ``confidence``, ``regression`` in margins, what was compared, and why the bounds decide nothing,
    if they do not, by :func:`sharpbayes.analysis.gate_evidence.reason_to_withhold`; how often the
    gate errs is missing then. Where resamples of a difference do not differ, or few prompts carry
    both means and their difference, its bounds contain what so many prompts can miss; not where
    anchors measure drift. Where no answer of the candidate is at the end of the scale, the upper
    bounds of log-risk and of the policy score contain what such answers can add:
    ``unseen_end_rise (metric)`` of them, by answers of up to ``unseen_end_share`` of all prompts.
    """
    study = comparison.study
    gate, plan = required_gate(study.weights), build_profile_plan(study)
    margin, prompts = gate_margins(gate, plan), plan.table.sizes["prompt"]
    differences = measure_differences(comparison, plan, margin)
    share = unseen_end_share(plan, error_rate=1.0 - gate.confidence)
    share = share.sel(model=CANDIDATE, drop=True)
    upper = differences.upper_bounds(gate.confidence)
    ends = unseen_rises(upper, margin["metric"], share, plan.weights)
    bounds, rise = _bound_differences(comparison, plan, differences, ends)
    observed, resampled = differences.observed, differences.resampled
    group = describe_gate(margin, observed, resampled, bounds, gate, prompts=prompts)
    group = group.assign(
        unseen_end_rise=rise,
        value=differences.values.sel(model=[CANDIDATE, REFERENCE]).rename(model="side"),
        drift=drift_of_judges(differences.values),
        difference_without=_without_judges(comparison, margin),
    )
    group = _count_prompts(group, comparison, plan, differences)
    group = count_prompts_without_end(group, upper, resampled, share, plan.weights, prompts=prompts)
    verdict = gate_verdict(bounds, margin)
    by_worst = _verdict_of_worst(comparison, plan, margin, share) if has_ties(plan, margin) else ""
    withheld = reason_to_withhold(comparison, plan, group, verdict, by_worst=by_worst)
    reason = withheld["withheld"]
    return withhold(group, reason).assign_attrs(
        verdict=INCONCLUSIVE if reason else verdict,
        method="bootstrap",
        unseen_end_share=float(share),
        **withheld,
        **gate_facts(gate),
        **comparison_facts(comparison),
    )


def _verdict_of_worst(
    comparison: Comparison, plan: ProfilePlan, margin: xr.DataArray, share: xr.DataArray
) -> str:
    """Return the verdict by CVaRs of exactly the worst prompts, which count a part of the ties."""
    divided = plan.divide_ties()
    differences = measure_differences(comparison, divided, margin)
    upper = differences.upper_bounds(required_gate(plan.study.weights).confidence)
    ends = unseen_rises(upper, margin["metric"], share, plan.weights)
    bounds, _ = _bound_differences(comparison, divided, differences, ends)
    return gate_verdict(bounds, margin)


def _bound_differences(
    comparison: Comparison, plan: ProfilePlan, differences: Differences, rise: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return bounds (metric, bound), and by how much unseen answers at the end raise the upper one.

    That is ``rise`` (metric), and 0 where bounds contain what prompts can miss anyhow.
    """
    gate, limit = required_gate(plan.study.weights), differences.limit
    bounds = difference_bounds(
        differences.observed,
        differences.resampled,
        confidence=gate.confidence,
        **differences.about,
    )
    raised = raise_upper(bounds, rise).clip(-limit, limit)
    rise = raised.sel(bound="upper", drop=True) - bounds.sel(bound="upper", drop=True)
    unseen = _unseen_bounds(plan, differences, confidence=gate.confidence)
    bounds, rise = raised.where(~differences.is_flat, unseen), rise.where(~differences.is_flat, 0.0)
    if not comparison.anchors:
        bounds = bound_rare_differences(plan, bounds, limit, confidence=gate.confidence)
        is_rare = limit["metric"].isin(list_rare_differences(plan, limit))
        rise = rise.where(~is_rare, 0.0)
    return bounds.clip(-limit, limit), rise.clip(min=0.0)


def _count_prompts(
    group: xr.Dataset, comparison: Comparison, plan: ProfilePlan, differences: Differences
) -> xr.Dataset:
    """Return a gate with the prompts that metrics need whose bounds are of what prompts miss."""
    gate, prompts = required_gate(plan.study.weights), plan.table.sizes["prompt"]
    group = _need_unseen(group, differences.is_flat, prompts=prompts)
    if not comparison.anchors:
        group = raise_prompts_needed(group, plan, differences.limit, confidence=gate.confidence)
    return group


def _unseen_bounds(
    plan: ProfilePlan, differences: Differences, *, confidence: float
) -> xr.DataArray:
    """Return bounds (metric, bound) of what prompts can miss, for differences that do not vary."""
    values, difference = differences.values, differences.observed
    is_mean = values["metric"].isin([*MEANS])
    share = is_mean.astype(float).where(is_mean, 1.0 - plan.weights.tail.alpha)
    units = plan.fewest_prompts.sel(model=[CANDIDATE, REFERENCE]).min().clip(min=1.0)
    fall, rise = unseen_change(
        values, units=units, share=share, ceiling=differences.limit, error_rate=1.0 - confidence
    )
    new, old = ({"model": name} for name in (CANDIDATE, REFERENCE))
    lower = difference - (fall.sel(new) + rise.sel(old)).drop_vars("model", errors="ignore")
    upper = difference + (rise.sel(new) + fall.sel(old)).drop_vars("model", errors="ignore")
    bounds = xr.concat([lower, upper], "bound", coords="minimal", compat="override")
    return bounds.assign_coords(bound=["lower", "upper"]).transpose("metric", "bound")


def _need_unseen(group: xr.Dataset, is_flat: xr.DataArray, *, prompts: int) -> xr.Dataset:
    """Return a gate with the prompts that metrics need whose bounds are of what prompts miss.

    Such bounds shrink with the number of prompts and not with its root.
    """
    names = ("prompts_to_decide", "prompts_to_pass")
    needed = {name: np.ceil((group[name] * prompts) ** 0.5) for name in names}
    return group.assign({name: group[name].where(~is_flat, needed[name]) for name in names})


def gate_facts(gate: Gate) -> dict[str, float]:
    """Return the confidence of a gate, and the regression for which its power is stated."""
    return {"confidence": gate.confidence, "regression": gate.regression}


def comparison_facts(comparison: Comparison) -> dict[str, str | int]:
    """Return what was compared, as attributes."""
    alone, others = comparison.alone, comparison.other_judges
    unmatched, score = comparison.unmatched, comparison.study.scores["score"]
    return {
        "prompts": comparison.study.scores.sizes["prompt"],
        "shared_prompts": len(comparison.shared),
        "candidate_prompts": len(alone[CANDIDATE]),
        "reference_prompts": len(alone[REFERENCE]),
        "paired": int(comparison.paired),
        "clustered": int("cluster" in comparison.study.scores.coords),
        "one_study": int(comparison.one_study),
        "scores": int((score.sel(model=CANDIDATE) >= 0).sum()),
        "reference_scores": int((score.sel(model=REFERENCE) >= 0).sum()),
        "candidate_unmatched": unmatched[CANDIDATE],
        "reference_unmatched": unmatched[REFERENCE],
        "anchors": len(comparison.anchors),
        "anchors_unmatched": unmatched[ANCHOR_NOW] + unmatched[ANCHOR_THEN],
        "has_trials": int("trial" in score.dims),
        "copies": comparison.copies,
        "candidate_unscored": comparison.unscored,
        "candidate_lost": len(comparison.lost[CANDIDATE]),
        "reference_lost": len(comparison.lost[REFERENCE]),
        "judges": json.dumps(comparison.judges),
        "candidate_judges": json.dumps(others[CANDIDATE]),
        "reference_judges": json.dumps(others[REFERENCE]),
        "left_out_judges": json.dumps(comparison.left_out),
    }


def describe_gate(
    margin: xr.DataArray,
    difference: xr.DataArray,
    deviations: xr.DataArray,
    bounds: xr.DataArray,
    gate: Gate,
    *,
    prompts: int,
) -> xr.Dataset:
    """Return differences with their bounds, and what a gate of this design does how often."""
    data = (difference, deviations, bounds, margin)
    table = operating_characteristics(*data, regression=gate.regression)
    needed = prompts_needed(*data, prompts=prompts)
    return table.merge(needed).assign(
        margin=margin,
        difference=difference,
        bounds=bounds.assign_coords(bound=["lower", "upper"]),
        state=metric_states(bounds, margin),
    )


def _without_judges(comparison: Comparison, margin: xr.DataArray) -> xr.DataArray:
    """Return the difference without each judge of both sides; no rows where one scores alone."""
    study, judges = comparison.study, comparison.judges
    rows = []
    for judge in judges if len(judges) > 1 else ():
        others = [name for name in study.data.labels["judge"] if name != judge]
        plan = build_profile_plan(replace(study, data=study.data.select("judge", others)))
        profile = plan.profile(names=compared_metrics(margin))
        rows.append(subtract_sides(gate_values(profile, margin)).to_numpy())
    labels = {"judge_out": list(judges[: len(rows)]), "metric": margin["metric"]}
    shape = (len(rows), margin.size)
    return xr.DataArray(np.reshape(rows, shape), labels, ("judge_out", "metric"))
