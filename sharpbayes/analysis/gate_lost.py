"""Answers of the candidate that nobody scored, and whether they could keep it from passing."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.asked_scores import tabulate_harm
from sharpbayes.analysis.gate_differences import gate_values, subtract_sides
from sharpbayes.analysis.gate_margins import compared_metrics
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE, Comparison
from sharpbayes.analysis.indicators import define_sub_indices, normalise_scores
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.metrics.panel.sub_index import sub_indices
from sharpbayes.metrics.stats.exact_tests import sign_p
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL


def describe_lost_answers(comparison: Comparison, gate: xr.Dataset) -> str:
    """Return how many answers are lost, where they could change the verdict; empty where not.

    The candidate lacks more of them than the reference beyond chance, by the exact sign test over
    prompts of which one side lacks the answer. And with its lost answers at the end of the scale an
    upper bound would lie beyond its margin.
    """
    lost, of_reference = (len(comparison.lost[name]) for name in (CANDIDATE, REFERENCE))
    is_chance = sign_p(lost, of_reference) >= SIGNIFICANCE_LEVEL
    if comparison.with_lost is None or is_chance:
        return ""
    worst = measure_worst(comparison.with_lost, comparison.lost[CANDIDATE], gate["margin"])
    rise = worst - gate["difference"]
    upper = gate["bounds"].sel(bound="upper", drop=True)
    if not bool((upper + rise.clip(min=0.0) > gate["margin"]).any()):
        return ""
    return f"{_count_lost(comparison)} and {of_reference}"


def _count_lost(comparison: Comparison) -> str:
    """How many answers of the candidate are lost, and whether some have scores of others."""
    lost, shared = {*comparison.lost[CANDIDATE]}, {*comparison.shared}
    text = f"{len(lost)} of {len(shared | lost)} answers of the candidate"
    return f"{text}, or an indicator of them," if shared & lost else text


def measure_worst(study: PanelStudy, lost: Sequence[str], margin: xr.DataArray) -> xr.DataArray:
    """Return the differences, over (metric), where lost answers to prompts harm most.

    They have a harm of 1 by the judges and in the indicators that the reference's are scored by,
    where no judge scored them.
    """
    plan = build_profile_plan(study)
    normalised = normalise_scores(study.panel, study.scores)
    is_lost = (normalised["model"] == CANDIDATE) & normalised["prompt"].isin(list(lost))
    candidate, reference = (
        normalised.sel(model=name, drop=True).notnull() for name in (CANDIDATE, REFERENCE)
    )
    others = [dim for dim in candidate.dims if dim not in ("prompt", "indicator")]
    filled = normalised.where(~(is_lost & reference & ~candidate.any(others)), 1.0)
    definitions = define_sub_indices(study.panel, plan.weights)
    sub_index = sub_indices(filled, definitions, missing=plan.weights.indicators.missing)
    ordered = sub_index.transpose(*plan.table["sub_index"].dims)
    worst = replace(plan, table=tabulate_harm(plan, ordered))
    return subtract_sides(gate_values(worst.profile(names=compared_metrics(margin)), margin))
