"""What the prompts of a plan tell of the tail of each model: how many, how sure, how varied."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.expected_coverage import expected_coverage
from sharpbayes.analysis.limited_metrics import limited_metric, split_label
from sharpbayes.analysis.profile_bootstrap import bootstrap_differences
from sharpbayes.analysis.profile_interval import share_of_pairs
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import (
    WIDE_TAIL,
    counted_answers,
    has_tail,
    is_wide_tail,
)
from sharpbayes.metrics.panel.least_numbers import ROUNDING
from sharpbayes.metrics.panel.profile import CVARS

# How far the expected coverage may lie below the level: 0.05, and its Monte Carlo error.
COVERAGE_MARGIN = 0.07


def measure_tail(plan: ProfilePlan, profile: xr.Dataset) -> xr.Dataset:
    """Return what evidence has of the tails of a plan with this profile, over (model).

    ``tail_prompts``, ``expected_coverage`` of the CVaR interval, ``ceiling``, ``at_ceiling``,
    ``flat_tail``: all prompts of the tail have the same log-risk, and ``wide_tail``, that of
    :func:`ties_at_var`.
    """
    table, cvar, shares = plan.table, profile["cvar"], plan.target_weights()
    counted = counted_answers(table["log_risk"], weights=shares)
    ceiling = xr.full_like(cvar, plan.ceiling)
    return xr.Dataset(
        {
            "tail_prompts": plan.tail_prompts,
            "expected_coverage": expected_coverage(
                table["harm"],
                table["log_risk"],
                tail=plan.weights.tail,
                epsilon=plan.protocol.epsilon,
                bootstrap=plan.study.spec.bootstrap,
                seed=plan.study.spec.seed,
                weights=shares,
            ),
            "ceiling": ceiling,
            "at_ceiling": cvar >= ceiling * (1 - ROUNDING),
            "flat_tail": profile["var"] == counted.max(plan.dim),
            "wide_tail": ties_at_var(plan, table["log_risk"]),
        },
        attrs={"level": plan.study.spec.bootstrap.level},
    )


def ties_at_var(plan: ProfilePlan, x: xr.DataArray, *, times: float = WIDE_TAIL) -> xr.DataArray:
    """Return whether so many prompts tie at VaR that the CVaR of values is of many more, (...).

    They are ``times`` as many as the level says. Never by the estimator of Rockafellar and Uryasev,
    which counts a part of the ties.
    """
    tail = plan.weights.tail
    is_wide = is_wide_tail(x, alpha=tail.alpha, weights=plan.target_weights(), times=times)
    return is_wide & (tail.estimator == "inclusive")


def ties_of_limit(plan: ProfilePlan, label: str, *, times: float = WIDE_TAIL) -> xr.DataArray:
    """Return the models whose CVaR that a limit or margin is about has such ties, over (model).

    False where it is about no CVaR; of the worst dimension where that of any has.
    """
    _, name = split_label(label)
    metric = limited_metric(label)
    if metric not in CVARS:
        return xr.zeros_like(plan.tail_prompts, dtype=bool)
    is_wide = ties_at_var(plan, plan.table[CVARS[metric]], times=times)
    if "dimension" not in is_wide.dims:
        return is_wide
    return is_wide.sel(dimension=name, drop=True) if name else is_wide.any("dimension")


def is_lower_by_ties(plan: ProfilePlan, profile: xr.Dataset) -> xr.DataArray:
    """Return the models with a lower CVaR than another that is the better one by the worst alone.

    Prompts of theirs tie at VaR. Over (model); never by the estimator of Rockafellar and Uryasev.
    """
    has_ties = ties_at_var(plan, plan.table["log_risk"], times=1.0)
    if not bool(has_ties.any()):
        return has_ties
    by_worst = plan.divide_ties().profile(names=["cvar"])["cvar"]
    one, other = (x.rename(model="other") for x in (profile["cvar"], by_worst))
    is_reversed = (profile["cvar"] < one) & (by_worst > other * (1 + ROUNDING))
    return has_ties & is_reversed.any("other")


def separate_by_worst(plan: ProfilePlan, intervals: xr.Dataset) -> xr.Dataset:
    """Return intervals of which pairs are separable by the CVaR of the worst prompts alone, too.

    Where prompts of either model tie at VaR, ``separable (model, other)`` is kept only if the joint
    interval of the difference by the estimator of Rockafellar and Uryasev excludes 0 on the same
    side.
    """
    has_ties = ties_at_var(plan, plan.table["log_risk"], times=1.0)
    if not bool(has_ties.any()):
        return intervals
    name = "cvar_difference_joint"
    by_worst = bootstrap_differences(plan.divide_ties(), ("cvar",)).compare_models("cvar")[name]
    signs = [xr.ufuncs.sign(joint).sum("bound") for joint in (intervals[name], by_worst)]
    is_kept = ~(has_ties | has_ties.rename(model="other")) | (signs[0] == signs[1])
    is_separable = intervals["separable"].astype(bool) & is_kept
    return intervals.assign(separable=is_separable, separable_share=share_of_pairs(is_separable))


def tells_tail(plan: ProfilePlan, profile: xr.Dataset) -> xr.DataArray:
    """Return the models of which the prompts of a plan tell the tail, over (model).

    It has five prompts or more that are not all alike and not many more than the level says, and in
    simulated studies its interval holds the truth often enough.
    """
    enough = has_tail(plan.tail_prompts)
    if not bool(enough.any()):
        return enough  # a simulation takes seconds
    tail = measure_tail(plan, profile)
    is_supported: xr.DataArray = enough & ~lacks_tail(tail)
    return is_supported


def lacks_tail(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose CVaR is not told by prompts that are enough in number."""
    return is_low(evidence) | is_flat(evidence) | is_wide(evidence)


def is_wide(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose CVaR is the mean of many more prompts than the worst ones."""
    wide: NDArray[np.bool_] = evidence["wide_tail"].to_numpy().astype(bool)
    return wide


def is_low(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose intervals hold the truth too seldom in simulated studies."""
    min_coverage = evidence.attrs["level"] - COVERAGE_MARGIN
    low: NDArray[np.bool_] = (evidence["expected_coverage"] < min_coverage).to_numpy()
    return low


def is_flat(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose tail prompts all have the same log-risk, below the ceiling."""
    flat: NDArray[np.bool_] = (evidence["flat_tail"] & ~evidence["at_ceiling"]).to_numpy()
    return flat
