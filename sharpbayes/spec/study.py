"""What was measured: data, roles of columns, scales, indicators, dimensions, rater groups."""

from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sharpbayes.spec.base import (
    Inside,
    Name,
    Plain,
    PlainOrTable,
    Positive,
    Share,
    Spec,
    Table,
)
from sharpbayes.spec.people import Ensemble, Family, People
from sharpbayes.spec.roles import (
    CROWD_LOGS,
    PANEL_LOGS,
    CrowdRoles,
    ExpertRoles,
    PanelRoles,
    SideTable,
    roles_needed,
    with_roles,
)
from sharpbayes.spec.scales import CrowdScale, Scale
from sharpbayes.spec.sensitivity import Sensitivity
from sharpbayes.spec.simulation import Simulation


class Indicator(Spec):
    """One thing that a judge says of an answer: its scale, column and direction.

    ``reverse`` is true where a high score is good, or names prompt columns with the value for
    which it is. ``refusal`` marks the indicator that says whether the model refused to answer:
    every profile is then also given without the refused answers.
    """

    scale: Name
    column: Name | None = None
    reverse: Annotated[
        Annotated[bool, Plain]
        | Annotated[dict[Name, bool | int | str], Field(min_length=1, max_length=1), Table],
        PlainOrTable,
    ] = False
    refusal: bool = False


class IndicatorGroup(Spec):
    """A part of a sub-index: one reduction over indicators."""

    mean: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    rms: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    max: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(_reductions(self)) != 1:
            raise ValueError("one of mean, rms or max must be given")
        return self

    @property
    def reduction(self) -> str:
        """Name of the reduction."""
        return _reductions(self)[0]

    @property
    def indicators(self) -> tuple[str, ...]:
        """Names of the indicators reduced."""
        names: tuple[str, ...] = getattr(self, self.reduction)
        return names


class Dimension(Spec):
    """A harm dimension: parts combined by weights, or one reduction, and amplifiers."""

    name: Name
    parts: Annotated[dict[Name, IndicatorGroup], Field(min_length=1)] | None = None
    mean: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    rms: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    max: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    amplify: Annotated[tuple[Name, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(_reductions(self)) + (self.parts is not None) != 1:
            raise ValueError("one of parts, mean, rms or max must be given")
        return self

    @property
    def named_parts(self) -> dict[str, IndicatorGroup]:
        """The parts by name; a dimension with one reduction has one part, named after it."""
        if self.parts is not None:
            return self.parts
        name = _reductions(self)[0]
        return {name: IndicatorGroup.model_validate({name: getattr(self, name)})}

    @property
    def indicators(self) -> tuple[str, ...]:
        """Names of all indicators used, amplifiers included, each once."""
        used = [name for part in self.named_parts.values() for name in part.indicators]
        return tuple(dict.fromkeys([*used, *self.amplify]))


def _reductions(owner: IndicatorGroup | Dimension) -> list[str]:
    """Names of the reductions that are given."""
    return [name for name in ("mean", "rms", "max") if getattr(owner, name) is not None]


class Validation(Spec):
    """What is varied and how models are tested (SHARP, Appendices E and H).

    The study's own temperature and tail level are always among those that are tried.
    Mixed models are fitted to at most ``max_mixed_model_cells`` (model, prompt) cells: where there are more,
    to those of prompts drawn at random.
    """

    temperatures: Annotated[tuple[Positive, ...], Field(strict=False)] = (0.15, 0.20, 0.25)
    alphas: Annotated[tuple[Inside, ...], Field(strict=False)] = (0.90, 0.95, 0.975)
    zero_method: Literal["pratt", "wilcox", "zsplit"] = "pratt"
    familywise: Inside = 0.05
    max_mixed_model_cells: Annotated[int, Field(ge=4, lt=2**63)] = 10_000


class Panel(Spec):
    """Judges score the answers of models to prompts (SHARP).

    ``judges`` are those that are pooled, all by default; ``reference`` is one whose ratings are
    taken as the truth and never pooled; ``people`` scored some cells too. Logs of other programs
    (``layout`` ``inspect`` and ``lm-eval``) have roles of their own, each of which may be given.
    """

    model_config = ConfigDict(
        json_schema_extra=roles_needed(PANEL_LOGS, ("model", "prompt", "judge"))
    )

    data: Name
    layout: Literal["wide", "long", "inspect", "lm-eval"]
    roles: PanelRoles
    prompts: SideTable | None = None
    scales: Annotated[dict[Name, Scale], Field(min_length=1)]
    indicators: Annotated[
        dict[
            Name,
            Annotated[Annotated[Name, Plain] | Annotated[Indicator, Table], PlainOrTable],
        ],
        Field(min_length=1),
    ]
    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1, strict=False)]
    judges: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    ensembles: dict[Name, Ensemble] = {}
    reference: Name | None = None
    people: People | None = None
    families: dict[Name, Family] = {}
    validation: Validation = Validation()
    fit: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _roles_of_log(cls, value: Any) -> Any:
        return with_roles(value, PANEL_LOGS)

    @property
    def full_indicators(self) -> dict[str, Indicator]:
        """The indicators by name, the short form written out."""
        return {
            name: Indicator(scale=value) if isinstance(value, str) else value
            for name, value in self.indicators.items()
        }


class ExpertLabels(Spec):
    """Labels 0/1 by experts, each item repeated for every expert who labelled it."""

    from_: Literal["experts"] = Field(alias="from")
    data: Name
    roles: ExpertRoles = ExpertRoles()


class CrowdLabels(Spec):
    """Labels from the crowd outside the group: unsafe where the level is at or above ``cut``."""

    from_: Literal["crowd"] = Field(alias="from")
    cut: Annotated[int, Field(ge=1, lt=2**63)]


class ItemLabels(Spec):
    """One label 0/1 an item, from a column that is constant over the item."""

    from_: Literal["item"] = Field(alias="from")
    column: Name


Labels = Annotated[ExpertLabels | CrowdLabels | ItemLabels, Field(discriminator="from_")]


class Crowd(Spec):
    """Raters from many backgrounds score items (responsiveness to severity)."""

    model_config = ConfigDict(
        json_schema_extra=roles_needed(CROWD_LOGS, ("item", "rater", "score"))
    )

    data: Name
    layout: Literal["table", "label-studio"] = "table"
    roles: CrowdRoles
    raters: SideTable | None = None
    items: SideTable | None = None
    scale: CrowdScale
    groups: Annotated[
        tuple[Annotated[tuple[Name, ...], Field(min_length=1, strict=False)], ...],
        Field(strict=False),
    ] = ()
    by: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    labels: Labels
    min_raters: Annotated[int, Field(ge=1, lt=2**63)] = 3
    min_items: Annotated[int, Field(ge=1, lt=2**63)] = 10
    duplicates: Literal["error", "first", "last"] = "error"
    distance: Literal["nominal", "ordinal", "interval"] | None = None
    permutations: Annotated[int, Field(ge=0, le=10_000_000)] = 1000
    priority: Annotated[tuple[Name, ...], Field(min_length=1, strict=False)] | None = None
    target_interval_width: Inside = 0.05
    simulation: Simulation = Simulation()
    fit: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _roles_of_log(cls, value: Any) -> Any:
        return with_roles(value, CROWD_LOGS)

    @property
    def full_distance(self) -> Literal["nominal", "ordinal", "interval"]:
        """Distance of scores for cohesion: the scale's own type unless one is declared."""
        own: Literal["nominal", "ordinal"] = (
            "nominal" if self.scale.kind == "boolean" else "ordinal"
        )
        return self.distance or own

    @property
    def priority_grouping(self) -> str:
        """Grouping whose groups weigh items: the one declared, or the last of the finest."""
        if self.priority is not None:
            return ",".join(self.priority)
        finest = max((len(columns) for columns in self.groups), default=0)
        return next((",".join(g) for g in reversed(self.groups) if len(g) == finest), "all")


class Bootstrap(Spec):
    """How intervals are made: percentile bootstrap over prompts or items.

    ``samples``: whether the repeated generations of a prompt are drawn anew too, where there are.
    """

    replicates: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    level: Inside = 0.95
    resample_generations: bool = True


class Sampler(Spec):
    """How the posterior is sampled, and what counts as converged.

    ``min_bfmi`` is the smallest E-BFMI of a chain, ``max_depth_share`` the largest share of
    transitions that end at ``max_depth``.
    """

    chains: Annotated[int, Field(ge=2, le=1000)] = 4
    tune: Annotated[int, Field(ge=50, le=10_000_000)] = 1000
    draws: Annotated[int, Field(ge=50, le=10_000_000)] = 1000
    predictive_draws: Annotated[int, Field(ge=0, le=10_000_000)] = 500
    target_accept: Inside = 0.8
    max_depth: Annotated[int, Field(ge=1, le=15)] = 10
    max_rhat: Annotated[float, Field(gt=1)] = 1.01
    min_ess: Annotated[int, Field(ge=1, lt=2**63)] = 400
    max_divergences: Annotated[int, Field(ge=0, lt=2**63)] = 0
    min_bfmi: Annotated[float, Field(ge=0, strict=False)] = 0.3
    max_depth_share: Share = 0.1


Source = Literal["ratings", "prompts", "items", "judges", "raters"]
Sources = Annotated[tuple[Source, ...], Field(min_length=1, strict=False)]
OF_PANEL, OF_CROWD = ("ratings", "prompts", "judges"), ("ratings", "items", "raters")


def _list_form(value: Any) -> str:
    """Tell a list of lists from a list of sources, so that a fault is about what was written."""
    inner = isinstance(value, list | tuple) and any(isinstance(v, list | tuple) for v in value)
    return "several" if inner else "one"


class Study(Spec):
    """A study file: one table of ratings and what to ask of it.

    ``uncertainty`` names what the intervals of the posterior twins contain: ``ratings`` (replicated
    for the same cells), ``prompts`` or ``items`` (Bayesian bootstrap), ``judges`` or ``raters``
    (drawn anew from their population); a list of such lists asks for several, the first of which
    decisions are made by. ``sensitivity`` asks for fits beside the study's own.
    """

    schema_: Literal["sharpbayes/study/2"] = Field(alias="schema")
    title: Name
    weights: Name | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    panel: Panel | None = None
    crowd: Crowd | None = None
    bootstrap: Bootstrap = Bootstrap()
    sampler: Sampler = Sampler()
    uncertainty: Annotated[
        Annotated[Sources, Tag("one")]
        | Annotated[tuple[Sources, ...], Field(min_length=1, strict=False), Tag("several")],
        Discriminator(_list_form),
    ] = ("ratings",)
    sensitivity: Sensitivity = Sensitivity()

    @property
    def uncertainties(self) -> tuple[tuple[str, ...], ...]:
        """Every list of sources, in the order of the study."""
        if isinstance(self.uncertainty[0], str):
            return (cast("tuple[str, ...]", self.uncertainty),)
        return cast("tuple[tuple[str, ...], ...]", self.uncertainty)

    @property
    def sources(self) -> set[str]:
        """All sources of all lists."""
        return {source for sources in self.uncertainties for source in sources}

    @field_validator("uncertainty")
    @classmethod
    def _known_sources(cls, value: Any, info: ValidationInfo) -> Any:
        allowed = OF_CROWD if info.data.get("crowd") is not None else OF_PANEL
        for sources in [value] if isinstance(value[0], str) else value:
            unknown = [name for name in sources if name not in allowed]
            if unknown:
                raise ValueError(f"no {unknown[0]} here; allowed are {', '.join(allowed)}")
            if "ratings" not in sources:
                raise ValueError("every list of sources must hold ratings")
        return value

    @field_validator("sensitivity")
    @classmethod
    def _can_be_asked(cls, value: Sensitivity, info: ValidationInfo) -> Sensitivity:
        if value.asked and info.data.get("sampler", Sampler()).predictive_draws == 0:
            raise ValueError(
                "compares replicated ratings: sampler.predictive_draws must be above 0"
            )
        if info.data.get("crowd") is not None and (value.leave_out or value.weights):
            raise ValueError("leave_out and weights are of a panel; a crowd has priors")
        return value

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        if (self.panel is None) == (self.crowd is None):
            raise ValueError("one of [panel] and [crowd] must be given")
        return self
