"""How ratings with known truth are made."""

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from sharpbayes.spec.base import NonNegative, Positive, Share, Spec


def _growing(values: tuple[float, ...]) -> tuple[float, ...]:
    """Refuse numbers that do not grow."""
    if any(high <= low for low, high in pairwise(values)):
        raise ValueError("the values must grow")
    return values


Growing = Annotated[
    tuple[Annotated[float, Field(strict=False)], ...],
    Field(min_length=1, strict=False),
    AfterValidator(_growing),
]
Percentile = Annotated[float, Field(gt=0, lt=100, strict=False)]
Percentiles = Annotated[
    tuple[Percentile, ...],
    Field(min_length=2, max_length=2, strict=False),
    AfterValidator(_growing),
]


class Simulation(Spec):
    """How ratings with known truth are made: R = V + b, scores by thresholds on R.

    Severities V and biases b are normal with mean 0; ``thresholds`` cut R into scores, and are
    evenly spaced quantiles of R from 25% to 85% unless given. Experts call an item unsafe above a
    percentile of V of their own, normal around the middle of ``expert_percentiles`` and inside it.
    A ``shift_share`` of the scores from ``shift_from`` up is lowered by 1 to ``shift_steps``; a
    conservative rater scores above 0, at random, what lies above ``conservative_percentile`` of R.
    """

    items: Annotated[int, Field(ge=10, le=10_000_000)] = 1000
    raters: Annotated[int, Field(ge=1, le=10_000_000)] = 30
    experts: Annotated[int, Field(ge=1, le=10_000_000)] = 30
    severity_sd: Positive = 1.0
    bias_sd: NonNegative = 0.2
    thresholds: Growing | None = None
    expert_percentiles: Percentiles = (50.0, 90.0)
    shift_share: Share = 0.7
    shift_from: Annotated[int, Field(ge=1, lt=2**63)] = 2
    shift_steps: Annotated[int, Field(ge=1, lt=2**63)] = 2
    conservative_percentile: Percentile = 68.0
