"""Parts of a panel with the same answers, where models have unequal numbers of generations."""

from collections.abc import Callable

import numpy as np
import xarray as xr


def apply_by_answers(
    table: xr.Dataset, compute: Callable[[xr.Dataset, xr.DataArray], xr.Dataset]
) -> xr.Dataset:
    """Return a function of panels with repeated generations, part by part, as one dataset.

    The parts are those models, or studies, that have the same generations of every prompt. The
    function gets the part and ``answered (prompt, sample)``, where an answer has a score. A prompt
    without any answer counts as one with all generations, so that it makes no part of its own.
    """
    answered = table["harm"].notnull().any("dimension")
    answered = answered | ~answered.any("sample")
    lead = [dim for dim in answered.dims if dim not in ("prompt", "sample")]
    for dim in lead:
        rows = answered.transpose(dim, ...).to_numpy().reshape(answered.sizes[dim], -1)
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        if group.any():
            parts = [
                apply_by_answers(table.isel({dim: group == number}), compute)
                for number in range(group.max() + 1)
            ]
            order = np.argsort(np.argsort(group, stable=True))
            return xr.concat(parts, dim).isel({dim: order})
    return compute(table, answered.isel(dict.fromkeys(lead, 0), drop=True))
