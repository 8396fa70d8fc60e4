"""Numbers, intervals and p-values as texts: every table, figure and sentence writes them alike."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from sharpbayes.report.tables.table import MINUS

MISSING = "-"
# A smaller p-value is what remains of an underflow.
SMALLEST_P = 1e-300


def number(value: ArrayLike | xr.DataArray, places: int = 3) -> str:
    """Return a number with a fixed number of decimals and a true minus sign; a dash where missing.

    >>> number(0.12345), number(-0.5), number(-1e-6), number(float("nan")), number(2.0, 1)
    ('0.123', '−0.500', '0.000', '-', '2.0')
    """
    plain = float(np.asarray(value))
    return MISSING if np.isnan(plain) else f"{plain:z.{places}f}".replace("-", MINUS)


def thousands(value: ArrayLike | xr.DataArray) -> str:
    """Return a count with thousands set apart, or a dash where it is missing.

    >>> thousands(12345.0), thousands(float("nan"))
    ('12,345', '-')
    """
    plain = float(np.asarray(value))
    return MISSING if np.isnan(plain) else f"{plain:,.0f}"


def interval(bounds: ArrayLike | xr.DataArray, places: int = 3) -> str:
    """Return an interval as ``lower to upper``, or a dash where it is missing.

    >>> interval([-1.925, -0.575]), interval([float("nan"), 1.0])
    ('−1.925 to −0.575', '-')
    """
    low, high = np.asarray(bounds, dtype=float)
    return MISSING if np.isnan(low) else f"{number(low, places)} to {number(high, places)}"


def estimate(value: ArrayLike | xr.DataArray, bounds: ArrayLike | xr.DataArray) -> str:
    """Return an estimate with its interval in brackets, two decimals each, or a dash.

    >>> estimate(0.1, [-0.25, 0.5])
    '0.10 (−0.25 to 0.50)'
    """
    text = interval(bounds, 2)
    return MISSING if text == MISSING else f"{number(value, 2)} ({text})"


def central_interval(draws: xr.DataArray, level: float) -> xr.DataArray:
    """Return the central interval of all draws at a confidence level, as two numbers."""
    return xr.DataArray(np.quantile(draws.to_numpy(), [(1 - level) / 2, (1 + level) / 2]))


def posterior_interval(draws: xr.DataArray) -> xr.DataArray:
    """Return the central interval of draws at the level that they carry."""
    return central_interval(draws, float(draws.attrs["level"]))


def posterior(draws: xr.DataArray) -> str:
    """Return the posterior mean with its interval at the level of the draws, or a dash."""
    return estimate(draws.to_numpy().mean(), posterior_interval(draws))


def p_value(p: ArrayLike | xr.DataArray) -> str:
    """Return a p-value with two digits, or a dash where it is missing.

    >>> p_value(0.0312), p_value(8.4e-8), p_value(0.0), p_value(float("nan"))
    ('0.031', '8.4e-08', '<1e-300', '-')
    """
    plain = float(np.asarray(p))
    if np.isnan(plain):
        return MISSING
    return f"{plain:.2g}" if plain >= SMALLEST_P else f"<{SMALLEST_P:g}"


# Formats by the names that declarations of columns use.
FORMATS: dict[str, Callable[[xr.DataArray], str]] = {
    "": number,
    "0": lambda value: number(value, 0),
    "4": lambda value: number(value, 4),
    "count": lambda value: str(int(value)),
    "interval": interval,
    "lower": lambda bounds: number(bounds[0]),
    "upper": lambda bounds: number(bounds[1]),
    "ends": lambda values: interval([values.min(), values.max()]),
    "median": lambda draws: number(draws.median()),
    "posterior lower": lambda draws: number(posterior_interval(draws)[0]),
    "posterior upper": lambda draws: number(posterior_interval(draws)[1]),
    "largest": lambda values: number(abs(values).max()),
    "p": p_value,
    "posterior": posterior,
    "thousands": thousands,
    "yes_no": lambda flag: "yes" if bool(flag) else "no",
}
