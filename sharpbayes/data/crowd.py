"""A table of a crowd's ratings, and labels by experts, the crowd or an item column."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    constant_by,
    counted,
    duplicates,
    empty_keys,
    flags_of,
    label_column,
    levels_of,
    numbers_of,
    rows,
)
from sharpbayes.data.files import read_table, require_columns
from sharpbayes.data.ratings import Column, Ratings
from sharpbayes.data.sidetables import columns_of
from sharpbayes.errors import DataError, Fault
from sharpbayes.spec.study import Crowd, ExpertLabels, ItemLabels

Codes = NDArray[np.int32]
Levels = NDArray[np.int16]
SCALE = "score"


@dataclass(frozen=True)
class CrowdData:
    """Observed ratings of a crowd, one row each, and the labels of the items.

    Attributes:
        level: Level of each rating, from 0; shape (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        levels: Labels of the levels, least harm first.
        item_columns: For each column of items its value for every item, empty where missing.
        rater_columns: For each column of raters its value for every rater, empty where missing.
        expert_item: Item of each expert label; empty without experts.
        expert_label: Label 0 or 1 of each; empty without experts.
        item_label: Label 0 or 1 of every item, -1 where missing; empty unless it is a column.
        order: When each rating was made; None where no column says so.
        counts: Numbers of ``ratings``, ``missing`` and ``repeated`` ones, and expert ``labels``.
    """

    level: Levels
    item: Column
    rater: Column
    levels: tuple[str, ...]
    item_columns: dict[str, NDArray[np.str_]]
    rater_columns: dict[str, NDArray[np.str_]]
    expert_item: Codes
    expert_label: Levels
    item_label: Levels
    order: NDArray[np.float64] | None
    counts: dict[str, int]


def load_crowd(crowd: Crowd, base: Path) -> CrowdData:
    """Read a crowd, its side tables and its labels.

    Args:
        crowd: The crowd of a study.
        base: Folder that its paths start from.

    Raises:
        DataError: Every fault of a file, with its column and first rows.
    """
    path = str(base / crowd.data)
    table = read_table(base, crowd.data)
    require_columns(table, _roles(crowd), path=path)
    keys = [crowd.roles.item, crowd.roles.rater]
    level, faults = levels_of(table[crowd.roles.score], crowd.scale, path=path)
    faults += empty_keys(table, keys, path=path)
    repeated = table[keys].duplicated(keep="last" if crowd.duplicates == "last" else "first")
    if crowd.duplicates == "error":
        faults += duplicates(table[keys], path=path, what="a rating of an item by a rater")
    order, found = _order(table, crowd.roles.order, path=path)
    if faults + found:
        raise DataError(faults + found)
    item, rater = (label_column(table[column]) for column in keys)
    kept = np.flatnonzero((level >= 0) & ~repeated.to_numpy())
    kept = kept[np.lexsort((rater.code[kept], item.code[kept]))]
    expert_item, expert_label = _expert_labels(crowd, base, item)
    return CrowdData(
        level=level[kept],
        item=Column(item.labels, item.code[kept]),
        rater=Column(rater.labels, rater.code[kept]),
        levels=crowd.scale.labels,
        item_columns=columns_of(
            list(crowd.by),
            owner=item,
            table=table,
            side=crowd.items,
            base=base,
            path=path,
            what="item",
        ),
        rater_columns=columns_of(
            _group_columns(crowd),
            owner=rater,
            table=table,
            side=crowd.raters,
            base=base,
            path=path,
            what="rater",
        ),
        expert_item=expert_item,
        expert_label=expert_label,
        item_label=_item_labels(crowd, table, item, base),
        order=None if order is None else order[kept],
        counts={
            "ratings": int(kept.size),
            "missing": int((level < 0).sum()),
            "repeated": int(repeated.sum()) if crowd.duplicates != "error" else 0,
            "labels": int(expert_label.size),
        },
    )


def _roles(crowd: Crowd) -> list[tuple[str, str]]:
    """Return the roles of columns that the table must have."""
    roles = crowd.roles.model_dump(exclude_none=True)
    return [(role, str(column)) for role, column in roles.items()]


def crowd_ratings(data: CrowdData, crowd: Crowd) -> Ratings:
    """Return the ratings in long form, with a column for each rater group and item column."""
    columns = {"item": data.item, "rater": data.rater}
    for name in _group_columns(crowd):
        held = label_column(pd.Series(data.rater_columns[name]))
        columns[f"group:{name}"] = Column(held.labels, held.code[data.rater.code])
    for name in crowd.by:
        held = label_column(pd.Series(data.item_columns[name]))
        columns[name] = Column(held.labels, held.code[data.item.code])
    columns["scale"] = Column((SCALE,), np.zeros(len(data.level), dtype=np.int32))
    return Ratings(data.level, columns, {SCALE: data.levels})


def _order(
    table: pd.DataFrame, column: str | None, *, path: str
) -> tuple[NDArray[np.float64] | None, list[Fault]]:
    """Read when each rating was made: numbers or times, missing where the cell is empty."""
    if column is None:
        return None, []
    order, wrong = numbers_of(table[column])
    if not wrong.size:
        return order, []
    first = table[column].iloc[wrong[0]]
    message = (
        f"{counted(wrong.size, 'value')} that are neither a number nor a time: {rows(wrong)}; "
        f"the first is {first!r}"
    )
    return order, [Fault(path, 0, column, message)]


def _group_columns(crowd: Crowd) -> list[str]:
    """Names of the columns of raters that the groups are made of, each once."""
    return list(dict.fromkeys(column for grouping in crowd.groups for column in grouping))


def _expert_labels(crowd: Crowd, base: Path, item: Column) -> tuple[Codes, Levels]:
    """Read the labels of experts, for items that the crowd rated."""
    if not isinstance(crowd.labels, ExpertLabels):
        return np.empty(0, np.int32), np.empty(0, np.int16)
    path, roles = str(base / crowd.labels.data), crowd.labels.roles
    table = read_table(base, crowd.labels.data)
    named = [("item", roles.item), ("expert", roles.expert), ("label", roles.label)]
    require_columns(table, named, path=path)
    label, faults = flags_of(table[roles.label], path=path)
    faults += duplicates(table[[roles.item, roles.expert]], path=path, what="a label")
    code = pd.Index(item.labels).get_indexer(pd.Index(table[roles.item]))
    if (code < 0).all():
        faults.append(Fault(path, 0, roles.item, "no item here was rated by the crowd"))
    if faults:
        raise DataError(faults)
    kept = np.flatnonzero((code >= 0) & (label >= 0))
    return code[kept].astype(np.int32), label[kept]


def _item_labels(crowd: Crowd, table: pd.DataFrame, item: Column, base: Path) -> Levels:
    """Read one label an item from a column of items."""
    if not isinstance(crowd.labels, ItemLabels):
        return np.empty(0, np.int16)
    column, path = crowd.labels.column, str(base / crowd.data)
    if column in table.columns:
        held, faults = constant_by(table[column], item, path=path, what="item")
    else:
        values = columns_of(
            [column], owner=item, table=table, side=crowd.items, base=base, path=path, what="item"
        )
        held, faults = values[column], []
    label, found = flags_of(pd.Series(held, name=column), path=path)
    if faults or found:
        raise DataError([*faults, *found])
    return label
