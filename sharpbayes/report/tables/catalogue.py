"""Every declared table, in the order of the report."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.report.layout import WEIGHED, explain_missing, results_kind
from sharpbayes.report.tables.crowd import CROWD_TABLES
from sharpbayes.report.tables.decision import DECISION_TABLES, WEIGHED_TABLES
from sharpbayes.report.tables.declaration import TableSpec, build_tables
from sharpbayes.report.tables.fit import (
    CHECKS_TABLE,
    FIT_TABLES,
    MANY_FITS_TABLES,
    SENSITIVITY_TABLES,
)
from sharpbayes.report.tables.judge_bias import JUDGE_BIAS_TABLES
from sharpbayes.report.tables.judges import DIMENSION_TABLES, JUDGE_TABLES
from sharpbayes.report.tables.panel import PROFILE_TABLES, SUBSET_TABLES
from sharpbayes.report.tables.sample_size import PAIR_SIZE_TABLE, SAMPLE_SIZE_TABLES
from sharpbayes.report.tables.table import Table
from sharpbayes.report.tables.validation import VALIDATION_TABLES

TABLES: tuple[TableSpec, ...] = (
    CHECKS_TABLE,
    *DECISION_TABLES,
    *PROFILE_TABLES,
    *JUDGE_TABLES,
    *JUDGE_BIAS_TABLES,
    *DIMENSION_TABLES,
    *VALIDATION_TABLES,
    *SUBSET_TABLES,
    *CROWD_TABLES,
    *SAMPLE_SIZE_TABLES,
    *SENSITIVITY_TABLES,
    *FIT_TABLES,
    *WEIGHED_TABLES,
    *MANY_FITS_TABLES,
)
NOT_CONVERGED = "NOT CONVERGED"


def report_tables(results: xr.DataTree) -> list[Table]:
    """Return every table that results allow, in the order of the report.

    Args:
        results: Results of any command.

    Raises:
        StorageError: A group lacks a variable or an attribute.
    """
    with explain_missing(results):
        return _marked(results, TABLES)


def tables_after_run(results: xr.DataTree) -> list[Table]:
    """Return the tables that the terminal shows at the end of a run."""
    return _marked(results, [spec for spec in TABLES if spec.after_run])


def _marked(results: xr.DataTree, specs: Sequence[TableSpec]) -> list[Table]:
    """Tables, each marked where the fit has not converged.

    Tables of the measured half carry the mark too: a reader of one table does not know its half.
    """
    tables = build_tables(specs, results) + _sample_sizes(results)
    diagnosed = "diagnostics" not in results or bool(results["diagnostics"]["converged"])
    if diagnosed and results.attrs.get("status") != "not converged":
        return tables
    warning = f"{NOT_CONVERGED}: do not use the results of the fit."
    return [replace(table, mark=NOT_CONVERGED, note=f"{warning} {table.note}") for table in tables]


def _sample_sizes(results: xr.DataTree) -> list[Table]:
    """Sample sizes under each weights file of ``weigh``."""
    if results_kind(results) != WEIGHED:
        return []
    return [
        replace(table, title=f"{table.title}: {weights}")
        for weights, node in results.children.items()
        for table in build_tables([PAIR_SIZE_TABLE], node)
    ]
