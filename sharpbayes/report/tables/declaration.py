"""What a table declares, and how a declaration becomes a table of texts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import xarray as xr

from sharpbayes.analysis.results_view import ResultsView
from sharpbayes.errors import format_percent
from sharpbayes.report.tables.format import FORMATS, number
from sharpbayes.report.tables.table import Chapter, Table

Labels = Mapping[str, Any]


class View(ResultsView):
    """Results at the labels of one table, row or column."""

    def text(self, template: "Text") -> str:
        """Return a text with its fields filled in.

        A field is a label, ``{group[attribute]}``, ``{group/variable:format}``, or ``{cvar}`` for
        the name of the tail risk.
        """
        return template(self) if callable(template) else template.format_map(_Fields(self))


class _Fields(dict[str, Any]):
    """Fields of a text: labels first, then variables and attributes of groups."""

    def __init__(self, view: View) -> None:
        super().__init__(view.labels)
        self.view = view

    def __missing__(self, name: str) -> Any:
        if name == "cvar":
            return f"CVaR {100 * float(self.view.results['profile'].attrs['alpha']):g}"
        if "/" in name:
            return _Variable(self.view[name])
        attrs = self.view.results[name].attrs
        return {key: _Number(x) if isinstance(x, float) else x for key, x in attrs.items()}


class _Number(float):
    """A number among attributes; ``percent`` is one of its formats."""

    __slots__ = ()

    def __format__(self, name: str) -> str:
        return format_percent(self) if name == "percent" else super().__format__(name)


@dataclass(frozen=True)
class _Variable:
    """A variable in a text; its format has a name of :data:`FORMATS` or is that of a number."""

    value: xr.DataArray

    def __format__(self, name: str) -> str:
        return FORMATS[name](self.value) if name in FORMATS else format(self.value.item(), name)


Text = str | Callable[[View], str]
PATH = re.compile(r"[\w{}]+/[\w{}]+")
Rows = Sequence[Labels] | Callable[[View], Iterable[Labels]]


def rows_of(rows: Rows, view: View) -> Iterable[Labels]:
    """Return the labels of rows, which may depend on the results."""
    return rows(view) if callable(rows) else rows


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading.
        value: ``group/variable``, where labels may stand in braces; or a text with fields, such as
            ``{model}``; or the name of a value that the row has computed; or a function of the row.
        format: How a variable becomes a text.
        optional: Whether a table of results without the variable lacks the column.
    """

    heading: Text
    value: str | Callable[[View], str]
    format: Callable[[xr.DataArray], str] = number
    optional: bool = False

    def cell(self, row: View) -> str:
        """Return the text of one row."""
        if callable(self.value):
            return self.value(row)
        if "{" in self.value and not PATH.fullmatch(self.value):
            return row.text(self.value)
        return self.format(row[row.text(self.value)])


# Columns that are repeated for each of some labels.
Over = tuple[Rows, tuple[Column, ...]]


def over(labels: str | Rows, *columns: str | Column) -> Over:
    """Return columns that are repeated over ``group/dimension``, or over other labels."""
    parsed = [c for column in columns for c in parse_columns(column)]
    return labels_of(labels) if isinstance(labels, str) else labels, tuple(parsed)


def labels_of(*paths: str, order: str = "") -> Callable[[View], list[Labels]]:
    """Return a function that lists the labels of dimensions, all combinations of several.

    The labels of the first dimension grow by the variable ``order``.
    """
    dims = [path.partition("/")[2] for path in paths]

    def combinations(view: View) -> list[Labels]:
        labels = [view.coordinate(path, order if path == paths[0] else "") for path in paths]
        return [dict(zip(dims, combination, strict=True)) for combination in product(*labels)]

    return combinations


def parse_columns(declared: str | Column) -> Iterator[Column]:
    """Yield the columns that a text declares, separated by semicolons.

    A column is ``heading: value | format``. The heading is by default the name of the variable or
    label, the format a number with three decimals. A question mark makes a column optional.

    >>> [(c.heading, c.value) for c in parse_columns("{model}; tail: profile/cvar; profile/mean")]
    [('model', '{model}'), ('tail', 'profile/cvar'), ('mean', 'profile/mean')]
    """
    if isinstance(declared, Column):
        yield declared
        return
    for text in declared.split("; "):
        content, _, name = text.removesuffix("?").partition(" | ")
        heading, _, value = content.partition(": ") if ": " in content else ("", "", content)
        plain = value.rpartition("/")[2].strip("{}").replace("_", " ")
        yield Column(heading or plain, value, FORMATS[name], optional=text.endswith("?"))


@dataclass(frozen=True)
class TableSpec:
    """The declaration of a table.

    Attributes:
        title: What it shows. Files are named after it.
        columns: Its columns, as texts that :func:`parse_columns` reads where they have no function;
            the first names the row.
        rows: The labels of each row, or a function that returns them, such as :func:`labels_of`.
        max_rows: Rows that are shown of these; None for all.
        note: What the reader must know to read it; ``{shown}`` of ``{count}`` are the rows.
        chapter: Where it stands on the page.
        source: Table or section of the paper that it follows.
        needs: Groups and variables that must be there.
        condition: What else must hold of the results.
        repeat: Labels of each table, where a declaration makes several.
        after_run: Whether the terminal shows it at the end of a run.
        name: Short name, where a figure shows the data of the table.
    """

    title: Text
    columns: tuple[str | Column | Over, ...]
    rows: Rows
    max_rows: int | None = None
    note: Text = ""
    chapter: Chapter = Chapter.FURTHER
    source: str = ""
    needs: tuple[str, ...] = ()
    condition: Callable[[View], bool] = lambda _: True
    repeat: Rows = ({},)
    after_run: bool = False
    name: str = ""


def is_allowed(spec: TableSpec, view: View) -> bool:
    """Return whether results have what a table needs."""
    return all(path in view for path in spec.needs) and spec.condition(view)


def build_tables(specs: Iterable[TableSpec], results: xr.DataTree) -> list[Table]:
    """Return the tables that results allow, in the order of their declarations."""
    view = View(results)
    return [
        _build(spec, view.select(labels))
        for spec in specs
        if is_allowed(spec, view)
        for labels in rows_of(spec.repeat, view)
    ]


def _build(spec: TableSpec, view: View) -> Table:
    """One table."""
    columns = list(_columns(spec, view))
    rows = [view.select(labels) for labels in rows_of(spec.rows, view)]
    shown = rows[: spec.max_rows]
    return Table(
        title=view.text(spec.title),
        header=tuple(view.select(labels).text(column.heading) for column, labels in columns),
        rows=tuple(
            tuple(column.cell(row.select(labels)) for column, labels in columns) for row in shown
        ),
        note=view.select({"shown": len(shown), "count": len(rows)}).text(spec.note),
        name=spec.name,
        chapter=spec.chapter,
        source=spec.source,
    )


def _columns(spec: TableSpec, view: View) -> Iterator[tuple[Column, Labels]]:
    """Every column with the labels that it is repeated for."""
    for declared in spec.columns:
        if isinstance(declared, tuple):
            repeated, columns = declared
            yield from (
                (column, labels) for labels in rows_of(repeated, view) for column in columns
            )
            continue
        for column in parse_columns(declared):
            if not column.optional or str(column.value) in view:
                yield column, {}
