"""Where people's scoring, as a fit estimates it, gives another answer than the judges'."""

from collections.abc import Sequence

import xarray as xr

from sharpbayes.analysis.results_view import ResultsView, is_fitted
from sharpbayes.metrics.panel.comparison import ADMISSIBLE
from sharpbayes.metrics.stats.draws import lowest_probability
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.lowest import likely_lowest

HUMAN_PROFILE, HUMAN_DECISION = "posterior_profile_human", "decision_human"
# Another model leads by at least this probability; less is within the error of draws.
LEAD = 0.05


def contradicted_metrics(view: ResultsView, metrics: Sequence[str]) -> list[str]:
    """Return the metrics by which people's scoring finds another model most probably lowest."""
    if not _has_human_scoring(view):
        return []
    return [
        metric
        for metric in metrics
        if _leads(human_probability(view, metric), likely_lowest(view, metric))
    ]


def contradicted_verdicts(view: ResultsView) -> list[str]:
    """Return the models that have another verdict by people's scoring."""
    paths = ("decision/verdict", f"{HUMAN_DECISION}/verdict")
    if not _has_human_scoring(view) or not all(path in view for path in paths):
        return []
    by_judges, by_people = (view[path] for path in paths)
    return labels_where(by_judges != by_people)


def contradicts_selection(view: ResultsView) -> bool:
    """Return whether people's scoring does not select the models that the judges' selects.

    Nor does it where another model is most probably the best, or where it does not find admissible
    what the judges' scoring does.
    """
    if not _has_human_scoring(view):
        return False
    judges, people = view.group("decision"), view.group(HUMAN_DECISION)
    chance = judges["prob_best"]
    selects_others = bool((judges["selected"] != people["selected"]).any())
    if selects_others or _leads(people["prob_best"], labels_where(chance == chance.max())):
        return True
    admissible = set(labels_where(judges["selected"])) & set(contradicted_verdicts(view))
    return any(judges["verdict"].sel(model=name) == ADMISSIBLE for name in admissible)


def _has_human_scoring(view: ResultsView) -> bool:
    """Whether a fit that may be used decides by people's scoring too."""
    return is_fitted(view) and HUMAN_PROFILE in view and HUMAN_DECISION in view


def human_probability(view: ResultsView, metric: str) -> xr.DataArray:
    """Return the probability of being lowest by people's scoring, over (model)."""
    return lowest_probability(view[f"{HUMAN_PROFILE}/{metric}"], "model")


def _leads(by_people: xr.DataArray, named: Sequence[str]) -> bool:
    """Whether people's scoring prefers another model to those that the judges' scoring names."""
    return float(by_people.max() - by_people.sel(model=list(named)).max()) >= LEAD
