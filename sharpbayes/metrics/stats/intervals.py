"""Intervals from resamples or draws."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def percentile_interval[Values: (xr.DataArray, xr.Dataset)](
    x: Values, *, level: float, dim: str = "replicate"
) -> Values:
    """Return the central percentile interval over resamples or draws.

    It contains the share ``level`` of them, and has ``bound`` = lower, upper as last dimension in
    place of ``dim``. Variables without ``dim`` and missing replicates are left out; NaN where every
    one is missing.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> percentile_interval(x, level=0.9).values
    array([ 5., 95.])
    """
    if isinstance(x, xr.Dataset):
        names = [name for name in x.data_vars if dim in x[name].dims]
        return x[names].map(percentile_interval, level=level, dim=dim)
    values = np.moveaxis(x.to_numpy(), x.get_axis_num(dim), -1)
    dims = [*(name for name in x.dims if name != dim), "bound"]
    coords = {name: coord for name, coord in x.coords.items() if dim not in coord.dims}
    labels = {**coords, "bound": ["lower", "upper"]}
    bounds = _quantiles(values, _tails(level))
    return xr.DataArray(bounds, labels, dims, attrs=x.attrs)


def intervals_with_width(interval: xr.Dataset) -> xr.Dataset:
    """Return intervals, missing where they have no width: equal resamples show no uncertainty."""
    return interval.where(interval.isel(bound=1, drop=True) > interval.isel(bound=0, drop=True))


def bca_interval[Values: (xr.DataArray, xr.Dataset)](
    x: Values, observed: Values, jackknifed: Values, *, level: float, dim: str = "replicate"
) -> Values:
    """Return the bias-corrected and accelerated interval over resamples.

    Bounds are the quantiles at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z0 = Phi^-1 of the share of
    resamples below the observed value (ties count half), a the skewness of the jackknife over 6.

    The jackknife is from :func:`sharpbayes.metrics.stats.resampling.jackknife`, over ``dim`` too.
    The result is as for :func:`percentile_interval`; NaN where every resample lies on one side of
    the observed value, or a replicate is missing.

    Source: Efron 1987; DiCiccio and Efron 1996.

    >>> x = xr.DataArray(np.arange(101.0), dims="replicate")
    >>> even = xr.DataArray([-1.0, 0.0, 1.0], dims="replicate")
    >>> bca_interval(x, xr.DataArray(50.0), even, level=0.9).round(6).values
    array([ 5., 95.])
    """
    if isinstance(x, xr.Dataset):
        return xr.Dataset(
            {
                name: bca_interval(x[name], observed[name], jackknifed[name], level=level, dim=dim)
                for name in x.data_vars
                if dim in x[name].dims
            }
        )
    bounds: xr.DataArray = xr.apply_ufunc(
        _bca,
        x,
        observed,
        jackknifed.rename({dim: "unit"}),
        input_core_dims=[[dim], [], ["unit"]],
        output_core_dims=[["bound"]],
        kwargs={"level": level},
    )
    return bounds.assign_coords(bound=["lower", "upper"]).assign_attrs(x.attrs)


def _tails(level: float) -> Floats:
    """The shares below both bounds."""
    return np.array([(1 - level) / 2, (1 + level) / 2])


def _bca(values: Floats, observed: Floats, jackknifed: Floats, *, level: float) -> Floats:
    """Bounds along a new last axis."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - quick to start without it

    observed = np.asarray(observed)[..., None]
    ordered = np.sort(values, axis=-1)
    below = ((ordered < observed).mean(-1) + (ordered <= observed).mean(-1)) / 2
    deviation = jackknifed.mean(-1, keepdims=True) - jackknifed
    spread = (deviation**2).sum(-1)
    skew = np.divide(
        (deviation**3).sum(-1), 6 * spread**1.5, out=np.zeros_like(spread), where=spread > 0
    )
    z0, z = ndtri(below)[..., None], ndtri(_tails(level))
    with np.errstate(invalid="ignore"):  # all resamples on one side: infinite less infinite
        share = ndtr(z0 + (z0 + z) / (1 - skew[..., None] * (z0 + z)))
    share = np.where(np.isfinite(z0) & ~np.isnan(ordered[..., -1:]), share, np.nan)
    position = np.nan_to_num(share) * (ordered.shape[-1] - 1)
    low = np.floor(position).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    first, second = (np.take_along_axis(ordered, index, -1) for index in (low, high))
    return np.where(np.isnan(share), np.nan, first + (position - low) * (second - first))


def _quantiles(values: Floats, q: Floats) -> Floats:
    """Quantiles along the last axis, missing values left out; NaN where all are missing.

    NumPy's ``nanquantile`` gives the same numbers, but warns of rows without a value.
    """
    if not np.isnan(values).any():
        return np.moveaxis(np.quantile(values, q, axis=-1), 0, -1)
    rows = values.reshape(-1, values.shape[-1])
    bounds = np.full((len(rows), len(q)), np.nan)
    for row, bound in zip(rows, bounds, strict=True):
        present = row[~np.isnan(row)]
        if present.size:
            bound[:] = np.quantile(present, q)
    return bounds.reshape(*values.shape[:-1], len(q))
