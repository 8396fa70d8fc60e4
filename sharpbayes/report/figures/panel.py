"""A panel's results -> Figures 1 to 4 of the SHARP paper: prompt-level distributions by model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from sharpbayes.errors import StorageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
PER_MODEL, PER_PANEL = 0.32, 2.9  # inches
COLOUR, DARK = "#7a9cc6", "#1f3a5f"
# Told apart without colour.
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")
# A dollar sign in the name of a model is no formula.
STYLE: Any = {
    "svg.hashsalt": "sharpbayes",
    "svg.fonttype": "none",
    "font.size": 9,
    "text.parse_math": False,
}
# Written into files unless they are told not to, so that equal results give equal files.
UNDATED: dict[str, dict[str, Any]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def write_figures(results: xr.DataTree, folder: Path) -> list[Path]:
    """Draw the distributions over prompts of each model and write PNG, SVG and PDF.

    Figures 1 and 2 are box and violin plots of joint safety, any-harm, cumulative log-risk, harm
    radius and largest harm; Figures 3 and 4 are violin and box plots of the harm of each dimension.

    Args:
        results: Results of a panel; others give no figure.
        folder: Made if it is not there; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StorageError: A file cannot be written.
    """
    if "panel" not in results:
        return []
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            for name, figure in figures(results).items():
                for suffix in FORMATS:
                    path = folder / f"{name}{suffix}"
                    figure.savefig(path, dpi=150, metadata=UNDATED[suffix])
                    written.append(path)
    except OSError as error:
        raise StorageError(f"{folder}: cannot write figures: {error.strerror or error}") from error
    return written


def figures(results: xr.DataTree) -> dict[str, "Figure"]:
    """Return the figures by the name of their file, models from the lowest tail risk down."""
    order = results["profile"].to_dataset().sortby("cvar")["model"].to_numpy()
    panel = results["panel"].to_dataset().sel(model=order)
    risk, harm = risk_metrics(panel), dimension_metrics(panel)
    return {
        "figure-1-risk-box": draw(risk, kind="box"),
        "figure-2-risk-violin": draw(risk, kind="violin"),
        "figure-3-dimensions-violin": draw(harm, kind="violin"),
        "figure-4-dimensions-box": draw(harm, kind="box"),
    }


def risk_metrics(panel: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return what Figures 1 and 2 show, by its title."""
    return {
        "joint safety": 1.0 - panel["any_harm"],
        "any-harm": panel["any_harm"],
        "cumulative log-risk": panel["log_risk"],
        "harm radius": panel["radius"],
        "largest harm": panel["harm"].max("dimension", skipna=False),
    }


def dimension_metrics(panel: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return what Figures 3 and 4 show: harm of each dimension, pooled over judges."""
    names = [str(name) for name in panel["dimension"].to_numpy()]
    return {name: panel["harm"].sel(dimension=name) for name in names}


def draw(metrics: dict[str, xr.DataArray], *, kind: str) -> "Figure":
    """Draw one panel for each metric, models down the side.

    Args:
        metrics: Values over (model, prompt[, sample]) by title.
        kind: ``box`` (median, quartiles, whiskers at 1.5 times their distance) or ``violin``.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    models = [str(name) for name in next(iter(metrics.values()))["model"].to_numpy()]
    size = (2.0 + PER_PANEL * len(metrics), 1.2 + PER_MODEL * len(models))
    figure = Figure(figsize=size, layout="constrained")
    row = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for axes, (title, values) in zip(row, metrics.items(), strict=True):
        rows = [_there(values.sel(model=name)) for name in models]
        (_boxes if kind == "box" else _violins)(axes, rows)
        axes.set_title(title)
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
    row[0].set_yticks(range(len(models)), models)
    row[0].set_ylim(len(models) - 0.4, -0.6)
    return figure


def _there(values: xr.DataArray) -> np.ndarray:
    """Values of a model that are not missing; what rounding alone tells apart is drawn alike."""
    flat = values.to_numpy().ravel()
    return np.round(flat[~np.isnan(flat)], 9)


def _boxes(axes: "Axes", rows: list[np.ndarray]) -> None:
    """One box a model; a model without values has an empty place."""
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
    full = [(at, row) for at, row in enumerate(rows) if row.size]
    if not full:
        return
    parts = axes.violinplot(
        [row for _, row in full],
        positions=[at for at, _ in full],
        orientation="horizontal",
        widths=0.85,
        showmedians=True,
        showextrema=False,
    )
    for body in parts["bodies"]:  # type: ignore[attr-defined]
        body.set(facecolor=COLOUR, edgecolor=DARK, alpha=0.9, linewidth=0.6)
    parts["cmedians"].set(color=DARK)


def as_svg(figure: "Figure") -> str:
    """Return a figure as SVG text without a background, letters as outlines, and close it."""
    from io import StringIO  # noqa: PLC0415 - beside the library it serves

    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    held = StringIO()
    with rc_context({**STYLE, "svg.fonttype": "path"}):
        figure.savefig(held, format="svg", metadata=UNDATED[".svg"], transparent=True)
    return held.getvalue()


def profile_intervals(results: xr.DataTree) -> "Figure":
    """Draw tail risk by model with its bootstrap interval, of the level of the study."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    profile = results["profile"].to_dataset().sortby("cvar")
    models = profile["model"].to_numpy()
    figure = Figure(figsize=(7.0, 1.3 + PER_MODEL * len(models)), layout="constrained")
    axes, place = figure.subplots(), np.arange(len(models))
    bootstrap = results["profile_interval"]["cvar"].sel(model=models).transpose("model", "bound")
    ends = bootstrap.to_numpy().T
    axes.hlines(place, *ends, color=DARK, linewidth=2, label="bootstrap over prompts")
    axes.plot(profile["cvar"], place, "o", color=DARK, ms=5)
    axes.set_yticks(place, [str(name) for name in models])
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.set_xlabel("CVaR of cumulative log-risk; further left is safer")
    axes.grid(axis="x", color="0.9")
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def tail_shares(results: xr.DataTree) -> "Figure":
    """Draw which share of the tail's log-risk comes from each dimension, a bar a model."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    profile = results["profile"].to_dataset().sortby("cvar")
    models = [str(name) for name in profile["model"].to_numpy()]
    shares = profile["tail_share"].transpose("dimension", "model")
    figure = Figure(figsize=(7.0, 1.2 + PER_MODEL * len(models)), layout="constrained")
    axes, left = figure.subplots(), np.zeros(len(models))
    colours = colormaps["cividis"](np.linspace(0.1, 0.9, shares.sizes["dimension"]))
    for at, name in enumerate(shares["dimension"].to_numpy()):
        width, hatch = shares.isel(dimension=at).fillna(0).to_numpy(), HATCHES[at % len(HATCHES)]
        axes.barh(
            models,
            width,
            left=left,
            color=colours[at],
            hatch=hatch,
            edgecolor="white",
            linewidth=0.5,
            label=str(name),
        )
        left = left + width
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of the log-risk of the tail prompts")
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
