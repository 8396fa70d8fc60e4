"""Experts who label items the other way round than others do."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.data.crowd import CrowdData
from sharpbayes.errors import format_list, join_names
from sharpbayes.metrics.stats.clusters import cluster_coords, number_clusters
from sharpbayes.metrics.stats.exact_tests import fisher_p
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL

# A weaker relation between two experts is not said, however many items show it.
MAX_PHI = -0.3
# Items that two experts both labelled, at least.
MIN_SHARED = 10
DIMS = ("expert", "other")
# More pairs of experts than these are counted and not named.
MAX_PAIRS = 3


def expert_agreement(label: xr.DataArray) -> xr.Dataset:
    """Return how the labels of every two experts go together.

    phi = (n11 n00 - n10 n01) / sqrt(n1. n0. n.1 n.0)

    Of labels 0 and 1 over (expert, item), missing where there is none, these are ``phi`` in
    [-1, 1], Pearson's correlation of the labels of the items that both labelled, and ``shared``,
    the number of these, over (expert, other); ``p`` is that of Fisher's exact test that so few of
    them are unsafe by both, one-sided
    (:func:`sharpbayes.metrics.stats.exact_tests.fisher_p`), of one item of each cluster where items
    have any. Phi and p are NaN for fewer than 10 of them, on the diagonal, and where an expert
    gives all of them one label; p also where phi is above -0.3, and is not asked for.

    Source: Yule 1912; Fisher 1935.

    >>> label = xr.DataArray([[0, 1] * 10, [1, 0] * 10], {"expert": ["a", "b"]},
    ...                      ("expert", "item"))
    >>> float(expert_agreement(label)["phi"].sel(expert="a", other="b"))
    -1.0
    """
    labels = label.transpose("expert", "item").to_numpy().astype(float)
    given = ~np.isnan(labels)
    shared = given.astype(int) @ given.T.astype(int)
    phi, p = np.full((2, *shared.shape), np.nan)
    clusters = number_clusters(label, "item")
    for pair in combinations(range(len(labels)), 2):
        items = given[list(pair)].all(axis=0)
        both = labels[list(pair)][:, items]
        if shared[pair] >= MIN_SHARED and (np.ptp(both, axis=1) > 0).all():
            phi[pair] = phi[pair[::-1]] = np.corrcoef(both)[0, 1]
        if phi[pair] <= MAX_PHI:
            first = np.unique(clusters[items], return_index=True)[1]
            p[pair] = p[pair[::-1]] = _contradiction_p(both[:, first])
    numbers = {"phi": phi, "shared": shared, "p": p}
    coords = dict.fromkeys(DIMS, label["expert"].to_numpy())
    return xr.Dataset({name: (DIMS, values) for name, values in numbers.items()}, coords)


def _contradiction_p(labels: NDArray[np.float64]) -> float:
    """The p value of so few items that both experts call unsafe, of labels (2, item)."""
    first, second = labels.sum(axis=1).astype(int)
    return fisher_p(int(labels.prod(axis=0).sum()), int(first), int(second), labels.shape[1])


def tabulate_labels(data: CrowdData) -> xr.DataArray:
    """Return the labels of experts over (expert, item), missing where there is none."""
    names = () if data.expert is None else data.expert.labels
    labels = np.full((len(names), len(data.item.labels)), np.nan)
    if data.expert is not None:
        labels[data.expert.codes, data.expert_item] = data.expert_label
    coords = {"expert": list(names), **cluster_coords(data.cluster, "item")}
    return xr.DataArray(labels, coords, ("expert", "item"))


def contrary_experts(agreement: xr.Dataset) -> Iterator[str]:
    """Yield which experts call safe what others call unsafe, beyond chance.

    Their phi is at most -0.3, and its exact test, one-sided at 5%, is corrected by Bonferroni over
    the pairs of experts.
    """
    phi, p = (agreement[name].transpose(*DIMS) for name in ("phi", "p"))
    pairs = max(int(phi.notnull().sum()) // 2, 1)
    contrary = (p <= SIGNIFICANCE_LEVEL / pairs).to_numpy()
    if not contrary.any():
        return
    names = agreement["expert"].to_numpy().astype(str)
    against = contrary.sum(axis=0)
    worst = int(against.argmax())
    if against[worst] > 1 and against[worst] == contrary.sum() // 2:
        others = join_names(names[contrary[worst]].tolist())
        subject = f"{names[worst]} contradicts {others}"
    else:
        listed = [f"{names[i]} and {names[j]}" for i, j in np.argwhere(np.triu(contrary))]
        subject = f"{format_list(listed, limit=MAX_PAIRS)} contradict each other"
    lowest = float(phi.where(contrary).min())
    yield (
        f"Experts are at odds: {subject}, what one calls unsafe the other calls safe (phi down to "
        f"{lowest:.2f}, {100 * SIGNIFICANCE_LEVEL:g}%, Bonferroni). Labels that join them say less "
        "than either. See whether all mean the same by unsafe."
    )
