"""Cells that hold objects or lists, as JSON or as Python writes them -> columns and rows."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from sharpbayes.data.readers.bounds import CELL, take_memory
from sharpbayes.data.readers.json_text import flatten_object, to_cell
from sharpbayes.data.readers.text_table import write_as_text
from sharpbayes.errors import format_list
from sharpbayes.scaffold.column_names import infer_roles, is_named_score, quote
from sharpbayes.scaffold.logs import LogTable

# Objects with more different entries are no row of scores.
MAX_ENTRIES = 50
SPLIT = "objects in {} are split: each entry has a column of its own"
AS_ROWS = "lists in {} are turned into rows, one for each {}"
BY_PLACE = (
    "lists in {} are turned into rows, and scores in one place of all lists are taken as those of "
    "one rater"
)
SINGLE = "lists in {} have one entry each, which is the value"
# Shorter lists are of other raters for each item.
MIN_PLACES, RATER = 10, "rater"
# What lists of scores have an entry for.
UNITS = ("rater", "model")


def unfold_cells(table: LogTable) -> LogTable:
    """Return a table without objects in cells, and without lists of scores by rater or model.

    Entries of an object become columns. Lists become rows where their objects, or lists of the same
    lengths beside each other, name raters or models and their scores. Other lists stay as they are.

    >>> data = pd.DataFrame({"item": ["i1"], "scores": ['{"hate": 2, "fraud": 0}']})
    >>> unfold_cells(LogTable("t.csv", data)).data.to_dict("list")
    {'item': ['i1'], 'scores.hate': ['2'], 'scores.fraud': ['0']}
    >>> data = pd.DataFrame({"item": ["i1"], "raters": ["['a', 'b']"], "labels": ["[1, 0]"]})
    >>> unfold_cells(LogTable("t.csv", data)).data.to_dict("list")
    {'item': ['i1', 'i1'], 'raters': ['a', 'b'], 'labels': ['1', '0']}
    """
    values = {str(name): _parse_column(table.data[name]) for name in table.data.columns}
    nested = {name: parsed for name, parsed in values.items() if parsed is not None}
    lists = {name: parsed for name, parsed in nested.items() if _are(list, parsed)}
    rated, unit = _find_rated(lists)
    scored = "" if rated or RATER in values else find_scored(lists)
    objects = [name for name, parsed in nested.items() if _is_flat(parsed)]
    texts = [SPLIT.format(format_list(map(quote, objects)))] if objects else []
    texts += [AS_ROWS.format(format_list(map(quote, rated)), unit)] if rated else []
    chosen = {name: nested[name] for name in (*rated, *objects)}
    plain = table.data
    if single := [name for name, parsed in lists.items() if _are_single(parsed)]:
        texts += [SINGLE.format(format_list(map(quote, single)))]
        chosen |= {name: [value[0] if value else None for value in lists[name]] for name in single}
    if scored:
        texts += [BY_PLACE.format(quote(scored))]
        plain = plain.assign(**{RATER: ""})
        chosen |= {scored: nested[scored], RATER: _number_raters(nested[scored])}
        rated = [scored, RATER]
    data = _unfold(plain, chosen, rated) if chosen else None
    if data is None:
        return table
    assumptions = (*table.assumptions, *texts)
    return replace(table, data=data, assumptions=assumptions, is_rewritten=True)


def _unfold(
    data: pd.DataFrame, nested: dict[str, list[Any]], rated: Sequence[str]
) -> pd.DataFrame | None:
    """Return a table with columns and rows for nested cells; None where names become equal."""
    columns = {str(name): nested.get(str(name), data[name].tolist()) for name in data.columns}
    records = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
    ]
    number = sum(max(1, len(row[rated[0]] or ())) for row in records) if rated else len(records)
    take_memory(CELL * number * len(columns), f"{number:,} rows of its cells")
    rows = [part for row in records for part in _split_row(row, rated)]
    try:
        flat = pd.DataFrame([flatten_object(row) for row in rows], dtype=object)
    except LookupError:
        return None
    return write_as_text(flat.map(to_cell))


def _parse_column(values: pd.Series) -> list[Any] | None:
    """Return the objects or lists of a column, None for empty cells; None where it has others."""
    unique = [str(text) for text in pd.unique(values)]
    if not all(text.lstrip()[:1] in ("", "{", "[") for text in unique):
        return None
    parsed = {text: _parse_cell(text) for text in unique if text.strip()}
    entries = [*parsed.values()]
    if not entries or None in entries or not (_are(dict, entries) or _are(list, entries)):
        return None
    return [parsed.get(str(text)) for text in values]


def _parse_cell(text: str) -> Any:
    """Return the value of a text of JSON or of Python; None where it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _are(kind: type, values: Sequence[Any]) -> bool:
    """Tell whether all values that are there are of a kind."""
    return all(isinstance(value, kind) for value in values if value is not None)


def _is_flat(values: Sequence[Any]) -> bool:
    """Tell whether values are objects with few different entries."""
    if not _are(dict, values):
        return False
    names = {str(name) for value in values if value for name in value}
    return 0 < len(names) <= MAX_ENTRIES


def _find_rated(lists: dict[str, list[Any]]) -> tuple[list[str], str]:
    """Return the columns of lists with a score for each rater or model, and which of both."""
    for name, values in lists.items():
        entries = [entry for value in values for entry in value or []]
        names = {key: None for entry in entries if isinstance(entry, dict) for key in entry}
        if _are(dict, entries) and (unit := _find_unit([*names])):
            return [name], unit
    plain = {n: v for n, v in lists.items() if not any(_has_objects(x) for x in v)}
    lengths = {name: tuple(len(value or []) for value in values) for name, values in plain.items()}
    for shape in dict.fromkeys(lengths.values()):
        alike = [name for name, length in lengths.items() if length == shape]
        if any(shape) and (unit := _find_unit(alike)):
            return alike, unit
    return [], ""


def _are_single(values: Sequence[Any]) -> bool:
    """Tell whether all lists have one entry, or none, and none of them has an object."""
    lengths = {len(value or ()) for value in values}
    return 1 in lengths and lengths <= {0, 1} and not any(map(_has_objects, values))


def find_scored(lists: Mapping[str, Sequence[Any]]) -> str:
    """Return the only column of long lists of scores that are of one length; empty without one.

    >>> find_scored({"scores": [[0, 1] * 6, [1, 1] * 6], "tokens": [["a"], ["b", "c"]]})
    'scores'
    """
    scored = [
        name
        for name, values in lists.items()
        if is_named_score(name)
        and len({len(value or ()) for value in values}) == 1
        and len(values[0] or ()) >= MIN_PLACES
        and not any(map(_has_objects, values))
    ]
    return scored[0] if len(scored) == 1 else ""


def _number_raters(values: Sequence[Any]) -> list[list[str]]:
    """Return a rater for each place of each list."""
    return [[f"rater_{place}" for place in range(1, len(value) + 1)] for value in values]


def _has_objects(value: Any) -> bool:
    """Tell whether a list has lists or objects in it."""
    return any(isinstance(entry, dict | list) for entry in value or [])


def _find_unit(names: Sequence[str]) -> str:
    """Return what names beside that of a score are of, a rater or a model; empty without one."""
    table = pd.DataFrame(columns=[*map(str, names)])
    roles = [{*infer_roles(table, (unit, "score"), {})} for unit in UNITS]
    return next((unit for unit, of in zip(UNITS, roles, strict=True) if {unit, "score"} <= of), "")


def _split_row(row: dict[str, Any], rated: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each entry of the lists of a row; one without them where they are empty."""
    if not rated or not row[rated[0]]:
        return [{name: value for name, value in row.items() if name not in rated or value}]
    entries = zip(*(row[name] for name in rated), strict=True)
    return [row | dict(zip(rated, entry, strict=True)) for entry in entries]
