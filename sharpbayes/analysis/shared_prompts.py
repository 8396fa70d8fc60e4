"""Metrics of every model over the prompts that another model has too."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS


@dataclass(frozen=True)
class PromptSets:
    """Which prompts every model has, where they are not the same.

    Attributes:
        masks: The different sets, over (prompt_set, prompt).
        of_model: Number of the set of each model.
        n_shared: Prompts of both models, over (model, other).
    """

    masks: xr.DataArray
    of_model: NDArray[np.intp]
    n_shared: xr.DataArray

    @property
    def are_enough(self) -> xr.DataArray:
        """Whether two models share prompts enough to be compared on them, (model, other).

        Models that share fewer are compared with all that each of them has.
        """
        return self.n_shared >= MIN_PROMPTS


@dataclass(frozen=True)
class SharedPrompts:
    """Metrics over the prompts of both models of a pair.

    Attributes:
        sets: The prompts of every model.
        observed: Metrics of each model over each set, (model, prompt_set).
        resampled: The same over (replicate, model, prompt_set).
        jackknifed: The same for BCa intervals, each prompt left out in turn.
        tail_prompts: Number of prompts that carry the tail, (model, prompt_set).
    """

    sets: PromptSets
    observed: xr.Dataset
    resampled: xr.Dataset
    jackknifed: xr.Dataset | None
    tail_prompts: xr.DataArray

    @property
    def fewer_tail_prompts(self) -> xr.DataArray:
        """Number of prompts that carry the shorter tail of a pair, over (model, other)."""
        tails = self.tail_prompts.transpose("model", "prompt_set").to_numpy()[:, self.sets.of_model]
        return self.sets.n_shared.copy(data=np.minimum(tails, tails.T))

    def difference(self, source: str, name: str, models: NDArray[np.intp]) -> xr.DataArray:
        """Return a metric of some models less that of all others, over (..., model, other)."""
        x: xr.DataArray = getattr(self, source)[name]
        set_of_other = xr.DataArray(self.sets.of_model, dims="other")
        set_of_model = xr.DataArray(self.sets.of_model[models], dims="model")
        ours = x.isel(model=models).isel(prompt_set=set_of_other)
        theirs = x.rename(model="other").isel(prompt_set=set_of_model)
        labels = {"model": ours["model"], "other": theirs["other"]}
        difference: xr.DataArray = ours.assign_coords(labels) - theirs.assign_coords(labels)
        return difference


def find_prompt_sets(log_risk: xr.DataArray) -> PromptSets | None:
    """Return the prompts of every model of log-risk over (model, prompt[, sample]).

    None where all models have the same prompts, or where there are several studies of them.
    """
    if not {*log_risk.dims} <= {"model", "prompt", "sample"}:
        return None
    present = log_risk.notnull()
    if "sample" in present.dims:
        present = present.any("sample")
    rows = present.transpose("model", "prompt").to_numpy()
    masks, of_model = np.unique(rows, axis=0, return_inverse=True)
    if len(masks) == 1:
        return None
    models = log_risk["model"].to_numpy()
    counts = rows.astype(float) @ rows.T
    coords = {"model": models, "other": models}
    return PromptSets(
        masks=xr.DataArray(masks, {"prompt": log_risk["prompt"]}, ("prompt_set", "prompt")),
        of_model=of_model.ravel(),
        n_shared=xr.DataArray(counts, coords, ("model", "other")),
    )
