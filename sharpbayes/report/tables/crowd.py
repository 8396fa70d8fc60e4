"""Results of a crowd study -> tables."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.report.tables.common import number, span
from sharpbayes.report.tables.table import Table

# Rows of a table of pairs, items or raters; all of them are in the results file.
MOST_ROWS = 15
METRICS = ("mpa", "wra", "hm")
SIGNIFICANT = 0.05


def responsiveness_table(results: xr.DataTree) -> list[Table]:
    """Return MPA, WRA, HM and tau by group, a table a stratum (paper, Tables 3 to 5)."""
    if "responsiveness" not in results:
        return []
    data = results["responsiveness"].to_dataset()
    empty = (data["reason"] != "").all("group").to_numpy()
    shown = [by for by, none in zip(data["by"].to_numpy(), empty, strict=True) if not none]
    made = [_stratum_table(data.sel(by=by)) for by in shown or ["all"]]
    left_out = [str(by) for by in data["by"].to_numpy() if by not in shown and by != "all"]
    if left_out:
        note = f"{made[0].note} No group can be measured on {_few(np.array(left_out))}."
        made[0] = replace(made[0], note=note)
    return made


def difference_table(results: xr.DataTree) -> list[Table]:
    """Return the pairs of groups whose harmonic means differ most clearly."""
    if "responsiveness_difference" not in results:
        return []
    data = results["responsiveness_difference"].to_dataset().sel(by="all")
    first, second = np.triu_indices(data.sizes["group"], k=1)
    pairs = data.isel(
        group=xr.DataArray(first, dims="pair"), other=xr.DataArray(second, dims="pair")
    )
    pairs = pairs.isel(pair=np.flatnonzero(pairs["hm"].notnull()))
    if not pairs.sizes["pair"]:
        return []
    shown = pairs.isel(
        pair=np.argsort(pairs["hm_p"].fillna(2).to_numpy(), kind="stable")[:MOST_ROWS]
    )
    table = Table(
        "Differences of responsiveness between groups of one grouping",
        ("pair", "HM", "interval", "p", "p (Holm)"),
        tuple(_pair_cells(shown.isel(pair=at)) for at in range(shown.sizes["pair"])),
        f"First group less second, on the same items; {_of(shown, pairs, 'pair')}, smallest p "
        f"first. Holm over all pairs of a grouping and all strata. {data.attrs['interval_note']}",
    )
    return [table]


def scale_use_table(results: xr.DataTree) -> list[Table]:
    """Return the distribution of single scores by group (paper, Figure 1) and scale-use indices."""
    if "scale_use" not in results:
        return []
    data = results["scale_use"].to_dataset().sel(by="all")
    scores = [str(score) for score in data["score"].to_numpy()]
    rows = [
        (
            str(group),
            *(number(share) for share in cell["score_share"]),
            *(
                number(cell[name])
                for name in ("mean_score", "extreme_response", "central_tendency")
            ),
        )
        for group in data["group"].to_numpy()
        for cell in [data.sel(group=group)]
    ]
    table = Table(
        "Use of the scale by rater group",
        ("group", *scores, "mean", "extreme", "middle"),
        tuple(rows),
        "Shares of the group's ratings; extreme: at either end; middle: at the middle."
        f"{_reasons(data)}",
    )
    return [table]


def cohesion_table(results: xr.DataTree) -> list[Table]:
    """Return IRR, XRR and GAI by group (paper, Tables 1 and 2)."""
    if "cohesion" not in results:
        return []
    data = results["cohesion"].to_dataset()
    rows = [
        (
            str(group),
            *(_starred(cell, name) for name in ("irr", "xrr", "gai")),
            f"{cell['raters']:d}",
        )
        for group in data["group"].to_numpy()
        for cell in [data.sel(group=group)]
    ]
    table = Table(
        "Group cohesion",
        ("group", "IRR", "XRR", "GAI", "raters"),
        tuple(rows),
        f"* p < {SIGNIFICANT:g}; ** also after correction. {data.attrs['interval_note']}"
        f"{_reasons(data)}",
    )
    return [table]


def recruiting_table(results: xr.DataTree) -> list[Table]:
    """Return groups by responsiveness, with the ratings that would narrow their intervals."""
    if "sample_size" not in results or "additional_ratings" not in results["sample_size"]:
        return []
    data = results["sample_size"].to_dataset()
    data = data.isel(group=np.lexsort((data["rank"].fillna(np.inf), data["grouping"])))
    rows = [
        (
            str(group),
            whole(cell["rank"]),
            number(cell["hm"]),
            number(cell["width"].sel(metric="hm")),
            whole(cell["ratings"]),
            *(whole(cell["additional_ratings"].sel(metric=name)) for name in METRICS),
        )
        for group in data["group"].to_numpy()
        for cell in [data.sel(group=group)]
    ]
    width = float(data.attrs["target_interval_width"])
    table = Table(
        "Groups for recruiting, the most responsive of a grouping first",
        ("group", "rank", "HM", "width", "ratings", *(f"more for {m.upper()}" for m in METRICS)),
        tuple(rows),
        f"More ratings, of further items and as many an item as now, for an interval of width "
        f"{width:g}: intervals narrow with the root of the number of items.",
    )
    return [table]


def rater_table(results: xr.DataTree) -> list[Table]:
    """Return the raters by their own responsiveness, with their use of the scale."""
    if "raters" not in results:
        return []
    data = results["raters"].to_dataset()
    order = np.argsort(data["rank"].fillna(np.inf).to_numpy(), kind="stable")
    shown = data.isel(rater=_ends(order))
    drift = ["drift"] if "drift" in data else []
    withheld = int((data["reason"] != "").sum())
    table = Table(
        "Raters by their own responsiveness",
        ("rater", "rank", "MPA", "WRA", "HM", "interval", "more", "extreme", "range", *drift),
        tuple(_rater_cells(shown.isel(rater=at), drift) for at in range(shown.sizes["rater"])),
        f"{_of(shown, data, 'rater')}, highest and lowest; metrics withheld for {withheld}. "
        "more: further ratings for an interval of HM as wide as wanted; extreme: share of ratings "
        f"at either end; range: of the scale that is used. {data.attrs['interval_note']}",
    )
    return [table]


def priority_table(results: xr.DataTree) -> list[Table]:
    """Return the items that responsive groups see as the most harmful."""
    if "items" not in results or "priority" not in results["items"]:
        return []
    data = results["items"].to_dataset()
    order = np.argsort(data["rank"].fillna(np.inf).to_numpy(), kind="stable")[:MOST_ROWS]
    shown = data.isel(item=order)
    rows = [
        (
            str(cell["item"].item()),
            whole(cell["rank"]),
            number(cell["priority"]),
            whole(cell["plurality"].sel(group="all")),
            whole(cell["disagreement"]),
        )
        for at in range(shown.sizes["item"])
        for cell in [shown.isel(item=at)]
    ]
    if data["priority"].isnull().all():
        rows = []
    table = Table(
        "Items by harm as seen by responsive groups",
        ("item", "rank", "priority", "plurality of all", "disagreement"),
        tuple(rows),
        f"{_of(shown, data, 'item')}. Priority in [0, 1]: plurality of the groups of "
        f"{data.attrs['grouping']}, weighted by their harmonic mean. Disagreement: highest less "
        "lowest plurality of these groups.",
    )
    return [table] if rows else []


def contested_items_table(results: xr.DataTree) -> list[Table]:
    """Return who gave which score to the items that groups disagree on most (Figures 9 to 11)."""
    if "contested_items" not in results:
        return []
    apart, items = results["contested_items"].to_dataset(), results["items"].to_dataset()
    return [
        _apart(apart.sel(item=item), items.sel(item=item)) for item in apart["item"].to_numpy()[:2]
    ]


CROWD_TABLES: tuple[Callable[[xr.DataTree], list[Table]], ...] = (
    responsiveness_table,
    difference_table,
    scale_use_table,
    cohesion_table,
    recruiting_table,
    rater_table,
    priority_table,
    contested_items_table,
)


def crowd_tables(results: xr.DataTree) -> list[Table]:
    """Return every table of a crowd study, in reading order."""
    return [table for make in CROWD_TABLES for table in make(results)]


def whole(value: xr.DataArray) -> str:
    """Return a whole number with thin groups of three, or a dash where it is missing.

    >>> whole(xr.DataArray(12345.0)), whole(xr.DataArray(np.nan))
    ('12,345', '-')
    """
    return "-" if np.isnan(float(value)) else f"{float(value):,.0f}"


def _stratum_table(data: xr.Dataset) -> Table:
    """Every group in one stratum of items."""
    rows = [
        (
            str(group),
            *(
                text
                for name in ("mpa", "wra")
                for text in (number(cell[name]), span(cell[f"{name}_interval"]))
            ),
            number(cell["hm"]),
            number(cell["kendall_tau"]),
        )
        for group in data["group"].to_numpy()
        for cell in [data.sel(group=group)]
    ]
    return Table(
        f"Responsiveness to severity by rater group, items: {data['by'].item()}",
        ("group", "MPA", "interval", "WRA", "interval", "HM", "tau"),
        tuple(rows),
        f"In [0, 1], tau in [-1, 1]; higher is more responsive. {data.attrs['interval_note']}"
        f"{_reasons(data)}",
    )


def _reasons(data: xr.Dataset) -> str:
    """Why groups have no numbers, groups of one reason together."""
    found: dict[str, list[str]] = {}
    for group, why in zip(data["group"].to_numpy(), data["reason"].to_numpy(), strict=True):
        if why:
            found.setdefault(str(why), []).append(str(group))
    return "".join(f" {', '.join(groups)}: {why}." for why, groups in found.items())


def _pair_cells(cell: xr.Dataset) -> tuple[str, ...]:
    """One pair of groups."""
    return (
        f"{cell['group'].item()} − {cell['other'].item()}",
        number(cell["hm"]),
        span(cell["hm_interval"]),
        number(cell["hm_p"]),
        number(cell["hm_p_holm"]),
    )


def _rater_cells(cell: xr.Dataset, further: list[str]) -> tuple[str, ...]:
    """One rater."""
    return (
        str(cell["rater"].item()),
        whole(cell["rank"]),
        *(number(cell[name]) for name in METRICS),
        span(cell["hm_interval"]),
        whole(cell["additional_ratings"].sel(metric="hm")),
        *(number(cell[name]) for name in ("extreme_response", "scale_range_used", *further)),
    )


def _starred(cell: xr.Dataset, name: str) -> str:
    """A number with a star where it is significant, two where it stays so after correction."""
    stars = sum(float(cell[f"{name}_{end}"]) < SIGNIFICANT for end in ("p", "p_adjusted"))
    return number(cell[name]) + "*" * stars


def _ends(order: np.ndarray) -> np.ndarray:
    """The first and last places, all of them where they are few."""
    if len(order) <= MOST_ROWS:
        return order
    return np.concatenate([order[: MOST_ROWS - 5], order[-5:]])


def _of(shown: xr.Dataset, data: xr.Dataset, dim: str) -> str:
    """How many of how many are shown."""
    return f"{shown.sizes[dim]} of {data.sizes[dim]} {dim}s"


def _apart(apart: xr.Dataset, item: xr.Dataset) -> Table:
    """Frequency of each score and the groups whose plurality it is."""
    plural = item["plurality"]
    grouped = plural.isel(group=np.flatnonzero(item["in_priority_grouping"]))
    rows = []
    for score in item["score"].to_numpy()[::-1]:
        groups = grouped["group"].to_numpy()[grouped.to_numpy() == score]
        raters = apart["rater"].to_numpy()[apart["score"].to_numpy() == score]
        rows.append((str(score), str(len(raters)), _few(groups), _few(raters)))
    return Table(
        f"Item {item['item'].item()} taken apart",
        ("score", "ratings", "plurality of", "raters"),
        tuple(rows),
        f"Plurality of all raters: {int(plural.sel(group='all'))}. One of the items seen "
        "most differently.",
    )


def _few(labels: np.ndarray) -> str:
    """The first labels, and how many more."""
    named = ", ".join(map(str, labels[:MOST_ROWS]))
    more = len(labels) - MOST_ROWS
    return f"{named} and {more} more" if more > 0 else named or "-"
