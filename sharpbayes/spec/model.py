"""How ratings come about: one ordinal model a file."""

from typing import Annotated, Literal

from pydantic import Field

from sharpbayes.spec.base import Name, Plain, PlainOrTable, Positive, Spec, Table

Column = Annotated[
    str, Field(pattern=r"^(item|rater|model|prompt|judge|indicator|dimension|group:.+)$")
]


class HalfNormal(Spec):
    """Density 2 N(x | 0, scale) for x > 0."""

    kind: Literal["half_normal"]
    scale: Positive


class Normal(Spec):
    """Normal with a fixed sd (population-level) or an sd with a prior of its own (varying)."""

    kind: Literal["normal"]
    sd: Annotated[Annotated[Positive, Plain] | Annotated[HalfNormal, Table], PlainOrTable]


class ThresholdPrior(Spec):
    """Ordered normal: independent normals restricted to growing order."""

    kind: Literal["ordered_normal"] = "ordered_normal"
    mean: Annotated[float, Field(strict=False)] = 0.0
    sd: Positive = 5.0


class Thresholds(Spec):
    """Cutpoints of the latent scale, one set for each scale of the study."""

    by: Annotated[tuple[Literal["scale"], ...], Field(min_length=1, max_length=1, strict=False)] = (
        "scale",
    )
    prior: ThresholdPrior = ThresholdPrior()


class Location(Spec):
    """A term of the latent severity: one effect for each level of ``by``, or each crossing."""

    by: Annotated[tuple[Column, ...], Field(min_length=1, strict=False)]
    prior: Normal = Normal(kind="normal", sd=HalfNormal(kind="half_normal", scale=1.5))


class Model(Spec):
    """A model file: likelihood, link, thresholds and location terms, with their priors."""

    schema_: Literal["sharpbayes/model/1"] = Field(alias="schema")
    title: Name
    reference: str = ""
    likelihood: Literal["cumulative"] = "cumulative"
    link: Literal["logit"] = "logit"
    thresholds: Thresholds = Thresholds()
    location: Annotated[tuple[Location, ...], Field(min_length=1, strict=False)]
