"""Whether answers that lack a score could change which model is the lowest."""

import xarray as xr

from sharpbayes.metrics.stats.labels import labels_where


def find_models_not_below(
    evidence: xr.Dataset, metric: str, *, value: xr.DataArray, interval: xr.DataArray
) -> list[str]:
    """Return the models that the lowest one might not be below, by its answers without a score.

    Of a lowest model m with value T_m, which lacks more answers than model o beyond chance, and
    whose value rises by r_m where all that they lack is a harm of 1, they are those o with

        T_m + r_m >= T_o,  or  upper bound of T_m - T_o below 0, and with r_m added not

    ``value`` is over (model), ``interval`` the joint one of differences over (model, other, bound).
    There are none in results of earlier versions, and where no model lacks more than another.
    """
    if "lacks_more" not in evidence:
        return []
    first = {"model": str(value.idxmin("model").item())}
    rise = evidence[f"{metric}_lost_rise"].sel(first, drop=True)
    lacks = evidence["lacks_more"].sel(first, drop=True).astype(bool)
    above = value.rename(model="other") - value.sel(first, drop=True)
    upper = interval.sel(first, drop=True).sel(bound="upper", drop=True)
    is_open = (above <= rise) | ((upper < 0) & (upper + rise >= 0))
    return labels_where(lacks & is_open)
