"""Differences between groups: paired intervals over items and raters, and corrected tests."""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.multiplicity import holm_square
from sharpbayes.metrics.stats.two_way import combine, t_interval, t_test

Index = NDArray[np.intp]


def contrasts(
    observed: xr.Dataset,
    resampled: xr.Dataset,
    *,
    rater_variance: xr.Dataset,
    raters: xr.DataArray,
    items: xr.DataArray,
    level: float,
    size_effect: xr.Dataset | None = None,
    comparable: xr.DataArray | None = None,
) -> xr.Dataset:
    """Compare every two groups of a grouping, stratum by stratum.

    ``difference[g, h] = T[g] - T[h] - size_effect[g, h]``, in every resample from the same items,
    so that what both groups share cancels. The size effect is what the larger group's number of
    ratings alone does (:func:`~sharpbayes.metrics.crowd.size_effects.size_effects`); without it,
    the plain difference. The variance is that of the resampled differences plus what the raters of
    either group add and the Monte Carlo variance of the size effect; interval and p value are
    Student's with Satterthwaite's degrees of freedom. Holm's correction is over all pairs of all
    groupings in all strata, for each statistic by itself.

    Statistics are over (group, by), with the coordinate ``grouping (group)``, those of resamples
    over (replicate, group, by), ``rater_variance`` over (group, by). ``raters`` (group) says how
    many raters with equally many ratings a group is worth, ``items`` (group, by) are numbers. For
    each statistic the result has ``name``, ``name_p``, ``name_p_holm`` (group, other, by) and
    ``name_interval`` (group, other, by, bound). Missing on the diagonal, between groups of
    different groupings, where either group has no value and where a pair is not ``comparable``
    (group, other, by), which all are by default; intervals and p values also where resamples do not
    differ, and of a group of one rater.

    Source: responsiveness paper, section 1 (comparing groups); Cameron, Gelbach and Miller 2011;
    Satterthwaite 1946; Holm 1979.

    >>> coords = {"group": ["g=a", "g=b"], "grouping": ("group", ["g", "g"]), "by": ["all"]}
    >>> rng = np.random.default_rng(1)
    >>> observed = xr.DataArray([[0.6], [0.4]], coords, ("group", "by"))
    >>> noise = xr.DataArray(rng.normal(0, 0.1, (500, 2, 1)), dims=("replicate", "group", "by"))
    >>> mpa = [xr.Dataset({"mpa": x}) for x in (observed, observed + noise, observed * 0 + 0.01)]
    >>> sizes = {"raters": observed[:, 0] * 0 + 10, "items": observed * 0 + 100}
    >>> pairs = contrasts(*mpa[:2], rater_variance=mpa[2], **sizes, level=0.95).sel(by="all")
    >>> round(float(pairs["mpa"].sel(group="g=a", other="g=b")), 2)
    0.2
    """
    compared: dict[str, xr.DataArray] = {}
    for name in observed:
        arrays = (observed[name], resampled[name], rater_variance[name], raters, items)
        effect = None
        if size_effect is not None:
            effect = np.stack(
                [
                    size_effect[f"{name}{end}"].transpose("group", "other", "by").to_numpy()
                    for end in ("", "_variance")
                ]
            )
        pairs = _contrast(*arrays, level=level, size_effect=effect, comparable=comparable)
        compared |= {f"{name}{end}": x for end, x in pairs.items()}
    return xr.Dataset(compared)


def explain_untested(
    shared: xr.DataArray, raters: xr.DataArray, *, grouping: NDArray[np.str_], min_items: int
) -> xr.DataArray:
    """Return why two groups of a grouping have no test; empty where nothing speaks against one.

    Of numbers of ``shared`` items (group, other, by) and of ``raters`` (group). Groups that scored
    other items differ by their items too, and a single rater does not show how far raters differ.

    >>> shared = xr.DataArray([[[9], [2]], [[2], [9]]], dims=("group", "other", "by"))
    >>> groups = {"grouping": np.array(["g", "g"]), "min_items": 5}
    >>> raters = xr.DataArray([4, 4], dims="group")
    >>> explain_untested(shared, raters, **groups).values[0, 1, 0].item()
    'fewer than min_items = 5 items that both groups scored'
    """
    too_few_items = f"fewer than min_items = {max(min_items, 1)} items that both groups scored"
    single_rater = "a group of one rater does not show how far raters differ"
    counts, alone = shared.transpose("group", "other", "by"), raters.to_numpy() == 1
    reason = np.full(counts.shape, "", dtype=f"<U{max(len(too_few_items), len(single_rater))}")
    for a, b in pairs_of_groups(grouping):
        single = (alone[a] | alone[b])[:, None]
        text = np.where(
            counts.to_numpy()[a, b] < max(min_items, 1),
            too_few_items,
            np.where(single, single_rater, ""),
        )
        reason[a, b] = reason[b, a] = text
    return counts.copy(data=reason)


def pairs_of_groups(grouping: NDArray[np.str_]) -> Iterator[tuple[Index, Index]]:
    """Yield both groups of every pair of each grouping, by their positions.

    >>> [[x.tolist() for x in pair] for pair in pairs_of_groups(np.array(["g", "h", "g"]))]
    [[[0], [2]], [[], []]]
    """
    for name in dict.fromkeys(grouping.tolist()):
        groups = np.flatnonzero(grouping == name)
        first, second = np.triu_indices(len(groups), k=1)
        yield groups[first], groups[second]


def _contrast(
    observed: xr.DataArray,
    resampled: xr.DataArray,
    rater_variance: xr.DataArray,
    raters: xr.DataArray,
    items: xr.DataArray,
    *,
    level: float,
    size_effect: NDArray[np.float64] | None,
    comparable: xr.DataArray | None,
) -> dict[str, xr.DataArray]:
    """Differences of one statistic, their tests and intervals, by the suffix of their name."""
    x, added, n = (
        array.transpose("group", "by").to_numpy() for array in (observed, rater_variance, items)
    )
    rows = resampled.transpose("replicate", "group", "by").to_numpy()
    m = raters.to_numpy().astype(float)[:, None]
    difference, p = np.full((2, len(x), *x.shape), np.nan)
    effect, noise = np.zeros((2, len(x), *x.shape)) if size_effect is None else size_effect
    interval = np.full((len(x), *x.shape, 2), np.nan)
    allowed = np.ones(difference.shape, dtype=bool)
    if comparable is not None:
        allowed = comparable.transpose("group", "other", "by").to_numpy()
    for a, b in pairs_of_groups(observed["grouping"].to_numpy()):
        gap = np.where(allowed[a, b], x[a] - x[b] - effect[a, b], np.nan)
        # A single rater does not show how far raters of the group differ.
        raters_vary = added[a] + added[b] + noise[a, b]
        raters_vary = np.where(np.minimum(m[a], m[b]) > 1, raters_vary, np.nan)
        spread = combine(
            rows[:, a] - rows[:, b],
            n_items=np.minimum(n[a], n[b]).astype(float),
            raters=raters_vary,
            n_raters=np.minimum(m[a], m[b]),
        )
        bounds = np.where(np.isnan(gap)[..., None], np.nan, t_interval(gap, spread, level=level))
        difference[a, b], difference[b, a] = gap, -gap
        interval[a, b], interval[b, a] = bounds, -bounds[..., ::-1]
        p[a, b] = p[b, a] = np.where(np.isnan(gap), np.nan, t_test(gap, spread))
    coords = {name: coord for name, coord in observed.coords.items() if name != "grouping"}
    coords["other"] = ("other", observed["group"].to_numpy())
    dims = ("group", "other", "by")
    values = {"": difference, "_p": p, "_p_holm": holm_square(p)}
    if size_effect is not None:
        values["_size_effect"] = np.where(np.isnan(difference), np.nan, effect)
    arrays = {suffix: xr.DataArray(array, coords, dims) for suffix, array in values.items()}
    bounded = xr.DataArray(interval, {**coords, "bound": ["lower", "upper"]}, (*dims, "bound"))
    return arrays | {"_interval": bounded}
