"""What the posterior says of several weightings at once."""

from collections.abc import Sequence
from functools import reduce
from operator import mul

import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.metrics.stats.ranks import is_lowest


def prob_lowest_throughout(profiles: Sequence[xr.Dataset], criteria: Sequence[str]) -> xr.DataArray:
    """Return the probability that a model is lowest under all weightings at once, over (model).

    ``profiles`` are of the same draws, each under other weights, and ``criteria`` what the weights
    compare models by. Models that are equal in a draw share it.
    """
    values = [select_value(x, by) for x, by in zip(profiles, criteria, strict=True)]
    lowest = [is_lowest(value, "model") for value in values]
    return reduce(mul, (x / x.sum("model") for x in lowest)).mean(DRAWS)
