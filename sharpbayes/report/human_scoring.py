"""Where people's scoring, as a fit estimates it, gives another answer than the judges'."""

from collections.abc import Collection, Iterator, Sequence

import xarray as xr

from sharpbayes.metrics.stats.draws import lowest_probability
from sharpbayes.report.lowest import likely_lowest
from sharpbayes.report.metric_names import METRICS
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.panel import labels_where
from sharpbayes.report.tables.tolerance import ADMISSIBLE, CANNOT_TELL, NOT_ADMISSIBLE
from sharpbayes.report.wording import is_fitted, probability_text

HUMAN_PROFILE, HUMAN_DECISION = "posterior_profile_human", "decision_human"
BY_PEOPLE, BY_JUDGES = "by people's scoring, as fitted", "by the judges' scoring"
# Another model leads by at least this probability; less is within the error of draws.
LEAD = 0.05
VERDICT_TEXTS = {
    ADMISSIBLE: "{} keeps the tolerance (probability {})",
    NOT_ADMISSIBLE: "{} exceeds the tolerance (probability of keeping it {})",
    CANNOT_TELL: "of {} the evidence cannot tell whether it keeps the tolerance (probability {})",
}


def contradicted_metrics(view: View, metrics: Sequence[str]) -> list[str]:
    """Return the metrics by which people's scoring finds another model most probably lowest."""
    if not _has_human_scoring(view):
        return []
    return [
        metric
        for metric in metrics
        if _leads(_human_probability(view, metric), likely_lowest(view, metric))
    ]


def contradicted_verdicts(view: View) -> list[str]:
    """Return the models that have another verdict by people's scoring."""
    paths = ("decision/verdict", f"{HUMAN_DECISION}/verdict")
    if not _has_human_scoring(view) or not all(path in view for path in paths):
        return []
    by_judges, by_people = (view[path] for path in paths)
    return labels_where(by_judges != by_people)


def contradicts_selection(view: View) -> bool:
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


def human_sentences(view: View, metrics: Sequence[str], models: Collection[str]) -> Iterator[str]:
    """Yield what people's scoring says of some metrics, and of models with another verdict."""
    clauses = [_lowest_clause(view, metric) for metric in metrics]
    for model in models:
        row = view.select({"model": model})
        chance = probability_text(row[f"{HUMAN_DECISION}/prob_admissible"])
        text = VERDICT_TEXTS[str(row[f"{HUMAN_DECISION}/verdict"].item())]
        clauses.append(text.format(model, chance))
    if clauses:
        yield f"{BY_PEOPLE.capitalize()}, {'; '.join(clauses)}."


def selection_contradicted(view: View, selected: Sequence[str]) -> str:
    """Return that a selection by the judges' scoring is none by people's scoring."""
    by_people = " and ".join(labels_where(view.group(HUMAN_DECISION)["selected"])) or "no model"
    return (
        f"The table of the decision selects {' and '.join(selected)}, {BY_JUDGES}; {BY_PEOPLE}, it "
        f"selects {by_people}: that is no recommendation."
    )


def _lowest_clause(view: View, metric: str) -> str:
    """The most probably lowest model, and the probability of those that the judges' scoring has."""
    by_people = _human_probability(view, metric)
    first = str(by_people.idxmax("model").item())
    others = ", ".join(
        f"{name}: {probability_text(by_people.sel(model=name))}"
        for name in likely_lowest(view, metric)
    )
    chance = probability_text(by_people.max())
    return f"{first} has the lowest {METRICS[metric]} with probability {chance} ({others})"


def _has_human_scoring(view: View) -> bool:
    """Whether a fit that may be used decides by people's scoring too."""
    return is_fitted(view) and HUMAN_PROFILE in view and HUMAN_DECISION in view


def _human_probability(view: View, metric: str) -> xr.DataArray:
    """Probability of being lowest by people's scoring, over (model)."""
    return lowest_probability(view[f"{HUMAN_PROFILE}/{metric}"], "model")


def _leads(by_people: xr.DataArray, named: Sequence[str]) -> bool:
    """Whether people's scoring prefers another model to those that the judges' scoring names."""
    return float(by_people.max() - by_people.sel(model=list(named)).max()) >= LEAD
