"""Judges pooled, between their mean and their maximum (SHARP, A.5)."""

from typing import Literal

import xarray as xr

# Values pooled at once, so that what is kept on the way stays small beside the values.
MOST_CELLS = 10_000_000


def log_sum_exp(
    x: xr.DataArray,
    *,
    temperature: float,
    missing: Literal["available", "error"],
    dim: str = "judge",
) -> xr.DataArray:
    """Return the log-sum-exp of the judges' values.

    LSE_tau(x) = tau log((1/J) sum_j exp(x_j / tau))

    Args:
        x: Values in [0, 1] over (..., ``dim``).
        temperature: tau > 0: towards 0 the maximum, towards infinity the mean.
        missing: ``available``: J counts the judges that are there, NaN with none. ``error``:
            refuse instead.
        dim: Dimension of the judges.

    Returns:
        Values between the mean and the maximum, over the other dimensions.

    Raises:
        ValueError: ``temperature`` is not positive, or a judge is missing and ``missing`` is
            ``error``.

    Source: SHARP, Eq. 17.

    Examples:
        >>> x = xr.DataArray([0.0, 0.0, 1.0], dims="judge")
        >>> round(float(log_sum_exp(x, temperature=0.2, missing="available")), 4)
        0.783
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}, it must be larger than 0")
    if missing == "error" and bool(x.isnull().any()):
        cells = int(x.isnull().sum())
        raise ValueError(f'{cells} values of a judge are missing and judges.missing is "error"')
    lead = next((each for each in x.dims if each != dim), None)
    step = MOST_CELLS * x.sizes[lead] // max(x.size, 1) if lead else 0
    if lead is None or not 0 < step < x.sizes[lead]:
        return _pooled(x, temperature, dim)
    starts = range(0, x.sizes[lead], step)
    parts = [_pooled(x.isel({lead: slice(at, at + step)}), temperature, dim) for at in starts]
    return xr.concat(parts, lead)


def _pooled(x: xr.DataArray, temperature: float, dim: str) -> xr.DataArray:
    """Log-sum-exp over one dimension."""
    # Around the maximum nothing overflows, and expm1 with log1p is exact at high temperatures.
    top = x.max(dim)
    excess = xr.ufuncs.expm1((x - top) / temperature).mean(dim)
    result: xr.DataArray = top + temperature * xr.ufuncs.log1p(excess)
    return result
