"""Answers at the end of the scale that a model has and its prompts do not show."""

import numpy as np
import xarray as xr

from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import counted_answers, is_saturated
from sharpbayes.metrics.panel.tail_bounds import end_share, unseen_end_rise
from sharpbayes.metrics.stats.bounded_means import unseen_share, unseen_units

# Share of the error rate that a bound of CVaR keeps where no answer is at the end of the scale; the
# rest is for the answers there that were missed.
SEEN_SHARE = 0.5


def shows_end(plan: ProfilePlan) -> xr.DataArray:
    """Return the models of which an answer that counts is at the end of the scale, over (model)."""
    weights = plan.target_weights()
    counts = counted_answers(plan.table["log_risk"], weights=weights).notnull()
    saturated = is_saturated(plan.table["harm"], epsilon=plan.weights.risk.epsilon)
    shown: xr.DataArray = (saturated.any("dimension") & counts).any(plan.dim)
    return shown


def unseen_ends(plan: ProfilePlan, *, error_rate: float) -> xr.Dataset:
    """Return what each model can have at the end of the scale that its prompts do not show.

    Over (model) ``unseen_end_share``, the largest share of all prompts that can have such an
    answer at this ``error_rate``, and ``unseen_end_rise``, by how much these raise CVaR at most.
    Both are 0 where a prompt shows one.
    """
    prompts = plan.fewest_prompts.clip(min=1.0)
    share = unseen_share(prompts, error_rate=error_rate).where(~shows_end(plan), 0.0)
    rise = unseen_end_rise(share, alpha=plan.weights.tail.alpha, epsilon=plan.weights.risk.epsilon)
    return xr.Dataset({"unseen_end_share": share, "unseen_end_rise": rise})


def prompts_without_end(
    plan: ProfilePlan, rise: xr.DataArray, *, error_rate: float
) -> xr.DataArray:
    """Return how many prompts without such an answer let CVaR rise by ``rise`` at most, in nats.

    NaN where ``rise`` is not above 0.
    """
    share = end_share(rise, alpha=plan.weights.tail.alpha, epsilon=plan.weights.risk.epsilon)
    units = unseen_units(share.where(rise > 0), error_rate=error_rate)
    return units.copy(data=np.ceil(units))
