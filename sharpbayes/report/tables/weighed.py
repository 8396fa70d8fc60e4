"""Stored results under several weights, alongside each other."""

from collections.abc import Callable, Iterator

import xarray as xr

from sharpbayes.report.approval import FIELDS, is_past
from sharpbayes.report.layout import WEIGHED, read_weights, results_kind
from sharpbayes.report.tables.crowd import HEADLINE
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import estimate
from sharpbayes.report.tables.panel import labels_where


def _weights(view: View) -> list[Labels]:
    """Every weights file with the view of its results."""
    return [
        {"weights": str(name), "inside": View(node)} for name, node in view.results.children.items()
    ]


def _with_groups(*wanted: str, without: str = "") -> Callable[[View], bool]:
    """Return whether results are of several weights, with some groups and without another."""

    def allowed(view: View) -> bool:
        if results_kind(view.results) != WEIGHED:
            return False
        inside = _weights(view)[0]["inside"]
        return all(group in inside for group in wanted) and (not without or without not in inside)

    return allowed


def _decisions(view: View) -> Iterator[Labels]:
    """Every weights file with what it decides."""
    for labels in _weights(view):
        decision = labels["inside"].group("decision")
        admissible = "-"
        if "verdict" in decision:
            sure = labels_where(decision["verdict"] == "admissible")
            admissible = ", ".join(sure) or "none"
        yield {
            "weights": labels["weights"],
            "choice": ", ".join(labels_where(decision["selected"])) or "none",
            "by": decision.attrs["criterion"],
            "order": " < ".join(map(str, decision.sortby("expected_loss")["model"].to_numpy())),
            "admissible": admissible,
            "unresolved": int(decision["unresolved"].sum()) // 2,
        }


def _observed_criterion(node: xr.DataTree) -> tuple[str, xr.DataArray]:
    """What the weights of some results compare models by, and it by model as observed."""
    by = str(read_weights(node).get("decision", {}).get("by", "cvar"))
    profile = node["profile"].to_dataset()
    if by == "worst_dimension":
        return by, profile["dimension_cvar"].max("dimension", skipna=False)
    return by, profile[by]


def _observed_orders(view: View) -> Iterator[Labels]:
    """Every weights file with the observed order of models."""
    for labels in _weights(view):
        by, values = _observed_criterion(labels["inside"].results)
        profile = labels["inside"].group("profile")
        admissible = "-"
        if "admissible" in profile:
            admissible = ", ".join(labels_where(profile["admissible"])) or "none"
        yield {
            "weights": labels["weights"],
            "lowest": ", ".join(labels_where(values == values.min())),
            "by": by,
            "order": " < ".join(map(str, values.sortby(values)["model"].to_numpy())),
            "admissible": admissible,
        }


def _agreement(*compared: tuple[str, str]) -> Callable[[View], str]:
    """Return the cell that says whether a model has the same values under every weights file."""

    def describe(row: View) -> str:
        views = [
            labels["inside"].select({"model": row.labels["model"]}) for labels in _weights(row)
        ]
        differs = [name for name, path in compared if len({int(view[path]) for view in views}) > 1]
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


def _note_of_first(template: str) -> Callable[[View], str]:
    """Return a note with the attributes of the first weights file."""
    return lambda view: str(_weights(view)[0]["inside"].text(template)).strip()


def _models(view: View) -> list[Labels]:
    """Models, in the order of the data."""
    return labels_of("profile/model")(_weights(view)[0]["inside"])


def _populations(view: View) -> list[Labels]:
    """Every weights file with the sample and with its target population."""
    return [
        {**labels, "population": population, "by": "all"}
        for labels in _weights(view)
        for population in ("sample", "target")
    ]


def _verdict(row: View) -> str:
    """The verdict on a model under the weights of a column, by the fit where there is one."""
    inside = row.labels["inside"].select(row.labels)
    path = "decision/verdict" if "decision/verdict" in inside else "tolerance/verdict"
    return str(inside[path].item()) if path in inside else "no tolerance"


def _with_jurisdiction(row: View) -> str:
    """The name of a weights file, and where it is in force."""
    place = row.labels["inside"].results.attrs.get("jurisdiction", "")
    return f"{row.labels['weights']} ({place})" if place else str(row.labels["weights"])


def _approvals(view: View) -> Iterator[Labels]:
    """Every weights file with who approved it, where it is in force and until when."""
    for labels in _weights(view):
        attrs = labels["inside"].results.attrs
        texts = {name: str(attrs.get(name, "")) or "-" for name in FIELDS}
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
CVAR_TIER_AND_LOSS = "{profile/cvar} T{profile/tier:count} ({decision/expected_loss})"
MODEL_TABLES = (
    TableSpec(
        title="What each weighting decides",
        condition=_with_groups("decision"),
        rows=_decisions,
        columns=(
            "{weights}; {choice}; {by}; models by expected loss: {order}; {admissible}",
            "not resolved: {unresolved}",
        ),
        note=_note_of_first("{decision[interval_note]}"),
    ),
    TableSpec(
        title="Where weightings disagree",
        condition=_with_groups("decision"),
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column("{weights}", _under_weights(CVAR_TIER_AND_LOSS))),
            Column("the same", _agreement(TIER, CHOICE)),
        ),
        note="CVaR of the observed ratings, tier, and expected loss in brackets.",
    ),
    TableSpec(
        title="The observed order under each weighting",
        condition=_with_groups("profile", without="decision"),
        rows=_observed_orders,
        columns=(
            "{weights}; {lowest}; {by}; models, lowest first: {order}; within limits: {admissible}",
        ),
        note=lambda view: str(view.results.attrs["left_out"]).capitalize() + ".",
    ),
    TableSpec(
        title="Where weightings disagree on the observed ratings",
        condition=_with_groups("profile", without="decision"),
        rows=_models,
        columns=(
            "{model}",
            over(_weights, Column("{weights}", _observed_cvar)),
            Column("the same", _agreement(TIER)),
        ),
        note=_note_of_first("CVaR with its interval, and tier. {profile_interval[interval_note]}"),
    ),
    TableSpec(
        title="Verdict on each model under each weighting",
        condition=_any_weights("tolerance"),
        rows=_models,
        columns=("{model}", over(_weights, Column(_with_jurisdiction, _verdict))),
        note="Each at the confidence of its tolerance. Cannot tell: neither is shown.",
    ),
    TableSpec(
        title="Who approved each weighting",
        condition=_any_weights(*FIELDS),
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
            "All raters: observed; median and interval of replicates. "
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
        note=lambda view: f"All raters. {str(view.results.attrs['left_out']).capitalize()}.",
    ),
)
