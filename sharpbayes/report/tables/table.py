"""A table of text, ready to be shown or written."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table ready to be shown.

    Attributes:
        title: What it shows.
        header: Names of the columns.
        rows: One tuple of texts a row, as long as the header.
        note: What the reader must know to read it; may be empty.
        mark: Why its numbers must not be used; empty for good results. Files that hold no note have
            it in a column.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    mark: str = ""
