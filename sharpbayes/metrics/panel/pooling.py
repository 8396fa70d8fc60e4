"""Trials of a judge averaged; judges pooled, between mean and maximum (SHARP, A.5)."""

from typing import Literal

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel.kernels import pool_log_sum_exp

# What becomes of a cell that a judge did not score.
JudgesMissing = Literal["available", "complete", "error"]


def mean_trials(normalised: xr.DataArray) -> xr.DataArray:
    """Return the mean of every indicator over the trials of a judge on one answer.

    phi_bar = (1/T) sum_t phi_t, over the T trials that are present

    Of values in [0, 1] over (..., [trial,] indicator) it is in [0, 1] over (..., indicator), as it
    was where there is no ``trial``, and NaN where no trial is present.

    Source: none; SHARP has one judgement of an answer by a judge. Averaged before the sub-index and
    the log-sum-exp, which are convex, trials take noise out of harm; trials that were pooled like
    judges would add to it.

    >>> x = xr.DataArray([[[0.0], [1.0]], [[0.5], [np.nan]]], dims=("judge", "trial", "indicator"))
    >>> mean_trials(x).values.ravel()
    array([0.5, 0.5])
    """
    return normalised.mean("trial") if "trial" in normalised.dims else normalised


def log_sum_exp(
    x: xr.DataArray,
    *,
    temperature: float,
    missing: JudgesMissing,
    dim: str = "judge",
) -> xr.DataArray:
    """Return the log-sum-exp of the judges' values, between their mean and their maximum.

    LSE_tau(x) = tau log((1/J) sum_j exp(x_j / tau))

    Of values in [0, 1] over (..., ``dim``) it is the maximum for tau towards 0, the mean towards
    infinity. With ``missing`` = ``available`` J counts the judges that are there, NaN with none;
    with ``complete`` it is NaN unless all are there.

    Raises:
        ValueError: ``temperature`` is not positive, or a judge is missing under ``error``.

    Source: SHARP, Eq. 17.

    >>> x = xr.DataArray([0.0, 0.0, 1.0], dims="judge")
    >>> round(float(log_sum_exp(x, temperature=0.2, missing="available")), 4)
    0.783
    >>> float(log_sum_exp(x.where(x > 0), temperature=0.2, missing="complete"))
    nan
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}, it must be larger than 0")
    if missing == "error" and bool(x.isnull().any()):
        cells = int(x.isnull().sum())
        raise ValueError(f'{cells} values of a judge are missing and judges.missing is "error"')
    pooled: xr.DataArray = xr.apply_ufunc(
        _pool,
        x,
        input_core_dims=[[dim]],
        kwargs={"temperature": temperature},
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
    )
    return pooled.where(x.notnull().all(dim)) if missing == "complete" else pooled


def _pool(values: np.ndarray, *, temperature: float) -> np.ndarray:
    """Log-sum-exp over the last axis; axes stay in their order in memory, nothing is copied."""
    in_memory, axis, back = order_in_memory(values.astype(np.float64, copy=False))
    before, after = in_memory.shape[:axis], in_memory.shape[axis + 1 :]
    result = np.empty((int(np.prod(before)), int(np.prod(after))))
    judges = in_memory.reshape(len(result), in_memory.shape[axis], result.shape[1])
    pool_log_sum_exp(judges, temperature, result)
    remaining = [int(place) - (place > axis) for place in back[:-1]]
    return result.reshape(before + after).transpose(remaining)


def order_in_memory(values: np.ndarray) -> tuple[np.ndarray, int, list[int]]:
    """Return an array with its axes as they lie in memory, the place of its last, and the way back.

    The way back are the axes by which the former is transposed into the latter.
    """
    order = np.argsort([-abs(stride) for stride in values.strides], kind="stable")
    back = [int(place) for place in np.argsort(order)]
    return values.transpose(order), back[-1], back
