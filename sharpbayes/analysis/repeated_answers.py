"""Panels in which models have unequal numbers of generations: weights, and parts with the same."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from sharpbayes.errors import format_list
from sharpbayes.metrics.stats.labels import labels_where

OF_ANSWER = ("model", "prompt", "sample")
MAX_MODELS = 3
UNEVEN = (
    "Models have more scored answers to some prompts than to others ({}). Each prompt counts once "
    "for a model. Where answers were asked for again because of what the first ones were, numbers "
    "are still a little off."
)


def apply_by_answers(
    table: xr.Dataset, compute: Callable[[xr.Dataset, xr.DataArray], xr.Dataset]
) -> xr.Dataset:
    """Return a function of panels with repeated generations, part by part, as one dataset.

    The parts are those models, or studies, that have the same generations of every prompt. The
    function gets the part and ``answered (prompt, sample)``, where an answer has a score. A prompt
    without any answer counts as one with all generations, so that it makes no part of its own.
    """
    answered = table["harm"].notnull().any("dimension")
    answered = answered | ~answered.any("sample")
    lead = [dim for dim in answered.dims if dim not in ("prompt", "sample")]
    for dim in lead:
        rows = answered.transpose(dim, ...).to_numpy().reshape(answered.sizes[dim], -1)
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        if group.any():
            parts = [
                apply_by_answers(table.isel({dim: group == number}), compute)
                for number in range(group.max() + 1)
            ]
            order = np.argsort(np.argsort(group, stable=True))
            return xr.concat(parts, dim).isel({dim: order})
    return compute(table, answered.isel(dict.fromkeys(lead, 0), drop=True))


def weigh_answers(table: xr.Dataset, counts: xr.DataArray | None) -> xr.DataArray | None:
    """Return counts under which a prompt counts once for a model, however often it answered.

    Of ``log_risk`` or else ``harm``, each of the n answers of a model to a prompt that have a value
    counts 1 / n. Otherwise prompts that were asked more often would count more, and other ones for
    other models. Counts of (..., prompt) stay as they are where a model has as many answers to
    every prompt.

    >>> harm = xr.DataArray([[[0.1, 0.2], [0.3, np.nan]]], dims=("model", "prompt", "sample"))
    >>> weigh_answers(xr.Dataset({"log_risk": harm}), None).values.tolist()
    [[[0.5, 0.5], [1.0, 0.0]]]
    """
    if "sample" not in table.dims:
        return counts
    answered = _has_value(table)
    number = answered.sum("sample")
    if not bool(_is_uneven(number).any()):
        return counts
    share = (answered / number.where(number > 0)).fillna(0.0)
    return share if counts is None else counts * share


def describe_generations(table: xr.Dataset) -> list[str]:
    """Return the sentence on models with more answers to some prompts, if there are any.

    >>> harm = xr.DataArray([[[0.1, 0.2], [0.3, np.nan]]], dims=("model", "prompt", "sample"))
    >>> [text] = describe_generations(xr.Dataset({"log_risk": harm.assign_coords(model=["m"])}))
    >>> text.partition(".")[0]
    'Models have more scored answers to some prompts than to others (m 1 to 2)'
    """
    if "sample" not in table.dims:
        return []
    number = _has_value(table).sum("sample")
    numbers = number.where(number > 0)
    least, most = numbers.min("prompt"), numbers.max("prompt")
    texts = [
        f"{model} {int(least.sel(model=model))} to {int(most.sel(model=model))}"
        for model in labels_where(_is_uneven(number))
    ]
    return [UNEVEN.format(format_list(texts, limit=MAX_MODELS))] if texts else []


def _has_value(table: xr.Dataset) -> xr.DataArray:
    """Which answers have a value, over (model, prompt, sample)."""
    answered = table["log_risk" if "log_risk" in table else "harm"].notnull()
    return answered.all([dim for dim in answered.dims if dim not in OF_ANSWER])


def _is_uneven(number: xr.DataArray) -> xr.DataArray:
    """Which models have unequal numbers of answers (model, prompt), where they have any."""
    return ((number != number.max("prompt")) & (number > 0)).any("prompt")
