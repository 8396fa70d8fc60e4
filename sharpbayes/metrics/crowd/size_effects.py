"""What the number of a group's ratings does to its metrics, taken out of differences."""

from collections.abc import Callable, Iterator
from itertools import product, zip_longest

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.rater_resampling import MAX_READ, RaterRuns, measure_weighted

# Random subsets of the raters for each size; fewer for large crowds.
FEWEST, MOST = 20, 100
# Groups with more than this share of each other's ratings an item count as equal: what so few
# ratings do is less than its Monte Carlo error (docs/benchmarks/unequal_groups.md).
EQUAL_SHARE = 0.8
ENDS = ("", "_variance")
# Separates the random stream of the subsets from those of the resamples.
SUBSET_STREAM = 0x1B873593


def size_effects(
    runs: RaterRuns,
    statistic: Callable[[xr.DataArray], xr.Dataset],
    observed: xr.Dataset,
    *,
    membership: xr.DataArray,
    seed: int,
) -> xr.Dataset:
    """Return how much of every difference between groups is due to their numbers of ratings.

    The plurality score of many ratings is steadier than that of few, so that of two groups of the
    same law the larger one has the higher metrics. With r ratings an item, and r[h] < r[g],

    ``size_effect[g, h] = T[g] - T[h] - mean over subsets of (T[subset of g] - T[h])``

    where a subset has ``n[g] r[h] / r[g]`` of the ``n[g]`` raters. Where the crowd labels, labels
    are those of the subsets.

    ``membership`` (group, rater) has the coordinate ``grouping``; the statistic takes rows over
    (replicate, group, by, score, unsafe), and ``observed`` (group, by) is what it is of all raters.
    The result has ``name`` and ``name_variance``, the Monte Carlo variance, over (group, other,
    by); 0 where ratings an item of both groups differ by less than 20%, missing where a group has
    no value.

    Source: comparison of equally many as in rarefaction (Hurlbert 1971).

    >>> from sharpbayes.metrics.crowd.rater_resampling import rater_runs
    >>> from sharpbayes.metrics.crowd.responsiveness import severity_metrics
    >>> rng, unsafe = np.random.default_rng(1), np.arange(40) % 2
    >>> item, rater = np.divmod(np.arange(40 * 12), 12)
    >>> score = np.clip(unsafe[item] + rng.integers(0, 3, item.size), 0, 2)
    >>> groups = {"group": ["g=a", "g=b"], "grouping": ("group", ["g", "g"])}
    >>> member = np.stack([np.arange(12) < 2, np.arange(12) >= 2])
    >>> member = xr.DataArray(member, groups, ("group", "rater"))
    >>> labels = xr.DataArray(np.stack([1 - unsafe, unsafe], 1), dims=("item", "unsafe"))
    >>> every = xr.DataArray(np.ones((1, 40), bool), {"by": ["all"]}, ("by", "item"))
    >>> codes = {"item": item, "rater": rater, "membership": member}
    >>> runs = rater_runs(score, **codes, strata=every, label_count=labels, cut=0, n_scores=3)
    >>> measure = lambda rows: severity_metrics(rows, ["wra"])
    >>> everyone = np.ones((1, runs.n_weights), np.uint16)
    >>> observed = measure_weighted(runs, measure, everyone).isel(replicate=0)
    >>> effect = size_effects(runs, measure, observed, membership=member, seed=1)
    >>> bool(effect["wra"].sel(group="g=b", other="g=a", by="all") > 0.1)
    True
    """
    member = membership.transpose("group", "rater").to_numpy()
    grouping = observed["grouping"].to_numpy()
    names = [str(name) for name in observed]
    values = {name: observed[name].transpose("group", "by").to_numpy() for name in names}
    shape = (len(member), *next(iter(values.values())).shape)
    effect = {name: np.zeros((2, *shape)) for name in names}
    raters = member.sum(axis=1)
    kept = _subset_sizes(_ratings_per_item(runs, len(member)), raters)
    measured = np.any([np.isfinite(value).any(axis=1) for value in values.values()], axis=0)
    for targets in _list_rounds(grouping, kept < raters, measured):
        sizes = raters.copy()
        for target, groups in targets:
            sizes[groups] = kept[target, groups]
        weights = _draw_subsets(runs, member, grouping, sizes, seed=seed)
        rows = measure_weighted(runs, statistic, weights)
        for name, (target, groups) in product(names, targets):
            matched = rows[name].transpose("replicate", "group", "by").to_numpy()
            gap = matched[:, groups] - matched[:, [target]]
            shift = values[name][groups] - values[name][[target]] - gap.mean(axis=0)
            effect[name][0, groups, target], effect[name][0, target, groups] = shift, -shift
            spread = gap.var(axis=0, ddof=1) / len(gap)
            effect[name][1, groups, target] = effect[name][1, target, groups] = spread
    coords = {"by": observed["by"].to_numpy()}
    coords |= dict.fromkeys(("group", "other"), observed["group"].to_numpy())
    dims = ("group", "other", "by")
    tables = {f"{name}{end}": effect[name][n] for name in names for n, end in enumerate(ENDS)}
    return xr.Dataset({name: (dims, table) for name, table in tables.items()}, coords)


def _ratings_per_item(runs: RaterRuns, groups: int) -> NDArray[np.float64]:
    """Mean number of ratings of the items that a group rated."""
    _, _, run, group, *_ = runs.arrays
    known = group >= 0
    ratings = np.bincount(group[known], np.diff(run)[known], minlength=groups)
    return ratings / np.maximum(np.bincount(group[known], minlength=groups), 1)


def _subset_sizes(ratings: NDArray[np.float64], raters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of raters of each group, in the last dimension, whose ratings are those of another.

    >>> _subset_sizes(np.array([4.0, 10.0, 9.0]), np.array([4, 30, 30])).tolist()
    [[4, 12, 13], [4, 30, 30], [4, 30, 30]]
    """
    share = ratings[:, None] / np.maximum(ratings, 1e-9)
    share = np.where(share > EQUAL_SHARE, 1.0, share)
    return np.maximum(np.rint(share * raters), 1).astype(np.int64)


def _list_rounds(
    grouping: NDArray[np.str_], is_larger: NDArray[np.bool_], measured: NDArray[np.bool_]
) -> Iterator[list[tuple[int, NDArray[np.intp]]]]:
    """Yield groups with the larger ones of their grouping, one of each grouping at a time.

    >>> grouping, larger = np.array(["g", "g", "h", "h"]), np.triu(np.ones((4, 4), bool), 1)
    >>> [[(t, others.tolist()) for t, others in targets]
    ...  for targets in _list_rounds(grouping, larger, np.ones(4, bool))]
    [[(0, [1]), (2, [3])]]
    """
    compared = is_larger & measured & measured[:, None] & (grouping == grouping[:, None])
    targets = [(int(target), np.flatnonzero(row)) for target, row in enumerate(compared)]
    by_grouping = [
        [one for one in targets if one[1].size and grouping[one[0]] == name]
        for name in dict.fromkeys(grouping.tolist())
    ]
    for targets_of_round in zip_longest(*by_grouping):
        yield [target for target in targets_of_round if target is not None]


def _draw_subsets(
    runs: RaterRuns,
    member: NDArray[np.bool_],
    grouping: NDArray[np.str_],
    sizes: NDArray[np.int64],
    *,
    seed: int,
) -> NDArray[np.uint16]:
    """Draw which raters of each group are kept, over (replicate, groupings x raters)."""
    ratings = max(runs.arrays[0].size, 1)
    replicates = int(np.clip(MAX_READ // (10 * ratings), FEWEST, MOST))
    weights = np.ones((replicates, runs.n_weights), np.uint16)
    names = list(dict.fromkeys(grouping.tolist()))
    for group, (raters, size) in enumerate(zip(member, sizes, strict=True)):
        columns = np.flatnonzero(raters) + names.index(grouping[group]) * member.shape[1]
        if size < columns.size:
            rng = np.random.default_rng([seed, SUBSET_STREAM, group])
            order = rng.random((replicates, columns.size)).argsort(axis=1)
            weights[:, columns] = order < size
    return weights
