"""A table as terminal text, CSV, Markdown and LaTeX, one function a format."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Literal

from rich.cells import cell_len

from sharpbayes.errors import printable
from sharpbayes.report.tables.table import MARGIN, MINUS, Table
from sharpbayes.storage.files import make_folder, write_text
from sharpbayes.storage.schema import APPROXIMATION

# Characters between two columns; texts of up to TEXT characters are not broken.
GAP, TEXT = 2, 28
# Takes the place of a label that stands on a line of its own; no printable text has it.
OWN_LINE = "\ue000"
# What spreadsheets take as the start of a formula, and cells that only hold numbers.
FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]|[\t\r]")
NUMBERS = re.compile(r"(?:[-+0-9.,%()\[\] \u2212]|(?<= )to(?= ))*(?:[eE][-+\u2212]?[0-9]+)?")
ANY_DIGIT = re.compile(r"[0-9]")
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
# Letters of the name of a file; a label of the data in it may be of any length.
MAX_LETTERS = 120


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write each table as CSV, Markdown and LaTeX, named after its title.

    The folder is made if it is not there; files of the same names are replaced.
    """
    formats = {".csv": as_csv, ".md": as_markdown, ".tex": as_latex}
    texts = {
        folder / f"{name}{suffix}": render(table)
        for name, table in zip(_file_names(tables), tables, strict=True)
        for suffix, render in formats.items()
    }
    failure = f"{folder}: cannot write tables"
    make_folder(folder, failure)
    for path, text in texts.items():
        write_text(path, text, failure)
    return list(texts)


def _file_names(tables: Sequence[Table]) -> list[str]:
    """The name of each table as a file, short enough for any file system, and no two the same."""
    names: list[str] = []
    for table in tables:
        name = slug(table.title)[:MAX_LETTERS] or "table"
        copies = sum(other.partition("~")[0] == name for other in names)
        names.append(f"{name}~{copies + 1}" if copies else name)
    return names


def slug(title: str) -> str:
    """Return a file name: lower case, numbers of tables with two digits so that they sort.

    >>> slug("Table 4: Tail attribution"), slug("Tables 2-3: Harm"), slug("violation=Sexual")
    ('table-04-tail-attribution', 'table-02-3-harm', 'violation-sexual')
    """
    padded = re.sub(r"^Tables? (\d+)", lambda match: f"table {int(match[1]):02d}", title)
    return re.sub(r"[^a-z0-9]+", "-", padded.lower()).strip("-")


def full_note(table: Table) -> str:
    """Return the note of a table with its source in the paper."""
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


def numeric_columns(table: Table) -> list[bool]:
    """Return which columns hold numbers, which every format aligns right; texts are left.

    The first column names the rows.

    >>> rows = (("a", "−0.5 (−1 to 0) *", "b", "-"), ("c", "<1e-300", "d", "2"))
    >>> numeric_columns(Table("T", ("model", "mean", "metric", "n"), rows))
    [False, True, False, True]
    """
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    numeric = [
        all(NUMBERS.fullmatch(cell.lstrip("<>").removesuffix(" *")) for cell in cells)
        and any(map(ANY_DIGIT.search, cells))
        for cells in columns
    ]
    return [False, *numeric[1:]]


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
    rule = " | ".join("--:" if numeric else ":--" for numeric in numeric_columns(table))
    lines = [_markdown_row(table.header), f"| {rule} |", *map(_markdown_row, table.rows)]
    parts = [
        f"## {markdown_text(table.title)}",
        "\n".join(lines),
        markdown_text(full_note(table)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_row(row: tuple[str, ...]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(markdown_text(cell).replace("|", "\\|") for cell in row) + " |"


def markdown_text(text: str) -> str:
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
    note = full_note(table)
    caption = escape_latex(f"{table.title}. {note}" if note else table.title)
    columns = "".join("r" if numeric else "l" for numeric in numeric_columns(table))
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


def tables_as_text(tables: Iterable[Table], *, width: int) -> str:
    """Return tables for a terminal; a note that repeats an earlier one is left out, its mark not.

    >>> one = Table("A", ("model", "n"), (("x", "1"),), "Lower is safer.")
    >>> print(tables_as_text([one, replace(one, title="B")], width=30), end="")
    A
    model  n
    ────────
    x      1
    Lower is safer.
    <BLANKLINE>
    B
    model  n
    ────────
    x      1
    <BLANKLINE>
    """
    notes: set[str] = set()
    texts = []
    for table in tables:
        repeated = replace(table, note=table.mark) if table.note in notes else table
        texts.append(as_text(repeated, width=width))
        notes.add(table.note)
    return "".join(texts)


def as_text(table: Table, *, width: int) -> str:
    """Return a table for a terminal, in parts with the first column each where it is too wide.

    A label of the first column is never broken: a long one stands on a line of its own. No
    character steers the terminal. Each line of a preview says that it is approximate.
    """
    harmless = replace(
        table,
        title=printable(table.title),
        header=tuple(map(printable, table.header)),
        rows=tuple(tuple(map(printable, row)) for row in table.rows),
        note=printable(table.note),
    )
    margin = MARGIN if table.mark == APPROXIMATION else ""
    room = width - len(margin)
    return "".join(
        indent(_grid(part, room), margin) for part in split_columns(harmless, width=room)
    )


def _grid(table: Table, width: int) -> str:
    """One part: title, grid, note and an empty line."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - slow to load
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.table import Table as Grid  # noqa: PLC0415 - slow to load
    from rich.text import Text  # noqa: PLC0415 - slow to load

    label_width = _label_width(table, width)
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading, cells, is_number in zip(
        table.header, _columns(table), numeric_columns(table), strict=True
    ):
        # Only long texts are broken to make room, never a number or an interval.
        is_unbroken = is_number or max(map(cell_len, cells)) <= TEXT
        justify: Literal["left", "right"] = "right" if is_number else "left"
        grid.add_column(Text(heading), justify=justify, overflow="fold", no_wrap=is_unbroken)
    grid.columns[0].width, grid.columns[0].no_wrap = label_width, True
    long_labels = []
    for row in table.rows:
        if cell_len(row[0]) > label_width:
            long_labels.append(row[0])
        label = row[0] if cell_len(row[0]) <= label_width else OWN_LINE
        grid.add_row(*map(Text, (label, *row[1:])))
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False, color_system=None)
    console.print(Text(table.title))
    console.print(grid)
    if table.note:
        console.print(Text(table.note))
    labels = iter(long_labels)
    lines = re.sub(OWN_LINE, lambda _: f"{next(labels)}\n ", text.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in (*lines, "", ""))


def split_columns(table: Table, *, width: int) -> Iterator[Table]:
    """Split the columns of a table so that no cell is broken, as far as that can be.

    The columns that tell rows apart are in every part. The first part has the title and the last
    the note.

    >>> wide = Table("T", ("model", "a", "b"), (("x", "1" * 9, "2" * 9),), "Note.")
    >>> [(part.title, part.header, part.note) for part in split_columns(wide, width=20)]
    [('T', ('model', 'a'), ''), ('T (continued)', ('model', 'b'), 'Note.')]
    """
    keys = _count_keys(table)
    parts = list(_columns_of_parts(table, keys, width))
    for position, columns in enumerate(parts):
        shown = (*range(keys), *columns)
        yield replace(
            table,
            title=table.title if position == 0 else f"{table.title} (continued)",
            header=tuple(table.header[column] for column in shown),
            rows=tuple(tuple(row[column] for column in shown) for row in table.rows),
            note=table.note if position == len(parts) - 1 else "",
        )


def _count_keys(table: Table) -> int:
    """Number of first columns that tell rows apart: texts, or whole numbers that stand for names.

    One column is left for parts.
    """
    columns = list(zip(*table.rows, strict=True))[:-1]
    kinds = zip(numeric_columns(table), columns, strict=False)
    values = [numeric and not all(map(str.isdecimal, cells)) for numeric, cells in kinds]
    named = [*values, True].index(True)
    differ = (
        n for n in range(1, named + 1) if len({row[:n] for row in table.rows}) == len(table.rows)
    )
    return next(differ, 1)


def _columns_of_parts(table: Table, keys: int, width: int) -> Iterator[list[int]]:
    """Columns after the keys that fit on a line together, at least one a part."""
    widths = _needed_widths(table)
    first = cell_len(table.header[0])
    if first + sum(widths[1:]) > width:  # a part has room for labels
        first = max(first, min(max(map(cell_len, _columns(table)[0])), 2 * width // 5))
    first += sum(widths[1:keys])
    part: list[int] = []
    for column in range(keys, len(widths)):
        if part and first + sum(widths[c] for c in (*part, column)) > width:
            yield part
            part = []
        part.append(column)
    yield part


def _columns(table: Table) -> list[tuple[str, ...]]:
    """The cells of every column with its heading."""
    return list(zip(table.header, *table.rows, strict=True))


def _label_width(table: Table, width: int) -> int:
    """Terminal cells of the first column: all that its labels need, or what the others leave."""
    longest, room = max(map(cell_len, _columns(table)[0])), width - sum(_needed_widths(table)[1:])
    return min(longest, max(room, cell_len(table.header[0])))


def _needed_widths(table: Table) -> list[int]:
    """Terminal cells that each column needs with the gap before it."""
    return [GAP + max(map(_needed_width, cells)) for cells in _columns(table)]


def _needed_width(cell: str) -> int:
    """Terminal cells that a cell needs: all of a number, a few words of a text."""
    longest = max(map(cell_len, cell.split()), default=0)
    return max(longest, min(cell_len(cell), TEXT)) if " " in cell else cell_len(cell)
