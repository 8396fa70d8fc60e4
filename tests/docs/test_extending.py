"""A table and a reader are added by the entries that docs/extending.md lists.

Metrics are added in ``tests/metrics/test_declarations.py``, a likelihood and a kind of term in
``tests/bayes/test_extending.py``.
"""

import pandas as pd
import pytest

from sharpbayes.data.readers import formats
from sharpbayes.errors import DataError
from sharpbayes.report.tables import catalogue
from sharpbayes.report.tables.declaration import TableSpec, labels_of
from sharpbayes.report.tables.table import Chapter
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.measure import measure

SPEC = TableSpec(
    title="Tail and mean of each model",
    columns=("{model}; tail: profile/cvar; mean: profile/mean",),
    rows=labels_of("profile/model", order="profile/cvar"),
    note="Log-risk in nats; lower is safer.",
    needs=("profile",),
)


def test_a_new_table_is_one_declaration(monkeypatch):
    monkeypatch.setattr(catalogue, "TABLES", (*catalogue.TABLES, SPEC))
    results = measure(load_study("quickstart", overrides=("bootstrap.replicates=20",)))
    tables = catalogue.report_tables(results)
    [table] = [table for table in tables if table.title == SPEC.title]
    assert table.header == ("model", "tail", "mean")
    profile = results["profile"].to_dataset().sortby("cvar")
    assert [row[0] for row in table.rows] == list(profile["model"].to_numpy())
    assert [row[1] for row in table.rows] == [f"{x:.3f}" for x in profile["cvar"].to_numpy()]
    assert table.chapter == Chapter.FURTHER


def read_bars(path):
    """Read a file with bars between its cells."""
    table = pd.read_csv(path, sep="|", dtype=str)
    if "score" not in table:
        raise DataError.at(path, "no column `score`")
    return table


def test_a_new_reader_is_one_entry(monkeypatch, tmp_path):
    entry = formats.FileFormat({".bars": read_bars}, pd.concat)
    monkeypatch.setitem(formats.FORMATS, "bars", entry)
    for name in ("a", "b"):
        (tmp_path / f"{name}.bars").write_text(f"item|score\n{name}|3\n", encoding="utf-8")
    table = formats.read_table(tmp_path, "*.bars", "bars")
    assert table.to_dict("list") == {"item": ["a", "b"], "score": ["3", "3"]}
    (tmp_path / "c.bars").write_text("item\nc\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column `score`"):
        formats.read_table(tmp_path, "*.bars", "bars")
