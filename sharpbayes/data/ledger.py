"""What a study uses of the columns of its data, and what it leaves out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path

import pandas as pd

from sharpbayes.data.cells import format_rows
from sharpbayes.data.columns import rename_labels
from sharpbayes.data.lookalikes import group_lookalikes, quote_lookalikes, quote_toml
from sharpbayes.data.readers.formats import read_columns, read_table
from sharpbayes.spec.crowd import Crowd, ExpertLabels, ItemLabels
from sharpbayes.spec.dialect import DataFile
from sharpbayes.spec.panel import Panel, People
from sharpbayes.spec.roles import SideTable

Uses = dict[str, str]


def list_columns(
    table: Panel | Crowd, base: Path, *, numeric: Sequence[str] = ()
) -> Iterator[tuple[str, str, str]]:
    """Yield file, column and role of each column of the files of a study.

    The role is empty where the study does not use the column; paths start from ``base``.
    ``numeric`` are columns that its model reads as numbers.
    """
    uses = list_uses(table, numeric=numeric)
    for column in read_columns(base, table.data, table.layout, table.dialect):
        yield describe_file(table), column, uses.get(column, "")
    for side in _side_tables(table):
        of_side = uses | {side.key: "key"}
        for column in read_columns(base, side.data, side.layout, side.dialect):
            yield describe_file(side), column, of_side.get(column, "")
    for file in _rating_files(table):
        of_file = {
            column: role for role, column in file.roles.model_dump(exclude_none=True).items()
        }
        for column in read_columns(base, file.data, dialect=file.dialect):
            yield describe_file(file), column, of_file.get(column, "")


def list_uses(table: Panel | Crowd, *, numeric: Sequence[str] = ()) -> Uses:
    """Return what a study uses columns of its ratings for, by the name of the column."""
    roles = table.roles.model_dump(exclude_none=True)
    if roles.get("trial") is True:  # rows are numbered, no column
        del roles["trial"]
    uses = _panel_uses(table) if isinstance(table, Panel) else _crowd_uses(table)
    uses |= _role_uses(roles)
    return uses | {name: ", ".join(filter(None, [uses.get(name), "slope"])) for name in numeric}


def find_lookalikes(
    table: Panel | Crowd, base: Path, labels: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield each group of labels that look alike: its column, the labels with their rows, a remedy.

    ``labels`` are those of each factor. Data are read again only where some look alike. The remedy
    is the line of ``rename`` that makes one label of each group, the one of its most rows. A file
    has one such line: it stands in the first row that it is for, and the others refer to it.
    """
    groups = {name: group_lookalikes(texts) for name, texts in labels.items()}
    if not any(groups.values()):
        return
    files = [table, *_side_tables(table)]
    tables = [
        rename_labels(read_table(base, f.data, f.layout, dialect=f.dialect), f, base / f.data)
        for f in files
    ]
    roles, alike = table.roles.model_dump(exclude_none=True), []
    merged: dict[str, dict[str, str]] = {}
    for name, group in ((name, group) for name, several in groups.items() for group in several):
        column = roles.get(name, name.removeprefix("group:"))
        of_file = (data[column] for data in tables if isinstance(column, str) and column in data)
        values, texts = next(of_file, pd.Series(dtype=str)), quote_lookalikes(group)
        rows = [values.index[values == label] for label in group]
        named = [
            f"{t} ({format_rows(r)})" if len(r) else t for t, r in zip(texts, rows, strict=True)
        ]
        is_column = any(map(len, rows))
        if is_column:
            kept = group[max(range(len(group)), key=lambda position: len(rows[position]))]
            merged.setdefault(str(column), {}).update({x: kept for x in group if x != kept})
        alike.append((name, " and ".join(named), is_column))
    remedies = chain([_format_rename(merged)], repeat("the same line"))
    for name, text, is_column in alike:
        yield name, text, next(remedies) if is_column else ""


def _format_rename(renamed: Mapping[str, Mapping[str, str]]) -> str:
    """Return the line of ``rename`` that reads labels of columns as others."""
    columns = [
        f"{quote_toml(column)} = {{ "
        + ", ".join(f"{quote_toml(text)} = {quote_toml(kept)}" for text, kept in pairs.items())
        + " }"
        for column, pairs in renamed.items()
    ]
    return f"rename = {{ {', '.join(columns)} }}"


def list_names(names: str | Iterable[str]) -> list[str]:
    """Return the columns of a role, which is one name or several."""
    return [names] if isinstance(names, str) else [*names]


def describe_file(file: DataFile) -> str:
    """Return the name of a file, with its dialect where that is not the usual one."""
    keys = file.dialect.model_dump(exclude_defaults=True)
    dialect = ", ".join(f"{key} {value!r}" for key, value in keys.items())
    return f"{file.data} ({dialect})" if dialect else file.data


def _role_uses(roles: Mapping[str, str | Sequence[str]]) -> Uses:
    """Roles of columns; the prompt that is its own text has two."""
    uses: Uses = {}
    for role, names in roles.items():
        for column in list_names(names):
            uses[column] = ", ".join(filter(None, [uses.get(column), role]))
    return uses


def _side_tables(table: Panel | Crowd) -> list[SideTable]:
    """Tables of prompts, raters or items."""
    sides = [table.prompts] if isinstance(table, Panel) else [table.raters, table.items]
    return [side for side in sides if side is not None]


def _rating_files(table: Panel | Crowd) -> list[People | ExpertLabels]:
    """Files of ratings by people, or of labels by experts."""
    if isinstance(table, Panel):
        return [table.people] if table.people is not None else []
    return [table.labels] if isinstance(table.labels, ExpertLabels) else []


def _panel_uses(panel: Panel) -> Uses:
    """Indicators of a wide table, and columns of prompts that turn indicators around."""
    uses: Uses = {}
    for name, indicator in panel.full_indicators.items():
        if panel.layout == "wide":
            uses[indicator.column or name] = "indicator"
        if isinstance(indicator.reverse, dict):
            uses |= dict.fromkeys(indicator.reverse, f"direction of {name}")
    return uses


def _crowd_uses(crowd: Crowd) -> Uses:
    """Groups of raters, columns of items and the label of items."""
    uses = {column: "rater group" for grouping in crowd.groups for column in grouping}
    uses |= dict.fromkeys(crowd.by, "column of items")
    if isinstance(crowd.labels, ItemLabels):
        uses[crowd.labels.column] = "label of items"
    return uses
