"""Answers at the end of the scale that a model has and its prompts do not show."""

import numpy as np
import xarray as xr

from sharpbayes.analysis.limited_metrics import limited_metric
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import counted_answers, is_saturated
from sharpbayes.metrics.panel.tail_bounds import unseen_end_rise
from sharpbayes.metrics.stats.unseen import Rise, unseen_share
from sharpbayes.spec.weights import Weights


def shows_end(plan: ProfilePlan) -> xr.DataArray:
    """Return the models of which an answer that counts is at the end of the scale, over (model)."""
    weights = plan.target_weights()
    counts = counted_answers(plan.table["log_risk"], weights=weights).notnull()
    saturated = is_saturated(plan.table["harm"], epsilon=plan.weights.risk.epsilon)
    shown: xr.DataArray = (saturated.any("dimension") & counts).any(plan.dim)
    return shown


def unseen_end_share(plan: ProfilePlan, *, error_rate: float) -> xr.DataArray:
    """Return the share of all prompts that can have such an answer unseen, over (model).

    It is the largest at this ``error_rate``, and 0 where a prompt shows one.
    """
    prompts = plan.fewest_prompts.clip(min=1.0)
    return unseen_share(prompts, error_rate=error_rate).where(~shows_end(plan), 0.0)


def unseen_ends(plan: ProfilePlan, *, error_rate: float) -> xr.Dataset:
    """Return what each model can have at the end of the scale that its prompts do not show.

    Over (model) ``unseen_end_share``, of :func:`unseen_end_share`, and ``unseen_end_rise``, by how
    much these answers raise CVaR at most.
    """
    share = unseen_end_share(plan, error_rate=error_rate)
    rise = unseen_end_rise(share, alpha=plan.weights.tail.alpha, epsilon=plan.weights.risk.epsilon)
    return xr.Dataset({"unseen_end_share": share, "unseen_end_rise": rise})


def end_rise(labels: xr.DataArray, weights: Weights) -> Rise:
    """Return by how much a share of answers at the end raises what limits or margins are about.

    ``labels`` are those of limits or margins, over (threshold) or (metric), as is the result. A
    mean of log-risk is the CVaR of a tail of all prompts. Other metrics end where harm does, and
    nothing is added to them.
    """
    tails = {"mean": 1.0, "cvar": 1.0 - weights.tail.alpha}
    of_label = [tails.get(limited_metric(str(label)), np.inf) for label in labels.to_numpy()]
    tail = xr.DataArray(of_label, {labels.name: labels}, labels.dims)
    return Rise(tail, -float(np.log(weights.risk.epsilon)))
