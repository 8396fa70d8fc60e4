"""Compiled loops that draw bootstrap resamples; machine code is cached on disk."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.uint16]
Index = NDArray[np.int64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def mix(state: np.uint64) -> np.uint64:
    """Output of splitmix64 (Steele, Lea and Flood 2014) for one state."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def count_draws(seed: int, start: int, counts: Counts) -> None:
    """Fill each row (replicates, n) with the counts of n draws with replacement from n units.

    Row r is replicate ``start + r`` and has a stream of its own, so that blocks and threads do
    not change results. Draws are exact: 32-bit words by Lemire's method (2019), with rejection.
    """
    replicates, n = counts.shape
    size = np.uint64(n)
    low_mask = np.uint64(0xFFFFFFFF)
    threshold = np.uint64(2**32) % size if n else size
    for row in range(replicates):
        state = mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(start + row) * GOLDEN)
        counts[row] = 0
        drawn = 0
        while drawn < n:
            state += GOLDEN
            word = mix(state)
            for _ in range(2):
                product = (word & low_mask) * size
                word >>= np.uint64(32)
                if drawn < n and (product & low_mask) >= threshold:
                    counts[row, np.int64(product >> np.uint64(32))] += 1
                    drawn += 1


@njit(cache=True, nogil=True)
def count_nested(  # noqa: PLR0917 - numba knows no keyword-only arguments
    seed: int, start: int, outer: Counts, members: Index, sizes: Index, counts: Floats
) -> None:
    """Fill the counts of draws with replacement among the members of units drawn before.

    A unit with count c in ``outer`` (replicates, n) has c times m draws among its m members, in
    ``counts`` (replicates, n, positions). ``members`` (n, positions) are the positions of the
    members of each unit, its first m being those that it has; ``sizes`` (n,) are the numbers m.
    Row r has a stream of its own, other than that of ``outer``.
    """
    replicates, n, _ = counts.shape
    for row in range(replicates):
        state = mix(mix(np.uint64(seed) + GOLDEN) + np.uint64(start + row) * GOLDEN)
        counts[row] = 0.0
        for unit in range(n):
            m = sizes[unit]
            for _ in range(np.int64(outer[row, unit]) * m):
                state += GOLDEN
                # Members are few: the bias of 32 bits without rejection is below m / 2^32.
                member = ((mix(state) >> np.uint64(32)) * np.uint64(m)) >> np.uint64(32)
                counts[row, unit, members[unit, np.int64(member)]] += 1.0
