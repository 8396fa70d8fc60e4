"""The figure of a history: the headline number of each model or group over releases."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.profile import CVARS
from sharpbayes.report.figures.labels import wrap_names
from sharpbayes.report.figures.style import LEGEND_OUTSIDE, LINES, add_note, panels
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.history import name_metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Units that a reader can follow, and how far they stand apart at a release.
MAX_UNITS, APART = 12, 0.06
NOT_COMPARED = "Hollow marks: the evidence of the release does not carry a comparison of CVaR."


def releases(results: xr.DataTree) -> "Figure | None":
    """Draw CVaR of each model, or HM of each group, with its interval at every release.

    The posterior where a release has one, else the observed value with its bootstrap interval.
    A release whose evidence does not carry a comparison of CVaR has hollow marks, and no line joins
    them. None where no value is known.
    """
    data = results["history"].to_dataset()
    metric = "cvar" if "cvar" in data["metric"] else "hm"
    compared = data["tells_tails"] | (metric not in CVARS)
    value, interval = _estimates(data.sel(metric=metric))
    units = [str(u) for u in data["unit"].to_numpy() if bool(value.sel(unit=u).notnull().any())]
    units = units[:MAX_UNITS]
    if not units:
        return None
    names = wrap_names(data["release"].to_numpy(), 16)
    figure, [[axes]] = panels(1, 1, width=max(5.0, 1.2 * len(names)), height=3.2)
    place = np.arange(len(names), dtype=float)
    for number, (unit, name) in enumerate(zip(units, wrap_names(units), strict=True)):
        at_release = place + APART * (number - (len(units) - 1) / 2)
        ends = interval.sel(unit=unit).transpose("bound", "release").to_numpy()
        style = LINES[number % len(LINES)]
        axes.vlines(at_release, *ends, color=style["color"], linewidth=1.2)
        of_unit = value.sel(unit=unit)
        axes.plot(at_release, of_unit.where(compared), label=name, **style)
        hollow = style | {"linestyle": "none", "fillstyle": "none"}
        axes.plot(at_release, of_unit.where(~compared), **hollow)
    axes.set_xticks(place, names)
    axes.set_ylabel(name_metric(View(results), metric))
    axes.grid(axis="y")
    axes.legend(**LEGEND_OUTSIDE)
    if not bool(compared.all()):
        add_note(figure, NOT_COMPARED)
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
