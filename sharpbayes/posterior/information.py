"""The value of ratings that nobody has made yet: how much they lower the loss of a choice.

Everything is about the differences of some models from the chosen one, (draw, other): a model that
is better has a negative difference, and choosing it would have gained its size.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Floats

# Directions in which draws vary less than this share of the largest do not vary.
ROUNDING = 1e-10
# Units that are bought in any number, such as new prompts, stand among the purchases under -1, -2,
# ..., in the order of their populations.
FIRST_UNIT = -1
# What costs nothing is divided by this price.
FREE = 1e-12


@dataclass(frozen=True)
class Populations:
    """Units that can be bought in any number: new prompts, new items, new raters of some kinds.

    Attributes:
        cost: Price of a unit of each population with all that belongs to it, (population,).
        explains: From the number of units of each population to the covariance of the differences
            that they explain, (other, other).
    """

    cost: Floats
    explains: Callable[[NDArray[np.integer]], Floats]

    def count(self, purchases: Sequence[int]) -> NDArray[np.integer]:
        """Return how many units of each population are among some purchases."""
        units = [FIRST_UNIT - number for number in purchases if number <= FIRST_UNIT]
        return np.bincount(np.array(units, dtype=np.int64), minlength=len(self.cost))


@dataclass(frozen=True)
class Offers:
    """What can be bought: judgements, each once, and any number of units of populations.

    Attributes:
        mean: What each draw expects of each judgement, (draw, judgement).
        variance: Variance of a judgement given a draw, (judgement).
        cost: Price of each judgement.
        populations: Units that are for sale; None where there are none.
    """

    mean: Floats
    variance: Floats
    cost: Floats
    populations: Populations | None

    def of(self, draws: NDArray[np.integer]) -> "Offers":
        """Return the offers by some of the draws."""
        return replace(self, mean=self.mean[draws])

    def price(self, number: int) -> float:
        """Return the price of a purchase."""
        if number > FIRST_UNIT or self.populations is None:
            return float(self.cost[number])
        return float(self.populations.cost[FIRST_UNIT - number])


class Purchase(NamedTuple):
    """A judgement or a unit: its number, the difference that it narrows most, its worth.

    The worth is the fall of the expected loss to first order.
    """

    number: int
    narrows: int
    worth: float


def loss_slopes(difference: Floats) -> Floats:
    """Return by how much the expected loss falls for each unit of variance that is explained.

    phi(m / s) / (2 s), m and s the mean and the sd of a difference: the derivative of the expected
    loss s phi(m / s) - m Phi(-m / s) of the choice between two, by s^2.
    """
    mean, sd = difference.mean(0), difference.std(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.exp(-((mean / sd) ** 2) / 2) / (2 * sd * np.sqrt(2 * np.pi))
    slopes: Floats = np.where(sd > 0, slope, 0.0)
    return slopes


def choose_purchases(difference: Floats, offers: Offers, number: int) -> Iterator[Purchase]:
    """Yield what to buy, the best first.

    Each step takes what lowers the expected loss most for its price, to first order and given all
    that was taken before: the difference d loses the variance cov(d, h)^2 / (var(h) + v), h the
    expectation and v the variance of a judgement. The draws are then brought to what they would be
    after the judgement (deterministic square-root update), so that a second judgement of the same
    answer promises less.

    Source: linear Bayes (Goldstein and Wooff 2007, chapter 3); update of Whitaker and Hamill 2002.
    """
    slopes = loss_slopes(difference)
    if not slopes.any():  # so far apart that only their order by size is left
        slopes = np.ones(len(slopes))
    d, h = (x - x.mean(0) for x in (difference, offers.mean.copy()))
    draws, available, units = len(d), np.ones(h.shape[1], dtype=bool), list[int]()
    for _ in range(number):
        total = (h**2).mean(0) + offers.variance
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = slopes[:, None] * (d.T @ h / draws) ** 2 / total
        gains = np.where(available & (total > 0), gains, -1.0)
        by_cost = gains.sum(0) / np.maximum(offers.cost, FREE)
        best = int(by_cost.argmax()) if available.any() else 0
        unit = _best_unit(offers.populations, slopes, units)
        if unit is not None and (not available.any() or unit[1] > by_cost[best]):
            units.append(unit[0].number)
            yield unit[0]
        elif not available.any():
            return
        else:
            yield Purchase(best, int(gains[:, best].argmax()), float(gains[:, best].sum()))
            available[best] = False
            d, h = _update(d, h, best, offers.variance[best])


def _best_unit(
    populations: Populations | None, slopes: Floats, units: Sequence[int]
) -> tuple[Purchase, float] | None:
    """The unit that lowers the expected loss most for its price, and its worth by price."""
    if populations is None:
        return None
    counts = populations.count(units)
    current = np.diag(populations.explains(counts))
    gains = np.stack(
        [
            slopes * (np.diag(populations.explains(counts + more)) - current)
            for more in np.eye(len(counts), dtype=np.int64)
        ]
    )
    by_cost = gains.sum(1) / np.maximum(populations.cost, FREE)
    best = int(by_cost.argmax())
    purchase = Purchase(FIRST_UNIT - best, int(gains[best].argmax()), float(gains[best].sum()))
    return purchase, float(by_cost[best])


def unit_share(bought: Floats | float, units: Floats | float) -> Floats:
    """Return which share of what infinitely many new units would explain so many explain."""
    share: Floats = np.asarray(bought) / (np.asarray(units) + bought)
    return share


def _update(d: Floats, h: Floats, bought: int, variance: float) -> tuple[Floats, Floats]:
    """Draws as they are after a judgement, with their means left where they are."""
    column = h[:, bought].copy()
    total = float((column**2).mean() + variance)
    shrink = 1.0 / (1.0 + np.sqrt(variance / total))
    first, second = (
        x - shrink * np.outer(column, column @ x / len(column) / total) for x in (d, h)
    )
    return first, second


def explained_covariance(
    difference: Floats, offers: Offers, bought: Sequence[int], halves: Sequence[NDArray[np.intp]]
) -> Floats:
    """Return the covariance of the differences that purchases explain, (other, other).

    A linear regression of the differences on the judgements in one half of the draws gives a
    summary of the judgements for each difference. What the summaries explain of the differences is
    their regression in the other half, c'(S + b'Vb)^-1 c: a coefficient that chance alone has made
    explains nothing there. S and c are covariances of the summaries, b the coefficients, V the
    variances of the judgements given a draw.

    Source: regression on a summary of the data (Strong, Oakley, Brennan and Breeze 2015).
    """
    judgements = [number for number in bought if number > FIRST_UNIT]
    explained = np.zeros((difference.shape[1],) * 2)
    if judgements:
        noise = np.diag(offers.variance[judgements])
        (d, h), (other_d, other_h) = (
            _centre(difference[rows], offers.mean[rows][:, judgements]) for rows in halves
        )
        b = np.linalg.lstsq(h.T @ h / len(h) + noise, h.T @ d / len(h), rcond=None)[0]
        summary = other_h @ b
        spread = summary.T @ summary / len(summary) + b.T @ noise @ b
        shared = summary.T @ other_d / len(summary)
        explained = shared.T @ np.linalg.pinv(spread, hermitian=True) @ shared
    if offers.populations is not None:
        explained = explained + offers.populations.explains(offers.populations.count(bought))
    return explained


def _centre(*arrays: Floats) -> list[Floats]:
    """Arrays less their means over draws."""
    return [array - array.mean(0) for array in arrays]


def expected_gain(difference: Floats, explained: Floats) -> float:
    """Return by how much data lower the expected loss of a choice, which may then be another.

    E[max(0, max_b -X_b)] - max(0, max_b -E[X_b]), X the draws of the differences d brought to the
    covariance that the data explain: X = E[d] + (d - E[d]) C^-1/2 W^1/2 C^1/2, C the covariance of
    d and W = C^-1/2 R C^-1/2, its eigenvalues between 0 and 1.

    Source: moment matching (Heath, Manolopoulou and Baio 2018).

    >>> d = 0.5 + np.random.default_rng(1).normal(size=(4000, 1))
    >>> round(expected_gain(d, np.array([[1.0]])), 1), expected_gain(d, np.array([[0.0]]))
    (0.2, 0.0)
    """
    mean = difference.mean(0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(difference, rowvar=False, ddof=0)))
    kept = values > ROUNDING * max(values.max(), 0.0)
    if not kept.any():
        return 0.0
    vectors, root = vectors[:, kept], np.sqrt(values[kept])
    whitened = (difference - mean) @ vectors / root
    share = (vectors.T @ explained @ vectors) / np.outer(root, root)
    shares, directions = np.linalg.eigh((share + share.T) / 2)
    width = np.sqrt(np.clip(shares, 0.0, 1.0))
    matched = mean + whitened @ (directions * width) @ directions.T * root @ vectors.T
    current_loss = max(0.0, float((-mean).max()))
    return max(0.0, float(np.maximum(0.0, (-matched).max(1)).mean()) - current_loss)
