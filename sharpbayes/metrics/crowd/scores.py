"""Plurality scores and safety labels, which responsiveness compares, from single ratings.

Scores are 0..K of one ordinal scale, K the most unsafe; -1 is missing. Every function takes any
leading dimensions of its first argument; of an array of Dask the result is one too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import format_list
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.kernels import add_classes, count_scores, find_modes, label_outside

MISSING = -1
# Dimension of replicates of the ratings of one draw; each has all items.
REPLICATE = "replicate"


def score_counts(
    score: xr.DataArray,
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    membership: xr.DataArray,
    n_scores: int,
    n_items: int,
) -> xr.DataArray:
    """Count how often each group gives each score to each item.

    ``count[g, i, s] = #{ratings r : item[r] = i, score[r] = s, rater[r] in g}``

    Scores (..., rating) are 0..n_scores-1, -1 missing; ``item`` and ``rater`` (rating,) are those
    of each rating, and ``membership`` says which rater belongs to which group; bool (group, rater).
    Counts are over (..., group, item, score); missing ratings count nowhere.

    Raises:
        ValueError: A score, item or rater is out of its range.

    Source: responsiveness paper, section 5.1.

    >>> membership = xr.DataArray([[True, True], [False, True]], dims=("group", "rater"))
    >>> score = xr.DataArray([0, 2, 2], dims="rating")
    >>> item, rater = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> sizes = {"n_scores": 3, "n_items": 2}
    >>> counts = score_counts(score, item=item, rater=rater, membership=membership, **sizes)
    >>> counts.values.tolist()
    [[[1, 0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]
    """
    counter = _row_counter(item, rater, membership, n_scores=n_scores, n_items=n_items)

    def count(scores: NDArray[np.integer]) -> NDArray[np.int32]:
        """Count each row of (..., rating) by itself: memory grows with the counts alone."""
        counts = np.empty((*scores.shape[:-1], *counter.shape), dtype=np.int32)
        for row, counted in counter.count_rows(scores):
            counts[row] = counted
        return counts

    counts: xr.DataArray = xr.apply_ufunc(
        count,
        score.drop_vars("rating", errors="ignore"),
        input_core_dims=[["rating"]],
        output_core_dims=[["group", "item", "score"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": counter.sizes},
        output_dtypes=[np.int32],
    )
    return counts.assign_coords(membership.isel(rater=0, drop=True).coords).assign_coords(
        score=np.arange(n_scores)
    )


@dataclass(frozen=True)
class _RowCounter:
    """What counts the scores of one row of ratings after the other.

    A class (class, group) holds the raters of the same groups: one pass over the ratings serves all
    groups.
    """

    item: NDArray[np.int32]
    rater: NDArray[np.int32]
    rater_class: NDArray[np.int64]
    classes: NDArray[np.bool_]
    n_items: int
    n_scores: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of groups, items and scores."""
        return self.classes.shape[1], self.n_items, self.n_scores

    @property
    def sizes(self) -> dict[str, int]:
        """The same by the name of their dimension."""
        return dict(zip(("group", "item", "score"), self.shape, strict=True))

    def count_rows(
        self, scores: NDArray[np.integer]
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.int32]]]:
        """Yield position and counts (group, item, score) of each row of (..., rating).

        Counts of the next row take the place of those of the one before.
        """
        _require_range("score", scores, below=self.n_scores, missing=True)
        by_class = np.empty((len(self.classes), self.n_items, self.n_scores), dtype=np.int32)
        counts = np.empty(self.shape, dtype=np.int32)
        for row in np.ndindex(scores.shape[:-1]):
            row_scores = np.ascontiguousarray(scores[row], dtype=np.int16)
            by_class[:], counts[:] = 0, 0
            count_scores(self.item, self.rater, row_scores, self.rater_class, by_class)
            add_classes(
                by_class.reshape(len(by_class), -1), self.classes, counts.reshape(len(counts), -1)
            )
            yield row, counts


def _row_counter(
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    membership: xr.DataArray,
    *,
    n_scores: int,
    n_items: int,
) -> _RowCounter:
    """Return what counts ratings of these items and raters; ValueError for others."""
    _require_range("rater", rater, below=membership.sizes["rater"])
    _require_range("item", item, below=n_items)
    classes, rater_class = np.unique(
        membership.transpose("rater", "group").to_numpy(), axis=0, return_inverse=True
    )
    return _RowCounter(
        item.astype(np.int32, copy=False),
        rater.astype(np.int32, copy=False),
        rater_class.reshape(-1).astype(np.int64),
        classes,
        n_items,
        n_scores,
    )


def tally_scores(
    score: xr.DataArray,
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    membership: xr.DataArray,
    n_scores: int,
    n_items: int,
    cut: int | None,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return what :func:`plurality` and :func:`crowd_label_counts` do of the counts of ratings.

    Other arguments are those of :func:`score_counts`; without a cut labels have no columns. Of
    scores over :data:`REPLICATE` labels are the mean of all replicates. Counts are kept of one row
    of ratings at a time: those of thousands of replicates are slow to write and to read.

    Source: responsiveness paper, sections 4 and 5.1.

    >>> membership = xr.DataArray([[True, True], [False, True]], {"group": ["all", "age=GenZ"]},
    ...                           ("group", "rater"))
    >>> item, rater = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> mode, label = tally_scores(xr.DataArray([2, 0, 2], dims="rating"), item=item, rater=rater,
    ...                            membership=membership, n_scores=3, n_items=2, cut=1)
    >>> mode.values.tolist(), label.values.tolist()
    ([[2, 2], [0, 2]], [[[0, 0], [0, 0]], [[0, 1], [0, 0]]])
    """
    counter = _row_counter(item, rater, membership, n_scores=n_scores, n_items=n_items)
    everyone = 0 if cut is None else _position_of_all(membership, cut, n_scores)
    n_labels = 0 if cut is None else 2

    def tally(scores: NDArray[np.integer]) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        """Modes (..., replicate, group, item), and labels of all replicates (..., group, item)."""
        modes = np.empty((*scores.shape[:-1], *counter.shape[:2]), dtype=np.int16)
        labels = np.empty((*scores.shape[:-2], *counter.shape[:2], n_labels), dtype=np.int32)
        for row in np.ndindex(scores.shape[:-2]):
            total = np.zeros(counter.shape, dtype=np.int32)
            for replicate, counts in counter.count_rows(scores[row]):
                modes[row][replicate] = _find_modes(counts)
                total += counts
            if cut is not None:
                label_outside(total[None], everyone, cut, labels[row][None])
        return modes, labels

    replicated = REPLICATE in score.dims
    modes, labels = xr.apply_ufunc(
        tally,
        (score if replicated else score.expand_dims(REPLICATE)).drop_vars(
            "rating", errors="ignore"
        ),
        input_core_dims=[[REPLICATE, "rating"]],
        output_core_dims=[[REPLICATE, "group", "item"], ["group", "item", "unsafe"]],
        dask="parallelized",
        dask_gufunc_kwargs={
            "allow_rechunk": True,
            "output_sizes": counter.sizes | {"unsafe": n_labels},
        },
        output_dtypes=[np.int16, np.int32],
    )
    if replicated:
        labels = labels / score.sizes[REPLICATE]
    else:
        modes = modes.isel({REPLICATE: 0}, drop=True)
    groups = membership.isel(rater=0, drop=True).coords
    unsafe = np.arange(n_labels)
    return modes.assign_coords(groups), labels.assign_coords(groups).assign_coords(unsafe=unsafe)


def plurality(counts: xr.DataArray) -> xr.DataArray:
    """Return the score that most raters of the group gave; the most unsafe one of a tie.

    ``S[g, i] = max argmax_s count[g, i, s]``

    Of counts (..., group, item, score) these are scores 0..K (..., group, item); -1 where the group
    did not rate the item. One rating is enough.

    Source: responsiveness paper, section 5.1.

    >>> counts = [[1, 3, 3], [0, 0, 0], [1, 0, 0]]
    >>> plurality(xr.DataArray(counts, dims=("item", "score"))).values.tolist()
    [2, -1, 0]
    """
    mode: xr.DataArray = xr.apply_ufunc(
        _find_modes,
        counts.drop_vars("score", errors="ignore"),
        input_core_dims=[["score"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.int16],
    )
    return mode


def _find_modes(counts: NDArray[np.number]) -> NDArray[np.int16]:
    """Position of the last of the largest counts along the last axis, -1 where all are 0."""
    modes = np.empty(counts.shape[:-1], dtype=np.int16)
    find_modes(np.ascontiguousarray(counts).reshape(modes.size, -1), modes.reshape(-1))
    return modes


def expert_label_counts(
    label: xr.DataArray | NDArray[np.integer], *, item: NDArray[np.integer], n_items: int
) -> xr.DataArray:
    """Count the experts who call each item safe and unsafe: one row for each item and expert.

    ``label_count[i, u] = #{experts e : U[i, e] = u}``

    Labels (..., row) are 1 unsafe, 0 safe and -1 missing, ``item`` (row,) the item of each, in
    0..n_items-1; others are refused. Counts are over (..., item, unsafe) with ``unsafe = [0, 1]``.

    Source: responsiveness paper, sections 4 and 5.1.

    >>> label, item = np.array([1, 0, 1, -1]), np.array([0, 0, 0, 1])
    >>> expert_label_counts(label, item=item, n_items=2).values.tolist()
    [[1, 2], [0, 0]]
    """
    counts = score_counts(
        _check_labels(label, dim="rating"),
        item=item,
        rater=np.zeros(len(item), dtype=np.int32),
        membership=xr.DataArray(np.ones((1, 1), dtype=bool), dims=("group", "rater")),
        n_scores=2,
        n_items=n_items,
    )
    return counts.isel(group=0).rename(score="unsafe")


def crowd_label_counts(counts: xr.DataArray, *, cut: int) -> xr.DataArray:
    """Count the crowd's ratings from outside each group that call an item safe and unsafe.

    ``label_count[g, i, 1] = #{ratings of i by raters not in g : score >= cut}``

    The group under evaluation is left out so that labels do not depend on its scores. Nobody is
    outside the group ``all``: its counts are 0, and its metrics are missing. Of counts
    (..., group, item, score) these are (..., group, item, unsafe) with ``unsafe = [0, 1]``.

    Raises:
        ValueError: The cut is not in 1..K, or there is no group ``all``.

    Source: responsiveness paper, section 4.

    >>> counts = xr.DataArray([[[1, 0, 2]], [[1, 0, 0]]], {"group": ["all", "age=GenZ"]},
    ...                       ("group", "item", "score"))
    >>> crowd_label_counts(counts, cut=2).values.tolist()
    [[[0, 0]], [[0, 2]]]
    """
    everyone = _position_of_all(counts, cut, counts.sizes["score"])

    def label(values: NDArray[np.number]) -> NDArray[np.number]:
        rows = np.ascontiguousarray(values).reshape(-1, *values.shape[-3:])
        labels = np.empty((*rows.shape[:-1], 2), dtype=rows.dtype)
        label_outside(rows, everyone, cut, labels)
        return labels.reshape(*values.shape[:-1], 2)

    labelled: xr.DataArray = xr.apply_ufunc(
        label,
        counts.drop_vars("score", errors="ignore"),
        input_core_dims=[["group", "item", "score"]],
        output_core_dims=[["group", "item", "unsafe"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": {"unsafe": 2}},
        output_dtypes=[counts.dtype],
    )
    return labelled.assign_coords(unsafe=[0, 1])


def _position_of_all(grouped: xr.DataArray, cut: int, n_scores: int) -> int:
    """Position of the group of all raters; ValueError without it, or for a cut off the scale."""
    if not 1 <= cut < n_scores:
        raise ValueError(f"cut = {cut} is off the scale (allowed: 1 to {n_scores - 1})")
    if ALL not in grouped.coords.get("group", ()):
        raise ValueError("crowd labels need the counts of the group 'all'")
    return int(grouped.indexes["group"].get_loc(ALL))


def item_label_counts(label: xr.DataArray | NDArray[np.integer]) -> xr.DataArray:
    """Turn one label for each item into counts: one row for each item.

    Labels (..., item) are 1 unsafe, 0 safe and -1 missing; others are refused. Counts are 0 or 1
    (..., item, unsafe) with ``unsafe = [0, 1]``; both are 0 where the label is missing.

    Source: responsiveness paper, section 5.1, with one label for each item.

    >>> item_label_counts(np.array([1, 0, -1])).values.tolist()
    [[0, 1], [1, 0], [0, 0]]
    """
    rows = _check_labels(label, dim="item")
    unsafe = xr.DataArray([0, 1], dims="unsafe", coords={"unsafe": [0, 1]})
    return (rows == unsafe).astype(np.int32)


def _check_labels(label: xr.DataArray | NDArray[np.integer], *, dim: str) -> xr.DataArray:
    """Labels over (..., dim); those out of range are refused when they are read."""

    def check(values: NDArray[np.integer]) -> NDArray[np.integer]:
        _require_range("label", values, below=2, missing=True)
        return values

    if isinstance(label, xr.DataArray):
        rows = label.rename({label.dims[-1]: dim})
    else:
        rows = xr.DataArray(label, dims=dim)
    checked: xr.DataArray = xr.apply_ufunc(
        check, rows, dask="parallelized", output_dtypes=[label.dtype], keep_attrs=True
    )
    return checked


def _require_range(
    name: str, values: NDArray[np.integer], *, below: int, missing: bool = False
) -> None:
    """Refuse codes out of range, which would be counted in another cell."""
    lowest = MISSING if missing else 0
    wrong = (values < lowest) | (values >= below)
    if wrong.any():
        codes = format_list(np.unique(values[wrong]))
        raise ValueError(f"{name} {codes} is out of range (allowed: {lowest} to {below - 1})")
