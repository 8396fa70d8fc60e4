"""Columns that each have the scores of one judge or one model, turned into rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from sharpbayes.data.readers.bounds import CELL, take_memory
from sharpbayes.errors import format_list
from sharpbayes.scaffold.column_names import (
    FAMILIES,
    MEASURES,
    WORDS,
    find_model,
    infer_roles,
    is_scorer,
    quote,
    split_name,
)
from sharpbayes.scaffold.inference import is_number, list_texts
from sharpbayes.scaffold.lexicon import order_levels
from sharpbayes.scaffold.logs import LogTable

# Further words of the name of a model.
EDITIONS = {
    *("mini", "nano", "small", "medium", "large", "pro", "ultra", "flash", "turbo", "opus"),
    *("sonnet", "haiku", "instruct", "it", "chat", "preview", "base", "maverick", "scout", "hf"),
    *("distill", "thinking", "reasoning", "latest", "plus", "max", "lite", "next", "coder", "free"),
}
MELTED = "{columns} are taken as the scores of one {unit} each, and turned into rows"
SHEETS = "the sheets {} are taken as the scores of one model each, and joined"
# By label and then by indicator.
Grid = dict[str, dict[str, str]]


def melt_scores(table: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table with a row for each judge or model that has columns of its own, else itself.

    Columns are named after families of models or after people, and each label has the same
    indicators. Where no column names the model they are models, else judges; so they are where
    they are named after who scores, not after models alone. Models that score comments, posts and
    the like are raters of a crowd.
    """
    data = table.data
    roles = infer_roles(data, ("model", "prompt"), find_model(data, declared) | {**declared})
    unit = "judge" if "model" in roles else "model"
    is_crowd = unit == "model" and "prompt" not in roles and infer_roles(data, ("item",), {})
    if is_crowd or unit in declared or _is_named(data, unit):
        return table
    free = data[[name for name in data.columns if name not in declared.values()]]
    grid = find_grid(free, unit)
    if not grid and unit == "model" and not _is_named(data, "judge"):
        unit, grid = "judge", _find_scorers(free)
    columns = [column for of_label in grid.values() for column in of_label.values()]
    added = {unit, *(indicator for of_label in grid.values() for indicator in of_label)}
    if not grid or added & {*map(str, data.columns)} - {*columns}:
        return table
    assumption = MELTED.format(columns=format_list(map(quote, columns)), unit=unit)
    return replace(
        table,
        data=_turn_into_rows(data, grid, unit),
        assumptions=(*table.assumptions, assumption),
        is_rewritten=True,
    )


def name_sheets(sheets: Sequence[LogTable]) -> LogTable | None:
    """Return the sheets of a workbook, each named after a model, as one table that names it.

    None where fewer than two have the same columns, or a column names the model already.
    """
    columns = {tuple(map(str, sheet.data.columns)) for sheet in sheets}
    if len(sheets) < 2 or len(columns) > 1 or _is_named(sheets[0].data, "model"):  # noqa: PLR2004
        return None
    names = [str(sheet.dialect.sheet) for sheet in sheets]
    parts = [sheet.data.assign(model=name) for sheet, name in zip(sheets, names, strict=True)]
    text = SHEETS.format(format_list(map(quote, names)))
    data = pd.concat(parts).reset_index(drop=True)
    return LogTable(sheets[0].name, data, assumptions=(text,), is_rewritten=True)


def _is_named(data: pd.DataFrame, unit: str) -> bool:
    """Tell whether a column names the judge or model, by words or, as ``judge``, by numbers."""
    words = data[[name for name in data.columns if not is_number(data[name])]]
    plain = [name for name in map(str, data.columns) if name.lower() in WORDS[unit]]
    return bool(plain or infer_roles(words, (unit,), {}))


def find_grid(data: pd.DataFrame, unit: str) -> Grid:
    """Return the column of each label and indicator; empty where labels have not the same ones.

    >>> data = pd.DataFrame({"gpt4_harm": ["1"], "claude_harm": ["2"], "gpt4_tokens": ["30"]})
    >>> find_grid(data, "judge")
    {'gpt4': {'harm': 'gpt4_harm'}, 'claude': {'harm': 'claude_harm'}}
    >>> find_grid(data.assign(claude_bias="3"), "judge")
    {}
    """
    grid: Grid = {}
    for name in map(str, data.columns):
        label, indicator = split_label(name, unit)
        if label and _has_scores(data[name]):
            grid.setdefault(label, {})[indicator] = name
    kinds = {frozenset(of_label) for of_label in grid.values()}
    return grid if len(grid) > 1 and len(kinds) == 1 else {}


def _find_scorers(data: pd.DataFrame) -> Grid:
    """Return the columns of judges who are called after what they are, not by a number or letter.

    Those of ``annotator_1`` and ``annotator_2`` may be raters of a crowd.
    """
    grid = find_grid(data, "judge")
    kinds = {tuple(word for word in split_name(label) if len(word) > 1) for label in grid}
    return grid if len(kinds) > 1 else {}


def split_label(name: str, unit: str) -> tuple[str, str]:
    """Return the judge or model after which a column is named, and the rest of its name.

    >>> [split_label(name, "model") for name in ("gpt-4o", "gpt-4o_score", "harm (claude 3)")]
    [('gpt-4o', 'score'), ('gpt-4o', 'score'), ('claude 3', 'harm')]
    >>> split_label("judge_2", "judge"), split_label("judge_2", "model")
    (('judge_2', 'score'), ('', ''))
    """
    parts = [*re.finditer(r"[^\W_]+", name)]
    letters = [re.sub(r"\d", "", part[0]).lower() for part in parts]
    is_judge = unit == "judge"
    named = [is_scorer(w) if is_judge else w.startswith(FAMILIES) for w in letters]
    if not any(named):
        return "", ""
    of_label = [
        is_unit or len(word) < 2 or word in EDITIONS  # noqa: PLR2004 - "4o", "3", "8b"
        for is_unit, word in zip(named, letters, strict=True)
    ]
    first, last = of_label.index(True), len(parts) - of_label[::-1].index(True)
    rest = [part[0] for part in (*parts[:first], *parts[last:])]
    return name[parts[first].start() : parts[last - 1].end()], "_".join(rest) or "score"


def _has_scores(values: pd.Series) -> bool:
    """Tell whether a column has numbers or words of a known order, and is no measure."""
    if MEASURES & {*split_name(values.name)} - {*WORDS["score"]}:
        return False
    texts = list_texts(values)
    return is_number(values) or (bool(texts) and order_levels(texts) is not None)


def _turn_into_rows(data: pd.DataFrame, grid: Grid, unit: str) -> pd.DataFrame:
    """Return a row for each label of a grid, those of one row of the data together."""
    columns = {column for of_label in grid.values() for column in of_label.values()}
    others = data[[name for name in data.columns if name not in columns]]
    rows = len(data) * len(grid)
    take_memory(CELL * rows * (len(others.columns) + 2), f"{rows:,} rows, one for each {unit}")
    blocks = [
        others.assign(
            **{unit: label}, **{indicator: data[column] for indicator, column in of_label.items()}
        )
        for label, of_label in grid.items()
    ]
    return pd.concat(blocks).sort_index(kind="stable").reset_index(drop=True)
