"""Side tables joined on a key: columns of prompts, items or raters."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import find_duplicates, format_count, take_constant
from sharpbayes.data.ratings import Factor
from sharpbayes.data.readers.files import require_columns
from sharpbayes.data.readers.formats import read_data_files
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_list
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
    """Return the value of each named column for every level of its owner.

    A column is taken from the side table if it is there, else from the main table, where it must
    be constant over the owner.

    Args:
        names: Columns wanted.
        owner: The column whose levels own the values, such as items.
        table: The main table.
        side: The side table, if the study has one.
        base: Folder that its path starts from.
        path: The main file, for messages.
        what: What a level of the owner is called.

    Raises:
        DataError: Columns that are in neither table, levels without a row, repeated keys, values
            that are not constant.
    """
    joined = _joined(side, owner, base, what) if side is not None else {}
    known = [*map(str, table.columns), *joined]
    faults: list[Diagnostic] = []
    values: dict[str, Texts] = {}
    for name in names:
        if name in joined:
            values[name] = joined[name]
        elif name in table.columns:
            values[name], found = take_constant(table[name], owner, path=path, what=what)
            faults += found
        else:
            message = f"no such column of {what}s, the columns are {', '.join(known)}"
            faults.append(Diagnostic(path, 0, name, message + did_you_mean(name, known)))
    if faults:
        raise DataError(faults)
    return values


def _joined(side: SideTable, owner: Factor, base: Path, what: str) -> dict[str, Texts]:
    """Line up a side table with the levels of its owner."""
    path = str(base / side.data)
    table = read_data_files(base, side.data, side.layout)
    require_columns(table, [("key", side.key)], path=path)
    faults = find_duplicates(table[[side.key]], path=path, what="a key")
    place = pd.Index(table[side.key]).get_indexer_for(list(owner.labels)) if not faults else []
    absent = [label for label, row in zip(owner.labels, place, strict=False) if row < 0]
    if absent:
        message = f"{format_count(len(absent), what)} without a row here: {format_list(absent)}"
        faults.append(Diagnostic(path, 0, side.key, message))
    if faults:
        raise DataError(faults)
    rows = table.iloc[place]
    return {str(name): rows[name].to_numpy(dtype=np.str_) for name in table.columns}
