"""Means over the raters of a group of metrics that each rater has."""

import numpy as np
import xarray as xr

from sharpbayes.data.variable_names import decode_column
from sharpbayes.metrics.crowd.responsiveness import METRICS

# Raters of a group whose mean has an interval worth reading.
MIN_AVERAGED = 3
LOWEST_VALUES = {"kendall_tau": -1.0, "spearman": -1.0}
RATER_METRICS = {metric.name: metric.label for metric in METRICS if not metric.by_score}


def average_raters(raters: xr.Dataset, *, level: float) -> xr.Dataset:
    """Return means over raters of their own metrics, by group of each column of raters.

    mean -+ t_{n - 1} sd / sqrt(n)

    Over ``group``: ``raters``, the n of them with a value of every metric; each metric; and its
    ``_interval`` (last dim ``bound``) at the ``level``, inside the range of the metric. Groups of
    fewer than three such raters are left out.

    Args:
        raters: The group ``raters`` of results, over (rater), with columns of raters as
            coordinates.
        level: Confidence level of the intervals.

    Source: responsiveness paper, Figure 7.
    """
    values = raters[[*RATER_METRICS]].to_dataarray("metric").dropna("rater")
    variables = [str(name) for name in raters.coords if str(name).startswith("group:")]
    columns = {decode_column(name.removeprefix("group:")): name for name in variables}
    groups = {
        f"{column}={label}": values.isel(rater=values[name] == label)
        for column, name in columns.items()
        for label in np.unique(values[name].to_numpy().astype(str))
        if label
    }
    tables = [
        _average(members, level=level).expand_dims(group=[name])
        for name, members in groups.items()
        if members.sizes["rater"] >= MIN_AVERAGED
    ]
    return xr.concat(tables, "group") if tables else xr.Dataset(coords={"group": []})


def _average(members: xr.DataArray, *, level: float) -> xr.Dataset:
    """Means of values over (metric, rater) with their intervals."""
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    n = members.sizes["rater"]
    lowest = xr.DataArray([LOWEST_VALUES.get(name, 0.0) for name in RATER_METRICS], dims="metric")
    width = stdtrit(max(n - 1, 1), (1 + level) / 2) * members.std("rater", ddof=1) / np.sqrt(n)
    mean = members.mean("rater")
    ends = xr.concat([mean - width, mean + width], "bound").clip(lowest, 1.0)
    intervals = ends.assign_coords(bound=["lower", "upper"]).to_dataset("metric")
    intervals = intervals.rename({name: f"{name}_interval" for name in RATER_METRICS})
    return mean.to_dataset("metric").assign(raters=n).merge(intervals)
