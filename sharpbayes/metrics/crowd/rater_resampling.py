"""Raters resampled: how far metrics of groups vary with who happened to rate."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.rater_kernels import tabulate_resampled_raters
from sharpbayes.metrics.stats.kernels import count_draws
from sharpbayes.metrics.stats.resampling import block_size, compute_in_blocks

Codes = NDArray[np.integer]
Index = NDArray[np.int64]
# Ratings that all resamples of the raters read together, at most; few resamples are enough for a
# variance.
MAX_READ, FEWEST, MOST = 2_000_000_000, 200, 500
# Separates the random streams of raters, group by group, from those of items.
RATER_STREAM = 0x2545F491


@dataclass(frozen=True)
class RaterRuns:
    """Ratings of a crowd in runs: those of one item by the raters of one group.

    Attributes:
        arrays: The arguments ``score`` to ``stratum`` of the compiled loop.
        members: Columns of the weights of raters that each group draws from; raters of no group
            are a group of their grouping.
        labels: Safe and unsafe labels of each item; zeros where the crowd labels.
        cut: Lowest unsafe score where the crowd labels, else 0.
        coords: Labels of groups, strata, scores and safety.
        n_weights: Number of groupings times number of raters.
    """

    arrays: tuple[Index, ...]
    members: tuple[Index, ...]
    labels: NDArray[np.float64]
    cut: int
    coords: dict[str, xr.DataArray]
    n_weights: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of groups, strata, scores and labels."""
        return tuple(len(coord) for coord in self.coords.values())

    @property
    def replicates(self) -> int:
        """Number of resamples that bounds the work."""
        return int(np.clip(MAX_READ // max(self.arrays[0].size, 1), FEWEST, MOST))


def rater_runs(
    score: Codes,
    *,
    item: Codes,
    rater: Codes,
    membership: xr.DataArray,
    strata: xr.DataArray,
    label_count: xr.DataArray,
    cut: int,
    n_scores: int,
) -> RaterRuns:
    """Order ratings (rating,) by grouping, item and group.

    ``membership`` (group, rater) has the coordinate ``grouping``, ``strata`` are over (by, item),
    ``label_count`` (item, unsafe) is not read where labels are the crowd's own, from ``cut`` up.
    """
    grouping, n_raters = membership["grouping"].to_numpy(), membership.sizes["rater"]
    member = membership.transpose("group", "rater").to_numpy()
    names = list(dict.fromkeys(grouping.tolist()))
    parts, members = [], []
    for number, name in enumerate(names):
        groups = np.flatnonzero(grouping == name)
        group = np.where(member[groups].any(axis=0), groups[member[groups].argmax(axis=0)], -1)
        members += [np.flatnonzero(group == g) + number * n_raters for g in (-1, *groups)]
        order = np.lexsort((group[rater], item))
        columns = rater + number * n_raters, item, group[rater], np.full(len(item), number)
        parts.append([score[order], *(column[order] for column in columns)])
    joined = [np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True)]
    scores, column, items, group_of, part = joined
    new_block = np.flatnonzero(_changes(part, items))
    new_run = np.flatnonzero(_changes(part, items, group_of))
    block = np.append(np.searchsorted(new_run, new_block), new_run.size)
    run = np.append(new_run, scores.size)
    inside = strata.transpose("item", "by").to_numpy()
    stratum = np.where(inside, np.arange(inside.shape[1]), -1).astype(np.int64)
    labels = np.zeros((len(inside), 2))
    if not cut:
        labels[:] = label_count.transpose("item", "unsafe")
    return RaterRuns(
        (scores, column, run, group_of[new_run], block, items[new_block], stratum),
        tuple(filter(len, members)),
        labels,
        cut,
        {
            "group": membership["group"],
            "by": strata["by"],
            "score": xr.DataArray(np.arange(n_scores), dims="score"),
            "unsafe": xr.DataArray([0, 1], dims="unsafe"),
        },
        len(names) * n_raters,
    )


def resample_raters(
    runs: RaterRuns,
    statistic: Callable[[xr.DataArray], xr.Dataset],
    *,
    seed: int,
    single_ratings: bool,
) -> xr.Dataset:
    """Return a statistic of the rows by score and label for every resample of the raters.

    Every group of a grouping draws as many raters as it has from its own, with all their ratings;
    the plurality score of an item is that of the raters drawn. With ``single_ratings``, the ratings
    of each item are drawn instead, independently of other items, so that all that the ratings of a
    rater have in common is lost. Items and their labels are fixed.

    The statistic takes rows over (replicate, group, by, score, unsafe).
    """

    def compute(block: range) -> xr.Dataset:
        weights = np.zeros((len(block), 0 if single_ratings else runs.n_weights), np.uint16)
        for number, columns in enumerate(() if single_ratings else runs.members):
            counts = np.empty((len(block), columns.size), np.uint16)
            count_draws(seed ^ (RATER_STREAM + number), block.start, counts)
            weights[:, columns] = counts
        return measure_weighted(runs, statistic, weights, seed=seed, start=block.start)

    block = block_size(int(np.prod(runs.shape)))
    return compute_in_blocks(compute, replicates=runs.replicates, block=block)


def measure_weighted(
    runs: RaterRuns,
    statistic: Callable[[xr.DataArray], xr.Dataset],
    weights: NDArray[np.uint16],
    *,
    seed: int = 0,
    start: int = 0,
) -> xr.Dataset:
    """Return a statistic of the rows by score and label for weights (replicate, column) of raters.

    Without columns the ratings of each item are drawn, by ``seed`` and the number of the replicate
    from ``start`` on.
    """
    table = np.zeros((len(weights), *runs.shape))
    arguments = (*runs.arrays, runs.labels, runs.cut, weights, table)
    tabulate_resampled_raters(seed, start, *arguments)  # type: ignore[arg-type]
    rows = xr.DataArray(table, dims=("replicate", *runs.coords))
    numbers = list(range(start, start + len(weights)))
    return statistic(rows.assign_coords({**runs.coords, "replicate": numbers}))


def _changes(*columns: Index) -> NDArray[np.bool_]:
    """Whether a row differs from the one before it; the first does."""
    return np.any([np.append(True, column[1:] != column[:-1]) for column in columns], axis=0)
