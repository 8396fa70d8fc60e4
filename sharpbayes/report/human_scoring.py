"""Where people's scoring, as a fit estimates it, gives another answer than the judges'."""

from collections.abc import Collection, Iterator, Sequence

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.metrics.panel.comparison import ADMISSIBLE, CANNOT_TELL, NOT_ADMISSIBLE
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.human_scoring import HUMAN_DECISION, human_probability
from sharpbayes.posterior.lowest import likely_lowest
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import probability_text

BY_PEOPLE, BY_JUDGES = "by people's scoring, as fitted", "by the judges' scoring"
VERDICT_TEXTS = {
    ADMISSIBLE: "{} keeps the tolerance (probability {})",
    NOT_ADMISSIBLE: "{} exceeds the tolerance (probability of keeping it {})",
    CANNOT_TELL: "of {} the evidence cannot tell whether it keeps the tolerance (probability {})",
}


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
    by_people = human_probability(view, metric)
    first = str(by_people.idxmax("model").item())
    others = ", ".join(
        f"{name}: {probability_text(by_people.sel(model=name))}"
        for name in likely_lowest(view, metric)
    )
    chance = probability_text(by_people.max())
    return f"{first} has the lowest {METRICS[metric]} with probability {chance} ({others})"
