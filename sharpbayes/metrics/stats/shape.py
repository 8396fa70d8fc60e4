"""Shape of a distribution: how lopsided it is, how heavy its tails, how its dimensions move."""

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


def mean_correlation(x: xr.DataArray, *, dim: str, over: str) -> xr.DataArray:
    """Return how far values of different labels of ``over`` move together along a dimension.

    r = sum_u sum_{a != b} z_ua z_ub / sum_u n_u (n_u - 1),  z_ua = (x_ua - mean_u x_ua) / sd_u x_ua

    For units u of ``dim`` with n_u labels each. Without missing values it is the mean of the
    correlations of every two labels: 1 where all labels order the units alike, 0 where they have
    nothing in common. Missing values are left out; NaN of a single label.

    Source: Fisher 1925, section 38 (intraclass correlation of standardised values).

    >>> values = [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    >>> x = xr.DataArray(values, dims=("prompt", "dimension"))
    >>> round(float(mean_correlation(x, dim="prompt", over="dimension")), 6)
    1.0
    """
    spread = x.std(dim)
    z = (x - x.mean(dim)) / spread.where(spread > 0)
    number = z.notnull().sum(over)
    pairs = (number * (number - 1)).sum(dim)
    products = (z.sum(over) ** 2 - (z**2).sum(over)).sum(dim)
    return products / pairs.where(pairs > 0)
