"""Which terms are sampled directly: a short trial run tells how much the ratings say of each."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.design import Design, Term
from sharpbayes.bayes.layout import layout
from sharpbayes.bayes.sample import sample_kernel
from sharpbayes.spec.study import Sampler

TRIAL = Sampler(chains=2, tune=100, draws=50, max_depth=5)
# Effects keep less of their prior variance than this where ratings say more than the prior.
KEPT = 0.4
# The sd is taken low: where it may be near 0, direct sampling gets stuck in the neck of a funnel.
LOW = 0.05


def informed_terms(design: Design, *, seed: int) -> dict[str, bool]:
    """Return for each term with an sd of its own whether it is sampled directly.

    A term is where its effects keep little of their prior variance, the sd taken low:
    mean_i Var(effect_i | ratings) < KEPT q(sd | ratings)^2, the mean of each block left out.

    Args:
        design: Ratings placed on the terms of a model, each as its number of ratings suggests.
        seed: Seed of the trial run.
    """
    varying = [term for term in design.terms if term.sds]
    if not varying:
        return {}
    trial = sample_kernel(design, layout(design), TRIAL, seed=seed)["posterior"].to_dataset()
    return {term.name: kept_variance(trial, term) < KEPT for term in varying}


def kept_variance(posterior: xr.Dataset, term: Term) -> float:
    """Return the mean share of their prior variance, taken low, that a term's effects keep."""
    effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    if term.part == "discrimination":
        effects = np.log(effects)
    flat = effects.reshape(-1, term.size)
    blocks = range(term.blocks)
    for inside in [term.block == block for block in blocks]:
        flat[:, inside] -= flat[:, inside].mean(axis=1, keepdims=True)
    seen = np.isin(np.arange(term.size), term.index) | (term.part == "spacing")
    sd = posterior[f"sd_{term.stem}"].quantile(LOW, ("chain", "draw"))
    return float(flat[:, seen].var(axis=0).mean() / (sd**2).mean())
