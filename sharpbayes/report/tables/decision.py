"""What weights decide, how sure that is, and with how many more ratings."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list, join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.pairs import pairs_where
from sharpbayes.posterior.claims import has_other_judges, is_recommended
from sharpbayes.posterior.lowest import observed_lowest
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.report.claims import IF_SCORES_TELL, NO_RECOMMENDATION
from sharpbayes.report.metric_names import CRITERIA
from sharpbayes.report.tables.crowd import (
    ALL_ITEMS,
    HEADLINE,
    bias_of_model,
    has_same_labels,
    posterior_note,
)
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import (
    number,
    percent,
    places_of,
    posterior,
    posterior_interval,
    thousands,
)
from sharpbayes.report.tables.panel import has_several_models

# Unresolved pairs that are written out; the rest are counted.
MAX_PAIRS = 6
MORE_RATERS = "more raters"


def _unresolved_models(view: View) -> str:
    """Return in words which pairs of models are not resolved."""
    decision = view.group("decision").sortby("expected_loss")
    unresolved = [
        f"{pair['model']} and {pair['other']} ({number(decision['prob_less'].sel(pair), 2)})"
        for pair in pairs_where(decision["unresolved"])
    ]
    if not unresolved:
        return "Every pair of models is resolved."
    listed = format_list(unresolved, limit=MAX_PAIRS)
    return f"Pairs that are not resolved (probability that the first is lower): {listed}."


def _decision_note(view: View) -> str:
    """The loss, the intervals, Monte Carlo errors, unresolved pairs, and whether it is advice."""
    decision = view.group("decision")
    is_advice = is_recommended(view) and not has_other_judges(view.results)
    selected = labels_where(decision["selected"])
    remark = "" if is_advice or not selected else f" {NO_RECOMMENDATION}"
    is_by_tails = decision.attrs["criterion"] == "cvar"
    if is_advice and is_by_tails and PanelReading(view).near_lowest:
        lowest = [name for name in selected if name in observed_lowest(view, "cvar")]
        remark = f" {join_names(lowest)} is selected {IF_SCORES_TELL}." if lowest else ""
    names = [str(name) for name in decision if str(name).startswith("prob") and "mcse" in str(name)]
    error = max(float(decision[name].fillna(0.0).max()) for name in names)
    return (
        f"Loss: {CRITERIA[decision.attrs['criterion']]} above the best model's. "
        f"{decision.attrs['interval_note']} Largest Monte Carlo error: "
        f"{number(decision['expected_loss_mcse'].max())} of a loss, "
        f"{number(error)} of a probability. {_unresolved_models(view)}{remark}"
    )


def _sources(view: View, prefix: str) -> list[Labels]:
    """Groups of posterior draws with their sources of uncertainty, which name all but the first."""
    groups: list[Labels] = []
    for name, node in view.results.children.items():
        sources = np.atleast_1d(node.attrs.get("sources", []))
        if name in (prefix, "_".join((prefix, *sources))):
            groups.append({"posterior": name, "sources": ", ".join(sources), "by": "all"})
    return groups


MODEL_SOURCES = partial(_sources, prefix="posterior_profile")
CROWD_SOURCES = partial(_sources, prefix="posterior_responsiveness")


def _posterior_and_width(draws: xr.DataArray) -> str:
    """Posterior median and interval, and how wide the interval is."""
    low, high = posterior_interval(draws).to_numpy()
    return f"{posterior(draws)}, {number(high - low)} wide"


def _says_something(view: View) -> bool:
    """Tell whether there are models to compare, or a tolerance of one."""
    within = view["decision/prob_admissible"]
    return has_several_models(view) or bool(within.notnull().any())


MODEL_TABLES = (
    TableSpec(
        title="Decision by model, lowest expected loss first",
        needs=("decision/prob_tier",),
        condition=_says_something,
        rows=labels_of("decision/model", order="decision/expected_loss"),
        columns=(
            Column(
                "model",
                lambda row: row.text("{model}") + " (selected)" * bool(row["decision/selected"]),
            ),
            "CVaR, posterior: posterior_profile/cvar | posterior; decision/expected_loss",
            "P(best): decision/prob_best | probability",
            "P(adm.): decision/prob_admissible | probability",
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
        needs=("posterior_profile", "decision"),
        condition=lambda view: len(MODEL_SOURCES(view)) > 1,
        rows=labels_of("posterior_profile/model"),
        columns=("{model}", over(MODEL_SOURCES, "{sources}: {posterior}/cvar | posterior")),
        note="Posterior median and {posterior_profile[level]:percent} interval; each column names "
        "the sources of uncertainty in its draws.",
    ),
)
GROUP_TABLES = (
    TableSpec(
        name="posterior_responsiveness",
        title="Posterior responsiveness by group ({sources})",
        needs=("posterior_responsiveness/group",),
        repeat=CROWD_SOURCES,
        rows=labels_of("posterior_responsiveness/group"),
        columns=(
            "{group}; raters: responsiveness/raters | count?",
            *(f"{text}: {{posterior}}/{name} | posterior" for name, text in HEADLINE.items()),
        ),
        note=lambda view: posterior_note(view, str(view.labels["posterior"])),
    ),
    TableSpec(
        name="responsiveness_sources",
        title="Responsiveness by source of uncertainty",
        needs=("posterior_responsiveness/group",),
        condition=lambda view: len(CROWD_SOURCES(view)) > 1,
        rows=lambda view: [{**labels, "group": "all"} for labels in CROWD_SOURCES(view)],
        columns=(
            "sources in the draws: {sources}",
            *(
                Column(HEADLINE[metric], f"{{posterior}}/{metric}", _posterior_and_width)
                for metric in ("mpa", "wra")
            ),
        ),
        note=lambda view: view.text(
            "All raters: posterior median, {posterior_responsiveness[level]:percent} interval and "
            "its width. " + bias_of_model(view)
        ),
    ),
)


HEADLINE_METRICS = [{"metric": name, "label": text} for name, text in HEADLINE.items()]


def _groups(view: View) -> Iterator[Labels]:
    """Groups of raters by grouping, the most responsive first if they can be compared."""
    data = view.group("sample_size")
    keys = [data["rank"].fillna(np.inf)] if has_same_labels(view) else []
    groups = data["group"].to_numpy()[np.lexsort((*keys, data["grouping"]))]
    return ({"group": group, "metric": "hm", **ALL_ITEMS} for group in groups)


def _more_ratings(row: View) -> str:
    """How many more ratings narrow an interval, or that only more raters would.

    Variances add up: what items leave of a whole interval has the width sqrt(whole^2 - items^2).
    """
    width, more = (row[f"sample_size/{name}"] for name in ("width", "additional_ratings"))
    path = f"responsiveness/{row.labels['metric']}_interval"
    if path in row:
        full_width = float(row[path].sel(bound="upper") - row[path].sel(bound="lower"))
        target_width = float(row.group("sample_size").attrs["target_interval_width"])
        if full_width**2 - float(width) ** 2 > target_width**2:
            return MORE_RATERS
    return thousands(more)


def _sizes_note(view: View) -> str:
    """What more ratings are of, and what they do not narrow."""
    target = f"{view.group('sample_size').attrs['target_interval_width']:g}"
    notes = (
        (
            "More ratings, of further items and as many an item as now, for an interval over items "
            f"of width {target}: intervals narrow with the root of the number of items."
        ),
        str(view.group("sample_size").attrs.get("interval_note", "")),
        (
            "No item narrows what the choice of raters adds: where that alone makes an interval "
            f'wider than {target}, the table says "{MORE_RATERS}".'
        ),
    )
    return " ".join(filter(None, notes))


def _metrics(view: View) -> list[Labels]:
    """A table for each metric of groups, or one of models."""
    if "sample_size/difference_metric" not in view:
        return [{"of": "", "comma": ""}]
    return [
        {"difference_metric": name, "of": f" of {HEADLINE[name]}", "comma": f", {HEADLINE[name]}"}
        for name in map(str, view.coordinate("sample_size/difference_metric"))
    ]


def _unresolved(view: View) -> list[Labels]:
    """Pairs of models or groups that are not resolved."""
    unresolved = pairs_where(view["sample_size/difference_width"].notnull())
    return [{**pair, "pair": " \u2212 ".join(pair.values())} for pair in unresolved]


def _width_and_chance(row: View) -> str:
    """Width of the interval of a difference, and how probably the pair is distinguishable."""
    width, error = (row[f"sample_size/difference_width{end}"] for end in ("", "_mcse"))
    chance = percent(row["sample_size/prob_distinguishable"])
    return f"{number(width, places_of(float(error), 3))} ({chance})"


def _pair_sizes_note(view: View) -> str:
    """What the cells are, their Monte Carlo errors, and how many pairs are left out."""
    more = int(view.labels["count"] - view.labels["shown"])
    sizes = view.text(
        "Width of the {sample_size[level]:percent} interval of the difference{of}; in brackets, "
        "how probably the interval of a study of that size will exclude 0. "
        "{sample_size[difference_note]} Largest Monte Carlo error: "
        "{sample_size/difference_width_mcse:largest} of a width, "
        "{sample_size/prob_distinguishable_mcse:largest} of a probability."
    )
    pairs = "pair is" if more == 1 else "pairs are"
    remaining = f"{more} more {pairs} in the results." * (more > 0)
    return " ".join(filter(None, [sizes, remaining, bias_of_model(view)]))


PAIR_SIZES = TableSpec(
    title="Sample size for pairs that are not resolved{comma}",
    needs=("sample_size/difference_width",),
    condition=has_same_labels,
    repeat=_metrics,
    rows=_unresolved,
    max_rows=MAX_PAIRS,
    columns=("{pair}", over("sample_size/design", Column("{design}", _width_and_chance))),
    note=_pair_sizes_note,
)


def _title_of_sizes(view: View) -> str:
    """What the table shows, and in which order, where groups have one."""
    order = ", the most responsive of a grouping first" if has_same_labels(view) else ""
    return f"Sample size by group{order}"


def _ranks(view: View) -> list[Labels]:
    """One column of ranks, none where groups are measured by different labels."""
    return [{}] if has_same_labels(view) else []


GROUP_SIZES = TableSpec(
    title=_title_of_sizes,
    needs=("sample_size/additional_ratings",),
    rows=_groups,
    columns=(
        "{group}",
        over(_ranks, "sample_size/rank | thousands"),
        "HM: sample_size/hm; sample_size/width",
        "sample_size/ratings | thousands",
        over(HEADLINE_METRICS, Column("more for {label}", _more_ratings)),
    ),
    note=_sizes_note,
)
