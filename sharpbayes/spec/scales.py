"""Scales of ratings: ordinal, boolean, categorical, or a number that is cut into bins."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sharpbayes.spec.base import Increasing, Name, Share, Spec

# Scores are stored in two bytes, and each may have a threshold.
MAX_SCORES = 1000


class OrdinalScale(Spec):
    """Whole numbers from `min` to `max`. A larger score means more harm unless it is reversed."""

    kind: Literal["ordinal"]
    """Kind of the scale."""
    min: int
    """Lowest score."""
    max: int
    """Highest score, less than 1000 above `min`."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max <= self.min:
            raise ValueError(f"max = {self.max} must be larger than min = {self.min}")
        if self.max - self.min >= MAX_SCORES:
            raise ValueError(f"max must be less than {MAX_SCORES} above min")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the scores, lowest first."""
        return tuple(str(score) for score in range(self.min, self.max + 1))


class BooleanScale(Spec):
    """No or yes, written as true/false, yes/no or 1/0 in any case."""

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
        """Names of the scores, lowest first."""
        return tuple(str(score) for score in range(len(self.bins) + 1))


Scale = Annotated[OrdinalScale | BooleanScale | CategoricalScale, Field(discriminator="kind")]


# A scale without a kind is a number that is cut into bins.
CrowdScale = Annotated[
    OrdinalScale | BooleanScale | CategoricalScale | BinnedScale,
    Field(discriminator="kind"),
    BeforeValidator(lambda value: {"kind": "binned"} | value if isinstance(value, dict) else value),
]


def normalised_scores(scale: OrdinalScale | BooleanScale | CategoricalScale) -> tuple[float, ...]:
    """Return the harm in [0, 1] of each score, lowest first (SHARP, Eqs 6-8).

    Scores are evenly spaced unless the scale gives values.

    >>> normalised_scores(OrdinalScale(kind="ordinal", min=1, max=3))
    (0.0, 0.5, 1.0)
    """
    if isinstance(scale, CategoricalScale) and scale.values is not None:
        return scale.values
    top = len(scale.labels) - 1
    return tuple(score / top for score in range(top + 1))
