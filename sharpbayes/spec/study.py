"""A study: one table of ratings, and what to compute from it."""

import math
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from sharpbayes.spec import base
from sharpbayes.spec.costs import PRICES, Costs
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.panel import Panel

Draws = Annotated[int, Field(ge=50, le=10_000_000)]
# Where the number of draws is left open, convergence is first checked after so many of each chain.
FIRST_LENGTH = 250
# 2 / (1 - 0.9) is 20.000000000000004 in floating point.
ROUNDING = 1e-9
Correlation = Annotated[float, Field(ge=0, lt=1)]


class Bootstrap(base.Spec):
    """Intervals of observed metrics: a bootstrap over prompts, or over items and raters."""

    replicates: Annotated[int, Field(ge=2, le=10_000_000)] = 10_000
    """Number of resamples, 2 at least. With fewer than 2 / (1 - `level`), 40 at 95%, no resample
    lies beyond a bound; `check` and the results say so."""
    level: base.InnerShare = 0.95
    """Confidence level of all intervals."""
    interval: Literal["studentized", "bca", "percentile"] = "studentized"
    """How intervals of a panel follow from resamples. `studentized` holds the value of the
    population most often, and bounds means of rare harm by what the prompts can miss; `percentile`
    is SHARP's own; `bca` is corrected for bias and skewness."""
    resample_generations: bool = True
    """Whether repeated answers to a prompt are resampled too, where there are any."""

    @property
    def least_replicates(self) -> int:
        """Resamples of which one lies beyond each bound of an interval."""
        return math.ceil(2 / (1 - self.level) - ROUNDING)


class Sampler(base.Spec):
    """How the posterior is sampled, and limits beyond which a fit has not converged."""

    chains: Annotated[int, Field(ge=2, le=1000)] = 4
    """Number of independent chains."""
    tune: Draws = 1000
    """Tuning steps of each chain. They are discarded."""
    draws: Draws | None = None
    """Draws to keep of each chain. Default: as many as it takes to converge: 250, 500, 1000, ..."""
    max_draws: Draws = 8000
    """Most draws to keep of each chain where `draws` is left out."""
    predictive_draws: base.Repeats = 500
    """Posterior draws for which ratings are replicated, over all chains. 0 replicates none. Of more
    than 2 million ratings fewer: those that replicate a billion ratings, and 100 at least."""
    target_accept: base.InnerShare = 0.8
    """Acceptance probability that the step size aims at. Larger values mean smaller steps."""
    max_depth: Annotated[int, Field(ge=1, le=15)] = 10
    """Largest depth of a NUTS tree, which has up to 2^depth gradients."""
    max_rhat: Annotated[float, Field(gt=1)] = 1.01
    """Largest rank-normalised R-hat of a parameter."""
    target_ess: base.Count = 400
    """Smallest effective sample size of a parameter, in the bulk and in the tails."""
    max_divergence_share: base.Share = 0.01
    """Largest share of transitions that diverge. Also fewer fail a fit if they bias a parameter."""
    min_bfmi: base.NonNegative = 0.3
    """Smallest E-BFMI (energy Bayesian fraction of missing information) of a chain. A smaller one
    fails a fit where the log density misses the limits of a single effect."""
    max_depth_share: base.Share = 0.1
    """Largest share of transitions that end at `max_depth`."""
    data_parts: Annotated[int, Field(ge=1, le=1000)] = 1
    """Parts that the ratings are cut into, for one fit on many machines. With `--cluster` they lie
    on its workers, which add up log density and gradient. Sums of other parts differ in their last
    digit, so that draws depend on the number of parts, and not on that of workers."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Draws of a chain after which convergence is checked; the last are the most."""
        if self.draws is not None:
            return (self.draws,)
        lengths = [min(FIRST_LENGTH, self.max_draws)]
        while lengths[-1] < self.max_draws:
            lengths.append(min(2 * lengths[-1], self.max_draws))
        return tuple(lengths)


# Beyond these a prior is as good as none, or leaves no room.
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]
# Under a larger tilt every missing score is as good as the highest.
Tilt = Annotated[float, Field(ge=0, le=20)]


class Sensitivity(base.Spec):
    """Fits alongside the study's own, to see what the answer depends on."""

    leave_out: Annotated[tuple[Literal["judge"], ...], Field(max_length=1, strict=False)] = ()
    """`["judge"]`: a fit without each of the pooled judges. Default: none."""
    priors: Annotated[tuple[Factor, ...], Field(strict=False)] = ()
    """A fit for each factor, with all priors wider by that factor. Default: none."""
    weights: base.AnyNames = ()
    """Weights files to apply to each of these fits, alongside the study's own. Default: none."""
    shared_error: Annotated[tuple[Correlation, ...], Field(strict=False)] = ()
    """Correlations of judges' errors about an answer: for each the answer without the error that
    all judges share. Ratings by judges alone do not show it. Default: none."""

    missing: Annotated[tuple[Tilt, ...], Field(strict=False)] = ()
    """Tilts: log odds of a missing score per unit of severity, the sd of sub-indices. For each the
    profile with missing scores drawn accordingly. No refit. Default: none."""

    @property
    def is_requested(self) -> bool:
        """Whether the study asks for any further fit, or posterior under an assumption."""
        return bool(self.leave_out or self.priors or self.weights or self.shared_error)


Source = Literal["ratings", "prompts", "items", "judges", "raters"]
Sources = Annotated[tuple[Source, ...], Field(min_length=1, strict=False)]
SOURCES = {"panel": ("ratings", "prompts", "judges"), "crowd": ("ratings", "items", "raters")}
DEFAULT_SOURCES: dict[str, tuple[Source, ...]] = {
    "panel": ("ratings", "prompts"),
    "crowd": ("ratings", "items", "raters"),
}


def _nesting(value: Any) -> str:
    """Tell a list of lists from a list, so that an error is about the form that was written."""
    inner = isinstance(value, list | tuple) and any(isinstance(v, list | tuple) for v in value)
    return "several" if inner else "one"


class Study(base.Spec):
    """A study file: one table of ratings, `[panel]` or `[crowd]`, and what to compute from it."""

    schema_: Literal["sharpbayes/study/2"] = Field(alias="schema")
    """Kind and version of the file."""
    title: base.Name
    """Title of reports."""
    weights: base.Name | None = None
    """A shipped weights file or a path. Default: `sharp` for a panel, none for a crowd."""
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    """Seed of all random numbers. Equal seeds give equal results."""
    panel: Panel | None = None
    """Judges score the answers of models to prompts."""
    crowd: Crowd | None = None
    """Raters of many backgrounds score items."""
    bootstrap: Bootstrap = Bootstrap()
    """Intervals of observed metrics."""
    sampler: Sampler = Sampler()
    """How the posterior is sampled."""
    uncertainty: (
        Annotated[
            Annotated[Sources, Tag("one")]
            | Annotated[tuple[Sources, ...], Field(min_length=1, strict=False), Tag("several")],
            Discriminator(_nesting),
        ]
        | None
    ) = None
    """Sources of uncertainty in intervals of posterior metrics. `ratings`: replicated ratings of
    the same cells. `prompts`: a Bayesian bootstrap with new prompts. `items`: a Bayesian bootstrap.
    `judges` or `raters`: new ones from their population. A list of lists gives several intervals;
    decisions use the first. Default: `["ratings", "prompts"]` for a panel, `["ratings", "items",
    "raters"]` for a crowd."""
    sensitivity: Sensitivity = Sensitivity()
    """Further fits, to see what the answer depends on."""
    costs: Costs | None = None
    """Prices of more data. Default: every judgement or rating costs the same."""

    @property
    def table(self) -> Panel | Crowd:
        """The table of ratings: a study has a panel or a crowd, never both."""
        return cast("Panel | Crowd", self.panel or self.crowd)

    @property
    def uncertainties(self) -> tuple[tuple[str, ...], ...]:
        """Every list of sources, in the order of the study."""
        written = self.uncertainty or DEFAULT_SOURCES["panel" if self.panel else "crowd"]
        several = (written,) if isinstance(written[0], str) else written
        return cast("tuple[tuple[str, ...], ...]", several)

    @property
    def sources(self) -> set[str]:
        """All sources of all lists."""
        return {source for sources in self.uncertainties for source in sources}

    @field_validator("uncertainty")
    @classmethod
    def _check_sources(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return value
        kind = _written_table(info)
        for sources in [value] if isinstance(value[0], str) else value:
            unknown = [name for name in sources if name not in SOURCES.get(kind, sources)]
            if unknown:
                allowed = ", ".join(SOURCES[kind])
                raise ValueError(f"a {kind} has no {unknown[0]}; allowed are {allowed}")
            if "ratings" not in sources:
                raise ValueError("every list of sources must contain ratings")
        return value

    @field_validator("sensitivity")
    @classmethod
    def _check_sensitivity(cls, value: Sensitivity, info: ValidationInfo) -> Sensitivity:
        if value.is_requested and info.data.get("sampler", Sampler()).predictive_draws == 0:
            raise ValueError("compares replicated ratings: sampler.predictive_draws must be > 0")
        of_panels = value.leave_out or value.weights or value.shared_error or value.missing
        if _written_table(info) == "crowd" and of_panels:
            message = (
                "leave_out, weights, shared_error and missing need a panel; a crowd may have priors"
            )
            raise ValueError(message)
        panel = info.data.get("panel")
        if value.shared_error and panel is not None and panel.people is not None:
            message = "shared_error is what people's ratings show: a model with the column "
            raise ValueError(f'{message}`machine` estimates it, such as fit = "judges_and_people"')
        return value

    @field_validator("costs")
    @classmethod
    def _check_costs(cls, value: Costs | None, info: ValidationInfo) -> Costs | None:
        kind = _written_table(info)
        if value is not None and kind:
            unknown = value.model_fields_set - set(PRICES[kind])
            if unknown:
                allowed = ", ".join(PRICES[kind])
                names = ", ".join(sorted(unknown))
                raise ValueError(f"a {kind} has no price of {names}; allowed are {allowed}")
        return value

    @model_validator(mode="after")
    def _check_one_table(self) -> Self:
        if (self.panel is None) == (self.crowd is None):
            raise ValueError("one of [panel] and [crowd] must be given")
        return self


def _written_table(info: ValidationInfo) -> str:
    """Return the table that was written, ``panel`` or ``crowd``; empty unless it is one of them.

    A table with an error is not in the validated data. One that was not written is there, as None.
    """
    tables = [name for name in SOURCES if info.data.get(name, "with errors") is not None]
    return tables[0] if len(tables) == 1 else ""
