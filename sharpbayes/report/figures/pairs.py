"""The matrix of all pairs of models of a panel: differences of tail risk, and signed-rank tests."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from sharpbayes.posterior.lowest import models_by_risk
from sharpbayes.report.figures.labels import wrap_names
from sharpbayes.report.figures.style import SMALL, panels
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number, p_value
from sharpbayes.report.tables.panel import cvar_differences

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, AROUND = 0.56, 2.2  # inches
NAME_WIDTH = 18
# Below this share of the scale of colours letters are white.
DARK_SHARE = 0.5


def pairs_of_models(results: xr.DataTree) -> "Figure | None":
    """Draw every pair of models: differences of CVaR below the diagonal, tests above it.

    Below stands the CVaR of the row less that of the column, with ``~`` where the two are not
    separable. Above stands p of the signed-rank test over prompts, by Holm; cells of pairs that it
    does not distinguish are grey (SHARP, Appendix H). None where there is no pair.
    """
    models = models_by_risk(View(results))
    if len(models) < 2:  # noqa: PLR2004 - one model has no pair
        return None
    size = AROUND + CELL * len(models)
    figure, [[axes]] = panels(1, 1, width=size + 1, height=size)
    _draw_differences(axes, results, models)
    _draw_tests(axes, results, models)
    names = wrap_names(models, NAME_WIDTH)
    axes.set_xticks(range(len(models)), names, rotation=90)
    axes.set_yticks(range(len(models)), names)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("above: p (Holm) of the signed-rank test, grey if not significant")
    return figure


def _draw_differences(axes: "Axes", results: xr.DataTree, models: list[str]) -> None:
    """Fill the cells below the diagonal."""
    separable = _matrix(results["profile_interval"].to_dataset()["separable"], models)
    lower = np.tri(len(models), k=-1, dtype=bool)
    gaps = np.where(lower, _matrix(cvar_differences(View(results)), models), np.nan)
    image = axes.imshow(gaps, cmap="cividis", vmin=min(0.0, np.nanmin(gaps)))
    for row, column in np.argwhere(lower):
        text = number(gaps[row, column], 2) + " ~" * int(separable[row, column] == 0)
        _write(axes, row, column, text, dark=gaps[row, column] < DARK_SHARE * np.nanmax(gaps))
    label = "below: CVaR of the row less that of\nthe column; ~ not separable"
    axes.figure.colorbar(image, label=label, shrink=0.8)


def _draw_tests(axes: "Axes", results: xr.DataTree, models: list[str]) -> None:
    """Fill the cells above the diagonal."""
    tests = results["validation"].to_dataset()
    p, level = _matrix(tests["wilcoxon_p_holm"], models), float(tests.attrs["familywise"])
    unclear = np.where(np.tri(len(models), dtype=bool), np.nan, p > level)
    axes.imshow(unclear, cmap="Greys", vmin=0, vmax=3)
    for row, column in np.argwhere(~np.isnan(unclear)):
        _write(axes, row, column, p_value(p[row, column]), dark=False)


def _write(axes: "Axes", row: int, column: int, text: str, *, dark: bool) -> None:
    """Write into one cell."""
    colour = "white" if dark else "black"
    axes.text(column, row, text, ha="center", va="center", fontsize=SMALL, color=colour)


def _matrix(values: xr.DataArray, models: list[str]) -> np.ndarray:
    """Values of pairs, models in an order on both sides."""
    return values.sel(model=models, other=models).transpose("model", "other").to_numpy()
