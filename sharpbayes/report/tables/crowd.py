"""Tables of a crowd: responsiveness of groups of raters and their agreement."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import xarray as xr

from sharpbayes.data.cells import parse_number
from sharpbayes.errors import format_list
from sharpbayes.metrics.crowd.matched_items import is_by_items
from sharpbayes.metrics.crowd.responsiveness import METRICS
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.metrics.stats.pairs import pairs_where
from sharpbayes.report.tables.declaration import Column, Labels, TableSpec, View, labels_of, over
from sharpbayes.report.tables.format import MISSING, number, value_and_interval

# Rows of a table of pairs, items or raters; all of them are in the results file.
MAX_ROWS = 15
MAX_GROUPS = 40
HEADLINE = {metric.name: metric.label for metric in METRICS if metric.headline}
ALL_ITEMS, ALL_GROUPS = {"by": "all"}, {"group": "all"}
EVERYONE = {**ALL_GROUPS, **ALL_ITEMS}
BY_ITEMS = (
    "Without stars: {groups}. The groups rated the items in unequal proportions, and IRR weights "
    "the items by one side, XRR by both. On the same mix of items GAI is {matched}."
)


def shortened(labels: Iterable[object]) -> str:
    """Return the first labels and how many more there are, or a dash."""
    return format_list(labels, limit=MAX_ROWS) or "-"


def unmeasured_groups(reason: xr.DataArray) -> list[str]:
    """Return why groups have no numbers, a sentence for each reason with its groups.

    >>> why = ["", "no item is labelled safe", "no item is labelled safe"]
    >>> unmeasured_groups(xr.DataArray(why, {"group": ["all", "x", "y"]}))
    ['x, y: no item is labelled safe.']
    """
    return [f"{', '.join(groups)}: {why}." for why, groups in group_by_reason(reason).items()]


def group_by_reason(reason: xr.DataArray) -> dict[str, list[str]]:
    """Return the groups that have no numbers by the reason why."""
    return {why: labels_where(reason == why) for why in _unique(reason)}


def describe_unmeasured(reason: xr.DataArray) -> Iterator[str]:
    """Yield which groups of raters besides all have no numbers, and why, in a sentence.

    >>> why = ["", "no item is labelled safe"]
    >>> [*describe_unmeasured(xr.DataArray(why, {"group": ["all", "x"]}))]
    ['Rater groups that are not measured: x (no item is labelled safe).']
    """
    by_reason = group_by_reason(reason.drop_sel(group="all"))
    texts = [f"{format_list(groups, limit=6)} ({why})" for why, groups in by_reason.items()]
    if texts:
        yield f"Rater groups that are not measured: {'; '.join(texts)}."


def list_reasons(reason: xr.DataArray) -> str:
    """Return why groups have no numbers, each reason once; empty where all have.

    >>> list_reasons(xr.DataArray(["", "few items", "few items"], dims="group"))
    'few items'
    """
    return "; ".join(_unique(reason))


def _unique(reason: xr.DataArray) -> list[str]:
    """Reasons in the order of the groups, each once."""
    return [why for why in dict.fromkeys(map(str, reason.to_numpy())) if why]


def _note(template: str, group: str) -> Callable[[View], str]:
    """Return a note that ends with why groups have no numbers, groups of one reason together."""

    def note(view: View) -> str:
        return " ".join([view.text(template), *unmeasured_groups(view[f"{group}/reason"])])

    return note


def _strata(view: View, *, measured: bool) -> list[str]:
    """Strata of items on which a group can be measured, or none can."""
    is_measured = (view.group("responsiveness")["reason"] == "").any("group")
    return labels_where(is_measured == measured)


def _measured_strata(view: View) -> list[Labels]:
    """Strata of items on which a group can be measured; all items where there is none."""
    return [{"by": by} for by in _strata(view, measured=True) or ["all"]]


def _responsiveness_note(view: View) -> str:
    """Ranges and intervals; the first table names the strata that are not measured."""
    note = (
        "In [0, 1], tau in [\u22121, 1]; higher is more responsive. {responsiveness[interval_note]}"
    )
    text = _note(note, "responsiveness")(view)
    missing = [by for by in _strata(view, measured=False) if by != "all"]
    if missing and _measured_strata(view)[0]["by"] == view.labels["by"]:
        text += f" No group can be measured on {shortened(missing)}."
    return text


def _all_pairs(view: View) -> list[Labels]:
    """Pairs of groups with a difference, the smallest p first."""
    data = view.group("responsiveness_difference").sel(ALL_ITEMS)
    compared, p = pairs_where(data["hm"].notnull()), data["hm_p"].fillna(2)
    return sorted(compared, key=lambda pair: float(p.sel(pair)))


def raters_of_pair(row: View) -> str:
    """Return the numbers of raters in both groups of a pair."""
    group = next(name for name in ("responsiveness", "harshness_difference") if name in row)
    raters = row.group(group)["raters"]
    sizes = (int(raters.sel(group=row.labels[name])) for name in ("group", "other"))
    return " and ".join(map(str, sizes))


def posterior_note(view: View, group: str = "posterior_responsiveness") -> str:
    """Return what posterior intervals contain, and whether the model is biased for the metrics."""
    return " ".join([view.group(group).attrs["interval_note"], bias_of_model(view, group)]).strip()


def has_same_labels(view: View) -> bool:
    """Return whether all groups are measured by the same labels, so that they can be compared."""
    return "evidence" not in view or bool(view.group("evidence").attrs.get("same_labels", 1))


def bias_of_model(view: View, group: str = "posterior_responsiveness") -> str:
    """Return what follows where the model of a crowd does not know the labels; empty otherwise."""
    return str(view.group(group).attrs.get("remark", "")) if group in view else ""


def name_scale(view: View) -> str:
    """Return the scale that differences of scores count the steps of, by its scores or bins.

    >>> names = xr.Dataset(coords={"score": ["below 20", "20 to 40", "40 and more"]})
    >>> name_scale(View(xr.DataTree.from_dict({"/responsiveness": names})))
    'the scale of 3 scores (below 20 to 40 and more)'
    """
    scores = view.coordinate("responsiveness/score")
    return f"the scale of {len(scores)} scores ({scores[0]} to {scores[-1]})"


def _harshness_pairs(view: View) -> list[Labels]:
    """Pairs of groups whose mean scores are compared, the smallest p first."""
    data = view.group("harshness_difference")
    pairs, p = pairs_where(data["difference"].notnull()), data["p"].fillna(2)
    return sorted(pairs, key=lambda pair: float(p.sel(pair)))


def _harshness_note(view: View) -> str:
    """What the columns are."""
    attrs = view.group("harshness_difference").attrs
    text = (
        "First group less second, in steps of {scale}: above 0 the first scores higher (more "
        "harm). {shown} of {count} pairs, smallest p first. Holm over all pairs of all groupings. "
    )
    latent = "P(higher): posterior probability that its latent location is higher."
    notes = [
        view.select({"scale": name_scale(view)}).text(text) + attrs["interval_note"],
        latent * ("latent_note" in attrs),
    ]
    return " ".join(filter(None, notes))


def _starred(name: str) -> Column:
    """A number with its interval, a star where it is significant, two where it stays so.

    A group whose GAI is unlike 1 by the items that were rated has none. Results of earlier versions
    have no interval.
    """

    def cell(row: View) -> str:
        p_values = [float(row[f"cohesion/{name}_{end}"]) for end in ("p", "p_adjusted")]
        stars = "*" * sum(p < SIGNIFICANCE_LEVEL for p in p_values)
        if row.labels["group"] in _groups_by_items(row):
            stars = ""
        value, path = row[f"cohesion/{name}"], f"cohesion/{name}_interval"
        if path not in row:
            return number(value) + stars
        text, interval = value_and_interval(value, row[path])
        return text + stars + f" ({interval})" * (interval != MISSING)

    return Column(name.upper(), cell)


def _groups_by_items(view: View) -> list[str]:
    """Groups whose GAI is unlike 1 by the items that were rated."""
    return labels_where(is_by_items(view.group("cohesion")))


def _cohesion_note(view: View) -> str:
    """What stars and intervals are, and whose GAI is about the items."""
    note = f"* p < {SIGNIFICANCE_LEVEL:g}; ** also after correction. {{cohesion[interval_note]}}"
    text = _note(note, "cohesion")(view)
    groups = _groups_by_items(view)
    if not groups:
        return text
    matched = "; ".join(_describe_matched(view.select({"group": group})) for group in groups)
    return f"{text} {BY_ITEMS.format(groups=format_list(groups), matched=matched)}"


def _describe_matched(row: View) -> str:
    """A group and its GAI of the same mix of items, with the interval."""
    value, interval = (row[f"cohesion/gai_matched{end}"] for end in ("", "_interval"))
    return "{} {} ({})".format(row.labels["group"], *value_and_interval(value, interval))


def _mean_score(row: View) -> str:
    """Mean score in the numbers of the scale; of words in steps from 0."""
    labels = row.group("scale_use")["score"].to_numpy()
    mean, numbers = float(row["scale_use/mean_score"]), [parse_number(str(x)) for x in labels]
    if None not in numbers and not np.isnan(mean):
        mean = float(np.interp(mean, np.arange(len(numbers)), np.array(numbers, dtype=float)))
    return number(mean)


def _scale_note(view: View) -> str:
    """What the columns are; for words the steps that the mean counts."""
    labels = [str(label) for label in view.group("scale_use")["score"].to_numpy()]
    text = "Shares of the group's ratings; extreme: at either end; middle: at the middle."
    if any(parse_number(label) is None for label in labels):
        text += f" Mean: in steps, 0 is {labels[0]}, {len(labels) - 1} is {labels[-1]}."
    return _note(text, "scale_use")(view)


def _measured(view: View) -> list[Labels]:
    """Groups, or strata of items, that are measured."""
    measured = view["responsiveness/reason"] == ""
    return [{str(measured.dims[0]): label} for label in labels_where(measured)]


def _has_measured_strata(view: View) -> bool:
    """Whether there are several strata of items, and all raters are measured on one of them."""
    several = view.group("responsiveness").sizes["by"] > 1
    return several and bool(_measured(view.select(ALL_GROUPS)))


CURVES = (
    over("responsiveness/score", "precision at {score}: responsiveness/precision"),
    over("responsiveness/score", "recall at {score}: responsiveness/recall"),
)


GROUP_TABLES = (
    TableSpec(
        name="responsiveness",
        title="Responsiveness to severity by rater group, items: {by}",
        source="Responsiveness paper, Tables 3 to 5",
        repeat=_measured_strata,
        rows=labels_of("responsiveness/group"),
        columns=(
            "{group}; raters: responsiveness/raters | count; MPA: responsiveness/mpa",
            "interval: responsiveness/mpa_interval | interval; WRA: responsiveness/wra",
            "interval: responsiveness/wra_interval | interval; HM: responsiveness/hm",
            "tau: responsiveness/kendall_tau",
        ),
        note=_responsiveness_note,
    ),
    TableSpec(
        title="Every metric by rater group",
        repeat=[ALL_ITEMS],
        rows=labels_of("responsiveness/group"),
        columns=(
            "{group}; raters: responsiveness/raters | count",
            over(
                [{"metric": m.name, "label": m.label} for m in METRICS if not m.by_score],
                "{label}: responsiveness/{metric}",
                "interval: responsiveness/{metric}_interval | interval",
            ),
        ),
        note="Each metric with its interval. {responsiveness[interval_note]}",
    ),
    TableSpec(
        name="curves_by_group",
        title="Precision and recall at each score",
        source="Responsiveness paper, Figure 2",
        condition=lambda view: bool(_measured(view.select(ALL_ITEMS))),
        repeat=[ALL_ITEMS],
        rows=_measured,
        columns=("{group}; raters: responsiveness/raters | count", *CURVES),
        note="Precision is missing where the plurality of a group is never the score.",
    ),
    TableSpec(
        name="curves_by_stratum",
        title="Precision and recall at each score by stratum of items",
        source="Responsiveness paper, Figure 8",
        repeat=[ALL_GROUPS],
        rows=_measured,
        columns=("{by}", *CURVES),
        condition=_has_measured_strata,
        note="Precision is missing where no plurality in the stratum is the score.",
    ),
    TableSpec(
        title="Differences of responsiveness between groups of one grouping",
        needs=("responsiveness_difference",),
        condition=lambda view: has_same_labels(view) and bool(_all_pairs(view)),
        repeat=[ALL_ITEMS],
        rows=_all_pairs,
        max_rows=MAX_ROWS,
        columns=(
            "pair: {group} \u2212 {other}",
            Column("raters", raters_of_pair),
            "HM: responsiveness_difference/hm",
            "interval: responsiveness_difference/hm_interval | interval",
            "p: responsiveness_difference/hm_p | short p",
            "p (Holm): responsiveness_difference/hm_p_holm | short p",
            Column("by numbers alone", "responsiveness_difference/hm_size_effect", optional=True),
        ),
        note="First group less second, with equally many ratings; {shown} of {count} pairs, "
        "smallest p first. By numbers alone: what the number of its ratings adds to the first "
        "group's HM, which the difference is without. Holm over all pairs of all groupings and "
        "all strata. "
        "{responsiveness_difference[interval_note]}",
    ),
)
HARSHNESS = TableSpec(
    name="harshness",
    title="Which group scores higher: differences of mean scores",
    needs=("harshness_difference",),
    condition=lambda view: bool(_harshness_pairs(view)),
    rows=_harshness_pairs,
    max_rows=MAX_ROWS,
    columns=(
        "pair: {group} \u2212 {other}",
        Column("raters", raters_of_pair),
        "steps: harshness_difference/difference",
        "interval: harshness_difference/difference_interval | interval",
        "p (Holm): harshness_difference/p_holm | short p",
        "P(higher): harshness_difference/prob_higher?",
    ),
    note=_harshness_note,
)
LATENT_HARSHNESS = TableSpec(
    title="Which group scores higher: differences of latent locations",
    needs=("harshness_difference/latent_difference",),
    rows=_harshness_pairs,
    max_rows=MAX_ROWS,
    columns=(
        "pair: {group} \u2212 {other}",
        Column("raters", raters_of_pair),
        "latent: harshness_difference/latent_difference",
        "interval: harshness_difference/latent_difference_interval | interval",
        "P(higher): harshness_difference/prob_higher",
    ),
    note="First group less second. {harshness_difference[latent_note]}",
)
SCALE_TABLES = (
    HARSHNESS,
    LATENT_HARSHNESS,
    TableSpec(
        name="scale_use",
        title="Use of the scale by rater group",
        source="Responsiveness paper, Figure 1",
        needs=("scale_use",),
        repeat=[ALL_ITEMS],
        rows=labels_of("scale_use/group"),
        columns=(
            "{group}; raters: responsiveness/raters | count?",
            over("scale_use/score", "{score}: scale_use/score_share"),
            Column("mean", _mean_score),
            "extreme: scale_use/extreme_response",
            "middle: scale_use/central_tendency",
        ),
        note=_scale_note,
    ),
    TableSpec(
        name="cohesion",
        title="Group cohesion",
        source="Responsiveness paper, Tables 1 and 2",
        needs=("cohesion",),
        rows=labels_of("cohesion/group"),
        columns=("{group}", *map(_starred, ("irr", "xrr", "gai")), "cohesion/raters | count"),
        note=_cohesion_note,
    ),
)
