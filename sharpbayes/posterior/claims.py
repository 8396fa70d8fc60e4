"""What the evidence lets a report state of a panel: tails, means, a recommendation."""

from collections.abc import Sequence

import xarray as xr

from sharpbayes.analysis.prompt_counts import has_mean
from sharpbayes.analysis.results_view import ResultsView, is_fitted
from sharpbayes.analysis.unequal_judges import list_inequalities
from sharpbayes.metrics.panel.comparison import NOT_ADMISSIBLE
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.human_scoring import contradicts_selection
from sharpbayes.posterior.lowest import is_disputed, models_by_risk, models_not_below
from sharpbayes.storage.attributes import list_texts

# Criteria of decisions by which posterior and bootstrap are compared.
COMPARED = ("cvar", "policy_score")
STATEMENTS = ("lowest", "distinguishable", "admissible")


def carried_statements(view: ResultsView) -> list[str]:
    """Return the statements that the evidence carries; all where results do not say."""
    carried = evidence_texts(view, "carried")
    return list(STATEMENTS) if carried is None else carried


def has_means(view: ResultsView) -> bool:
    """Return whether there are prompts enough for statements about means of all models."""
    if "evidence" not in view:
        return True
    evidence = view.group("evidence").sel(model=models_by_risk(view))
    return bool(has_mean(evidence, alpha=float(view.group("profile").attrs["alpha"])).all())


def is_recommended(view: ResultsView) -> bool:
    """Return whether the evidence carries the statements that the decision selects one model by.

    Several equal models are no recommendation.
    """
    decision = view.group("decision")
    if int(decision["selected"].sum()) > 1:
        return False
    criterion = decision.attrs["criterion"]
    return is_carried(view, criterion, has_tolerance="profile/admissible" in view)


def is_carried(view: ResultsView, criterion: str, *, has_tolerance: bool) -> bool:
    """Return whether the evidence carries a selection by a criterion, with a tolerance or without.

    It carries no order that posterior and bootstrap dispute, none that answers without a score
    could change, and no selection that people's scoring contradicts.
    """
    is_compared = criterion in COMPARED
    if contradicts_selection(view) or (is_compared and is_disputed(view, criterion)):
        return False
    if is_compared and models_not_below(view, criterion):
        return False
    needed = set()
    if criterion == "cvar":
        needed.add("lowest")
    if criterion == "worst_dimension" or has_tolerance:
        needed.add("admissible")
    stated = needed <= {*carried_statements(view)}
    return stated and (criterion != "policy_score" or has_means(view))


def list_exceeded(view: ResultsView, models: Sequence[str]) -> dict[str, list[str]]:
    """Return the thresholds that each model is known to exceed, by the fit where there is one."""
    path = "decision/state" if is_fitted(view) and "decision/state" in view else "tolerance/state"
    # Results of earlier versions have states of too few prompts.
    if path not in view or not has_means(view):
        return {}
    is_beyond = view[path] == NOT_ADMISSIBLE
    return {model: labels_where(is_beyond.sel(model=model)) for model in models}


def evidence_texts(view: ResultsView, name: str) -> list[str] | None:
    """Return the texts of an attribute of the evidence; None where results hold none."""
    return list_texts(view.group("evidence").attrs.get(name, "")) if "evidence" in view else None


def failed_statistics(view: ResultsView) -> int:
    """Return how many statistics of the ratings the fitted model does not reproduce."""
    group = "predictive_checks"
    return len(list_texts(view.group(group).attrs["failed_checks"])) if group in view else 0


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
