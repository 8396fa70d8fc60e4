"""Scales that a rating can be on: ordinal, boolean, categorical, or a number cut into bins."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from sharpbayes.spec.base import Name, Share, Spec

# Levels are held in two bytes, and every one may have a threshold.
MOST_LEVELS = 1000


class OrdinalScale(Spec):
    """Whole numbers from ``min`` to ``max``, larger meaning more harm unless reversed."""

    kind: Literal["ordinal"]
    min: int
    max: int

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max <= self.min:
            raise ValueError(f"max = {self.max} must be larger than min = {self.min}")
        if self.max - self.min >= MOST_LEVELS:
            raise ValueError(f"max must be less than {MOST_LEVELS} above min")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the levels, lowest first."""
        return tuple(str(score) for score in range(self.min, self.max + 1))


class BooleanScale(Spec):
    """No or yes: true/false, yes/no or 1/0 in any case."""

    kind: Literal["boolean"]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the levels, lowest first."""
        return ("false", "true")


class CategoricalScale(Spec):
    """Named levels, lowest harm first, each with a value in [0, 1] (evenly spaced by default)."""

    kind: Literal["categorical"]
    levels: Annotated[tuple[Name, ...], Field(min_length=2, strict=False)]
    values: Annotated[tuple[Share, ...], Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _matched(self) -> Self:
        if len(set(self.levels)) != len(self.levels):
            raise ValueError("levels must differ from each other")
        if self.values is not None and len(self.values) != len(self.levels):
            raise ValueError(
                f"{len(self.values)} values for {len(self.levels)} levels, they must be as many"
            )
        if self.values is not None and list(self.values) != sorted(self.values):
            raise ValueError("values must grow with the levels")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the levels, lowest first."""
        return self.levels


class BinnedScale(Spec):
    """A number cut at ``bins``: level k holds bins[k-1] <= x < bins[k]."""

    kind: Literal["binned"] = "binned"
    bins: Annotated[
        tuple[Annotated[float, Field(strict=False)], ...], Field(min_length=1, strict=False)
    ]

    @model_validator(mode="after")
    def _growing(self) -> Self:
        if any(high <= low for low, high in zip(self.bins, self.bins[1:], strict=False)):
            raise ValueError("bins must grow")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the levels, lowest first."""
        return tuple(str(level) for level in range(len(self.bins) + 1))


Scale = Annotated[OrdinalScale | BooleanScale | CategoricalScale, Field(discriminator="kind")]


def _kind(value: Any) -> str | None:
    """Return the kind of a crowd's scale; one without a kind is a number cut into bins."""
    if isinstance(value, dict):
        value = value.get("kind", "binned")
        return value if isinstance(value, str) else None
    kind: str | None = getattr(value, "kind", None)
    return kind


CrowdScale = Annotated[
    Annotated[OrdinalScale, Tag("ordinal")]
    | Annotated[BooleanScale, Tag("boolean")]
    | Annotated[CategoricalScale, Tag("categorical")]
    | Annotated[BinnedScale, Tag("binned")],
    Discriminator(_kind),
]


def normalised_scores(scale: OrdinalScale | BooleanScale | CategoricalScale) -> tuple[float, ...]:
    """Return phi of each level, in [0, 1] (SHARP, Eqs 6-8); evenly spaced unless values are given.

    >>> normalised_scores(OrdinalScale(kind="ordinal", min=1, max=3))
    (0.0, 0.5, 1.0)
    """
    if isinstance(scale, CategoricalScale) and scale.values is not None:
        return scale.values
    top = len(scale.labels) - 1
    return tuple(level / top for level in range(top + 1))
