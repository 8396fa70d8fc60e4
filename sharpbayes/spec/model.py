"""How ratings come about: one ordinal model a file."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sharpbayes.spec.base import Name, Plain, PlainOrTable, Positive, Spec, Table

# A column of ratings: ``item``, ``rater``, ``model``, ``prompt``, ``judge``, ``indicator``,
# ``dimension``, ``scale``, ``own_family`` (a judge on a model of its own family),
# ``group:<column>`` of raters, a column of items by its own name, or ``item_label`` (labels from a
# column of items); ``group:*`` stands for one term for each group column of the study.
Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], Field(min_length=1, strict=False)]


# Which levels a threshold parts: all below from all above (cumulative), one from the next
# (adjacent), one from all above (continuation).
Likelihood = Literal["cumulative", "adjacent", "continuation"]


class HalfNormal(Spec):
    """Density 2 N(x | 0, scale) for x > 0."""

    kind: Literal["half_normal"] = "half_normal"
    scale: Positive


class Exponential(Spec):
    """Density exp(-x / mean) / mean for x > 0."""

    kind: Literal["exponential"]
    mean: Positive


class HalfStudentT(Spec):
    """Student's t with ``df`` degrees of freedom and this scale, for x > 0."""

    kind: Literal["half_student_t"]
    df: Positive
    scale: Positive


Scale = Annotated[HalfNormal | Exponential | HalfStudentT, Field(discriminator="kind")]
FixedOrScale = Annotated[Annotated[Positive, Plain] | Annotated[Scale, Table], PlainOrTable]


class Normal(Spec):
    """Normal with a fixed sd (population-level) or an sd with a prior of its own (varying)."""

    kind: Literal["normal"] = "normal"
    sd: FixedOrScale


class StudentT(Spec):
    """Student's t about 0 with ``df`` degrees of freedom and scale ``sd``: some effects far off."""

    kind: Literal["student_t"]
    df: Positive
    sd: FixedOrScale


Effects = Annotated[Normal | StudentT, Field(discriminator="kind")]


class LKJ(Spec):
    """Density of a correlation matrix, proportional to its determinant to the power eta - 1."""

    kind: Literal["lkj"] = "lkj"
    eta: Positive = 2.0


class ThresholdPrior(Spec):
    """Independent normals; ordered normal: restricted to growing order, as cumulative demands.

    ``kind`` follows from the likelihood where it is left out.
    """

    kind: Literal["ordered_normal", "normal"] | None = None
    mean: Annotated[float, Field(strict=False)] = 0.0
    sd: Positive = 5.0


class Thresholds(Spec):
    """Cutpoints of the latent scale: one set a scale, stretched and moved by further columns.

    Attributes:
        by: ``"scale"`` and any columns whose levels have thresholds of their own, partially
            pooled towards those of the scale.
        prior: Prior of a scale's common thresholds.
        severity: Prior of how far a level moves all thresholds, for a column without a location
            term of its own.
        spacing: Prior of how far a level stretches each gap between thresholds, as a logarithm;
            of what it adds to each gap, where thresholds stand in any order.
    """

    by: Columns = ("scale",)
    prior: ThresholdPrior = ThresholdPrior()
    shift: Normal = Normal(sd=HalfNormal(scale=1.5))
    gap: Normal = Normal(sd=HalfNormal(scale=0.5))

    @model_validator(mode="after")
    def _scale_first(self) -> Self:
        if self.by[0] != "scale" or len(set(self.by)) < len(self.by):
            raise ValueError('by starts with "scale" and names each further column once')
        return self


class Location(Spec):
    """A term of the latent severity: one effect for each level of ``by``, or each crossing.

    Attributes:
        by: A column, or several for an effect of each crossing of their levels.
        prior: Prior of the effects.
        correlated_over: One of several columns ``by``: effects of its levels have an sd each and
            are correlated over it.
        correlation: Prior of those correlations.
        zero_sum: Whether effects are restricted to add up to 0 along every column. It changes the
            posterior, and the results say so.
    """

    by: Columns
    prior: Effects = Normal(sd=HalfNormal(scale=1.5))
    correlated_over: Column | None = None
    correlation: LKJ = LKJ()
    zero_sum: bool = False

    @model_validator(mode="after")
    def _possible(self) -> Self:
        over = self.correlated_over
        if len(set(self.by)) < len(self.by):
            raise ValueError("by names a column twice")
        if over is not None and (over not in self.by or len(self.by) < 2):  # noqa: PLR2004
            raise ValueError(f"correlated_over is one of several columns of by, found {over!r}")
        if over is not None and (self.zero_sum or isinstance(self.prior, StudentT)):
            raise ValueError("correlated effects have a normal prior and no zero_sum")
        if over is not None and isinstance(self.prior.sd, float):
            raise ValueError("correlated effects need an sd with a prior of its own")
        return self


class Discrimination(Spec):
    """How sharply ratings follow severity: a factor for each level, log factors adding up to 0.

    Attributes:
        by: A column, or several for a factor of each crossing of their levels.
        prior: Prior of the logarithm of the factors.
        zero_sum: Whether log factors add up to 0 along every column; false where ratings to
            which the term does not apply, with a factor of 1, fix the scale of severity.
    """

    by: Columns
    prior: Normal = Normal(sd=HalfNormal(scale=0.5))
    zero_sum: bool = True


class Model(Spec):
    """A model file: likelihood, link, thresholds, location and discrimination terms, priors.

    ``experts``: whether the labels of a crowd's experts are ratings too, on the scale ``label``.
    """

    schema_: Literal["sharpbayes/model/2"] = Field(alias="schema")
    title: Name
    reference: str = ""
    likelihood: Likelihood = "cumulative"
    link: Literal["logit", "probit"] = "logit"
    thresholds: Thresholds = Thresholds()
    location: Annotated[tuple[Location, ...], Field(min_length=1, strict=False)]
    discrimination: Annotated[tuple[Discrimination, ...], Field(strict=False)] = ()
    experts: bool = False

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for name in ("location", "discrimination"):
            written = [tuple(sorted(term.by)) for term in getattr(self, name)]
            twice = [" x ".join(by) for by in written if written.count(by) > 1]
            if twice:
                raise ValueError(f"{name} has two terms by {twice[0]}")
        return self

    @model_validator(mode="after")
    def _fits_its_likelihood(self) -> Self:
        kind = "ordered_normal" if self.likelihood == "cumulative" else "normal"
        found = self.thresholds.prior.kind
        if self.likelihood == "adjacent" and self.link != "logit":
            raise ValueError(
                f'link = "{self.link}" has no adjacent likelihood: its thresholds are log odds of '
                'one level to the next; link = "logit", or likelihood = "continuation"'
            )
        if found not in {None, kind}:
            raise ValueError(
                f'thresholds of likelihood = "{self.likelihood}" have a prior of kind "{kind}", '
                f'found "{found}"'
            )
        return self

    @property
    def columns(self) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Path of each place that names a column, and the column, in the order of the file."""
        terms: list[tuple[tuple[str | int, ...], Columns]] = [(("thresholds",), self.thresholds.by)]
        for table in ("location", "discrimination"):
            terms += [((table, at), term.by) for at, term in enumerate(getattr(self, table))]
        return tuple(((*where, "by"), column) for where, by in terms for column in by)
