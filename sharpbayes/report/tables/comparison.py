"""A comparison of models -> a table that says which predicts better, and how surely."""

import xarray as xr

from sharpbayes.report.tables.common import number
from sharpbayes.report.tables.table import Table

CLEAR = 2.0  # standard errors of a difference


def compare_tables(results: xr.DataTree) -> list[Table]:
    """Return models, best first, with differences to the best."""
    if "comparison" not in results:
        return []
    found = results["comparison"].to_dataset()
    rows = tuple(_row(found.sel(model=name)) for name in found["model"].to_numpy())
    header = ("model", "elpd", "difference", "its SE", "weight", "p", "bad k", "refitted")
    title = f"Predicting what was left out, by {found.attrs['by']}"
    return [Table(title, header, rows, " ".join(_notes(found)))]


def _row(one: xr.Dataset) -> tuple[str, ...]:
    """Numbers of one model."""
    mark = "" if bool(one["converged"]) else " (NOT CONVERGED)"
    return (
        f"{one['model'].item()}{mark}",
        *(
            number(one[name])
            for name in ("elpd", "elpd_difference", "difference_se", "weight", "p")
        ),
        str(int(one["bad_k"])),
        str(int(one["refitted"])),
    )


def _notes(found: xr.Dataset) -> list[str]:
    """Say what the numbers are, and what may not be concluded."""
    units = found.sizes["unit"]
    first = (
        f"Expected log predictive density of {units} units left out (PSIS-LOO), best first; "
        "a negative difference is worse than the first. Weights: stacking."
    )
    notes = [first]
    if any(str(name) for name in found["integrated"].to_numpy()):
        notes.append("A unit left out is predicted with a new effect of its own.")
    if found.attrs["without_unit"]:
        notes.append(f"{found.attrs['without_unit']} ratings belong to no unit and stay in.")
    if int(found["bad_k"].sum()):
        notes.append(
            "BAD k: importance sampling is not to be relied on for those units; "
            "--refits fits again without each."
        )
    unclear = [
        str(name)
        for name in found["model"].to_numpy()[1:]
        for one in [found.sel(model=name)]
        if abs(float(one["elpd_difference"])) < CLEAR * float(one["difference_se"])
    ]
    if unclear:
        notes.append(f"Within {CLEAR:g} SE of the first: {', '.join(unclear)}.")
    return notes
