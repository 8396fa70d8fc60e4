"""Figures of a panel: those of the SHARP paper, and tail shares."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.report.figures.labels import wrap_name, wrap_names
from sharpbayes.report.figures.style import COLOUR, DARK, LEGEND_OUTSIDE, panels
from sharpbayes.report.tables.panel import risk_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODEL_HEIGHT, PANEL_WIDTH = 0.32, 2.6  # inches
PANELS_IN_ROW = 3
# Distinguishable without colour.
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


def risk_box(results: xr.DataTree) -> "Figure":
    """Draw risk over prompts as boxes (SHARP, Figure 1)."""
    return distributions(risk_metrics(_safest_first(results)), kind="box")


def risk_violin(results: xr.DataTree) -> "Figure":
    """Draw risk over prompts as violins (SHARP, Figure 2)."""
    return distributions(risk_metrics(_safest_first(results)), kind="violin")


def dimension_violin(results: xr.DataTree) -> "Figure":
    """Draw the harm of each dimension over prompts as violins (SHARP, Figure 3)."""
    return distributions(_dimensions(results), kind="violin")


def dimension_box(results: xr.DataTree) -> "Figure":
    """Draw the harm of each dimension over prompts as boxes (SHARP, Figure 4)."""
    return distributions(_dimensions(results), kind="box")


def _safest_first(results: xr.DataTree) -> xr.Dataset:
    """The panel, models by growing tail risk."""
    order = results["profile"].to_dataset().sortby("cvar")["model"].to_numpy()
    return results["panel"].to_dataset().sel(model=order)


def _dimensions(results: xr.DataTree) -> dict[str, xr.DataArray]:
    """Harm of each dimension, pooled over judges."""
    harm = _safest_first(results)["harm"]
    return {str(name): harm.sel(dimension=name) for name in harm["dimension"].to_numpy()}


def distributions(metrics: dict[str, xr.DataArray], *, kind: str) -> "Figure":
    """Draw one panel for each metric over (model, prompt[, sample]), models down the side.

    A ``box`` has median, quartiles and whiskers at 1.5 times their distance; or a ``violin``.
    """
    models = next(iter(metrics.values()))["model"].to_numpy()
    rows = -(-len(metrics) // PANELS_IN_ROW)
    columns = -(-len(metrics) // rows)
    width, height = 2.0 + PANEL_WIDTH * columns, (0.9 + MODEL_HEIGHT * len(models)) * rows
    figure, grid = panels(rows, columns, width=width, height=height, sharey=True)
    for axes, (title, values) in zip(grid.flat, metrics.items(), strict=False):
        known = [_known_values(values.sel(model=name)) for name in models]
        (_boxes if kind == "box" else _violins)(axes, known)
        axes.set_title(wrap_name(title))
        axes.grid(axis="x")
    for axes in grid.flat[len(metrics) :]:
        axes.set_visible(False)
    _name_rows(grid[0, 0], models)
    return figure


def _name_rows(axes: "Axes", models: Iterable[object]) -> None:
    """Name the rows after models, the first at the top."""
    names = wrap_names(models)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _known_values(values: xr.DataArray) -> np.ndarray:
    """Values of a model that are not missing, without differences that rounding alone makes."""
    flat = values.to_numpy().ravel()
    return np.round(flat[~np.isnan(flat)], 9)


def _boxes(axes: "Axes", rows: list[np.ndarray]) -> None:
    """One box a model; the row of a model without values is empty."""
    axes.boxplot(
        rows,
        positions=range(len(rows)),
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        boxprops={"facecolor": COLOUR, "edgecolor": DARK},
        medianprops={"color": DARK, "linewidth": 1.5},
        flierprops={"marker": ".", "markersize": 2, "markeredgecolor": "0.5"},
        manage_ticks=False,
    )


def _violins(axes: "Axes", rows: list[np.ndarray]) -> None:
    """One violin a model, with its median."""
    known = [(position, row) for position, row in enumerate(rows) if row.size]
    if not known:
        return
    parts = axes.violinplot(
        [row for _, row in known],
        positions=[position for position, _ in known],
        orientation="horizontal",
        widths=0.85,
        showmedians=True,
        showextrema=False,
    )
    for body in parts["bodies"]:  # type: ignore[attr-defined]
        body.set(facecolor=COLOUR, edgecolor=DARK, alpha=0.9, linewidth=0.6)
    parts["cmedians"].set(color=DARK)


def tail_shares(results: xr.DataTree) -> "Figure":
    """Draw the share of the tail's log-risk that each dimension contributes, a bar a model."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow to load

    profile = results["profile"].to_dataset().sortby("cvar")
    models = profile["model"].to_numpy()
    shares = profile["tail_share"].transpose("dimension", "model").fillna(0)
    figure, [[axes]] = panels(1, 1, width=7.0, height=1.2 + MODEL_HEIGHT * len(models))
    left = np.zeros(len(models))
    colours = colormaps["cividis"](np.linspace(0.1, 0.9, shares.sizes["dimension"]))
    names = wrap_names(shares["dimension"].to_numpy())
    for position, share in enumerate(shares):
        axes.barh(
            range(len(models)),
            share.to_numpy(),
            left=left,
            color=colours[position],
            hatch=HATCHES[position % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
            label=names[position],
        )
        left = left + share.to_numpy()
    _name_rows(axes, models)
    axes.set(xlim=(0, 1), xlabel="share of the log-risk of the tail prompts")
    axes.legend(**LEGEND_OUTSIDE)
    return figure
