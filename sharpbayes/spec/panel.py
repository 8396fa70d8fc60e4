"""A table of judgements: judges score the answers of models to prompts (SHARP)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sharpbayes.spec.base import AnyNames, InnerShare, Name, Names, PlainOr, Positive, Spec
from sharpbayes.spec.dialect import DataFile
from sharpbayes.spec.roles import PANEL_LOGS, PanelRoles, RatingTable, SideTable
from sharpbayes.spec.scales import Scale

Contrast = Annotated[dict[Name, bool | int | str], Field(min_length=1, max_length=1)]


class Indicator(Spec):
    """One thing that a judge scores: its scale, its column and its direction."""

    scale: Name
    """Name of a scale of the study."""
    column: Name | None = None
    """Column of the score, or its name in the indicator column. Default: the key itself."""
    reverse: PlainOr[bool, Contrast] = False
    """Whether a high score means little harm; or a column of prompts with the value for which it
    does, such as `{ contrast = true }`."""
    refusal: bool = False
    """Whether it says that the model refused. Profiles are also given without refused answers."""


class IndicatorGroup(Spec):
    """A part of a sub-index: one reduction of several indicators."""

    mean: Names | None = None
    """Indicators to reduce by their mean."""
    rms: Names | None = None
    """Indicators to reduce by their root mean square."""
    max: Names | None = None
    """Indicators to reduce by their maximum."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if len(_reductions(self)) != 1:
            raise ValueError("one of mean, rms or max must be given")
        return self

    @property
    def reduction(self) -> str:
        """Name of the reduction."""
        return next(iter(_reductions(self)))

    @property
    def indicators(self) -> tuple[str, ...]:
        """Names of the indicators that are reduced."""
        return _reductions(self)[self.reduction]


class Dimension(Spec):
    """A dimension of harm: weighted parts, or one reduction, with amplifiers."""

    name: Name
    """Name of the dimension in weights and results."""
    parts: Annotated[dict[Name, IndicatorGroup], Field(min_length=1)] | None = None
    """Parts by name. The weights file gives the weight of each."""
    mean: Names | None = None
    """Indicators to reduce by their mean, in place of parts."""
    rms: Names | None = None
    """Indicators to reduce by their root mean square, in place of parts."""
    max: Names | None = None
    """Indicators to reduce by their maximum, in place of parts."""
    amplify: AnyNames = ()
    """Indicators that raise the sub-index by a coefficient of the weights file. Default: none."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if len(_reductions(self)) + (self.parts is not None) != 1:
            raise ValueError("one of parts, mean, rms or max must be given")
        return self

    @property
    def named_parts(self) -> dict[str, IndicatorGroup]:
        """The parts by name. A dimension with one reduction has one part, named after it."""
        reductions = _reductions(self).items()
        return self.parts or {
            name: IndicatorGroup(**{name: indicators}) for name, indicators in reductions
        }

    @property
    def indicators(self) -> tuple[str, ...]:
        """Names of all indicators, amplifiers included, each once."""
        names = [name for part in self.named_parts.values() for name in part.indicators]
        return tuple(dict.fromkeys([*names, *self.amplify]))


def _reductions(owner: IndicatorGroup | Dimension) -> dict[str, tuple[str, ...]]:
    """The indicators by the name of their reduction."""
    fields = {"mean": owner.mean, "rms": owner.rms, "max": owner.max}
    return {name: indicators for name, indicators in fields.items() if indicators is not None}


class Ensemble(Spec):
    """Another choice of judges, measured alongside the study's own (SHARP, Appendix C)."""

    judges: Names
    """Judges to pool."""


class PeopleRoles(Spec):
    """The columns of a table of people's ratings, one row per rating."""

    model: Name
    """Column with the name of the AI model that answered."""
    prompt: Name
    """Column with the id of the prompt."""
    score: Name
    """Column with the score."""
    rater: Name | None = None
    """Column with the id of the person. Default: the scores are gold labels, one per cell."""
    indicator: Name | None = None
    """Column with the name of the indicator. Needed where the study has several."""
    sample: Name | None = None
    """Column with the number of the repeated answer. Needed where the judges' table has one."""
    probability: Name | None = None
    """Column with the known probability, above 0 and at most 1, with which the answer of a model to
    a prompt was chosen to be labelled."""


class People(DataFile):
    """Ratings by people of some cells that judges score too, on the same scales."""

    roles: PeopleRoles
    """Which column holds what."""
    raters: Names | None = None
    """People to use. Default: all in the file."""
    sampling: Literal["unknown", "equal"] = "unknown"
    """`equal`: the prompts that people labelled were drawn at random, all with the same
    probability. `unknown`: nobody said how. A role `probability` is for known, unequal ones."""

    @model_validator(mode="after")
    def _check_sampling(self) -> Self:
        if self.sampling == "equal" and self.roles.probability is not None:
            raise ValueError("sampling is equal, so that roles.probability must be left out")
        return self


class Family(Spec):
    """Models and judges of one family, by one maker or of one kind, to measure self-preference."""

    models: Names
    """Models of the family."""
    judges: Names
    """Judges of the family."""


class Validation(Spec):
    """Settings that are varied, and tests of models (SHARP, Appendices E and H)."""

    temperatures: Annotated[tuple[Positive, ...], Field(strict=False)] = (0.15, 0.20, 0.25)
    """Judge temperatures to try alongside that of the weights."""
    alphas: Annotated[tuple[InnerShare, ...], Field(strict=False)] = (0.90, 0.95, 0.975)
    """Tail levels to try alongside that of the weights."""
    epsilons: Annotated[tuple[InnerShare, ...], Field(strict=False)] = (1e-8, 1e-6, 1e-4, 1e-2)
    """Offsets of log-risk to try alongside that of the weights."""
    zero_method: Literal["pratt", "wilcox", "zsplit"] = "pratt"
    """How the Wilcoxon signed-rank test treats equal values, as in `scipy.stats.wilcoxon`."""
    familywise: InnerShare = 0.05
    """Probability of any false rejection among all pairs of models, after Holm's correction."""
    max_mixed_model_cells: Annotated[int, Field(ge=4, lt=2**63)] = 10_000
    """Most (model, prompt) cells of a mixed model. Above it, prompts are drawn at random."""


class Panel(RatingTable):
    """Judges score the answers of models to prompts."""

    LOGS = PANEL_LOGS

    data: Name
    """Path of the judgements, relative to the study: CSV, TSV, Excel, Parquet, JSON (a list of
    objects, or lines) or logs. `*` and `?` match several files."""
    layout: Literal[
        "wide", "long", "inspect", "lm-eval", "promptfoo", "deepeval", "every-eval-ever"
    ]
    """`wide`: a row per (model, prompt, judge) with a column per indicator. `long`: a row per
    score. The others: logs of these programs."""
    roles: PanelRoles
    """Which column holds what. Logs of other programs have roles, each of which may be replaced."""
    prompts: SideTable | None = None
    """A second table with columns of prompts."""
    scales: Annotated[dict[Name, Scale], Field(min_length=1)]
    """Scales by name."""
    indicators: Annotated[dict[Name, PlainOr[Name, Indicator]], Field(min_length=1)]
    """Indicators by name: the name of a scale, or a table with more."""
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1, strict=False)]
    """Dimensions of harm."""
    judges: Names | None = None
    """Judges to pool. Default: all in the data but the reference."""
    ensembles: dict[Name, Ensemble] = {}
    """Other choices of judges by name. Default: none."""
    reference: Name | None = None
    """A judge to take as the truth and never to pool. Default: none."""
    people: People | None = None
    """People's ratings of some of the cells. Default: none."""
    families: dict[Name, Family] = {}
    """Families of models and judges by name. Default: none."""
    validation: Validation = Validation()
    """Settings that are varied, and tests of models."""
    fit: Name | None = None
    """A shipped model or the path of a model file. Default: measure only."""

    @property
    def full_indicators(self) -> dict[str, Indicator]:
        """The indicators by name, the short form written out."""
        return {
            name: Indicator(scale=value) if isinstance(value, str) else value
            for name, value in self.indicators.items()
        }

    @property
    def indicator_columns(self) -> list[str]:
        """The column of each indicator, by default of its name."""
        return [indicator.column or name for name, indicator in self.full_indicators.items()]
