"""How much raters of a group agree with each other, and with everyone else.

Everything follows from counts of pairs of scores that two raters gave to one item: both inside the
group, or one inside and one outside it. Every function takes any extra leading dimensions, such as
``permutation``; of an array of Dask the result is one too, and blocks are read when it is.
"""

from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.groups import format_count
from sharpbayes.metrics.crowd.pairs import SCORES, count_partition_pairs
from sharpbayes.metrics.stats.multiplicity import benjamini_hochberg, two_sided_p

Distance = Literal["nominal", "ordinal", "interval"]

NOBODY_OUTSIDE = "no rater outside the group: no XRR and GAI"
MEASURES = ("irr", "xrr", "gai")
# Ratings that are format_count at a time.
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
    score: NDArray[np.integer],
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    kind: xr.DataArray,
    n_groups: int,
    n_scores: int,
) -> xr.Dataset:
    """Count pairs of scores of the same item.

    With m ratings of item i inside the group and n outside, x_c and y_c of them with score c:
    ``within[c, k] = sum_i x_c (x_k - [c = k]) / (m - 1)`` over items with m >= 2, and
    ``cross[c, k] = sum_i x_c y_k (m + n) / (m n)`` over items with both sides.

    Args:
        score: Scores 0..n_scores-1, none missing; (rating,).
        item: Item of each rating.
        rater: Rater of each rating, a position in ``kind``.
        kind: Group of each rater, -1 for none; (..., rater).
        n_groups: Number of groups.
        n_scores: Number of scores of the scale, K + 1.

    Returns:
        ``within`` and ``cross`` (..., score, other, group), ``inside`` and ``outside`` (..., score,
        group): scores of the items that ``cross`` is about.

    Source: Krippendorff 2011 (``within``); Wong, Paritosh and Aroyo 2021, with missing ratings
    (``cross``).

    >>> kind = xr.DataArray([0, 0, 1], dims="rater")
    >>> item, rater = np.array([0, 0, 0]), np.array([0, 1, 2])
    >>> pairs = pair_counts(
    ...     np.array([0, 1, 1]), item=item, rater=rater, kind=kind, n_groups=2, n_scores=2
    ... )
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
    over = {name: [*["score", "other"][:number], "group"] for name, number in SCORES.items()}
    found = xr.apply_ufunc(
        partial(
            count_partition_pairs, first=first, rows=rows, n_scores=n_scores, n_groups=n_groups
        ),
        kind.where(kind >= 0, n_groups).reset_coords(drop=True),
        input_core_dims=[["rater"]],
        output_core_dims=list(over.values()),
        dask="parallelized",
        dask_gufunc_kwargs={
            "allow_rechunk": True,
            "output_sizes": {"score": n_scores, "other": n_scores, "group": n_groups},
        },
        output_dtypes=[np.float64] * len(over),
    )
    return xr.Dataset(dict(zip(over, found, strict=True)))


def distances(margin: xr.DataArray, *, distance: Distance) -> xr.DataArray:
    """Return the squared distance of every two scores.

    ``nominal``: 1 unless equal. ``interval``: ``(c - k)^2``. ``ordinal``: the squared number of
    ratings between the two, half of their own format_count.

    Args:
        margin: Ratings with each score; (..., score). Only ``ordinal`` looks at them.
        distance: Which of the three.

    Returns:
        Squared distances (..., score, other), not negative.

    Source: Krippendorff 2011.

    >>> margin = xr.DataArray([2.0, 4.0, 2.0], dims="score")
    >>> distances(margin, distance="ordinal").values.tolist()
    [[0.0, 9.0, 36.0], [9.0, 0.0, 9.0], [36.0, 9.0, 0.0]]
    """
    if distance == "ordinal":
        place = margin.cumsum("score") - margin / 2
    else:
        place = xr.DataArray(np.arange(float(margin.sizes["score"])), dims="score")
    apart = place - place.rename(score="other")
    return (apart != 0).astype(float) if distance == "nominal" else apart**2


def irr(within: xr.DataArray, *, distance: Distance) -> xr.DataArray:
    """Return in-group cohesion: Krippendorff's alpha of the raters of a group.

    ``IRR = 1 - D_o / D_e``, the mean distance of two ratings of the same item over that of any two
    ratings.

    Args:
        within: Pairs of scores inside the group; (..., score, other).
        distance: Between scores.

    Returns:
        At most 1, 0 where raters agree as often as by chance (...). NaN where no item has two
        ratings, or all ratings are the same.

    Source: responsiveness paper, Appendix B; Krippendorff 2011.

    >>> within = xr.DataArray([[6.0, 1.0], [1.0, 2.0]], dims=("score", "other"))
    >>> round(float(irr(within, distance="nominal")), 4)  # 1 - (2 / 10) / (2 * 7 * 3 / 90)
    0.5714
    """
    margin = within.sum("other")
    total = margin.sum("score")
    apart = distances(margin, distance=distance)
    observed = (within * apart).sum(["score", "other"]) / total.where(total > 0)
    chance = (margin * margin.rename(score="other") * apart).sum(["score", "other"])
    expected = chance / (total * (total - 1)).where(total > 1)
    return 1 - observed / expected.where(expected > 0)


def xrr(pairs: xr.Dataset, *, distance: Distance) -> xr.DataArray:
    """Return cross-group cohesion: agreement of a rater inside the group with one outside.

    ``XRR = 1 - d_o / d_e``, the mean distance of a rating inside and one outside of the same item,
    over that of a rating inside and one outside of any items.

    Args:
        pairs: ``cross`` (..., score, other), ``inside`` and ``outside`` (..., score).
        distance: Between scores; ``ordinal`` counts ratings of both sides.

    Returns:
        At most 1, 0 where raters agree as often as by chance (...). NaN where no item has both
        sides, or all ratings are the same.

    Source: responsiveness paper, Appendix B; Wong, Paritosh and Aroyo 2021.

    >>> kind = xr.DataArray([0, 1], dims="rater")
    >>> item, rater = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    >>> pairs = pair_counts(
    ...     np.array([0, 0, 1, 1, 0, 1]), item=item, rater=rater, kind=kind, n_groups=2, n_scores=2
    ... )
    >>> round(float(xrr(pairs, distance="nominal").sel(group=0)), 4)  # 1 - (1/3) / (5/9)
    0.4
    """
    apart = distances(pairs["inside"] + pairs["outside"], distance=distance)
    both = ["score", "other"]
    total = pairs["cross"].sum(both)
    observed = (pairs["cross"] * apart).sum(both) / total.where(total > 0)
    outside = pairs["outside"].rename(score="other")
    number = pairs["inside"].sum("score") * outside.sum("other")
    expected = (pairs["inside"] * outside * apart).sum(both) / number.where(number > 0)
    return 1 - observed / expected.where(expected > 0)


def gai(irr: xr.DataArray, xrr: xr.DataArray) -> xr.DataArray:
    """Return the group association index: how much more a group agrees inside than across.

    ``GAI = IRR / XRR``

    Args:
        irr: In-group cohesion (...).
        xrr: Cross-group cohesion (...).

    Returns:
        Above 1 where the group hangs together (...); NaN where XRR is not positive, for then the
        ratio says nothing.

    Source: responsiveness paper, Appendix B; Prabhakaran et al. 2024.

    >>> float(gai(xr.DataArray(0.3), xr.DataArray(0.25)))
    1.2
    """
    return irr / xrr.where(xrr > 0)


def measures(pairs: xr.Dataset, *, distance: Distance) -> xr.Dataset:
    """Return ``irr``, ``xrr`` and ``gai`` of every group from its pairs of scores."""
    inside, across = irr(pairs["within"], distance=distance), xrr(pairs, distance=distance)
    return xr.Dataset({"irr": inside, "xrr": across, "gai": gai(inside, across)})


def cohesion(
    score: NDArray[np.integer],
    *,
    item: NDArray[np.integer],
    rater: NDArray[np.integer],
    membership: xr.DataArray,
    n_scores: int,
    distance: Distance,
    permutations: int,
    seed: int,
    min_raters: int,
    min_items: int,
) -> xr.Dataset:
    """Compute IRR, XRR and GAI of every group with permutation p values.

    Raters are shuffled between the groups of a grouping, each group keeping its size; a rater who
    has no group there stays outside. p values are two-sided; the adjusted ones are corrected by
    Benjamini and Hochberg over all groups and measures at once.

    Args:
        score: Scores 0..n_scores-1, none missing; (rating,).
        item: Item of each rating.
        rater: Rater of each rating, a position in ``membership``.
        membership: Who belongs to which group; bool (group, rater) with the coordinate ``grouping``.
        n_scores: Number of scores of the scale, K + 1.
        distance: Between scores.
        permutations: Number of shuffles B; 0 leaves p values missing.
        seed: Seed of the shuffles.
        min_raters: Fewest raters of a group; below it the group's measures are missing.
        min_items: Fewest items that two raters of the group scored; below it likewise.

    Returns:
        Over (group): ``irr``, ``xrr``, ``gai``, each with ``_p`` and ``_p_adjusted``; ``raters``,
        ``items`` and ``reason``. XRR and GAI are NaN for a group with nobody outside it.

    Source: responsiveness paper, Appendix B, Tables 1 and 2; Prabhakaran et al. 2024.

    >>> rng = np.random.default_rng(1)
    >>> item, rater = np.divmod(np.arange(200), 10)
    >>> score = (rng.random(20)[item] + 0.3 * rng.random(200) > 0.6).astype(int)
    >>> membership = xr.DataArray(
    ...     np.stack([rater[:10] >= 0, rater[:10] < 5, rater[:10] >= 5]),
    ...     dims=("group", "rater"),
    ...     coords={"group": ["all", "g=a", "g=b"], "grouping": ("group", ["all", "g", "g"])},
    ... )
    >>> found = cohesion(
    ...     score, item=item, rater=rater, membership=membership, n_scores=2, distance="nominal",
    ...     permutations=99, seed=1, min_raters=3, min_items=10,
    ... )
    >>> found["irr"].round(2).values.tolist()
    [0.75, 0.74, 0.76]
    >>> found["reason"].sel(group="all").item()
    'no rater outside the group: no XRR and GAI'
    """
    parts = []
    for number, (_, one) in enumerate(_partitions(membership)):
        kind = _kinds(one)
        # One group has nobody to swap raters with.
        made = permutations if one.sizes["group"] > 1 else 0
        shuffled = shuffles(kind, made, seed=[seed, number])
        pairs = pair_counts(
            score,
            item=item,
            rater=rater,
            kind=xr.concat([kind.expand_dims("permutation"), shuffled], "permutation"),
            n_groups=one.sizes["group"],
            n_scores=n_scores,
        ).assign_coords(one.isel(rater=0, drop=True).coords)
        parts.append(_tested(measures(pairs, distance=distance)))
    found = xr.concat(parts, "group", coords="different", compat="equals").assign(
        raters=membership.sum("rater"),
        items=_paired_items(item=item, rater=rater, membership=membership),
    )
    found["reason"] = _reasons(found, min_raters, min_items)
    return _adjusted(_withheld(found, membership.sizes["rater"]))


def shuffles(kind: xr.DataArray, replicates: int, *, seed: int | list[int]) -> xr.DataArray:
    """Return who is in which group after shuffling raters between groups.

    Args:
        kind: Group of each rater, -1 for none; (rater,).
        replicates: Number of shuffles.
        seed: Seed.

    Returns:
        Groups (permutation, rater); groups keep their sizes, and raters of none stay.

    >>> shuffles(xr.DataArray([0, 1, -1], dims="rater"), 2, seed=1).values[:, 2].tolist()
    [-1, -1]
    """
    codes = kind.to_numpy()
    rows = np.tile(codes, (replicates, 1))
    grouped = np.flatnonzero(codes >= 0)
    rows[:, grouped] = np.random.default_rng(seed).permuted(rows[:, grouped], axis=1)
    return xr.DataArray(rows, dims=("permutation", "rater"))


def _partitions(membership: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    """Groups of one grouping at a time: no rater is in two of them."""
    grouping = membership["grouping"].to_numpy()
    for name in dict.fromkeys(grouping.tolist()):
        yield name, membership.isel(group=np.flatnonzero(grouping == name))


def _kinds(membership: xr.DataArray) -> xr.DataArray:
    """Position of each rater's group, -1 where there is none."""
    held = membership.argmax("group").where(membership.any("group"), -1)
    return held.astype(np.int32).drop_vars(["group", "grouping"], errors="ignore")


def _tested(found: xr.Dataset) -> xr.Dataset:
    """Observed measures, which come first, with p values from the rest."""
    observed = found.isel(permutation=0, drop=True)
    shuffled = found.isel(permutation=slice(1, None))
    p = {
        f"{name}_p": two_sided_p(shuffled[name], observed[name], dim="permutation")
        for name in MEASURES
    }
    return observed.assign(p)


def _paired_items(
    *, item: NDArray[np.integer], rater: NDArray[np.integer], membership: xr.DataArray
) -> xr.DataArray:
    """Items that two or more raters of each group scored."""
    found = [
        int((_rated(item, rater, inside) > 1).sum())
        for inside in membership.transpose("group", "rater").to_numpy()
    ]
    return xr.DataArray(found, dims="group", coords=membership.isel(rater=0, drop=True).coords)


def _rated(
    item: NDArray[np.integer], rater: NDArray[np.integer], inside: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """How often raters inside a group rated each item, some rows at a time: counting copies."""
    found = np.zeros(int(item.max(initial=-1)) + 1, dtype=np.int64)
    for start in range(0, len(item), ROWS):
        rows = slice(start, start + ROWS)
        found += np.bincount(item[rows][inside[rater[rows]]], minlength=len(found))
    return found


def _reasons(found: xr.Dataset, min_raters: int, min_items: int) -> xr.DataArray:
    """Why measures of a group are missing."""
    texts = []
    for group in found["group"].to_numpy():
        cell = found.sel(group=group)
        raters, items = int(cell["raters"]), int(cell["items"])
        reasons = []
        if raters < min_raters:
            reasons.append(f"{format_count(raters, 'rater')}, fewer than min_raters = {min_raters}")
        if items < min_items:
            said = f"{format_count(items, 'item')} that two raters of the group scored"
            reasons.append(f"{said}, fewer than min_items = {min_items}")
        if not reasons and bool(cell["irr"].isnull()):
            reasons.append("all scores are the same")
        texts.append("; ".join(reasons))
    return found["raters"].copy(data=np.array(texts, dtype=np.str_))


def _withheld(found: xr.Dataset, raters: int) -> xr.Dataset:
    """Blank the measures of groups that are too small, and say where nobody is outside."""
    kept = found["reason"] == ""
    for name in MEASURES:
        found[name], found[f"{name}_p"] = found[name].where(kept), found[f"{name}_p"].where(kept)
    alone = kept & (found["raters"] == raters)
    found["irr_p"] = found["irr_p"].where(~alone)
    only = kept & ~alone & found["gai"].isnull()
    reason = found["reason"].astype(object).where(~alone, NOBODY_OUTSIDE)
    found["reason"] = reason.where(~only, "XRR is not positive: no GAI").astype(str)
    for name, text in LONG_NAMES.items():
        found[name].attrs["long_name"] = text
    return found


def _adjusted(found: xr.Dataset) -> xr.Dataset:
    """Correct all p values of the table together."""
    p = np.stack([found[f"{name}_p"].to_numpy() for name in MEASURES])
    for name, row in zip(MEASURES, benjamini_hochberg(p), strict=True):
        found[f"{name}_p_adjusted"] = ("group", row)
    return found.assign_coords(group=found["group"].astype(str))
