"""Check, measure, fit: the one file that joins the deterministic and the Bayesian half."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import xarray as xr

from sharpbayes.bayes.design import Design
from sharpbayes.bayes.placing import design
from sharpbayes.data.crowd import CrowdData, crowd_ratings, load_crowd
from sharpbayes.data.files import matching_files
from sharpbayes.data.panel import load_panel, panel_ratings
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Fault, SpecError
from sharpbayes.results import provenance
from sharpbayes.spec.load import StudyFiles
from sharpbayes.spec.study import Study

if TYPE_CHECKING:
    from sharpbayes.bayes.sample import Progress

Groups = dict[str, xr.Dataset]
Step = Callable[[str], None]


@dataclass(frozen=True)
class Understood:
    """What a study and its data say, before anything is computed.

    Attributes:
        counts: Number of labels of each column, of ratings and of missing cells, by name.
        labels: Labels of each column.
        scales: Labels of the levels of each scale, least harm first.
        ratings: Number of ratings that a fit would use.
        parameters: Number of free parameters of the fit; 0 without a model.
        megabytes: Size of the stored draws of parameters; 0 without a model.
    """

    counts: dict[str, int]
    labels: dict[str, tuple[str, ...]]
    scales: dict[str, tuple[str, ...]]
    ratings: int
    parameters: int
    megabytes: float


@dataclass(frozen=True)
class Loaded:
    """The data of a study: a panel or a crowd, and counts."""

    study: Study
    panel: xr.Dataset | None
    crowd: CrowdData | None
    counts: dict[str, int]

    @cached_property
    def ratings(self) -> Ratings:
        """Every rating in long form, for a model; made on first use."""
        if self.study.panel is not None and self.panel is not None:
            return panel_ratings(self.panel, self.study.panel)
        if self.study.crowd is None or self.crowd is None:
            raise ValueError("a study has a panel or a crowd")
        return crowd_ratings(self.crowd, self.study.crowd)


def check(files: StudyFiles) -> Understood:
    """Read a study's data and say what was understood, without computing.

    Raises:
        SpecError: The model file names a column that the study does not have.
        DataError: Faults in the data.
    """
    loaded = read(files)
    placed = _design(files, loaded)
    columns = {name: held for name, held in loaded.ratings.columns.items() if name != "scale"}
    sampler = files.study.spec.sampler
    parameters = placed.parameters if placed else 0
    return Understood(
        counts={name: len(held.labels) for name, held in columns.items()} | loaded.counts,
        labels={name: held.labels for name, held in columns.items()},
        scales=loaded.ratings.scales,
        ratings=len(loaded.ratings.level),
        parameters=parameters,
        megabytes=parameters * sampler.chains * sampler.draws * 8 / 1e6,
    )


def measure(
    files: StudyFiles, *, loaded: Loaded | None = None, step: Step | None = None
) -> xr.DataTree:
    """Compute every deterministic metric of a study, with bootstrap intervals.

    Args:
        files: From :func:`sharpbayes.load_study`.
        loaded: From :func:`read`, to spare reading the data again.
        step: Called with a few words before each step of the work.

    Returns:
        The groups ``panel``, ``profile`` and ``profile_interval`` for a panel, ``responsiveness``
        and ``items`` for a crowd; provenance in the root attributes.

    Raises:
        DataError: Faults in the data.
    """
    say = step or _silent
    if loaded is None:
        say("reading data")
        loaded = read(files)
    _design(files, loaded)
    say("computing metrics and bootstrap intervals")
    attrs = provenance(files, data=_data_facts(files, loaded), status="measured")
    return _tree(_measured(files, loaded), attrs)


def _measured(files: StudyFiles, loaded: Loaded) -> Groups:
    """Measure the crowd or the panel; each is imported here, so that ``check`` starts quickly."""
    if loaded.crowd is not None:
        from sharpbayes.measure_crowd import measure_crowd  # noqa: PLC0415

        return measure_crowd(files.study.spec, loaded.crowd)
    from sharpbayes.measure_panel import measure_panel  # noqa: PLC0415

    return measure_panel(files, loaded.panel)


def fit(
    files: StudyFiles,
    *,
    loaded: Loaded | None = None,
    measured: xr.DataTree | None = None,
    step: Step | None = None,
    progress: "Progress | None" = None,
) -> xr.DataTree:
    """Measure a study, fit its model and check convergence.

    Args:
        files: From :func:`sharpbayes.load_study`.
        loaded: From :func:`read`, to spare reading the data again.
        measured: Results of :func:`measure`, to spare computing them again.
        step: Called with a few words before each step of the work.
        progress: Called with the state of the chains a few times a second.

    Returns:
        What :func:`measure` returns, ArviZ's groups and ``diagnostics``. The root attribute
        ``status`` is ``fitted``, ``not converged`` for a fit that must not be used, or
        ``interrupted`` where Ctrl-C left fewer draws than asked for.

    Raises:
        SpecError: The study names no model, or one that does not fit its columns.
        DataError: Faults in the data.
    """
    loaded = read(files) if loaded is None else loaded
    _design(files, loaded)
    measured = measure(files, loaded=loaded, step=step) if measured is None else measured
    if files.model is None:
        where = "crowd" if files.study.spec.panel is None else "panel"
        known = "judge_panel" if where == "panel" else "crowd_severity"
        message = f'a fit needs a model; add `model = "{known}"`, or run `sharpbayes measure`'
        raise SpecError([Fault(str(files.study.path), 0, f"{where}.model", message)])
    say = step or _silent
    say("preparing the sampler (half a minute the first time on a machine)")
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    study = files.study.spec
    groups = fit_ratings(
        loaded.ratings,
        files.model.spec,
        study.sampler,
        seed=study.seed,
        step=say,
        progress=progress,
    )
    attrs = dict(measured.attrs)
    attrs["status"] = _status(groups, study)
    for name, node in measured.children.items():
        groups.setdefault(str(name), node.to_dataset())
    return _tree(groups, attrs)


def _status(groups: Groups, study: Study) -> str:
    """Say whether sampling was cut short and whether it converged."""
    asked, kept = study.sampler, groups["posterior"].sizes
    if kept["chain"] < asked.chains or kept["draw"] < asked.draws:
        return "interrupted"
    return "fitted" if bool(groups["diagnostics"]["converged"]) else "not converged"


def _silent(_: str) -> None:
    """Say nothing."""


def _tree(groups: Groups, attrs: Mapping[Any, Any]) -> xr.DataTree:
    """Join groups under one root."""
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
        levels = load_panel(study.panel, base)
        counts = {name: int(levels.attrs[name]) for name in ("ratings", "missing", "absent")}
        return Loaded(study, levels, None, counts)
    if study.crowd is None:
        raise ValueError("a study has a panel or a crowd")
    crowd = load_crowd(study.crowd, base)
    return Loaded(study, None, crowd, dict(crowd.counts))


def _design(files: StudyFiles, loaded: Loaded) -> Design | None:
    """Place the study's model on its ratings; None if it names none."""
    if files.model is None:
        return None
    return design(loaded.ratings, files.model.spec, path=str(files.model.path))


def _data_facts(files: StudyFiles, loaded: Loaded) -> dict[str, Any]:
    """Digest of every data file of the study, in order, and counts."""
    digest = hashlib.sha256()
    for name in _data_files(files.study.spec):
        for path in matching_files(files.study.path.parent, name):
            digest.update(path.read_bytes())
    return {"sha256": digest.hexdigest(), **loaded.counts}


def _data_files(study: Study) -> list[str]:
    """Names of the main table and of the tables beside it."""
    if study.panel is not None:
        beside = [study.panel.prompts]
        main = study.panel.data
    else:
        crowd = study.crowd
        beside = [crowd.raters, crowd.items] if crowd else []
        main = crowd.data if crowd else ""
    names = [main, *(side.data for side in beside if side is not None)]
    if study.crowd is not None and study.crowd.labels.from_ == "experts":
        names.append(study.crowd.labels.data)
    return names
