"""Fits without a judge, under other priors and weights, beside the study's own, as a table."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.report.tables.common import number
from sharpbayes.report.tables.table import Table

PANEL, CROWD = "cvar", "hm"


def sensitivity_tables(results: xr.DataTree) -> list[Table]:
    """Return what each fit says, and how far its numbers lie from those of the study's own."""
    if "sensitivity" not in results:
        return []
    held = results["sensitivity"].to_dataset()
    panel = PANEL in held
    name = PANEL if panel else CROWD
    note = (
        f"Shift: posterior median of {'CVaR' if panel else 'HM'} less that of the study's own fit, "
        "in its posterior sd; the largest of either sign. A fit that has not converged says little."
    )
    header = ("fit", "weights", "by CVaR, safest first", "P(best)") if panel else ("fit",)
    rows = [
        (*told, *_shift(cell[f"{name}_shift"]), "yes" if int(cell["converged"]) else "NO")
        for told, cell in (_panel_rows(held) if panel else _crowd_rows(held))
    ]
    columns = (*header, "largest shift", "of", "converged")
    return [Table("Sensitivity: fits beside the study's own", columns, tuple(rows), note)]


def _panel_rows(held: xr.Dataset) -> Iterator[tuple[tuple[str, ...], xr.Dataset]]:
    """Order of models, and how sure the best is, by fit and weights."""
    for refit in held["refit"].to_numpy():
        for weights in held["weights"].to_numpy():
            cell = held.sel(refit=refit, weights=weights)
            order = cell.sortby("cvar")["model"].to_numpy()
            best = number(cell["prob_best"].max())
            yield (str(refit), str(weights), " < ".join(map(str, order)), best), cell


def _crowd_rows(held: xr.Dataset) -> Iterator[tuple[tuple[str, ...], xr.Dataset]]:
    """Fits of a crowd, over all items."""
    for refit in held["refit"].to_numpy():
        yield (str(refit),), held.sel(refit=refit, by="all")


def _shift(shift: xr.DataArray) -> tuple[str, str]:
    """The largest shift and its label; nothing where no number has one."""
    values = shift.to_numpy()
    if np.isnan(values).all():
        return "", ""
    at = int(np.nanargmax(np.abs(values)))
    return number(shift[at]), str(shift[shift.dims[0]].to_numpy()[at])
