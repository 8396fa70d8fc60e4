"""Tables of the terminal: nothing lost, nothing broken, nothing wider than the terminal."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from sharpbayes.report.tables.format import interval
from sharpbayes.report.tables.html import as_html
from sharpbayes.report.tables.renderer import (
    as_latex,
    as_markdown,
    as_text,
    split_columns,
    tables_as_text,
    write_tables,
)
from sharpbayes.report.tables.table import Table

WIDE = Table(
    "Wide",
    ("model", *(f"column_{column}" for column in range(12))),
    tuple(
        (f"m{row}", *(interval([-column - 0.5, row]) for column in range(12))) for row in range(3)
    ),
    "A note.",
)
LONG = "discrimination[education=Graduate or professional degree (MA, MS, MBA, PhD)]"
PARAMETERS = Table(
    "Parameters",
    ("parameter", "mean", "90% interval"),
    (("sd_item", "0.50", "−0.40 to 0.60"), (LONG, "1.20", "1.10 to 1.30")),
)
MIXED = Table(
    "Mixed",
    ("metric", "model", "value", "changed"),
    (("CVaR 95", "a", "−4.8 (2.1 to 55.3) *", "no"), ("mean", "longer", "-", "YES")),
)


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_every_cell_is_printed_whole_and_lines_fit(width):
    text = as_text(WIDE, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(cell in text for row in (WIDE.header, *WIDE.rows) for cell in row)
    assert text.count("A note.") == 1


def test_a_table_that_fits_is_left_as_it_is():
    assert list(split_columns(WIDE, width=1000)) == [WIDE]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_long_parameter_name_stands_whole_on_a_line_of_its_own(width):
    lines = as_text(PARAMETERS, width=width).splitlines()
    assert LONG in lines
    assert lines[lines.index(LONG) + 1].split() == ["1.20", "1.10", "to", "1.30"]
    numbers = [line for line in lines if line != LONG]
    assert max(map(len, numbers)) <= width
    assert any(line.startswith("sd_item ") and "−0.40 to 0.60" in line for line in numbers)


def test_texts_are_left_and_numbers_right_in_every_format():
    assert as_text(MIXED, width=80).splitlines() == [
        "Mixed",
        "metric   model                  value  changed",
        "──────────────────────────────────────────────",
        "CVaR 95  a       −4.8 (2.1 to 55.3) *  no",
        "mean     longer                     -  YES",
        "",
    ]
    assert "| :-- | :-- | --: | :-- |" in as_markdown(MIXED)
    assert r"\begin{tabular}{llrl}" in as_latex(MIXED)
    html = as_html(MIXED)
    assert '<td class="whole">a</td><td class="number">−4.8 (2.1 to 55.3) *</td>' in html
    assert '<th scope="col">model</th><th scope="col" class="number">value</th>' in html


def test_a_note_is_said_once_and_a_mark_every_time():
    marked = [
        Table(title, ("a",), (("b",),), "NOT CONVERGED: do not use.", mark="NOT CONVERGED")
        for title in ("One", "Two")
    ]
    text = tables_as_text(marked, width=60)
    assert text.count("do not use") == 1
    assert text.count("NOT CONVERGED") == 2


def test_a_text_wider_than_the_line_is_folded_not_lost():
    long = Table("T", ("tier", "models", "n"), (("1", "x" * 90, "7"),))
    text = as_text(long, width=40)
    assert text.count("x") == 90
    assert max(map(len, text.splitlines())) <= 40


def test_a_table_of_one_column_or_no_row():
    assert list(split_columns(Table("T", ("a",), ()), width=10)) == [Table("T", ("a",), ())]
    assert as_text(Table("T", ("a", "b"), ()), width=10) == "T\na  b\n────\n\n"


def test_titles_of_any_length_and_alike_have_files_of_their_own(tmp_path):
    titles = ["Scores of item " + "x" * 400, "Scores of item " + "x" * 401, "日本", "中国"]
    tables = [Table(title, ("item",), ((title,),)) for title in titles]
    paths = write_tables(tables, tmp_path)
    assert len(set(paths)) == len(list(tmp_path.iterdir())) == 12
    assert max(len(path.name) for path in paths) <= 130
    assert [p.read_text("utf-8").split()[-1] for p in paths if p.suffix == ".csv"] == [
        title.split()[-1] for title in titles
    ]


def test_every_part_has_the_texts_that_tell_its_rows_apart():
    rows = (("x", "p", "1" * 9, "2" * 9), ("x", "q", "3" * 9, "4" * 9), ("y", "p", "5", "6"))
    table = Table("T", ("model", "prompt", "a", "b"), rows)
    parts = list(split_columns(table, width=30))
    assert [part.header for part in parts] == [("model", "prompt", "a"), ("model", "prompt", "b")]
    # Prompts may be numbers: a whole number tells rows apart where texts before it do not.
    numbered = replace(
        table, rows=tuple((model, {"p": "7", "q": "12"}[p], *cells) for model, p, *cells in rows)
    )
    parts = list(split_columns(numbered, width=30))
    assert [part.header for part in parts] == [("model", "prompt", "a"), ("model", "prompt", "b")]
    counted = Table("T", ("model", "n", "a"), (("x", "3", "1" * 9), ("y", "4", "2" * 9)))
    assert [part.header for part in split_columns(counted, width=12)] == [
        ("model", "n"),
        ("model", "a"),
    ]
    # A table of texts alone keeps a column for its parts.
    texts = Table("T", ("model", "prompt"), (("x", "p"), ("x", "q")))
    assert [part.header for part in split_columns(texts, width=2)] == [("model", "prompt")]


@pytest.mark.parametrize("width", [24, 40, 80])
def test_wide_characters_are_counted_in_terminal_cells(width):
    names = ("模型一", "模型二", "модель🙂", "модель🚀", "m")
    table = Table("Wide", ("model", "mean"), tuple((name, "0.5 (0.1 to 0.9)") for name in names))
    text = as_text(table, width=width)
    assert all(name in text for name in names)
    assert max(map(cell_len, text.splitlines())) <= width
