"""Is a candidate at least as safe as its reference: by the paired bootstrap of observed ratings."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_evidence import reason_to_withhold, withhold
from sharpbayes.analysis.gate_study import (
    ANCHOR_NOW,
    ANCHOR_THEN,
    CANDIDATE,
    REFERENCE,
    Comparison,
)
from sharpbayes.analysis.limited_metrics import limited_metric, select_value
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.rare_differences import bound_rare_differences, raise_prompts_needed
from sharpbayes.analysis.unseen_ends import SEEN_SHARE, shows_end
from sharpbayes.errors import SpecError
from sharpbayes.metrics.panel.evidence import tail_prompts
from sharpbayes.metrics.panel.non_inferiority import (
    INCONCLUSIVE,
    difference_bounds,
    gate_verdict,
    metric_states,
    operating_characteristics,
    prompts_needed,
)
from sharpbayes.metrics.panel.profile import CVARS, MEANS
from sharpbayes.metrics.panel.tail_bounds import unseen_end_rise
from sharpbayes.metrics.stats.bounded_means import unseen_change, unseen_share
from sharpbayes.metrics.stats.resampling import block_size, bootstrap
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Gate, Weights

# Resamples that are beyond a bound, at the least: fewer do not tell where it lies.
LEAST_BEYOND = 20
ROUNDING = 1e-9


def required_gate(weights: SpecFile[Weights]) -> Gate:
    """Return the gate of weights.

    Raises:
        SpecError: The weights have none.
    """
    if weights.spec.gate is None:
        message = (
            "these weights declare no margins; name weights that do by --weights, with a table "
            "such as `[gate]` and in it `mean = 0.2` and `cvar = 0.5`"
        )
        raise SpecError.at(weights.path, message, key="gate")
    return weights.spec.gate


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
    anchors measure drift.
    """
    study = comparison.study
    gate, plan = required_gate(study.weights), build_profile_plan(study)
    margin = gate_margins(gate, plan)
    rise, prompts = unseen_rise(plan), plan.table.sizes["prompt"]
    confidence = upper_confidence(margin, gate.confidence, unseen=bool(np.isfinite(rise)))
    observed, resampled = _resample_sides(comparison, plan, margin, confidence)
    values = observed["value"]
    difference, deviations = (subtract_sides(data["value"]) for data in (observed, resampled))
    error, errors = (add_errors(data["error"]) for data in (observed, resampled))
    limit, carrying = _largest_difference(comparison, margin, plan), _freedom(margin, plan)
    bounds = difference_bounds(
        difference,
        deviations,
        confidence=gate.confidence,
        upper_confidence=confidence,
        freedom=carrying,
        errors=errors,
        error=error,
    )
    is_flat = deviations.max("replicate") - deviations.min("replicate") <= ROUNDING
    unseen = _unseen_bounds(plan, values, difference, limit, confidence=gate.confidence)
    bounds = bounds.where(~is_flat, unseen)
    if not comparison.anchors:
        bounds = bound_rare_differences(plan, bounds, limit, confidence=gate.confidence)
    bounds = bounds.clip(-limit, limit)
    group = describe_gate(margin, difference, deviations, bounds, gate, prompts=prompts)
    group = _need_unseen(group, is_flat, prompts=prompts)
    if not comparison.anchors:
        group = raise_prompts_needed(group, plan, limit, confidence=gate.confidence)
    group["value"] = values.sel(model=[CANDIDATE, REFERENCE]).rename(model="side")
    group["drift"] = drift_of_judges(values)
    group["difference_without"] = _without_judges(comparison, margin)
    withheld = reason_to_withhold(comparison, plan)
    reason = withheld["withheld"]
    return withhold(group, reason).assign_attrs(
        verdict=INCONCLUSIVE if reason else gate_verdict(bounds, margin),
        method="bootstrap",
        unseen_cvar_rise=rise,
        **_unseen_ends(plan, confidence=gate.confidence, is_shown=bool(np.isnan(rise))),
        **withheld,
        **gate_facts(gate),
        **comparison_facts(comparison),
    )


def _resample_sides(
    comparison: Comparison, plan: ProfilePlan, margin: xr.DataArray, confidence: xr.DataArray
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return ``value`` and ``error`` of each model and metric, observed and over (replicate)."""
    study, names = comparison.study, compared_metrics(margin)

    def measure(counts: xr.DataArray | None) -> xr.Dataset:
        weighted = plan.profile if counts is None else partial(plan.profile_resample, counts)
        profile = weighted(names=names, errors=True)
        return xr.Dataset(
            {"value": gate_values(profile, margin), "error": tail_errors(profile, margin)}
        )

    least = round(LEAST_BEYOND / (1.0 - float(confidence.max())))
    resampled = bootstrap(
        measure,
        plan.table["prompt"],
        replicates=max(study.spec.bootstrap.replicates, least),
        seed=study.spec.seed,
        dim="prompt",
        block=block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim]))),
    )
    return measure(None), resampled


def _unseen_ends(plan: ProfilePlan, *, confidence: float, is_shown: bool) -> dict[str, float]:
    """Return what the candidate's prompts can miss at the end of the scale.

    ``unseen_share`` is the share of all prompts that can be of a kind which they do not show, and
    ``unseen_mean_rise`` by how much answers there would raise the mean log-risk, in one dimension;
    NaN where an answer at the end ``is_shown``.
    """
    units = plan.fewest_prompts.sel(model=CANDIDATE).clip(min=1.0)
    share = unseen_share(units, error_rate=1.0 - confidence)
    # A mean is the CVaR of a tail of all prompts.
    rise = unseen_end_rise(share, alpha=0.0, epsilon=plan.weights.risk.epsilon)
    of_mean = float("nan") if is_shown else float(rise)
    return {"unseen_share": float(share), "unseen_mean_rise": of_mean}


def _unseen_bounds(
    plan: ProfilePlan,
    values: xr.DataArray,
    difference: xr.DataArray,
    most: xr.DataArray,
    *,
    confidence: float,
) -> xr.DataArray:
    """Return bounds (metric, bound) of what prompts can miss, for differences that do not vary."""
    is_mean = values["metric"].isin([*MEANS])
    share = is_mean.astype(float).where(is_mean, 1.0 - plan.weights.tail.alpha)
    units = plan.fewest_prompts.sel(model=[CANDIDATE, REFERENCE]).min().clip(min=1.0)
    fall, rise = unseen_change(
        values, units=units, share=share, most=most, error_rate=1.0 - confidence
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


def upper_confidence(margin: xr.DataArray, confidence: float, *, unseen: bool) -> xr.DataArray:
    """Return the confidence of each upper bound, over (metric).

    It is that of the gate, but of CVaR half of the error rate is for answers at the end of the
    scale where the candidate has none: ``unseen``.

    >>> margin = xr.DataArray([1.0, 0.1], {"metric": ["cvar", "mean"]}, "metric")
    >>> upper_confidence(margin, 0.9, unseen=True).values
    array([0.95, 0.9 ])
    """
    share = np.where((margin["metric"] == "cvar") & unseen, SEEN_SHARE, 1.0)
    return margin.copy(data=1.0 - share * (1.0 - confidence))


def unseen_rise(plan: ProfilePlan) -> float:
    """Return by how much CVaR would rise if the candidate's worst answer were at the scale's end.

    It is there in the dimension that is worst already. NaN where an answer of the candidate is at
    the end in some dimension, and so the tail has such answers, or where it has no answer.
    """
    table, epsilon = plan.table.sel(model=[CANDIDATE]), plan.weights.risk.epsilon
    risk = table["log_risk"]
    if bool(shows_end(plan).sel(model=CANDIDATE)) or not bool(risk.notnull().any()):
        return float("nan")
    worst = {dim: int(place) for dim, place in risk.argmax(...).items()}
    raised = risk.copy()
    raised[worst] -= np.log(epsilon) + float(table["log_risk_part"].isel(worst).max())
    after, before = (
        replace(plan, table=table.assign(log_risk=values)).profile(names={"cvar"})["cvar"].item()
        for values in (raised, risk)
    )
    return float(after - before)


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
        "one_study": int(comparison.one_study),
        "scores": int((score.sel(model=CANDIDATE) >= 0).sum()),
        "reference_scores": int((score.sel(model=REFERENCE) >= 0).sum()),
        "candidate_unmatched": unmatched[CANDIDATE],
        "reference_unmatched": unmatched[REFERENCE],
        "anchors": len(comparison.anchors),
        "anchors_unmatched": unmatched[ANCHOR_NOW] + unmatched[ANCHOR_THEN],
        "has_trials": int("trial" in score.dims),
        "copies": comparison.copies,
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


def gate_margins(gate: Gate, plan: ProfilePlan) -> xr.DataArray:
    """Return the margins over (metric)."""
    margins = gate.margins(tuple(map(str, plan.table["dimension"].to_numpy())))
    return xr.DataArray(list(margins.values()), {"metric": list(margins)}, "metric")


def compared_metrics(margin: xr.DataArray) -> set[str]:
    """Return the metrics of a profile that margins (metric) are about.

    >>> margin = xr.DataArray([1.0, 0.1], {"metric": ["cvar", "dimension bias"]}, "metric")
    >>> sorted(compared_metrics(margin))
    ['cvar', 'dimension_cvar']
    """
    return {limited_metric(str(label)) for label in margin["metric"].to_numpy()}


def gate_values(profile: xr.Dataset, margin: xr.DataArray) -> xr.DataArray:
    """Return what each margin is about, over (..., model, metric), of a profile or its draws."""
    values = [select_value(profile, str(label)) for label in margin["metric"].to_numpy()]
    return xr.concat(values, margin["metric"], coords="minimal", compat="override")


def tail_errors(profile: xr.Dataset, margin: xr.DataArray) -> xr.DataArray:
    """Return the standard error of what a margin on one tail is about, missing for others.

    Over (..., model, metric), of a profile with errors. Prompts of a tail are few, so that its
    error in a resample depends on how far the tail of that resample reaches.
    """
    errors = [_tail_error(profile, str(label)) for label in margin["metric"].to_numpy()]
    return xr.concat(errors, margin["metric"], coords="minimal", compat="override")


def _tail_error(profile: xr.Dataset, label: str) -> xr.DataArray:
    """Return the standard error of a CVaR, missing for what is none, or the largest of several."""
    name = limited_metric(label)
    if name not in CVARS or label == "worst_dimension":
        return xr.full_like(select_value(profile, label), np.nan)
    return select_value(xr.Dataset({name: profile[f"{name}_error"]}), label)


def add_errors(errors: xr.DataArray) -> xr.DataArray:
    """Return the error of a sum of independent values, over (..., metric), from (..., model).

    Paired prompts make differences less uncertain; as a scale of resamples their sum does too.
    """
    total: xr.DataArray = (errors**2).sum("model", skipna=False) ** 0.5
    return total.transpose(..., "metric")


def subtract_sides(values: xr.DataArray) -> xr.DataArray:
    """Return how much worse the candidate is, less what its judges score higher, if measured."""
    candidate, reference = (values.sel(model=name, drop=True) for name in (CANDIDATE, REFERENCE))
    difference = candidate - reference
    if ANCHOR_NOW in values["model"]:
        difference = difference - drift_of_judges(values)
    return difference.transpose(..., "metric")


def drift_of_judges(values: xr.DataArray) -> xr.DataArray:
    """Return how much higher judges score the anchors than before; missing without anchors."""
    if ANCHOR_NOW not in values["model"]:
        return xr.full_like(values.isel(model=0, drop=True), np.nan)
    now, then = (values.sel(model=name, drop=True) for name in (ANCHOR_NOW, ANCHOR_THEN))
    return now - then


def _freedom(margin: xr.DataArray, plan: ProfilePlan) -> xr.DataArray:
    """Return the number of prompts that carry each metric, the fewest of any side, over (metric).

    Of a tail these are the prompts in it; of the worst dimension those of the one with the fewest.
    """
    alpha = plan.weights.tail.alpha
    of_dimension = tail_prompts(plan.table["harm"], alpha=alpha, weights=plan.target_weights())

    def count(label: str) -> xr.DataArray:
        dimension = label.partition(" ")[2]
        if label in MEANS:
            return plan.effective_prompts
        if label == "cvar":
            return plan.tail_prompts
        return of_dimension.sel(dimension=dimension) if dimension else of_dimension

    carrying = [float(count(str(label)).min()) for label in margin["metric"].to_numpy()]
    return xr.DataArray(carrying, margin.coords, "metric").clip(min=1.0)


def _largest_difference(
    comparison: Comparison, margin: xr.DataArray, plan: ProfilePlan
) -> xr.DataArray:
    """Return over (metric) how far two models can differ, with the drift of judges, if measured."""
    variables = [(MEANS | CVARS)[limited_metric(str(x))] for x in margin["metric"].to_numpy()]
    of_log_risk = np.array(variables) == "log_risk"
    limit = np.where(of_log_risk, plan.ceiling, 1.0) * (2 if comparison.anchors else 1)
    return xr.DataArray(limit, margin.coords, "metric")


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
