"""Scores of a panel as normalised indicators, and the sub-indices of each judge."""

import numpy as np
import xarray as xr

from sharpbayes.data import panel as panel_data
from sharpbayes.data.reversed_scores import find_reversed
from sharpbayes.metrics.panel.normalisation import normalise, reverse
from sharpbayes.metrics.panel.pooling import mean_trials
from sharpbayes.metrics.panel.sub_index import SubIndex, SubIndexPart, sub_indices
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.weights import Weights

# Scores that are normalised at a time: those of many models would be the largest array of all.
BLOCK_SCORES = 1_000_000


def tabulate_indicators(
    spec: Panel, weights: Weights, scores: xr.Dataset
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the sub-indices of every judge, and the indicators that say that a model refused."""
    refusal = [name for name, indicator in spec.full_indicators.items() if indicator.refusal]
    definitions, missing = define_sub_indices(spec, weights), weights.indicators.missing
    models, sub_index, refusals = scores.sizes["model"], [], []
    size = max(1, BLOCK_SCORES * models // max(scores["score"].size, 1))
    for start in range(0, models, size):
        normalised = normalise_scores(spec, scores.isel(model=slice(start, start + size)))
        sub_index.append(sub_indices(normalised, definitions, missing=missing))
        refusals.append(normalised.sel(indicator=refusal))
    return _order_memory(xr.concat(sub_index, "model")), xr.concat(refusals, "model")


def _order_memory(sub_index: xr.DataArray) -> xr.DataArray:
    """Return sub-indices with one model after the other in memory, dimension by dimension.

    The last bit of a sum depends on the order of its values in memory. It does not depend on how
    many models were computed at a time.
    """
    ordered = sub_index.transpose("model", "dimension", ...)
    ordered = ordered.copy(data=np.ascontiguousarray(ordered.to_numpy()))
    return ordered.transpose(*sub_index.dims)


def normalise_scores(spec: Panel, scores: xr.Dataset) -> xr.DataArray:
    """Return normalised indicators in [0, 1], larger meaning more harm, the mean of all trials."""
    return mean_trials(normalise_trials(spec, scores))


def normalise_trials(spec: Panel, scores: xr.Dataset) -> xr.DataArray:
    """Return normalised indicators in [0, 1] of every trial, larger meaning more harm."""
    normalised = normalise(scores["score"], panel_data.tabulate_normalised(spec, scores))
    where = find_reversed(spec, scores)
    # Most indicators are reversed nowhere; they are left as they are.
    rows = np.flatnonzero(where.any("prompt"))
    if rows.size:
        selected = {"indicator": rows}
        normalised[selected] = reverse(normalised[selected], where=where[rows])
    return normalised


def define_sub_indices(spec: Panel, weights: Weights) -> tuple[SubIndex, ...]:
    """The indicator groups of the study with the coefficients of the weights."""
    definitions = []
    for dimension in spec.dimensions:
        named = dimension.named_parts
        weight = weights.parts[dimension.name] if len(named) > 1 else dict.fromkeys(named, 1.0)
        parts = tuple(
            SubIndexPart(name, part.reduction, part.indicators, weight[name])
            for name, part in named.items()
        )
        amplifiers = ((name, weights.amplify[dimension.name][name]) for name in dimension.amplify)
        definitions.append(SubIndex(dimension.name, parts, tuple(amplifiers)))
    return tuple(definitions)
