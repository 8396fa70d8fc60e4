"""When a plan of purchases says stop: what takes its certainty from a fit that it trusts."""

import json
from collections.abc import Collection, Sequence

import xarray as xr

from sharpbayes.analysis.unequal_judges import JUDGES, TRIALS, list_inequalities
from sharpbayes.metrics.panel.least_numbers import ROUNDING
from sharpbayes.posterior.contradictions import Contradiction
from sharpbayes.posterior.purchase_lists import STOP, UNDECIDED

# What a certainty rests on where models were judged unequally, or the fit is contradicted.
BASES = {
    (JUDGES,): "who judged which model",
    (TRIALS,): "how often each model was judged",
    (JUDGES, TRIALS): "who judged which model, and how often",
}
CONTRADICTED = "a fitted model that the ratings contradict"


def lists_gain(plan: xr.Dataset) -> bool:
    """Return whether a purchase lowers the loss at all, be it by chance: its price then decides.

    >>> lists_gain(xr.Dataset({"list_gain": ("size", [0.0, 0.2])}))
    True
    """
    return "list_gain" in plan and bool((plan["list_gain"] > 0).any())


def restrict_by_evidence(
    plan: xr.Dataset, evidence: xr.Dataset | None, profile: xr.Dataset, *, tells_means: bool = True
) -> xr.Dataset:
    """Return the plan of a panel with what the evidence does not carry of it.

    Where a study cannot tell which model is lowest, the certainty of the fit is that of its model:
    that no purchase would change the choice is then no reason to stop. The worst dimension is
    chosen by the tail of the same prompts, the policy score by all of them: that needs prompts
    enough for statements about means, which is ``tells_means``. Where models were scored by other
    judges, or more often, no criterion compares them, and no purchase of more of the same does.
    """
    if evidence is None:
        return plan
    limits = json.loads(evidence.attrs["limits"])
    if _is_at_ceiling(evidence, profile):
        plan = plan.assign_attrs(basis="")
    if inequalities := list_inequalities(evidence, profile):
        basis = BASES[inequalities]
        return plan.assign_attrs(limits=json.dumps(limits), verdict=UNDECIDED, basis=basis)
    is_by_means = plan.attrs["criterion"] == "policy_score"
    if (is_by_means and tells_means) or "lowest" in json.loads(evidence.attrs["carried"]):
        return plan
    verdict = plan.attrs["verdict"] if lists_gain(plan) else UNDECIDED
    return plan.assign_attrs(limits=json.dumps(limits[:1]), verdict=verdict)


def restrict_by_unseen_ends(plan: xr.Dataset, condition: str) -> xr.Dataset:
    """Return the plan of a panel with the condition on which its choice by CVaR stands.

    Answers at the end of the scale that nobody saw could change the choice. That a fit is sure, or
    expects a gain below its price, is then no reason to stop.
    """
    limits = [*json.loads(plan.attrs.get("limits", "[]")), condition]
    verdict = UNDECIDED if plan.attrs["verdict"] == STOP else plan.attrs["verdict"]
    return plan.assign_attrs(limits=json.dumps(limits), verdict=verdict)


def _is_at_ceiling(evidence: xr.Dataset, profile: xr.Dataset) -> bool:
    """Whether CVaR of every model is as high as it can be in every draw: none is more severe."""
    if "ceiling" not in evidence:
        return False
    return not bool((profile["cvar"] < evidence["ceiling"] * (1.0 - ROUNDING)).any())


def restrict_by_few_raters(
    plan: xr.Dataset, evidence: xr.Dataset | None, remark: str
) -> xr.Dataset:
    """Return the plan of a crowd with what limits it, ``remark`` of its posterior among it.

    Where a group has few raters, the certainty of the fit is that of its law of raters: that no
    purchase would change the answer is then no reason to stop.
    """
    attrs = {} if evidence is None else evidence.attrs
    limits, remarks = (json.loads(attrs.get(name, "[]")) for name in ("limits", "remarks"))
    if len(limits) > len(remarks) and not lists_gain(plan):
        plan = plan.assign_attrs(verdict=UNDECIDED)
    return plan.assign_attrs(limits=json.dumps([*limits, *filter(None, [remark])]))


def restrict_by_contradictions(
    plan: xr.Dataset, contradictions: Collection[Contradiction], sentences: Sequence[str]
) -> xr.Dataset:
    """Return a plan with what contradicts the fit that it trusts, and the sentences on it.

    That a fit is sure is then no reason to stop, nor is a gain by it that is below its price.
    """
    if not contradictions:
        return plan
    limits = [*json.loads(plan.attrs.get("limits", "[]")), *sentences]
    verdict = UNDECIDED if plan.attrs["verdict"] == STOP else plan.attrs["verdict"]
    basis = plan.attrs.get("basis") or CONTRADICTED
    return plan.assign_attrs(limits=json.dumps(limits), verdict=verdict, basis=basis)
