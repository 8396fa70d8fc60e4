"""How finely draws are kept: well below the noise of sampling, as multiples of a power of two.

Rounded draws stay floats. Their attribute ``resolution`` is that power of two, and a file holds the
whole numbers that multiply it.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

# A draw moves by at most this share of its sd. That is the Monte Carlo error of a mean of 4,000
# independent draws, and in such a mean rounding errors cancel: 0.014% of the sd is left of them.
MAX_SHIFT = 1 / 64
RESOLUTION = "resolution"
INTEGERS = (np.int16, np.int32)


def round_to_digits(values: NDArray[np.floating], digits: int) -> NDArray[np.floating]:
    """Return floats with so many significant binary digits; sign and order stay, NaN stays NaN.

    >>> round_to_digits(np.array([1.0, 3.14159, -0.001, np.nan]), 8).tolist()
    [1.0, 3.140625, -0.00099945068359375, nan]
    """
    mantissa, exponent = np.frexp(values)
    rounded: NDArray[np.floating] = np.ldexp(np.rint(np.ldexp(mantissa, digits)), exponent - digits)
    return rounded


def round_draws(draws: "xr.Dataset") -> "xr.Dataset":
    """Return draws over (chain, draw, ...) at the resolution that their spread deserves.

    All elements of a variable have one resolution, the largest power of two that is at most

        2 MAX_SHIFT sd

    of the element with the least sd. What is positive stays so. Integers, and variables with an
    element that is the same in every draw, stay as they are.
    """
    return draws.assign({name: _round_variable(x) for name, x in draws.data_vars.items()})


def _round_variable(array: "xr.DataArray") -> "xr.DataArray":
    """One variable."""
    if array.dtype.kind != "f" or not {"chain", "draw"} <= set(array.dims):
        return array
    lowest, highest = (getattr(array, name)(("chain", "draw")) for name in ("min", "max"))
    sd = array.std(("chain", "draw"))
    if not array.size or not bool(((highest > lowest) & (sd > 0) | sd.isnull()).all()):
        return array
    smallest_sd = float(sd.min())
    if not np.isfinite(smallest_sd):
        return array
    step = 2.0 ** np.floor(np.log2(2 * MAX_SHIFT * smallest_sd))
    rounded = np.rint(array / step) * step + 0.0  # no minus zero, which whole numbers lack
    if float(lowest.min()) > 0:
        rounded = np.maximum(rounded, step)
    described: xr.DataArray = rounded.assign_attrs(array.attrs | {RESOLUTION: step})
    return described


def packing(array: "xr.Variable") -> dict[str, object]:
    """Return the netCDF encoding of rounded draws as whole numbers; empty for all others."""
    step = array.attrs.get(RESOLUTION)
    if step is None:
        return {}
    whole = array.to_numpy() / step
    known = whole[~np.isnan(whole)]
    for integer in INTEGERS:
        limits = np.iinfo(integer)
        if known.size and np.abs(known).max() <= limits.max and (known == np.rint(known)).all():
            scale = array.dtype.type(step)
            return {"dtype": integer, "scale_factor": scale, "_FillValue": limits.min}
    return {}
