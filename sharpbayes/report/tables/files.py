"""Every table of a results file, and tables on disk as CSV, Markdown and LaTeX."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import xarray as xr

from sharpbayes.errors import StorageError
from sharpbayes.report.layout import as_written
from sharpbayes.report.tables.common import TABLES, dimension_table, marked, profile_table
from sharpbayes.report.tables.decision import check_tables
from sharpbayes.report.tables.judge_bias import people_tables
from sharpbayes.report.tables.panel import dependence_tables, judge_tables, profile_tables
from sharpbayes.report.tables.table import Table
from sharpbayes.report.tables.validation import (
    bootstrap_tables,
    model_tables,
    subset_tables,
    sweep_tables,
)

# In the order of the paper.
PANEL: tuple[Callable[[xr.DataTree], Iterator[Table]], ...] = (
    profile_tables,
    judge_tables,
    people_tables,
    dependence_tables,
    sweep_tables,
    bootstrap_tables,
    model_tables,
    subset_tables,
)

# What spreadsheets take as the start of a formula, and cells that only hold numbers.
FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]|[\t\r]")
NUMBERS = re.compile(r"[-+0-9.,%()\[\] \u2013\u2212]*(?:[eE][-+]?[0-9]+)?")
# A Markdown file may hold HTML: what would open a tag is written as an entity.
TAG = re.compile(r"<(?=[A-Za-z/!?])")
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
}


def every_table(results: xr.DataTree) -> list[Table]:
    """Return every table of a results file: a panel's in the order of the SHARP paper."""
    with as_written(results):
        return marked(results, _tables_of(results))


def _tables_of(results: xr.DataTree) -> list[Table]:
    """Tables of results whose groups are as they were written, checks that fail before all."""
    first = check_tables(results)
    found = [table for make in PANEL for table in make(results)] if "judges" in results else []
    short = (profile_table, dimension_table) if found else ()
    rest = found + [table for make in TABLES if make not in short for table in make(results)]
    return first + [table for table in rest if table not in first]


def write_tables(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write each table as CSV, Markdown and LaTeX, named after its title.

    Args:
        tables: Tables of different titles.
        folder: Made if it is not there; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StorageError: A file cannot be written.
    """
    formats = {".csv": as_csv, ".md": as_markdown, ".tex": as_latex}
    texts = {
        folder / f"{slug(table.title)}{suffix}": write(table)
        for table in tables
        for suffix, write in formats.items()
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
    padded = re.sub(r"^Tables? (\d+)", lambda found: f"table {int(found[1]):02d}", title)
    return re.sub(r"[^a-z0-9]+", "-", padded.lower()).strip("-")


def as_csv(table: Table) -> str:
    r"""Return a header and rows; title and note are in the other formats, a mark is a column.

    >>> as_csv(Table("T", ("model", "mean"), (("a, b", "0.5"),)))
    'model,mean\n"a, b",0.5\n'
    """
    held = io.StringIO()
    every = [table.header, *table.rows]
    if table.mark:
        every = [(*table.header, "status"), *((*row, table.mark) for row in table.rows)]
    rows = [[plain_cell(text) for text in row] for row in every]
    csv.writer(held, lineterminator="\n").writerows(rows)
    return held.getvalue()


def plain_cell(text: str) -> str:
    """Return a text that no spreadsheet runs: an apostrophe before what it would take as a formula.

    Numbers and intervals stay as they are. Source: OWASP, CSV Injection.

    >>> plain_cell("=HYPERLINK(1)"), plain_cell("-0.5"), plain_cell("-2+cmd|' /C calc'!A0")
    ("'=HYPERLINK(1)", '-0.5', "'-2+cmd|' /C calc'!A0")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBERS.fullmatch(text) else text


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
    rule = [":--", *["--:"] * (len(table.header) - 1)]
    lines = [_cells(table.header), "| " + " | ".join(rule) + " |", *map(_cells, table.rows)]
    parts = [
        f"## {_marked(table.title)}",
        "\n".join(lines),
        *([_marked(table.note)] if table.note else []),
    ]
    return "\n\n".join(parts) + "\n"


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
    caption = f"{table.title}. {table.note}" if table.note else table.title
    columns = "l" + "r" * (len(table.header) - 1)
    lines = [
        r"\begin{table}",
        rf"\caption{{{escape_latex(caption)}}}",
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


def _cells(row: tuple[str, ...]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(_marked(text).replace("|", "\\|") for text in row) + " |"


def _marked(text: str) -> str:
    """A text on one line, without tags; what Markdown reads as an escape is written twice."""
    return TAG.sub("&lt;", " ".join(text.split())).replace("\\", "\\\\")
