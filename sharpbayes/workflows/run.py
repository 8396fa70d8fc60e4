"""Check, measure, fit: the one file that joins the deterministic and the Bayesian half."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sharpbayes.bayes.design.design import Design
from sharpbayes.bayes.design.identifiability import Issue, find_issues
from sharpbayes.bayes.design.indexing import build_design, check_columns
from sharpbayes.data.crowd import CrowdData, melt_crowd, read_crowd
from sharpbayes.data.digest import describe_data
from sharpbayes.data.panel import melt_panel, read_panel
from sharpbayes.data.panel_ratings import PanelRatings
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError
from sharpbayes.execution.progress import ProgressCallback, silent
from sharpbayes.execution.tasks import IN_PROCESS, Execution
from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.study import Study
from sharpbayes.storage.results import provenance

if TYPE_CHECKING:
    import xarray as xr

    from sharpbayes.bayes.predict.calibration import Metrics
    from sharpbayes.simulation.scoring_patterns import SimulatedStudy

Groups = dict[str, "xr.Dataset"]


@dataclass(frozen=True)
class StudySummary:
    """What a study and its data say, before anything is computed.

    Attributes:
        counts: Number of labels of each column, of ratings and of missing cells, by name.
        labels: Labels of each column.
        scales: Labels of the levels of each scale, least harm first.
        ratings: Number of ratings that a fit would use.
        parameters: Number of free parameters of the fit; 0 without a model.
        megabytes: Size of the stored draws of parameters; 0 without a model.
        findings: What the ratings cannot tell of the model's parameters.
    """

    counts: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    scales: dict[str, tuple[str, ...]]
    ratings: int
    parameters: int
    megabytes: float
    findings: tuple[Issue, ...]


@dataclass(frozen=True)
class Loaded:
    """The data of a study: a panel or a crowd, counts, and whether experts are raters too."""

    study: Study
    cells: PanelRatings | None
    crowd: CrowdData | None
    counts: dict[str, int]
    experts: bool = False

    @cached_property
    def panel(self) -> "xr.Dataset | None":
        """Levels of a panel as metrics take them; made on first use."""
        return None if self.cells is None else self.cells.to_dataset()

    @cached_property
    def ratings(self) -> Ratings:
        """Every rating in long form, for a model; made on first use."""
        if self.study.panel is not None and self.cells is not None:
            return melt_panel(self.cells, self.study.panel)
        if self.study.crowd is None or self.crowd is None:
            raise ValueError("a study has a panel or a crowd")
        return melt_crowd(self.crowd, self.study.crowd, experts=self.experts)


def check(files: StudyFiles) -> StudySummary:
    """Read a study's data and say what was understood, without computing.

    Raises:
        SpecError: The model file names a column that the study does not have.
        DataError: Faults in the data.
    """
    loaded = read(files)
    design = _design(files, loaded)
    columns = {name: held for name, held in loaded.ratings.factors.items() if name != "scale"}
    sampler = files.study.spec.sampler
    parameters = design.n_parameters if design else 0
    return StudySummary(
        counts={name: len(held.labels) for name, held in columns.items()} | loaded.counts,
        labels={name: held.labels for name, held in columns.items()},
        scales=loaded.ratings.scales,
        ratings=len(loaded.ratings.score),
        parameters=parameters,
        megabytes=parameters * sampler.chains * sampler.draws * 8 / 1e6,
        findings=tuple(find_issues(loaded.ratings, design)) if design else (),
    )


def measure(
    files: StudyFiles, *, loaded: Loaded | None = None, progress: ProgressCallback = silent
) -> "xr.DataTree":
    """Compute every deterministic metric of a study, with bootstrap intervals.

    Args:
        files: From :func:`sharpbayes.load_study`.
        loaded: From :func:`read`, to spare reading the data again.
        progress: Called before each step of the work.

    Returns:
        The groups ``panel``, ``profile`` and ``profile_interval`` for a panel, ``responsiveness``
        and ``items`` for a crowd; provenance in the root attributes.

    Raises:
        DataError: Faults in the data.
    """
    if loaded is None:
        progress("reading data")
        loaded = read(files)
    _refuse_model(files, loaded)
    progress("computing metrics and bootstrap intervals")
    attrs = provenance(files, data=describe_data(files, loaded.counts), status="measured")
    return _tree(_measured(files, loaded), attrs)


def _measured(files: StudyFiles, loaded: Loaded) -> Groups:
    """Measure the crowd or the panel; each is imported here, so that ``check`` starts quickly."""
    if loaded.crowd is not None:
        from sharpbayes.analysis.crowd import measure_crowd  # noqa: PLC0415
        from sharpbayes.analysis.crowd_counts import count_crowd  # noqa: PLC0415

        study, data = files.study.spec, loaded.crowd
        assert study.crowd is not None  # noqa: S101 - the data are of a crowd
        return measure_crowd(study, study.crowd, data, count_crowd(study.crowd, data))
    from sharpbayes.analysis.panel import measure_panel  # noqa: PLC0415

    return measure_panel(files, loaded.panel)


def fit(
    files: StudyFiles,
    *,
    loaded: Loaded | None = None,
    measured: "xr.DataTree | None" = None,
    retries: int = 0,
    execution: Execution = IN_PROCESS,
) -> "xr.DataTree":
    """Measure a study, fit its model and check convergence.

    Args:
        files: From :func:`sharpbayes.load_study`.
        loaded: From :func:`read`, to spare reading the data again.
        measured: Results of :func:`measure`, to spare computing them again.
        retries: How often a fit that has not converged is sampled again, twice as long each time.
        execution: Where chains and refits run and are kept, and who hears of progress.

    Returns:
        What :func:`measure` returns, ArviZ's groups and ``diagnostics``. The root attribute
        ``status`` is ``fitted``, ``not converged`` for a fit that must not be used, or
        ``interrupted`` where Ctrl-C left fewer draws than asked for.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns.
        DataError: Faults in the data.
    """
    loaded = read(files) if loaded is None else loaded
    _refuse_model(files, loaded)
    measured = (
        measure(files, loaded=loaded, progress=execution.progress) if measured is None else measured
    )
    if files.model is None:
        raise _without_model(files)
    progress = execution.progress
    progress("preparing the sampler (half a minute the first time on a machine)")
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    study = files.study.spec
    groups = fit_ratings(
        build_design(loaded.ratings, files.model.spec),
        loaded.ratings,
        files.model.spec,
        study.sampler,
        seed=study.seed,
        retries=retries,
        execution=execution,
    )
    attrs = dict(measured.attrs)
    attrs["status"] = _status(groups, study)
    from sharpbayes.workflows.weigh import digest  # noqa: PLC0415 - loads every metric

    attrs["posterior_sha256"] = digest(groups["posterior"])
    for name, node in measured.children.items():
        groups.setdefault(str(name), node.to_dataset())
    groups |= _posterior_groups(files, loaded, groups, progress)
    if study.sensitivity.asked and attrs["status"] != "interrupted":
        progress("fitting again for what the study's sensitivity asks")
        from sharpbayes.workflows.sensitivity import sensitivity  # noqa: PLC0415 - loads every metric

        groups["sensitivity"] = sensitivity(files, loaded, groups, execution=execution)
    return _tree(groups, attrs)


def _posterior_groups(
    files: StudyFiles, loaded: Loaded, groups: Groups, progress: ProgressCallback
) -> Groups:
    """Posterior twins of the metrics and the decision, and what other weights need of the data."""
    found = _calibration(files, loaded, groups)
    if "posterior_predictive" not in groups:
        return found
    progress("measuring replicated ratings")
    from sharpbayes.workflows.weigh import after_fit  # noqa: PLC0415 - loads every metric

    return found | after_fit(files, loaded, groups)


def _calibration(files: StudyFiles, loaded: Loaded, groups: Groups) -> Groups:
    """How judges score against people and models of their own, if the study says who they are."""
    design, level = _design(files, loaded), files.study.spec.bootstrap.level
    if design is None or not {"rater", "own_family"} & set(loaded.ratings.factors):
        return {}
    if loaded.panel is None:
        return {}
    from sharpbayes.posterior.judge_bias import judge_bias  # noqa: PLC0415 - loads every metric

    found = judge_bias(groups["posterior"], design, loaded.ratings, level=level)
    return {"judge_bias": found} if found.data_vars else {}


def calibrate(
    files: StudyFiles,
    *,
    simulations: int,
    loaded: Loaded | None = None,
    execution: Execution = IN_PROCESS,
) -> "xr.DataTree":
    """Fit ratings with known truth at a study's own design, and say where truths lie.

    Args:
        files: From :func:`sharpbayes.load_study`.
        simulations: Number of fits.
        loaded: From :func:`read`, to spare reading the data again.
        execution: Where simulations run and are kept, and who hears of progress.

    Returns:
        The group ``calibration`` of :func:`sharpbayes.bayes.predict.calibration.calibrate`, with CVaR of
        every model of a panel, or MPA and WRA of every group of a crowd, among its quantities.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns.
        DataError: Faults in the data.
    """
    loaded = read(files) if loaded is None else loaded
    if files.model is None:
        raise _without_model(files)
    from sharpbayes.bayes.predict.calibration import calibrate as of_model  # noqa: PLC0415 - PyMC

    study = files.study.spec
    found = of_model(
        build_design(loaded.ratings, files.model.spec),
        loaded.ratings,
        files.model.spec,
        study.sampler,
        simulations=simulations,
        seed=study.seed,
        execution=execution,
        metrics=metrics_of(files, loaded),
    )
    verdict = "calibrated" if bool(found["calibrated"]) else "not calibrated"
    attrs = provenance(files, data=describe_data(files, loaded.counts), status=verdict)
    return _tree({"calibration": found}, attrs)


def simulate(files: StudyFiles, *, pattern: str) -> "SimulatedStudy":
    """Make ratings with known truth.

    Args:
        files: From :func:`sharpbayes.load_study`.
        pattern: ``model``: parameters from the prior of the study's model, and ratings at the
            study's own design; else a scoring pattern of the responsiveness paper.

    Returns:
        See :func:`sharpbayes.simulation.from_model.simulate_model` and
        :func:`sharpbayes.simulation.scoring_patterns.simulate_pattern`.

    Raises:
        SpecError: The study names no model, or one that cannot make labels; or it has no crowd, or
            there is no such pattern.
        DataError: Faults in the data.
    """
    if pattern != "model":
        from sharpbayes.simulation.scoring_patterns import simulate_pattern  # noqa: PLC0415

        return simulate_pattern(files, pattern=pattern)
    from sharpbayes.simulation.from_model import simulate_model  # noqa: PLC0415 - PyMC

    if files.model is None:
        raise _without_model(files)
    loaded = read(files)
    _refuse_model(files, loaded)
    return simulate_model(
        files, files.model.spec, loaded.ratings, panel=loaded.panel, crowd=loaded.crowd
    )


def metrics_of(files: StudyFiles, loaded: Loaded) -> "Metrics | None":
    """Return what gives a study's metrics of interest from replicated levels."""
    design = _design(files, loaded)
    if design is None:
        return None
    from sharpbayes.posterior.crowd import crowd_metrics  # noqa: PLC0415 - loads every metric
    from sharpbayes.posterior.panel import panel_metrics  # noqa: PLC0415 - loads every metric

    if loaded.crowd is not None:
        return crowd_metrics(files.study.spec, loaded.crowd, design)
    assert loaded.panel is not None  # noqa: S101 - a study has a panel or a crowd
    return panel_metrics(files, loaded.panel, loaded.ratings, design)


def _without_model(files: StudyFiles) -> SpecError:
    """The fault of a study that names no model."""
    where = "crowd" if files.study.spec.panel is None else "panel"
    known = "judge_panel" if where == "panel" else "crowd_severity"
    message = f'a fit needs a model; add `fit = "{known}"`, or run `sharpbayes measure`'
    return SpecError([Diagnostic(str(files.study.path), 0, f"{where}.fit", message)])


def _status(groups: Groups, study: Study) -> str:
    """Say whether sampling was cut short and whether it converged."""
    asked, kept = groups["diagnostics"].attrs["draws"], groups["posterior"].sizes
    if kept["chain"] < study.sampler.chains or kept["draw"] < asked:
        return "interrupted"
    return "fitted" if bool(groups["diagnostics"]["converged"]) else "not converged"


def _tree(groups: Groups, attrs: Mapping[Any, Any]) -> "xr.DataTree":
    """Join groups under one root."""
    import xarray as xr  # noqa: PLC0415 - `check` does without

    tree = xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})
    tree.attrs = dict(attrs)
    return tree


def read(files: StudyFiles) -> Loaded:
    """Read the table of ratings that a study is about, and the tables beside it.

    Raises:
        DataError: Faults in the data.
    """
    study, base = files.study.spec, files.study.path.parent
    if study.panel is not None:
        cells = read_panel(study.panel, base)
        people = {"people_ratings": cells.people_score.size} if cells.people else {}
        return Loaded(study, cells, None, cells.counts | people)
    if study.crowd is None:
        raise ValueError("a study has a panel or a crowd")
    crowd = read_crowd(study.crowd, base)
    experts = files.model is not None and files.model.spec.experts
    return Loaded(study, None, crowd, dict(crowd.counts), experts)


def _refuse_model(files: StudyFiles, loaded: Loaded) -> None:
    """Refuse a model that does not fit the columns."""
    if files.model is not None:
        check_columns(loaded.ratings, files.model.spec, path=str(files.model.path))


def _design(files: StudyFiles, loaded: Loaded) -> Design | None:
    """Place the study's model on its ratings; None if it names none."""
    if files.model is None:
        return None
    return build_design(loaded.ratings, files.model.spec, path=str(files.model.path))
