"""Stored results under several weights, alongside each other."""

from collections.abc import Callable, Iterator

import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.metrics.panel.comparison import ADMISSIBLE, CANNOT_TELL, lowest_models
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import evidence_texts, has_other_judges, is_recommended
from sharpbayes.posterior.human_scoring import HUMAN_DECISION
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.posterior.release import NO_TOLERANCE
from sharpbayes.report.approval import is_past
from sharpbayes.report.layout import WEIGHED, results_kind
from sharpbayes.report.metric_names import CRITERIA
from sharpbayes.report.panel_answer import PanelAnswer
from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import (
    MISSING,
    estimate,
    places_of,
    small_number,
    value_and_interval,
)
from sharpbayes.spec.weights import APPROVAL
from sharpbayes.storage.attributes import read_criterion, read_weights


def _weights(view: View) -> list[Labels]:
    """Every weights file with the view of its results."""
    return [
        {"weights": str(name), "inside": View(node)} for name, node in view.results.children.items()
    ]


def _with_groups(*needed: str, without: str = "") -> Callable[[View], bool]:
    """Return whether results are of several weights, with some groups and without another."""

    def allowed(view: View) -> bool:
        if results_kind(view.results) != WEIGHED:
            return False
        inside = _weights(view)[0]["inside"]
        return all(group in inside for group in needed) and (not without or without not in inside)

    return allowed


def _decisions(view: View) -> Iterator[Labels]:
    """Every weights file with what it decides."""
    for labels in _weights(view):
        decision = labels["inside"].group("decision")
        yield {
            "weights": labels["weights"],
            "choice": _choice(labels["inside"], labels_where(decision["selected"])),
            "by": CRITERIA[decision.attrs["criterion"]],
            "carried": _carried(labels["inside"]),
            "order": _order(decision["expected_loss"]),
            "admissible": _admissible(decision),
            "unresolved": int(decision["unresolved"].sum()) // 2,
            **_human_decision(labels["inside"]),
        }


def _carried(inside: View) -> str:
    """Whether the evidence carries a choice: yes, on condition, or no."""
    if not is_recommended(inside):
        return "no"
    return "on condition" if PanelReading(inside).rests_on_unseen_ends else "yes"


def _human_decision(inside: View) -> Labels:
    """What weights decide by people's scoring, where a fit knows it."""
    if HUMAN_DECISION not in inside:
        return {}
    decision = inside.group(HUMAN_DECISION)
    chosen = _choice(inside, labels_where(decision["selected"]))
    return {"human_choice": chosen, "human_admissible": _admissible(decision)}


def _admissible(decision: xr.Dataset) -> str:
    """The models that a decision finds admissible."""
    if "verdict" not in decision:
        return NO_TOLERANCE
    return ", ".join(labels_where(decision["verdict"] == ADMISSIBLE)) or "none"


def _choice(inside: View, names: list[str]) -> str:
    """The models that weights choose, unless models were scored by other judges."""
    return CANNOT_TELL if has_other_judges(inside.results) else ", ".join(names) or "none"


def _order(values: xr.DataArray) -> str:
    """Models by rising values, with = between equal ones; those without a value are left out."""
    values = values.dropna("model")
    ranked = values.sortby(values)
    names = ranked["model"].to_numpy()
    signs = [" = " if gap <= 0 else " < " for gap in ranked.diff("model").to_numpy()]
    return "".join(f"{name}{sign}" for name, sign in zip(names, [*signs, ""], strict=True))


def _observed_criterion(node: xr.DataTree) -> tuple[str, xr.DataArray]:
    """What the weights of some results compare models by, and it by model as observed."""
    by = read_criterion(node)
    return by, select_value(node["profile"].to_dataset(), by)


def _observed_orders(view: View) -> Iterator[Labels]:
    """Every weights file with the observed order of models."""
    for labels in _weights(view):
        by, values = _observed_criterion(labels["inside"].results)
        profile = labels["inside"].group("profile")
        admissible = NO_TOLERANCE
        if "tolerance" in labels["inside"]:
            verdict = labels["inside"].group("tolerance")["verdict"]
            admissible = ", ".join(labels_where(verdict == ADMISSIBLE)) or "none"
        elif "admissible" in profile:
            admissible = ", ".join(labels_where(profile["admissible"])) or "none"
        yield {
            "weights": labels["weights"],
            "lowest": _choice(labels["inside"], lowest_models(values)),
            "by": CRITERIA[by],
            "order": _order(values),
            "admissible": admissible,
        }


def _agreement(*compared: tuple[str, str]) -> Callable[[View], str]:
    """Return the cell that says whether a model has the same values and verdict everywhere."""

    def describe(row: View) -> str:
        views = [
            labels["inside"].select({"model": row.labels["model"]}) for labels in _weights(row)
        ]
        values = {name: {int(view[path]) for view in views} for name, path in compared}
        verdicts = {"verdict": {_verdict_of(view) for view in views}}
        differs = [name for name, distinct in (values | verdicts).items() if len(distinct) > 1]
        return f"no: {', '.join(differs)}" if differs else "yes"

    return describe


def _under_weights(text: str) -> Callable[[View], str]:
    """Return the cell of a text with fields of the results under the weights of a row."""
    return lambda row: row.labels["inside"].select(row.labels).text(text)


def _observed_cvar(row: View) -> str:
    """CVaR with its interval, and the tier, of a model under the weights of a column."""
    inside = row.labels["inside"].select(row.labels)
    cvar = estimate(inside["profile/cvar"], inside["profile_interval/cvar"])
    return f"{cvar} T{int(inside['profile/tier'])}"


def _cvar_tier_and_loss(row: View) -> str:
    """Observed CVaR, the tier and the expected loss of a model under the weights of a column."""
    inside = row.labels["inside"].select(row.labels)
    cvar, _ = value_and_interval(inside["profile/cvar"], inside["profile_interval/cvar"])
    loss, error = (inside[f"decision/expected_loss{end}"] for end in ("", "_mcse"))
    return (
        f"{cvar} T{int(inside['profile/tier'])} ({small_number(loss, places_of(float(error), 2))})"
    )


def _scored_by_people(view: View) -> list[Labels]:
    """One column where a fit decides by people's scoring too, else none."""
    return [{}] if HUMAN_DECISION in _weights(view)[0]["inside"] else []


def _weights_by_people(view: View) -> list[Labels]:
    """Every weights file with the view of its results, where people scored too."""
    return _weights(view) if _scored_by_people(view) else []


def _several(view: View) -> list[Labels]:
    """One column where several weights files are compared, else none."""
    return [{}] if len(_weights(view)) > 1 else []


def _limits(view: View) -> list[Labels]:
    """What the evidence does not carry, with the weights files of which it holds.

    What people's scoring contradicts stands first.
    """
    files: dict[str, list[str]] = {}
    for labels in _weights(view):
        inside = labels["inside"]
        by_people = PanelAnswer(inside).by_people() if HUMAN_DECISION in inside else ()
        for text in [*by_people, *(evidence_texts(inside, "limits") or [])]:
            files.setdefault(text, []).append(labels["weights"])
    return [{"weights": ", ".join(names), "limit": text} for text, names in files.items()]


def _has_limits(view: View) -> bool:
    """Whether results are of several weights under some of which the evidence has a limit."""
    return results_kind(view.results) == WEIGHED and bool(_limits(view))


def _note_of_first(template: str) -> Callable[[View], str]:
    """Return a note with the attributes of the first weights file."""
    return lambda view: str(_weights(view)[0]["inside"].text(template)).strip()


def _models(view: View) -> list[Labels]:
    """Models, in the order of the data."""
    return labels_of("profile/model")(_weights(view)[0]["inside"])


def _populations(view: View) -> list[Labels]:
    """Every weights file with the sample and, where it has shares, with its target population."""
    return [
        {**labels, "population": population, "by": "all"}
        for labels in _weights(view)
        for population in ("sample", "target")
        if population == "sample" or read_weights(labels["inside"].results).get("population")
    ]


def _verdict(row: View) -> str:
    """The verdict on a model under the weights of a column, by the fit where there is one."""
    return _verdict_of(row.labels["inside"].select(row.labels))


def _verdict_of(inside: View) -> str:
    """The verdict on a model in some results."""
    path = "decision/verdict" if "decision/verdict" in inside else "tolerance/verdict"
    return str(inside[path].item()) if path in inside else NO_TOLERANCE


def _human_verdict(row: View) -> str:
    """The verdict on a model by people's scoring, under the weights of a column."""
    inside, path = row.labels["inside"].select(row.labels), f"{HUMAN_DECISION}/verdict"
    return str(inside[path].item()) if path in inside else NO_TOLERANCE


def _with_jurisdiction(row: View) -> str:
    """The name of a weights file, and where it is in force."""
    place = row.labels["inside"].results.attrs.get("jurisdiction", "")
    return f"{row.labels['weights']} ({place})" if place else str(row.labels["weights"])


def _approvals(view: View) -> Iterator[Labels]:
    """Every weights file with who approved it, where it is in force and until when."""
    for labels in _weights(view):
        attrs = labels["inside"].results.attrs
        texts = {name: str(attrs.get(name, "")) or MISSING for name in APPROVAL}
        until = texts["valid_until"] + " (past)" * is_past(str(attrs.get("valid_until", "")))
        yield {"weights": labels["weights"], **texts, "valid_until": until}


def _any_weights(*names: str) -> Callable[[View], bool]:
    """Return whether any weights file has one of some attributes or groups."""

    def allowed(view: View) -> bool:
        return results_kind(view.results) == WEIGHED and any(
            node.attrs.get(name) or name in node.children
            for node in view.results.children.values()
            for name in names
        )

    return allowed


TIER, CHOICE = ("tier", "profile/tier"), ("choice", "decision/selected")
LIMITS = TableSpec(
    title="What the evidence does not carry",
    condition=_has_limits,
    rows=_limits,
    columns=("under: {weights}", "limit: {limit}"),
)
MODEL_TABLES = (
    LIMITS,
    TableSpec(
        title="What each weighting decides",
        condition=_with_groups("decision"),
        rows=_decisions,
        columns=(
            "{weights}; {choice}; {by}; carried by the evidence: {carried}; {admissible}",
            over(
                _scored_by_people,
                "choice by people's scoring: {human_choice}",
                "admissible by people's scoring: {human_admissible}",
            ),
            "models by expected loss: {order}; pairs not resolved: {unresolved}",
        ),
        note=_note_of_first(
            "Choice: the lowest expected loss; under a tolerance, among the models that are within "
            "it with the probability that the decision asks. A choice that the evidence does not "
            "carry is no recommendation; on condition: it holds only if answers at the end of the "
            "scale, of which the lowest model shows none, are no more frequent for it. Admissible: "
            "at the confidence of the tolerance, which may ask for more. {decision[interval_note]}"
        ),
    ),
    TableSpec(
        title="Each model under each weighting",
        condition=_with_groups("decision"),
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column("{weights}", _cvar_tier_and_loss)),
            over(_several, Column("the same", _agreement(TIER, CHOICE))),
        ),
        note="CVaR of the observed ratings in nats, tier, and in brackets the expected loss, in "
        "the unit of what its weights compare models by. The same: tier, choice and verdict.",
    ),
    TableSpec(
        title="The observed order under each weighting",
        condition=_with_groups("profile", without="decision"),
        rows=_observed_orders,
        columns=(
            "{weights}; {lowest}; {by}; models, lowest first: {order}",
            "shown to be within limits: {admissible}",
        ),
        note=lambda view: str(view.results.attrs["left_out"]).capitalize() + ".",
    ),
    TableSpec(
        title="Each model under each weighting, as observed",
        condition=_with_groups("profile", without="decision"),
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column("{weights}", _observed_cvar)),
            over(_several, Column("the same", _agreement(TIER))),
        ),
        note=_note_of_first(
            "CVaR in nats with its interval, and tier. The same: tier and verdict. "
            "{profile_interval[interval_note]}"
        ),
    ),
    TableSpec(
        title="Verdict on each model under each weighting",
        condition=_any_weights("tolerance"),
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column(_with_jurisdiction, _verdict)),
            over(_weights_by_people, Column("{weights}, by people's scoring", _human_verdict)),
        ),
        note="Each at the confidence of its tolerance. Cannot tell: neither is shown, or the "
        "evidence does not tell the tail that a limit is about.",
    ),
    TableSpec(
        title="Who approved each weighting",
        condition=_any_weights(*APPROVAL),
        rows=_approvals,
        columns=("{weights}; {jurisdiction}; {approved_by}; {approved_on}; {valid_until}",),
    ),
)
OBSERVED = "{{responsiveness_population/{}}}"
POSTERIOR = "{{posterior_responsiveness_population/{}:posterior}}"
FIRST_COLUMN = "weights and population: {weights}: {population}"
GROUP_TABLES = (
    TableSpec(
        title="Responsiveness of the target population alongside the sample",
        condition=_with_groups("posterior_responsiveness_population"),
        rows=_populations,
        columns=(
            FIRST_COLUMN,
            *(
                Column(label, _under_weights(f"{OBSERVED}; {POSTERIOR}".format(metric, metric)))
                for metric, label in HEADLINE.items()
            ),
        ),
        note=_note_of_first(
            "All raters: observed; median and interval of replicates. Target: raters weighted to "
            "the shares of the weights. "
            "{posterior_responsiveness_population[interval_note]} "
            "{posterior_responsiveness_population[remark]}"
        ),
    ),
    TableSpec(
        title="Observed responsiveness of the target population alongside the sample",
        condition=_with_groups(
            "responsiveness_population", without="posterior_responsiveness_population"
        ),
        rows=_populations,
        columns=(
            FIRST_COLUMN,
            *(
                Column(label, _under_weights(OBSERVED.format(metric)))
                for metric, label in HEADLINE.items()
            ),
        ),
        note=lambda view: (
            "All raters. Target: raters weighted to the shares of the weights. "
            f"{str(view.results.attrs['left_out']).capitalize()}."
        ),
    ),
)
