"""Power-scaling: the posterior under a stronger or weaker prior or likelihood, by weights of draws.

    p_power(theta | y)  is proportional to  p(theta | y) f(theta)^(power - 1),

where f is the density of a prior, or the likelihood. A power of 2 counts it twice: a normal prior
is then narrower by the root of 2. A power of 1/2 counts it half. Nothing is sampled again: draws
get the weights f^(power - 1), smoothed by Pareto smoothing, whose k tells whether to trust them.

Source: Kallioinen, Paananen, Buerkner and Vehtari 2024; weights and distances are those of ArviZ.
"""

import contextlib
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats  # type: ignore[attr-defined]

from sharpbayes.bayes.design.design import Floats
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.decision import monte_carlo_error

# Powers of the derivative that sensitivity is, as in the source.
STEP = (0.99, 1.01)
# ArviZ fits a Pareto distribution to a fifth of so many draws, five of them.
MIN_DRAWS = 25


def power_scale(log_density: xr.DataArray, powers: Sequence[float]) -> xr.DataArray:
    """Return weights of draws (power, chain, draw) under powers of a density; they add up to 1.

    ``log_density`` is over (chain, draw). Weights are equal where it is constant or not finite, and
    not smoothed where the draws are few or the largest weights are all alike.
    """
    values = log_density.transpose(*DRAWS).to_numpy()
    weights = np.full((len(powers), *values.shape), 1.0 / values.size)
    if np.isfinite(values).all() and np.ptp(values) > 0:
        for row, power in enumerate(powers):
            log_weights = _smoothed(values, power)
            weights[row] = np.exp(log_weights - log_weights.max())
            weights[row] /= weights[row].sum()
    coords = {"power": list(powers)} | {name: log_density[name] for name in DRAWS}
    return xr.DataArray(weights, coords, ("power", *DRAWS))


def _smoothed(log_density: Floats, power: float) -> Floats:
    """Log weights, the largest of them smoothed where ArviZ can."""
    if log_density.size >= MIN_DRAWS:
        # A tail of equal values has no Pareto distribution.
        with _quiet(), contextlib.suppress(ValueError):
            return np.asarray(array_stats.power_scale_lw(log_density, alpha=power, axis=(0, 1)))
    return np.asarray((power - 1.0) * log_density)


def pareto_k(log_density: xr.DataArray, powers: Sequence[float]) -> xr.DataArray:
    """Return Pareto k of the weights of :func:`power_scale` before smoothing, over (power).

    It is 0 where the largest weights are all alike, and infinite with too few draws or a density
    that is not finite.
    """
    values = log_density.transpose(*DRAWS).to_numpy()
    usable = values.size >= MIN_DRAWS and bool(np.isfinite(values).all())
    k = np.full(len(powers), 0.0 if usable else np.inf)
    if usable and np.ptp(values) > 0:
        for row, power in enumerate(powers):
            log_weights = (power - 1.0) * values
            with _quiet(), contextlib.suppress(ValueError):
                weights = np.exp(log_weights - log_weights.max())
                k[row] = array_stats.pareto_khat(weights, tail="right")
    return xr.DataArray(k, {"power": list(powers)}, "power")


def sensitivity(quantities: xr.DataArray, steps: xr.DataArray) -> xr.DataArray:
    """Return how much quantities (chain, draw, ...) move with the power of a density, over (...).

    The derivative, by the binary logarithm of the power, of the cumulative Jensen-Shannon distance
    between the distribution of a quantity and its distribution under the power. Above 0.05 a prior
    is informative about the quantity. Missing where a draw is missing, 0 for a constant quantity or
    density. ``steps`` are the weights of the density at the powers :data:`STEP`.
    """
    lower, upper = steps.transpose("power", *DRAWS).to_numpy()
    rest = [dim for dim in quantities.dims if dim not in DRAWS]
    values = quantities.transpose(*rest, *DRAWS).to_numpy()
    flat = values.reshape(-1, *values.shape[-2:])
    distances = np.full(len(flat), np.nan)
    for row, draws in enumerate(flat):
        if np.ptp(draws) == 0:
            distances[row] = 0.0
        elif np.isfinite(draws).all():
            distances[row] = array_stats.power_scale_sense(draws, lower, upper, *STEP)
    coords = {dim: quantities[dim] for dim in rest if dim in quantities.coords}
    return xr.DataArray(distances.reshape(values.shape[:-2]), coords, rest)


def weighted_mean(x: xr.DataArray, weight: xr.DataArray) -> xr.DataArray:
    """Return the mean of (chain, draw, ...) under weights (..., chain, draw) that add up to 1."""
    mean: xr.DataArray = xr.dot(weight, x, dim=DRAWS)
    return mean


def shift_error(x: xr.DataArray, weight: xr.DataArray) -> xr.DataArray:
    """Return the Monte Carlo standard error of a weighted mean less the plain mean.

    Both means are of the same draws, so that most of their errors cancel: the error is that of the
    mean of S w_s (x_s - m_w) - (x_s - m), by batches of draws.
    """
    share = weight * (weight.sizes["chain"] * weight.sizes["draw"])
    return monte_carlo_error(share * (x - weighted_mean(x, weight)) - (x - x.mean(DRAWS)))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out ArviZ's warnings about few draws, of which Pareto k tells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
