"""How each term is sampled: a short trial run tells how much the ratings say of its effects."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.design import Design, Term
from sharpbayes.bayes.layout import layout
from sharpbayes.bayes.sample import sample_kernel
from sharpbayes.spec.study import Sampler

TRIAL = Sampler(chains=2, tune=100, draws=50, max_depth=5)
# Measured: of 0, 0.25, 0.5, 0.75 and 1 the powers nearest to this mixed best (docs/decisions.md).
MOVES = 1.4
# The sd is taken low: where it may be near 0, direct sampling gets stuck in the neck of a funnel.
LOW = 0.05


def sampling_powers(design: Design, *, seed: int, cores: int | None = None) -> dict[str, float]:
    """Return for each term with an sd of its own the power of it that effects are divided by.

    Effects that keep a larger share k of their prior variance move more with their sd; divided by
    the right power of it they are nearly free of it: power = min(1, MOVES k), with

    k = mean_i Var(effect_i | ratings) / q(sd | ratings)^2,

    q a low quantile, the mean of each block left out.

    Args:
        design: Ratings placed on the terms of a model, each as its number of ratings suggests.
        seed: Seed of the trial run.
        cores: Most chains that run at once.
    """
    varying = [term for term in design.terms if term.sds]
    if not varying:
        return {}
    trace = sample_kernel(design, layout(design), TRIAL, seed=seed, cores=cores)
    trial = trace["posterior"].to_dataset()
    powers = {term.name: min(1.0, MOVES * kept_variance(trial, term)) for term in varying}
    # What holds the means of other terms is sampled with them, and ratings say much of the sum.
    return powers | {term.holder: 0.0 for term in design.terms if term.holder}


def kept_variance(posterior: xr.Dataset, term: Term) -> float:
    """Return the mean share of their prior variance, taken low, that a term's effects keep."""
    effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    if term.part == "discrimination":
        effects = np.log(effects)
    flat = effects.reshape(-1, term.size)
    blocks = np.unique(term.block[term.block >= 0])
    for inside in [term.block == block for block in blocks]:
        flat[:, inside] -= flat[:, inside].mean(axis=1, keepdims=True)
    seen = np.isin(np.arange(term.size), term.index) | (term.part == "spacing")
    sd = posterior[f"sd_{term.stem}"].quantile(LOW, ("chain", "draw"))
    return float(flat[:, seen].var(axis=0).mean() / (sd**2).mean())
