"""How each term is sampled: a short trial run tells how much the ratings say of its effects."""

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import CENTRED_BELOW, Design, Term
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.spec.study import Sampler

TRIAL = Sampler(chains=2, tune=100, draws=50, max_depth=5)
# Measured: of 0, 0.25, 0.5, 0.75 and 1 the powers nearest to this mixed best (docs/adr/0003).
WEIGHT_PER_SHARE = 1.4
# The sd is taken low: where it may be near 0, direct sampling gets stuck in the neck of a funnel.
LOW = 0.05


def choose_weights(
    design: Design, *, seed: int, execution: Execution = IN_PROCESS
) -> dict[str, float]:
    """Return for each term with an sd of its own the power of it that effects are divided by.

    Effects that keep a larger share k of their prior variance move more with their sd; divided by
    the right power of it they are nearly free of it: power = min(1, WEIGHT_PER_SHARE k), with

    k = mean_i Var(effect_i | ratings) / q(sd | ratings)^2,

    q a low quantile, the mean of each group that ratings tell only with other terms left out.

    Args:
        design: Terms of a model indexed by ratings, each as its number of ratings suggests.
        seed: Seed of the trial run.
        execution: Its number of cores is used.
    """
    varying = [term for term in design.terms if term.n_sds]
    if not varying:
        return {}
    trace = sample_kernel(
        design,
        parameter_layout(design),
        TRIAL,
        seed=seed,
        execution=Execution(cores=execution.cores),
    )
    trial = trace["posterior"].to_dataset()
    kept = {term.name: prior_variance_share(trial, term, _groups(design, term)) for term in varying}
    powers = {name: min(1.0, WEIGHT_PER_SHARE * share) for name, share in kept.items()}
    # What holds the means of other terms is sampled with them, and ratings say much of the sum,
    # unless they say so little of its effects that these are better sampled as parts of their sd.
    holders = {term.mean_holder for term in design.terms if term.mean_holder}
    return powers | {name: 0.0 for name in holders if powers.get(name, 0.0) < CENTRED_BELOW}


def _groups(design: Design, term: Term) -> Index:
    """For each effect the group whose mean ratings tell only with other terms, -1 for none."""
    held = [parent for _, whole, parent in design.sources(term) if not whole]
    return held[0] if held else term.mean_group


def prior_variance_share(posterior: xr.Dataset, term: Term, groups: Index) -> float:
    """Return the mean share of their prior variance, taken low, that a term's effects keep.

    Args:
        posterior: Draws of a trial run.
        term: The term.
        groups: For each effect the group whose mean is left out, -1 for none.
    """
    effects = posterior[term.name].transpose("chain", "draw", *term.dims).to_numpy()
    if term.kind == "discrimination":
        effects = np.log(effects)
    flat = effects.reshape(-1, term.size)
    # A level without ratings on its scale has no stretches: they are missing.
    told = ~np.isnan(flat).any(axis=0)
    for inside in [told & (groups == group) for group in np.unique(groups[told & (groups >= 0)])]:
        flat[:, inside] -= flat[:, inside].mean(axis=1, keepdims=True)
    seen = told & (np.isin(np.arange(term.size), term.index) | (term.kind == "gap"))
    sd = posterior[f"sd_{term.stem}"].quantile(LOW, ("chain", "draw"))
    return float(flat[:, seen].var(axis=0).mean() / (sd**2).mean())
