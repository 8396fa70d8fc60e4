"""The figure of the decision: every model or group with posterior, bootstrap and tolerance."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.report.figures.labels import label_groups, name_grouping, wrap_names
from sharpbayes.report.figures.style import BOOTSTRAP, POSTERIOR, panels
from sharpbayes.report.tables.crowd import MAX_GROUPS
from sharpbayes.report.tables.declaration import View
from sharpbayes.storage.attributes import has_converged, read_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# As wide as a phone shows without scrolling, in letters that are readable there.
WIDTH, ROW, AROUND, FONT = 5.0, 0.36, 1.25, 10.0
NAME_WIDTH, APART = 22, 0.16  # characters of a line of a name; rows


class Kind(NamedTuple):
    """How one kind of estimate is drawn: its variables in ``/joint``, label and marks."""

    value: str
    interval: str
    label: str
    colour: str
    marker: str
    line: str


KINDS = {
    "posterior": Kind("posterior_median", "posterior_interval", "posterior", POSTERIOR, "o", "-"),
    "bootstrap": Kind(
        "observed", "bootstrap_interval", "observed, bootstrap", BOOTSTRAP, "s", "--"
    ),
}


def tail_risk(results: xr.DataTree) -> "Figure | None":
    """Draw CVaR of every model, lowest observed first, with the tolerance that was decided.

    A square and a dashed line are the observed value and its bootstrap interval, a circle and a
    line the posterior median and its interval. The posterior of a fit that has not converged is
    left out. None where no value is known.
    """
    data = _known(results, "cvar", "model").sortby("observed")
    label = View(results).text("{cvar} of log-risk in nats; further left is safer")
    names = wrap_names(data["unit"].to_numpy(), NAME_WIDTH)
    drawn = _draw_units(results, data, names, label)
    tolerance = read_weights(results).get("tolerance", {}).get("cvar")
    if drawn is not None and tolerance is not None:
        drawn.axes[0].axvline(
            tolerance, label="tolerance", color="0.25", linestyle=":", linewidth=2
        )
    return _add_legend(drawn)


def mean_risk(results: xr.DataTree) -> "Figure | None":
    """Draw mean log-risk as in :func:`tail_risk`; None where the answer compares another metric."""
    return _draw_compared(results, "mean", "Mean log-risk in nats; further left is safer")


def policy_score(results: xr.DataTree) -> "Figure | None":
    """Draw policy scores as in :func:`tail_risk`; None where the answer compares another metric."""
    return _draw_compared(results, "policy_score", "Policy score; further left is safer")


def _draw_compared(results: xr.DataTree, metric: str, label: str) -> "Figure | None":
    """Draw every model by a metric if the answer orders models by it, lowest observed first."""
    if PanelReading(View(results)).ordered_by != metric:
        return None
    data = _known(results, metric, "model").sortby("observed")
    names = wrap_names(data["unit"].to_numpy(), NAME_WIDTH)
    return _add_legend(_draw_units(results, data, names, label))


def responsiveness(results: xr.DataTree) -> "Figure | None":
    """Draw HM of every group of raters with their number, marked as in :func:`tail_risk`."""
    data = _known(results, "hm", "group").isel(unit=slice(MAX_GROUPS))
    names = label_groups(results, data["unit"].to_numpy(), NAME_WIDTH)
    raters = results["responsiveness"].to_dataset()["raters"].sel(group=list(names)).to_numpy()
    labels = [f"{name} (n\u00a0=\u00a0{n})" for name, n in zip(names.values(), raters, strict=True)]
    label = "HM of MPA and WRA; further right is better"
    drawn = _draw_units(results, data, labels, label)
    if drawn is not None:
        drawn.axes[0].set_ylabel(name_grouping(results, names), fontsize=FONT)
    return _add_legend(drawn)


def has_posterior(results: xr.DataTree) -> bool:
    """Return whether results have a posterior that may be shown."""
    joint = results["joint"].to_dataset() if "joint" in results else {}
    return "posterior_median" in joint and has_converged(results)


def _known(results: xr.DataTree, metric: str, dim: str) -> xr.Dataset:
    """A metric of ``/joint`` for models or groups that have it, over (unit)."""
    data = results["joint"].to_dataset().sel(metric=metric).rename({dim: "unit"})
    return data.isel(unit=np.flatnonzero(data["observed"].notnull()))


def _draw_units(
    results: xr.DataTree, data: xr.Dataset, names: list[str], label: str
) -> "Figure | None":
    """Draw bootstrap and posterior of every unit, one a row."""
    if not names:
        return None
    figure, [[axes]] = panels(1, 1, width=WIDTH, height=AROUND + ROW * len(names))
    fitted = has_posterior(results)
    place = np.arange(len(names), dtype=float)
    if fitted:
        _draw_intervals(axes, place - APART, data, KINDS["posterior"])
    _draw_intervals(axes, place + APART * fitted, data, KINDS["bootstrap"])
    axes.set_xlabel(label, fontsize=FONT, loc="right")
    axes.set_yticks(place, names, fontsize=FONT)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color="0.9")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _draw_intervals(axes: "Axes", height: np.ndarray, data: xr.Dataset, kind: Kind) -> None:
    """Draw the values and intervals of one kind."""
    ends = data[kind.interval].transpose("bound", "unit").to_numpy()
    axes.hlines(height, *ends, color=kind.colour, linestyle=kind.line, linewidth=1.8)
    axes.plot(data[kind.value], height, kind.marker, color=kind.colour, markersize=5)
    axes.plot([], [], kind.marker + kind.line, color=kind.colour, label=kind.label, markersize=5)


def _add_legend(figure: "Figure | None") -> "Figure | None":
    """Add the legend above the axes."""
    if figure is not None:
        figure.legend(loc="outside upper right", ncols=3, fontsize=FONT - 1, frameon=False)
    return figure
