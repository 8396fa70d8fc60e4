"""Labels of a panel, its policy and the weights of its prompts."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import xarray as xr

from sharpbayes.metrics.panel.tail import UnitWeights, Weights
from sharpbayes.metrics.stats.population import PopulationWeights


def shared_labels(
    panel: xr.Dataset, policy: xr.DataArray | None, weights: Weights | None
) -> dict[Hashable, xr.DataArray]:
    """Return all coordinates by name.

    Raises:
        xarray.AlignmentError: Labels of one dimension differ.

    >>> labels = {"prompt": ["a", "b"]}
    >>> panel = xr.Dataset({"log_risk": ("prompt", [0.0, 1.0])}, labels)
    >>> list(shared_labels(panel, None, xr.DataArray([1.0, 2.0], labels)))
    ['prompt']
    """
    parts: list[xr.Dataset | xr.DataArray] = [panel] if policy is None else [panel, policy]
    replace_arrays(weights, parts.append)
    xr.align(*parts, join="exact", copy=False)
    return {name: label for part in parts for name, label in part.coords.items()}


def replace_arrays(
    weights: Weights | None, function: Callable[[xr.DataArray], Any]
) -> Weights | None:
    """Return weights with a function of each array over prompts in its place."""
    match weights:
        case None:
            return None
        case UnitWeights():
            return UnitWeights(*map(function, weights))
        case PopulationWeights(category=category, counts=counts):
            changed = None if counts is None else function(counts)
            return replace(weights, category=function(category), counts=changed)
        case _:
            return function(weights)  # type: ignore[no-any-return]
