"""What the steps of one run share: the study with its data, the design, and where tasks run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sharpbayes.analysis.study import CrowdStudy, PanelStudy, read_study
from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.indexing import build_design, check_columns
from sharpbayes.data.digest import digest_data, list_data_files
from sharpbayes.data.memory import pack_tables, unpack_tables
from sharpbayes.errors import DataError, SpecError, join_names, require_type
from sharpbayes.execution.progress import Phase
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.crowd import MODEL_OF_LABELS
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import reload_study
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import provenance
from sharpbayes.storage.schema import APPROXIMATE, APPROXIMATION

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.posterior.study_metrics import StudyMetrics

SCORES_ARE_DRAWN = "to draw scores for this design run `sharpbayes simulate STUDY --pattern model`"
# What results and the study that they were measured from have in common, in words.
RUN_FACTS = {
    "study_sha256": "the study file",
    "weights_sha256": "weights",
    "model_sha256": "model",
    "data_sha256": "data",
    "overrides": "settings",
    "seed": "seed",
}
Groups = dict[str, "xr.Dataset"]


@dataclass(frozen=True)
class RunContext:
    """What the steps of one run share; each part is computed once, when it is first needed.

    ``as_design`` is for steps that do not use the scores: the table may then have none.
    """

    files: StudyFiles
    execution: Execution = IN_PROCESS
    as_design: bool = False

    @cached_property
    def study(self) -> PanelStudy | CrowdStudy:
        """The study with its data."""
        self.execution.progress(Phase.READING)
        return read_study(self.files, as_design=self.as_design)

    @property
    def model(self) -> SpecFile[Model]:
        """The model file; SpecError where the study names none."""
        if self.files.model is None:
            crowd = self.files.study.spec.crowd
            known = MODEL_OF_LABELS[crowd.labels.from_] if crowd else "judge_panel"
            key = "crowd" if crowd else "panel"
            message = f'a fit needs a model; add `fit = "{known}"`, or run `sharpbayes measure`'
            raise SpecError.at(self.files.study.path, message, key=f"{key}.fit")
        return self.files.model

    @cached_property
    def design(self) -> Design:
        """The design of the study's model for its ratings; DataError where there are none."""
        if not self.study.ratings.score.size:
            message = f"no cell has a score; {SCORES_ARE_DRAWN}"
            table = self.files.study.spec.table
            raise DataError.at(self.files.study.path.parent / table.data, message)
        return build_design(self.study.ratings, self.model.spec, path=str(self.model.path))

    @cached_property
    def metrics(self) -> "StudyMetrics":
        """How ratings of the study are measured, observed or replicated."""
        from sharpbayes.posterior.study_metrics import study_metrics  # noqa: PLC0415 - loads every metric

        return study_metrics(self.study)

    def require_model(self) -> None:
        """Raise SpecError without a model, or with columns that the study does not have."""
        check_columns(self.study.ratings, self.model.spec, path=str(self.model.path))

    def results(self, groups: Groups, *, status: str) -> "xr.DataTree":
        """Return groups of results under one root, with their provenance."""
        data = {"sha256": digest_data(self.files), **self.study.counts}
        groups = groups | pack_tables(self.files.study.path)
        return join_groups(groups, provenance(self.files, data=data, status=status))


def open_context(study: StudyFiles | RunContext) -> RunContext:
    """Return the context of a run; an existing one is returned as it is.

    SpecError for what is no study, such as the name of one.
    """
    if isinstance(study, RunContext):
        return study
    require_type(study, StudyFiles, "study", "a study, such as sharpbayes.load_study returns")
    return RunContext(study)


def refuse_approximate(results: "xr.DataTree", place: str) -> None:
    """Raise SpecError where results are those of a preview."""
    if results.attrs.get("status") == APPROXIMATE:
        message = f"these results are {APPROXIMATION} and decide nothing; fit without --preview"
        raise SpecError.at(place, message)


def join_groups(groups: Groups, attrs: Mapping[Any, Any]) -> "xr.DataTree":
    """Return groups of results under one root."""
    import xarray as xr  # noqa: PLC0415 - `check` starts without xarray

    tree = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    tree.attrs = dict(attrs)
    return tree


def identify_run(files: StudyFiles, *, call: str = "") -> dict[str, Any]:
    """Return what identifies a run: files, overrides, data, what computes it, and what was asked.

    ``call`` is what a command was asked for besides the study.
    """
    facts = provenance(files, data={"sha256": digest_data(files)}, status="")
    derived = ("created", "schema", "status", "title", "open_checks")
    return {name: fact for name, fact in facts.items() if name not in derived} | {"call": call}


def require_measured(results: "xr.DataTree", files: StudyFiles) -> None:
    """Raise SpecError where results were measured with other files, settings or data."""
    facts = identify_run(files)
    differing = [
        word for name, word in RUN_FACTS.items() if results.attrs.get(name) != facts.get(name)
    ]
    if differing:
        names = join_names(differing, limit=len(RUN_FACTS))
        message = f"these results differ from the study in {names}; measure it again"
        raise SpecError.at("measured", message)


def under_weights(files: StudyFiles, weights: SpecFile[Weights], name: str = "") -> StudyFiles:
    """Return the files of a study under other weights, by their name or that of their file.

    SpecError where the weights do not suit the study.
    """
    spec = files.study.spec.model_copy(update={"weights": name or weights.path.stem})
    weighed = replace(files, study=replace(files.study, spec=spec), weights=weights)
    check_files(weighed)
    return weighed


def reload_files(results: "xr.DataTree") -> StudyFiles:
    """Return the study, weights and model of results, with the tables that were in memory."""
    files = reload_study(results.attrs)
    if "tables" not in results:
        return files
    path = unpack_tables(files.study.path, results["tables"].to_dataset())
    return replace(files, study=replace(files.study, path=path))


def reload_study_files(results: "xr.DataTree") -> StudyFiles:
    """Return the study, weights and model of results, to run them once more on the same data.

    DataError where the data are not there, or not the same bytes.
    """
    files = reload_files(results)
    if digest_data(files) != results.attrs.get("data_sha256"):
        names = ", ".join(list_data_files(files.study.spec))
        message = f"{names}: other bytes than those of the results"
        raise DataError.at(files.study.path.parent, message)
    return files
