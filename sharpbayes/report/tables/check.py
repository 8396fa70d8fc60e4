"""What ``check`` understood -> plain tables, or one JSON document."""

from dataclasses import asdict
from typing import Any

from sharpbayes.analysis.study import StudySummary
from sharpbayes.errors import format_list
from sharpbayes.report.tables.table import Table

MOST_LABELS = 6


def study_summary_tables(summary: StudySummary) -> list[Table]:
    """Return counts with labels, scales, the size of a fit, and what is not identified."""
    counts = tuple(
        (name, str(count), format_list(summary.labels.get(name, ()), most=MOST_LABELS))
        for name, count in summary.counts.items()
    )
    scales = tuple((name, ", ".join(labels)) for name, labels in summary.scales.items())
    tables = [
        Table("What the data hold", ("what", "count", "labels"), counts),
        Table("Scales, least harm first", ("scale", "scores"), scales),
    ]
    if summary.parameters:
        sizes = [f"{x:.0f} MB" for x in (summary.draw_megabytes, summary.replicate_megabytes)]
        row = (str(summary.ratings), str(summary.parameters), *sizes)
        header = ("ratings", "parameters", "stored draws", "replicated ratings")
        tables.append(Table("A fit would have", header, (row,)))
    if summary.issues:
        rows = tuple((issue.term, issue.problem, issue.consequence) for issue in summary.issues)
        columns = ("term", "problem", "consequence")
        tables.append(Table("What these ratings do not identify", columns, rows))
    return tables


def study_summary_document(summary: StudySummary) -> dict[str, Any]:
    """Return what ``check`` understood, as plain values."""
    return vars(summary) | {"issues": [asdict(issue) for issue in summary.issues]}
