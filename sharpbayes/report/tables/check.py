"""What ``check`` finds in a study and its data -> plain tables, or one JSON document."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from sharpbayes.analysis.study import StudySummary
from sharpbayes.bayes.design.design import ScaledCovariate
from sharpbayes.data.own_judges import describe_own_judges
from sharpbayes.errors import format_list, format_percent
from sharpbayes.report.tables.table import Table

MAX_LABELS, MAX_SCORES = 6, 20
# The first column is never broken at words, so that it holds no sentence.
EXPLAINED = ("metrics", "why", "what helps")
COVARIATE_HEADER = ("column", "one for each", "numbers", "lowest", "highest", "centre", "sd")
COVARIATE_NOTE = (
    "A slope is per sd from the centre, over those that have a number. Is it one for each of what "
    "you mean? A column counts for the coarsest that it is constant in."
)
MORE_DRAWS = (
    "Stored draws are those of the longest chains (`sampler.max_draws`). Memory is for as many "
    "draws as most fits need, and for the longest chains."
)


def study_summary_tables(summary: StudySummary) -> list[Table]:
    """Return columns, counts with labels, repeats, the size of a fit, what is not identified."""
    counts = tuple(
        (name, str(count), format_list(summary.labels.get(name, ()), limit=MAX_LABELS))
        for name, count in summary.counts.items()
    )
    scales = tuple((name, _list_scores(labels)) for name, labels in summary.scales.items())
    tables = [
        *_column_tables(summary),
        Table("What the data hold", ("what", "count", "labels"), counts),
        Table("Scales, least harm first", ("scale", "scores"), scales),
    ]
    if summary.covariates:
        described = tuple(map(_describe_covariate, summary.covariates))
        tables.append(Table("Numbers of slopes", COVARIATE_HEADER, described, COVARIATE_NOTE))
    if summary.repeats:
        tables.append(_repeats_table(summary))
    tables += _warnings(summary)
    if summary.parameters:
        tables.append(_size_table(summary))
    if summary.issues:
        rows = tuple((issue.term, issue.problem, issue.consequence) for issue in summary.issues)
        columns = ("term", "problem", "consequence")
        tables.append(Table("What these ratings do not identify", columns, rows))
    return tables


def _warnings(summary: StudySummary) -> Iterator[Table]:
    """What to look at before anything is computed."""
    if summary.lookalikes:
        title = "CHECK: labels that look alike count as different"
        columns = ("column", "labels and their rows", "to merge them, write in the study")
        yield Table(title, columns, summary.lookalikes)
    if summary.own_judges:
        note = describe_own_judges(list(summary.own_judges))
        title = "CHECK: judges score their own answers"
        yield Table(title, ("judge", "model"), summary.own_judges, note)
    if summary.few_resamples:
        level, *numbers = summary.few_resamples
        row = (format_percent(level), *map(str, numbers))
        columns = ("level of intervals", "resamples", "at least")
        yield Table("CHECK: no resample lies beyond a bound", columns, (row,))
    if summary.unmeasured:
        title = "CHECK: metrics that cannot be measured"
        yield Table(title, EXPLAINED, summary.unmeasured)
    if summary.long_scale:
        title = "CHECK: the scale is too long for these items"
        yield Table(title, EXPLAINED, (("MPA, HM", *summary.long_scale),))
    if summary.limits:
        title = "CHECK: what these ratings cannot carry"
        yield Table(title, ("of what", "what follows"), summary.limits)


def _size_table(summary: StudySummary) -> Table:
    """What a fit would have, and a worker where the ratings are in parts."""
    usual, max_memory = f"{summary.memory_megabytes:.0f}", f"{summary.max_memory_megabytes:.0f}"
    sizes = {
        "stored draws": f"{summary.draw_megabytes:.0f} MB",
        "replicated ratings": f"{summary.replicate_megabytes:.0f} MB",
        "memory, about": f"{usual} MB" if usual == max_memory else f"{usual} to {max_memory} MB",
    }
    row = (str(summary.ratings), str(summary.parameters), *sizes.values())
    worker = summary.worker_megabytes
    notes = [MORE_DRAWS] if usual != max_memory else []
    notes += [f"With --cluster a worker takes about {worker:.0f} MB for one part."] * bool(worker)
    return Table("A fit would have", ("ratings", "parameters", *sizes), (row,), " ".join(notes))


def _describe_covariate(covariate: ScaledCovariate) -> tuple[str, ...]:
    """What was read of a numeric column, and its constants."""
    name = f"log {covariate.column}" if covariate.transform == "log" else covariate.column
    numbers = (covariate.lowest, covariate.highest, covariate.centre, covariate.scale)
    return name, covariate.unit, str(covariate.n_units), *(f"{x:.6g}" for x in numbers)


def _repeats_table(summary: StudySummary) -> Table:
    """How many answers and trials the cells have."""
    rows = tuple(
        (
            f"{row.description} (`{row.role}`)",
            str(row.fewest),
            f"{row.mean:.3g}",
            str(row.most),
            str(row.cells),
        )
        for row in summary.repeats
    )
    return Table("How often cells are repeated", ("what", "fewest", "mean", "most", "cells"), rows)


def _list_scores(labels: Sequence[str]) -> str:
    """The scores of a scale; of a long one the first and the last."""
    if len(labels) <= MAX_SCORES:
        return ", ".join(labels)
    return f"{labels[0]}, {labels[1]}, ..., {labels[-1]} ({len(labels)} scores)"


def _column_tables(summary: StudySummary) -> Iterator[Table]:
    """For each file the columns with a role, and in a note those without."""
    for file, group in groupby(summary.columns, key=lambda row: row[0]):
        columns = [(column, role) for _, column, role in group]
        unused = ", ".join(column for column, role in columns if not role)
        note = f"Columns of the data that the study does not use: {unused}." if unused else ""
        used = tuple((column, role) for column, role in columns if role)
        yield Table(f"Columns of {file}", ("column", "role"), used, note)


def study_summary_document(summary: StudySummary) -> dict[str, Any]:
    """Return a summary of a study as plain values."""
    return vars(summary) | {
        "issues": [asdict(issue) for issue in summary.issues],
        "covariates": [asdict(covariate) for covariate in summary.covariates],
        "repeats": [row._asdict() for row in summary.repeats],
    }
