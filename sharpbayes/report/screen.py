"""Results -> the text of one screen: the answer, the decision table, and where everything is."""

from bisect import bisect_right
from dataclasses import replace
from pathlib import Path
from textwrap import fill, indent

import xarray as xr

from sharpbayes.errors import format_count, printable
from sharpbayes.report.layout import list_open_checks
from sharpbayes.report.summary import fit_findings, plain_answer, plain_verdict
from sharpbayes.report.tables.catalogue import tables_after_run
from sharpbayes.report.tables.renderer import tables_as_text
from sharpbayes.report.tables.table import MARGIN, Table
from sharpbayes.report.wording import is_approximate
from sharpbayes.spec.files import describe_open_checks

# Lines of a screen in all, and rows that a table is cut to; for the first table one is enough.
MAX_LINES, MIN_ROWS = 40, 3
NOT_SHOWN = "not shown:   "
# First line of an approximate answer; each line of it begins with "approximate".
PREVIEW = "Laplace's method, not an answer."


def answer_text(results: xr.DataTree, *, width: int) -> str:
    """Return the answer, whether to trust it and what was not confirmed, wrapped at words.

    What a fit finds of judges and slopes stands between them. That assumptions are not confirmed
    stands first too: one that is wrong can turn the answer round.
    """
    checks = list_open_checks(results)
    head = [PREVIEW] if is_approximate(results) else []
    texts = [*plain_answer(results), *fit_findings(results), plain_verdict(results)]
    if checks:
        head.append(f"Under {format_count(len(checks), 'unconfirmed assumption')}, see below:")
        texts.append(describe_open_checks(checks))
    return mark_lines(wrap_texts([*head, *texts], width - len(_margin(results))), results)


def plain_text(results: xr.DataTree, *, width: int) -> str:
    """Return the answer alone, wrapped at words: what other commands begin with."""
    return mark_lines(wrap_texts([*plain_answer(results)], width - len(_margin(results))), results)


def mark_lines(text: str, results: xr.DataTree) -> str:
    """Return a text in which each line of a preview says that it is approximate."""
    return indent(text, _margin(results))


def _margin(results: xr.DataTree) -> str:
    """What stands before each line."""
    return MARGIN if is_approximate(results) else ""


def screen_text(results: xr.DataTree, *, path: Path, width: int, height: float = MAX_LINES) -> str:
    """Return what a run prints of results: :data:`MAX_LINES` lines at most on a terminal.

    The answer stands first and is never cut, then the tables of the first screen with their units
    and legend, then where the results are. Tables are cut to the lines that are left and say so.

    Args:
        results: Results of :func:`sharpbayes.measure` or :func:`sharpbayes.fit`.
        path: File of the results.
        width: Characters of a line.
        height: Most lines; infinite where there is no screen, so that no table is cut.
    """
    first = answer_text(results, width=width)
    last = mark_lines(_where(results, path), results)
    tables = tables_after_run(results)
    others = _name_hidden(tables[1:], width)
    room = height - sum(count_lines(text, width) for text in (first, last, others)) - 1
    shown = _cut_tables(tables, room, width)
    hidden = _name_hidden(tables[len(shown) :], width - len(_margin(results)))
    hidden = mark_lines(hidden, results)
    return f"{first}\n{tables_as_text(shown, width=width)}{hidden}{last}"


def count_lines(text: str, width: int) -> int:
    r"""Return the lines of a text on a terminal, which breaks those that are too long.

    >>> count_lines("a line\nshort\n\n", width=5)
    4
    """
    return sum(max(1, -(-len(line) // width)) for line in text.splitlines())


def _name_hidden(tables: list[Table], width: int) -> str:
    """The titles of tables that are not shown, in lines."""
    titles = "; ".join(printable(table.title) for table in tables)
    if not titles:
        return ""
    indent = " " * len(NOT_SHOWN)
    named = fill(NOT_SHOWN + titles, width, subsequent_indent=indent, break_on_hyphens=False)
    return f"{named}\n"


def _where(results: xr.DataTree, path: Path) -> str:
    """Where the results are, and the commands that show all of them."""
    command = printable(f"sharpbayes report {path}")
    return (
        f"{results.attrs['status']}; results written to {printable(str(path))}\n"
        f"page:        {command}\n"
        f"all tables:  {command} --text\n"
    )


def wrap_texts(texts: list[str], width: int) -> str:
    """Return texts as lines that end at words."""
    lines = [fill(printable(text), width, break_on_hyphens=False) for text in texts]
    return "".join(f"{line}\n" for line in lines)


def _cut_tables(tables: list[Table], room: float, width: int) -> list[Table]:
    """The tables that fit into some lines, the last one with the rows that fit."""
    shown: list[Table] = []
    for table in tables:
        count = len(table.rows)

        def lines(rows: int, table: Table = table) -> int:
            return count_lines(tables_as_text([*shown, _cut(table, rows)], width=width), width)

        rows = bisect_right(range(1, count + 1), room, key=lines)
        if rows < (min(MIN_ROWS, count) if shown else 1):
            break
        shown.append(_cut(table, rows))
    return shown


def _cut(table: Table, rows: int) -> Table:
    """The first rows of a table, and how many there are."""
    count = len(table.rows)
    if rows >= count:
        return table
    note = f"{rows} of {count} rows, all with --text. {table.note}"
    return replace(table, rows=table.rows[:rows], note=note.strip())
