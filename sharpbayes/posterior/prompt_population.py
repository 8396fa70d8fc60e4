"""What the observed prompts of a panel say of the population that they stand for."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.study import PanelStudy
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.data.columns import MISSING
from sharpbayes.metrics.panel.evidence import lacks_prompts
from sharpbayes.metrics.stats.clusters import CLUSTER

# Of so many prompts and the observed ones the former are new ones.
PRIOR_PROMPTS = 200


@dataclass(frozen=True)
class PromptPopulation:
    """Which prompts are alike, and how many of a population are new ones.

    Attributes:
        category: Number of the category of each prompt, (prompt,). A new prompt in the place of
            an observed one is of the same category.
        cluster: Number of the cluster of each prompt, (prompt,). Prompts of one have one weight.
        new_share: Share of new prompts, in (0, 1].
    """

    category: Index
    cluster: Index
    new_share: float


def one_population(size: int) -> PromptPopulation:
    """Return the population of independent prompts of one category that every model has."""
    alike = np.zeros(size, dtype=np.intp)
    return PromptPopulation(alike, np.arange(size), PRIOR_PROMPTS / (PRIOR_PROMPTS + size))


def prompt_population(study: PanelStudy, prompts: xr.DataArray) -> PromptPopulation:
    """Return the population of the prompts of a panel, in their order.

    Where a model lacks prompts that others have, every prompt is a new one: an observed one would
    be one of those that the model has, which may be easier.
    """
    population, columns = one_population(prompts.size), study.scores.coords

    def number(name: str) -> Index:
        labels = columns[name].sel(prompt=prompts.to_numpy()).to_numpy()
        return np.unique(labels, return_inverse=True)[1]

    if "category" in columns:
        population = replace(population, category=number("category"))
    if CLUSTER in columns:
        population = replace(population, cluster=number(CLUSTER))
    scored = study.scores["score"] != MISSING
    by_model = scored.any([dim for dim in scored.dims if dim not in ("model", "prompt")])
    return replace(population, new_share=1.0) if lacks_prompts(by_model).any() else population
