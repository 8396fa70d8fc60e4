"""What weights decide, how sure that is, and how it differs between weights."""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr

from sharpbayes.report.layout import WEIGHED, results_kind
from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import number, posterior, posterior_interval
from sharpbayes.report.tables.panel import pairs_where
from sharpbayes.report.tables.table import Chapter

CRITERIA = {
    "cvar": "CVaR of cumulative log-risk",
    "policy_score": "policy score",
    "worst_dimension": "CVaR of harm of the worst dimension",
}
# Pairs that are written out; the rest are counted.
MOST_PAIRS = 6


def _unresolved(view: View) -> str:
    """Return in words which pairs of models are not resolved."""
    decision = view.group("decision").sortby("expected_loss")
    unresolved = [
        f"{pair['model']} and {pair['other']} ({number(decision['prob_less'].sel(pair), 2)})"
        for pair in pairs_where(decision["unresolved"])
    ]
    if not unresolved:
        return "Every pair of models is resolved."
    more = f" and {len(unresolved) - MOST_PAIRS} more" if len(unresolved) > MOST_PAIRS else ""
    listed = ", ".join(unresolved[:MOST_PAIRS])
    return f"Pairs that are not resolved (probability that the first is lower): {listed}{more}."


def _decision_note(view: View) -> str:
    """The loss, the intervals, Monte Carlo errors and unresolved pairs."""
    decision = view.group("decision")
    names = [str(name) for name in decision if str(name).startswith("prob") and "mcse" in str(name)]
    error = max(float(decision[name].fillna(0.0).max()) for name in names)
    return (
        f"Loss: {CRITERIA[decision.attrs['criterion']]} above the best model's. "
        f"{decision.attrs['interval_note']} Largest Monte Carlo error: "
        f"{number(decision['expected_loss_mcse'].max())} of a loss, "
        f"{number(error)} of a probability. {_unresolved(view)}"
    )


def _sources(prefix: str) -> Callable[[View], list[Labels]]:
    """Return the labels of groups of posterior draws by their sources of uncertainty."""

    def labels(view: View) -> list[Labels]:
        return [
            {
                "posterior": str(name),
                "sources": ", ".join(np.atleast_1d(node.attrs["sources"])),
                "by": "all",
            }
            for name, node in view.results.children.items()
            if str(name).startswith(prefix) and not str(name).endswith(("_human", "_population"))
        ]

    return labels


MODEL_SOURCES, CROWD_SOURCES = _sources("posterior_profile"), _sources("posterior_responsiveness")


def _posterior_and_width(draws: xr.DataArray) -> str:
    """Posterior mean and interval, and how wide the interval is."""
    low, high = posterior_interval(draws).to_numpy()
    return f"{posterior(draws)}, {number(high - low)} wide"


DECISION_TABLES = (
    TableSpec(
        title="Decision by model, lowest expected loss first",
        chapter=Chapter.DECISION,
        needs=("decision/prob_tier",),
        after_run=True,
        rows=labels_of("decision/model", order="decision/expected_loss"),
        columns=(
            Column(
                "model",
                lambda row: row.text("{model}") + " (selected)" * bool(row["decision/selected"]),
            ),
            "CVaR, interval: posterior_profile/cvar | posterior; decision/expected_loss",
            "P(best): decision/prob_best",
            "P(adm.): decision/prob_admissible",
            Column(
                "tiers, %",
                "decision/prob_tier",
                lambda tiers: " ".join(f"{100 * float(p):.0f}" for p in tiers),
            ),
        ),
        note=_decision_note,
    ),
    TableSpec(
        title="CVaR by source of uncertainty",
        chapter=Chapter.DECISION,
        needs=("posterior_profile", "decision"),
        condition=lambda view: len(MODEL_SOURCES(view)) > 1,
        after_run=True,
        rows=labels_of("posterior_profile/model"),
        columns=("{model}", over(MODEL_SOURCES, "{sources}: {posterior}/cvar | posterior")),
        note="Posterior mean and {posterior_profile[level]:.0%} interval; each column names the "
        "sources of uncertainty in its draws.",
    ),
    TableSpec(
        name="posterior_responsiveness",
        title="Posterior responsiveness by group ({sources})",
        chapter=Chapter.GROUPS,
        needs=("posterior_responsiveness/group",),
        after_run=True,
        repeat=CROWD_SOURCES,
        rows=labels_of("posterior_responsiveness/group"),
        columns=(
            "{group}",
            *(f"{text}: {{posterior}}/{name} | posterior" for name, text in HEADLINE.items()),
        ),
        note=lambda view: view.text(view.text("{{{posterior}[interval_note]}}")),
    ),
    TableSpec(
        name="responsiveness_sources",
        title="Responsiveness by source of uncertainty",
        chapter=Chapter.GROUPS,
        needs=("posterior_responsiveness/group",),
        condition=lambda view: len(CROWD_SOURCES(view)) > 1,
        after_run=True,
        rows=lambda view: [{**labels, "group": "all"} for labels in CROWD_SOURCES(view)],
        columns=(
            "sources in the draws: {sources}",
            *(
                Column(HEADLINE[metric], f"{{posterior}}/{metric}", _posterior_and_width)
                for metric in ("mpa", "wra")
            ),
        ),
        note="All raters: posterior mean, {posterior_responsiveness[level]:.0%} interval and its "
        "width.",
    ),
)


def _weights(view: View) -> list[Labels]:
    """Every weights file with the view of its results."""
    return [
        {"weights": str(name), "inside": View(node)} for name, node in view.results.children.items()
    ]


def _decides(view: View) -> bool:
    """Whether these are models under several weights."""
    return results_kind(view.results) == WEIGHED and "decision" in _weights(view)[0]["inside"]


def _admissible(decision: xr.Dataset) -> str:
    """Models that are admissible with the asked confidence, or a dash without a tolerance."""
    if np.isnan(decision.attrs["tolerance"]):
        return "-"
    return _named(decision, decision["prob_admissible"] >= decision.attrs["confidence"])


def _named(decision: xr.Dataset, flag: xr.DataArray) -> str:
    """Models with a flag, or ``none``."""
    return ", ".join(map(str, decision["model"].to_numpy()[flag.to_numpy()])) or "none"


def _decisions(view: View) -> Iterator[Labels]:
    """Every weights file with what it decides."""
    for labels in _weights(view):
        decision = labels["inside"].group("decision")
        yield {
            "weights": labels["weights"],
            "choice": _named(decision, decision["selected"]),
            "by": decision.attrs["criterion"],
            "order": " < ".join(map(str, decision.sortby("expected_loss")["model"].to_numpy())),
            "admissible": _admissible(decision),
            "unresolved": int(decision["unresolved"].sum()) // 2,
        }


def _agreement(row: View) -> str:
    """Whether a model has one tier, and is selected or not, under every weights file."""
    views = [labels["inside"].select({"model": row.labels["model"]}) for labels in _weights(row)]
    differs = [
        what
        for what, path in (("tier", "profile/tier"), ("choice", "decision/selected"))
        if len({int(view[path]) for view in views}) > 1
    ]
    return f"no: {', '.join(differs)}" if differs else "yes"


def _under_weights(text: str) -> Callable[[View], str]:
    """Return the cell of a text with fields of the results under the weights of a row."""
    return lambda row: row.labels["inside"].select(row.labels).text(text)


def _note_of_first(template: str) -> Callable[[View], str]:
    """Return a note with the attributes of the first weights file."""
    return lambda view: str(_weights(view)[0]["inside"].text(template))


WEIGHED_TABLES = (
    TableSpec(
        title="What each weighting decides",
        chapter=Chapter.DECISION,
        condition=_decides,
        rows=_decisions,
        columns=(
            "{weights}; {choice}; {by}; models by expected loss: {order}; {admissible}",
            "not resolved: {unresolved}",
        ),
        note=_note_of_first("{decision[interval_note]}"),
    ),
    TableSpec(
        title="Where weightings disagree",
        chapter=Chapter.DECISION,
        condition=_decides,
        rows=lambda view: labels_of("profile/model")(_weights(view)[0]["inside"]),
        columns=(
            "{model}",
            over(
                _weights,
                Column(
                    "{weights}",
                    _under_weights(
                        "{profile/cvar} T{profile/tier:count} ({decision/expected_loss})"
                    ),
                ),
            ),
            Column("the same", _agreement),
        ),
        note="CVaR of the observed ratings, tier, and expected loss in brackets.",
    ),
    TableSpec(
        title="Responsiveness of the target population alongside the sample",
        chapter=Chapter.GROUPS,
        condition=lambda view: results_kind(view.results) == WEIGHED and not _decides(view),
        rows=lambda view: [
            {**labels, "population": population, "by": "all"}
            for labels in _weights(view)
            for population in ("sample", "target")
        ],
        columns=(
            "weights and population: {weights}: {population}",
            *(
                Column(
                    label,
                    _under_weights(
                        f"{{responsiveness_population/{metric}}}; "
                        f"{{posterior_responsiveness_population/{metric}:posterior}}"
                    ),
                )
                for metric, label in HEADLINE.items()
            ),
        ),
        note=_note_of_first(
            "All raters: observed; mean and interval of replicates. "
            "{posterior_responsiveness_population[interval_note]}"
        ),
    ),
)
