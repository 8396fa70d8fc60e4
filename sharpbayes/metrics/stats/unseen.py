"""What units of a kind that a sample does not show add to its bounds."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Error rates among which an error rate is divided, and halvings by which a number of units is
# found between these ratios to the present one.
ERROR_RATES, HALVINGS, RATIOS = 12, 40, (1e-4, 1e8)


@dataclass(frozen=True)
class Rise:
    """By how much a mean over the worst units rises at most if a share of all units is of a kind.

    c(r) = min(r / tail, 1) height

    Attributes:
        tail: Share of units that the mean is over, above 0; infinite where no unit raises it.
        height: By how much a unit of the kind is higher than others, at most.

    >>> Rise(0.05, 13.8)(xr.DataArray([0.01, 0.1])).values.round(2)
    array([ 2.76, 13.8 ])
    """

    tail: xr.DataArray | float
    height: xr.DataArray | float

    def __call__(self, share: xr.DataArray) -> xr.DataArray:
        """Return the rise by a share of the kind, over (...)."""
        return self.height * (share / self.tail).clip(max=1.0)


def unseen_share(units: xr.DataArray | float, *, error_rate: float) -> xr.DataArray:
    """Return the largest share of all units that are of a kind which none of n units is.

    q = 1 - error_rate^(1/n)

    With a larger share n units would show none of the kind in fewer than ``error_rate`` of cases.
    ``units`` is n: of units that do not count alike, how many there would be if all counted as much
    as the one that counts most. The share is in [0, 1]; NaN where n is missing.

    Source: Hanley and Lippman-Hand 1983.

    >>> round(float(unseen_share(30.0, error_rate=0.05)), 3)
    0.095
    """
    return 1.0 - xr.DataArray(error_rate) ** (1.0 / units)


def unseen_change(
    value: xr.DataArray,
    *,
    units: xr.DataArray | float,
    share: xr.DataArray | float,
    ceiling: xr.DataArray | float,
    error_rate: float,
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return how far a value v falls and rises if units of a kind that n do not show are extreme.

    At most a share q of all units is of such a kind (:func:`unseen_share`). A mean over the worst
    share s of units then falls by max(q + s - 1, 0) / s v, and rises by min(q / s, 1) (c - v).
    ``units`` is n: of units that do not count alike, how many there would be if all counted as much
    as the one that counts most. ``share`` is s, and the range is from 0 to c, the ``ceiling``. All
    are over (...), as is the result; NaN where one of them is missing.

    Source: Hanley and Lippman-Hand 1983.

    >>> zero = xr.DataArray([0.0])
    >>> fall, rise = unseen_change(zero, units=30.0, share=1.0, ceiling=1.0, error_rate=0.05)
    >>> rise.round(3).values
    array([0.095])
    """
    missed = unseen_share(units, error_rate=error_rate)
    fall, rise = (value * 0 + x for x in ((missed + share - 1.0) / share, missed / share))
    return fall.clip(min=0.0) * value, rise.clip(max=1.0) * (ceiling - value)


def divided_error_rates(error_rate: float) -> xr.DataArray:
    """Return the error rates b of bounds that :func:`raise_bounds` needs, over (error_rate).

    b_k = a^(1 - k / 12), k = 0 ... 11, from ``error_rate`` a up to below 1

    >>> divided_error_rates(0.05)[[0, 6]].values.round(3)
    array([0.05 , 0.224])
    """
    rates = error_rate ** (1.0 - np.arange(ERROR_RATES) / ERROR_RATES)
    return xr.DataArray(rates, {"error_rate": rates}, "error_rate")


def raise_bounds(bounds: xr.DataArray, share: xr.DataArray, rise: Rise) -> xr.DataArray:
    """Return an upper bound that holds whatever share of units is of a kind that none shows.

    max over b of  U(b) + c(r),  r = 1 - (1 - q)^(1 - log b / log a)

    U(b) are upper bounds (error_rate, ...) that err in a share b of samples without the kind, at
    the rates of :func:`divided_error_rates`. If a share r of all units is of the kind, n units show
    none with probability (1 - r)^n, and the bound that is raised by c(r) errs in a = b (1 - r)^n of
    all samples. ``share`` is q = 1 - a^(1 / n), over (...), 0 where samples show the kind;
    ``rise`` is c, by how much a share raises the value at most. The result is over (...), at least
    U(a); NaN where a bound is.

    Source: Hanley and Lippman-Hand 1983 for what was not seen; Berger 1982 for the largest of
    bounds of which each is right for one r.

    >>> rates = divided_error_rates(0.05)
    >>> bounds = xr.zeros_like(rates)  # resamples that hardly differ
    >>> share = unseen_share(100.0, error_rate=0.05)
    >>> round(float(raise_bounds(bounds, share, Rise(1.0, 10.0))), 3)
    0.271
    """
    raised: xr.DataArray = bounds + rise(divided_shares(share, bounds["error_rate"]))
    return raised.max("error_rate", skipna=False)


def divided_shares(share: xr.DataArray, error_rates: xr.DataArray) -> xr.DataArray:
    """Return the shares of a kind that n units show none of in a share a / b of samples.

    r = 1 - (1 - q)^(1 - log b / log a)

    ``share`` is q, that for a share a of samples, over (...); b are the ``error_rates`` of
    :func:`divided_error_rates`, a the least of them. The result is over (error_rate, ...).

    >>> shares = divided_shares(xr.DataArray(0.03), divided_error_rates(0.05))
    >>> shares[[0, 6]].values.round(3)
    array([0.   , 0.015])
    """
    part = 1.0 - np.log(error_rates) / np.log(error_rates.min())
    return 1.0 - (1.0 - share) ** part


def units_within(
    bounds: xr.DataArray,
    share: xr.DataArray,
    rise: Rise,
    *,
    value: xr.DataArray | float,
    limit: xr.DataArray,
    units: xr.DataArray,
) -> xr.DataArray:
    """Return of how many units without a kind the bound of :func:`raise_bounds` is within a limit.

    Bounds come nearer to the ``value`` with the root of the number of units, and what was not seen
    becomes rarer with the number. ``units`` is the present one, and all others are as there; they
    are over (...), as is the result. It is a whole number, infinite where the value is not within
    the ``limit``, and NaN where one of them is missing.

    >>> rates = divided_error_rates(0.05)
    >>> bounds, share = xr.zeros_like(rates), unseen_share(100.0, error_rate=0.05)
    >>> given = {"value": 0.0, "limit": xr.DataArray(0.271), "units": xr.DataArray(100.0)}
    >>> float(units_within(bounds, share, Rise(1.0, 10.0), **given))
    100.0
    """
    rates = bounds["error_rate"]
    numbers: xr.DataArray = xr.apply_ufunc(
        _find_units,
        (bounds - value) / rise.height,
        share,
        rise.tail,
        (limit - value) / rise.height,
        units,
        input_core_dims=[["error_rate"], [], [], [], []],
        kwargs={"part": 1.0 - np.log(rates) / np.log(rates.min())},
    )
    return numbers


def _find_units(
    reach: Floats,
    share: Floats,
    tail: Floats,
    gap: Floats,
    units: Floats,
    *,
    part: xr.DataArray,
) -> Floats:
    """Numbers of units with which bounds are within a gap, both in heights of a rise."""
    exponents = part.to_numpy()
    known = reach.sum(-1) + share + gap + units
    share, tail = (np.asarray(x)[..., None] for x in (share, tail))
    low, high = (np.full(known.shape, np.log(ratio)) for ratio in RATIOS)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        ratio = np.exp(middle)[..., None]
        missed = 1.0 - (1.0 - share) ** (exponents / ratio)
        raised = reach / ratio**0.5 + np.minimum(missed / tail, 1.0)
        is_within = raised.max(-1) <= gap
        low, high = np.where(is_within, low, middle), np.where(is_within, middle, high)
    numbers = np.where(gap > 0, np.ceil(units * np.exp(high)), np.inf)
    return np.where(np.isnan(known), np.nan, numbers)
