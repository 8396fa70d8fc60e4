"""Columns that say which items are unsafe, and why a column that is named so does not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import pandas as pd

from sharpbayes.data.cells import describe_mixture
from sharpbayes.data.columns import sort_labels
from sharpbayes.errors import format_count
from sharpbayes.scaffold.column_names import is_named_score, quote, says_good
from sharpbayes.scaffold.inference import infer_scale, is_flag, list_texts
from sharpbayes.scaffold.lexicon import drop_lookalikes, order_levels
from sharpbayes.scaffold.logs import LogTable

SAFETY = {"safe", "unsafe"}
LABELS = re.compile("gold|unsafe|expert|truth|label")
# A column that varies within more of the items is not meant as one of items.
MAX_MIXED_SHARE = 0.1


@dataclass(frozen=True)
class LabelColumn:
    """A column that is named as one of labels; a ``problem`` may leave it usable.

    ``unsafe`` are its values for an unsafe item; the column ``is_graded`` if it has more than two.
    ``file`` is that of a table beside the ratings.
    """

    name: str
    problem: str = ""
    is_usable: bool = True
    unsafe: Sequence[str] = ("1",)
    is_graded: bool = False
    file: str = ""

    @property
    def title(self) -> str:
        """The name of the column, and that of its file where it is not among the ratings."""
        return f"{quote(self.name)} of {quote(self.file)}" if self.file else quote(self.name)


def list_label_columns(
    tables: Sequence[LogTable], roles: Mapping[str, str]
) -> Iterator[LabelColumn]:
    """Yield the columns without a role that are named as labels of items, or as their severity.

    The ratings are the first of the ``tables``.
    """
    names = set(roles.values())
    for table in tables:
        for name in map(str, table.data.columns):
            is_named = LABELS.search(name.lower())
            if name not in names and (is_named or is_named_score(name)):
                names.add(name)
                column = _examine_labels(table.data, name, roles["item"])
                if is_named or column.is_usable:
                    yield replace(column, file="" if table is tables[0] else table.label)


def _examine_labels(table: pd.DataFrame, name: str, item: str) -> LabelColumn:
    """Return whether a column says yes or no of each item, or a grade, and what is wrong."""
    texts = list_texts(table[name])
    if len(texts) < 2:  # noqa: PLR2004 - yes and no
        return LabelColumn(
            name, f"has no other value than {min(texts, default='')!r}", is_usable=False
        )
    flag = find_unsafe(table[name])
    unsafe = [flag] if flag else list_upper_grades(table[name])
    if not unsafe:
        return LabelColumn(name, "has other values than yes and no", is_usable=False)
    pairs = table[[item, name]].drop_duplicates()
    mixed = pairs[item][pairs[item].duplicated()].unique()
    if not len(mixed):
        return LabelColumn(name, unsafe=unsafe, is_graded=not flag)
    cells = describe_mixture(table[name][table[item] == mixed[0]])
    problem = f"has two values for {format_count(len(mixed), 'item')}: {mixed[0]} has {cells}"
    is_usable = len(mixed) <= MAX_MIXED_SHARE * table[item].nunique()
    return LabelColumn(name, problem, is_usable, unsafe, is_graded=not flag)


def find_unsafe(values: pd.Series) -> str:
    """Return which value of a column of labels means unsafe; empty where it has other values.

    >>> find_unsafe(pd.Series(["Safe", "Unsafe"])), find_unsafe(pd.Series(["no", "maybe"]))
    ('Unsafe', '')
    """
    texts = list_texts(values)
    is_label = is_flag(values) or {text.lower() for text in texts} == SAFETY
    # Of 0 and 1, false and true, no and yes, safe and unsafe it is the last one.
    return max(texts, key=str.lower) if is_label else ""


def list_upper_grades(values: pd.Series) -> list[str]:
    """Return the values of the worse half of grades; empty where they have no known order.

    >>> list_upper_grades(pd.Series(["high", "none", "low", "medium"], name="severity"))
    ['medium', 'high']
    >>> list_upper_grades(pd.Series(["high", "none", "low", "Low", "None"], name="severity"))
    ['Low', 'high']
    >>> list_upper_grades(pd.Series(["hate", "fraud"], name="label"))
    []
    """
    if infer_scale(values, named=False).scale is None:
        return []
    texts = drop_lookalikes(sorted(list_texts(values)))
    grades = order_levels(texts) or sort_labels(texts)
    grades = grades[::-1] if says_good(str(values.name)) else grades
    return grades[find_middle(len(grades)) :]


def find_middle(grades: int) -> int:
    """Return how many of some grades mean safe, where nobody said it.

    >>> find_middle(2), find_middle(5)
    (1, 2)
    """
    return max(1, ceil((grades - 1) / 2))


def choose_labels(
    columns: Sequence[LabelColumn], scores: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Return which items are unsafe, by a column of the items or by the crowd, and what to check.

    >>> choose_labels([LabelColumn("unsafe")], ["0", "1"])[0]
    {'from': 'item', 'column': 'unsafe'}
    >>> texts = [choose_labels([], scores)[1] for scores in (["no", "yes"], ["0", "1", "2"])]
    >>> [text.partition(", so")[0][56:] for text in texts]
    ['do, by a score of yes', 'do, by a score of 1 or worse']
    """
    usable = [column for column in columns if column.is_usable]
    for column in sorted(usable, key=lambda column: column.is_graded):
        problem = f", but it {column.problem}; put it right" if column.problem else ""
        values = ", ".join(column.unsafe)
        assumption = f"{column.title} is taken to say which items are unsafe ({values}){problem}"
        unsafe = {"unsafe": [*column.unsafe]} if column.is_graded else {}
        return {"from": "item", "column": column.name} | unsafe, assumption
    cut = find_middle(len(scores))
    unsafe_score = f"{scores[cut]} or worse" if scores[cut + 1 :] else scores[cut]
    problems = "; ".join(f"{column.title} {column.problem}" for column in columns)
    assumption = (
        f"no column says which items are unsafe{problems and f' ({problems})'}: the other raters "
        f"do, by a score of {unsafe_score}, so that groups are not compared with each "
        "other; experts' labels are better"
    )
    return {"from": "crowd", "cut": cut}, assumption
