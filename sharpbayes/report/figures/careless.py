"""Figure of careless raters: how sure the model is of each."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.report.figures.style import DARK, LINES, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More raters than this have no names on the axis.
MAX_NAMES = 40


def careless_raters(results: xr.DataTree) -> "Figure | None":
    """Draw the probability of every rater to be careless, the highest first."""
    data = results["careless"].to_dataset()
    order = np.argsort(-data["prob_careless"].to_numpy(), kind="stable")
    if not order.size:
        return None
    ordered = data.isel(rater=order)
    flagged, place = ordered["flagged"].to_numpy() > 0, np.arange(len(order))
    probability, error = (
        ordered[name].to_numpy() for name in ("prob_careless", "prob_careless_error")
    )
    figure, grid = panels(1, 1, width=6.5, height=2.8)
    axes = grid.flat[0]
    axes.spines[["top", "right"]].set_visible(False)
    axes.vlines(place, probability - error, np.minimum(probability + error, 1.0), color="0.6")
    for kind, colour, label in ((flagged, LINES[1]["color"], "flagged"), (~flagged, DARK, "not")):
        axes.plot(place[kind], probability[kind], "o", markersize=4, color=colour, label=label)
    axes.axhline(0.5, color="grey", linewidth=0.6, linestyle=":")
    if len(order) <= MAX_NAMES:
        axes.set_xticks(place, ordered["rater"].to_numpy(), rotation=90)
    axes.set(xlabel="rater, most likely careless first", ylabel="P(careless)", ylim=(-0.03, 1.03))
    axes.legend()
    return figure
