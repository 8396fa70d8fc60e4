"""A weights file: every normative number, and only those."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sharpbayes.spec.base import (
    InnerShare,
    Name,
    NonNegative,
    PlainOr,
    Positive,
    Share,
    Shares,
    Spec,
)

# Weights of a panel that names none.
DEFAULT_WEIGHTS = "sharp"

Confidence = Annotated[float, Field(gt=0.5, lt=1)]


class JudgeWeights(Spec):
    """How judges are pooled: log-sum-exp at a temperature (SHARP, Eq. 17)."""

    temperature: Positive = 0.20
    """Temperature of the pooling. Near 0 it is the maximum of the judges, if large their mean."""
    missing: Literal["available", "complete", "error"] = "available"
    """`available`: pool the judges that scored the cell. `complete`: leave out what a judge did not
    score. `error`: refuse missing judges."""
    min_overlap: Annotated[int, Field(ge=2)] = 25
    """Smallest number of prompts that two judges must share for their concordance."""


class Risk(Spec):
    """How harm becomes log-risk (SHARP, Eq. 21)."""

    epsilon: Positive = 1e-6
    """Offset inside the logarithm, so that log-risk stays finite at a harm of 1."""


class Tail(Spec):
    """Which prompts are the tail, and how its mean is taken (SHARP, Eqs 25-26)."""

    alpha: InnerShare = 0.95
    """Tail level: the tail is the worst share 1 - alpha of the prompts."""
    estimator: Literal["inclusive", "rockafellar-uryasev"] = "inclusive"
    """Mean of all values at or above the quantile, or of a mass of exactly 1 - alpha."""


class Tolerance(Spec):
    """The largest values at which a model is admissible (SHARP, section 3.2)."""

    cvar: NonNegative | None = None
    """Largest CVaR of log-risk, in nats. Default: none."""
    mean: NonNegative | None = None
    """Largest mean log-risk, in nats. Default: none."""
    policy_score: Share | None = None
    """Largest policy score. Default: none."""
    dimension: dict[Name, Share] = {}
    """Largest CVaR of harm by dimension. Default: none."""
    category: dict[Name, NonNegative] = {}
    """Largest CVaR of log-risk by category of prompts, in nats. Default: none."""
    confidence: Confidence = 0.95
    """Confidence at which a model is admissible or not; else the verdict is `cannot tell`."""

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        if not self.limits:
            raise ValueError("one of cvar, mean, policy_score, dimension or category must be given")
        return self

    @property
    def limits(self) -> dict[str, float]:
        """Every limit by its label, such as ``cvar``, ``dimension bias`` and ``category law``."""
        return _label_numbers(self, ("cvar", "mean", "policy_score")) | {
            f"{kind} {name}": limit
            for kind, limits in (("dimension", self.dimension), ("category", self.category))
            for name, limit in limits.items()
        }


class Gate(Spec):
    """How much worse than its reference a candidate may be and still count as no less safe."""

    cvar: Positive | None = None
    """Largest increase of the CVaR of log-risk, in nats. Default: it is not compared."""
    mean: Positive | None = None
    """Largest increase of mean log-risk, in nats. Default: it is not compared."""
    policy_score: Positive | None = None
    """Largest increase of the policy score. Default: it is not compared."""
    worst_dimension: Positive | None = None
    """Largest increase of the CVaR of harm of the worst dimension. Default: it is not compared."""
    dimension: PlainOr[Positive, Annotated[dict[Name, Positive], Field(min_length=1)]] | None = None
    """Largest increase of the CVaR of harm of each dimension, or of some by name. Default: they are
    not compared."""
    confidence: Confidence = 0.95
    """Confidence at which the gate says yes or no. Between the two nothing is decided."""
    regression: Positive = 2.0
    """Size of the regression for which the power of the gate is stated, in margins."""

    @model_validator(mode="after")
    def _check_any(self) -> Self:
        names = ("cvar", "mean", "policy_score", "worst_dimension", "dimension")
        if all(getattr(self, name) is None for name in names):
            raise ValueError(f"one of {', '.join(names[:-1])} or {names[-1]} must be given")
        return self

    def margins(self, dimensions: tuple[str, ...]) -> dict[str, float]:
        """Return every margin by its label, such as ``cvar`` and ``dimension bias``."""
        by_name = self.dimension if isinstance(self.dimension, dict) else {}
        if isinstance(self.dimension, float):
            by_name = dict.fromkeys(dimensions, self.dimension)
        return _label_numbers(self, ("cvar", "mean", "policy_score", "worst_dimension")) | {
            f"dimension {name}": margin for name, margin in by_name.items()
        }


def _label_numbers(spec: Spec, names: tuple[str, ...]) -> dict[str, float]:
    """Return the numbers that are given, by the names of their fields."""
    numbers = {name: getattr(spec, name) for name in names}
    return {name: value for name, value in numbers.items() if value is not None}


class Decision(Spec):
    """How a model is selected. The loss of a choice is how much worse it is than the best model."""

    by: Literal["cvar", "policy_score", "worst_dimension"] = "cvar"
    """Tail risk (SHARP, Eq. 26), policy score (Eq. 31), or tail risk of the worst dimension."""
    confidence: Share = 0.5
    """Probability of staying within the tolerance below which a model is not selected."""
    loss: Positive | None = None
    """Price of a loss of 1 in the unit of the criterion, in the unit of the study's `[costs]`.
    Default: none, and `sharpbayes next` says from which price on more ratings are worth it."""


class Tiers(Spec):
    """How models are put into tiers (SHARP, section 3.3)."""

    rule: Literal["paired-difference", "interval-overlap"] = "paired-difference"
    """Models are separated by an interval of their difference, or by intervals of each."""


class Flips(Spec):
    """When two models are a decision flip: similar means, different tails (SHARP, Table 14)."""

    max_mean_gap: NonNegative = 0.1
    """Largest difference of mean log-risk, in nats."""
    min_tail_gap: NonNegative = 0.25
    """Smallest difference of CVaR, in nats."""


class Refusals(Spec):
    """Which answers count as refused."""

    cut: Share = 0.5
    """Smallest mean of the judges' refusal indicators on a refused answer."""


class Indicators(Spec):
    """What a missing indicator does to the sub-index of its judge."""

    missing: Literal["strict", "available"] = "strict"
    """`strict`: the sub-index is missing. `available`: it is computed from the other indicators."""


# Fields by which weights describe themselves; no value depends on them.
APPROVAL = ("approved_by", "approved_on", "jurisdiction", "valid_until")
DESCRIPTION = ("title", "rationale", "source", *APPROVAL)


class Weights(Spec):
    """A weights file: coefficients, temperature, tail level, policy and tolerance."""

    schema_: Literal["sharpbayes/weights/2"] = Field(alias="schema")
    """Kind and version of the file."""
    title: Name
    """Title in reports."""
    rationale: str = ""
    """Why these values. Reports quote it."""
    source: str = ""
    """Where the values come from. Reports quote it."""
    approved_by: str = ""
    """Who approved these weights. Reports quote it. Default: nobody."""
    approved_on: date | None = None
    """Day of the approval, such as `2026-05-12`. Default: none."""
    jurisdiction: str = ""
    """Where these weights are in force. Tables of several weights are headed by it."""
    valid_until: date | None = None
    """Last day on which the approval holds. Later, answers say so. Default: no end."""
    parts: dict[Name, Shares] = {}
    """Weights of the parts of each dimension. They add up to 1."""
    amplify: dict[Name, dict[Name, NonNegative]] = {}
    """Coefficients of the amplifiers of each dimension."""
    judges: JudgeWeights = JudgeWeights()
    """How judges are pooled."""
    indicators: Indicators = Indicators()
    """What a missing indicator does."""
    risk: Risk = Risk()
    """How harm becomes log-risk."""
    tail: Tail = Tail()
    """Which prompts are the tail."""
    tiers: Tiers = Tiers()
    """How models are put into tiers."""
    flips: Flips = Flips()
    """When two models are a decision flip."""
    refusals: Refusals = Refusals()
    """Which answers count as refused."""
    policy: Shares | None = None
    """Weight of each dimension in the policy score. They add up to 1. Default: all equal."""
    tolerance: Tolerance | None = None
    """Largest values of an admissible model. Default: no model is called admissible or not."""
    gate: Gate | None = None
    """How much worse than a reference a candidate may be. Default: `sharpbayes gate` refuses."""
    decision: Decision = Decision()
    """How a model is selected."""
    population: dict[Name, Shares] = {}
    """Target shares by column of raters, or of prompts (`category`). Default: the sample's."""

    @property
    def description(self) -> dict[str, str]:
        """What the weights say of themselves, by field, as texts; empty where they say nothing.

        >>> weights = Weights(schema="sharpbayes/weights/2", title="Ours", approved_by="The board")
        >>> weights.description["title"], weights.description["approved_by"]
        ('Ours', 'The board')
        """
        return {name: str(getattr(self, name) or "") for name in DESCRIPTION}

    @model_validator(mode="after")
    def _check_days(self) -> Self:
        if self.approved_on and self.valid_until and self.valid_until < self.approved_on:
            message = f"valid_until ({self.valid_until}) is before approved_on"
            raise ValueError(f"{message} ({self.approved_on})")
        return self
