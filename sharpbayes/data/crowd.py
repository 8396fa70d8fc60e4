"""A table of a crowd's ratings, and labels by experts, the crowd or an item column."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.columns import (
    ROWS,
    find_duplicates,
    find_empty_keys,
    format_count,
    make_factor,
    parse_flags,
    parse_numbers,
    parse_scores,
    rows,
    take_chunked,
    take_constant,
)
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.data.readers.files import read_table, require_columns
from sharpbayes.data.readers.formats import read_data_files
from sharpbayes.data.readers.parquet_stream import read_ratings, sort_rows
from sharpbayes.data.side_tables import join_columns
from sharpbayes.errors import DataError, Diagnostic
from sharpbayes.spec.crowd import Crowd, ExpertLabels, ItemLabels

Codes = NDArray[np.int32]
Levels = NDArray[np.int16]
SCALE, LABEL, ITEM_LABEL = "score", "label", "item_label"
LABELS = ("safe", "unsafe")


@dataclass(frozen=True)
class CrowdData:
    """Observed ratings of a crowd, one row each, and the labels of the items.

    Attributes:
        score: Position of each rating on the scale, from 0; shape (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        score_labels: Labels of the scores, least harm first.
        item_columns: For each column of items its value for every item, empty where missing.
        rater_columns: For each column of raters its value for every rater, empty where missing.
        expert_item: Item of each expert label; empty without experts.
        expert: Expert of each; None without experts.
        expert_label: Label 0 or 1 of each; empty without experts.
        item_label: Label 0 or 1 of every item, -1 where missing; empty unless it is a column.
        time: When each rating was made; None where no column says so.
        counts: Numbers of ``ratings``, ``missing`` and ``repeated`` ones, and expert ``labels``.
    """

    score: Levels
    item: Factor
    rater: Factor
    score_labels: tuple[str, ...]
    item_columns: dict[str, NDArray[np.str_]]
    rater_columns: dict[str, NDArray[np.str_]]
    expert_item: Codes
    expert: Factor | None
    expert_label: Levels
    item_label: Levels
    time: NDArray[np.float64] | None
    counts: dict[str, int]


def read_crowd(crowd: Crowd, base: Path) -> CrowdData:
    """Read a crowd, its side tables and its labels.

    Args:
        crowd: The crowd of a study.
        base: Folder that its paths start from.

    Raises:
        DataError: Every fault of a file, with its column and first rows.
    """
    path = str(base / crowd.data)
    table = _table(crowd, base)
    keys = [crowd.roles.item, crowd.roles.rater]
    level, faults = parse_scores(table[crowd.roles.score], crowd.scale, path=path)
    time, found = _read_times(table, crowd.roles.time, path=path)
    faults += found + find_empty_keys(table, keys, path=path)
    item, rater = (make_factor(table[column]) for column in keys)
    rows, repeated = _by_item(item.codes, rater.codes, last=crowd.duplicates == "last")
    if crowd.duplicates == "error" and repeated.any():
        faults += find_duplicates(
            table[keys].astype(str), path=path, what="a rating of an item by a rater"
        )
    if faults:
        raise DataError(faults)
    side = partial(join_columns, table=table, base=base, path=path)
    item_columns = side(list(crowd.by), owner=item, side=crowd.items, what="item")
    rater_columns = side(_group_columns(crowd), owner=rater, side=crowd.raters, what="rater")
    item_label = _item_labels(crowd, table, item, base)
    del table, side
    missing = int((level < 0).sum())
    kept = rows if not missing and not repeated.any() else rows[(level[rows] >= 0) & ~repeated]
    expert_item, expert, expert_label = _expert_labels(crowd, base, item)
    return CrowdData(
        score=take_chunked(level, kept),
        item=Factor(item.labels, take_chunked(item.codes, kept)),
        rater=Factor(rater.labels, take_chunked(rater.codes, kept)),
        score_labels=crowd.scale.labels,
        item_columns=item_columns,
        rater_columns=rater_columns,
        expert_item=expert_item,
        expert=expert,
        expert_label=expert_label,
        item_label=item_label,
        time=None if time is None else time[kept],
        counts={
            "ratings": int(kept.size),
            "missing": missing,
            "repeated": int(repeated.sum()),
            "labels": int(expert_label.size),
        },
    )


def _table(crowd: Crowd, base: Path) -> pd.DataFrame:
    """Read the table of ratings, which has the columns that the roles name."""
    if crowd.layout == "table":
        return read_ratings(base, crowd.data, roles=_roles(crowd), columns=_further(crowd))
    table = read_data_files(base, crowd.data, crowd.layout)
    require_columns(table, _roles(crowd), path=str(base / crowd.data))
    return table


def _by_item(item: Codes, rater: Codes, *, last: bool) -> tuple[Codes, NDArray[np.bool_]]:
    """Return rows by item and rater, and which of them are left out for another of the same."""
    rows = sort_rows(item, rater)
    same = np.empty(max(rows.size - 1, 0), dtype=bool)
    for start in range(0, same.size, ROWS):
        some = rows[start : start + ROWS + 1]
        alike = [code[some[1:]] == code[some[:-1]] for code in (item, rater)]
        same[start : start + ROWS] = alike[0] & alike[1]
    return rows, np.append(same, False) if last else np.append(False, same)


def _further(crowd: Crowd) -> list[str]:
    """Columns that may stand in the table of ratings or beside it."""
    labels = [crowd.labels.column] if isinstance(crowd.labels, ItemLabels) else []
    return [*_group_columns(crowd), *crowd.by, *labels]


def _roles(crowd: Crowd) -> list[tuple[str, str]]:
    """Return the roles of columns that the table must have."""
    roles = crowd.roles.model_dump(exclude_none=True)
    return [(role, str(column)) for role, column in roles.items()]


class _Spread(Factor):
    """A column of raters or items, spread over ratings only when a model asks for it."""

    _held: Codes
    _owner: Factor

    def __init__(self, held: Factor, owner: Factor) -> None:
        object.__setattr__(self, "labels", held.labels)
        object.__setattr__(self, "_held", held.codes)
        object.__setattr__(self, "_owner", owner)

    @property
    def codes(self) -> Codes:
        """For each rating the position of its label."""
        codes: Codes = self._held[self._owner.codes]
        return codes


def _spread(values: NDArray[np.str_], owner: Factor) -> Factor:
    """Spread values of raters or items over ratings; an empty value is no level (code -1)."""
    present = np.flatnonzero(values != "")
    factor = make_factor(pd.Series(values[present]))
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = factor.codes
    return _Spread(Factor(factor.labels, codes), owner)


def melt_crowd(data: CrowdData, crowd: Crowd, *, experts: bool = False) -> Ratings:
    """Return the ratings in long form, with a factor for each rater group and item column.

    A rater or an item without a value has no level of that factor, and so no effect of it. A factor
    without any level is left out. Labels from a column of items are the factor ``item_label``:
    ``safe``, ``unsafe``, or none.

    Args:
        data: Ratings and labels.
        crowd: Names of the columns.
        experts: Whether labels of experts are ratings too: on the scale ``label``, by raters
            called ``expert <name>`` who are of no group.
    """
    ratings = _of_crowd(data, crowd)
    return _with_experts(ratings, data) if experts and data.expert is not None else ratings


def _with_experts(ratings: Ratings, data: CrowdData) -> Ratings:
    """Add the labels of experts below the ratings of the crowd."""
    if data.expert is None:
        raise ValueError("a crowd without experts")
    count = data.expert_label.size
    item = Factor(data.item.labels, data.expert_item)
    names = tuple(f"expert {label}" for label in data.expert.labels)
    labels = {"rater": (*data.rater.labels, *names), "scale": (SCALE, LABEL)}
    codes = {
        "item": data.expert_item,
        "rater": data.expert.codes + len(data.rater.labels),
        "scale": np.ones(count, dtype=np.int32),
    }
    codes |= {name: _spread(values, item).codes for name, values in data.item_columns.items()}
    nobody = np.full(count, -1, dtype=np.int32)
    columns = {
        name: Factor(
            labels.get(name, held.labels),
            np.concatenate([held.codes, codes.get(name, nobody)]).astype(np.int32),
        )
        for name, held in ratings.factors.items()
    }
    level = np.concatenate([ratings.score, data.expert_label])
    return Ratings(level, columns, ratings.scales | {LABEL: LABELS})


def _of_crowd(data: CrowdData, crowd: Crowd) -> Ratings:
    """The ratings of the crowd alone."""
    columns = {"item": data.item, "rater": data.rater}
    beside = {f"group:{n}": (data.rater_columns[n], data.rater) for n in _group_columns(crowd)}
    beside |= {name: (data.item_columns[name], data.item) for name in crowd.by}
    for name, (values, owner) in beside.items():
        factor = _spread(values, owner)
        if factor.labels:
            columns[name] = factor
    if data.item_label.size:
        columns[ITEM_LABEL] = _Spread(Factor(LABELS, data.item_label.astype(np.int32)), data.item)
    nothing = np.broadcast_to(np.zeros(1, dtype=np.int32), data.score.shape)
    columns["scale"] = Factor((SCALE,), nothing)
    return Ratings(data.score, columns, {SCALE: data.score_labels})


def _read_times(
    table: pd.DataFrame, column: str | None, *, path: str
) -> tuple[NDArray[np.float64] | None, list[Diagnostic]]:
    """Read when each rating was made: numbers or times, missing where the cell is empty."""
    if column is None:
        return None, []
    times, wrong = parse_numbers(table[column])
    if not wrong.size:
        return times, []
    first = table[column].iloc[wrong[0]]
    message = (
        f"{format_count(wrong.size, 'value')} that are neither a number nor a time: {rows(wrong)}; "
        f"the first is {first!r}"
    )
    return times, [Diagnostic(path, 0, column, message)]


def _group_columns(crowd: Crowd) -> list[str]:
    """Names of the columns of raters that the groups are made of, each once."""
    return list(dict.fromkeys(column for grouping in crowd.groups for column in grouping))


def _expert_labels(crowd: Crowd, base: Path, item: Factor) -> tuple[Codes, Factor | None, Levels]:
    """Read item, expert and label of each label of an item that the crowd rated."""
    if not isinstance(crowd.labels, ExpertLabels):
        return np.empty(0, np.int32), None, np.empty(0, np.int16)
    path, roles = str(base / crowd.labels.data), crowd.labels.roles
    table = read_table(base, crowd.labels.data)
    named = [("item", roles.item), ("expert", roles.expert), ("label", roles.label)]
    require_columns(table, named, path=path)
    label, faults = parse_flags(table[roles.label], path=path)
    faults += find_duplicates(table[[roles.item, roles.expert]], path=path, what="a label")
    code = pd.Index(item.labels).get_indexer(pd.Index(table[roles.item]))
    if (code < 0).all():
        faults.append(Diagnostic(path, 0, roles.item, "no item here was rated by the crowd"))
    if faults:
        raise DataError(faults)
    kept = np.flatnonzero((code >= 0) & (label >= 0))
    expert = make_factor(table[roles.expert].iloc[kept])
    # By item, then expert: what a fit says must not hang on the order of rows.
    order = np.lexsort((expert.codes, code[kept]))
    expert = Factor(expert.labels, expert.codes[order])
    return code[kept][order].astype(np.int32), expert, label[kept][order]


def _item_labels(crowd: Crowd, table: pd.DataFrame, item: Factor, base: Path) -> Levels:
    """Read one label an item from a column of items."""
    if not isinstance(crowd.labels, ItemLabels):
        return np.empty(0, np.int16)
    column, path = crowd.labels.column, str(base / crowd.data)
    if column in table.columns:
        held, faults = take_constant(table[column], item, path=path, what="item")
    else:
        values = join_columns(
            [column], owner=item, table=table, side=crowd.items, base=base, path=path, what="item"
        )
        held, faults = values[column], []
    label, found = parse_flags(pd.Series(held, name=column), path=path)
    if faults or found:
        raise DataError([*faults, *found])
    return label
