"""What a metric is: the one declaration that computation, posterior, report and pages read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import xarray as xr


@dataclass(frozen=True)
class Metric:
    """A metric of results, declared once.

    Attributes:
        name: Name of its variable in results.
        label: Heading in tables and figures.
        meaning: What it is, in a few words.
        function: Computes it, of a crowd from ``inputs``, of a panel from a
            :class:`sharpbayes.metrics.panel.profile.Distribution`.
        range: Values it can have.
        unit: Unit, ``1`` for a number without one.
        inputs: Names of the values that the function takes, in their order.
        by_score: Of a crowd: whether there is a value for each score of the scale.
        error: Of a panel: computes its standard error, for studentized intervals.
        mean_of: Of a panel: the variable whose mean over prompts it is, if it is a mean.
        cvar_of: Of a panel: the variable whose upper tail over prompts it is about, if it is a
            CVaR.
        compared: Whether differences between models, or groups of raters, have intervals.
        headline: Of a crowd: whether summaries and tables of groups and raters show it.
    """

    name: str
    label: str
    meaning: str
    function: Callable[..., xr.DataArray]
    range: str = "[0, 1]"
    unit: str = "1"
    inputs: tuple[str, ...] = ("table",)
    error: Callable[..., xr.DataArray] | None = None
    by_score: bool = False
    mean_of: str = ""
    cvar_of: str = ""
    compared: bool = False
    headline: bool = False


def describe(values: xr.Dataset, metrics: Iterable[Metric]) -> xr.Dataset:
    """Return a dataset whose metrics say what they are, in their attributes."""
    for metric in metrics:
        if metric.name in values:
            attrs = {"long_name": metric.meaning, "units": metric.unit, "range": metric.range}
            values[metric.name].attrs = attrs
    return values


def name_variables(dataset: xr.Dataset, names: Mapping[str, str]) -> xr.Dataset:
    """Return a dataset whose variables have long names, where there are any."""
    for name in names.keys() & dataset.keys():
        dataset[name].attrs["long_name"] = names[name]
    return dataset
