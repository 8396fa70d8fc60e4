"""Judges pooled, between their mean and their maximum (SHARP, A.5)."""

from typing import Literal

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel import kernels


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
    found: xr.DataArray = xr.apply_ufunc(
        _pooled,
        x,
        input_core_dims=[[dim]],
        kwargs={"temperature": temperature},
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
    )
    return found


def _pooled(values: np.ndarray, *, temperature: float) -> np.ndarray:
    """Log-sum-exp over the last axis; axes are taken as they lie in memory, nothing is copied."""
    values = values.astype(np.float64, copy=False)
    order = np.argsort([-abs(step) for step in values.strides], kind="stable")
    lying, at = values.transpose(order), int(np.flatnonzero(order == values.ndim - 1)[0])
    shape = lying.shape[:at] + lying.shape[at + 1 :]
    result = np.empty((int(np.prod(lying.shape[:at])), int(np.prod(lying.shape[at + 1 :]))))
    members = lying.reshape(len(result), lying.shape[at], result.shape[1])
    kernels.pooled(members, temperature, result)
    kept = [int(axis) for axis in order if axis != values.ndim - 1]
    return result.reshape(shape).transpose(np.argsort(kept))
