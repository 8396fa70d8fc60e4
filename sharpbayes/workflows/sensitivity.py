"""Fits without a judge, under other priors and other weights, beside the study's own fit."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.panel import list_pooled_judges, melt_panel
from sharpbayes.data.panel_ratings import PanelRatings
from sharpbayes.data.ratings import Ratings
from sharpbayes.execution.tasks import IN_PROCESS, Execution, compute_parts, from_arrays, to_arrays
from sharpbayes.execution.threads import thread_map, use_map
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import load_sensitivity_weights
from sharpbayes.spec.model import (
    Exponential,
    HalfNormal,
    HalfStudentT,
    Model,
    Normal,
    StudentT,
    ThresholdPrior,
)
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.weigh import (
    FitData,
    Loaded,
    crowd_groups,
    posterior_groups,
    without_labels,
)

Groups = dict[str, xr.Dataset]
Prior = Normal | StudentT | HalfNormal | HalfStudentT | Exponential | ThresholdPrior

OWN = "as fitted"
DRAWS = ("chain", "draw")
DECIDED = ("prob_admissible", "prob_best", "expected_loss", "prob_less", "selected")


@dataclass(frozen=True)
class Case:
    """One fit: its label, the width of its priors, and the judge that it is without."""

    label: str = OWN
    factor: float = 1.0
    without: str | None = None


def sensitivity(
    files: StudyFiles,
    loaded: Loaded,
    groups: Groups,
    *,
    execution: Execution = IN_PROCESS,
) -> xr.Dataset:
    """Fit again what the study asks for, and lay the answers side by side.

    Args:
        files: The study; its ``sensitivity`` says what is fitted again.
        loaded: Its data.
        groups: The study's own fit.
        execution: Where refits run and are kept. In other processes the chains of a refit run one
            after another.

    Returns:
        Over ``refit`` (the first is ``as fitted``), of a panel also over ``weights`` (the first
        are the study's own): for every number of the posterior twin over its own dimensions the
        posterior median, ``<name>_interval`` at the study's level (last dim ``bound``),
        ``<name>_sd`` and ``<name>_shift``, the median less that of the study's own fit in its
        posterior sd; of a panel also what is decided; ``converged``, ``rhat`` (largest) and
        ``divergences``.
    """
    weights = load_sensitivity_weights(files)
    if files.weights is not None:
        weights = {files.weights.path.stem: files.weights} | weights
    own = _answers(files, loaded, groups, Case(), weights)
    todo = cases(files, loaded)
    key = hashlib.sha256(repr([(w, x.sha256) for w, x in weights.items()]).encode()).hexdigest()
    # A task that holds the map function itself could not be sent to a worker.
    cores = 1 if execution.map_function else None

    def refit(case: Case) -> dict[str, Any]:
        with use_map(thread_map):
            fitted = _fitted(files, loaded, case, cores=cores)
            return to_arrays(_answers(files, loaded, fitted, case, weights))

    made = compute_parts(
        refit,
        {f"refit-{number}-{key[:16]}": case for number, case in enumerate(todo)},
        execution,
    )
    every = [own, *map(from_arrays, made)]
    labels = xr.DataArray([OWN, *(case.label for case in todo)], dims="refit", name="refit")
    joined = xr.concat(every, labels, join="outer", combine_attrs="drop")
    return _shifted(joined).assign_attrs(
        level=files.study.spec.bootstrap.level,
        **{f"weights_{name}": each.text for name, each in weights.items()},
    )


def cases(files: StudyFiles, loaded: Loaded) -> list[Case]:
    """Return the fits that a study asks for beside its own."""
    study = files.study.spec
    asked, found = study.sensitivity, []
    if asked.leave_out and study.panel is not None and loaded.panel is not None:
        judges = list_pooled_judges(
            study.panel, [str(each) for each in loaded.panel["judge"].values]
        )
        if len(judges) > 1:
            found += [Case(f"without judge {each}", without=each) for each in judges]
    return found + [Case(f"priors x {each:g}", factor=each) for each in asked.priors]


def widened(model: Model, factor: float) -> Model:
    """Return a model whose every prior is ``factor`` times as wide.

    The prior of correlations stays: it has no width.

    Examples:
        >>> wide = widened(Model.model_validate({"schema": "sharpbayes/model/2", "title": "t",
        ...                                      "location": [{"by": ["item"]}]}), 2.0)
        >>> wide.location[0].prior.sd.scale, wide.thresholds.prior.sd
        (3.0, 10.0)
    """
    bounds = model.thresholds
    widths = {name: _wide(getattr(bounds, name), factor) for name in ("prior", "shift", "gap")}
    return model.model_copy(
        update={
            "thresholds": bounds.model_copy(update=widths),
            **{
                name: tuple(
                    term.model_copy(update={"prior": _wide(term.prior, factor)})
                    for term in getattr(model, name)
                )
                for name in ("location", "discrimination")
            },
        }
    )


def _wide(prior: Prior, factor: float) -> Prior:
    """Multiply the width of a prior, or of the prior of its width."""
    if isinstance(prior, Normal | StudentT | ThresholdPrior):
        sd = prior.sd
        wide = sd * factor if isinstance(sd, float) else _wide(sd, factor)
        return prior.model_copy(update={"sd": wide})
    name = "mean" if isinstance(prior, Exponential) else "scale"
    return prior.model_copy(update={name: getattr(prior, name) * factor})


def _changed(files: StudyFiles, case: Case) -> StudyFiles:
    """The study with the model of a case."""
    if files.model is None:
        raise ValueError("a refit needs a model")
    model = widened(files.model.spec, case.factor)
    return replace(files, model=replace(files.model, spec=model))


def _levels(loaded: Loaded, case: Case) -> xr.Dataset:
    """The levels of a panel without the judge that a case leaves out."""
    levels = loaded.panel
    assert levels is not None  # noqa: S101 - the caller looked
    return levels.sel(judge=levels["judge"] != case.without) if case.without else levels


def _ratings(files: StudyFiles, loaded: Loaded, case: Case) -> Ratings:
    """The ratings of a case in long form."""
    panel = files.study.spec.panel
    return (
        loaded.ratings
        if panel is None
        else melt_panel(PanelRatings.from_dataset(_levels(loaded, case)), panel)
    )


def _fitted(files: StudyFiles, loaded: Loaded, case: Case, *, cores: int | None) -> Groups:
    """Fit a case, with the study's own sampler and seed."""
    from sharpbayes.bayes.fit import fit_ratings  # noqa: PLC0415 - PyMC only where it is used

    changed, study = _changed(files, case), files.study.spec
    assert changed.model is not None  # noqa: S101 - _changed looked
    ratings = _ratings(files, loaded, case)
    return fit_ratings(
        build_design(ratings, changed.model.spec),
        ratings,
        changed.model.spec,
        study.sampler,
        seed=study.seed,
        execution=Execution(cores=cores),
    )


def _answers(
    files: StudyFiles,
    loaded: Loaded,
    groups: Groups,
    case: Case,
    weights: Mapping[str, SpecFile[Weights]],
) -> xr.Dataset:
    """What a fit says, in numbers that are compared."""
    changed, level = _changed(files, case), files.study.spec.bootstrap.level
    predictive = without_labels(groups["posterior_predictive"])
    at = {name: predictive[name] for name in DRAWS}
    stored = FitData(xr.Dataset(), predictive, groups["posterior"].sel(at))
    if loaded.crowd is not None:
        twin = crowd_groups(changed, loaded, stored)["posterior_responsiveness"]
        found = _summary(twin, level=level)
    else:
        stored = replace(stored, observed=_levels(loaded, case))
        found = _of_panel(changed, stored, weights, level=level)
    table = groups["diagnostics"]
    return found.assign(
        converged=int(table["converged"]),
        rhat=float(table["rhat"].max()),
        divergences=int(table["divergences"]),
    ).drop_attrs()


def _of_panel(
    files: StudyFiles, stored: FitData, weights: Mapping[str, SpecFile[Weights]], *, level: float
) -> xr.Dataset:
    """Profiles and decisions under each weights file."""
    plans, measured = {}, {}
    for name, each in weights.items():
        plans[name], measured[name] = profile_panel(replace(files, weights=each), stored.observed)
    made, every = posterior_groups(files, plans, stored, measured), []
    for groups in made.values():
        decided = groups["decision"][list(DECIDED)]
        every.append(_summary(groups["posterior_profile"], level=level).merge(decided))
    labels = xr.DataArray(list(made), dims="weights", name="weights")
    return xr.concat(every, labels, join="outer", combine_attrs="drop")


def _summary(twin: xr.Dataset, *, level: float) -> xr.Dataset:
    """Median, interval and sd of every number of a posterior twin."""
    names = [name for name in twin if twin[name].dtype.kind == "f"]
    draws = twin[names].reset_coords(drop=True)
    tails = [(1 - level) / 2, (1 + level) / 2]
    bounds = draws.quantile(tails, DRAWS).rename(quantile="bound")
    bounds = bounds.assign_coords(bound=["lower", "upper"]).transpose(..., "bound")
    return xr.merge(
        [
            draws.median(DRAWS),
            bounds.rename({name: f"{name}_interval" for name in names}),
            draws.std(DRAWS).rename({name: f"{name}_sd" for name in names}),
        ]
    )


def _shifted(table: xr.Dataset) -> xr.Dataset:
    """Add how far each median lies from that of the study's own fit, in its posterior sd."""
    names = [str(name)[: -len("_sd")] for name in table if str(name).endswith("_sd")]
    own = table.sel(refit=OWN)
    return table.assign(
        {
            f"{name}_shift": (table[name] - own[name])
            / own[f"{name}_sd"].where(own[f"{name}_sd"] > 0)
            for name in names
        }
    )
