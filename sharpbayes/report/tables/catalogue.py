"""Every declared table, in the order of the report."""

import re
from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.report.layout import WEIGHED, results_kind
from sharpbayes.report.tables import (
    careless,
    crowd,
    debiased,
    decision,
    evidence,
    fit,
    gate,
    history,
    items,
    joint,
    judge_bias,
    loo_pit,
    missing,
    panel,
    peeking,
    prior_sensitivity,
    purchases,
    raters,
    slopes,
    tolerance,
    validation,
    variance,
    weighed,
    worst_prompts,
)
from sharpbayes.report.tables.declaration import TableSpec, View, build_tables
from sharpbayes.report.tables.table import Chapter, Table
from sharpbayes.storage.attributes import has_converged
from sharpbayes.storage.schema import APPROXIMATE, APPROXIMATION, explain_missing

# Tables of the metrics by which an answer may compare models where tails decide nothing.
COMPARED = {"mean": "mean_risk", "policy_score": "policy_score"}


def section(
    chapter: Chapter, *specs: TableSpec, needs: tuple[str, ...] = (), after_run: bool = False
) -> list[TableSpec]:
    """Return declarations of one chapter; those that name no needed groups share some.

    A title that begins with a table or section names where the SHARP paper has it.
    """
    return [
        replace(
            spec,
            chapter=chapter,
            needs=spec.needs or needs,
            after_run=spec.after_run or after_run,
            source=spec.source or _source_of_title(str(spec.title)),
        )
        for spec in specs
    ]


def _source_of_title(title: str) -> str:
    """The place in the SHARP paper, such as ``SHARP, Tables 2 and 3``, or an empty text."""
    match = re.match(r"(Tables?|Section|Appendix) ([^:,]+)", title)
    return f"SHARP, {match[1].replace('S', 's')} {match[2].replace('-', ' and ')}" if match else ""


TABLES: tuple[TableSpec, ...] = (
    *section(Chapter.FIT, fit.FAILED_CHECKS, after_run=True),
    *section(Chapter.ANSWER, *joint.TABLES),
    *section(Chapter.DECISION, *decision.MODEL_TABLES),
    *section(Chapter.DECISION, *tolerance.TABLES),
    *section(Chapter.GROUPS, *decision.GROUP_TABLES),
    *section(Chapter.PROFILE, *panel.PROFILE_TABLES, needs=("profile",)),
    *section(Chapter.PROFILE, *evidence.PANEL_TABLES),
    *section(Chapter.PROFILE, *missing.TABLES),
    *section(Chapter.WORST_PROMPTS, worst_prompts.WORST_PROMPTS),
    *section(Chapter.JUDGES, *panel.JUDGE_TABLES, needs=("judges",)),
    *section(Chapter.JUDGES, *variance.TABLES),
    *section(Chapter.JUDGE_BIAS, *judge_bias.TABLES),
    *section(Chapter.JUDGE_BIAS, *debiased.TABLES),
    *section(Chapter.DIMENSIONS, *panel.DIMENSION_TABLES, needs=("judges/dimension_dependence",)),
    *section(Chapter.VALIDATION, *validation.TABLES, needs=("validation",)),
    *section(Chapter.PROFILE, *panel.SUBSET_TABLES),
    *section(Chapter.PROFILE, slopes.EQUAL_PROFILE),
    *section(Chapter.GROUPS, *crowd.GROUP_TABLES, needs=("responsiveness",)),
    *section(Chapter.GROUPS, evidence.GROUP_EVIDENCE),
    *section(Chapter.GROUPS, slopes.EQUAL_RESPONSIVENESS),
    *section(Chapter.SCALE, *crowd.SCALE_TABLES),
    *section(Chapter.RATERS, *raters.TABLES),
    *section(Chapter.RATERS, *careless.TABLES),
    *section(Chapter.ITEMS, *items.ITEM_TABLES),
    *section(Chapter.SAMPLE_SIZE, decision.GROUP_SIZES, decision.PAIR_SIZES),
    *section(Chapter.SAMPLE_SIZE, purchases.PURCHASES),
    *section(Chapter.FURTHER, *fit.SENSITIVITY_TABLES),
    *section(Chapter.FIT, *slopes.TABLES),
    *section(Chapter.FIT, *prior_sensitivity.TABLES),
    *section(Chapter.FIT, *fit.FIT_TABLES),
    *section(Chapter.FIT, loo_pit.LOO_PIT),
    *section(Chapter.DECISION, *weighed.MODEL_TABLES),
    *section(Chapter.DECISION, *gate.TABLES),
    *section(Chapter.ANSWER, *history.TABLES),
    *section(Chapter.GROUPS, *weighed.GROUP_TABLES),
    *section(Chapter.FIT, *fit.MANY_FITS_TABLES),
    *section(Chapter.DECISION, *peeking.TABLES),
)
# Shown for each weights file of a comparison.
OF_EACH_WEIGHTS = (
    *section(Chapter.SAMPLE_SIZE, decision.PAIR_SIZES, purchases.PURCHASES),
    *section(Chapter.PROFILE, missing.TABLES[0]),
    *section(Chapter.FIT, prior_sensitivity.TABLES[0]),
)
NOT_CONVERGED = "NOT CONVERGED"


def _of_run(results: xr.DataTree, node: xr.DataTree) -> xr.DataTree:
    """Results under one of several weights, with what the attributes say of the run."""
    child = node.copy()
    child.attrs = results.attrs | node.attrs
    return child


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
    """Return the tables of the first screen: what the terminal shows at the end of a run.

    The first is that of the metric by which the answer compares models.
    """
    name = COMPARED.get(PanelReading(View(results)).ordered_by) if "profile" in results else None
    first = [spec for spec in TABLES if name and spec.name == name]
    others = [spec for spec in TABLES if spec.after_run and spec not in first]
    return _marked(results, [*first, *others])


def _marked(results: xr.DataTree, specs: Sequence[TableSpec]) -> list[Table]:
    """Tables, each marked where the fit has not converged or is approximate.

    Tables of the measured half carry the mark too: a reader of one table does not know its half.
    """
    tables = build_tables(specs, results)
    if results_kind(results) == WEIGHED:
        tables += [
            replace(table, title=f"{table.title}: {weights}")
            for weights, node in results.children.items()
            for table in build_tables(OF_EACH_WEIGHTS, _of_run(results, node))
        ]
    if results.attrs.get("status") == APPROXIMATE:
        return [
            replace(table, mark=APPROXIMATION, note=f"A{APPROXIMATION[1:]}. {table.note}")
            for table in tables
        ]
    if has_converged(results):
        return tables
    warning = f"{NOT_CONVERGED}: do not use the results of the fit."
    return [replace(table, mark=NOT_CONVERGED, note=f"{warning} {table.note}") for table in tables]
