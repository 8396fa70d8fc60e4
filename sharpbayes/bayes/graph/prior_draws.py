"""Draws of the prior and of prior predictive ratings, labelled."""

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.mode import Mode

from sharpbayes.bayes.graph.model import public_names

# The order in which PyMC gives variables their streams of random numbers, last first.
KINDS = ("correlation", "discrimination", "rating", "location", "sd", "gap", "threshold")


def sample_prior(model: pm.Model, *, draws: int, seed: int) -> xr.DataTree:
    """Return ``prior`` and ``prior_predictive`` over (chain, draw), one chain, uncompiled."""
    variables = [*model.basic_RVs, *model.deterministics]
    variables.sort(key=lambda variable: (KINDS.index(variable.name.split("_")[0]), variable.name))
    mode = Mode(linker="py", optimizer=None)
    values = pm.draw(variables, draws=draws, random_seed=seed, mode=mode)
    if draws == 1:  # PyMC drops the axis of draws
        values = [np.asarray(value)[None] for value in values]
    drawn = dict(zip([variable.name for variable in variables], values, strict=True))
    observed = [variable.name for variable in model.observed_RVs]
    prior = _label(model, {name: drawn[name] for name in public_names(model)})
    predictive = _label(model, {name: drawn[name] for name in observed})
    return xr.DataTree.from_dict({"prior": prior, "prior_predictive": predictive})


def _label(model: pm.Model, drawn: dict[str, np.ndarray]) -> xr.Dataset:
    """Draws with the dimensions and labels of the model, whole numbers as scores."""
    variables = {}
    for name, values in drawn.items():
        dims = ("chain", "draw", *model.named_vars_to_dims.get(name, ()))
        kind = np.int16 if np.issubdtype(values.dtype, np.integer) else values.dtype
        variables[name] = (dims, values[None].astype(kind))
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: list(labels) for dim, labels in model.coords.items() if labels and dim in used}
    draws = len(next(iter(drawn.values())))
    return xr.Dataset(variables, {"chain": [0], "draw": np.arange(draws)} | coords)
