"""Wide tables in parts: nothing lost, nothing broken."""

import pytest

from sharpbayes.report.tables.format import interval
from sharpbayes.report.tables.renderer import as_text, split_columns
from sharpbayes.report.tables.table import Table

WIDE = Table(
    "Wide",
    ("model", *(f"column_{at}" for at in range(12))),
    tuple((f"m{row}", *(interval([-at - 0.5, row]) for at in range(12))) for row in range(3)),
    "A note.",
)


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_every_cell_is_printed_whole_and_lines_fit(width):
    text = as_text(WIDE, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert all(cell in text for row in (WIDE.header, *WIDE.rows) for cell in row)
    assert text.count("A note.") == 1


def test_a_table_that_fits_is_left_as_it_is():
    assert list(split_columns(WIDE, width=1000)) == [WIDE]


def test_a_cell_wider_than_the_line_is_folded_not_lost():
    long = Table("T", ("tier", "models", "n"), (("1", "x" * 90, "7"),))
    text = as_text(long, width=40)
    assert text.count("x") == 90
    assert max(map(len, text.splitlines())) <= 40


def test_a_table_of_one_column_or_no_row():
    assert list(split_columns(Table("T", ("a",), ()), width=10)) == [Table("T", ("a",), ())]
