"""What ``check`` understood -> plain tables, or one JSON document."""

from dataclasses import asdict
from typing import Any

from sharpbayes.errors import format_list
from sharpbayes.report.tables.table import Table
from sharpbayes.workflows.run import StudySummary


def study_summary_tables(understood: StudySummary) -> list[Table]:
    """Return counts with labels, scales, and the size of a fit."""
    counts = tuple(
        (name, str(count), format_list(understood.labels.get(name, ()), most=6))
        for name, count in understood.counts.items()
    )
    scales = tuple((name, ", ".join(labels)) for name, labels in understood.scales.items())
    tables = [
        Table("What the data hold", ("what", "count", "labels"), counts),
        Table("Scales, least harm first", ("scale", "levels"), scales),
    ]
    if understood.parameters:
        size = f"{understood.megabytes:.0f} MB"
        row = (str(understood.ratings), str(understood.parameters), size)
        tables.append(Table("A fit would have", ("ratings", "parameters", "stored draws"), (row,)))
    if understood.findings:
        rows = tuple((each.where, each.found, each.done) for each in understood.findings)
        title = "What these ratings cannot tell of the model"
        tables.append(Table(title, ("where", "what", "what a fit does"), rows))
    return tables


def study_summary_document(understood: StudySummary) -> dict[str, Any]:
    """Return what ``check`` understood, as plain values."""
    findings = [asdict(each) for each in understood.findings]
    return vars(understood) | {"findings": findings}
