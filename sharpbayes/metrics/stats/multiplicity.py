"""p values of resamples, and their correction for many tests.

A missing p value is a test that was not made: it stays missing and does not count among the tests.
``statsmodels.stats.multitest`` has the same corrections, but takes a second to import.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Statistics of resamples that differ by less are the same number, summed in another order.
TIE = 1e-12
# Level of every test whose result is said in words, after its correction.
SIGNIFICANCE_LEVEL = 0.05


def two_sided_p(resampled: xr.DataArray, observed: xr.DataArray, *, dim: str) -> xr.DataArray:
    """Return how far out an observed number lies among its resamples, on either side.

    ``p = min(1, 2 min(1 + #{T* >= T}, 1 + #{T* <= T}) / (B + 1))``

    Of T (...) and T* (..., ``dim``) p values are in [2 / (B + 1), 1] (...), their standard error is
    at most 1 / sqrt(B). Missing resamples are left out; NaN where T or every resample is missing.

    Source: Phipson and Smyth 2010 (the observed data count as one resample).

    >>> resampled = xr.DataArray(np.arange(99.0), dims="permutation")
    >>> float(two_sided_p(resampled, xr.DataArray(97.0), dim="permutation"))
    0.06
    """
    present = resampled.notnull().sum(dim)
    above = (resampled >= observed - TIE).sum(dim)
    below = (resampled <= observed + TIE).sum(dim)
    extreme = above.where(above < below, below)
    p = (2.0 * (1.0 + extreme) / (1.0 + present)).clip(max=1.0)
    return p.where(observed.notnull() & (present > 0))


def benjamini_hochberg(p: Floats) -> Floats:
    """Return p values adjusted for the false discovery rate.

    ``adjusted_(i) = min over j >= i of p_(j) n / j``, the p values in ascending order.

    Of p values of any shape, NaN for tests that were not made, these are in [0, 1], NaN likewise.

    Source: Benjamini and Hochberg 1995.

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    order, adjusted = _sort(p)
    scaled = p.flat[order] * order.size / np.arange(1, order.size + 1)
    adjusted.flat[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def holm(p: Floats) -> Floats:
    """Return p values adjusted for the chance of any false finding.

    ``adjusted_(i) = max over j <= i of (n - j + 1) p_(j)``, the p values in ascending order.

    Of p values of any shape, NaN for tests that were not made, these are in [0, 1], NaN likewise.

    Source: Holm 1979.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    order, adjusted = _sort(p)
    scaled = p.flat[order] * np.arange(order.size, 0, -1)
    adjusted.flat[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def holm_pairs(p: xr.DataArray) -> xr.DataArray:
    """Return p values of the differences of models adjusted for all pairs, every pair once.

    Of symmetric p values over (..., model, other) these are symmetric too, adjusted by :func:`holm`
    over the pairs of each leading cell; NaN on the diagonal and for tests that were not made.

    Source: Holm 1979.

    >>> p = xr.DataArray([[1.0, 0.01, 0.04], [0.01, 1.0, 0.03], [0.04, 0.03, 1.0]],
    ...                  dims=("model", "other"))
    >>> holm_pairs(p).values[0].tolist()
    [nan, 0.03, 0.06]
    """
    pairs = ["model", "other"]
    adjusted: xr.DataArray = xr.apply_ufunc(
        holm_square, p, input_core_dims=[pairs], output_core_dims=[pairs], vectorize=True
    )
    return adjusted


def holm_square(p: Floats) -> Floats:
    """Return p values of pairs adjusted for all of them together, every pair once.

    Of p values (first, second, ...), symmetric in their first two dimensions, these are symmetric
    too, adjusted by :func:`holm` over all pairs in all further cells; NaN on the diagonal and for
    tests that were not made.

    Source: Holm 1979.

    >>> p = np.array([[1.0, 0.01, np.nan], [0.01, 1.0, 0.03], [np.nan, 0.03, 1.0]])
    >>> holm_square(p).tolist()
    [[nan, 0.02, nan], [0.02, nan, 0.03], [nan, 0.03, nan]]
    """
    first, second = np.triu_indices(len(p), k=1)
    adjusted = np.full(p.shape, np.nan)
    adjusted[first, second] = adjusted[second, first] = holm(p[first, second])
    return adjusted


def _sort(p: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Positions of the p values in ascending order, and a result that is missing everywhere."""
    order = np.argsort(p, axis=None, kind="stable")
    return order[: int((~np.isnan(p)).sum())], np.full(p.shape, np.nan)
