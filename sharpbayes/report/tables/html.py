"""A table as HTML, for the page and for notebooks."""

import re
from dataclasses import replace
from html import escape
from itertools import groupby
from operator import itemgetter

from sharpbayes.report.tables.renderer import TEXT, full_note, numeric_columns
from sharpbayes.report.tables.table import Table

Rows = tuple[tuple[str, ...], ...]
NUMBER_CLASS = ' class="number"'


def as_html(table: Table, *, anchor: str = "", most_rows: int | None = None) -> str:
    """Return a table with its caption and note, every text escaped.

    A table with an anchor, a name that links lead to, scrolls by itself on a page. A first column
    that repeats its texts in neighbouring rows becomes headings of these rows.

    >>> html = as_html(Table("T", ("a", "b"), (("<x>", "1"),)))
    >>> html.removeprefix("<table><caption>T</caption>")
    '<thead><tr><th scope="col">a</th><th scope="col" class="number">b</th></tr></thead><tbody><tr>\
<th scope="row">&lt;x&gt;</th><td class="number">1</td></tr></tbody></table>'
    >>> html.startswith("<table><caption>T</caption>")
    True
    """
    name = f' id="{escape(anchor)}"' if anchor else ""
    shown, groups = _group_rows(replace(table, rows=table.rows[:most_rows]))
    numeric = numeric_columns(shown)
    head = "".join(
        f'<th scope="col"{NUMBER_CLASS * is_number}>{escape(text)}</th>'
        for text, is_number in zip(shown.header, numeric, strict=True)
    )
    body = "".join(_html_body(heading, rows, numeric) for heading, rows in groups)
    text = (
        f"<table><caption{name}>{escape(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"{body}</table>"
    )
    if anchor:
        region = f'<div class="wide" role="region" tabindex="0" aria-labelledby="{escape(anchor)}">'
        text = f"{region}{text}</div>"
    hidden = len(table.rows) - len(shown.rows)
    more = f" {hidden} more rows are in the files that sharpbayes report --tables writes."
    note = full_note(table) + more * (hidden > 0)
    return text + (f'<p class="note">{escape_code(note.strip())}</p>' if note else "")


def escape_code(text: str) -> str:
    """Return a text escaped, with what stands between backticks as code.

    >>> escape_code("a < b: write `x = 1`")
    'a &lt; b: write <code>x = 1</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _group_rows(table: Table) -> tuple[Table, list[tuple[str, Rows]]]:
    """A table without a first column that repeats its texts, and its rows by heading."""
    groups = [(first, tuple(rows)) for first, rows in groupby(table.rows, key=itemgetter(0))]
    if len(groups) == len(table.rows):
        return table, [("", table.rows)]
    groups = [(first, tuple(row[1:] for row in rows)) for first, rows in groups]
    rows = tuple(row for _, members in groups for row in members)
    return replace(table, header=table.header[1:], rows=rows), groups


def _html_body(heading: str, rows: Rows, numeric: list[bool]) -> str:
    """Some rows under their heading, which may be empty."""
    span = f'colspan="{len(numeric)}"'
    first = f'<tr class="group"><th scope="rowgroup" {span}>{escape(heading)}</th></tr>'
    body = "".join(_html_row(row, numeric) for row in rows)
    none = f"<tr><td {span}>None.</td></tr>"
    return f"<tbody>{first * bool(heading)}{body or none}</tbody>"


def _html_row(row: tuple[str, ...], numeric: list[bool]) -> str:
    """One row; numbers and short texts are not broken."""
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for cell, is_number in zip(row[1:], numeric[1:], strict=True):
        whole = NUMBER_CLASS if is_number else ' class="whole"' * (len(cell) <= TEXT)
        cells.append(f"<td{whole}>{escape_code(cell)}</td>")
    return f"<tr>{''.join(cells)}</tr>"
