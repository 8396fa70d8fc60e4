"""Labels of a panel, its policy and the weights of its prompts."""

from collections.abc import Callable, Hashable
from dataclasses import replace

import xarray as xr

from sharpbayes.metrics.panel.tail import UnitWeights, Weights
from sharpbayes.metrics.stats.labels import without_labels
from sharpbayes.metrics.stats.population import PopulationWeights

Labels = dict[Hashable, xr.DataArray]


def take_labels(
    panel: xr.Dataset, policy: xr.DataArray | None, weights: Weights | None
) -> tuple[Labels, xr.Dataset, xr.DataArray | None, Weights | None]:
    """Return all coordinates by name, and panel, policy and weights without them.

    Raises:
        xarray.AlignmentError: Labels of one dimension differ.

    >>> labels = {"prompt": ["a", "b"]}
    >>> panel = xr.Dataset({"log_risk": ("prompt", [0.0, 1.0])}, labels)
    >>> taken, bare, _, _ = take_labels(panel, None, xr.DataArray([1.0, 2.0], labels))
    >>> list(taken), list(bare.coords)
    (['prompt'], [])
    """
    parts: list[xr.Dataset | xr.DataArray] = [panel]

    def take(array: xr.DataArray) -> xr.DataArray:
        parts.append(array)
        return without_labels(array)

    bare_policy = None if policy is None else take(policy)
    bare_weights = _replace_arrays(weights, take)
    xr.align(*parts, join="exact", copy=False)
    labels = {name: label for part in parts for name, label in part.coords.items()}
    return labels, without_labels(panel), bare_policy, bare_weights


def _replace_arrays(
    weights: Weights | None, function: Callable[[xr.DataArray], xr.DataArray]
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
            return function(weights)
