"""Figures of a crowd; each function returns one, or None where no group has the numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from sharpbayes.analysis.rater_averages import RATER_METRICS, average_raters
from sharpbayes.errors import format_percent
from sharpbayes.metrics.crowd.matched_items import is_by_items
from sharpbayes.metrics.crowd.responsiveness import METRICS
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.report.figures.labels import (
    label_groups,
    label_strata,
    name_grouping,
    wrap_name,
    wrap_names,
)
from sharpbayes.report.figures.style import LEGEND_OUTSIDE, LINES, SMALL, panels
from sharpbayes.report.layout import interval_level
from sharpbayes.report.tables.crowd import MAX_GROUPS
from sharpbayes.report.tables.items import MAX_ITEMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED = {metric.name: metric.label for metric in METRICS if metric.compared}
# More lines than this in one panel are not distinguishable.
MAX_LINES = len(LINES)
# Inches of a line of a name, and of all rows of a figure: a taller one is not read at one look.
LINE, MAX_HEIGHT = 0.16, 12.0
# Share of a row that an interval lies beside its point.
BESIDE = 0.2
# Share of a step of the scale over which intervals of several lines are spread.
SPREAD = 0.4
ALL = "all"
Rows = list[tuple[str, xr.Dataset]]
Style = dict[str, Any]


def curves_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) by group, a row a grouping (paper, Figure 2).

    A grouping of more than six groups has several rows.
    """
    data = results["responsiveness"].to_dataset().sel(by=ALL)
    rows = [
        (title, [(t, data.sel(group=g)) for g, t in label_groups(results, groups).items()])
        for name in [ALL, *_groupings(data)]
        for title, groups in _parts(name.replace(",", ", "), _measured(data, name))
    ]
    return _curves(rows)


def curves_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) of all raters by stratum of items (paper, Figure 8)."""
    data = results["responsiveness"].to_dataset().sel(group=ALL)
    strata = labels_where(data["reason"] == "")
    if len(strata) < 2:  # noqa: PLR2004 - one curve is in the other figure
        return None
    names, parts = label_strata(strata), _parts("all raters", strata)
    return _curves([(t, [(names[by], data.sel(by=by)) for by in part]) for t, part in parts])


def metrics_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau with their intervals, a dot a group (paper, Figure 3)."""
    data = results["responsiveness"].to_dataset().sel(by=ALL)
    data = data.sel(group=labels_where(data["reason"] == ""))
    best_first = data.isel(group=np.argsort(-data["hm"].to_numpy(), kind="stable"))
    groups = [group for name in _groupings(data) for group in _groups(best_first, name)]
    names = label_groups(results, dict.fromkeys([*_groups(data, ALL), *groups]))
    rows = [(name, data.sel(group=group)) for group, name in names.items()]
    return _dots(rows, COMPARED, name_grouping(results, names))


def metrics_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau of groups in each stratum of items (paper, Figures 4 and 5)."""
    data = results["responsiveness"].to_dataset()
    top = [ALL, *(g for name in _groupings(data) if "," not in name for g in _groups(data, name))]
    names, strata = label_groups(results, top), label_strata(data["by"].to_numpy()[1:])
    rows = [
        (f"{name} on {stratum}", data.sel(group=group, by=by))
        for by, stratum in strata.items()
        for group, name in names.items()
    ]
    measured = [row for row in rows if row[1]["reason"].item() == ""]
    return _dots(measured, COMPARED, name_grouping(results, top))


def rater_averages(results: xr.DataTree) -> "Figure | None":
    """Draw means over raters of their own metrics with intervals, by group (paper, Figure 7)."""
    table = average_raters(results["raters"].to_dataset(), level=interval_level(results))
    names = label_groups(results, table["group"].to_numpy())
    rows = [(name, table.sel(group=group)) for group, name in names.items()]
    return _dots(rows, RATER_METRICS, name_grouping(results, names))


def score_distribution(results: xr.DataTree) -> "Figure | None":
    """Draw the share of each score by group (paper, Figures 1 and 6)."""
    data = results["scale_use"].to_dataset().sel(by=ALL)
    measured = [group for name in [ALL, *_groupings(data)] for group in _measured(data, name)]
    groups = list(dict.fromkeys(measured))[:MAX_GROUPS]
    if not groups:
        return None
    share = data["score_share"].sel(group=groups).fillna(0)
    names = label_groups(results, groups)
    figure, [[axes]] = _grid(1, 1, width=6.5, height=1.2 + _height(names.values()))
    left = np.zeros(len(groups))
    scores = share["score"].to_numpy()
    for score, name, colour in zip(scores, wrap_names(scores), _shades(len(scores)), strict=True):
        width = share.sel(score=score).to_numpy()
        bars: Style = {"color": colour, "edgecolor": "0.3", "linewidth": 0.4}
        axes.barh(range(len(groups)), width, left=left, label=name, **bars)
        left += width
    _name_rows(axes, [*names.values()])
    axes.set(xlim=(0, 1), xlabel="share of ratings", ylabel=name_grouping(results, groups))
    axes.legend(title="score", **LEGEND_OUTSIDE)
    return figure


def cohesion(results: xr.DataTree) -> "Figure | None":
    """Draw IRR and XRR of each group with intervals, joined by a line, thick where they differ."""
    data = results["cohesion"].to_dataset()
    groups = labels_where(data["gai"].notnull())[:MAX_GROUPS]
    if not groups:
        return None
    data, names = data.sel(group=groups), label_groups(results, groups)
    figure, [[axes]] = _grid(1, 1, width=6.5, height=1.4 + _height(names.values()))
    place = np.arange(len(groups))
    by_items = is_by_items(data)
    sure = ((data["gai_p_adjusted"] < SIGNIFICANCE_LEVEL) & ~by_items).to_numpy()
    unsure = "GAI not distinguishable from 1" + "\non the same mix of items" * bool(by_items.any())
    kinds: tuple[tuple[np.ndarray, Style, str], ...] = (
        (~sure, {"color": "0.6", "linewidth": 1.0}, unsure),
        (sure, {"color": "black", "linewidth": 3.0}, f"GAI: adjusted p < {SIGNIFICANCE_LEVEL:g}"),
    )
    for flag, style, label in kinds:
        if not flag.any():
            continue
        points = data.isel(group=flag)
        axes.hlines(place[flag], points["xrr"], points["irr"], label=label, **style)
    _mark_agreement(axes, data, place)
    _name_rows(axes, [*names.values()])
    text = "agreement; 1 is perfect, 0 is chance"
    if "irr_interval" in data:
        text += f"\nabove and below: intervals ({format_percent(interval_level(results))})"
    axes.set(xlabel=text, ylabel=name_grouping(results, groups))
    axes.locator_params(axis="x", nbins=6)
    axes.grid(axis="x")
    axes.legend(**LEGEND_OUTSIDE)
    return figure


def _mark_agreement(axes: "Axes", data: xr.Dataset, place: np.ndarray) -> None:
    """Points of IRR and XRR at the places of groups, with the interval of either beside the row.

    Results of earlier versions have no intervals.
    """
    colour = LINES[0]["color"]
    kinds: tuple[tuple[str, float, Style, str], ...] = (
        ("irr", -BESIDE, {"label": "IRR, inside the group"}, "-"),
        ("xrr", BESIDE, {"label": "XRR, with all others", "markerfacecolor": "white"}, ":"),
    )
    for name, shift, style, dash in kinds:
        axes.plot(data[name], place, "o", color=colour, markersize=6, **style)
        if f"{name}_interval" in data:
            bounds = data[f"{name}_interval"].transpose("bound", "group").to_numpy()
            axes.hlines(place + shift, *bounds, color=colour, linewidth=1.0, linestyle=dash)


def contested_items(results: xr.DataTree) -> "Figure | None":
    """Draw the ratings of the items that groups see most differently (paper, Figures 9 and 10)."""
    data, items = results["contested_items"].to_dataset(), results["items"].to_dataset()
    score = data["score"]
    names = score["item"].to_numpy()
    if not names.size:
        return None
    figure, grid = _grid(-(-len(names) // 2), 2, width=5.0, height=2.4)
    plurality = items["plurality"].isel(group=np.flatnonzero(items["in_priority_grouping"]))
    labels = label_groups(results, plurality["group"].to_numpy())
    grouping = name_grouping(results, labels)
    plurality = plurality.assign_coords(group=[*labels.values()])
    flat = [panel for row in grid for panel in row]
    for axes, item in zip(flat, names, strict=False):
        _item(axes, score.sel(item=item), plurality.sel(item=item), items["score"].to_numpy())
        axes.set_title(wrap_name(f"item {item}", 60))
    for axes in flat[len(names) :]:
        axes.set_axis_off()
    by = f" by {grouping}" * bool(grouping)
    text = f"ratings; beside each bar the groups of raters{by} with this plurality score"
    figure.supxlabel(text, fontsize=9)
    return figure


def scores_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw who gave which score to the most contested items, a row a group (paper, Figure 11).

    The area of a dot grows with the number of raters; a ring is the plurality score of the group.
    """
    data, items = results["contested_items"].to_dataset(), results["items"].to_dataset()
    groups = labels_where(items["in_priority_grouping"])[:MAX_GROUPS]
    names = data["item"].to_numpy()[:MAX_ITEMS]
    if not groups or not names.size:
        return None
    labels = [*label_groups(results, groups).values()]
    height = 1.3 + 1.2 * _height(labels)
    figure, [row] = _grid(1, len(names), width=4.2, height=height, sharey=True)
    counts = items["score_count"].sel(group=groups)
    for axes, item in zip(row, names, strict=True):
        _scores(axes, counts.sel(item=item), items["plurality"].sel(group=groups, item=item))
        axes.set_title(wrap_name(f"item {item}", 45))
    _name_rows(row[0], labels)
    row[0].set_ylabel(name_grouping(results, groups))
    figure.supxlabel("score; a larger dot is more raters, a ring the plurality", fontsize=9)
    return figure


def _groupings(data: xr.Dataset) -> list[str]:
    """Names of the groupings, except that of all raters."""
    return [str(n) for n in dict.fromkeys(data["grouping"].to_numpy().tolist()) if n != ALL]


def _groups(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping."""
    return labels_where(data["grouping"] == grouping)


def _measured(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping that have numbers."""
    return labels_where((data["grouping"] == grouping) & (data["reason"] == ""))


def _parts(title: str, labels: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Labels in parts that one panel can show, each with its title."""
    starts = range(0, len(labels[:MAX_GROUPS]), MAX_LINES)
    for number, start in enumerate(starts, 1):
        part = f" ({number} of {len(starts)})" * (len(starts) > 1)
        yield title + part, labels[start : min(start + MAX_LINES, MAX_GROUPS)]


def _grid(
    rows: int, columns: int, *, width: float, height: float, **shared: bool
) -> "tuple[Figure, list[list[Axes]]]":
    """A figure and its panels of a size in inches, row by row."""
    figure, grid = panels(rows, columns, width=width * columns, height=height * rows, **shared)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid.tolist()


def _height(names: Iterable[str]) -> float:
    """Inches that rows take whose names have as many lines as the longest of them."""
    texts = [*names]
    return _row_height(texts) * len(texts)


def _row_height(names: Iterable[str]) -> float:
    """Inches of a row that has room for the longest of some names."""
    return LINE * (max(name.count("\n") + 1 for name in names) + 0.4)


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    """Name the rows, the first at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _shades(number: int) -> np.ndarray:
    """Colours from light to dark for growing harm."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow to load

    shades: np.ndarray = colormaps["YlOrRd"](np.linspace(0.1, 0.95, number))
    return shades


def _curves(rows: list[tuple[str, Rows]]) -> "Figure | None":
    """Precision and recall at every score with intervals, a row a title and its lines."""
    if not rows:
        return None
    figure, grid = _grid(len(rows), 2, width=4.2, height=2.9)
    for row, (title, lines) in zip(grid, rows, strict=True):
        for axes, name in zip(row, ("precision", "recall"), strict=True):
            _lines(axes, name, lines)
            axes.set_title(wrap_name(title, 50))
        row[1].legend(**LEGEND_OUTSIDE)
    return figure


def _lines(axes: "Axes", name: str, lines: Rows) -> None:
    """One line with intervals for each group or stratum, side by side at each score."""
    shifts = SPREAD * (np.arange(len(lines)) - (len(lines) - 1) / 2) / MAX_LINES
    for (label, cell), shift, style in zip(lines, shifts, LINES, strict=False):
        scores = np.arange(cell.sizes["score"])
        bounds = cell[f"{name}_interval"].transpose("bound", "score").to_numpy()
        axes.plot(scores + shift, cell[name], markersize=4, label=label, **style)
        axes.vlines(scores + shift, *bounds, color=style["color"], linewidth=1, alpha=0.7)
    names = wrap_names(cell["score"].to_numpy(), 12)
    axes.set_xticks(scores, names, rotation=30 if max(map(len, names)) > 3 else 0)  # noqa: PLR2004 - words
    axes.set(xlabel="plurality score S", ylabel=f"{name.capitalize()}(S)", ylim=(-0.02, 1.02))
    axes.grid(axis="y")


def _dots(rows: Rows, metrics: dict[str, str], grouping: str = "") -> "Figure | None":
    """A panel a metric, a row a group, with intervals, as many as one look takes; or None."""
    if not rows:
        return None
    first_rows = rows[: int(MAX_HEIGHT / _row_height(label for label, _ in rows))]
    width, height = min(2.4, 12 / len(metrics)), 1.2 + _height(label for label, _ in first_rows)
    figure, [row] = _grid(1, len(metrics), width=width, height=height, sharey=True)
    place = np.arange(len(first_rows))
    for axes, (name, title) in zip(row, metrics.items(), strict=True):
        value = np.array([float(cell[name]) for _, cell in first_rows])
        bounds = np.array([cell[f"{name}_interval"].to_numpy() for _, cell in first_rows])
        style: Style = {"color": LINES[0]["color"], "linewidth": 1.5}
        axes.hlines(place, bounds[:, 0], bounds[:, 1], alpha=0.6, **style)
        axes.plot(value, place, "o", markersize=4, color=style["color"])
        axes.set_title(title)
        axes.grid(axis="both")
    _name_rows(row[0], [label for label, _ in first_rows])
    row[0].set_ylabel(grouping)
    if len(first_rows) < len(rows):
        figure.supxlabel(f"{len(first_rows)} of {len(rows)} rows; all of them are in the results")
    return figure


def _item(axes: "Axes", score: xr.DataArray, plurality: xr.DataArray, scores: np.ndarray) -> None:
    """Ratings of one item by score, with the groups that have each score as plurality."""
    codes = score.to_numpy()
    counts = np.bincount(codes[codes >= 0], minlength=len(scores))
    bars: Style = {"edgecolor": "0.3", "linewidth": 0.4}
    axes.barh(np.arange(len(scores)), counts, color=_shades(len(scores)), **bars)
    for position, count in enumerate(counts.tolist()):
        groups = labels_where(plurality == position)
        text = wrap_name(", ".join(groups), 34)
        placement: Style = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(text, (count, position), fontsize=SMALL, **placement)
    axes.set_yticks(np.arange(len(scores)), wrap_names(scores, 14))
    axes.set(ylabel="score", xlim=(0, 2.6 * max(1, int(counts.max()))))
    axes.locator_params(axis="x", integer=True)


def _scores(axes: "Axes", counts: xr.DataArray, plurality: xr.DataArray) -> None:
    """Dots of one item: raters of each group by score, and rings at plurality scores."""
    table = counts.transpose("group", "score").to_numpy()
    group, score = np.nonzero(table)
    area = 20 * table[group, score]
    axes.scatter(score, group, s=area, color=_shades(table.shape[1])[score], edgecolor="0.3")
    rated = np.flatnonzero(plurality >= 0)
    axes.scatter(plurality[rated], rated, s=130, facecolor="none", edgecolor="black", linewidth=1.5)
    axes.set_xticks(range(table.shape[1]), wrap_names(counts["score"].to_numpy(), 12))
    axes.set_xlim(-0.5, table.shape[1] - 0.5)
    axes.grid(axis="both")
