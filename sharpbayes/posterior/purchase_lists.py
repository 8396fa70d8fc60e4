"""What a list of purchases is worth at several lengths, and whether to go on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.design import Floats
from sharpbayes.posterior.decision import BATCHES
from sharpbayes.posterior.information import Offers, Purchase, explained_covariance

# Numbers of purchases at which the whole list is judged.
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
# Verdicts: an expected net gain counts where it exceeds so many Monte Carlo errors.
GO_ON, STOP, UNDECIDED = "go on", "stop", "cannot tell"
ERRORS = 2.0

# From draws of the differences and the covariance that is explained to the fall of a loss.
Gain = Callable[[Floats, Floats], float]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class PurchaseList:
    """Purchases in the order of their worth, and the differences that they narrow.

    Attributes:
        difference: Draws of the differences, (draw, other).
        offers: What can be bought.
        bought: Numbers of the purchases.
        halves: Positions of two halves of the draws.
        gain: By how much an explained covariance of the differences lowers the expected loss.
    """

    difference: Floats
    offers: Offers
    bought: Sequence[int]
    halves: Sequence[Positions]
    gain: Gain

    def explained(self, size: int, halves: Sequence[Positions] | None = None) -> Floats:
        """Return the covariance of the differences that the first purchases explain."""
        parts = self.halves if halves is None else halves
        return explained_covariance(self.difference, self.offers, self.bought[:size], parts)

    def lowers(self, size: int, halves: Sequence[Positions]) -> float:
        """Return by how much the first purchases lower the expected loss, by some of the draws."""
        return self.gain(self.difference[np.concatenate(halves)], self.explained(size, halves))

    def evaluate(self, loss: float | None) -> xr.Dataset:
        """Return gain, price and, with the price of a loss, net gain of the first purchases.

        ``list_gain``, ``list_cost`` and ``list_net`` are over (size), numbers of purchases; gains
        have a Monte Carlo error ``<name>_mcse``.
        """
        number = len(self.bought)
        sizes = sorted({size for size in SIZES if size < number} | {number} - {0})
        gains, errors = [], []
        for size in sizes:
            left_out = [self.lowers(size, parts) for parts in _leave_batches(self.halves)]
            gains.append(self.lowers(size, self.halves))
            errors.append(np.std(left_out) * np.sqrt(len(left_out) - 1))
        price = np.cumsum([self.offers.price(purchase) for purchase in self.bought])
        cost = np.array([price[size - 1] for size in sizes])
        curve = {"list_gain": np.array(gains), "list_gain_mcse": np.array(errors)}
        curve["list_cost"] = cost
        if loss is not None:
            curve["list_net"] = loss * curve["list_gain"] - cost
            curve["list_net_mcse"] = loss * curve["list_gain_mcse"]
        return xr.Dataset({k: ("size", v) for k, v in curve.items()}, {"size": sizes})


def judge_list(
    curve: xr.Dataset, *, is_open: bool = True, others_may_pay: bool = False
) -> tuple[str, int]:
    """Return whether to go on, by the net gains of a list, and how many purchases are worth most.

    Going on needs a net gain above 2 Monte Carlo errors, stopping none above -2 at any number. With
    no gain at all it is ``stop``, whatever it costs, and without net gains it is ``cannot tell``.
    An empty list tells nothing of an open question. Where purchases that the list does not judge
    may be worth their price (``others_may_pay``), ``stop`` becomes ``cannot tell``.

    Only numbers with a gain above 2 Monte Carlo errors are named: of them the one with the highest
    net gain, without net gains the largest, because more purchases gain more. It is 0 where no
    gain is shown.

    >>> net = {"list_net": ("size", [1.0, 5.0]), "list_net_mcse": ("size", [1.0, 1.0])}
    >>> gain = {"list_gain": ("size", [0.1, 0.4]), "list_gain_mcse": ("size", [0.1, 0.1])}
    >>> judge_list(xr.Dataset(net | gain, {"size": [1, 20]}))
    ('go on', 20)
    >>> judge_list(xr.Dataset(coords={"size": np.zeros(0)}))
    ('cannot tell', 0)
    """
    if not curve.sizes["size"]:
        return UNDECIDED if is_open else STOP, 0
    stop = UNDECIDED if others_may_pay else STOP
    if not bool((curve["list_gain"] > 0).any()):
        return stop, 0
    # The best of several noisy gains is too high: a gain counts where it exceeds its errors.
    shown = curve.isel(size=(curve["list_gain"] > ERRORS * curve["list_gain_mcse"]).to_numpy())
    sizes = shown["size"].to_numpy()
    if "list_net" not in curve:
        return UNDECIDED, int(np.max(sizes, initial=0))
    net, error = curve["list_net"], ERRORS * curve["list_net_mcse"]
    verdict = stop if bool((net + error <= 0).all()) else UNDECIDED
    if not sizes.size:
        return verdict, 0
    best = shown.isel(size=int(shown["list_net"].to_numpy().argmax()))
    goes_on = bool(best["list_net"] > ERRORS * best["list_net_mcse"])
    return GO_ON if goes_on else verdict, int(best["size"])


def may_pay(price: float, expected_loss: float, error: float, loss: float | None) -> bool:
    """Return whether purchases of at least a price could be worth it.

    No purchases gain more than the expected loss, which has a Monte Carlo error. Without the price
    of a loss any gain could be worth it.

    >>> may_pay(50.0, 0.1, 0.01, 1000.0), may_pay(50.0, 0.1, 0.01, 100.0)
    (True, False)
    >>> may_pay(50.0, 0.1, 0.01, None), may_pay(50.0, 0.0, 0.0, None)
    (True, False)
    """
    most = expected_loss + ERRORS * error
    return most > 0 and np.isfinite(price) and (loss is None or loss * most > price)


def price_of_longer(costs: Sequence[float], number: int) -> float:
    """Return what every longer list costs at least: infinity where a list was not cut at a number.

    >>> price_of_longer([1.0, 2.0], 2), price_of_longer([1.0, 2.0], 3)
    (3.0, inf)
    """
    return sum(costs) if len(costs) >= number else np.inf


def share_gain(curve: xr.Dataset, bought: Sequence[Purchase], best: int) -> Floats:
    """Return the gain of each purchase: that of the best number of them, shared by their worth.

    Where no gain is shown, that of the whole list is shared.

    >>> curve = xr.Dataset({"list_gain": ("size", [0.1, 0.4])}, {"size": [1, 3]})
    >>> bought = [Purchase(0, 0, 2.0), Purchase(1, 0, 1.0), Purchase(2, 0, 1.0)]
    >>> share_gain(curve, bought, 3).tolist(), share_gain(curve, bought, 1).tolist()
    ([0.2, 0.1, 0.1], [0.1, 0.05, 0.05])
    """
    worth = np.array([purchase.worth for purchase in bought])
    if not bought:
        return worth
    number = best or len(bought)
    gain = float(curve["list_gain"].sel(size=number))
    shared: Floats = gain * worth / (worth[:number].sum() or 1.0)
    return shared


def split_draws(chain: NDArray[np.integer]) -> tuple[Positions, Positions]:
    """Positions of two halves of the draws: of other chains, or of one chain's first and second."""
    half = chain % 2 == 0 if chain.max() else np.arange(len(chain)) < len(chain) / 2
    return np.flatnonzero(half), np.flatnonzero(~half)


def _leave_batches(halves: Sequence[Positions]) -> Iterator[list[Positions]]:
    """Yield the halves without one batch of successive draws of each."""
    batches = [np.array_split(np.arange(len(half)), min(BATCHES, len(half))) for half in halves]
    for dropped in zip(*batches, strict=False):
        yield [np.delete(half, drop) for half, drop in zip(halves, dropped, strict=True)]
