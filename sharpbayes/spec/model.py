"""A model file: one ordinal model of how ratings come about."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sharpbayes.spec.base import AnyNames, Name, Names, Number, PlainOr, Positive, Spec
from sharpbayes.spec.lines import KeyPath

Likelihood = Literal["cumulative", "adjacent", "continuation"]


class HalfNormal(Spec):
    """Density 2 N(x | 0, scale) for x > 0."""

    kind: Literal["half_normal"] = "half_normal"
    """Kind of the prior."""
    scale: Positive
    """Standard deviation of the normal."""


class Exponential(Spec):
    """Density exp(-x / mean) / mean for x > 0."""

    kind: Literal["exponential"]
    """Kind of the prior."""
    mean: Positive
    """Mean."""


class HalfStudentT(Spec):
    """Positive half of Student's t about 0."""

    kind: Literal["half_student_t"]
    """Kind of the prior."""
    df: Positive
    """Degrees of freedom."""
    scale: Positive
    """Scale of Student's t."""


Scale = Annotated[HalfNormal | Exponential | HalfStudentT, Field(discriminator="kind")]
FixedOrScale = PlainOr[Positive, Scale]


class Normal(Spec):
    """Normal about 0."""

    kind: Literal["normal"] = "normal"
    """Kind of the prior."""
    sd: FixedOrScale
    """Standard deviation: a number (population-level), or a table with its prior (varying)."""


class StudentT(Spec):
    """Student's t about 0, which lets single effects be large."""

    kind: Literal["student_t"]
    """Kind of the prior."""
    df: Positive
    """Degrees of freedom."""
    sd: FixedOrScale
    """Scale: a number (population-level), or a table with its prior (varying)."""


Effects = Annotated[Normal | StudentT, Field(discriminator="kind")]


class LKJ(Spec):
    """Density of a correlation matrix, proportional to its determinant to the power eta - 1."""

    kind: Literal["lkj"] = "lkj"
    """Kind of the prior."""
    eta: Positive = 2.0
    """Above 1 it favours small correlations; 1 is uniform."""


class ThresholdPrior(Spec):
    """Independent normals."""

    kind: Literal["ordered_normal", "normal"] | None = None
    """`ordered_normal`: in increasing order. Default: ordered for `cumulative` only."""
    mean: Number = 0.0
    """Mean, in units of the latent scale."""
    sd: Positive = 5.0
    """Standard deviation, in units of the latent scale."""


class Thresholds(Spec):
    """Thresholds on the latent scale between the categories of a rating scale."""

    by: Names = ("scale",)
    """`scale`, then columns with thresholds for each value, pooled towards those of the scale."""
    prior: ThresholdPrior = ThresholdPrior()
    """Prior of the common thresholds of a scale."""
    shift: Normal = Normal(sd=HalfNormal(scale=1.5))
    """Prior of the shift of all thresholds, for each value of a column without a location term."""
    gap: Normal = Normal(sd=HalfNormal(scale=0.5))
    """Prior of the change of each gap between thresholds, for each value of a column: the log of a
    factor for ordered thresholds, an added amount for others."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        if self.by[0] != "scale" or len(set(self.by)) < len(self.by):
            raise ValueError('by starts with "scale" and names each further column once')
        return self


class Location(Spec):
    """A term of the latent severity: an effect for each value of a column, or each crossing."""

    by: Names
    """A column, or several for an effect of each crossing of their values."""
    prior: Effects = Normal(sd=HalfNormal(scale=1.5))
    """Prior of the effects."""
    correlated_over: Name | None = None
    """One of several columns in `by`. Effects are correlated across its values and have an sd for
    each. Default: independent effects."""
    correlation: LKJ = LKJ()
    """Prior of these correlations."""
    zero_sum: bool = False
    """Whether effects add up to 0 along every column. It changes the posterior."""

    @model_validator(mode="after")
    def _check_correlation(self) -> Self:
        over = self.correlated_over
        if len(set(self.by)) < len(self.by):
            raise ValueError("by names a column twice")
        if over is not None and (over not in self.by or len(self.by) < 2):  # noqa: PLR2004
            raise ValueError(f"correlated_over is one of several columns of by, found {over!r}")
        if over is not None and (self.zero_sum or isinstance(self.prior, StudentT)):
            raise ValueError("correlated effects have a normal prior and no zero_sum")
        if self.zero_sum and isinstance(self.prior, StudentT):
            raise ValueError("effects that add up to 0 have a normal prior")
        if over is not None and isinstance(self.prior.sd, float):
            raise ValueError("correlated effects need an sd with a prior of its own")
        return self


class Slope(Spec):
    """A number as a covariate of severity: so much more for each sd of a numeric column.

    The column is one of prompts, answers, items, raters, judges or single ratings. It is centred at
    its mean and divided by its sd over those that have it, and results keep both. A slope with `by`
    varies about the common slope of the column.
    """

    column: Name
    """Numeric column, such as the length of an answer or the time of a rating. A date counts in
    days."""
    by: AnyNames = ()
    """Columns with a slope for each value, or each crossing of their values, pooled towards the
    common slope. Default: one common slope."""
    transform: Literal["none", "log"] = "none"
    """`log`: the natural logarithm is taken first, of numbers above 0."""
    prior: Normal = Normal(sd=1.0)
    """Prior of the common slope, by sd of the column."""
    deviation: Normal = Normal(sd=HalfNormal(scale=0.5))
    """Prior of what each value of `by` adds to the common slope."""

    @model_validator(mode="after")
    def _check_deviation(self) -> Self:
        if len(set(self.by)) < len(self.by):
            raise ValueError("by names a column twice")
        if not self.by and "deviation" in self.model_fields_set:
            raise ValueError("deviation needs by: a common slope has none")
        return self


class Discrimination(Spec):
    """How sharply ratings follow severity: a factor for each value of a column or crossing."""

    by: Names
    """A column, or several for a factor of each crossing of their values."""
    prior: Normal = Normal(sd=HalfNormal(scale=0.5))
    """Prior of the logarithms of the factors."""
    zero_sum: bool = True
    """Whether log factors add up to 0 along every column. False where ratings outside the term,
    with a factor of 1, fix the unit of severity."""


class Beta(Spec):
    """Density of a share, proportional to x^(a - 1) (1 - x)^(b - 1)."""

    kind: Literal["beta"] = "beta"
    """Kind of the prior."""
    a: Positive
    """First parameter; the mean is a / (a + b)."""
    b: Positive
    """Second parameter."""


class Careless(Spec):
    """A latent class of raters of a crowd with scores that do not depend on the item.

    Each careless rater has a distribution of scores of their own. All other raters follow the
    ordinal model. Labels of experts always follow it.
    """

    share: Beta = Beta(a=1.0, b=9.0)
    """Prior of the share of careless raters."""
    concentration: Positive = 1.0
    """Parameter of the symmetric Dirichlet prior of a careless rater's distribution, the same for
    each score: 1 is uniform over all distributions, below 1 favours raters who repeat a score."""


class Model(Spec):
    """A model file: likelihood, link, thresholds, location and discrimination terms, priors.

    Terms are by columns of the ratings: `item`, `rater`, `model`, `prompt`, `cluster` (of prompts
    or items), `judge`, `indicator`, `dimension`, `scale`, `machine` (a model judge scores, no
    person), `family` (of a judge that is not alone in it), `own_family` (a judge scores a model of
    its own family), `group:COLUMN` of raters, a column of items, or `item_label` (labels from a
    column of items). `group:*` stands for one term for each group column of the study. Where
    prompts or items have clusters and no term names them, each term of them has one of clusters
    alongside it.
    """

    schema_: Literal["sharpbayes/model/2"] = Field(alias="schema")
    """Kind and version of the file."""
    title: Name
    """Title in reports."""
    reference: str = ""
    """Where the model comes from. Reports quote it."""
    likelihood: Likelihood = "cumulative"
    """What a threshold separates: all categories below from all above (`cumulative`), one from the
    next (`adjacent`), or one from all above (`continuation`)."""
    link: Literal["logit", "probit"] = "logit"
    """Distribution of the latent error: logistic or normal."""
    thresholds: Thresholds = Thresholds()
    """Thresholds on the latent scale."""
    location: Annotated[tuple[Location, ...], Field(min_length=1, strict=False)]
    """Terms of the latent severity, which add up."""
    discrimination: Annotated[tuple[Discrimination, ...], Field(strict=False)] = ()
    """Factors of the discrimination, which multiply. Default: 1 for all ratings."""
    slope: Annotated[tuple[Slope, ...], Field(strict=False)] = ()
    """Numeric columns as covariates of the latent severity. Default: none."""
    experts: bool = False
    """Whether the labels of a crowd's experts are ratings too, on the scale `label`."""
    careless: Careless | None = None
    """A latent class of careless raters of a crowd. Default: all raters follow the ordinal
    model."""

    @model_validator(mode="after")
    def _check_terms(self) -> Self:
        for name in ("location", "discrimination"):
            terms = [tuple(sorted(term.by)) for term in getattr(self, name)]
            repeated = [" x ".join(by) for by in terms if terms.count(by) > 1]
            if repeated:
                raise ValueError(f"{name} has two terms by {repeated[0]}")
        return self

    @model_validator(mode="after")
    def _check_slopes(self) -> Self:
        first: dict[str, Slope] = {}
        terms: set[tuple[str, tuple[str, ...]]] = set()
        for slope in self.slope:
            common = first.setdefault(slope.column, slope)
            if (common.transform, common.prior) != (slope.transform, slope.prior):
                message = f"slopes of {slope.column!r} share one common slope: "
                raise ValueError(message + "transform and prior have to be the same in all")
            term = (slope.column, tuple(sorted(slope.by)))
            if term in terms:
                by = f" by {' x '.join(slope.by)}" if slope.by else ""
                raise ValueError(f"slope has {slope.column!r}{by} twice")
            terms.add(term)
        return self

    @model_validator(mode="after")
    def _check_likelihood(self) -> Self:
        expected = "ordered_normal" if self.ordered_thresholds else "normal"
        kind = self.thresholds.prior.kind
        if self.likelihood == "adjacent" and self.link != "logit":
            raise ValueError(
                f'link = "{self.link}" has no adjacent likelihood: its thresholds are log odds of '
                'one category to the next; use link = "logit", or likelihood = "continuation"'
            )
        if self.likelihood == "adjacent" and self.careless is not None:
            raise ValueError(
                'likelihood = "adjacent" has no careless raters; use "cumulative" or "continuation"'
            )
        if kind not in {None, expected}:
            message = f'thresholds of likelihood = "{self.likelihood}" have a prior of kind '
            raise ValueError(f'{message}"{expected}", found "{kind}"')
        return self

    @property
    def ordered_thresholds(self) -> bool:
        """Whether the likelihood demands thresholds in growing order."""
        return self.likelihood == "cumulative"

    @property
    def columns(self) -> tuple[tuple[KeyPath, str], ...]:
        """Path of each place that names a column, and the column, in the order of the file."""
        terms: list[tuple[KeyPath, Names]] = [(("thresholds",), self.thresholds.by)]
        for table in ("location", "discrimination", "slope"):
            terms += [((table, index), term.by) for index, term in enumerate(getattr(self, table))]
        return tuple(((*path, "by"), column) for path, by in terms for column in by)

    def with_clusters(self, unit: str) -> Self:
        """Return the model with a term of clusters for each term of a unit, prompts or items.

        It is the model itself where a term names `cluster` already.
        """
        if any(column == "cluster" for _, column in self.columns):
            return self
        clusters = (
            term.model_copy(update={"by": tuple("cluster" if x == unit else x for x in term.by)})
            for term in self.location
            if unit in term.by
        )
        return self.model_copy(update={"location": (*self.location, *clusters)})

    @property
    def numeric_columns(self) -> tuple[str, ...]:
        """Columns that are read as numbers, in the order of the file."""
        return tuple(dict.fromkeys(slope.column for slope in self.slope))


def dim_name(column: str) -> str:
    """Return the dimension of the levels of a column: ``gender`` for ``group:gender``.

    Names of variables and dimensions of results have no slash.
    """
    return column.removeprefix("group:").replace("/", "_")
