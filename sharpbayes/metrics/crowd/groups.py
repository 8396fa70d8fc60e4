"""Which groups of raters and strata of items there are, and which are too small to be measured."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import did_you_mean, format_list

ALL = "all"
NOBODY_OUTSIDE = "no rater outside the group labels an item"
# No reason has more characters, however large its numbers.
LONGEST_REASON = 200


def membership(
    columns: Mapping[str, NDArray[np.str_]], groupings: Sequence[Sequence[str]], *, raters: int
) -> xr.DataArray:
    """Say which rater belongs to which group, for every grouping and the group of all raters.

    A grouping crosses its columns: ``["gender", "age"]`` has a group for every pair of values that
    some rater has. A rater with no value in one of the columns is in no group of that grouping.

    Args:
        columns: For each column a value for each rater, empty where missing; (rater,).
        groupings: Lists of column names.
        raters: Number of raters.

    Returns:
        Bool (group, rater) with labels such as ``all`` and ``gender=Woman,age=GenZ``, and the
        coordinate ``grouping (group)``: ``all``, ``gender,age``.

    Raises:
        ValueError: A column is unknown or of another length, or a group comes twice.

    >>> columns = {"gender": np.array(["Woman", "Man", ""]), "age": np.array(["GenZ"] * 3)}
    >>> member = membership(columns, [["gender"], ["gender", "age"]], raters=3)
    >>> member["group"].values.tolist()
    ['all', 'gender=Man', 'gender=Woman', 'gender=Man,age=GenZ', 'gender=Woman,age=GenZ']
    >>> member.sel(group="gender=Woman").values.tolist()
    [True, False, False]
    """
    crossed = [_crossing(columns, names, size=raters) for names in groupings]
    groups = {ALL: np.ones(raters, dtype=bool)} | {
        label: inside for found in crossed for label, inside in found.items()
    }
    if len(groups) != 1 + sum(map(len, crossed)):
        raise ValueError(f"a grouping comes twice: {', '.join(map(','.join, groupings))}")
    grouping = [ALL]
    for names, found in zip(groupings, crossed, strict=True):
        grouping += [",".join(names)] * len(found)
    return xr.DataArray(
        np.stack(list(groups.values())),
        dims=("group", "rater"),
        coords={"group": list(groups), "grouping": ("group", grouping)},
    )


def strata(
    columns: Mapping[str, NDArray[np.str_]], by: Sequence[str], *, items: int
) -> xr.DataArray:
    """Say which item belongs to which stratum: all items, and each value of each column.

    Args:
        columns: For each column a value for each item, empty where missing; (item,).
        by: Names of columns.
        items: Number of items.

    Returns:
        Bool (by, item) with labels such as ``all`` and ``violation=Sexual``.

    Raises:
        ValueError: A column is unknown or of another length, or comes twice.

    >>> found = strata({"violation": np.array(["Sexual", "Bias", ""])}, ["violation"], items=3)
    >>> found["by"].values.tolist()
    ['all', 'violation=Bias', 'violation=Sexual']
    >>> found.values.tolist()
    [[True, True, True], [False, True, False], [True, False, False]]
    """
    found = membership(columns, [[name] for name in by], raters=items)
    return found.drop_vars("grouping").rename(group="by", rater="item")


def shared_items(
    plurality: xr.DataArray, label_count: xr.DataArray, *, by: xr.DataArray
) -> xr.DataArray:
    """Count the items of each stratum that have both a score of the group and a label.

    Args:
        plurality: Scores, -1 missing; (..., group, item).
        label_count: Labels of each item; (..., [group,] item, unsafe).
        by: Which item belongs to which stratum; bool (by, item).

    Returns:
        Numbers of items (..., group, by).

    >>> scores = xr.DataArray([[0, 2, -1]], dims=("group", "item"))
    >>> labels = xr.DataArray([[0, 0], [0, 5], [5, 0]], dims=("item", "unsafe"))
    >>> every = xr.DataArray([[True, True, True]], dims=("by", "item"))
    >>> shared_items(scores, labels, by=every).values.tolist()
    [[1]]
    """
    shared = (plurality >= 0) & (label_count.sum("unsafe") > 0)
    items: xr.DataArray = xr.dot(shared.astype(float), by.astype(float), dim="item", optimize=True)
    return items.astype(np.int64).transpose(..., "group", "by")


def withheld(
    table: xr.DataArray,
    items: xr.DataArray,
    *,
    min_raters: int,
    min_items: int,
    raters: xr.DataArray | None,
    alone: xr.DataArray | None = None,
) -> xr.DataArray:
    """Say why a group's metrics are missing in a stratum; empty where they are not.

    Args:
        table: Rows by score and label; (..., group, by, score, unsafe).
        items: Items with both a score and a label; (..., group, by).
        min_raters: Fewest raters of a group.
        min_items: Fewest items of a stratum.
        raters: Raters of each group (group); None leaves ``min_raters`` aside.
        alone: Where labels are the crowd's own: whether no rater outside the group labels an item
            (..., group); None where labels come from elsewhere.

    Returns:
        Text (..., group, by), the reasons joined by ``"; "``.

    >>> no_items = xr.DataArray([[0]], dims=("group", "by"))
    >>> none = xr.DataArray(np.zeros((1, 1, 3, 2)), dims=("group", "by", "score", "unsafe"))
    >>> withheld(none, no_items, min_raters=3, min_items=1, raters=None).item()
    '0 items with a score and a label, fewer than min_items = 1'
    """
    rows = table.sum("score")
    reason: xr.DataArray = xr.apply_ufunc(
        partial(_reason, min_raters=min_raters, min_items=min_items),
        xr.DataArray(min_raters) if raters is None else raters,
        items,
        rows.isel(unsafe=0, drop=True),
        rows.isel(unsafe=1, drop=True),
        xr.DataArray(data=False) if alone is None else alone,
        vectorize=True,
        dask="parallelized",
        output_dtypes=[object],
    )
    # Blocks that are not there yet are joined as texts of one length.
    return reason.astype(str if reason.chunks is None else f"<U{LONGEST_REASON}")


def _crossing(
    columns: Mapping[str, NDArray[np.str_]], names: Sequence[str], *, size: int
) -> dict[str, NDArray[np.bool_]]:
    """Members of every combination of values that occurs, numbers in them sorted by size."""
    values = np.stack([_column(columns, name, size=size) for name in names])
    present = (values != "").all(axis=0)
    return {
        ",".join(f"{name}={value}" for name, value in zip(names, combination, strict=True)): (
            values == combination[:, None]
        ).all(axis=0)
        for combination in sorted(
            np.unique(values[:, present], axis=1).T, key=lambda texts: [*map(natural, texts)]
        )
    }


def natural(text: str) -> list[tuple[str, float, str]]:
    """Return a key that sorts whole numbers inside a text by size.

    >>> sorted(["45-54", "100+", "5-17", "older"], key=natural)
    ['5-17', '45-54', '100+', 'older']
    """
    parts = re.split(r"(\d+)", text)
    return [("0" if part.isdecimal() else "1", *_part(part)) for part in parts if part]


def _part(text: str) -> tuple[float, str]:
    """A run of digits by its size, anything else as it is."""
    return (float(text), "") if text.isdecimal() else (0.0, text)


def _column(columns: Mapping[str, NDArray[np.str_]], name: str, *, size: int) -> NDArray[np.str_]:
    """One column as text, or the error that says what there is."""
    if name not in columns:
        raise ValueError(
            f"no column {name!r} (there are: {format_list(columns)}){did_you_mean(name, columns)}"
        )
    values = np.asarray(columns[name], dtype=str)
    if values.shape != (size,):
        raise ValueError(f"column {name!r} has {values.size} values, not {size}")
    return values


def _reason(
    raters: int,
    items: int,
    safe: float,
    unsafe: float,
    alone: bool,  # noqa: FBT001 - one of the arrays that a function is mapped over
    *,
    min_raters: int,
    min_items: int,
) -> str:
    """The reasons of one group in one stratum; what rows lack is said only of items there."""
    if alone:
        return NOBODY_OUTSIDE
    reasons = []
    if raters < min_raters:
        reasons.append(f"{counted(raters, 'rater')}, fewer than min_raters = {min_raters}")
    if items < min_items or items == 0:
        least = max(min_items, 1)
        shared = f"{counted(items, 'item')} with a score and a label"
        reasons.append(f"{shared}, fewer than min_items = {least}")
    else:
        rows = {"no unsafe row": unsafe, "no safe row": safe}
        reasons += [text for text, number in rows.items() if number == 0]
    return "; ".join(reasons)


def counted(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "rater"), counted(0, "item")
    ('1 rater', '0 items')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
