"""Confidence sequences: bounds of a mean that hold at every look, however often somebody looks."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Means that are tried; bounds are rounded outwards to them.
GRID_POINTS = 1001
# Largest share of the capital that one value can lose.
MAX_BET = 0.5
# Values of the capital in memory at once.
BLOCK_VALUES = 2_000_000


def confidence_sequence(
    x: xr.DataArray, *, dim: str, level: float, lowest: float, highest: float
) -> xr.DataArray:
    """Return bounds of the mean of bounded values that hold after all numbers of values at once.

    Somebody who bets against a mean m wins, after t values y in [0, 1],

    K+_t(m) = prod_i (1 + min(b_i, c / m) (y_i - m)),
    K-_t(m) = prod_i (1 - min(b_i, c / (1 - m)) (y_i - m)),
    b_i^2 = 2 log(2 / a) / (s_{i-1}^2 i log(1 + i)),

    s_i^2 the variance of the first i values about their running means, 1/4 before the first. If m
    is the mean, max(K+, K-) / 2 reaches 1/a with a probability of at most a = 1 - ``level``,
    whatever the law of the values and however many there are (Ville's inequality). The bounds
    after t values enclose all m for which it has not reached 1/a.

    Args:
        x: Values over (..., ``dim``) in [``lowest``, ``highest``], each of the same conditional
            mean given those before it: independent values of one law, in an order that does not
            depend on them. Missing values are passed over.
        dim: Dimension along which values come.
        level: Probability in (0, 1) with which all bounds hold together.
        lowest: Smallest possible value.
        highest: Largest possible value.

    Returns:
        Bounds over (..., ``dim``, bound) after each value, in the unit of the values; they never
        widen. They are rounded outwards by 0.1% of the range.

    Raises:
        ValueError: A value outside the range.

    Source: hedged capital with plug-in empirical-Bernstein bets, c = 1/2 (Waudby-Smith and Ramdas
    2023, section 4.2, Theorem 3, Eq. 26).

    Examples:
        >>> x = xr.DataArray(np.tile([0.2, 0.4], 200), dims="prompt")
        >>> bounds = confidence_sequence(x, dim="prompt", level=0.95, lowest=0.0, highest=1.0)
        >>> bounds.isel(prompt=[9, -1]).values.round(2)
        array([[0.15, 0.63],
               [0.28, 0.32]])
    """
    values = x.transpose(..., dim)
    scaled = (values.to_numpy().astype(float) - lowest) / (highest - lowest)
    if bool((scaled < 0).any() or (scaled > 1).any()):
        raise ValueError(f"a value is outside {lowest:g} to {highest:g}")
    rows = [_betting_bounds(row, 1 - level) for row in scaled.reshape(-1, scaled.shape[-1])]
    bounds = np.reshape(rows, (*scaled.shape, 2)) * (highest - lowest) + lowest
    coords = {**values.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(bounds, coords, (*values.dims, "bound"))


def _betting_bounds(values: Floats, error_rate: float) -> Floats:
    """Bounds after each value of one row, (value, bound)."""
    present = ~np.isnan(values)
    kept = values[present]
    bounds = np.tile([0.0, 1.0], (len(values), 1))
    if not kept.size:
        return bounds
    after = _running_bounds(kept, _bets(kept, error_rate), error_rate)
    # A missing value leaves the bounds as they are.
    position = np.cumsum(present) - 1
    bounds[position >= 0] = after[position[position >= 0]]
    return bounds


def _bets(values: Floats, error_rate: float) -> Floats:
    """Bet on each value, from those before it."""
    number = np.arange(1, len(values) + 1)
    mean = (0.5 + np.cumsum(values)) / (number + 1)
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / (number + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    bets: Floats = np.sqrt(2 * np.log(2 / error_rate) / (before * number * np.log1p(number)))
    return bets


def _running_bounds(values: Floats, bets: Floats, error_rate: float) -> Floats:
    """Smallest and largest mean that has never been rejected, after each value."""
    grid = np.linspace(0.0, 1.0, GRID_POINTS)
    step, size = grid[1], max(1, BLOCK_VALUES // len(values))
    lower, upper = np.full(len(values), np.inf), np.full(len(values), -np.inf)
    for start in range(0, GRID_POINTS, size):
        means = grid[start : start + size]
        open_means = ~_rejected(values[:, None], bets[:, None], means, error_rate)
        lower = np.minimum(lower, np.where(open_means, means, np.inf).min(1))
        upper = np.maximum(upper, np.where(open_means, means, -np.inf).max(1))
    # Where every mean is rejected, the last bounds stay.
    lost = lower > upper
    bounds = np.stack([lower, upper], -1)
    bounds[lost] = bounds[int((~lost).sum()) - 1] if not lost.all() else [0.0, 1.0]
    rounded: Floats = np.clip(bounds + np.array([-step, step]), 0.0, 1.0)
    return rounded


def _rejected(values: Floats, bets: Floats, means: Floats, error_rate: float) -> NDArray[np.bool_]:
    """Whether each mean has been rejected up to each value, (value, mean)."""
    with np.errstate(divide="ignore"):
        up, down = MAX_BET / means, MAX_BET / (1.0 - means)
    deviation = values - means
    gains = (np.minimum(bets, up) * deviation, -np.minimum(bets, down) * deviation)
    capital = np.maximum(*(np.cumsum(np.log1p(gain), axis=0) for gain in gains))
    return np.logical_or.accumulate(capital - np.log(2) >= -np.log(error_rate), axis=0)
