"""Results of a crowd study -> figures; each function returns one, or None where it has no data."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS = {"mpa": "MPA", "wra": "WRA", "hm": "HM", "kendall_tau": "Kendall's τ"}
EVERY = {**METRICS, "spearman": "Spearman", "auc_pr": "AUC-PR", "auc_roc": "AUC-ROC"}
# More lines than this in one panel cannot be told apart.
MOST_LINES = 8
MOST_GROUPS = 40
MOST_ROWS = 120
ALL = "all"


def curves_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) by group, a row a grouping (paper, Figure 2)."""
    data = _stratum(results, ALL)
    if data is None:
        return None
    known = {
        name: [group for group in _groups(data, name) if _known(data, group)]
        for name in [*_groupings(data), ALL]
    }
    shown = {name: groups for name, groups in known.items() if 0 < len(groups) <= MOST_LINES}
    if not shown:
        return None
    figure, axes = _grid(len(shown), 2, width=4.2, height=2.9)
    for row, (name, groups) in zip(axes, shown.items(), strict=True):
        cells = [(_short(group, "all raters"), data.sel(group=group)) for group in groups]
        _curves(row, cells, title=name)
    return figure


def curves_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw Precision(S) and Recall(S) of all raters by stratum of items (paper, Figure 8)."""
    data = _dataset(results, "responsiveness")
    if data is None:
        return None
    known = data.sel(group=ALL)
    named = [by for by in known["by"].to_numpy() if known["reason"].sel(by=by).item() == ""]
    if len(named) < 2:  # noqa: PLR2004 - one curve is in the other figure
        return None
    figure, axes = _grid(1, 2, width=4.2, height=3.2)
    cells = [(_short(by), known.sel(by=by)) for by in named[: MOST_LINES + 1]]
    _curves(axes[0], cells, title="all raters")
    return figure


def metrics_by_group(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau with their intervals, a dot a group (paper, Figure 3)."""
    data = _stratum(results, ALL)
    if data is None:
        return None
    order = [ALL, *(g for name in _groupings(data) for g in _by_harmonic_mean(data, name))]
    order = [group for group in dict.fromkeys(order) if _known(data, group)]
    if not order:
        return None
    shown = order[:MOST_ROWS]
    figure, axes = _grid(1, len(METRICS), width=2.4, height=1.2 + 0.22 * len(shown))
    _dots(axes[0], [(_short(group, ALL), data.sel(group=group)) for group in shown])
    if len(shown) < len(order):
        figure.supxlabel(f"{len(shown)} of {len(order)} groups; all of them are in the results")
    return figure


def metrics_by_stratum(results: xr.DataTree) -> "Figure | None":
    """Draw MPA, WRA, HM and tau of groups in each stratum of items (paper, Figures 4 and 5)."""
    data = _dataset(results, "responsiveness")
    if data is None or data.sizes["by"] == 1:
        return None
    top = [ALL, *(g for name in _groupings(data) if "," not in name for g in _groups(data, name))]
    cells = [
        (f"{_short(group, ALL)} on {_short(by)}", data.sel(group=group, by=by))
        for by in data["by"].to_numpy()[1:]
        for group in dict.fromkeys(top)
    ]
    cells = [(label, cell) for label, cell in cells if cell["reason"].item() == ""]
    if not cells:
        return None
    shown = cells[:MOST_ROWS]
    figure, axes = _grid(1, len(METRICS), width=2.4, height=1.2 + 0.2 * len(shown))
    _dots(axes[0], shown)
    if len(shown) < len(cells):
        figure.supxlabel(f"{len(shown)} of {len(cells)} rows; all of them are in the results")
    return figure


def score_distribution(results: xr.DataTree) -> "Figure | None":
    """Draw the share of each score by group (paper, Figures 1 and 6)."""
    data = _dataset(results, "scale_use")
    if data is None:
        return None
    finest = _groupings(data)[-1] if _groupings(data) else ALL
    groups = [ALL, *(g for g in _groups(data, finest) if g != ALL)]
    groups = [group for group in groups if _known(data, group)][:MOST_GROUPS]
    share = data["score_share"].sel(by=ALL, group=groups)
    figure, axes = _grid(1, 1, width=6.5, height=1.2 + 0.24 * len(groups))
    ax, left = axes[0][0], np.zeros(len(groups))
    for score, colour in zip(share["score"].to_numpy(), _shades(share.sizes["score"]), strict=True):
        width = share.sel(score=score).fillna(0).to_numpy()
        ax.barh(range(len(groups)), width, left=left, color=colour, label=str(score))
        left += width
    ax.set_yticks(range(len(groups)), [_short(group, ALL) for group in groups], fontsize=8)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of ratings")
    ax.legend(title="score", fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def rater_averages(results: xr.DataTree) -> "Figure | None":
    """Draw means over raters of their own metrics, by group of raters (paper, Figure 7)."""
    data = _dataset(results, "raters")
    columns = [] if data is None else [str(c) for c in data.coords if str(c).startswith("group:")]
    if data is None or not columns:
        return None
    column = columns[0]
    means = data[[*EVERY]].groupby(column).mean()
    groups = [group for group in means[column].to_numpy() if group != ""][:MOST_LINES]
    figure, axes = _grid(1, 1, width=7.5, height=3.2)
    ax, wide = axes[0][0], 0.8 / len(groups)
    for at, group in enumerate(groups):
        values = [float(means[name].sel({column: group})) for name in EVERY]
        ax.bar(np.arange(len(EVERY)) + at * wide, values, wide, label=str(group))
    ax.set_xticks(np.arange(len(EVERY)) + 0.4 - wide / 2, list(EVERY.values()), fontsize=8)
    ax.set(ylim=(0, 1), ylabel="mean over raters")
    ax.legend(
        fontsize=7,
        frameon=False,
        title=column.removeprefix("group:"),
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    return figure


def cohesion(results: xr.DataTree) -> "Figure | None":
    """Draw IRR and XRR of each group; a long red line is a group that hangs together, or apart."""
    data = _dataset(results, "cohesion")
    if data is None or not (known := data["gai"].notnull().to_numpy()).any():
        return None
    shown = data.isel(group=np.flatnonzero(known)[:MOST_GROUPS])
    figure, axes = _grid(1, 1, width=6.5, height=1.4 + 0.22 * shown.sizes["group"])
    ax, place = axes[0][0], np.arange(shown.sizes["group"])
    sure = (shown["gai_p_adjusted"] < 0.05).to_numpy()  # noqa: PLR2004 - as in the tables
    ax.hlines(place, shown["xrr"], shown["irr"], color=np.where(sure, "C3", "0.6"))
    ax.plot(shown["irr"], place, "o", color="C0", ms=5, label="IRR, inside")
    ax.plot(shown["xrr"], place, "o", color="C0", mfc="white", ms=5, label="XRR, across")
    ax.set_yticks(place, [_short(group) for group in shown["group"].to_numpy()], fontsize=7)
    ax.set_ylim(len(place) - 0.5, -0.5)
    ax.set(xlabel="agreement; red: p of GAI below 0.05 after correction")
    ax.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def contested_items(results: xr.DataTree) -> "Figure | None":
    """Draw who gave which score to the items that groups disagree on most (Figures 9 to 11)."""
    data, items = _dataset(results, "contested_items"), _dataset(results, "items")
    if data is None or items is None or not data.sizes["item"]:
        return None
    named = data["item"].to_numpy()
    figure, axes = _grid(-(-len(named) // 2), 2, width=5.2, height=2.2)
    plural = items["plurality"].isel(group=np.flatnonzero(items["in_priority_grouping"]))
    panels = [ax for row in axes for ax in row]
    for ax, item in zip(panels, named, strict=False):
        _apart(ax, data["score"].sel(item=item), plural.sel(item=item), items["score"].to_numpy())
        ax.set_title(f"item {item}: ratings, and the groups of this plurality", fontsize=8)
    for ax in panels[len(named) :]:
        ax.set_axis_off()
    return figure


FIGURES: tuple[tuple[str, Callable[[xr.DataTree], "Figure | None"]], ...] = (
    ("curves_by_group", curves_by_group),
    ("curves_by_stratum", curves_by_stratum),
    ("metrics_by_group", metrics_by_group),
    ("metrics_by_stratum", metrics_by_stratum),
    ("score_distribution", score_distribution),
    ("rater_averages", rater_averages),
    ("cohesion", cohesion),
    ("contested_items", contested_items),
)


def _dataset(results: xr.DataTree, name: str) -> xr.Dataset | None:
    """A group of results, if it is there."""
    return results[name].to_dataset() if name in results else None


def _stratum(results: xr.DataTree, by: str) -> xr.Dataset | None:
    """Responsiveness in one stratum."""
    data = _dataset(results, "responsiveness")
    return None if data is None else data.sel(by=by)


def _groupings(data: xr.Dataset) -> list[str]:
    """Names of the groupings, that of all raters apart."""
    return [str(n) for n in dict.fromkeys(data["grouping"].to_numpy().tolist()) if n != ALL]


def _groups(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping."""
    return [str(g) for g in data["group"].to_numpy()[data["grouping"].to_numpy() == grouping]]


def _by_harmonic_mean(data: xr.Dataset, grouping: str) -> list[str]:
    """Groups of one grouping, the most responsive first."""
    groups = _groups(data, grouping)
    order = np.argsort(-data["hm"].sel(group=groups).to_numpy(), kind="stable")
    return [groups[at] for at in order]


def _known(data: xr.Dataset, group: str) -> bool:
    """Whether a group has metrics."""
    return bool(data["reason"].sel(group=group).item() == "")


def _short(label: object, every: str = "all items") -> str:
    """Values of a group or stratum without the names of their columns."""
    if label == ALL:
        return every
    return " ".join(part.split("=", 1)[-1] for part in str(label).split(","))


def _grid(
    rows: int, columns: int, *, width: float, height: float
) -> "tuple[Figure, list[list[Axes]]]":
    """A figure that no window shows, and its panels row by row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - heavy
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return figure, axes.tolist()


def _shades(number: int) -> np.ndarray:
    """Colours from light to dark for growing harm."""
    from matplotlib import colormaps  # noqa: PLC0415 - heavy

    shades: np.ndarray = colormaps["YlOrRd"](np.linspace(0.1, 0.95, number))
    return shades


def _curves(axes: "list[Axes]", cells: list[tuple[str, xr.Dataset]], *, title: str) -> None:
    """Precision and recall at every score, with intervals."""
    for ax, name, what in zip(
        axes, ("precision", "recall"), ("Precision(S)", "Recall(S)"), strict=True
    ):
        for label, cell in cells:
            x, band = cell["score"].to_numpy(), cell[f"{name}_interval"]
            line = ax.plot(x, cell[name], marker="o", ms=3, label=label)[0]
            low, high = (band.sel(bound=bound).to_numpy() for bound in ("lower", "upper"))
            ax.fill_between(x, low, high, color=line.get_color(), alpha=0.12, lw=0)
        ax.set(xlabel="plurality score S", ylabel=what, ylim=(-0.02, 1.02), xticks=x)
        ax.set_title(title, fontsize=9)
    axes[1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _dots(axes: "list[Axes]", cells: list[tuple[str, xr.Dataset]]) -> None:
    """A panel a metric, a row a cell, with intervals."""
    place = np.arange(len(cells))
    for ax, (name, what) in zip(axes, METRICS.items(), strict=True):
        value = np.array([float(cell[name]) for _, cell in cells])
        bounds = np.array([cell[f"{name}_interval"].to_numpy() for _, cell in cells])
        ax.hlines(place, bounds[:, 0], bounds[:, 1], color="C0", lw=1.5, alpha=0.5)
        ax.plot(value, place, "o", color="C0", ms=4)
        ax.set_yticks(place, [label for label, _ in cells] if ax is axes[0] else [], fontsize=7)
        ax.set_ylim(len(cells) - 0.5, -0.5)
        ax.set_title(what, fontsize=9)
        ax.grid(axis="y", lw=0.3)


def _apart(ax: "Axes", score: xr.DataArray, plural: xr.DataArray, scores: np.ndarray) -> None:
    """Ratings of one item by score, with the groups whose plurality each is."""
    given = score.to_numpy()
    counts = np.bincount(given[given >= 0], minlength=len(scores))
    ax.barh(scores, counts, color=_shades(len(scores)))
    for level, count in enumerate(counts.tolist()):
        groups = [_short(g) for g in plural["group"].to_numpy()[plural.to_numpy() == level]]
        more = [f"and {len(groups) - 4} more"] if len(groups) > 4 else []  # noqa: PLR2004 - room
        rows = [*groups[:4], *more]
        text = "\n".join(", ".join(rows[at : at + 2]) for at in range(0, len(rows), 2))
        ax.text(count, level, f" {text}", fontsize=6, ha="left", va="center")
    ax.set(ylabel="score", yticks=scores, xlim=(0, counts.max() * 2.6))
