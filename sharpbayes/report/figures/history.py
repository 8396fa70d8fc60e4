"""The figure of a history: the headline number of each model or group over releases."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.report.figures.labels import wrap_names
from sharpbayes.report.figures.style import LEGEND_OUTSIDE, LINES, panels
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.history import name_metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Units that a reader can follow, and how far they stand apart at a release.
MOST_UNITS, APART = 12, 0.06


def releases(results: xr.DataTree) -> "Figure | None":
    """Draw CVaR of each model, or HM of each group, with its interval at every release.

    The posterior where a release has one, else the observed value with its bootstrap interval.
    None where no value is known.
    """
    data = results["history"].to_dataset()
    metric = "cvar" if "cvar" in data["metric"] else "hm"
    value, interval = _estimates(data.sel(metric=metric))
    known = [str(u) for u in data["unit"].to_numpy() if bool(value.sel(unit=u).notnull().any())]
    if not known:
        return None
    names = wrap_names(data["release"].to_numpy(), 16)
    figure, [[axes]] = panels(1, 1, width=max(5.0, 1.2 * len(names)), height=3.2)
    place = np.arange(len(names), dtype=float)
    shown = known[:MOST_UNITS]
    for number, (unit, name) in enumerate(zip(shown, wrap_names(shown), strict=True)):
        at_release = place + APART * (number - (len(shown) - 1) / 2)
        ends = interval.sel(unit=unit).transpose("bound", "release").to_numpy()
        style = LINES[number % len(LINES)]
        axes.vlines(at_release, *ends, color=style["color"], linewidth=1.2)
        axes.plot(at_release, value.sel(unit=unit), label=name, **style)
    axes.set_xticks(place, names)
    axes.set_ylabel(name_metric(View(results), metric))
    axes.grid(axis="y")
    axes.legend(**LEGEND_OUTSIDE)
    return figure


def _estimates(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Values and intervals: the posterior of releases that have one, else the bootstrap."""
    value, interval = data["observed"], data["bootstrap_interval"]
    if "posterior_median" not in data:
        return value, interval
    fitted = data["posterior_median"].notnull()
    return (
        data["posterior_median"].where(fitted, value),
        data["posterior_interval"].where(fitted, interval),
    )
