"""Groups of raters and strata of items, and which of them are too small to be measured."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import did_you_mean, format_count, format_list
from sharpbayes.metrics.crowd.least_numbers import explain_few_raters
from sharpbayes.metrics.crowd.tabulation import count_items
from sharpbayes.metrics.stats.clusters import CLUSTER, sum_clusters

ALL = "all"
# No reason has more characters, however large its numbers.
MAX_REASON_LENGTH = 200


def assign_groups(
    columns: Mapping[str, NDArray[np.str_]], groupings: Sequence[Sequence[str]], *, n_raters: int
) -> xr.DataArray:
    """Return which rater belongs to which group, of every grouping and of the group of all raters.

    A grouping crosses its columns: ``["gender", "age"]`` has a group for every pair of values that
    some rater has. A rater with a missing value (empty text) in a column is in no group of its
    groupings. The result is bool (group, rater), with the coordinate ``grouping (group)``: ``all``,
    ``gender,age``.

    >>> columns = {"gender": np.array(["Woman", "Man", ""]), "age": np.array(["GenZ"] * 3)}
    >>> assign_groups(columns, [["gender"], ["gender", "age"]], n_raters=3)["group"].values.tolist()
    ['all', 'gender=Man', 'gender=Woman', 'gender=Man,age=GenZ', 'gender=Woman,age=GenZ']
    """
    groups, grouping = {ALL: np.ones(n_raters, dtype=bool)}, [ALL]
    for names in groupings:
        crossed = _cross_columns(columns, names, size=n_raters)
        groups |= crossed
        grouping += [",".join(names)] * len(crossed)
    if len(groups) != len(grouping):
        raise ValueError(f"a grouping comes twice: {', '.join(map(','.join, groupings))}")
    return xr.DataArray(
        np.stack(list(groups.values())),
        dims=("group", "rater"),
        coords={"group": list(groups), "grouping": ("group", grouping)},
    )


def assign_strata(
    columns: Mapping[str, NDArray[np.str_]], by: Sequence[str], *, n_items: int
) -> xr.DataArray:
    """Return which item belongs to which stratum: all items, and each value of each column ``by``.

    The result is bool (by, item) with labels such as ``all`` and ``violation=Sexual``.
    """
    membership = assign_groups(columns, [[name] for name in by], n_raters=n_items)
    return membership.drop_vars("grouping").rename(group="by", rater="item")


def shared_items(
    plurality: xr.DataArray, label_count: xr.DataArray, *, by: xr.DataArray
) -> xr.DataArray:
    """Count the items of each stratum that have both a score of the group and a label."""
    return count_items(plurality, label_count, by).transpose(..., "group", "by")


def shared_clusters(
    plurality: xr.DataArray, label_count: xr.DataArray, *, by: xr.DataArray
) -> xr.DataArray:
    """Count the clusters of each stratum with an item that has a score of the group and a label.

    Where items have no clusters these are the items.

    >>> coords = {"group": ["a"], "cluster": ("item", ["s", "s", "t"])}
    >>> scores = xr.DataArray([[0, 2, 1]], coords, ("group", "item"))
    >>> labels = xr.DataArray([[1, 0], [0, 1], [0, 1]], dims=("item", "unsafe"))
    >>> every = xr.DataArray([[True, True, True]], {"by": ["all"]}, ("by", "item"))
    >>> shared_clusters(scores, labels, by=every).values.tolist()
    [[2]]
    """
    if CLUSTER not in plurality.coords:
        return shared_items(plurality, label_count, by=by)
    known = (plurality >= 0) & (label_count.sum("unsafe") > 0) & by
    return (sum_clusters(known.astype(float), "item") > 0).sum("item").transpose("group", "by")


def labelled_items(plurality: xr.DataArray, label_count: xr.DataArray) -> xr.DataArray:
    """Count the items that a group scored and that have a label of each kind, (group, unsafe).

    Scores (group, item), -1 missing, labels ([group,] item, unsafe). An item with labels of both
    kinds counts for each; where items have clusters, these are counted.

    >>> scores = xr.DataArray([[0, 2, -1]], dims=("group", "item"))
    >>> labels = xr.DataArray([[4, 1], [0, 5], [5, 0]], dims=("item", "unsafe"))
    >>> labelled_items(scores, labels).values.tolist()
    [[1, 2]]
    """
    labelled = (plurality >= 0) & (label_count > 0)
    clusters = sum_clusters(labelled.astype(float), "item") > 0
    return clusters.sum("item").transpose("group", "unsafe")


def items_of_both(
    plurality: xr.DataArray, label_count: xr.DataArray, *, by: xr.DataArray
) -> xr.DataArray:
    """Count the items of each stratum that two groups both scored and that have a label of both.

    ``items[g, h, b] = #{i in b : S[g, i] and S[h, i] are known, and i has a label}``

    Scores (group, item), -1 missing, labels ([group,] item, unsafe), ``by`` (by, item); the result
    is over (group, other, by), and on its diagonal what :func:`shared_items` counts.

    >>> scores = xr.DataArray([[0, 2, -1], [1, -1, 0]], {"group": ["a", "b"]}, ("group", "item"))
    >>> labels = xr.DataArray([[1, 0], [0, 1], [1, 0]], dims=("item", "unsafe"))
    >>> every = xr.DataArray([[True, True, True]], {"by": ["all"]}, ("by", "item"))
    >>> items_of_both(scores, labels, by=every).sel(by="all").values.tolist()
    [[2, 1], [1, 2]]
    """
    known = (plurality >= 0) & (label_count.sum("unsafe") > 0)
    rows = known.transpose("group", "item").to_numpy()
    strata = by.transpose("by", "item").to_numpy()
    # Numbers in place of flags: a product of flags has no fast code.
    counts = [(part := rows[:, items].astype(np.float32)) @ part.T for items in strata]
    groups = plurality["group"].to_numpy()
    coords = {"group": groups, "other": groups, "by": by["by"].to_numpy()}
    return xr.DataArray(np.stack(counts, -1).astype(np.int64), coords, ("group", "other", "by"))


def explain_missing(
    table: xr.DataArray,
    items: xr.DataArray,
    *,
    min_raters: int,
    min_items: int,
    raters: xr.DataArray | None,
    alone: xr.DataArray | None = None,
) -> xr.DataArray:
    """Return why a group's metrics are missing in a stratum; empty where they are not.

    It is that of rows (..., group, by, score, unsafe). ``raters`` (group) is None where
    ``min_raters`` does not apply; no rater outside a group labels an item where it is ``alone``.
    """

    def explain(raters: int, items: int, safe: float, unsafe: float, alone: bool) -> str:  # noqa: FBT001
        if alone:
            return "only the raters themselves label items"
        reasons = list(filter(None, [explain_few_raters(raters, min_raters)]))
        if items < min_items or items == 0:
            shared = f"{format_count(items, 'item')} with a score and a label"
            reasons.append(f"{shared}, fewer than min_items = {max(min_items, 1)}")
        else:
            missing = {"no item is labelled unsafe": unsafe, "no item is labelled safe": safe}
            reasons += [text for text, number in missing.items() if number == 0]
        return "; ".join(reasons)

    rows = table.sum("score")
    reason: xr.DataArray = xr.apply_ufunc(
        explain,
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
    return reason.astype(str if reason.chunks is None else f"<U{MAX_REASON_LENGTH}")


def split_groupings(membership: xr.DataArray) -> Iterator[tuple[xr.DataArray, xr.DataArray]]:
    """Yield the groups of each grouping, and the number of each rater's group there.

    ``membership`` is bool (group, rater) with the coordinate ``grouping``; numbers are over
    (rater), -1 for a rater in no group.

    >>> membership = assign_groups({"g": ["a", "b", ""]}, [["g"]], n_raters=3)
    >>> [code.values.tolist() for _, code in split_groupings(membership)]
    [[0, 0, 0], [0, 1, -1]]
    """
    grouping = membership["grouping"].to_numpy()
    for name in dict.fromkeys(grouping.tolist()):
        groups = membership.isel(group=np.flatnonzero(grouping == name))
        yield groups, groups.argmax("group").where(groups.any("group"), -1).astype(np.int32)


def natural_key(text: str) -> list[tuple[str, float, str]]:
    """Return a key that sorts whole numbers inside a text by size.

    >>> sorted(["45-54", "100+", "5-17", "older"], key=natural_key)
    ['5-17', '45-54', '100+', 'older']
    """
    return [
        ("0", float(run), "") if run.isdecimal() else ("1", 0.0, run)
        for run in re.split(r"(\d+)", text)
        if run
    ]


def _cross_columns(
    columns: Mapping[str, NDArray[np.str_]], names: Sequence[str], *, size: int
) -> dict[str, NDArray[np.bool_]]:
    """Members of every combination of values that occurs, numbers in them sorted by size."""
    values = np.stack([_read_column(columns, name, size=size) for name in names])
    present = (values != "").all(axis=0)
    combinations = sorted(
        np.unique(values[:, present], axis=1).T, key=lambda texts: [*map(natural_key, texts)]
    )
    return {
        ",".join(f"{name}={value}" for name, value in zip(names, combination, strict=True)): (
            values == combination[:, None]
        ).all(axis=0)
        for combination in combinations
    }


def _read_column(
    columns: Mapping[str, NDArray[np.str_]], name: str, *, size: int
) -> NDArray[np.str_]:
    """One column as text, or the error that lists the columns."""
    if name not in columns:
        raise ValueError(
            f"no column {name!r} (there are: {format_list(columns)}){did_you_mean(name, columns)}"
        )
    values = np.asarray(columns[name], dtype=str)
    if values.shape != (size,):
        raise ValueError(f"column {name!r} has {values.size} values, not {size}")
    return values
