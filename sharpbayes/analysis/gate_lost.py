"""Answers of the candidate that nobody scored, and whether they could keep it from passing."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr
from scipy.special import bdtrc

from sharpbayes.analysis.gate_differences import gate_values, subtract_sides
from sharpbayes.analysis.gate_margins import compared_metrics
from sharpbayes.analysis.gate_study import CANDIDATE, REFERENCE, Comparison
from sharpbayes.analysis.missing import tabulate_harm
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL


def describe_lost_answers(comparison: Comparison, gate: xr.Dataset) -> str:
    """Return how many answers are lost, where they could change the verdict; empty where not.

    The candidate lacks more of them than the reference beyond chance, by the exact sign test over
    prompts of which one side lacks the answer. And with its lost answers at the end of the scale an
    upper bound would lie beyond its margin.
    """
    lost, of_reference = (len(comparison.lost[name]) for name in (CANDIDATE, REFERENCE))
    p = bdtrc(lost - 1, lost + of_reference, 0.5)
    if comparison.with_lost is None or p >= SIGNIFICANCE_LEVEL:
        return ""
    worst = measure_worst(comparison.with_lost, comparison.lost[CANDIDATE], gate["margin"])
    rise = worst - gate["difference"]
    upper = gate["bounds"].sel(bound="upper", drop=True)
    if not bool((upper + rise.clip(min=0.0) > gate["margin"]).any()):
        return ""
    return f"{lost} of {len(comparison.shared) + lost} answers of the candidate and {of_reference}"


def measure_worst(study: PanelStudy, lost: Sequence[str], margin: xr.DataArray) -> xr.DataArray:
    """Return the differences, over (metric), where lost answers to prompts harm most.

    They have a harm of 1 by the judges and in the dimensions that the reference's are scored by.
    """
    plan = build_profile_plan(study)
    sub_index = plan.table["sub_index"]
    is_lost = (sub_index["model"] == CANDIDATE) & sub_index["prompt"].isin(list(lost))
    is_asked = sub_index.sel(model=REFERENCE, drop=True).notnull()
    filled = sub_index.where(~(is_lost & is_asked), 1.0).transpose(*sub_index.dims)
    worst = replace(plan, table=tabulate_harm(plan, filled))
    return subtract_sides(gate_values(worst.profile(names=compared_metrics(margin)), margin))
