"""Labels that stand in the first of several merged cells, filled down."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from sharpbayes.scaffold.column_names import infer_roles, quote
from sharpbayes.scaffold.logs import LogTable

LABELS = ("model", "prompt", "item", "category")
# Fewer empty cells are labels that are missing.
MIN_SHARE = 0.25
FILLED = "cells of {} that are empty ({}) have the label above, as below merged cells"


def fill_merged(table: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table with labels in all rows of merged cells; itself where there are none.

    >>> data = pd.DataFrame({"prompt": ["p1", "", "p2", ""], "model": ["a", "b", "a", "b"]})
    >>> fill_merged(LogTable("t.csv", data), {}).data["prompt"].tolist()
    ['p1', 'p1', 'p2', 'p2']
    """
    columns = infer_roles(table.data, LABELS, declared).values()
    filled = {name: table.data[name] for name in columns if is_merged(table.data[name])}
    if not filled:
        return table
    assumptions = [
        FILLED.format(quote(name), int((values.str.strip() == "").sum()))
        for name, values in filled.items()
    ]
    return replace(
        table,
        data=table.data.assign(**{name: _fill_down(values) for name, values in filled.items()}),
        assumptions=(*table.assumptions, *assumptions),
        is_rewritten=True,
    )


def is_merged(values: pd.Series) -> bool:
    """Tell whether labels are written as above merged cells: none is written twice in a row.

    >>> is_merged(pd.Series(["a", "", "", "b", ""])), is_merged(pd.Series(["a", "", "a", ""]))
    (True, False)
    """
    is_empty = values.str.strip() == ""
    written = values[~is_empty]
    repeats = (written.to_numpy()[1:] == written.to_numpy()[:-1]).any()
    return not (is_empty.iloc[0] or is_empty.mean() < MIN_SHARE or bool(repeats))


def _fill_down(values: pd.Series) -> pd.Series:
    """Return a column whose empty cells have the text above."""
    return values.where(values.str.strip() != "").ffill()
