"""Columns of prompts, items or raters, from the main table or a side table joined on a key."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import find_duplicates, take_constant
from sharpbayes.data.ratings import Factor
from sharpbayes.data.readers.formats import read_table
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_count, format_list
from sharpbayes.spec.roles import SideTable

Texts = NDArray[np.str_]


def join_columns(
    names: list[str],
    *,
    owner: Factor,
    table: pd.DataFrame,
    side: SideTable | None,
    base: Path,
    path: str,
    what: str,
) -> dict[str, Texts]:
    """Return the value of each named column for every label of its owner.

    A column is taken from the side table if it is there, else from the main table, where it must
    be constant over the owner, such as the items. Messages name the main file ``path`` and call a
    label of the owner ``what``.
    """
    of_side = _read_side_table(side, owner, base, what) if side is not None else {}
    known = [*map(str, table.columns), *of_side]
    problems: list[Diagnostic] = []
    values: dict[str, Texts] = {}
    for name in names:
        if name in of_side:
            values[name] = of_side[name]
        elif name in table.columns:
            values[name], mixed = take_constant(table[name], owner, path=path, what=what)
            problems += mixed
        else:
            message = f"no such column of {what}s, the columns are {', '.join(known)}"
            problems.append(Diagnostic(path, 0, name, message + did_you_mean(name, known)))
    DataError.raise_any(problems)
    return values


def _read_side_table(side: SideTable, owner: Factor, base: Path, what: str) -> dict[str, Texts]:
    """Read a side table and put its rows in the order of the owner's labels."""
    path = str(base / side.data)
    table = read_table(base, side.data, side.layout, roles=[("key", side.key)])
    problems = find_duplicates(table[[side.key]], path=path, what="a key")
    rows = pd.Index(table[side.key]).get_indexer_for(list(owner.labels)) if not problems else []
    absent = [label for label, row in zip(owner.labels, rows, strict=False) if row < 0]
    if absent:
        message = f"{format_count(len(absent), what)} without a row here: {format_list(absent)}"
        problems.append(Diagnostic(path, 0, side.key, message))
    DataError.raise_any(problems)
    return {str(name): table[name].iloc[rows].to_numpy(dtype=np.str_) for name in table.columns}
