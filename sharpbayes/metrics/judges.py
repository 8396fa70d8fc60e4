"""Judges pooled, between their mean and their maximum (SHARP, A.5)."""

from typing import Literal

import xarray as xr


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
    # Around the maximum nothing overflows, and expm1 with log1p is exact at high temperatures.
    top = x.max(dim)
    excess = xr.ufuncs.expm1((x - top) / temperature).mean(dim)
    result: xr.DataArray = top + temperature * xr.ufuncs.log1p(excess)
    return result
