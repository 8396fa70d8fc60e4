"""A study with its data: a panel of judges, or a crowd of raters."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sharpbayes.bayes.design.design import ScaledCovariate
from sharpbayes.bayes.design.identifiability import Issue
from sharpbayes.data.crowd import CrowdData, melt_crowd, read_crowd
from sharpbayes.data.digest import find_data_files
from sharpbayes.data.panel import melt_panel, read_panel
from sharpbayes.data.ratings import PanelRatings, Ratings
from sharpbayes.data.trials import Repeats, count_repeats
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.analysis.crowd_counts import CrowdCounts


@dataclass(frozen=True)
class PanelStudy:
    """Judges, and perhaps people, who score answers to prompts; ``path`` is the study file."""

    spec: Study
    panel: Panel
    data: PanelRatings
    weights: SpecFile[Weights]
    path: Path

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ratings and of missing cells."""
        people = {"people_ratings": self.data.people_score.size} if self.data.people else {}
        return self.data.counts | people

    @property
    def repeats(self) -> tuple[Repeats, ...]:
        """How many answers a model gave to each prompt, and how often a judge scored each."""
        return tuple(count_repeats(self.data.score, list(self.data.labels)))

    @cached_property
    def scores(self) -> "xr.Dataset":
        """Scores with their labels, as metrics take them."""
        return self.data.to_dataset()

    @cached_property
    def ratings(self) -> Ratings:
        """Every rating in long form, for a model."""
        return melt_panel(self.data, self.panel)


@dataclass(frozen=True)
class CrowdStudy:
    """Raters of several groups who score items.

    ``weights`` is None where the study names none; ``experts`` says whether the model takes labels
    by experts as ratings.
    """

    spec: Study
    crowd: Crowd
    data: CrowdData
    weights: SpecFile[Weights] | None = None
    experts: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ratings, of missing ones and of labels."""
        return self.data.counts

    @property
    def repeats(self) -> tuple[Repeats, ...]:
        """None are listed: ``duplicates`` of a crowd says which of several scores counts."""
        return ()

    @cached_property
    def ratings(self) -> Ratings:
        """Every rating in long form, for a model."""
        return melt_crowd(self.data, self.crowd, experts=self.experts)

    @property
    def resampled_items(self) -> str:
        """What the bootstrap over items draws: items, or clusters of them."""
        return "clusters of items" if self.data.cluster.size else "items"

    @cached_property
    def score_counts(self) -> "CrowdCounts":
        """Counts of the observed scores and labels."""
        from sharpbayes.analysis.crowd_counts import count_crowd  # noqa: PLC0415 - `check` starts without xarray

        return count_crowd(self.crowd, self.data)

    @cached_property
    def responsiveness(self) -> "xr.Dataset":
        """Responsiveness of every group by the observed scores."""
        from sharpbayes.analysis.crowd_counts import measure_responsiveness  # noqa: PLC0415 - `check` starts without xarray

        return measure_responsiveness(self.crowd, self.score_counts)


def read_study(files: StudyFiles, *, as_design: bool = False) -> PanelStudy | CrowdStudy:
    """Read the ratings that a study is about, and the tables alongside them.

    With ``as_design`` a table without any score has the lowest one in every cell: who scores what
    is known before the scores are.
    """
    find_data_files(files)
    spec, path = files.study.spec, files.study.path
    numeric = files.model.spec.numeric_columns if files.model is not None else ()
    if spec.panel is not None and files.weights is not None:
        data = read_panel(spec.panel, path.parent, numeric=numeric, as_design=as_design)
        return PanelStudy(spec, spec.panel, data, files.weights, path)
    if spec.crowd is not None:
        crowd = read_crowd(spec.crowd, path.parent, numeric=numeric, as_design=as_design)
        return crowd_study(files, spec.crowd, crowd)
    raise ValueError("a study has a panel with weights, or a crowd")


def crowd_study(files: StudyFiles, crowd: Crowd, data: CrowdData) -> CrowdStudy:
    """Return the study of a crowd whose data were read already."""
    experts = files.model is not None and files.model.spec.experts
    return CrowdStudy(files.study.spec, crowd, data, files.weights, experts)


@dataclass(frozen=True)
class StudySummary:
    """A study, its data and the size of its fit, before anything is computed."""

    columns: tuple[tuple[str, str, str], ...]
    """File, name and role of each column of the data; the role is empty if it is not used."""
    open_checks: tuple[str, ...]
    """Assumptions of the study that nobody confirmed."""
    lookalikes: tuple[tuple[str, str, str], ...]
    """Labels that look alike: their column, the labels with their rows, and what merges them."""
    counts: dict[str, int]
    """Numbers of labels by column, of ratings and of missing ones."""
    labels: dict[str, tuple[str, ...]]
    """Labels of each column."""
    scales: dict[str, tuple[str, ...]]
    """Labels of each scale, least harm first."""
    ratings: int
    """Number of ratings that a fit would use."""
    parameters: int
    """Number of free parameters of the model; this and what follows is 0 without one."""
    draw_megabytes: float
    """Stored draws, at most."""
    replicate_megabytes: float
    """Replicated ratings with their log-likelihood, at most."""
    memory_megabytes: float
    """Most memory of a fit at once, roughly; 1,000 draws of a chain if their number is open."""
    max_memory_megabytes: float
    """The same with as many draws of a chain as it may have."""
    worker_megabytes: float
    """Memory of a worker with one part of the ratings; 0 if they are in one."""
    issues: tuple[Issue, ...]
    """Parameters that the ratings do not identify."""
    covariates: tuple[ScaledCovariate, ...] = ()
    """Numeric columns with a slope."""
    repeats: tuple[Repeats, ...] = ()
    """How many answers and trials each cell has."""
    few_resamples: tuple[float, int, int] | None = None
    """Level of intervals, resamples asked for and resamples needed, if these are more."""
    unmeasured: tuple[tuple[str, str, str], ...] = ()
    """Which metrics no group of a crowd has, why, and what helps."""
    long_scale: tuple[str, str] | None = None
    """Why responsiveness will be too low on a long scale, and what helps."""
    own_judges: tuple[tuple[str, str], ...] = ()
    """Judges who score their own answers, each with the model."""
    limits: tuple[tuple[str, str], ...] = ()
    """Of what there is too little, or what nobody named, and what it cannot carry."""
