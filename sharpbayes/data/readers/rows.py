"""Rows of a log, each a dictionary, as a table; they are counted before they are made."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from sharpbayes.data.readers.bounds import CELL, ENTRY, count_memory, take_memory
from sharpbayes.data.readers.text_table import MAX_COLUMNS

Row = dict[str, Any]
Rows = list[Row]


def collect_rows(rows: Iterable[Row]) -> Rows:
    """Collect rows that are made one by one, within the bound of memory.

    >>> collect_rows({"a": n} for n in range(2))
    [{'a': 0}, {'a': 1}]
    """
    collected = []
    for row in rows:
        take_memory(ENTRY * (1 + len(row)) + sum(map(count_memory, row.values())), "its rows")
        collected.append(row)
    return collected


def tabulate_rows(files: Iterable[Sequence[Row]]) -> pd.DataFrame:
    """Join rows to one table of objects; a row that lacks a column has an empty cell.

    >>> tabulate_rows([[{"a": 1}], [{"b": 2}]]).fillna("").to_dict("list")
    {'a': [1, ''], 'b': ['', 2]}
    """
    rows = [*chain.from_iterable(files)]
    names = dict.fromkeys(chain.from_iterable(rows))
    cells = len(rows) * min(len(names), MAX_COLUMNS)
    take_memory(CELL * cells, f"{len(rows):,} rows of {len(names):,} columns")
    return pd.DataFrame(rows, columns=pd.Index([*names], dtype=object), dtype=object)
