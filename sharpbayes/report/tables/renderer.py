"""A table as terminal text, HTML, CSV, Markdown and LaTeX, one function a format."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from sharpbayes.errors import StorageError, printable
from sharpbayes.report.tables.table import MINUS, Table

# Characters between two columns and around a grid; a first column is folded to FIRST and a text to
# TEXT characters.
GAP, EDGES, FIRST, TEXT = 2, 2, 32, 28
# What spreadsheets take as the start of a formula, and cells that only hold numbers.
FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]|[\t\r]")
NUMBERS = re.compile(r"(?:[-+0-9.,%()\[\] \u2212]|(?<= )to(?= ))*(?:[eE][-+]?[0-9]+)?")
# A Markdown file may hold HTML: what would open a tag is written as an entity.
TAG = re.compile(r"<(?=[A-Za-z/!?])")
LATEX = {character: f"\\{character}" for character in "{}&%$#_"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    MINUS: "$-$",
}


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write each table as CSV, Markdown and LaTeX, named after its title.

    The folder is made if it is not there; files of the same names are replaced.
    """
    formats = {".csv": as_csv, ".md": as_markdown, ".tex": as_latex}
    texts = {
        folder / f"{slug(table.title)}{suffix}": render(table)
        for table in tables
        for suffix, render in formats.items()
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: cannot write tables: {error.strerror or error}") from error
    return list(texts)


def slug(title: str) -> str:
    """Return a file name: lower case, numbers of tables with two digits so that they sort.

    >>> slug("Table 4: Tail attribution"), slug("Tables 2-3: Harm"), slug("violation=Sexual")
    ('table-04-tail-attribution', 'table-02-3-harm', 'violation-sexual')
    """
    padded = re.sub(r"^Tables? (\d+)", lambda match: f"table {int(match[1]):02d}", title)
    return re.sub(r"[^a-z0-9]+", "-", padded.lower()).strip("-")


def _note(table: Table) -> str:
    """The note with the source in the paper."""
    return f"{table.note} After {table.source}.".strip() if table.source else table.note


def as_csv(table: Table) -> str:
    r"""Return the header and the rows; the other formats have title and note, a mark is a column.

    Numbers have a plain hyphen as minus sign, so that programs read them.

    >>> as_csv(Table("T", ("model", "mean"), (("a, b", "−0.5"),)))
    'model,mean\n"a, b",-0.5\n'
    """
    lines = [table.header, *table.rows]
    if table.mark:
        lines = [(*table.header, "status"), *((*row, table.mark) for row in table.rows)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(csv_cell, line) for line in lines)
    return text.getvalue()


def csv_cell(text: str) -> str:
    """Return a text that no spreadsheet runs: an apostrophe before what looks like a formula.

    Numbers and intervals stay as they are. Source: OWASP, CSV Injection.

    >>> csv_cell("=HYPERLINK(1)"), csv_cell("−0.5"), csv_cell("-2+cmd|' /C calc'!A0")
    ("'=HYPERLINK(1)", '-0.5', "'-2+cmd|' /C calc'!A0")
    """
    if NUMBERS.fullmatch(text):
        return text.replace(MINUS, "-")
    return f"'{text}" if FORMULA.match(text) else text


def as_markdown(table: Table) -> str:
    r"""Return a heading, a table with numbers to the right, and the note.

    >>> print(as_markdown(Table("T", ("model", "mean"), (("a|b", "0.5"),), "Lower is safer.")))
    ## T
    <BLANKLINE>
    | model | mean |
    | :-- | --: |
    | a\|b | 0.5 |
    <BLANKLINE>
    Lower is safer.
    <BLANKLINE>
    """
    rule = " | ".join([":--", *["--:"] * (len(table.header) - 1)])
    lines = [_markdown_row(table.header), f"| {rule} |", *map(_markdown_row, table.rows)]
    parts = [f"## {_markdown_text(table.title)}", "\n".join(lines), _markdown_text(_note(table))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_row(row: tuple[str, ...]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(_markdown_text(cell).replace("|", "\\|") for cell in row) + " |"


def _markdown_text(text: str) -> str:
    """A text on one line, without tags; what Markdown reads as an escape is written twice."""
    return TAG.sub("&lt;", " ".join(text.split())).replace("\\", "\\\\")


def as_latex(table: Table) -> str:
    r"""Return a ``table`` environment that needs no package, every text escaped.

    >>> print(as_latex(Table("50% & more", ("model", "mean"), (("a_b", "0.5"),))))
    \begin{table}
    \caption{50\% \& more}
    \begin{tabular}{lr}
    \hline
    model & mean \\
    \hline
    a\_b & 0.5 \\
    \hline
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    note = _note(table)
    caption = escape_latex(f"{table.title}. {note}" if note else table.title)
    columns = "l" + "r" * (len(table.header) - 1)
    lines = [
        r"\begin{table}",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\hline",
        _latex_row(table.header),
        r"\hline",
        *map(_latex_row, table.rows),
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    r"""Return a text that LaTeX prints as it stands.

    >>> escape_latex("a_b 5% {x} \\ ~")
    'a\\_b 5\\% \\{x\\} \\textbackslash{} \\textasciitilde{}'
    """
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return "".join(LATEX.get(character, character) for character in plain)


def _latex_row(row: tuple[str, ...]) -> str:
    """One row; a bracket that opens it would be read as an argument of the line before."""
    text = " & ".join(map(escape_latex, row))
    return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"


def as_html(table: Table, *, anchor: str = "", most_rows: int | None = None) -> str:
    """Return a table with its caption and note, every text escaped.

    A table with an anchor, a name that links lead to, scrolls by itself on a page.

    >>> html = as_html(Table("T", ("a", "b"), (("<x>", "1"),)))
    >>> html.removeprefix("<table><caption>T</caption>")
    '<thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr>\
<th scope="row">&lt;x&gt;</th><td class="whole">1</td></tr></tbody></table>'
    >>> html.startswith("<table><caption>T</caption>")
    True
    """
    name = f' id="{escape(anchor)}"' if anchor else ""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.header)
    body = "".join(map(_html_row, table.rows[:most_rows]))
    empty = f'<tr><td colspan="{len(table.header)}">None.</td></tr>'
    text = (
        f"<table><caption{name}>{escape(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body or empty}</tbody></table>"
    )
    if anchor:
        region = f'<div class="wide" role="region" tabindex="0" aria-labelledby="{escape(anchor)}">'
        text = f"{region}{text}</div>"
    hidden = len(table.rows) - len(table.rows[:most_rows])
    more = f" {hidden} more rows are in the files that sharpbayes report --tables writes."
    note = _note(table) + more * (hidden > 0)
    return text + (f'<p class="note">{escape(note.strip())}</p>' if note else "")


def _html_row(row: tuple[str, ...]) -> str:
    """One row; short cells are not broken."""
    whole = ("", ' class="whole"')
    cells = (f"<td{whole[len(cell) < FIRST]}>{escape(cell)}</td>" for cell in row[1:])
    return f'<tr><th scope="row">{escape(row[0])}</th>{"".join(cells)}</tr>'


def as_text(table: Table, *, width: int) -> str:
    """Return a table for a terminal, in parts with the first column each where it is too wide.

    No character steers the terminal.
    """
    harmless = replace(
        table,
        title=printable(table.title),
        header=tuple(map(printable, table.header)),
        rows=tuple(tuple(map(printable, row)) for row in table.rows),
        note=printable(table.note),
    )
    return "".join(_grid(part, width) for part in split_columns(harmless, width=width))


def _grid(table: Table, width: int) -> str:
    """One part: title, grid and note."""
    from rich.box import SIMPLE  # noqa: PLC0415 - slow to load
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.table import Table as Grid  # noqa: PLC0415 - slow to load
    from rich.text import Text  # noqa: PLC0415 - slow to load

    grid = Grid(box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for position, cells in enumerate(zip(table.header, *table.rows, strict=True)):
        # Only long texts are folded to make room, never a number or an interval.
        no_wrap = position > 0 and max(map(len, cells)) <= TEXT
        grid.add_column(
            Text(cells[0]),
            justify="right" if position else "left",
            overflow="fold",
            no_wrap=no_wrap,
        )
    for row in table.rows:
        grid.add_row(*map(Text, row))
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False, color_system=None)
    console.print(Text(table.title))
    console.print(grid)
    if table.note:
        console.print(Text(f"{table.note}\n"))
    return text.getvalue()


def split_columns(table: Table, *, width: int) -> Iterator[Table]:
    """Split the columns of a table so that no cell is broken, as far as that can be.

    The first part has the title and the last the note.

    >>> wide = Table("T", ("model", "a", "b"), (("x", "1" * 9, "2" * 9),), "Note.")
    >>> [(part.title, part.header, part.note) for part in split_columns(wide, width=20)]
    [('T', ('model', 'a'), ''), ('T (continued)', ('model', 'b'), 'Note.')]
    """
    parts = list(_columns_of_parts(table, width))
    for position, columns in enumerate(parts):
        yield replace(
            table,
            title=table.title if position == 0 else f"{table.title} (continued)",
            header=tuple(table.header[column] for column in (0, *columns)),
            rows=tuple(tuple(row[column] for column in (0, *columns)) for row in table.rows),
            note=table.note if position == len(parts) - 1 else "",
        )


def _columns_of_parts(table: Table, width: int) -> Iterator[list[int]]:
    """Columns after the first that fit on a line together, at least one a part."""
    cells = list(zip(table.header, *table.rows, strict=True))
    widths = [max(map(_needed_width, column)) for column in cells]
    first = min(max(map(len, cells[0])), FIRST) + EDGES
    part: list[int] = []
    for column in range(1, len(widths)):
        if part and first + sum(widths[c] + GAP for c in (*part, column)) > width:
            yield part
            part = []
        part.append(column)
    yield part


def _needed_width(cell: str) -> int:
    """Characters that a cell needs: all of a number, a few words of a text."""
    longest = max(map(len, cell.split()), default=0)
    return max(longest, min(len(cell), TEXT)) if " " in cell else len(cell)
