"""Places of truths in their posteriors -> a table, and the ECDF differences as a figure."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report.figures.panel import DARK, FORMATS, STYLE, UNDATED
from sharpbayes.report.tables.common import number
from sharpbayes.report.tables.table import Table

SHOWN = (0.5, 0.9, 0.95)
COLUMNS, CELL = 4, (2.3, 1.7)  # panels side by side, inches of each
BAD, BAND = "#b3392f", "#d7dde6"
WRONG = 0.05


def calibration_tables(results: xr.DataTree) -> list[Table]:
    """Return coverage of central intervals and the test of uniformity by quantity."""
    if "calibration" not in results:
        return []
    found = results["calibration"].to_dataset()
    rows = tuple(_row(found.sel(quantity=name)) for name in found["quantity"].to_numpy())
    total, good = found.sizes["simulation"], int(found["fit_converged"].sum())
    ranked = int(found["fit_ranked"].sum())
    verdict = "Calibrated" if bool(found["calibrated"]) else "NOT CALIBRATED"
    note = (
        f"{verdict}: {total} simulations, of whose fits {good} met the study's limits of "
        f"convergence and {ranked} have what places among 100 draws need (R-hat at most 1.05, 100 "
        "effective draws of every parameter); none is left out. Coverage of central intervals "
        "with Wilson's 95% interval at 90%; band: whether the ECDF leaves its simultaneous 95% "
        "band; p: uniform places, by Holm over all quantities."
    )
    header = ("quantity", *(f"{level:.0%}" for level in SHOWN), "90% is within", "band", "p")
    return [Table("Truths in their posteriors", header, rows, note)]


def _row(found: xr.Dataset) -> tuple[str, ...]:
    """Name, coverage, band and p value of one quantity."""
    at = found.sel(level=0.9)
    return (
        str(found["quantity"].item()),
        *(number(found["coverage"].sel(level=level)) for level in SHOWN),
        f"{float(at['coverage_lower']):.3f}–{float(at['coverage_upper']):.3f}",
        "OUTSIDE" if bool(found["outside"]) else "inside",
        number(found["p_holm"]),
    )


def write_calibration_figure(results: xr.DataTree, folder: Path) -> list[Path]:
    """Draw the ECDF of places less the diagonal with its band, and write PNG, SVG and PDF.

    Args:
        results: Results of ``sharpbayes calibrate``.
        folder: Made if it is not there; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StorageError: A file cannot be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - slow to load

    paths = [folder / f"calibration{suffix}" for suffix in FORMATS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            figure = calibration_figure(results)
            for path in paths:
                figure.savefig(path, dpi=150, metadata=UNDATED[path.suffix])
    except OSError as error:
        raise StorageError(f"{folder}: cannot write figures: {error.strerror or error}") from error
    return paths


def calibration_figure(results: xr.DataTree) -> Any:
    """Return a figure with one panel a quantity."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    found = results["calibration"].to_dataset()
    names = found["quantity"].to_numpy()
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * CELL[0], rows * CELL[1] + 0.7), layout="constrained")
    axes = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axis, name in zip(axes, names, strict=False):
        _panel(axis, found.sel(quantity=name))
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    figure.suptitle(f"{results.attrs['title']}: {results.attrs['status']}")
    figure.supxlabel("place of the truth in its posterior")
    figure.supylabel("ECDF less the diagonal")
    return figure


def _panel(axis: Any, found: xr.Dataset) -> None:
    """Draw one quantity; red if its test fails."""
    bad = float(found["p_holm"]) < WRONG
    axis.fill_between(found["point"], found["lower"], found["upper"], color=BAND, step=None)
    axis.plot(found["point"], found["ecdf"], color=BAD if bad else DARK, linewidth=1.0)
    axis.axhline(0.0, color="grey", linewidth=0.4)
    axis.set_title(str(found["quantity"].item()), fontsize=7)
    axis.set_xticks(np.array([0.0, 0.5, 1.0]))
    axis.tick_params(labelsize=7)
