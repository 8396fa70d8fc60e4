"""Simulation-based calibration -> ECDF differences of the ranks of true values."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.report.figures.style import DARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS, WIDTH, HEIGHT = 4, 2.3, 1.7  # panels in a row, inches of each
FAILS, BAND = "#b3392f", "#d7dde6"
SIGNIFICANT = 0.05


def ecdf_differences(results: xr.DataTree) -> "Figure":
    """Draw the ECDF of ranks less the diagonal with its band, one panel a quantity."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    data = results["calibration"].to_dataset()
    names = data["quantity"].to_numpy()
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * WIDTH, rows * HEIGHT + 0.7), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        _draw_quantity(axes, data.sel(quantity=name))
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    figure.suptitle(f"{results.attrs['title']}: {results.attrs['status']}")
    figure.supxlabel("rank of the true value in its posterior, as a share")
    figure.supylabel("ECDF less the diagonal")
    return figure


def _draw_quantity(axes: "Axes", data: xr.Dataset) -> None:
    """Draw one quantity; red if its test fails."""
    fails = float(data["p_holm"]) < SIGNIFICANT
    axes.fill_between(data["point"], data["lower"], data["upper"], color=BAND, step=None)
    axes.plot(data["point"], data["ecdf"], color=FAILS if fails else DARK, linewidth=1.0)
    axes.axhline(0.0, color="grey", linewidth=0.4)
    axes.set_title(str(data["quantity"].item()), fontsize=7)
    axes.set_xticks(np.array([0.0, 0.5, 1.0]))
    axes.tick_params(labelsize=7)
