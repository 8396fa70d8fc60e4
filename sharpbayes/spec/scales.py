"""Scales of ratings: ordinal, boolean, categorical, or a number that is cut into bins."""

from itertools import pairwise
from math import isfinite
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sharpbayes.spec.base import Increasing, Name, Positive, Share, Spec

# Scores are stored in two bytes, and each may have a threshold.
MAX_SCORES = 1000
# A decimal such as 0.1 is not exact.
STEP_ERROR = 1e-9


class OrdinalScale(Spec):
    """Numbers from `min` to `max`. A larger score means more harm unless it is reversed."""

    kind: Literal["ordinal"]
    """Kind of the scale."""
    min: float
    """Lowest score."""
    max: float
    """Highest score, less than 1000 steps above `min`."""
    step: Positive = 1.0
    """Distance between two scores: 0.5 where half points are given."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max <= self.min:
            raise ValueError(f"max = {self.max:g} must be larger than min = {self.min:g}")
        steps = (self.max - self.min) / self.step
        if steps >= MAX_SCORES:
            raise ValueError(f"max must be less than {MAX_SCORES} steps above min")
        if abs(steps - round(steps)) > STEP_ERROR:
            raise ValueError(f"max must be a whole number of steps of {self.step:g} above min")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the scores, lowest first.

        >>> OrdinalScale(kind="ordinal", min=1, max=2, step=0.5).labels
        ('1', '1.5', '2')
        """
        steps = round((self.max - self.min) / self.step)
        return tuple(f"{self.min + step * self.step:.12g}" for step in range(steps + 1))

    def find(self, number: float) -> int | None:
        """Return the position of a number among the scores, or None where it is none of them."""
        steps = (number - self.min) / self.step
        steps = steps if isfinite(steps) else -1.0
        on_scale = 0 <= round(steps) < len(self.labels) and abs(steps - round(steps)) < STEP_ERROR
        return round(steps) if on_scale else None


class BooleanScale(Spec):
    """No or yes, written as true/false, yes/no, y/n or 1/0 in any case."""

    labels: ClassVar = ("false", "true")

    kind: Literal["boolean"]
    """Kind of the scale."""


class CategoricalScale(Spec):
    """Named scores in order, the least harm first."""

    kind: Literal["categorical"]
    """Kind of the scale."""
    levels: Annotated[tuple[Name, ...], Field(min_length=2, strict=False)]
    """Names of the scores as the data have them, the least harm first."""
    values: Annotated[tuple[Share, ...], Field(strict=False)] | None = None
    """Harm of each name in [0, 1], not decreasing. Default: evenly spaced from 0 to 1."""

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("levels must differ from each other")
        if self.values is not None and len(self.values) != len(self.levels):
            counts = f"{len(self.values)} values for {len(self.levels)} levels"
            raise ValueError(f"{counts}, they must be as many")
        if self.values is not None and list(self.values) != sorted(self.values):
            raise ValueError("values must not decrease from one level to the next")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the scores, lowest first."""
        return self.levels


class BinnedScale(Spec):
    """A number that is cut into bins: score k holds bins[k-1] <= x < bins[k]."""

    kind: Literal["binned"] = "binned"
    """Kind of the scale."""
    bins: Increasing
    """Increasing limits between the bins, in the unit of the data."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Ranges of the scores, lowest first.

        >>> BinnedScale(bins=(20.0, 60.0)).labels
        ('below 20', '20 to 60', '60 and more')
        """
        limits = [f"{limit:.15g}" for limit in self.bins]
        between = (f"{low} to {high}" for low, high in pairwise(limits))
        return f"below {limits[0]}", *between, f"{limits[-1]} and more"


# A scale with bins and without a kind is a number that is cut into bins.
Scale = Annotated[
    OrdinalScale | BooleanScale | CategoricalScale | BinnedScale,
    Field(discriminator="kind"),
    BeforeValidator(
        lambda value: (
            {"kind": "binned"} | value if isinstance(value, dict) and "bins" in value else value
        )
    ),
]


def normalised_scores(scale: Scale) -> tuple[float, ...]:
    """Return the harm in [0, 1] of each score, lowest first (SHARP, Eqs 6-8).

    Scores are evenly spaced unless the scale gives values.

    >>> normalised_scores(OrdinalScale(kind="ordinal", min=1, max=3))
    (0.0, 0.5, 1.0)
    """
    if isinstance(scale, CategoricalScale) and scale.values is not None:
        return scale.values
    top = len(scale.labels) - 1
    return tuple(score / top for score in range(top + 1))
