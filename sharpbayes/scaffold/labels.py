"""Columns that say which items are unsafe, and why a column that is named so does not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import pandas as pd

from sharpbayes.data.cells import describe_mixture
from sharpbayes.errors import format_count
from sharpbayes.scaffold.inference import is_flag, list_texts

WORDS = {"safe", "unsafe"}
LABELS = re.compile("gold|unsafe|expert|truth|label")
# A column that varies within more of the items is not meant as one of items.
MAX_MIXED_SHARE = 0.1


@dataclass(frozen=True)
class LabelColumn:
    """A column that is named as one of labels; a ``problem`` may leave it usable.

    ``unsafe`` is its value for an unsafe item.
    """

    name: str
    problem: str = ""
    is_usable: bool = True
    unsafe: str = "1"


def list_label_columns(
    tables: Sequence[pd.DataFrame], roles: Mapping[str, str]
) -> Iterator[LabelColumn]:
    """Yield the columns without a role that are named as labels of items, each once."""
    names = set(roles.values())
    for table in tables:
        for name in map(str, table.columns):
            if name not in names and LABELS.search(name.lower()):
                names.add(name)
                yield _examine_labels(table, name, roles["item"])


def _examine_labels(table: pd.DataFrame, name: str, item: str) -> LabelColumn:
    """Return whether a column says yes or no of each item, and what is wrong with it."""
    texts = list_texts(table[name])
    if len(texts) < 2:  # noqa: PLR2004 - yes and no
        return LabelColumn(
            name, f"has no other value than {min(texts, default='')!r}", is_usable=False
        )
    unsafe = find_unsafe(table[name])
    if not unsafe:
        return LabelColumn(name, "has other values than yes and no", is_usable=False)
    pairs = table[[item, name]].drop_duplicates()
    mixed = pairs[item][pairs[item].duplicated()].unique()
    if not len(mixed):
        return LabelColumn(name, unsafe=unsafe)
    cells = describe_mixture(table[name][table[item] == mixed[0]])
    problem = f"has two values for {format_count(len(mixed), 'item')}: {mixed[0]} has {cells}"
    is_usable = len(mixed) <= MAX_MIXED_SHARE * table[item].nunique()
    return LabelColumn(name, problem, is_usable, unsafe)


def find_unsafe(values: pd.Series) -> str:
    """Return which value of a column of labels means unsafe; empty where it has other values.

    >>> find_unsafe(pd.Series(["Safe", "Unsafe"])), find_unsafe(pd.Series(["no", "maybe"]))
    ('Unsafe', '')
    """
    texts = list_texts(values)
    is_label = is_flag(values) or {text.lower() for text in texts} == WORDS
    # Of 0 and 1, false and true, no and yes, safe and unsafe it is the last one.
    return max(texts, key=str.lower) if is_label else ""


def choose_labels(
    columns: Sequence[LabelColumn], scores: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Return which items are unsafe, by a column of the items or by the crowd, and what to check.

    >>> choose_labels([LabelColumn("unsafe")], ["0", "1"])[0]
    {'from': 'item', 'column': 'unsafe'}
    """
    for column in (column for column in columns if column.is_usable):
        problem = f", but it {column.problem}; put it right" if column.problem else ""
        assumption = (
            f'"{column.name}" is taken to say which items are unsafe ({column.unsafe}){problem}'
        )
        return {"from": "item", "column": column.name}, assumption
    cut = max(1, ceil((len(scores) - 1) / 2))
    problems = "; ".join(f'"{column.name}" {column.problem}' for column in columns)
    assumption = (
        f"no column says which items are unsafe{problems and f' ({problems})'}: the other raters "
        f"do, by a score of {scores[cut]} or worse, so that groups are not compared with each "
        "other; experts' labels are better"
    )
    return {"from": "crowd", "cut": cut}, assumption
