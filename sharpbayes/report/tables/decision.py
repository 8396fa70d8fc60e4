"""What weights decide, how sure that is, and how it differs between weights."""

from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr

from sharpbayes.report.layout import WEIGHED, results_kind
from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import central_interval, number, posterior
from sharpbayes.report.tables.panel import pairs
from sharpbayes.report.tables.table import Chapter

CRITERIA = {
    "cvar": "CVaR of cumulative log-risk",
    "policy_score": "policy score",
    "worst_dimension": "CVaR of harm of the worst dimension",
}
# Pairs that are written out; the rest are counted.
MOST_PAIRS = 6


def _selected_mark(row: View) -> str:
    """A model, marked where the weights select it."""
    return f"{row.labels['model']}{' (selected)' * bool(row['decision/selected'])}"


def _tier_percentages(row: View) -> str:
    """Probability of each tier in percent."""
    return " ".join(f"{100 * float(p):.0f}" for p in row["decision/prob_tier"])


def _largest_error(decision: xr.Dataset) -> float:
    """Largest Monte Carlo error of a probability."""
    names = [str(name) for name in decision if str(name).startswith("prob") and "mcse" in str(name)]
    return max(float(decision[name].fillna(0.0).max()) for name in names)


def _unresolved(view: View) -> str:
    """Return in words which pairs of models are not resolved."""
    decision = view.group("decision").sortby("expected_loss")
    unresolved = [
        f"{pair['model']} and {pair['other']} ({number(decision['prob_less'].sel(pair), 2)})"
        for pair in pairs(list(decision["model"].to_numpy()))
        if bool(decision["unresolved"].sel(pair))
    ]
    if not unresolved:
        return "Every pair of models is resolved."
    more = f" and {len(unresolved) - MOST_PAIRS} more" if len(unresolved) > MOST_PAIRS else ""
    listed = ", ".join(unresolved[:MOST_PAIRS])
    return f"Pairs that are not resolved (probability that the first is lower): {listed}{more}."


def _decision_note(view: View) -> str:
    """The loss, the intervals, Monte Carlo errors and unresolved pairs."""
    decision = view.group("decision")
    return (
        f"Loss: {CRITERIA[decision.attrs['criterion']]} above the best model's. "
        f"{decision.attrs['interval_note']} Largest Monte Carlo error: "
        f"{number(decision['expected_loss_mcse'].max())} of a loss, "
        f"{number(_largest_error(decision))} of a probability. {_unresolved(view)}"
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


def _several(labels: Callable[[View], list[Labels]]) -> Callable[[View], bool]:
    """Return whether there are draws of several lists of sources."""
    return lambda view: len(labels(view)) > 1


def _metric_and_width(metric: str) -> Column:
    """Column of the posterior of a metric of all raters, with the width of its interval."""

    def cell(row: View) -> str:
        row = row.select({"group": "all"})
        draws = row[f"{row.labels['posterior']}/{metric}"]
        low, high = central_interval(draws, float(draws.attrs["level"])).to_numpy()
        return f"{posterior(draws)}, {number(high - low)} wide"

    return Column(HEADLINE[metric], cell)


DECISION_TABLES = (
    TableSpec(
        title="Decision by model, lowest expected loss first",
        chapter=Chapter.DECISION,
        needs=("decision/prob_tier",),
        after_run=True,
        rows=labels_of("decision/model", order="decision/expected_loss"),
        columns=(
            Column("model", _selected_mark),
            "CVaR, interval: posterior_profile/cvar | posterior; decision/expected_loss",
            "P(best): decision/prob_best",
            "P(adm.): decision/prob_admissible",
            Column("tiers, %", _tier_percentages),
        ),
        note=_decision_note,
    ),
    TableSpec(
        title="CVaR by source of uncertainty",
        chapter=Chapter.DECISION,
        needs=("posterior_profile", "decision"),
        condition=_several(MODEL_SOURCES),
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
        note=lambda view: str(view.attribute(view.labels["posterior"], "interval_note")),
    ),
    TableSpec(
        name="responsiveness_sources",
        title="Responsiveness by source of uncertainty",
        chapter=Chapter.GROUPS,
        needs=("posterior_responsiveness/group",),
        condition=_several(CROWD_SOURCES),
        after_run=True,
        rows=CROWD_SOURCES,
        columns=("sources in the draws: {sources}", *map(_metric_and_width, ("mpa", "wra"))),
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


def _has_populations(view: View) -> bool:
    """Whether these are raters of target populations."""
    return results_kind(view.results) == WEIGHED and not _decides(view)


def _of_decision(function: Callable[[xr.Dataset], str]) -> Callable[[View], str]:
    """Return the cell of a decision under the weights of a row."""
    return lambda row: function(row.labels["inside"].group("decision"))


def _selected(decision: xr.Dataset) -> str:
    """The selected model, or ``none``."""
    names = decision["model"].to_numpy()[decision["selected"].to_numpy()]
    return ", ".join(map(str, names)) or "none"


def _by_loss(decision: xr.Dataset) -> str:
    """Models by growing expected loss."""
    return " < ".join(map(str, decision.sortby("expected_loss")["model"].to_numpy()))


def _admissible(decision: xr.Dataset) -> str:
    """Models that are admissible with the asked confidence, or a dash without a tolerance."""
    if np.isnan(decision.attrs["tolerance"]):
        return "-"
    sure = decision["prob_admissible"] >= decision.attrs["confidence"]
    return ", ".join(map(str, decision["model"].to_numpy()[sure.to_numpy()])) or "none"


def _model_under_weights(row: View) -> str:
    """CVaR, tier and expected loss of a model."""
    inside = row.labels["inside"].select({"model": row.labels["model"]})
    loss = number(inside["decision/expected_loss"])
    return f"{number(inside['profile/cvar'])} T{int(inside['profile/tier'])} ({loss})"


def _agreement(row: View) -> str:
    """Whether a model has one tier, and is selected or not, under every weights file."""
    views = [labels["inside"].select({"model": row.labels["model"]}) for labels in _weights(row)]
    differs = [
        what
        for what, path in (("tier", "profile/tier"), ("choice", "decision/selected"))
        if len({int(view[path]) for view in views}) > 1
    ]
    return f"no: {', '.join(differs)}" if differs else "yes"


def _models(view: View) -> Iterator[Labels]:
    """Models of the first weights file, which are those of all."""
    models = _weights(view)[0]["inside"].coordinate("profile/model")
    return ({"model": model} for model in models)


def _populations(view: View) -> list[Labels]:
    """The sample and the target population of every weights file."""
    return [
        {**labels, "population": population}
        for labels in _weights(view)
        for population in ("sample", "target")
    ]


def _population_metric(metric: str) -> Column:
    """Observed metric of all raters, and its posterior mean with interval."""

    def cell(row: View) -> str:
        inside = row.labels["inside"].select({"population": row.labels["population"], "by": "all"})
        observed = number(inside[f"responsiveness_population/{metric}"])
        return f"{observed}; {posterior(inside[f'posterior_responsiveness_population/{metric}'])}"

    return Column(HEADLINE[metric], cell)


def _note_of_first(template: str) -> Callable[[View], str]:
    """Return a note with the attributes of the first weights file."""
    return lambda view: str(_weights(view)[0]["inside"].text(template))


WEIGHED_TABLES = (
    TableSpec(
        title="What each weighting decides",
        chapter=Chapter.DECISION,
        condition=_decides,
        rows=_weights,
        columns=(
            "{weights}",
            Column("choice", _of_decision(_selected)),
            Column("by", _of_decision(lambda decision: str(decision.attrs["criterion"]))),
            Column("models by expected loss", _of_decision(_by_loss)),
            Column("admissible", _of_decision(_admissible)),
            Column(
                "not resolved",
                _of_decision(lambda decision: str(int(decision["unresolved"].sum()) // 2)),
            ),
        ),
        note=_note_of_first("{decision[interval_note]}"),
    ),
    TableSpec(
        title="Where weightings disagree",
        chapter=Chapter.DECISION,
        condition=_decides,
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column("{weights}", _model_under_weights)),
            Column("the same", _agreement),
        ),
        note="CVaR of the observed ratings, tier, and expected loss in brackets.",
    ),
    TableSpec(
        title="Responsiveness of the target population alongside the sample",
        chapter=Chapter.GROUPS,
        condition=_has_populations,
        rows=_populations,
        columns=(
            "weights and population: {weights}: {population}",
            *map(_population_metric, HEADLINE),
        ),
        note=_note_of_first(
            "All raters: observed; mean and interval of replicates. "
            "{posterior_responsiveness_population[interval_note]}"
        ),
    ),
)
