"""Wide tables in parts: nothing lost, nothing broken."""

import io

import pytest
from rich.console import Console

from sharpbayes import terminal
from sharpbayes.report.tables.splitting import in_parts
from sharpbayes.report.tables.table import Table

WIDE = Table(
    "Wide",
    ("model", *(f"column_{at}" for at in range(12))),
    tuple((f"m{row}", *(f"{row}.{at:03d}–{at}.999" for at in range(12))) for row in range(3)),
    "A note.",
)


def printed(table, width):
    held = io.StringIO()
    console = Console(file=held, width=width, highlight=False)
    for part in in_parts(table, width=width):
        terminal._show(part, console)
    return held.getvalue()


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_every_cell_is_printed_whole_and_lines_fit(width):
    text = printed(WIDE, width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    assert {*WIDE.header, *(cell for row in WIDE.rows for cell in row)} <= set(words)
    assert text.count("A note.") == 1


def test_a_table_that_fits_is_left_as_it_is():
    assert list(in_parts(WIDE, width=1000)) == [WIDE]


def test_a_cell_wider_than_the_line_is_folded_not_lost():
    long = Table("T", ("tier", "models", "n"), (("1", "x" * 90, "7"),))
    text = printed(long, 40)
    assert text.count("x") == 90
    assert max(map(len, text.splitlines())) <= 40


def test_a_table_of_one_column_or_no_row():
    assert list(in_parts(Table("T", ("a",), ()), width=10)) == [Table("T", ("a",), ())]
