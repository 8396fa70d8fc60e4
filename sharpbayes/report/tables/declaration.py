"""What a table declares, and how a declaration becomes a table of texts.

A :class:`TableSpec` says which rows and columns a table has, and where in the results each number
lies. :func:`build_tables` reads the results and returns texts; ``renderer`` writes them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.table import Chapter, Table

Labels = Mapping[str, Any]


class View:
    """Results at the labels of one table, row or column.

    A path is ``group/variable``. ``view["profile/cvar"]`` is the variable at those labels that it
    has as dimensions.

    Attributes:
        results: The results.
        labels: Label by dimension; also values that a declaration computed for its rows.
    """

    def __init__(
        self,
        results: xr.DataTree,
        labels: Labels | None = None,
        groups: dict[str, xr.Dataset] | None = None,
    ) -> None:
        """Look at results, all of them unless labels are given."""
        self.results = results
        self.labels = dict(labels or {})
        self._groups = {} if groups is None else groups

    def __contains__(self, path: str) -> bool:
        """Whether the results have a group or a variable."""
        group, _, variable = path.partition("/")
        return group in self.results.children and (
            not variable or variable in self.group(group).variables
        )

    def __getitem__(self, path: str) -> xr.DataArray:
        """Return a variable at the labels."""
        group, _, variable = path.partition("/")
        array = self.group(group)[variable]
        return array.sel({dim: at for dim, at in self.labels.items() if dim in array.dims})

    def at(self, labels: Labels) -> "View":
        """Return the results at further labels."""
        return View(self.results, {**self.labels, **labels}, self._groups)

    def group(self, name: str) -> xr.Dataset:
        """Return a whole group."""
        if name not in self._groups:
            self._groups[name] = self.results[name].to_dataset()
        return self._groups[name]

    def attribute(self, group: str, name: str) -> Any:
        """Return an attribute of a group."""
        return self.results[group].attrs[name]

    def coordinate(self, path: str, order: str = "") -> list[Any]:
        """Return the labels of ``group/dimension``, by growing values of a variable if one is given."""
        array = self[path]
        if order:
            array = array[np.lexsort((self[order].to_numpy(),))]
        return list(array.to_numpy())

    def text(self, template: "Text") -> str:
        """Return a text with its fields filled in.

        A field is a label, ``{group[attribute]}``, or ``{cvar}`` for the name of the tail risk.
        """
        return template(self) if callable(template) else template.format_map(_Fields(self))


class _Fields(dict[str, Any]):
    """Fields of a text: labels first, then attributes of groups."""

    def __init__(self, view: View) -> None:
        super().__init__(view.labels)
        self.view = view

    def __missing__(self, name: str) -> Any:
        if name == "cvar":
            return f"CVaR {100 * float(self.view.attribute('profile', 'alpha')):g}"
        return self.view.results[name].attrs


Text = str | Callable[[View], str]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading.
        value: ``group/variable``; or a text with the labels of the row in braces, such as
            ``{model}``; or a function of the row.
        format: How a variable becomes a text.
        needs: Group or variable without which the table has no such column.
    """

    heading: Text
    value: str | Callable[[View], str]
    format: Callable[[xr.DataArray], str] = number
    needs: str = ""

    def cell(self, row: View) -> str:
        """Return the text of one row."""
        if callable(self.value):
            return self.value(row)
        return row.text(self.value) if "{" in self.value else self.format(row[self.value])


@dataclass(frozen=True)
class Over:
    """Columns that are repeated for each label of a dimension.

    Attributes:
        labels: ``group/dimension``, or a function that returns the labels of each repetition.
        columns: The columns of each label.
    """

    labels: str | Callable[[View], Iterable[Labels]]
    columns: tuple[Column, ...]


def _once(_: View) -> Iterable[Labels]:
    """One table."""
    return ({},)


def _always(_: View) -> bool:
    """Wherever the needed groups are."""
    return True


@dataclass(frozen=True)
class TableSpec:
    """The declaration of a table.

    Attributes:
        name: Short name, unique.
        title: What it shows. Files are named after it.
        chapter: Where it stands on the page.
        columns: Its columns; the first names the row.
        rows: ``group/dimension``, one or several for all combinations of their labels; or a
            function that returns the labels of each row.
        order: Variable by which the rows of a first dimension grow.
        note: What the reader must know to read it.
        source: Table or section of the paper that it follows.
        needs: Groups and variables that must be there.
        condition: What else must hold of the results.
        repeat: Labels of each table, where a declaration makes several.
        after_run: Whether the terminal shows it at the end of a run.
        in_report: Whether the page, ``--text`` and ``--tables`` have it.
    """

    name: str
    title: Text
    chapter: Chapter
    columns: tuple[Column | Over, ...]
    rows: tuple[str, ...] | Callable[[View], Iterable[Labels]]
    order: str = ""
    note: Text = ""
    source: str = ""
    needs: tuple[str, ...] = ()
    condition: Callable[[View], bool] = _always
    repeat: Callable[[View], Iterable[Labels]] = _once
    after_run: bool = False
    in_report: bool = True


def build_tables(specs: Iterable[TableSpec], results: xr.DataTree) -> list[Table]:
    """Return the tables that results allow, in the order of their declarations.

    Args:
        specs: Declarations.
        results: Results; a table without its groups is left out.
    """
    view = View(results)
    return [
        _build(spec, view.at(labels))
        for spec in specs
        if all(path in view for path in spec.needs) and spec.condition(view)
        for labels in spec.repeat(view)
    ]


def _build(spec: TableSpec, view: View) -> Table:
    """One table."""
    columns = list(_columns(spec, view))
    return Table(
        title=view.text(spec.title),
        header=tuple(view.at(labels).text(column.heading) for column, labels in columns),
        rows=tuple(
            tuple(column.cell(row.at(labels)) for column, labels in columns)
            for row in _rows(spec, view)
        ),
        note=view.text(spec.note),
        name=spec.name,
        chapter=spec.chapter,
        source=spec.source,
    )


def _columns(spec: TableSpec, view: View) -> Iterator[tuple[Column, Labels]]:
    """Every column with the labels that it is repeated for."""
    for declared in spec.columns:
        if isinstance(declared, Column):
            if not declared.needs or declared.needs in view:
                yield declared, {}
            continue
        path = declared.labels
        repeated = path(view) if callable(path) else _combinations(view, (path,))
        yield from ((column, labels) for labels in repeated for column in declared.columns)


def _rows(spec: TableSpec, view: View) -> Iterator[View]:
    """Every row."""
    rows = spec.rows
    return map(view.at, rows(view) if callable(rows) else _combinations(view, rows, spec.order))


def _combinations(view: View, paths: tuple[str, ...], order: str = "") -> Iterator[Labels]:
    """All combinations of the labels of dimensions, the first by growing values of a variable."""
    dims = [path.partition("/")[2] for path in paths]
    labels = [view.coordinate(path, order if path == paths[0] else "") for path in paths]
    return (dict(zip(dims, combination, strict=True)) for combination in product(*labels))
