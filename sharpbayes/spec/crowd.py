"""A table of a crowd's ratings: raters of many backgrounds score items (responsiveness)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from sharpbayes.spec import base
from sharpbayes.spec.dialect import DataFile
from sharpbayes.spec.roles import CROWD_LOGS, CrowdRoles, ExpertRoles, RatingTable, SideTable
from sharpbayes.spec.scales import Scale

Distance = Literal["nominal", "ordinal", "interval"]
Percentile = Annotated[float, Field(gt=0, lt=100)]
Percentiles = Annotated[
    tuple[Percentile, ...],
    Field(min_length=2, max_length=2, strict=False),
    AfterValidator(base.increases),
]


class ExpertLabels(DataFile):
    """Labels by experts. An item counts once for every expert who labelled it."""

    from_: Literal["experts"] = Field(alias="from")
    """Where labels come from."""
    roles: ExpertRoles = ExpertRoles()
    """Which column holds what."""
    unsafe: base.Names | None = None
    """Labels that mean unsafe; the others mean safe. Default: 1, true, yes and unsafe."""


class CrowdLabels(base.Spec):
    """Labels by the raters outside the group: each of their ratings is a label."""

    from_: Literal["crowd"] = Field(alias="from")
    """Where labels come from."""
    cut: base.Count
    """Lowest score that means unsafe, counted from 0 at the lowest of the scale."""


class ItemLabels(base.Spec):
    """One label per item, from a column that is constant over the item."""

    from_: Literal["item"] = Field(alias="from")
    """Where labels come from."""
    column: base.Name
    """Column with the label, such as 1 for unsafe and 0 for safe."""
    unsafe: base.Names | None = None
    """Labels that mean unsafe; the others mean safe. Default: 1, true, yes and unsafe."""


# What hinders a crowd that labels its own items and has no groups, and what helps.
NOBODY_OUTSIDE = (
    "without groups of raters nobody is left to label the items",
    "name a column of groups, or give labels of items or of experts",
)
# Shipped models that know the labels from each source: others are biased for MPA and WRA.
MODEL_OF_LABELS = {
    "experts": "crowd_and_experts",
    "item": "crowd_and_labels",
    "crowd": "crowd_severity",
}
Labels = Annotated[ExpertLabels | CrowdLabels | ItemLabels, Field(discriminator="from_")]


class Simulation(base.Spec):
    """Constants of `sharpbayes simulate` with a scoring pattern.

    A rater with bias b perceives the severity V of an item as R = V + b and scores it by
    thresholds on R. V and b are normal with mean 0.
    """

    items: Annotated[int, Field(ge=10, le=10_000_000)] = 1000
    """Number of items."""
    raters: base.Size = 30
    """Number of raters of each pattern."""
    experts: base.Size = 30
    """Number of experts, each of whom labels every item."""
    severity_sd: base.Positive = 1.0
    """Standard deviation of V."""
    bias_sd: base.NonNegative = 0.2
    """Standard deviation of b."""
    thresholds: base.Increasing | None = None
    """Thresholds on R between the scores. Default: quantiles of R, evenly from 25% to 85%."""
    expert_percentiles: Percentiles = (50.0, 90.0)
    """Range of the percentiles of V above which experts call an item unsafe. Each expert has one,
    normal around the middle of the range and inside it."""
    shift_share: base.Share = 0.7
    """Pattern `shift`: share of the scores from `shift_from` up that are lowered."""
    shift_from: base.Count = 2
    """Pattern `shift`: lowest score that may be lowered, counted from 0."""
    shift_steps: base.Count = 2
    """Pattern `shift`: most steps by which a score is lowered. The number of steps is random."""
    conservative_percentile: Percentile = 68.0
    """Pattern `conservative`: percentile of R up to which scores are 0; above, they are random."""


class Crowd(RatingTable):
    """Raters of many backgrounds score items."""

    LOGS = CROWD_LOGS

    data: base.Name
    """Path of the ratings, relative to the study: CSV, TSV, Excel, Parquet, JSON (a list of
    objects, or lines) or an export. `*` and `?` match several files."""
    layout: Literal["table", "wide", "label-studio"] = "table"
    """`table`: a row per rating. `wide`: a row per item with a column per rater; an empty cell is
    no rating. `label-studio`: an export of Label Studio."""
    roles: CrowdRoles
    """Which column holds what. Label Studio has roles for `item` and `rater`."""
    raters: SideTable | None = None
    """A second table with columns of raters, such as gender."""
    items: SideTable | None = None
    """A second table with columns of items."""
    scale: Scale
    """Scale of the score."""
    groups: Annotated[tuple[base.Names, ...], Field(strict=False)] = ()
    """Groupings of raters: each a list of columns, crossed where there are several. A rater
    without a value is in no group."""
    by: base.AnyNames = ()
    """Columns of items. Metrics are also given for the items of each value."""
    labels: Labels
    """Which items are unsafe."""
    min_raters: base.Count = 3
    """A group with fewer raters has no metrics. Agreement needs two."""
    min_items: base.Count = 10
    """A group with fewer items has no metrics."""
    duplicates: Literal["error", "first", "last"] = "error"
    """What to do where a rater scored an item twice: refuse, or keep the first or last score."""
    distance: Distance | None = None
    """Distance of scores in cohesion. Default: `nominal` for a boolean scale, else `ordinal`."""
    permutations: base.Repeats = 1000
    """Random permutations of raters among groups, for p values of cohesion. 0 gives none."""
    priority: base.Names | None = None
    """Grouping that weights the priority of items. Default: the last one with the most columns."""
    target_interval_width: base.InnerShare = 0.05
    """Width of the interval for which the sample size is computed, in units of the metric."""
    simulation: Simulation = Simulation()
    """Constants of simulated ratings."""
    fit: base.Name | None = None
    """A shipped model or the path of a model file. Default: measure only."""

    @property
    def full_distance(self) -> Distance:
        """Distance between scores for cohesion: the one given, or that of the scale."""
        return self.distance or ("nominal" if self.scale.kind == "boolean" else "ordinal")

    @property
    def priority_grouping(self) -> str:
        """Grouping that weights the priority of items, its columns joined by commas."""
        if self.priority is not None:
            return ",".join(self.priority)
        depth = max((len(columns) for columns in self.groups), default=0)
        return next((",".join(g) for g in reversed(self.groups) if len(g) == depth), "all")
