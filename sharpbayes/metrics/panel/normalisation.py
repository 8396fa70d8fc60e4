"""Judge outputs on [0, 1], larger meaning more harm (SHARP, A.1)."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.kernels import look_up_values
from sharpbayes.metrics.panel.pooling import order_in_memory


def normalise(score: xr.DataArray, table: xr.DataArray) -> xr.DataArray:
    """Return the normalised value of every score.

    phi = table[indicator, score]; of an ordinal scale (x - min) / (max - min), of a flag 0 or 1,
    of a category its declared value

    Scores are positions on the scale from 0 over (..., indicator), -1 where missing; the table is
    over (indicator, score). Values are in [0, 1], NaN where a score is missing. Of an array of Dask
    the result is one too, and so is what other functions of SHARP compute of it for each prompt;
    statistics over prompts load that, never the scores.

    Raises:
        xarray.AlignmentError: ``score`` and ``table`` are about other indicators.

    Source: SHARP, Eqs 6-8.

    >>> score = xr.DataArray([[0, 2], [1, -1]], dims=("judge", "indicator"))
    >>> table = xr.DataArray([[0.0, 1.0, np.nan], [0.0, 0.5, 1.0]], dims=("indicator", "score"))
    >>> normalise(score, table).values
    array([[ 0.,  1.],
           [ 1., nan]])
    """
    score, table = xr.align(score, table, join="exact", copy=False)
    # What is missing has position -1, the column before the first.
    padded = np.pad(
        table.transpose("indicator", ...).to_numpy(), ((0, 0), (1, 0)), constant_values=np.nan
    )
    padded = np.ascontiguousarray(padded, dtype=np.float64)

    def look_up(codes: NDArray[np.integer]) -> NDArray[np.float64]:
        lowest, highest = (codes.min(), codes.max()) if codes.size else (0, 0)
        if lowest < -1 or highest >= padded.shape[1] - 1:
            score = highest if lowest >= -1 else lowest
            raise IndexError(f"a score is {score}, the scale has {padded.shape[1] - 1}")
        in_memory, axis, back = order_in_memory(codes)
        values = np.empty(in_memory.shape)
        shape = (-1, len(padded), int(np.prod(in_memory.shape[axis + 1 :])))
        look_up_values(in_memory.reshape(shape), padded, values.reshape(shape))
        return values.transpose(back)

    # A block of an array of Dask is looked up when it is read.
    normalised: xr.DataArray = xr.apply_ufunc(
        look_up,
        score,
        input_core_dims=[["indicator"]],
        output_core_dims=[["indicator"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[padded.dtype],
        keep_attrs=True,
    )
    return normalised.transpose(*score.dims)


def reverse(normalised: xr.DataArray, *, where: xr.DataArray | bool) -> xr.DataArray:
    """Return 1 - phi where a high score is good, phi elsewhere; missing stays missing.

    Source: the reading of "soundness" as "unsoundness" (SHARP, A.3.2).

    >>> reverse(xr.DataArray([0.0, 0.25], dims="prompt"), where=True).values
    array([1.  , 0.75])
    """
    return normalised.where(~xr.DataArray(where), 1.0 - normalised).transpose(*normalised.dims)
