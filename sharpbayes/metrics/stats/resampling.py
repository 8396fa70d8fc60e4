"""Paired resampling of prompts or items: the same resample for every model and group."""

from collections.abc import Callable, Hashable

import numpy as np
import xarray as xr

from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.stats.clusters import index_clusters, number_clusters
from sharpbayes.metrics.stats.kernels import count_draws, count_nested

# Number of weights in memory while a block of resamples is computed.
BLOCK_CELLS = 5_000_000
# Values are sorted once for each block, so that a block of many prompts may take more memory.
MIN_BLOCK = 250
# Separates the random streams of generations from those of prompts.
NESTED = 0x5851F42D
# Largest number of groups of units that the jackknife leaves out, one at a time.
JACKKNIFE_GROUPS = 1000
# Separates the random streams of weights from those of counts.
WEIGHTS = 0x6A09E667
# The number of blocks is a multiple of this, so that threads end together.
BLOCK_MULTIPLE = 2


def bootstrap_counts(
    units: xr.DataArray, *, replicates: int, seed: int, dim: str, start: int = 0
) -> xr.DataArray:
    """Return how often each unit is drawn in each bootstrap resample.

    Counts are over (replicate, ``dim``), and each row adds up to the number of units. Every
    replicate has a random stream of its own, from ``seed`` and its number; ``start`` is the number
    of the first, so that work can be cut into blocks. Units with missing values are drawn as well.
    Where units have clusters (:mod:`sharpbayes.metrics.stats.clusters`), as many clusters are drawn
    as there are, each with all its units, and a row adds up to the number of those.

    Source: Efron 1979; Davison and Hinkley 1997, section 3.8 for clusters.

    >>> units = xr.DataArray(["a", "b", "c"], dims="prompt")
    >>> counts = bootstrap_counts(units, replicates=2, seed=1, dim="prompt")
    >>> counts.sum("prompt").values
    array([3, 3], dtype=uint64)
    """
    # In practice no unit gets more than 65,535 of n draws from n units.
    number, positions = index_clusters(units, dim)
    counts = np.empty((replicates, number), np.uint16)
    count_draws(seed, start, counts)
    labels = {"replicate": np.arange(start, start + replicates), **_labels(units, dim)}
    return xr.DataArray(counts[:, positions], labels, ("replicate", dim))


def nested_bootstrap_counts(
    counts: xr.DataArray, answered: xr.DataArray, *, seed: int
) -> xr.DataArray:
    """Return how often each generation is drawn in each resample, (replicate, unit, sample).

    A prompt drawn c times has c times m draws with replacement among its own m generations, those
    that are ``answered`` over (unit, sample), so that a resample varies as prompts and generations
    do. A prompt without any draws among all of them. The seed is that of ``counts``; generations
    have random streams of their own.

    >>> units, answered = xr.DataArray([0, 1], dims="prompt"), [[True, True], [True, False]]
    >>> counts = bootstrap_counts(units, replicates=1, seed=5, dim="prompt")
    >>> answered = xr.DataArray(answered, dims=("prompt", "sample"))
    >>> counts.values, nested_bootstrap_counts(counts, answered, seed=5).values
    (array([[1, 1]], dtype=uint16), array([[[2., 0.], [1., 0.]]]))
    """
    [dim] = (str(name) for name in answered.dims if name not in counts.dims)
    present = answered.transpose(..., dim).to_numpy()
    present = present | ~present.any(axis=1, keepdims=True)
    members = np.argsort(~present, axis=1, stable=True)
    nested = np.empty((*counts.shape, answered.sizes[dim]))
    start = int(counts["replicate"][0]) if counts.sizes["replicate"] else 0
    count_nested(seed ^ NESTED, start, counts.to_numpy(), members, present.sum(axis=1), nested)
    return xr.DataArray(nested, {**counts.coords, **_labels(answered, dim)}, (*counts.dims, dim))


def bayesian_bootstrap_weights(
    units: xr.DataArray, *, replicates: int, seed: int, dim: str, start: int = 0
) -> xr.DataArray:
    """Return weights of the units in each replicate of the Bayesian bootstrap.

    w_i ~ Exp(1): divided by their sum, they are uniform over all weights with sum 1

    Units of one cluster have one weight. Arguments and dimensions are those of
    :func:`bootstrap_counts`.

    Source: Rubin 1981.

    >>> units = xr.DataArray(["a", "b", "c"], dims="prompt")
    >>> weights = bayesian_bootstrap_weights(units, replicates=2, seed=1, dim="prompt")
    >>> dict(weights.sizes), bool((weights > 0).all())
    ({'replicate': 2, 'prompt': 3}, True)
    """
    numbers = range(start, start + replicates)
    size, positions = index_clusters(units, dim)
    weights = [
        np.random.default_rng((seed, WEIGHTS, number)).standard_exponential(size)
        for number in numbers
    ]
    labels = {"replicate": np.array(numbers), **_labels(units, dim)}
    return xr.DataArray(np.array(weights)[:, positions], labels, ("replicate", dim))


def bootstrap(
    statistic: Callable[[xr.DataArray], xr.Dataset],
    units: xr.DataArray,
    *,
    replicates: int,
    seed: int,
    dim: str,
    block: int,
    draw: Callable[..., xr.DataArray] = bootstrap_counts,
) -> xr.Dataset:
    """Return a statistic of weights (replicate, ``dim``) for every resample of the units.

    They are counts, or what ``draw`` returns, such as :func:`bayesian_bootstrap_weights`. It is
    computed in blocks of at most ``block`` replicates; see :func:`compute_in_blocks`.
    """

    def compute(block: range) -> xr.Dataset:
        start, number = block.start, len(block)
        return statistic(draw(units, replicates=number, seed=seed, dim=dim, start=start))

    return compute_in_blocks(compute, replicates=replicates, block=block)


def compute_in_blocks(
    compute: Callable[[range], xr.Dataset], *, replicates: int, block: int
) -> xr.Dataset:
    """Return what a function of the numbers of successive replicates gives for all of them.

    At most ``block`` replicates are computed at once, so that memory stays bounded; their number
    does not change the result where every replicate has a random stream of its own.
    """
    blocks = -(-replicates // block)
    size = -(-replicates // (blocks + -blocks % BLOCK_MULTIPLE))

    def compute_from(start: int) -> xr.Dataset:
        return compute(range(start, min(start + size, replicates)))

    return _concat(current_map(resamples=True)(compute_from, range(0, replicates, size)))


def jackknife(
    statistic: Callable[[xr.DataArray], xr.Dataset], units: xr.DataArray, *, dim: str, block: int
) -> xr.Dataset:
    """Return a statistic with each unit left out, or each of a thousand groups of units.

    It is a function of weights over (replicate, ``dim``). Unit i is in group i modulo the number of
    groups; where units have clusters, its cluster is. The number of replicates at once, ``block``,
    does not change the result. Missing values are those of the statistic.

    Source: Efron 1979.

    >>> x = xr.DataArray([1.0, 2.0, 6.0], dims="prompt")
    >>> mean = lambda w: xr.Dataset({"mean": (w * x).sum("prompt") / w.sum("prompt")})
    >>> jackknife(mean, x, dim="prompt", block=2)["mean"].values
    array([4. , 3.5, 1.5])
    """
    codes = number_clusters(units, dim)
    groups = min(int(codes.max(initial=-1)) + 1, JACKKNIFE_GROUPS)

    def compute(start: int) -> xr.Dataset:
        group = np.arange(start, min(start + block, groups))
        weights = ((codes % groups)[None, :] != group[:, None]).astype(float)
        labels = {"replicate": group, **_labels(units, dim)}
        return statistic(xr.DataArray(weights, labels, ("replicate", dim)))

    return _concat([compute(start) for start in range(0, groups, block)])


def block_size(units: int) -> int:
    """Return the number of resamples at once with which memory stays bounded."""
    return max(MIN_BLOCK, BLOCK_CELLS // units)


def _labels(units: xr.DataArray, dim: str) -> dict[Hashable, xr.DataArray]:
    """The labels of a dimension, where it has any."""
    return {dim: units[dim]} if dim in units.coords else {}


def _concat(blocks: list[xr.Dataset]) -> xr.Dataset:
    """Blocks of replicates as one dataset."""
    return xr.concat(
        blocks,
        "replicate",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
    )
