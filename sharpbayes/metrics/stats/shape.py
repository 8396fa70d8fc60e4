"""Shape of a distribution: how lopsided it is, and how heavy its tails are."""

import xarray as xr


def skewness(x: xr.DataArray, *, dim: str) -> xr.DataArray:
    """Return the skewness of values along a dimension.

    g_1 = m_3 / m_2^(3/2),  m_k = mean (x - mean x)^k

    It has no unit and is 0 for a symmetric distribution, positive where a few values are far above
    the others. Missing values are left out; NaN where all values are equal.

    Source: Joanes and Gill 1998, g_1.

    >>> round(float(skewness(xr.DataArray([0.0, 0.0, 0.0, 1.0], dims="prompt"), dim="prompt")), 4)
    1.1547
    """
    deviation = x - x.mean(dim)
    variance = (deviation**2).mean(dim)
    return (deviation**3).mean(dim) / variance.where(variance > 0) ** 1.5


def excess_kurtosis(x: xr.DataArray, *, dim: str) -> xr.DataArray:
    """Return the kurtosis of values along a dimension, less that of the normal distribution.

    g_2 = m_4 / m_2^2 - 3,  m_k = mean (x - mean x)^k

    It has no unit, is -2 or more and 0 for a normal distribution, positive for heavy tails. Missing
    values are left out; NaN where all values are equal.

    Source: Joanes and Gill 1998, g_2.

    >>> float(excess_kurtosis(xr.DataArray([-1.0, 1.0, -1.0, 1.0], dims="item"), dim="item"))
    -2.0
    """
    deviation = x - x.mean(dim)
    variance = (deviation**2).mean(dim)
    return (deviation**4).mean(dim) / variance.where(variance > 0) ** 2 - 3.0
