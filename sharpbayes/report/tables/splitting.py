"""A table that is too wide for the terminal -> several, each with the first column."""

from collections.abc import Iterator
from dataclasses import replace

from sharpbayes.report.tables.table import Table

# Characters between two columns, and the least that the first and a text are folded to.
GAP, FIRST, TEXT = 2, 32, 28


def in_parts(table: Table, *, width: int) -> Iterator[Table]:
    """Split the columns of a table so that no cell is broken, as far as that can be.

    Args:
        table: The table.
        width: Characters that a line holds.

    Yields:
        The table itself where it fits; else parts with some of the columns, the first of which
        has the title and the last the note.

    >>> wide = Table("T", ("model", "a", "b"), (("x", "1" * 9, "2" * 9),), "Note.")
    >>> [(part.title, part.header, part.note) for part in in_parts(wide, width=20)]
    [('T', ('model', 'a'), ''), ('T (continued)', ('model', 'b'), 'Note.')]
    """
    chosen = list(_columns(table, width))
    for at, columns in enumerate(chosen):
        yield replace(
            table,
            title=table.title if at == 0 else f"{table.title} (continued)",
            header=_pick(table.header, columns),
            rows=tuple(_pick(row, columns) for row in table.rows),
            note=table.note if at == len(chosen) - 1 else "",
        )


def _columns(table: Table, width: int) -> Iterator[list[int]]:
    """Columns beside the first that fit on a line together, at least one a part."""
    cells = list(zip(table.header, *table.rows, strict=True))
    widths = [max(map(_needed, column)) for column in cells]
    first = min(max(map(len, cells[0])), FIRST)
    held: list[int] = []
    for column in range(1, len(widths)):
        if held and first + sum(widths[c] + GAP for c in (*held, column)) > width:
            yield held
            held = []
        held.append(column)
    yield held


def _needed(cell: str) -> int:
    """Characters that a cell needs: all of a number, a few words of a text."""
    longest = max(map(len, cell.split()), default=0)
    return max(longest, min(len(cell), TEXT)) if " " in cell else len(cell)


def _pick(row: tuple[str, ...], columns: list[int]) -> tuple[str, ...]:
    """The first cell of a row and some others."""
    return row[0], *(row[column] for column in columns)
