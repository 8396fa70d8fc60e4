"""Which models a leave-one-out comparison shows to predict worse than the first."""

import xarray as xr

# Differences of expected log predictive density that are never read: with them the standard error
# is too small (Sivula, Magnusson, Matamoros and Vehtari 2025).
SMALL_DIFFERENCE = 4.0
# Chance of naming any model that does not predict worse.
ERROR_RATE = 0.05
MIN_UNITS = 5
# Where more of the units are not predicted reliably, a comparison says nothing.
MANY_BAD = 0.1


def predicts_worse(comparison: xr.Dataset) -> xr.DataArray:
    """Return which models are shown to predict worse than the first, over (model).

    |difference| > max(4, t SE),  t the quantile of Student's t at 1 - 0.05 / (2 (K - 1))

    K models, n - 1 degrees of freedom for n units that are left out. Of fewer than five units
    nothing is shown. ``comparison`` is the group of `compare`.

    Source: Sivula, Magnusson, Matamoros and Vehtari 2025 (small differences); Bonferroni.
    """
    units, others = comparison.sizes["unit"], max(comparison.sizes["model"] - 1, 1)
    gap = -comparison["elpd_difference"]
    if units < MIN_UNITS:
        return xr.zeros_like(gap, dtype=bool)
    from scipy.special import stdtrit  # noqa: PLC0415 - quick to start without it

    margin = stdtrit(units - 1, 1 - ERROR_RATE / (2 * others)) * comparison["difference_se"]
    return (gap > SMALL_DIFFERENCE) & (gap > margin)


def has_many_bad(comparison: xr.Dataset) -> bool:
    """Return whether too many units are not predicted reliably for a comparison to be read."""
    return int(comparison["bad_k"].max()) > MANY_BAD * comparison.sizes["unit"]
