"""Intervals and tests of statistics that vary with two samples: items, and raters of groups."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scale = Callable[[Floats], Floats]
# Variances below are rounding errors of resamples that do not differ.
NO_VARIANCE = 1e-20
# Shares nearer to an end of their range are moved to this distance from it before their logit.
END = 0.05
# A rater who leaves less of the load to the others has all of it.
ALONE = 1e-12


@dataclass(frozen=True)
class Spread:
    """Variance of a statistic: over items, added by the raters of each group, and its freedom.

    All are over the same dimensions; ``sd`` is NaN where resamples do not differ.
    """

    items: Floats
    raters: Floats
    freedom: Floats

    @property
    def sd(self) -> Floats:
        """Standard deviation."""
        total = self.items + self.raters
        return np.sqrt(np.where(total > NO_VARIANCE, total, np.nan))


def rater_variance(raters: Floats, single_ratings: Floats, *, n_raters: Floats) -> Floats:
    """Return the variance that the choice of m raters adds to that over items.

    ``m / (m - 1) max(0, V_raters - V_ratings)`` of resamples (replicate, ...) of the raters, and of
    the ratings inside each item. Resamples of the items contain the noise of single ratings, and so
    do resamples of the raters: it is subtracted once.

    Source: Owen 2007; Cameron, Gelbach and Miller 2011 (two-way clustering).

    >>> both = np.array([0.1, 0.3, 0.5]), np.array([0.2, 0.3, 0.4])
    >>> round(float(rater_variance(*both, n_raters=np.array(4.0))), 3)
    0.04
    """
    added = variance(raters) - variance(single_ratings)
    m = np.maximum(n_raters, 2.0)
    return np.where(added > 0, added, 0.0) * m / (m - 1.0)


def combine(items: Floats, *, n_items: Floats, raters: Floats, n_raters: Floats) -> Spread:
    """Return the spread of a statistic from resamples (replicate, ...) of the items.

    ``raters`` is the variance that raters add.
    """
    first = variance(items)
    freedom = satterthwaite(first, raters, n_items=n_items, n_raters=n_raters)
    return Spread(first, raters, freedom)


def satterthwaite(items: Floats, raters: Floats, *, n_items: Floats, n_raters: Floats) -> Floats:
    """Return the degrees of freedom of a sum of two variances, at least 1.

    ``V^2 / (V_items^2 / (n - 1) + V_raters^2 / (m - 1))``; of a difference, n and m are the smaller
    numbers.

    Source: Satterthwaite 1946.
    """
    parts = items**2 / np.maximum(n_items - 1.0, 1.0) + raters**2 / np.maximum(n_raters - 1.0, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (items + raters) ** 2 / parts
    return np.where(parts > 0, np.maximum(freedom, 1.0), 1.0)


def pooled_raters(variances: Floats, n_raters: Floats) -> Floats:
    """Return the number of raters whose degrees of freedom are those of a sum over their groups.

    ``1 + V^2 / sum(V_g^2 / (m_g - 1))``, of the variances (..., group) that the m_g raters of each
    group add; it is over (...).

    Source: Satterthwaite 1946.

    >>> float(pooled_raters(np.array([1.0, 1.0]), np.array([11.0, 11.0])))
    21.0
    """
    by_freedom = (variances**2 / np.maximum(n_raters - 1.0, 1.0)).sum(axis=-1)
    number: Floats = 1.0 + variances.sum(axis=-1) ** 2 / np.maximum(
        by_freedom, np.finfo(float).tiny
    )
    return number


def rater_loads(
    load: Floats, group: NDArray[np.integer], *, n_groups: int
) -> tuple[Floats, Floats]:
    """Return by what the square of each rater's sum counts, and how many raters a group is worth.

    With ``w_r = load_r / sum(load)`` over the raters of a group and ``S = sum(w^2)`` the factor is
    ``1 / (1 - 2 w_r + S)``: a sum is of deviations from the mean of the group, which a rater draws
    towards himself by ``w_r``, and with it the expected square is that of raters who vary alike.
    The number is ``1 / S``. Of m equal loads the factor is m / (m - 1) and the number m.

    ``load`` (rater,), at least 0, is what a rater's ratings tell; ``group`` (rater,) is from 0, -1
    for none. Factors are (rater,), numbers (group,). Raters without a load or a group count for
    nothing. Where one rater has the whole load, or nobody any, the number is 1: how raters vary is
    not known then.

    Source: Bell and McCaffrey 2002 (bias-reduced variances of clusters); Kish 1965 (effective
    number).

    >>> factor, number = rater_loads(np.array([3.0, 1, 2, 2]), np.array([0, 0, 1, 1]), n_groups=2)
    >>> factor.tolist(), number.tolist()
    ([8.0, 0.8888888888888888, 2.0, 2.0], [1.6, 2.0])
    """
    is_member = group >= 0
    total = np.bincount(group[is_member], load[is_member], n_groups)
    share = np.where(is_member, load, 0.0) / np.where(total > 0, total, 1.0)[group]
    squares = np.bincount(group[is_member], share[is_member] ** 2, n_groups)
    remaining = 1.0 - 2.0 * share + squares[group]
    is_known = (share > 0) & (remaining > ALONE)
    factor = np.where(is_known, 1.0 / np.where(is_known, remaining, 1.0), 0.0)
    return factor, 1.0 / np.where(squares > 0, squares, 1.0)


def t_interval(value: Floats, spread: Spread, *, level: float) -> Floats:
    """Return ``value -+ t sd`` (..., bound); NaN where resamples do not differ."""
    from scipy.special import stdtrit  # noqa: PLC0415 - a quarter of a second to import

    half = stdtrit(spread.freedom, (1 + level) / 2) * spread.sd
    return np.stack([value - half, value + half], axis=-1)


def t_test(difference: Floats, spread: Spread) -> Floats:
    """Return the two-sided p value of a difference; NaN where resamples do not differ."""
    from scipy.special import stdtr  # noqa: PLC0415 - a quarter of a second to import

    p: Floats = 2.0 * stdtr(spread.freedom, -np.abs(difference) / spread.sd)
    return p


@dataclass(frozen=True)
class Resamples:
    """A statistic of resamples of items, of raters and of single ratings, over (replicate, ...).

    Attributes:
        items: Of resampled items.
        raters: Of resampled raters.
        single_ratings: Of raters resampled item by item.
        n_items: Number of independent items, over (...).
        n_raters: How many raters with equally many ratings the raters are worth, over (...).
    """

    items: Floats
    raters: Floats
    single_ratings: Floats
    n_items: Floats
    n_raters: Floats

    def spread_on(self, scale: Scale) -> Spread:
        """Return the spread of the statistic on a scale."""
        return self._combine(scale(self.items), self.rater_variance_on(scale))

    def rater_variance_on(self, scale: Scale = np.asarray) -> Floats:
        """Return what the choice of raters adds to the variance over items, on a scale."""
        return rater_variance(
            scale(self.raters), scale(self.single_ratings), n_raters=self.n_raters
        )

    @property
    def spread_of_items(self) -> Spread:
        """The spread of the statistic with these raters."""
        return self._combine(self.items, np.zeros(self.items.shape[1:]))

    def _combine(self, items: Floats, raters: Floats) -> Spread:
        return combine(items, n_items=self.n_items, raters=raters, n_raters=self.n_raters)


def wider_interval(
    observed: Floats,
    resamples: Resamples,
    *,
    level: float,
    bounds: tuple[float, float],
) -> Floats:
    """Return the interval that is the wider one on either side, of plain values and of logits.

    Near an end of its range a statistic is skewed and the logit's interval holds; where few raters
    differ from the others the plain one does. ``bounds`` are the ends of the range, which the
    interval keeps. It contains the observed value: where the plain interval is missing, so is the
    whole one, as that of the logit lies around a value that was moved away from an end.
    """
    low, high = bounds
    plain, curved = (
        t_interval(scale(observed), resamples.spread_on(scale), level=level)
        for scale in _scales(bounds)
    )
    plain, curved = np.clip(plain, low, high), low + (high - low) / (1.0 + np.exp(-curved))
    lower, upper = np.fmin(plain, curved)[..., 0], np.fmax(plain, curved)[..., 1]
    return np.where(np.isnan(plain), np.nan, np.stack([lower, upper], axis=-1))


def lower_tail_p(
    observed: Floats,
    resamples: Resamples,
    *,
    value: float,
    bounds: tuple[float, float],
) -> Floats:
    """Return the one-sided p value of a statistic that lies below a value.

    It is the larger one of plain values and of logits: the rate at which the upper bound of
    :func:`wider_interval`, whose arguments these are, reaches ``value``. NaN where that is missing.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - a quarter of a second to import

    p = []
    for scale in _scales(bounds):
        spread = resamples.spread_on(scale)
        p.append(stdtr(spread.freedom, (scale(observed) - scale(np.array(value))) / spread.sd))
    return np.where(np.isnan(p[0]), np.nan, np.fmax(*p))


def _scales(bounds: tuple[float, float]) -> tuple[Scale, Scale]:
    """Values as they are, and the logits of their place in a range."""
    low, high = bounds

    def logit(x: Floats) -> Floats:
        share = np.clip((x - low) / (high - low), END, 1.0 - END)
        logits: Floats = np.log(share / (1.0 - share))
        return logits

    return lambda x: x, logit


def variance(resampled: Floats) -> Floats:
    """Return the variance over replicates, missing ones left out; NaN where fewer than 2 remain."""
    present = np.maximum((~np.isnan(resampled)).sum(axis=0), 1)
    mean = np.nansum(resampled, axis=0) / present
    squares = np.nansum((resampled - mean) ** 2, axis=0)
    return np.where(present > 1, squares / np.maximum(present - 1, 1), np.nan)
