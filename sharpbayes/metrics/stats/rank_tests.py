"""Tests and correlations of ranks. ``scipy.stats`` has the same, but takes a second to import."""

from math import factorial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharpbayes.metrics.stats.kernels import count_discordant
from sharpbayes.metrics.stats.ranks import mean_ranks

Floats = NDArray[np.float64]
ZeroMethod = Literal["pratt", "wilcox", "zsplit"]

# So many differences, or pairs without ties, have an exact p; with equal ones or zeros fewer.
MAX_SIGNED, MAX_SIGNED_TIES, MAX_KENDALL = 50, 13, 33


class Association(NamedTuple):
    """A rank correlation and its two-sided p value."""

    statistic: float
    p: float


def friedman(values: Floats) -> tuple[float, float]:
    """Return chi2 of Friedman's test, corrected for ties, and its p, of values (treatment, block).

    Source: Friedman 1937; chi2 has k - 1 degrees of freedom for k treatments.

    >>> chi2, p = friedman(np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]]))
    >>> chi2, round(p, 4)
    (3.0, 0.2231)
    """
    from scipy.special import chdtrc  # noqa: PLC0415 - quick to start without it

    k, n = values.shape
    blocks = values.T
    equal = (blocks[:, :, None] == blocks[:, None, :]).sum(axis=-1, dtype=float)
    ties = (equal**2 - 1.0).sum()
    squares = (mean_ranks(blocks).sum(axis=0) ** 2).sum()
    chi2 = (12.0 / (k * n * (k + 1)) * squares - 3 * n * (k + 1)) / (
        1 - ties / (k * (k * k - 1) * n)
    )
    return float(chi2), float(chdtrc(float(k - 1), chi2))


def signed_rank(difference: Floats, *, zero_method: ZeroMethod) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test of differences, one of them not 0.

    Zeros are ranked and left out of the sums by ``pratt``, left out before ranking by ``wilcox``,
    and their ranks are split by ``zsplit``. p is exact for up to 50 differences, with equal ones or
    zeros for up to 13; otherwise that of the normal distribution.

    Source: Wilcoxon 1945; Pratt 1959; Cureton 1967.

    >>> signed_rank(np.array([1.0, 2.0, 3.0]), zero_method="pratt")
    0.25
    """
    zeros = int((difference == 0).sum())
    ranked = difference[difference != 0] if zero_method == "wilcox" else difference
    ranks = mean_ranks(np.abs(ranked))
    sizes = np.unique(np.abs(difference[difference != 0]), return_counts=True)[1]
    limit = MAX_SIGNED_TIES if zeros or (sizes > 1).any() else MAX_SIGNED
    if difference.size <= limit:
        return _exact_signed_rank(ranks[ranked != 0], ranks[ranked > 0].sum())
    above = ranks[ranked > 0].sum()
    if zero_method == "zsplit":
        above += ranks[ranked == 0].sum() / 2
        sizes = np.append(sizes, zeros)
    return _normal_signed_rank(above, ranked.size, zeros * (zero_method == "pratt"), sizes)


def _exact_signed_rank(ranks: Floats, above: float) -> float:
    """Two-sided p of the sum of the ranks of positive differences, if each sign is by chance."""
    doubled = np.rint(2 * ranks).astype(int)
    probability = np.ones(1)
    for rank in doubled:
        apart = np.zeros(rank)
        probability = (np.append(probability, apart) + np.append(apart, probability)) / 2
    place = round(2 * above)
    tails = probability[: place + 1].sum(), probability[place:].sum()
    return float(min(2 * min(tails), 1.0))


def _normal_signed_rank(above: float, count: int, zeros: int, sizes: NDArray[np.integer]) -> float:
    """Two-sided p of the sum of the ranks of positive differences, by the normal distribution.

    ``zeros`` are ranked and not in the sum, ``sizes`` are those of sets of equal differences.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - quick to start without it

    mean = count * (count + 1.0) * 0.25 - zeros * (zeros + 1.0) * 0.25
    square = count * (count + 1.0) * (2.0 * count + 1.0) - zeros * (zeros + 1.0) * (
        2.0 * zeros + 1.0
    )
    tied = sizes.astype(float)
    sd = np.sqrt((square - (tied**3 - tied).sum() / 2) / 24)
    return float(2 * ndtr(-np.abs((above - mean) / sd)))


def kendall(x: Floats, y: Floats) -> Association:
    """Return Kendall's tau-b of complete pairs; NaN of fewer than two and of a constant.

    p is exact without ties for up to 33 pairs, otherwise that of the normal distribution.

    Source: Kendall 1970; discordant pairs in n log n steps (Knight 1966).

    >>> found = kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    >>> round(found.statistic, 4), found.p
    (0.3333, 1.0)
    """
    n, both = x.size, np.column_stack((x, y))
    pairs = n * (n - 1) // 2
    tied_x, tied_y, tied = (np.unique(part, axis=0, return_counts=True)[1] for part in (x, y, both))
    equal_x, equal_y, equal = (_count_pairs(sizes) for sizes in (tied_x, tied_y, tied))
    if pairs in (equal_x, equal_y):
        return Association(float("nan"), float("nan"))
    order = np.lexsort((y, x))
    discordant = int(count_discordant(mean_ranks(y)[order], mean_ranks(x)[order]))
    surplus = pairs - equal_x - equal_y + equal - 2 * discordant
    tau = surplus / np.sqrt(pairs - equal_x) / np.sqrt(pairs - equal_y)
    tau = float(min(1.0, max(-1.0, tau)))
    without_ties = equal_x == equal_y == 0
    if without_ties and (n <= MAX_KENDALL or min(discordant, pairs - discordant) <= 1):
        return Association(tau, _exact_kendall(n, min(discordant, pairs - discordant)))
    return Association(tau, _normal_kendall(surplus, n, tied_x, tied_y))


def _count_pairs(sizes: NDArray[np.integer]) -> int:
    """Number of pairs inside sets of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


def _exact_kendall(n: int, inversions: int) -> float:
    """Two-sided p of so many inversions of n things, at most half of those that there can be."""
    if inversions <= 1:
        return 2 * (1 + inversions * (n - 1)) / factorial(n)
    if 4 * inversions == n * (n - 1):
        return 1.0
    orders = np.zeros(inversions + 1)
    orders[:2] = 1.0
    for size in range(3, n + 1):
        orders = np.cumsum(orders)
        if size <= inversions:
            orders[size:] -= orders[: inversions + 1 - size]
    return float(2.0 * orders.sum() / factorial(n))


def _normal_kendall(
    surplus: int, n: int, tied_x: NDArray[np.integer], tied_y: NDArray[np.integer]
) -> float:
    """Two-sided p of concordant less discordant pairs, by the normal distribution."""
    from scipy.special import ndtr  # noqa: PLC0415 - quick to start without it

    (pairs_x, three_x, all_x), (pairs_y, three_y, all_y) = (
        (
            (sizes * (sizes - 1.0) / 2).sum(),
            (sizes * (sizes - 1.0) * (sizes - 2)).sum(),
            (sizes * (sizes - 1.0) * (2 * sizes + 5)).sum(),
        )
        for sizes in (tied_x, tied_y)
    )
    m = n * (n - 1.0)
    variance = (
        (m * (2 * n + 5) - all_x - all_y) / 18
        + (2 * pairs_x * pairs_y) / m
        + three_x * three_y / (9 * m * (n - 2))
    )
    return float(2 * ndtr(-abs(surplus / np.sqrt(variance))))


def spearman(x: Floats, y: Floats) -> Association:
    """Return the correlation of ranks that are not constant, and p of the t distribution.

    >>> found = spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    >>> round(found.statistic, 4), round(found.p, 4)
    (0.8, 0.2)
    """
    from scipy.special import stdtr  # noqa: PLC0415 - quick to start without it

    correlations: Floats = np.asarray(np.corrcoef(np.column_stack((x, y)), rowvar=False))
    rho = float(correlations[1, 0])
    freedom = x.size - 2
    with np.errstate(divide="ignore"):
        t = rho * np.sqrt(np.maximum(freedom / np.float64((rho + 1.0) * (1.0 - rho)), 0.0))
    return Association(rho, float(2 * stdtr(freedom, -abs(t))))
