"""A table is one declaration: it is then in the terminal text, HTML, CSV, Markdown and LaTeX."""

import numpy as np
import pytest
import xarray as xr

from sharpbayes.report.figures.catalogue import FIGURES
from sharpbayes.report.layout import results_kind
from sharpbayes.report.tables import catalogue
from sharpbayes.report.tables.catalogue import TABLES, report_tables, tables_after_run
from sharpbayes.report.tables.declaration import (
    Column,
    TableSpec,
    View,
    build_tables,
    labels_of,
    over,
)
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.html import as_html
from sharpbayes.report.tables.renderer import as_text, write_tables

NEW = TableSpec(
    title="New: effects by {study[what]}",
    source="Paper, Table 3",
    needs=("study/effect",),
    after_run=True,
    rows=labels_of("study/model", order="study/effect"),
    columns=(
        "{model}; study/effect; study/interval | interval; study/missing?",
        Column("twice", lambda row: number(2 * row["study/effect"])),
        over("study/judge", "by {judge}: study/score"),
    ),
    note="Of {study[what]}.",
)


@pytest.fixture
def results():
    """Two models, the second with the lower effect."""
    data = xr.Dataset(
        {
            "effect": ("model", [1.0, -0.25]),
            "interval": (("model", "bound"), [[-1.925, -0.575], [np.nan, np.nan]]),
            "score": (("model", "judge"), [[1.0, 2.0], [3.0, -0.00001]]),
        },
        {"model": ["a_1", "b"], "judge": ["x", "y"]},
        {"what": "model"},
    )
    return xr.DataTree.from_dict({"/study": data})


def test_a_declared_table_is_in_every_format(results, monkeypatch, tmp_path):
    monkeypatch.setattr(catalogue, "TABLES", (*TABLES, NEW))
    [table] = report_tables(results)
    assert tables_after_run(results) == [table]
    assert table.header == ("model", "effect", "interval", "twice", "by x", "by y")
    assert table.rows == (
        ("b", "−0.250", "-", "−0.500", "3.000", "0.000"),
        ("a_1", "1.000", "−1.93 to −0.57", "2.000", "1.000", "2.000"),
    )
    write_tables([table], tmp_path)
    csv, markdown, latex = (
        (tmp_path / f"new-effects-by-model.{end}").read_text("utf-8")
        for end in ("csv", "md", "tex")
    )
    assert "a_1,1.000,-1.93 to -0.57,2.000,1.000,2.000" in csv
    assert "| a_1 | 1.000 | −1.93 to −0.57 | 2.000 | 1.000 | 2.000 |" in markdown
    assert r"a\_1 & 1.000 & $-$1.93 to $-$0.57 & 2.000 & 1.000 & 2.000 \\" in latex
    text, html = as_text(table, width=80), as_html(table)
    assert "a_1 1.000 −1.93 to −0.57 2.000 1.000 2.000" in " ".join(text.split())
    assert '<td class="number">−1.93 to −0.57</td>' in html
    for rendered in (markdown, latex, text, html):
        assert "New: effects by model" in rendered
        assert "Of model." in rendered
    assert all("After Paper, Table 3." in rendered for rendered in (markdown, latex, html))


def test_a_table_without_its_groups_is_left_out():
    assert build_tables([NEW], xr.DataTree()) == []


def test_names_are_unique_and_figures_name_their_tables():
    names = [spec.name for spec in TABLES if spec.name]
    assert len(names) == len(set(names))
    assert {figure.table for figure in FIGURES} <= set(names)
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_a_view_selects_the_labels_that_a_variable_has(results):
    view = View(results, {"judge": "y", "model": "b", "other": "c"})
    assert float(view["study/effect"]) == -0.25
    assert float(view["study/score"]) == -0.00001
    assert "study/score" in view
    assert "study/other" not in view


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        (["profile", "panel"], "panel"),
        (["responsiveness"], "crowd"),
        (["comparison"], "compare"),
        (["calibration"], "calibrate"),
        (["other"], "unknown"),
    ],
)
def test_results_of_each_command_are_recognised(groups, kind):
    tree = xr.DataTree.from_dict({f"/{group}": xr.Dataset() for group in groups})
    assert results_kind(tree) == kind
    weighed = xr.DataTree.from_dict({"/sharp": xr.Dataset(attrs={"weights_sha256": "0"})})
    assert results_kind(weighed) == "weigh"
