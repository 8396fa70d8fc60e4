"""Whether raters who look careless read the items all the same, and see them otherwise."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.stats.multiplicity import benjamini_hochberg

Floats = NDArray[np.float64]
Scores = NDArray[np.floating | np.integer]
Codes = NDArray[np.integer]
# Items that a rater shares with others before a correlation is taken.
MIN_SHARED = 5
SHUFFLES = 999
# Of the suspects who are said to read, so many at most do not, on average.
FALSE_READING = 0.05
ROUNDING = 1e-9


def reading(
    score: Scores, *, item: Codes, rater: Codes, suspect: NDArray[np.bool_], seed: int
) -> xr.Dataset:
    """Return whether the scores of suspects follow the items, as others see them.

    With e_si the score of rater s less the mean of their scores, r the suspect and G other raters,

    r_G = correlation over the items of r of y_ri and mean_{s in G} e_si,
    p_G = (1 + #{|r_G of shuffled scores of r| >= |r_G|}) / (B + 1),  p = min(1, 2 min p_G)

    for the other suspects and for all who are no suspects. The scores of a careless rater have
    nothing to do with the item, so that every order of them is as likely: p is then exact. A small
    p with a high ``peer_correlation`` is an opinion that suspects share, one with a negative
    ``crowd_correlation`` a scale that is read from its other end.

    Args:
        score: Scores of the ratings, any numbers that grow with harm.
        item: Position of the item of each rating.
        rater: Position of the rater of each rating.
        suspect: Which raters are suspects, (rater).
        seed: Seed of the B = 999 shuffles.

    Returns:
        Over ``rater``: ``peer_correlation`` and ``crowd_correlation`` in [-1, 1] and ``reading_p``
        in (0, 1]. NaN for raters who are no suspects, who give one score to everything, or who
        share fewer than 5 items with the others.

    Source: Fisher 1935, section 21 (exact tests by shuffling).

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> item, rater = (codes.ravel() for codes in np.indices((40, 6)))
        >>> perceived = np.where(rater < 2, -1, 1) * rng.normal(size=40)[item]
        >>> score = np.digitize(perceived + 0.5 * rng.normal(size=240), [-1, 0, 1])
        >>> data = reading(score, item=item, rater=rater, suspect=np.arange(6) < 2, seed=1)
        >>> data["crowd_correlation"].values.round(2), data["reading_p"].values[:2]
        (array([-0.75, -0.85,   nan,   nan,   nan,   nan]), array([0.002, 0.002]))
    """
    values, size = np.asarray(score, dtype=float), suspect.size
    count = np.maximum(np.bincount(rater, minlength=size), 1)
    deviation = values - (np.bincount(rater, values, minlength=size) / count)[rater]
    rng = np.random.default_rng(seed)
    table = np.full((3, size), np.nan)
    for suspected in np.flatnonzero(suspect):
        mine = np.flatnonzero(rater == suspected)
        pairs = []
        for group in (suspect, ~suspect):
            others = np.flatnonzero(group[rater] & (rater != suspected))
            means_of_others = _means_of(deviation[others], item[others], item[mine])
            pairs.append(_shuffled_correlation(values[mine], means_of_others, rng))
        table[:2, suspected] = [correlation for correlation, _ in pairs]
        table[2, suspected] = np.minimum(1.0, 2.0 * np.fmin(pairs[0][1], pairs[1][1]))
    names = ("peer_correlation", "crowd_correlation", "reading_p")
    return xr.Dataset({name: ("rater", row) for name, row in zip(names, table, strict=True)})


def count_readers(p: xr.DataArray) -> int:
    """Return how many suspects give scores that follow the items.

    Their ``reading_p (rater)`` is at most 0.05 when adjusted for the false discovery rate: of 12
    who click one has an unadjusted p of 0.05 in half of all crowds. NaN is no suspect.

    Source: Benjamini and Hochberg 1995.

    >>> count_readers(xr.DataArray([0.002, 0.04, 0.6, np.nan], dims="rater"))
    1
    """
    return int((benjamini_hochberg(p.to_numpy()) <= FALSE_READING).sum())


def _means_of(deviation: Floats, item: Codes, wanted: Codes) -> Floats:
    """Return the mean deviation of some ratings on each wanted item; NaN where there is none."""
    size = int(max(item.max(initial=0), wanted.max(initial=0))) + 1
    number = np.bincount(item, minlength=size)[wanted]
    total = np.bincount(item, deviation, minlength=size)[wanted]
    means: Floats = np.divide(total, number, out=np.full(len(wanted), np.nan), where=number > 0)
    return means


def _shuffled_correlation(
    values: Floats, reference: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the correlation of values with what others see, and its p; NaN where there is none."""
    known = np.isfinite(reference)
    centred, other = (x[known] - x[known].mean() if known.any() else x for x in (values, reference))
    spread = np.sqrt((centred**2).sum() * (other**2).sum()) if known.any() else 0.0
    if known.sum() < MIN_SHARED or not spread > 0.0:
        return np.nan, np.nan
    shuffled = rng.permuted(np.tile(centred, (SHUFFLES, 1)), axis=1) @ other
    observed = float(centred @ other)
    reached = int((np.abs(shuffled) >= abs(observed) - ROUNDING * spread).sum())
    return observed / spread, (1 + reached) / (SHUFFLES + 1)
