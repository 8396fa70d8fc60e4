"""What the evidence lets a report state of a panel: tails, means, a recommendation."""

import xarray as xr

from sharpbayes.analysis.prompt_counts import has_mean
from sharpbayes.analysis.unequal_judges import JUDGES, TRIALS, list_inequalities
from sharpbayes.report.human_scoring import contradicts_selection
from sharpbayes.report.lowest import is_disputed
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.panel import models_by_risk
from sharpbayes.report.wording import list_texts

# Criteria of decisions by which posterior and bootstrap are compared.
COMPARED = ("cvar", "policy_score")
NO_RECOMMENDATION = "The evidence does not carry this choice: it is no recommendation."
STATEMENTS = ("lowest", "distinguishable", "admissible")
UNEQUAL_VALUES = (
    "The values of each model {}, and the tables have them; no model is called lowest, by the "
    "posterior or by the bootstrap."
)
# What is in the values of models that were judged unequally.
OWN_VALUES = {
    (JUDGES,): "are those of its own judges",
    (TRIALS,): "have the noise that its own trials leave",
    (JUDGES, TRIALS): "are those of its own judges, with the noise that its own trials leave",
}


def carried_statements(view: View) -> list[str]:
    """Return the statements that the evidence carries; all where results do not say."""
    carried = evidence_texts(view, "carried")
    return list(STATEMENTS) if carried is None else carried


def has_means(view: View) -> bool:
    """Return whether there are prompts enough for statements about means of all models."""
    if "evidence" not in view:
        return True
    evidence = view.group("evidence").sel(model=models_by_risk(view))
    return bool(has_mean(evidence, alpha=float(view.group("profile").attrs["alpha"])).all())


def is_recommended(view: View) -> bool:
    """Return whether the evidence carries the statements that the decision selects one model by.

    Several equal models are no recommendation.
    """
    decision = view.group("decision")
    if int(decision["selected"].sum()) > 1:
        return False
    criterion = decision.attrs["criterion"]
    return is_carried(view, criterion, has_tolerance="profile/admissible" in view)


def is_carried(view: View, criterion: str, *, has_tolerance: bool) -> bool:
    """Return whether the evidence carries a selection by a criterion, with a tolerance or without.

    It carries no order that posterior and bootstrap dispute, and no selection that people's scoring
    contradicts.
    """
    if contradicts_selection(view):
        return False
    needed = set()
    if criterion in COMPARED and is_disputed(view, criterion):
        return False
    if criterion == "cvar":
        needed.add("lowest")
    if criterion == "worst_dimension" or has_tolerance:
        needed.add("admissible")
    stated = needed <= {*carried_statements(view)}
    return stated and (criterion != "policy_score" or has_means(view))


def evidence_texts(view: View, name: str) -> list[str] | None:
    """Return the texts of an attribute of the evidence; None where results hold none."""
    return list_texts(view.group("evidence").attrs.get(name, "")) if "evidence" in view else None


def find_inequalities(results: xr.DataTree) -> tuple[str, ...]:
    """Return in what models were not judged alike, so that none is called the best; empty if alike.

    A crowd has no models.
    """
    if "evidence" not in results or "profile" not in results:
        return ()
    evidence, profile = (results[name].to_dataset() for name in ("evidence", "profile"))
    return list_inequalities(evidence, profile)


def has_other_judges(results: xr.DataTree) -> bool:
    """Return whether models were not judged alike, by other judges or more often."""
    return bool(find_inequalities(results))


def describe_own_values(results: xr.DataTree) -> str:
    """Return what the values of models that were not judged alike are."""
    return UNEQUAL_VALUES.format(OWN_VALUES[find_inequalities(results)])
