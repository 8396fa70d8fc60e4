"""Posterior by NUTS (nutpie), prior and prior predictive by PyMC, labelled and without warnings."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import nutpie
import pymc as pm
import xarray as xr

from sharpbayes.bayes.build import public_names
from sharpbayes.spec.study import Sampler

Progress = Callable[[Sequence[Any]], None]


def sample_posterior(
    model: pm.Model, sampler: Sampler, *, seed: int, progress: Progress | None = None
) -> xr.DataTree:
    """Return ``posterior`` and ``sample_stats`` over (chain, draw).

    Args:
        model: Model from :func:`sharpbayes.bayes.build.build`.
        sampler: Numbers of chains, tuning steps and draws.
        seed: Seed of all chains.
        progress: Called a few times a second with one progress object a chain
            (``finished_draws``, ``total_draws``, ``divergences``, ``step_size``).

    Raises:
        KeyboardInterrupt: Ctrl-C; sampling is stopped first.
    """
    compiled = nutpie.compile_pymc_model(model, var_names=public_names(model))
    running = nutpie.sample(
        compiled,
        draws=sampler.draws,
        tune=sampler.tune,
        chains=sampler.chains,
        cores=min(sampler.chains, os.process_cpu_count() or 1),
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=progress,
        progress_rate=500,
        target_accept=sampler.target_accept,
        blocking=False,
    )
    return _labelled(_finished(running), model)


def _finished(running: Any) -> xr.DataTree:
    """Wait for the chains; on Ctrl-C stop them first."""
    try:
        result: xr.DataTree = running.wait()
    except KeyboardInterrupt:
        running.cancel()
        raise
    return result


def _labelled(trace: xr.DataTree, model: pm.Model) -> xr.DataTree:
    """Keep the variables that mean something, and of the statistics no clock times."""
    names = [name for name in public_names(model) if name in trace["posterior"]]
    posterior = trace["posterior"].to_dataset()[names]
    stats = trace["sample_stats"].to_dataset()
    kept = ["diverging", "n_steps", "depth", "step_size", "energy", "logp"]
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.drop_vars(set(posterior.coords) - set(posterior.dims)),
            "sample_stats": stats[[name for name in kept if name in stats]],
        }
    )


def sample_prior(model: pm.Model, *, draws: int, seed: int) -> xr.DataTree:
    """Return ``prior`` and ``prior_predictive`` over (chain, draw), one chain."""
    with warnings.catch_warnings(), _quiet(logging.getLogger("pymc")):
        warnings.simplefilter("ignore")
        drawn = pm.sample_prior_predictive(
            draws=draws,
            model=model,
            random_seed=seed,
            compile_kwargs={"mode": "FAST_COMPILE"},
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
