"""How raters agree with each other: with the consensus, in pairs, and in their use of scores."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sharpbayes.metrics.crowd.pair_kernels import compare_raters
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# Items that a rater, or a pair of raters, shares with others before a correlation is taken.
MIN_SHARED = 5
# A correlation of nearly 1 has no larger transform than this one's.
MAX_CORRELATION = 0.99
# Comparisons of two raters on an item that are made at most: those of evenly spaced items.
MAX_COMPARISONS = 1_000_000
# Raters who are compared in pairs: those with the most ratings.
MAX_RATERS = 400
ROUNDING = 1e-9
NAMES = (
    *("rater_agreement", "rater_agreement_spread", "rater_entropy_spread"),
    *("rater_correlation", "rater_copies"),
)


def rater_agreement(score: xr.DataArray, *, item: Codes, rater: Codes, n_scores: int) -> xr.Dataset:
    """Return five numbers that show raters who do not score as the others do.

    With y_ri a score, m_ri the mean score of the other raters of the item, and e_ri the score less
    the means of its item and of its rater, divided by the rater's spread:

    - ``rater_agreement``: mean over raters of r_r, the correlation of y_ri and m_ri, in [-1, 1].
      Low or negative where raters reverse the scale.
    - ``rater_agreement_spread``: weighted variance of z_r = atanh r_r, sum_r (n_r - 3) (z_r - mean
      z)^2 / sum_r (n_r - 3). High where some scores have nothing to do with the item.
    - ``rater_entropy_spread``: standard deviation over raters of the entropy of their scores,
      divided by log K, in [0, 0.5]. High where some raters give one score to everything.
    - ``rater_correlation``: mean over pairs of (sum_i e_ai e_bi / n_ab)^2, weighted by n_ab, their
      shared items. High where raters are in camps, reverse the scale or copy each other.
    - ``rater_copies``: the largest excess of equal scores of a pair over those that their
      frequencies would give by chance, in standard deviations. High where a rater copies another.

    Args:
        score: Scores 0 to K - 1 over (..., rating).
        item: Position of the item of each rating.
        rater: Position of the rater of each rating.
        n_scores: K.

    Returns:
        The five over (...). Raters with fewer than 5 items that others scored too have no
        agreement, and one who always gives the same score has an agreement of 0; pairs share 5
        items or more. NaN where nobody is left. Pairs are those of the 400 raters with the most
        ratings, and of evenly spaced items where there are more than a million comparisons.

    Source: Shannon 1948 (entropy), Fisher 1921 (atanh); pairs as in residual correlations of Yen
    1984 (Q3).

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> item, rater = (codes.ravel() for codes in np.indices((40, 8)))
        >>> severity = rng.normal(size=40)[item]
        >>> level = np.clip(np.round(2 + severity + rng.normal(size=320)), 0, 4).astype(int)
        >>> level[rater >= 4] = 4 - level[rater >= 4]  # half of the raters reverse the scale
        >>> data = rater_agreement(xr.DataArray(level, dims="rating"), item=item, rater=rater,
        ...                        n_scores=5)
        >>> data.round(2).to_array().values
        array([-0.38,  0.02,  0.03,  0.25,  3.61])
    """
    order = np.lexsort((rater, item))
    values = score.transpose(..., "rating").to_numpy()[..., order].astype(np.int64)
    lead = score.transpose(..., "rating").dims[:-1]
    flat = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    item, rater = item[order], rater[order]
    by_item, by_rater = (_indicator(codes) for codes in (item, rater))
    mean, spread = _agreement(flat, item, by_item, by_rater)
    frequency = _frequencies(flat, by_rater, n_scores)
    residual = _residuals(flat, item, rater, by_item, by_rater)
    pairs = _compare_pairs(flat, residual, frequency, item, rater)
    numbers = (mean, spread, _entropy_spread(frequency, by_rater), pairs[:, 0], pairs[:, 1])
    coords = {name: score[name] for name in lead if name in score.coords}
    shape = values.shape[:-1]
    variables = {
        name: (lead, number.reshape(shape)) for name, number in zip(NAMES, numbers, strict=True)
    }
    return xr.Dataset(variables, coords)


def find_copies(score: Codes, *, item: Codes, rater: Codes) -> tuple[int, int, int, int] | None:
    """Return the two raters with the largest excess of equal scores, as ``rater_copies`` has it.

    They are their positions, the number of items on which their scores are equal, and that of the
    items that both rated. Of repeated ratings of an item the first one counts. None where no two
    raters share 5 items.

    >>> item, rater = (codes.ravel() for codes in np.indices((30, 4)))
    >>> score = np.random.default_rng(1).integers(0, 4, (30, 4))
    >>> score[:, 3] = score[:, 1]
    >>> find_copies(score.ravel(), item=item, rater=rater)
    (1, 3, 30, 30)
    """
    order = np.lexsort((rater, item))
    score, item, rater = (codes[order] for codes in (score, item, rater))
    frequency = _frequencies(score[None], _indicator(rater), int(score.max()) + 1)
    [pair] = _compare_pairs(score[None], np.zeros((1, score.size)), frequency, item, rater)
    if np.isnan(pair[1]):
        return None
    first, second = (int(position) for position in pair[2:])
    of_first, of_second = rater == first, rater == second
    _, mine, theirs = np.intersect1d(item[of_first], item[of_second], return_indices=True)
    same = score[of_first][mine] == score[of_second][theirs]
    return first, second, int(same.sum()), same.size


def find_duplicates(score: Codes, *, item: Codes, rater: Codes) -> list[list[int]]:
    """Return the sets of raters who gave the same scores to the same items, beyond chance.

    sum_i log q_i(y_i) + log(R (R - 1) / 2) < log 0.05

    q_i(y) is the share of the score y among all ratings of item i, and R the number of raters: so
    many pairs would seldom have such equal scores if raters scored as all others do. Raters who
    give one score to everything are left out. Scores are 0 and larger; raters are positions, in
    order. Repeated ratings of an item count as they stand.

    Source: none; the probability of equal scores, with Bonferroni's correction.

    >>> item, rater = (codes.ravel() for codes in np.indices((30, 4)))
    >>> score = np.random.default_rng(1).integers(0, 4, (30, 4))
    >>> score[:, 3] = score[:, 1]
    >>> find_duplicates(score.ravel(), item=item, rater=rater)
    [[1, 3]]
    """
    cell = item * (int(score.max(initial=0)) + 1) + score.astype(np.int64)
    in_cell, in_item = (np.bincount(codes)[codes] for codes in (cell, item))
    chance = np.bincount(rater, np.log(in_cell / in_item))
    raters = np.count_nonzero(np.bincount(rater))
    limit = np.log(SIGNIFICANCE_LEVEL / max(raters * (raters - 1) / 2, 1))
    n, total, squares = (np.bincount(rater, score.astype(float) ** power) for power in (0, 1, 2))
    is_rare = (chance < limit) & (n * squares > total**2)
    sums = [np.bincount(rater, word)[is_rare] for word in _hash_words(cell)]
    _, inverse, number = np.unique(np.stack(sums), axis=1, return_inverse=True, return_counts=True)
    positions = np.flatnonzero(is_rare)
    sets = (positions[inverse == same].tolist() for same in np.flatnonzero(number > 1))
    return sorted(sets)


def _hash_words(codes: Codes) -> tuple[Floats, Floats]:
    """Two words of 32 bits for each code, whose sums over a million codes are exact.

    Source: Steele, Lea and Flood 2014 (SplitMix).
    """
    with np.errstate(over="ignore"):
        x = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(32)).astype(float), (x & np.uint64(0xFFFFFFFF)).astype(float)


def _indicator(codes: Codes) -> csr_array:
    """Which ratings have which code: a sparse matrix (code, rating) of ones."""
    columns = np.arange(codes.size)
    return csr_array((np.ones(codes.size), (codes, columns)), shape=(codes.max() + 1, codes.size))


def _sum_by(values: Floats, by: csr_array) -> Floats:
    """Sums (draw, code) of values (draw, rating)."""
    sums: Floats = (by @ values.T).T
    return sums


def _agreement(
    score: NDArray[np.int64], item: Codes, by_item: csr_array, by_rater: csr_array
) -> tuple[Floats, Floats]:
    """Mean and spread over raters of the agreement with the other raters of an item."""
    number = by_item.sum(axis=1)[item]
    kept = number > 1
    y = score[:, kept].astype(float)
    others = (_sum_by(score.astype(float), by_item)[:, item] - score)[:, kept] / (number[kept] - 1)
    by_rater = by_rater[:, kept]
    n = by_rater.sum(axis=1)
    enough = n >= MIN_SHARED
    if not enough.any():
        return np.full(len(y), np.nan), np.full(len(y), np.nan)
    sums = [_sum_by(x, by_rater)[:, enough] for x in (y, others, y * y, others**2, y * others)]
    mean_y, mean_m, yy, mm, ym = (x / n[enough] for x in sums)
    spread = np.sqrt(((yy - mean_y**2) * (mm - mean_m**2)).clip(min=0.0))
    covariance = ym - mean_y * mean_m
    agreement = np.where(spread > ROUNDING, covariance / np.where(spread > ROUNDING, spread, 1), 0)
    z = np.arctanh(agreement.clip(-MAX_CORRELATION, MAX_CORRELATION))
    weight = (n[enough] - 3) / (n[enough] - 3).sum()
    centre = (z @ weight)[:, None]
    return agreement.mean(axis=1), (z - centre) ** 2 @ weight


def _frequencies(score: NDArray[np.int64], by_rater: csr_array, n_scores: int) -> Floats:
    """How often each rater gives each score; shape (draw, rater, score)."""
    number = np.maximum(by_rater.sum(axis=1), 1)
    counts = [_sum_by((score == s).astype(float), by_rater) / number for s in range(n_scores)]
    return np.ascontiguousarray(np.stack(counts, axis=-1))


def _entropy_spread(frequency: Floats, by_rater: csr_array) -> Floats:
    """Standard deviation over raters of their entropy, by that of equal frequencies."""
    enough = by_rater.sum(axis=1) >= MIN_SHARED
    if enough.sum() < 2:  # noqa: PLR2004 - no spread of one rater
        return np.full(len(frequency), np.nan)
    share = frequency[:, enough]
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=-1)
    spread: Floats = (entropy / np.log(frequency.shape[-1])).std(axis=1)
    return spread


def _residuals(
    score: NDArray[np.int64], item: Codes, rater: Codes, by_item: csr_array, by_rater: csr_array
) -> Floats:
    """Scores less the means of their item and of their rater, by the rater's spread."""
    residual = score - (_sum_by(score.astype(float), by_item) / by_item.sum(axis=1))[:, item]
    number = np.maximum(by_rater.sum(axis=1), 1)
    residual -= (_sum_by(residual, by_rater) / number)[:, rater]
    sd = np.sqrt(_sum_by(residual**2, by_rater) / number)
    scaled: Floats = residual / np.where(sd > ROUNDING, sd, 1.0)[:, rater]
    return scaled


def _compare_pairs(
    score: NDArray[np.int64], residual: Floats, frequency: Floats, item: Codes, rater: Codes
) -> Floats:
    """Mean squared correlation of residuals, largest excess of equal scores, and its two raters.

    Over (draw, 4); the raters are meaningless where there is no excess.
    """
    number = np.bincount(rater, minlength=frequency.shape[1])
    busiest = np.sort(np.argsort(-number, kind="stable")[:MAX_RATERS])
    position = np.full(number.size, -1)
    position[busiest] = np.arange(busiest.size)
    paired = position[rater] >= 0
    kept = np.flatnonzero(paired & _spaced_items(item, paired))
    result = np.empty((len(score), 4))
    compare_raters(
        np.searchsorted(item[kept], np.arange(item.max() + 2)),
        position[rater[kept]],
        np.ascontiguousarray(score[:, kept]),
        np.ascontiguousarray(residual[:, kept]),
        np.ascontiguousarray(frequency[:, busiest]),
        MIN_SHARED,
        result,
    )
    result[:, 2:] = busiest[result[:, 2:].astype(np.int64)]
    return result


def _spaced_items(item: Codes, paired: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a rating's item is among those that are compared: all, or evenly spaced ones."""
    number = np.bincount(item[paired], minlength=item.max() + 1).astype(float)
    step = max(1, int(np.ceil((number * (number - 1) / 2).sum() / MAX_COMPARISONS)))
    chosen: NDArray[np.bool_] = item % step == 0
    return chosen
