"""Figures of fits: ratings observed and replicated, and ranks of simulation-based calibration."""

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.report.figures.labels import wrap_name, wrap_names
from sharpbayes.report.figures.style import DARK, POSTERIOR, SMALL, panels
from sharpbayes.report.tables.declaration import Labels, View
from sharpbayes.report.tables.fit import category_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, PANEL_HEIGHT = 8.5, 2.2  # inches
PANELS_IN_ROW = 4
# Labels on the axis of a scale, and their letters in one line.
MAX_LABELS, LINE_LETTERS = 12, 20


def replicated_ratings(results: xr.DataTree) -> "Figure | None":
    """Draw the share of each category by scale: observed, and replicated with its interval."""
    shares = list(category_shares(View(results)))
    scales = {scale: list(rows) for scale, rows in groupby(shares, key=itemgetter("scale"))}
    if not scales:
        return None
    columns = min(PANELS_IN_ROW, len(scales))
    rows = -(-len(scales) // columns)
    figure, grid = panels(rows, columns, width=WIDTH, height=0.6 + PANEL_HEIGHT * rows)
    for axes, (scale, categories) in zip(grid.flat, scales.items(), strict=False):
        _draw_shares(axes, categories)
        axes.set_title(wrap_name(scale))
    for axes in grid.flat[len(scales) :]:
        axes.set_visible(False)
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    figure.supxlabel("category, least harm first", fontsize=9)
    figure.supylabel("share of ratings", fontsize=9)
    return figure


def _draw_shares(axes: "Axes", categories: list[Labels]) -> None:
    """Bars of the observed shares of one scale, and replicated medians with intervals."""
    place = np.arange(len(categories))
    column = {name: np.array([row[name] for row in categories]) for name in categories[0]}
    axes.bar(place, column["observed"], color="0.8", edgecolor="0.4", label="observed")
    axes.vlines(place, column["lower"], column["upper"], color=POSTERIOR, linewidth=2.5)
    marks: dict[str, Any] = {
        "color": POSTERIOR,
        "markersize": 5,
        "label": "replicated by the model",
    }
    axes.plot(place, column["replicated"], "o", **marks)
    step = -(-len(place) // MAX_LABELS)
    names = wrap_names(column["category"][::step], 12)
    turned = max(map(len, names)) * len(names) > LINE_LETTERS
    axes.set_xticks(place[::step], names, rotation=90 if turned else 0)
    axes.spines[["top", "right"]].set_visible(False)


QUANTITY_WIDTH, QUANTITY_HEIGHT = 2.3, 1.8  # inches
FAILS, BAND = "#b3392f", "#d7dde6"


def ecdf_differences(results: xr.DataTree) -> "Figure":
    """Draw the ECDF of ranks less the diagonal with its band, one panel a quantity."""
    figure = _draw_curves(results["calibration"].to_dataset(), "quantity")
    figure.suptitle(f"{results.attrs['title']}: {results.attrs['status']}")
    figure.supxlabel("rank of the true value in its posterior, as a share", fontsize=9)
    return figure


def leave_one_out_pit(results: xr.DataTree) -> "Figure":
    """Draw the ECDF of leave-one-out PIT less the diagonal with its band, one panel a member."""
    figure = _draw_curves(results["loo_pit"].to_dataset(), "member")
    figure.supxlabel("place of a rating in its prediction from all others (PIT)", fontsize=9)
    return figure


def _draw_curves(data: xr.Dataset, dim: str) -> "Figure":
    """Draw every curve with its band, four panels in a row."""
    names = data[dim].to_numpy()
    columns = min(PANELS_IN_ROW, len(names))
    rows = -(-len(names) // columns)
    width, height = columns * QUANTITY_WIDTH, rows * QUANTITY_HEIGHT + 0.7
    figure, grid = panels(rows, columns, width=width, height=height, sharex=True, sharey=True)
    for axes, name in zip(grid.flat, names, strict=False):
        _draw_quantity(axes, data.sel({dim: name}), str(name))
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for axes in grid[-2 if len(names) < grid.size else -1]:
        axes.tick_params(labelbottom=True)
    figure.supylabel("ECDF less the diagonal", fontsize=9)
    return figure


def _draw_quantity(axes: "Axes", data: xr.Dataset, name: str) -> None:
    """Draw one curve with its name; red if its test fails."""
    fails = float(data["p_holm"]) < SIGNIFICANCE_LEVEL
    axes.fill_between(data["point"], data["lower"], data["upper"], color=BAND, step=None)
    axes.plot(data["point"], data["ecdf"], color=FAILS if fails else DARK, linewidth=1.0)
    axes.axhline(0.0, color="grey", linewidth=0.4)
    axes.set_title(wrap_name(name, 24), fontsize=SMALL)
    axes.set_xticks(np.array([0.0, 0.5, 1.0]))
