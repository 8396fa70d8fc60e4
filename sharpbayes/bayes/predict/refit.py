"""Exact leave-one-out: the model fitted again without the ratings of one unit."""

import numpy as np

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.bayes.predict.leave_out import Units, predict_unit
from sharpbayes.bayes.predict.replication import sd_draws
from sharpbayes.bayes.sampling.geometry import tune_design
from sharpbayes.bayes.sampling.nuts import sample_kernel
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler


def refit_without_unit(
    design: Design,
    ratings: Ratings,
    model: Model,
    sampler: Sampler,
    *,
    units: Units,
    unit: int,
    seed: int,
) -> float:
    """Return log p(y_u | y without u) of a unit by fitting the model without its ratings.

    Missing (nan) where the unit has every rating of a scale, or the kernel does not support the
    model. ``design`` and ``ratings`` are those of all units.
    """
    others = ratings.of(units.code != unit)
    reduced = build_design(others, model)
    same_scales = {scale.name for scale in reduced.scales} == {s.name for s in design.scales}
    if reduced.unsupported_by_kernel or not same_scales:
        return float("nan")
    tuned = tune_design(reduced, others, model, seed=seed)
    trace = sample_kernel(tuned, sampler, seed=seed)
    posterior, rng = trace["posterior"].to_dataset(), np.random.default_rng(seed)
    for term in tuned.terms_of("gap"):
        # A fit leaves the effects of levels without ratings missing: they are drawn from the prior.
        effects = posterior[term.name].transpose("chain", "draw", *term.dims)
        drawn = rng.normal(size=effects.shape) * sd_draws(posterior, term)
        posterior = posterior.assign({term.name: effects.fillna(effects.copy(data=drawn))})
    return predict_unit(posterior, design, units, unit)
