"""Tables of a crowd: responsiveness of groups of raters, their agreement, raters and items."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.metrics.crowd.responsiveness import METRICS
from sharpbayes.report.tables.declaration import (
    Column,
    Labels,
    TableSpec,
    View,
    fixed,
    labels_of,
    labels_where,
    over,
    section,
)
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.panel import pairs_where, posterior_and_bootstrap
from sharpbayes.report.tables.table import Chapter

# Rows of a table of pairs, items or raters; all of them are in the results file.
MOST_ROWS = 15
MOST_GROUPS = 40
LOWEST_RATERS = 5
MOST_ITEMS = 2
SIGNIFICANT = 0.05
HEADLINE = {metric.name: metric.label for metric in METRICS if metric.headline}
ALL_ITEMS, ALL_GROUPS = {"by": "all"}, {"group": "all"}
EVERYONE = {**ALL_GROUPS, **ALL_ITEMS}
all_items = fixed(ALL_ITEMS)


def shortened(labels: np.ndarray) -> str:
    """Return the first labels and how many more there are, or a dash."""
    named = ", ".join(map(str, labels[:MOST_ROWS]))
    more = len(labels) - MOST_ROWS
    return f"{named} and {more} more" if more > 0 else named or "-"


def _note(template: str, group: str) -> Callable[[View], str]:
    """Return a note that ends with why groups have no numbers, groups of one reason together."""

    def note(view: View) -> str:
        reason = view[f"{group}/reason"]
        texts = {
            why: ", ".join(map(str, reason["group"].to_numpy()[reason.to_numpy() == why]))
            for why in dict.fromkeys(reason.to_numpy())
            if why
        }
        return view.text(template) + "".join(f" {text}: {why}." for why, text in texts.items())

    return note


def _empty_strata(view: View) -> np.ndarray:
    """Strata of items on which no group can be measured."""
    empty: xr.DataArray = (view.group("responsiveness")["reason"] != "").all("group")
    strata: np.ndarray = empty["by"].to_numpy()[empty.to_numpy()]
    return strata


def _measured_strata(view: View) -> list[Labels]:
    """Strata of items on which a group can be measured; all items where there is none."""
    empty = _empty_strata(view)
    strata = [by for by in view.group("responsiveness")["by"].to_numpy() if by not in empty]
    return [{"by": by} for by in strata or ["all"]]


def _responsiveness_note(view: View) -> str:
    """Ranges and intervals; the first table names the strata that are not measured."""
    note = (
        "In [0, 1], tau in [\u22121, 1]; higher is more responsive. {responsiveness[interval_note]}"
    )
    text = _note(note, "responsiveness")(view)
    missing = [by for by in _empty_strata(view) if by != "all"]
    if missing and _measured_strata(view)[0]["by"] == view.labels["by"]:
        text += f" No group can be measured on {shortened(np.array(missing))}."
    return text


def _all_pairs(view: View) -> list[Labels]:
    """Pairs of groups with a difference, the smallest p first."""
    data = view.group("responsiveness_difference").sel(ALL_ITEMS)
    compared, p = pairs_where(data["hm"].notnull()), data["hm_p"].fillna(2)
    return sorted(compared, key=lambda pair: float(p.sel(pair)))


def _differences_note(view: View) -> str:
    """How many pairs are shown, and the correction."""
    count = len(_all_pairs(view))
    return view.text(
        f"First group less second, on the same items; {min(count, MOST_ROWS)} of {count} pairs, "
        "smallest p first. Holm over all pairs of a grouping and all strata. "
        "{responsiveness_difference[interval_note]}"
    )


def _starred(name: str) -> Column:
    """A number with a star where it is significant, two where it stays so after correction."""

    def cell(row: View) -> str:
        p_values = [float(row[f"cohesion/{name}_{end}"]) for end in ("p", "p_adjusted")]
        return number(row[f"cohesion/{name}"]) + "*" * sum(p < SIGNIFICANT for p in p_values)

    return Column(name.upper(), cell)


def _raters(view: View) -> Iterator[Labels]:
    """The highest and the lowest raters, all of them where they are few."""
    ordered = view.coordinate("raters/rater", "raters/rank")
    if len(ordered) > MOST_ROWS:
        ordered = [*ordered[: MOST_ROWS - LOWEST_RATERS], *ordered[-LOWEST_RATERS:]]
    return ({"rater": rater, "metric": "hm"} for rater in ordered)


def _raters_note(view: View) -> str:
    """How many raters are shown, and what the columns are."""
    data = view.group("raters")
    count, masked = data.sizes["rater"], int((data["reason"] != "").sum())
    return (
        f"{min(count, MOST_ROWS)} of {count} raters, highest and lowest; metrics masked for "
        f"{masked}. more: further ratings for an interval of HM as narrow as wanted; extreme: "
        "share of ratings at either end; range: of the scale that is used. "
        f"{data.attrs['interval_note']}"
    )


def _priority_note(view: View) -> str:
    """How many items are shown, and the definitions."""
    count = view.group("items").sizes["item"]
    return view.text(
        f"{min(count, MOST_ROWS)} of {count} items. Priority in [0, 1]: plurality of the groups of "
        "{items[grouping]}, weighted by their harmonic mean. Disagreement: highest less lowest "
        "plurality of these groups."
    )


def _scores_of_item(view: View) -> Iterator[Labels]:
    """Scores of an item, the highest first, with who gave them."""
    item, score = view.labels["item"], view["contested_items/score"]
    data = view.group("items").sel(item=item)
    grouped = data["plurality"].isel(group=np.flatnonzero(data["in_priority_grouping"]))
    for value in data["score"].to_numpy()[::-1]:
        raters = score["rater"].to_numpy()[score.to_numpy() == value]
        groups = grouped["group"].to_numpy()[grouped.to_numpy() == value]
        texts = {"groups": shortened(groups), "raters": shortened(raters)}
        yield {"score": value, "ratings": len(raters), **texts}


def _curves(unit: str, labels: Labels, **declared: Any) -> TableSpec:
    """A table of precision and recall at each score of what can be measured."""
    dim = "group" if unit == "group" else "by"
    return TableSpec(
        name=f"curves_by_{unit}",
        repeat=fixed(labels),
        rows=labels_where("responsiveness/reason", lambda reason: reason == ""),
        columns=(
            f"{{{dim}}}",
            over("responsiveness/score", "precision at {score}: responsiveness/precision"),
            over("responsiveness/score", "recall at {score}: responsiveness/recall"),
        ),
        **declared,
    )


def _groups_with_draws(view: View) -> list[Labels]:
    """Groups with posterior draws."""
    draws = view["posterior_responsiveness/hm"].dropna("group")
    return [{"group": group} for group in draws["group"].to_numpy()[:MOST_GROUPS]]


CROWD_TABLES = (
    *section(
        Chapter.GROUPS,
        TableSpec(
            name="responsiveness_posterior_and_bootstrap",
            title="Responsiveness: posterior and bootstrap interval",
            needs=("posterior_responsiveness", "posterior_predictive"),
            repeat=all_items,
            rows=_groups_with_draws,
            columns=(
                "{group}",
                posterior_and_bootstrap(
                    "posterior_responsiveness/hm", "responsiveness/hm_interval"
                ),
            ),
            note="Harmonic mean of MPA and WRA; further right is better. "
            "{posterior_responsiveness[interval_note]}",
        ),
        TableSpec(
            name="responsiveness",
            title="Responsiveness to severity by rater group, items: {by}",
            source="Responsiveness paper, Tables 3 to 5",
            after_run=True,
            repeat=_measured_strata,
            rows=labels_of("responsiveness/group"),
            columns=(
                "{group}; MPA: responsiveness/mpa",
                "interval: responsiveness/mpa_interval | interval; WRA: responsiveness/wra",
                "interval: responsiveness/wra_interval | interval; HM: responsiveness/hm",
                "tau: responsiveness/kendall_tau",
            ),
            note=_responsiveness_note,
        ),
        TableSpec(
            title="Every metric by rater group",
            repeat=all_items,
            rows=labels_of("responsiveness/group"),
            columns=(
                "{group}",
                over(
                    fixed(
                        *({"metric": m.name, "label": m.label} for m in METRICS if not m.by_score)
                    ),
                    "{label}: responsiveness/{metric}",
                    "interval: responsiveness/{metric}_interval | interval",
                ),
            ),
            note="Each metric with its interval. {responsiveness[interval_note]}",
        ),
        _curves(
            "group",
            ALL_ITEMS,
            title="Precision and recall at each score",
            source="Responsiveness paper, Figure 2",
            note="Missing where a group never gives the score.",
        ),
        _curves(
            "stratum",
            ALL_GROUPS,
            title="Precision and recall at each score by stratum of items",
            source="Responsiveness paper, Figure 8",
            condition=lambda view: view.group("responsiveness").sizes["by"] > 1,
            note="Missing where a stratum has no such score.",
        ),
        TableSpec(
            title="Differences of responsiveness between groups of one grouping",
            needs=("responsiveness_difference",),
            condition=lambda view: bool(_all_pairs(view)),
            after_run=True,
            repeat=all_items,
            rows=lambda view: _all_pairs(view)[:MOST_ROWS],
            columns=(
                "pair: {group} \u2212 {other}; HM: responsiveness_difference/hm",
                "interval: responsiveness_difference/hm_interval | interval",
                "p: responsiveness_difference/hm_p; p (Holm): responsiveness_difference/hm_p_holm",
            ),
            note=_differences_note,
        ),
        needs=("responsiveness",),
    ),
    TableSpec(
        name="scale_use",
        title="Use of the scale by rater group",
        chapter=Chapter.SCALE,
        source="Responsiveness paper, Figure 1",
        needs=("scale_use",),
        after_run=True,
        repeat=all_items,
        rows=labels_of("scale_use/group"),
        columns=(
            "{group}",
            over("scale_use/score", "{score}: scale_use/score_share"),
            "mean: scale_use/mean_score; extreme: scale_use/extreme_response",
            "middle: scale_use/central_tendency",
        ),
        note=_note(
            "Shares of the group's ratings; extreme: at either end; middle: at the middle.",
            "scale_use",
        ),
    ),
    TableSpec(
        name="cohesion",
        title="Group cohesion",
        chapter=Chapter.SCALE,
        source="Responsiveness paper, Tables 1 and 2",
        needs=("cohesion",),
        after_run=True,
        rows=labels_of("cohesion/group"),
        columns=("{group}", *map(_starred, ("irr", "xrr", "gai")), "cohesion/raters | count"),
        note=_note(
            f"* p < {SIGNIFICANT:g}; ** also after correction. " + "{cohesion[interval_note]}",
            "cohesion",
        ),
    ),
    TableSpec(
        name="raters",
        title="Raters by their own responsiveness",
        chapter=Chapter.RATERS,
        needs=("raters",),
        after_run=True,
        rows=_raters,
        columns=(
            "{rater}; raters/rank | thousands",
            *(Column(label, f"raters/{name}") for name, label in HEADLINE.items()),
            "interval: raters/hm_interval | interval",
            "more: raters/additional_ratings | thousands",
            "extreme: raters/extreme_response; range: raters/scale_range_used",
            "raters/drift?",
        ),
        note=_raters_note,
    ),
    TableSpec(
        title="Items by harm as seen by responsive groups",
        chapter=Chapter.ITEMS,
        needs=("items/priority",),
        condition=lambda view: bool(view["items/priority"].notnull().any()),
        after_run=True,
        repeat=fixed(ALL_GROUPS),
        rows=labels_of("items/item", order="items/rank", most=MOST_ROWS),
        columns=(
            "{item}; items/rank | thousands; items/priority",
            "plurality of all: items/plurality | thousands; items/disagreement | thousands",
        ),
        note=_priority_note,
    ),
    TableSpec(
        name="contested_items",
        title="Scores of item {item}",
        chapter=Chapter.ITEMS,
        source="Responsiveness paper, Figures 9 to 11",
        needs=("contested_items", "items"),
        after_run=True,
        repeat=labels_of("contested_items/item", most=MOST_ITEMS),
        rows=_scores_of_item,
        columns=("{score}; {ratings}; plurality of: {groups}; {raters}",),
        note=lambda view: view.select(ALL_GROUPS).text(
            "Plurality of all raters: {items/plurality:count}. "
            "One of the items seen most differently."
        ),
    ),
)
