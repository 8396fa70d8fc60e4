"""Which group scores higher on the same items: differences of mean scores, with tests."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sharpbayes.metrics.crowd.contrasts import pairs_of_groups
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.metrics.stats.multiplicity import holm_square
from sharpbayes.metrics.stats.two_way import (
    ALONE,
    Spread,
    pooled_raters,
    rater_loads,
    satterthwaite,
    t_interval,
    t_test,
)

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]
# Contrasts that least squares gives up to this error are those of groups linked by items.
LINKED = 1e-6
LONG_NAMES = {
    "difference": "mean score of the first group less that of the second, on the same items",
    "difference_interval": "interval of the difference, over items and raters",
    "p": "two-sided p value of no difference",
    "p_holm": "p value after Holm's correction over all pairs of groups, of all groupings",
}


def harshness_difference(
    score: Codes,
    *,
    item: Codes,
    rater: Codes,
    membership: xr.DataArray,
    min_raters: int,
    level: float,
    cluster: Codes | None = None,
) -> xr.Dataset:
    """Compare the mean scores of every two groups of a grouping, on the same items.

    ``score[r, i] = a[i] + b[group of r] + e[r, i]`` by least squares; ``difference[g, h] = b[g] -
    b[h]``, which is the plain difference of mean scores where everyone rates everything. Its
    variance is two-way clustered: ``V_raters + max(V_items - V_ratings, 0)`` of the sums of ``e``
    by rater, by item, and of single ratings; an ``e`` of an item with n ratings is divided by
    ``sqrt(1 - 1 / n)``. Squares by rater count ``1 / (1 - 2 w + S)`` times, where w is the rater's
    share in what the group's ratings tell and S the sum of w^2 over the group
    (:func:`~sharpbayes.metrics.stats.two_way.rater_loads`): m / (m - 1) times for m raters with
    equally many ratings. Where items have a ``cluster`` (item,), from 0, sums are by cluster in
    place of item, and V_ratings is of the sums by rater and cluster. Interval and p value are
    Student's with Satterthwaite's degrees of freedom. Each group is worth 1 / S raters; V_raters
    has the freedom of both groups' variances as they are, or, if that is less, as they are where
    all raters vary alike. Holm's correction is over all pairs of all groupings.

    Scores (rating,) are 0..K, ``membership`` (group, rater) has the coordinate ``grouping``. The
    result has ``difference``, ``p``, ``p_holm`` (group, other) and ``difference_interval`` (group,
    other, bound), in steps of the scale; above 0 the first group scores higher. Missing on the
    diagonal, between groupings, for groups with fewer than ``min_raters`` raters, and where no
    items link both groups; p values and intervals also where a group scored a single item, and
    where one rater of a group gave all its ratings.

    Source: Cameron, Gelbach and Miller 2011; MacKinnon and White 1985; Bell and McCaffrey 2002;
    Satterthwaite 1946; Holm 1979.

    >>> rater, item = np.divmod(np.arange(6 * 40), 40)
    >>> score = np.random.default_rng(1).integers(0, 3, rater.size) + (rater < 3)
    >>> member = np.stack([np.arange(6) < 3, np.arange(6) > 2])
    >>> coords = {"group": ["g=a", "g=b"], "grouping": ("group", ["g", "g"])}
    >>> member = xr.DataArray(member, coords, ("group", "rater"))
    >>> sizes = {"min_raters": 3, "level": 0.95}
    >>> pairs = harshness_difference(score, item=item, rater=rater, membership=member, **sizes)
    >>> round(float(pairs["difference"].sel(group="g=a", other="g=b")), 2)
    1.02
    """
    member = membership.transpose("group", "rater").to_numpy()
    shape = (len(member), len(member))
    difference, p = np.full((2, *shape), np.nan)
    bounds = np.full((*shape, 2), np.nan)
    for first, second in pairs_of_groups(membership["grouping"].to_numpy()):
        groups = np.unique([first, second])
        groups = groups[member[groups].sum(axis=1) >= max(min_raters, 2)]
        known = np.isin(first, groups) & np.isin(second, groups)
        a, b = first[known], second[known]
        if not a.size:
            continue
        places = np.searchsorted(groups, a), np.searchsorted(groups, b)
        gap, spread = _compare(score, item, rater, member[groups], places, cluster=cluster)
        difference[a, b], difference[b, a] = gap, -gap
        interval = t_interval(gap, spread, level=level)
        bounds[a, b], bounds[b, a] = interval, -interval[:, ::-1]
        p[a, b] = p[b, a] = t_test(gap, spread)
    coords = {"group": membership["group"].to_numpy(), "other": membership["group"].to_numpy()}
    dims = ("group", "other")
    values = {"difference": difference, "p": p, "p_holm": holm_square(p)}
    table = xr.Dataset({name: (dims, array) for name, array in values.items()}, coords)
    table["difference_interval"] = ((*dims, "bound"), bounds)
    table = table.assign_coords(bound=["lower", "upper"])
    table["raters"] = ("group", member.sum(axis=1))
    return name_variables(table, LONG_NAMES)


def _compare(
    score: Codes,
    item: Codes,
    rater: Codes,
    member: NDArray[np.bool_],
    pairs: tuple[Codes, Codes],
    *,
    cluster: Codes | None,
) -> tuple[Floats, Spread]:
    """Differences of the groups of one grouping, and their spread."""
    of_rater = np.where(member.any(axis=0), member.argmax(axis=0), -1)
    used = of_rater[rater] >= 0
    y, i, r = score[used].astype(float), item[used], rater[used]
    g, n_items, n_groups = of_rater[r], int(item.max()) + 1, len(member)
    cell = i * n_groups + g

    def by_cell(weights: Floats | None = None) -> Floats:
        counts = np.bincount(cell, weights, n_items * n_groups)
        return counts.reshape(n_items, n_groups).astype(float)

    count = by_cell()
    number = np.maximum(count.sum(axis=1), 1.0)
    share = count / number[:, None]
    mean = np.bincount(i, y, n_items) / number
    normal = np.diag(count.sum(axis=0)) - share.T @ count
    inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
    effect = inverse @ (by_cell(y) - share * (mean * number)[:, None]).sum(axis=0)
    residual = y - mean[i] - effect[g] + (share @ effect)[i]
    contrast = inverse[pairs[0]] - inverse[pairs[1]]
    # What an item or a cluster, a rater and a rating add to each contrast.
    by_item = contrast @ (by_cell(residual) - share * np.bincount(i, residual, n_items)[:, None]).T
    by_unit = by_item if cluster is None else _sum_columns(by_item, cluster)
    # A rating draws the mean of its item towards itself: its residual is too small by a share.
    residual = residual / np.sqrt(np.maximum(1.0 - 1.0 / number, 0.5))[i]
    rows = csr_array((residual, (r, i)), shape=(member.shape[1], n_items)) @ share
    totals = np.zeros_like(rows)
    np.add.at(totals, (r, g), residual)
    load = np.bincount(r, 1.0 - share[i, g], of_rater.size)
    factor, n_effective = rater_loads(load, of_rater, n_groups=n_groups)
    of_groups = (contrast @ (totals - rows).T) ** 2 * factor @ member.T.astype(float)
    if cluster is None:
        single = _square_ratings(by_cell(residual**2), share)
    else:
        single = _square_pairs(residual, np.stack([r, cluster[i]]), g, share[i])
    linked = np.abs(contrast @ normal - _differences(pairs, n_groups)).max(axis=1) < LINKED
    gap = np.where(linked, effect[pairs[0]] - effect[pairs[1]], np.nan)
    items = (by_unit**2).sum(axis=1)
    ratings = np.einsum("cg,gh,ch->c", contrast, single, contrast)
    raters = of_groups.sum(axis=1)
    items = np.maximum(items - ratings, 0.0)
    of_pair = n_effective[np.stack(pairs, axis=-1)]
    # Of few raters the variance may come out too small, and their part in the freedom with it.
    alike = pooled_raters(1.0 / of_pair, of_pair)
    n_raters = np.minimum(pooled_raters(of_groups, n_effective), alike)
    rated = count.T if cluster is None else _sum_columns(count.T, cluster)
    n = np.minimum(*((rated[pair] > 0).sum(axis=1) for pair in pairs)).astype(float)
    # A single item, or cluster, does not show how far they differ, nor does a single rater.
    items = np.where((n > 1) & (of_pair.min(axis=-1) > 1.0 + ALONE), items, np.nan)
    return gap, Spread(items, raters, satterthwaite(items, raters, n_items=n, n_raters=n_raters))


def _square_ratings(squares: Floats, share: Floats) -> Floats:
    """Cross products, over groups, of what single ratings add, of their squares (item, group)."""
    single = np.diag(squares.sum(axis=0)) - squares.T @ share - share.T @ squares
    total: Floats = single + (share * squares.sum(axis=1)[:, None]).T @ share
    return total


def _square_pairs(residual: Floats, pair: Codes, group: Codes, share: Floats) -> Floats:
    """Cross products, over groups, of what the ratings of one rater in one cluster add.

    ``pair`` (2, rating) has the rater and the cluster of each, ``share`` (rating, group) the shares
    of groups in the ratings of its item.
    """
    number = np.unique(pair, axis=1, return_inverse=True)[1]
    parts = np.stack(
        [
            np.bincount(number, residual * ((group == column) - of_item))
            for column, of_item in enumerate(share.T)
        ]
    )
    products: Floats = parts @ parts.T
    return products


def _sum_columns(values: Floats, cluster: Codes) -> Floats:
    """Sums (row, cluster) of values (row, item) over the items of each cluster."""
    return np.stack([np.bincount(cluster, row) for row in values])


def _differences(pairs: tuple[Codes, Codes], n_groups: int) -> Floats:
    """The contrast of each pair: 1 for its first group, -1 for its second."""
    return np.eye(n_groups)[pairs[0]] - np.eye(n_groups)[pairs[1]]
