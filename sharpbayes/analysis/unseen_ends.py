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
    mean is the CVaR of a tail of all prompts. An answer raises the log-risk of its prompt by
    -log(epsilon) and its policy score by 1 at most. CVaR of harm is not raised.
    """
    of_log_risk = -float(np.log(weights.risk.epsilon))
    rises = {
        "mean": (1.0, of_log_risk),
        "cvar": (1.0 - weights.tail.alpha, of_log_risk),
        "policy_score": (1.0, 1.0),
    }
    of_label = [rises.get(limited_metric(str(label)), (np.inf, 1.0)) for label in labels.to_numpy()]
    tail, height = (
        xr.DataArray(list(values), {labels.name: labels}, labels.dims)
        for values in zip(*of_label, strict=True)
    )
    return Rise(tail, height)
