"""Numbers, intervals and p-values as texts: every table, figure and sentence writes them alike."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.report.tables.table import MINUS

MISSING = "-"
# Decimals of what hardly varies, and an error that is one of rounding.
MAX_PLACES, ROUNDING = 6, 1e-12
# A smaller p-value is what remains of an underflow.
MIN_P = 1e-300
# The smallest that three decimals show.
SHOWN_P = "0.001"


def number(value: ArrayLike | xr.DataArray, places: int = 3) -> str:
    """Return a number with a fixed number of decimals and a true minus sign; a dash where missing.

    >>> number(0.12345), number(-0.5), number(-1e-6), number(float("nan")), number(2.0, 1)
    ('0.123', '−0.500', '0.000', '-', '2.0')
    """
    plain = float(np.asarray(value))
    return MISSING if np.isnan(plain) else f"{plain:z.{places}f}".replace("-", MINUS)


def small_number(value: ArrayLike | xr.DataArray, places: int) -> str:
    """Return a number, or the bound that it is below where the most decimals show only zeros.

    >>> small_number(0.00012, 5), small_number(3e-8, 6), small_number(0.0, 6)
    ('0.00012', '<0.000001', '0.000000')
    """
    text = number(value, places)
    smallest = 10.0**-MAX_PLACES
    is_hidden = places == MAX_PLACES and 0 < float(np.asarray(value)) < smallest / 2
    return f"<{number(smallest, MAX_PLACES)}" if is_hidden else text


def thousands(value: ArrayLike | xr.DataArray) -> str:
    """Return a count with thousands set apart, or a dash where it is missing.

    >>> thousands(12345.0), thousands(float("nan"))
    ('12,345', '-')
    """
    plain = float(np.asarray(value))
    return MISSING if np.isnan(plain) else f"{plain:,.0f}"


def places_of(error: float, places: int) -> int:
    """Return the decimals at which an error has one or two digits, those wanted if they do.

    More decimals would be noise, and fewer would hide what is known.

    >>> [places_of(error, 2) for error in (260.0, 26.0, 2.7, 0.37, 0.06, 0.004, 1e-16)]
    [0, 0, 1, 2, 2, 3, 2]
    """
    if not ROUNDING < error < np.inf:
        return places
    one_digit = -int(np.floor(np.log10(error)))
    return min(max(places, one_digit), max(one_digit + 1, 0), MAX_PLACES)


def interval(bounds: ArrayLike | xr.DataArray, places: int = 3) -> str:
    """Return an interval as ``lower to upper``, or a dash where it is missing.

    Its half width decides whether it has fewer or more decimals.

    >>> interval([-0.925, -0.575]), interval([-4e-5, 3e-5]), interval([float("nan"), 1.0])
    ('−0.93 to −0.57', '−0.00004 to 0.00003', '-')
    """
    low, high = np.asarray(bounds, dtype=float)
    return _interval(low, high, places_of((high - low) / 2, places))


def _interval(low: float, high: float, places: int) -> str:
    """An interval with a fixed number of decimals."""
    return MISSING if np.isnan(low) else f"{number(low, places)} to {number(high, places)}"


def value_and_interval(
    value: ArrayLike | xr.DataArray, bounds: ArrayLike | xr.DataArray
) -> tuple[str, str]:
    """Return an estimate and its interval with the decimals that the nearer bound deserves.

    An estimate that is a bound, such as the largest value that there is, has two at least: rounded
    more, it would seem to lie beyond.

    >>> value_and_interval(4.843, [2.128, 55.26]), value_and_interval(0.5, [float("nan")] * 2)
    (('4.8', '2.1 to 55.3'), ('0.50', '-'))
    >>> value_and_interval(13.816, [2.128, 13.816])
    ('13.82', '2.13 to 13.82')
    """
    plain, (low, high) = float(np.asarray(value)), np.asarray(bounds, dtype=float)
    distances = [plain - low, high - plain]
    known = [distance for distance in distances if distance > ROUNDING]
    places = places_of(min(known, default=0.0), 2)
    if any(abs(distance) <= ROUNDING for distance in distances):
        places = max(places, 2)
    return number(plain, places), _interval(low, high, places)


def estimate(value: ArrayLike | xr.DataArray, bounds: ArrayLike | xr.DataArray) -> str:
    """Return an estimate with its interval in brackets if it has one, or a dash.

    >>> estimate(0.1, [-0.25, 0.5]), estimate(14.07, [6.5, 55.26]), estimate(13.8, [np.nan] * 2)
    ('0.10 (−0.25 to 0.50)', '14.1 (6.5 to 55.3)', '13.80')
    """
    plain, text = value_and_interval(value, bounds)
    return plain if text == MISSING else f"{plain} ({text})"


def posterior_interval(draws: xr.DataArray) -> xr.DataArray:
    """Return the central interval of draws at the level that they carry."""
    return central_interval(draws, level=float(draws.attrs["level"]))


def posterior(draws: xr.DataArray) -> str:
    """Return the posterior median with its interval at the level of the draws, or a dash."""
    return estimate(np.median(draws), posterior_interval(draws))


def probability(value: ArrayLike | xr.DataArray) -> str:
    """Return a probability with two decimals, never 0 or 1, which no number of draws can tell.

    >>> probability(0.876), probability(1.0), probability(0.0), probability(float("nan"))
    ('0.88', '>0.99', '<0.01', '-')
    """
    plain = float(np.asarray(value))
    if plain > 0.995:  # noqa: PLR2004 - would be 1.00
        return ">0.99"
    return "<0.01" if plain < 0.005 else number(plain, 2)  # noqa: PLR2004 - would be 0.00


def percent(value: ArrayLike | xr.DataArray) -> str:
    """Return a probability in percent, never 0 or 100, which no number of draws can tell.

    >>> percent(0.123), percent(0.0), percent(0.998), percent(float("nan"))
    ('12%', '<1%', '>99%', '-')
    """
    plain = 100 * float(np.asarray(value))
    if plain > 99.5:  # noqa: PLR2004 - would be 100
        return ">99%"
    if plain < 0.5:  # noqa: PLR2004 - would be 0
        return "<1%"
    return MISSING if np.isnan(plain) else f"{plain:.0f}%"


def within_interval(value: ArrayLike | xr.DataArray, draws: xr.DataArray) -> str:
    """Return a number about draws with the decimals that their interval deserves."""
    low, high = posterior_interval(draws).to_numpy()
    return number(value, places_of((high - low) / 2, 3))


def p_value(p: ArrayLike | xr.DataArray) -> str:
    """Return a p-value with two digits, or a dash where it is missing.

    >>> p_value(0.0312), p_value(8.4e-8), p_value(0.0), p_value(float("nan"))
    ('0.031', '8.4e−08', '<1e−300', '-')
    """
    plain = float(np.asarray(p))
    if np.isnan(plain):
        return MISSING
    text = f"{plain:.2g}" if plain >= MIN_P else f"<{MIN_P:g}"
    return text.replace("-", MINUS)


def short_p(p: ArrayLike | xr.DataArray) -> str:
    """Return a p-value with three decimals, never 0, or a dash where it is missing.

    >>> short_p(0.0312), short_p(8.4e-8), short_p(float("nan"))
    ('0.031', '<0.001', '-')
    """
    text = number(p)
    return f"<{SHOWN_P}" if text == "0.000" else text


# Formats by the names that declarations of columns use.
FORMATS: dict[str, Callable[[xr.DataArray], str]] = {
    "": number,
    "0": lambda value: number(value, 0),
    "1": lambda value: number(value, 1),
    "2": lambda value: number(value, 2),
    "4": lambda value: number(value, 4),
    "count": lambda value: str(int(value)),
    "interval": interval,
    "lower": lambda bounds: number(bounds[0]),
    "upper": lambda bounds: number(bounds[1]),
    "ends": lambda values: interval([values.min(), values.max()]),
    "median": lambda draws: within_interval(draws.median(skipna=False), draws),
    "posterior lower": lambda draws: within_interval(posterior_interval(draws)[0], draws),
    "posterior upper": lambda draws: within_interval(posterior_interval(draws)[1], draws),
    "average": lambda values: number(values.mean()),
    "largest": lambda values: number(abs(values).max()),
    "p": p_value,
    "short p": short_p,
    "posterior": posterior,
    "probability": probability,
    "thousands": thousands,
    "changed": lambda flag: "YES" if bool(flag) else "no",
    "text": lambda value: str(value.item()),
    "names": lambda value: str(value.item()) or "-",
    "yes_no": lambda flag: "yes" if bool(flag) else "no",
}
