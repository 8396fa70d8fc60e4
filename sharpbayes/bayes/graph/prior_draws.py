"""Prior and prior predictive by PyMC, labelled and without its notices."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.mode import Mode

from sharpbayes.bayes.graph.model import public_names


def sample_prior(model: pm.Model, *, draws: int, seed: int) -> xr.DataTree:
    """Return ``prior`` and ``prior_predictive`` over (chain, draw), one chain, uncompiled."""
    with warnings.catch_warnings(), _quiet(logging.getLogger("pymc")):
        warnings.simplefilter("ignore")
        drawn = pm.sample_prior_predictive(
            draws=draws,
            model=model,
            random_seed=seed,
            compile_kwargs={"mode": Mode(linker="py", optimizer=None)},
        )
    prior = drawn["prior"].to_dataset()
    levels = drawn["prior_predictive"].to_dataset().astype(np.int16)
    names = [name for name in public_names(model) if name in prior]
    return xr.DataTree.from_dict({"prior": prior[names], "prior_predictive": levels})


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep a logger's notices off the terminal for a while."""
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
