"""What the prompts of a plan tell of the tail of each model: how many, how sure, how varied."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.expected_coverage import expected_coverage
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import counted_answers, has_tail
from sharpbayes.metrics.panel.least_numbers import ROUNDING

# How far the expected coverage may lie below the level: 0.05, and its Monte Carlo error.
COVERAGE_MARGIN = 0.07


def measure_tail(plan: ProfilePlan, profile: xr.Dataset) -> xr.Dataset:
    """Return what evidence has of the tails of a plan with this profile, over (model).

    ``tail_prompts``, ``expected_coverage`` of the CVaR interval, ``ceiling``, ``at_ceiling`` and
    ``flat_tail``: all prompts of the tail have the same log-risk.
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
        },
        attrs={"level": plan.study.spec.bootstrap.level},
    )


def tells_tail(plan: ProfilePlan, profile: xr.Dataset) -> xr.DataArray:
    """Return the models of which the prompts of a plan tell the tail, over (model).

    It has five prompts or more that are not all alike, and in simulated studies its interval holds
    the truth often enough.
    """
    enough = has_tail(plan.tail_prompts)
    if not bool(enough.any()):
        return enough  # a simulation takes seconds
    tail = measure_tail(plan, profile)
    is_supported: xr.DataArray = enough & ~(is_low(tail) | is_flat(tail))
    return is_supported


def is_low(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose intervals hold the truth too seldom in simulated studies."""
    min_coverage = evidence.attrs["level"] - COVERAGE_MARGIN
    low: NDArray[np.bool_] = (evidence["expected_coverage"] < min_coverage).to_numpy()
    return low


def is_flat(evidence: xr.Dataset) -> NDArray[np.bool_]:
    """Return the models whose tail prompts all have the same log-risk, below the ceiling."""
    flat: NDArray[np.bool_] = (evidence["flat_tail"] & ~evidence["at_ceiling"]).to_numpy()
    return flat
