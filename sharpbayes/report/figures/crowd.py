"""Figures of a crowd; each function returns one, or None where no group has the numbers."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.metrics.crowd.responsiveness import METRICS
from sharpbayes.report.figures.style import LEGEND_OUTSIDE
from sharpbayes.report.tables.crowd import MOST_GROUPS, SIGNIFICANT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED = {metric.name: metric.label for metric in METRICS if metric.compared}
ALL_METRICS = {metric.name: metric.label for metric in METRICS if not metric.by_score}
# More lines than this in one panel are not distinguishable.
MOST_LINES = 8
MOST_ROWS = 120
MOST_NAMES = 4
ALL = "all"


def curves_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) by group, a row a grouping (paper, Figure 2)."""
    data = results["responsiveness"].to_dataset().sel(by=ALL)
    measured = {
        name: [group for group in _groups(data, name) if _is_measured(data, group)]
        for name in [*_groupings(data), ALL]
    }
    shown = {name: groups for name, groups in measured.items() if 0 < len(groups) <= MOST_LINES}
    if not shown:
        return None
    figure, axes = _grid(len(shown), 2, width=4.2, height=2.9)
    for row, (name, groups) in zip(axes, shown.items(), strict=True):
        lines = [(_short(group, "all raters"), data.sel(group=group)) for group in groups]
        _curves(row, lines, title=name)
    return figure


def curves_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) of all raters by stratum of items (paper, Figure 8)."""
    data = results["responsiveness"].to_dataset().sel(group=ALL)
    strata = [by for by in data["by"].to_numpy() if data["reason"].sel(by=by).item() == ""]
    if len(strata) < 2:  # noqa: PLR2004 - one curve is in the other figure
        return None
    figure, axes = _grid(1, 2, width=4.2, height=3.2)
    lines = [(_short(by), data.sel(by=by)) for by in strata[: MOST_LINES + 1]]
    _curves(axes[0], lines, title="all raters")
    return figure


def metrics_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau with their intervals, a dot a group (paper, Figure 3)."""
    data = results["responsiveness"].to_dataset().sel(by=ALL)
    order = [ALL, *(g for name in _groupings(data) for g in _by_harmonic_mean(data, name))]
    rows = [
        (_short(group, ALL), data.sel(group=group))
        for group in dict.fromkeys(order)
        if _is_measured(data, group)
    ]
    return _dots(rows, height=0.22, what="groups")


def metrics_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau of groups in each stratum of items (paper, Figures 4 and 5)."""
    data = results["responsiveness"].to_dataset()
    top = [ALL, *(g for name in _groupings(data) if "," not in name for g in _groups(data, name))]
    rows = [
        (f"{_short(group, ALL)} on {_short(by)}", data.sel(group=group, by=by))
        for by in data["by"].to_numpy()[1:]
        for group in dict.fromkeys(top)
    ]
    return _dots(
        [(label, cell) for label, cell in rows if cell["reason"].item() == ""],
        height=0.2,
        what="rows",
    )


def score_distribution(results: xr.DataTree) -> "Figure":
    """Draw the share of each score by group (paper, Figures 1 and 6)."""
    data = results["scale_use"].to_dataset().sel(by=ALL)
    finest = _groupings(data)[-1] if _groupings(data) else ALL
    groups = [ALL, *(g for g in _groups(data, finest) if g != ALL)]
    groups = [group for group in groups if _is_measured(data, group)][:MOST_GROUPS]
    share = data["score_share"].sel(group=groups).fillna(0)
    figure, [[axes]] = _grid(1, 1, width=6.5, height=1.2 + 0.24 * len(groups))
    left = np.zeros(len(groups))
    for score, colour in zip(share["score"].to_numpy(), _shades(share.sizes["score"]), strict=True):
        width = share.sel(score=score).to_numpy()
        axes.barh(range(len(groups)), width, left=left, color=colour, label=str(score))
        left += width
    axes.set_yticks(range(len(groups)), [_short(group, ALL) for group in groups], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of ratings")
    axes.legend(title="score", fontsize=7, **LEGEND_OUTSIDE)
    return figure


def rater_averages(results: xr.DataTree) -> "Figure | None":
    """Draw means over raters of their own metrics, by group of raters (paper, Figure 7)."""
    data = results["raters"].to_dataset()
    columns = [str(name) for name in data.coords if str(name).startswith("group:")]
    if not columns:
        return None
    column = columns[0]
    means = data[[*ALL_METRICS]].groupby(column).mean()
    groups = [group for group in means[column].to_numpy() if group != ""][:MOST_LINES]
    figure, [[axes]] = _grid(1, 1, width=7.5, height=3.2)
    place, width = np.arange(len(ALL_METRICS)), 0.8 / len(groups)
    for number, group in enumerate(groups):
        values = [float(means[name].sel({column: group})) for name in ALL_METRICS]
        axes.bar(place + number * width, values, width, label=str(group))
    axes.set_xticks(place + 0.4 - width / 2, list(ALL_METRICS.values()), fontsize=8)
    axes.set(ylim=(0, 1), ylabel="mean over raters")
    axes.legend(fontsize=7, title=column.removeprefix("group:"), **LEGEND_OUTSIDE)
    return figure


def cohesion(results: xr.DataTree) -> "Figure | None":
    """Draw IRR and XRR of each group; a long red line is a group that agrees inside, or differs."""
    data = results["cohesion"].to_dataset()
    known = data["gai"].notnull().to_numpy()
    if not known.any():
        return None
    shown = data.isel(group=np.flatnonzero(known)[:MOST_GROUPS])
    figure, [[axes]] = _grid(1, 1, width=6.5, height=1.4 + 0.22 * shown.sizes["group"])
    place = np.arange(shown.sizes["group"])
    sure = (shown["gai_p_adjusted"] < SIGNIFICANT).to_numpy()
    axes.hlines(place, shown["xrr"], shown["irr"], color=np.where(sure, "C3", "0.6"))
    axes.plot(shown["irr"], place, "o", color="C0", ms=5, label="IRR, inside")
    axes.plot(shown["xrr"], place, "o", color="C0", mfc="white", ms=5, label="XRR, across")
    axes.set_yticks(place, [_short(group) for group in shown["group"].to_numpy()], fontsize=7)
    axes.set_ylim(len(place) - 0.5, -0.5)
    axes.set(xlabel="agreement; red: p of GAI below 0.05 after correction")
    axes.legend(fontsize=7, **LEGEND_OUTSIDE)
    return figure


def contested_items(results: xr.DataTree) -> "Figure | None":
    """Draw who gave which score to the items that groups disagree on most (Figures 9 to 11)."""
    score = results["contested_items"].to_dataset()["score"]
    items = results["items"].to_dataset()
    names = score["item"].to_numpy()
    if not len(names):
        return None
    figure, axes = _grid(-(-len(names) // 2), 2, width=5.2, height=2.2)
    plurality = items["plurality"].isel(group=np.flatnonzero(items["in_priority_grouping"]))
    panels = [panel for row in axes for panel in row]
    for panel, item in zip(panels, names, strict=False):
        _item(panel, score.sel(item=item), plurality.sel(item=item), items["score"].to_numpy())
        panel.set_title(f"item {item}: ratings, and the groups of this plurality", fontsize=8)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    return figure


def _groupings(data: xr.Dataset) -> list[str]:
    """Names of the groupings, except that of all raters."""
    return [str(n) for n in dict.fromkeys(data["grouping"].to_numpy().tolist()) if n != ALL]


def _groups(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping."""
    return [str(g) for g in data["group"].to_numpy()[data["grouping"].to_numpy() == grouping]]


def _by_harmonic_mean(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping, the most responsive first."""
    groups = _groups(data, grouping)
    order = np.argsort(-data["hm"].sel(group=groups).to_numpy(), kind="stable")
    return [groups[position] for position in order]


def _is_measured(data: xr.Dataset, group: str) -> bool:
    """Whether a group has metrics."""
    return bool(data["reason"].sel(group=group).item() == "")


def _short(label: object, everything: str = "all items") -> str:
    """Values of a group or stratum without the names of their columns."""
    if label == ALL:
        return everything
    return " ".join(part.split("=", 1)[-1] for part in str(label).split(","))


def _grid(
    rows: int, columns: int, *, width: float, height: float
) -> "tuple[Figure, list[list[Axes]]]":
    """A figure that no window shows, and its panels row by row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, panels.tolist()


def _shades(number: int) -> np.ndarray:
    """Colours from light to dark for growing harm."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow to load

    shades: np.ndarray = colormaps["YlOrRd"](np.linspace(0.1, 0.95, number))
    return shades


def _curves(panels: "list[Axes]", lines: list[tuple[str, xr.Dataset]], *, title: str) -> None:
    """Precision and recall at every score, with intervals."""
    for axes, name in zip(panels, ("precision", "recall"), strict=True):
        for label, cell in lines:
            scores, bounds = cell["score"].to_numpy(), cell[f"{name}_interval"]
            line = axes.plot(scores, cell[name], marker="o", ms=3, label=label)[0]
            low, high = (bounds.sel(bound=bound).to_numpy() for bound in ("lower", "upper"))
            axes.fill_between(scores, low, high, color=line.get_color(), alpha=0.12, lw=0)
        axes.set(xlabel="plurality score S", ylabel=f"{name.capitalize()}(S)", xticks=scores)
        axes.set(ylim=(-0.02, 1.02))
        axes.set_title(title, fontsize=9)
    panels[1].legend(fontsize=7, **LEGEND_OUTSIDE)


def _dots(rows: list[tuple[str, xr.Dataset]], *, height: float, what: str) -> "Figure | None":
    """A panel a metric, a row a group, with intervals; None without rows."""
    if not rows:
        return None
    shown = rows[:MOST_ROWS]
    figure, [panels] = _grid(1, len(COMPARED), width=2.4, height=1.2 + height * len(shown))
    place = np.arange(len(shown))
    for axes, (name, title) in zip(panels, COMPARED.items(), strict=True):
        value = np.array([float(cell[name]) for _, cell in shown])
        bounds = np.array([cell[f"{name}_interval"].to_numpy() for _, cell in shown])
        axes.hlines(place, bounds[:, 0], bounds[:, 1], color="C0", lw=1.5, alpha=0.5)
        axes.plot(value, place, "o", color="C0", ms=4)
        labels = [label for label, _ in shown] if axes is panels[0] else []
        axes.set_yticks(place, labels, fontsize=7)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_title(title, fontsize=9)
        axes.grid(axis="y", lw=0.3)
    if len(shown) < len(rows):
        figure.supxlabel(f"{len(shown)} of {len(rows)} {what}; all of them are in the results")
    return figure


def _item(axes: "Axes", score: xr.DataArray, plurality: xr.DataArray, scores: np.ndarray) -> None:
    """Ratings of one item by score, with the groups that have each score as plurality."""
    given = score.to_numpy()
    counts = np.bincount(given[given >= 0], minlength=len(scores))
    axes.barh(scores, counts, color=_shades(len(scores)))
    for position, count in enumerate(counts.tolist()):
        members = plurality["group"].to_numpy()[plurality.to_numpy() == position]
        groups = [_short(group) for group in members]
        hidden = len(groups) - MOST_NAMES
        names = [*groups[:MOST_NAMES], *([f"and {hidden} more"] if hidden > 0 else [])]
        text = "\n".join(", ".join(names[at : at + 2]) for at in range(0, len(names), 2))
        axes.text(count, position, f" {text}", fontsize=6, ha="left", va="center")
    axes.set(ylabel="score", yticks=scores, xlim=(0, counts.max() * 2.6))
