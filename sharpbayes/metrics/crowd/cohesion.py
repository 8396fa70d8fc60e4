"""How much raters of a group agree with each other, and with everyone else.

Everything follows from counts of pairs of scores that two raters gave to one item: both inside the
group, or one inside and one outside it. Every function takes any leading dimensions; of an array of
Dask the result is one too.
"""

from functools import partial
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.errors import format_count
from sharpbayes.execution.threads import thread_map
from sharpbayes.metrics.crowd.groups import split_groupings
from sharpbayes.metrics.crowd.kernels import count_pairs
from sharpbayes.metrics.crowd.least_numbers import explain_few_raters
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.metrics.stats.multiplicity import benjamini_hochberg, two_sided_p

Codes = NDArray[np.integer]
Distance = Literal["nominal", "ordinal", "interval"]

MEASURES = ("irr", "xrr", "gai")
# Dimensions of each count of pairs, after those of the partitions.
COUNTS = {
    "within": ("score", "other", "group"),
    "cross": ("score", "other", "group"),
    "inside": ("score", "group"),
    "outside": ("score", "group"),
}
# Number of partitions that one thread counts at a time.
BLOCK = 8
# Number of ratings that are counted at a time.
ROWS = 1 << 20
LONG_NAMES = {
    "irr": "in-group cohesion, Krippendorff's alpha, at most 1",
    "xrr": "cross-group cohesion, at most 1",
    "gai": "group association index, irr / xrr",
    "raters": "raters in the group",
    "items": "items that two raters of the group scored",
    "reason": "why measures are missing, empty where they are not",
}


def pair_counts(
    score: Codes, *, item: Codes, rater: Codes, group: xr.DataArray, n_groups: int, n_scores: int
) -> xr.Dataset:
    """Count pairs of scores of the same item.

    With m ratings of item i inside the group and n outside, x_c and y_c of them with score c:
    ``within[c, k] = sum_i x_c (x_k - [c = k]) / (m - 1)`` over items with m >= 2, and
    ``cross[c, k] = sum_i x_c y_k (m + n) / (m n)`` over items with both sides.

    Scores are 0..n_scores-1, none missing; ``score``, ``item`` and ``rater`` are those of each
    rating. ``group`` (..., rater) is the group of each rater, -1 for none. The result has
    ``within`` and ``cross`` (..., score, other, group), ``inside`` and ``outside`` (..., score,
    group): scores of the items that ``cross`` is about.

    Source: Krippendorff 2011 (``within``); Wong, Paritosh and Aroyo 2021, with missing ratings
    (``cross``).

    >>> group = xr.DataArray([0, 0, 1], dims="rater")
    >>> item, rater = np.array([0, 0, 0]), np.array([0, 1, 2])
    >>> sizes = {"n_groups": 2, "n_scores": 2}
    >>> pairs = pair_counts(np.array([0, 1, 1]), item=item, rater=rater, group=group, **sizes)
    >>> pairs["within"].sel(group=0).values.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> pairs["cross"].sel(group=0).values.tolist()
    [[0.0, 1.5], [0.0, 1.5]]
    """
    order = np.argsort(item, kind="stable") if (item[1:] < item[:-1]).any() else slice(None)
    # Keys of the same kind: others would copy every item.
    keys = np.arange(int(item.max(initial=-1)) + 2, dtype=item.dtype)
    first = np.searchsorted(item[order], keys)
    rows = (rater[order].astype(np.int32, copy=False), score[order].astype(np.int16, copy=False))
    sizes = {"score": n_scores, "other": n_scores, "group": n_groups}
    counts = xr.apply_ufunc(
        partial(_count_partitions, first=first, rows=rows, sizes=sizes),
        group.where(group >= 0, n_groups).reset_coords(drop=True),
        input_core_dims=[["rater"]],
        output_core_dims=list(COUNTS.values()),
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": sizes},
        output_dtypes=[np.float64] * len(COUNTS),
    )
    return xr.Dataset(dict(zip(COUNTS, counts, strict=True)))


def distances(margin: xr.DataArray, *, distance: Distance) -> xr.DataArray:
    """Return the squared distance of every two scores; (..., score, other), not negative.

    ``nominal``: 1 unless equal. ``interval``: ``(c - k)^2``. ``ordinal``: the squared number of
    ratings between the two, half of their own counted, of ratings with each score (..., score).

    Source: Krippendorff 2011.

    >>> margin = xr.DataArray([2.0, 4.0, 2.0], dims="score")
    >>> distances(margin, distance="ordinal").values.tolist()
    [[0.0, 9.0, 36.0], [9.0, 0.0, 9.0], [36.0, 9.0, 0.0]]
    """
    if distance == "ordinal":
        position = positions(margin)
    else:
        position = xr.DataArray(np.arange(float(margin.sizes["score"])), dims="score")
    difference = position - position.rename(score="other")
    return (difference != 0).astype(float) if distance == "nominal" else difference**2


def positions(margin: xr.DataArray) -> xr.DataArray:
    """Return where scores stand on the ordinal scale, from ratings with each score (..., score).

    >>> positions(xr.DataArray([2.0, 4.0, 2.0], dims="score")).values.tolist()
    [1.0, 4.0, 7.0]
    """
    return margin.cumsum("score") - margin / 2


def irr(within: xr.DataArray, *, distance: Distance) -> xr.DataArray:
    """Return in-group cohesion: Krippendorff's alpha of the raters of a group.

    ``IRR = 1 - D_o / D_e``, the mean distance of two ratings of one item over that of any ratings.

    Of pairs of scores inside the group (..., score, other) it is at most 1, and 0 where raters
    agree as by chance (...). NaN where no item has two ratings, or all ratings are the same.

    Source: responsiveness paper, Appendix B; Krippendorff 2011.

    >>> within = xr.DataArray([[6.0, 1.0], [1.0, 2.0]], dims=("score", "other"))
    >>> round(float(irr(within, distance="nominal")), 4)  # 1 - (2 / 10) / (2 * 7 * 3 / 90)
    0.5714
    """
    margin = within.sum("other")
    total = margin.sum("score")
    distance_of = distances(margin, distance=distance)
    observed = (within * distance_of).sum(["score", "other"]) / total.where(total > 0)
    chance = (margin * margin.rename(score="other") * distance_of).sum(["score", "other"])
    expected = chance / (total * (total - 1)).where(total > 1)
    return 1 - observed / expected.where(expected > 0)


def xrr(pairs: xr.Dataset, *, distance: Distance) -> xr.DataArray:
    """Return cross-group cohesion: agreement of a rater inside the group with one outside.

    ``XRR = 1 - d_o / d_e``, the mean distance of a rating inside and one outside of the same item,
    over that of a rating inside and one outside of any items. The distance ``ordinal`` counts
    ratings of both sides.

    Of ``cross`` (..., score, other), ``inside`` and ``outside`` (..., score) it is at most 1, and 0
    where raters agree as by chance (...). NaN where no item has both sides or all scores are equal.

    Source: responsiveness paper, Appendix B; Wong, Paritosh and Aroyo 2021.

    >>> group = xr.DataArray([0, 1], dims="rater")
    >>> item, rater = np.divmod(np.arange(6), 2)
    >>> score, sizes = np.array([0, 0, 1, 1, 0, 1]), {"n_groups": 2, "n_scores": 2}
    >>> pairs = pair_counts(score, item=item, rater=rater, group=group, **sizes)
    >>> round(float(xrr(pairs, distance="nominal").sel(group=0)), 4)  # 1 - (1/3) / (5/9)
    0.4
    """
    distance_of = distances(pairs["inside"] + pairs["outside"], distance=distance)
    both = ["score", "other"]
    total = pairs["cross"].sum(both)
    observed = (pairs["cross"] * distance_of).sum(both) / total.where(total > 0)
    outside = pairs["outside"].rename(score="other")
    number = pairs["inside"].sum("score") * outside.sum("other")
    expected = (pairs["inside"] * outside * distance_of).sum(both) / number.where(number > 0)
    return 1 - observed / expected.where(expected > 0)


def gai(irr: xr.DataArray, xrr: xr.DataArray) -> xr.DataArray:
    """Return the group association index: how much more a group agrees inside than across.

    ``GAI = IRR / XRR``

    It is above 1 where raters of the group agree more with each other; NaN where either is not
    positive, because the ratio then has no meaning. Where XRR is near 0 it says little.

    Source: responsiveness paper, Appendix B; Prabhakaran et al. 2024.

    >>> float(gai(xr.DataArray(0.3), xr.DataArray(0.25)))
    1.2
    """
    return (irr / xrr.where(xrr > 0)).where(irr > 0)


def agreement_measures(pairs: xr.Dataset, *, distance: Distance) -> xr.Dataset:
    """Return ``irr``, ``xrr`` and ``gai`` of every group from its pairs of scores."""
    inside, across = irr(pairs["within"], distance=distance), xrr(pairs, distance=distance)
    return xr.Dataset({"irr": inside, "xrr": across, "gai": gai(inside, across)})


def cohesion(
    score: Codes,
    *,
    item: Codes,
    rater: Codes,
    membership: xr.DataArray,
    n_scores: int,
    distance: Distance,
    permutations: int,
    seed: int,
    min_raters: int,
    min_items: int,
) -> xr.Dataset:
    """Compute IRR, XRR and GAI of every group with permutation p values.

    Ratings, scores and the distance are those of :func:`pair_counts` and :func:`distances`. Raters
    are shuffled between the groups of a grouping, each group keeping its size; a rater who has no
    group there stays outside. p values are two-sided, and missing without shuffles; the adjusted
    ones are corrected by Benjamini and Hochberg over all groups and measures at once.

    Measures of a group are missing where it has fewer than ``min_raters`` raters, or two of them
    scored fewer than ``min_items`` items. ``membership`` says which rater belongs to which group;
    bool (group, rater) with the coordinate ``grouping``. The result has, over (group), ``irr``,
    ``xrr``, ``gai``, each with ``_p`` and ``_p_adjusted``; ``raters``, ``items`` and ``reason``.
    XRR and GAI are NaN for a group with nobody outside it.

    Source: responsiveness paper, Appendix B, Tables 1 and 2; Prabhakaran et al. 2024.

    >>> from sharpbayes.metrics.crowd.groups import assign_groups
    >>> rng = np.random.default_rng(1)
    >>> item, rater = np.divmod(np.arange(200), 10)
    >>> score = (rng.random(20)[item] + 0.3 * rng.random(200) > 0.6).astype(int)
    >>> membership = assign_groups({"g": np.repeat(["a", "b"], 5)}, [["g"]], n_raters=10)
    >>> table = cohesion(score, item=item, rater=rater, membership=membership, n_scores=2,
    ...                  distance="nominal", permutations=99, seed=1, min_raters=3, min_items=10)
    >>> table["irr"].round(2).values.tolist()
    [0.75, 0.74, 0.76]
    >>> table["reason"].sel(group="all").item()
    'no rater outside the group: no XRR and GAI'
    """
    tables = []
    for number, (groups, code) in enumerate(split_groupings(membership)):
        # A group alone in its grouping has nobody to swap raters with.
        replicates = permutations if groups.sizes["group"] > 1 else 0
        shuffled = shuffle_raters(code, replicates, seed=[seed, number])
        pairs = pair_counts(
            score,
            item=item,
            rater=rater,
            group=xr.concat([code.expand_dims("permutation"), shuffled], "permutation"),
            n_groups=groups.sizes["group"],
            n_scores=n_scores,
        ).assign_coords(groups.isel(rater=0, drop=True).coords)
        table = _add_p_values(agreement_measures(pairs, distance=distance))
        outside = pairs["outside"].isel(permutation=0, drop=True).sum("score")
        tables.append(table.assign(is_shared=outside > 0))
    table = xr.concat(tables, "group", coords="different", compat="equals").assign(
        raters=membership.sum("rater"), items=_count_paired_items(item, rater, membership)
    )
    table["reason"] = _explain_missing(table, min_raters, min_items)
    table = _mask_missing(table, membership.sizes["rater"])
    p = np.stack([table[f"{name}_p"].to_numpy() for name in MEASURES])
    for name, row in zip(MEASURES, benjamini_hochberg(p), strict=True):
        table[f"{name}_p_adjusted"] = ("group", row)
    return table.assign_coords(group=table["group"].astype(str))


def shuffle_raters(group: xr.DataArray, replicates: int, *, seed: int | list[int]) -> xr.DataArray:
    """Return the group of each rater (permutation, rater), shuffled; -1, no group, stays."""
    codes = group.to_numpy()
    rows = np.tile(codes, (replicates, 1))
    grouped = np.flatnonzero(codes >= 0)
    rows[:, grouped] = np.random.default_rng(seed).permuted(rows[:, grouped], axis=1)
    return xr.DataArray(rows, dims=("permutation", "rater"))


def _count_partitions(
    group: NDArray[np.number],
    *,
    first: NDArray[np.int64],
    rows: tuple[NDArray[np.int32], NDArray[np.int16]],
    sizes: dict[str, int],
) -> tuple[NDArray[np.float64], ...]:
    """Counts of pairs for each partition (..., rater) of the raters, on threads."""
    flat = group.reshape(-1, group.shape[-1]).astype(np.uint32)
    shapes = [tuple(sizes[dim] for dim in dims) for dims in COUNTS.values()]
    counts = [np.zeros((len(flat), *shape)) for shape in shapes]

    def count(start: int) -> None:
        block = slice(start, start + BLOCK)
        count_pairs(first, *rows, np.ascontiguousarray(flat[block].T), *(c[block] for c in counts))

    thread_map(count, range(0, len(flat), BLOCK))
    lead = group.shape[:-1]
    return tuple(c.reshape(*lead, *shape) for c, shape in zip(counts, shapes, strict=True))


def _add_p_values(measured: xr.Dataset) -> xr.Dataset:
    """Observed measures, which come first, with p values from the shuffled ones."""
    observed = measured.isel(permutation=0, drop=True)
    shuffled = measured.isel(permutation=slice(1, None))
    p = {name: two_sided_p(shuffled[name], observed[name], dim="permutation") for name in MEASURES}
    return observed.assign({f"{name}_p": values for name, values in p.items()})


def _count_paired_items(item: Codes, rater: Codes, membership: xr.DataArray) -> xr.DataArray:
    """Items that two or more raters of each group scored, in blocks, because counting copies."""
    items = []
    for member in membership.transpose("group", "rater").to_numpy():
        ratings = np.zeros(int(item.max(initial=-1)) + 1, dtype=np.int64)
        for start in range(0, len(item), ROWS):
            rows = slice(start, start + ROWS)
            ratings += np.bincount(item[rows][member[rater[rows]]], minlength=len(ratings))
        items.append(int((ratings > 1).sum()))
    return xr.DataArray(items, dims="group", coords=membership.isel(rater=0, drop=True).coords)


def _explain_missing(table: xr.Dataset, min_raters: int, min_items: int) -> xr.DataArray:
    """Why measures of a group are missing."""
    texts = []
    for raters, items, measure in zip(
        table["raters"].values, table["items"].values, table["irr"].values, strict=True
    ):
        reasons = list(filter(None, [explain_few_raters(int(raters), min_raters)]))
        if items < min_items:
            paired = f"{format_count(int(items), 'item')} that two raters of the group scored"
            reasons.append(f"{paired}, fewer than min_items = {min_items}")
        if not reasons and np.isnan(measure):
            reasons.append("all scores are the same")
        texts.append("; ".join(reasons))
    return table["raters"].copy(data=np.array(texts, dtype=np.str_))


def _mask_missing(table: xr.Dataset, n_raters: int) -> xr.Dataset:
    """Blank the measures of groups that are too small, and say where nobody is outside."""
    enough = table["reason"] == ""
    masked = [f"{name}{end}" for name in MEASURES for end in ("", "_p")]
    table = table.assign({name: table[name].where(enough) for name in masked})
    alone = enough & (table["raters"] == n_raters)
    table["irr_p"] = table["irr_p"].where(~alone)
    reason = table["reason"].astype(object)
    reason = reason.where(~alone, "no rater outside the group: no XRR and GAI")
    why = {
        "no item was also scored by a rater outside the group: no XRR and GAI": ~table["is_shared"],
        "XRR is not positive: no GAI": ~(table["xrr"] > 0),
        "IRR is not positive: no GAI": ~(table["irr"] > 0),
    }
    for text, is_so in why.items():
        reason = reason.where(~(enough & is_so) | (reason != ""), text)
    table["reason"] = reason.astype(str)
    return name_variables(table.drop_vars("is_shared"), LONG_NAMES)
