"""Posterior twins of a fit, and what other weights make of one: no refit, no source data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_counts import count_crowd, measure_responsiveness
from sharpbayes.analysis.panel import ProfilePlan, build_profile_plan, profile_panel
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.data.crowd import CrowdData, melt_crowd
from sharpbayes.data.panel import melt_panel
from sharpbayes.data.panel_ratings import PanelRatings
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError, StorageError
from sharpbayes.posterior.crowd import crowd_twin, labels_outside
from sharpbayes.posterior.decision import assessed, decision
from sharpbayes.posterior.judge_bias import has_people, people_contain, people_draws
from sharpbayes.posterior.panel import Cells, panel_cells, panel_twins
from sharpbayes.posterior.predictive_checks import frequencies, predictive_checks
from sharpbayes.posterior.replicates import Draws, contains
from sharpbayes.posterior.sample_size import crowd_further, panel_further
from sharpbayes.posterior.target_population import (
    crowd_group,
    crowd_of,
    population_groups,
    population_weights,
)
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import load_weights, parse
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]


class Loaded(Protocol):
    """The data of a study, as :func:`sharpbayes.workflows.run.read` returns them."""

    @property
    def panel(self) -> xr.Dataset | None:
        """Levels of a panel."""

    @property
    def crowd(self) -> CrowdData | None:
        """Ratings of a crowd."""

    @property
    def ratings(self) -> Ratings:
        """Every rating in long form."""


@dataclass(frozen=True)
class FitData:
    """What a fit keeps of a panel, which is all that other weights need.

    Attributes:
        observed: Levels as they were read.
        predictive: Replicated levels of each scale.
        posterior: Parameters of the draws that they come from.
    """

    observed: xr.Dataset
    predictive: xr.Dataset
    posterior: xr.Dataset


def posterior_groups(
    files: StudyFiles,
    plans: Mapping[str, ProfilePlan],
    stored: FitData,
    deterministic: Mapping[str, Groups],
) -> dict[str, Groups]:
    """Return the posterior twins and the decision of each weights file.

    Args:
        files: The study and its model.
        plans: How the observed levels are profiled under each weights file, by its name.
        stored: What a fit keeps.
        deterministic: For each weights file ``profile`` and ``profile_interval``.

    Returns:
        For each name ``posterior_profile``, one more twin for each further list of sources, such as
        ``posterior_profile_ratings_prompts``, ``decision`` and, where a pair is open,
        ``decision_further``; where people scored too ``posterior_profile_human`` and
        ``decision_human``, as they would have scored.
    """
    study = files.study.spec
    draws, cells, ratings = _replicates(files, stored)
    found: dict[str, Groups] = {name: {} for name in plans}

    def add(twin_name: str, seen: Draws, sources: Sequence[str], said: str) -> None:
        twins = panel_twins(list(plans.values()), cells, seen, sources)
        for (name, plan), twin in zip(plans.items(), twins, strict=True):
            made = assessed(twin, deterministic[name], plan.weights)
            found[name][twin_name] = _described(made, study, plan, sources, said)

    for number, sources in enumerate(study.uncertainties):
        said = contains(sources, level=study.bootstrap.level)
        add("_".join(("posterior_profile", *(sources if number else ()))), draws, sources, said)
    if has_people(ratings):
        sources = study.uncertainties[0]
        said = people_contain(sources, level=study.bootstrap.level)
        add("posterior_profile_human", people_draws(draws, ratings), sources, said)
    for name, plan in plans.items():
        for twin_name, into in (
            ("posterior_profile", "decision"),
            ("posterior_profile_human", "decision_human"),
        ):
            if twin_name in found[name]:
                twin = found[name][twin_name]
                found[name][into] = decision(twin, plan.weights, level=study.bootstrap.level)
    decisions = {name: groups["decision"] for name, groups in found.items()}
    still_open = panel_further(plans, cells, draws, decisions, sources=study.sources)
    for name, group in still_open.items():
        found[name]["decision_further"] = group
    return found


def _described(
    twin: xr.Dataset, study: Study, plan: ProfilePlan, sources: Sequence[str], said: str
) -> xr.Dataset:
    """A twin that says what its intervals contain."""
    return twin.assign_attrs(
        interval_note=said,
        sources=list(sources),
        level=study.bootstrap.level,
        alpha=plan.weights.tail.alpha,
    )


def _replicates(files: StudyFiles, stored: FitData) -> tuple[Draws, Cells, Ratings]:
    """Draws of a panel, where their ratings lie, and the observed ratings in long form."""
    study, panel = files.study.spec, files.study.spec.panel
    if panel is None or files.model is None:
        raise ValueError("posterior twins of a profile are of a panel with a model")
    ratings = melt_panel(PanelRatings.from_dataset(stored.observed), panel)
    design = build_design(ratings, files.model.spec, path=str(files.model.path))
    draws = Draws(stored.posterior, stored.predictive, design, study.seed)
    return draws, panel_cells(stored.observed, ratings, panel), ratings


def after_fit(files: StudyFiles, loaded: Loaded, groups: Groups) -> Groups:
    """Return the groups that posterior draws add to results, with what other weights need.

    Args:
        files: The study.
        loaded: Its data.
        groups: What was measured and fitted.
    """
    predictive = without_labels(groups["posterior_predictive"])
    at = {name: predictive[name] for name in ("chain", "draw")}
    posterior = groups["posterior"].sel(at)
    if loaded.crowd is not None:
        return crowd_groups(files, loaded, FitData(xr.Dataset(), predictive, posterior))
    levels = loaded.panel
    assert levels is not None  # noqa: S101 - a study has a panel or a crowd
    stored, plan = FitData(levels, predictive, posterior), build_profile_plan(files, levels)
    found = posterior_groups(files, {"": plan}, stored, {"": groups})[""]
    found["predictive_checks"] = panel_checks(files, plan, stored, found)
    return found | {"ratings": observed_group(levels)}


def panel_checks(
    files: StudyFiles, plan: ProfilePlan, stored: FitData, twins: Groups
) -> xr.Dataset:
    """Return checks of CVaR, tail shares and the levels that each judge gives."""
    draws, cells, ratings = _replicates(files, stored)
    held = twins["posterior_profile"]
    if held.attrs["sources"] != ["ratings"]:
        [held] = panel_twins([plan], cells, draws, ["ratings"])
    direct, names = plan.profile(), ("cvar", "tail_share")
    replicated, observed = frequencies(draws, ratings, ["judge"])
    return predictive_checks(
        {name: held[name] for name in names} | replicated,
        {name: direct[name] for name in names} | observed,
    )


def crowd_groups(files: StudyFiles, loaded: Loaded, stored: FitData) -> Groups:
    """Return ``posterior_responsiveness`` and a twin for each further list of sources."""
    study, data = files.study.spec, loaded.crowd
    if data is None or files.model is None:
        raise ValueError("posterior twins of responsiveness are of a crowd with a model")
    design = build_design(loaded.ratings, files.model.spec, path=str(files.model.path))
    draws = Draws(stored.posterior, stored.predictive, design, study.seed)
    found: Groups = {}
    for sources in study.uncertainties:
        twin = crowd_twin(study, data, draws, sources)
        further = sources if found else ()
        found["_".join(("posterior_responsiveness", *further))] = twin.assign_attrs(
            remark=labels_outside(study, files.model.spec),
            interval_note=contains(sources, level=study.bootstrap.level),
            sources=list(sources),
            level=study.bootstrap.level,
        )
    found["predictive_checks"] = crowd_checks(study, data, draws, loaded.ratings, found)
    found |= crowd_further(study, data, draws, sources=study.sources)
    return found | population_of(files, data, draws) | {"ratings": crowd_group(data)}


def crowd_checks(
    study: Study, data: CrowdData, draws: Draws, ratings: Ratings, twins: Groups
) -> xr.Dataset:
    """Return checks of MPA, WRA and the scores that each group gives."""
    held = twins["posterior_responsiveness"]
    if held.attrs["sources"] != ["ratings"]:
        held = crowd_twin(study, data, draws, ["ratings"])
    assert study.crowd is not None  # noqa: S101 - the caller looked
    direct = measure_responsiveness(study.crowd, count_crowd(study.crowd, data))
    columns = [name for name in ratings.factors if name.startswith("group:")]
    replicated, observed = frequencies(draws, ratings, columns)
    return predictive_checks(
        {name: held[name] for name in ("mpa", "wra")} | replicated,
        {name: direct[name].drop_attrs() for name in ("mpa", "wra")} | observed,
    )


def weigh(results: xr.DataTree, weights: Mapping[str, SpecFile[Weights]]) -> xr.DataTree:
    """Return what other weights make of a stored fit: no refit, no source data.

    Args:
        results: A fit, from :func:`sharpbayes.open_results`.
        weights: Weights files by name.

    Returns:
        A child for each name: of a panel ``profile``, its intervals, ``posterior_profile`` and its
        further twins, and ``decision``; of a crowd ``responsiveness_population`` and its twin. They
        equal bit for bit those of a fresh fit with these weights. Root attributes are those of the
        fit, those of a child say its weights.

    Raises:
        StorageError: The results are no fit, or one without replicated ratings.
        SpecError: Weights that do not suit the study.
    """
    stored = stored_of(results)
    attrs = {str(key): value for key, value in results.attrs.items()}
    files = {name: study_files(attrs, name, each) for name, each in weights.items()}
    panel = next(iter(files.values())).study.spec.panel is not None
    groups = _of_panel(files, stored) if panel else _of_crowd(files, stored)
    tree = xr.DataTree.from_dict(
        {f"/{name}/{group}": held for name in files for group, held in groups[name].items()}
    )
    tree.attrs = {key: value for key, value in attrs.items() if not key.startswith("weights")}
    for name, written in weights.items():
        tree[name].attrs = _said(written)
    return tree


def _of_panel(files: Mapping[str, StudyFiles], stored: FitData) -> dict[str, Groups]:
    """Profiles, their twins and the decision of each weights file."""
    plans, groups = {}, {}
    for name, each in files.items():
        plans[name], groups[name] = profile_panel(each, stored.observed)
    twins = posterior_groups(next(iter(files.values())), plans, stored, groups)
    return {name: groups[name] | twins[name] for name in files}


def _of_crowd(files: Mapping[str, StudyFiles], stored: FitData) -> dict[str, Groups]:
    """Responsiveness of all raters in the population of each weights file."""
    data, found = crowd_of(stored.observed), {}
    for name, each in files.items():
        study, model = each.study.spec, each.model
        assert study.crowd is not None  # noqa: S101 - the caller looked
        assert model is not None  # noqa: S101 - there is a fit
        ratings = melt_crowd(data, study.crowd, experts=model.spec.experts)
        design = build_design(ratings, model.spec, path=str(model.path))
        draws = Draws(stored.posterior, stored.predictive, design, study.seed)
        found[name] = population_of(each, data, draws)
    return found


def population_of(files: StudyFiles, data: CrowdData, draws: Draws) -> Groups:
    """Return what shares of rater groups change, under the weights of a study.

    Raises:
        SpecError: Shares that do not suit the raters.
    """
    if files.weights is None:
        return {}
    rater = population_weights(data, files.weights.spec, path=str(files.weights.path))
    sources = files.study.spec.uncertainties[0]
    return population_groups(files.study.spec, data, draws, rater, sources)


def _said(weights: SpecFile[Weights]) -> dict[str, str]:
    """What a weights file says of itself, and its text."""
    spec = weights.spec
    return {
        "title": spec.title,
        "rationale": spec.rationale,
        "source": spec.source,
        "weights": weights.text,
        "weights_sha256": weights.sha256,
        "weights_path": str(weights.path),
    }


def named_weights(names: Sequence[str]) -> dict[str, SpecFile[Weights]]:
    """Read weights files by shipped name or by path, which is named by its stem.

    Raises:
        SpecError: Every fault of the files, and two files of one name.

    Examples:
        >>> list(named_weights(["sharp", "equal"]))
        ['sharp', 'equal']
    """
    found: dict[str, SpecFile[Weights]] = {}
    for name in names:
        written = load_weights(name)
        key = written.path.stem
        if key in found and found[key].path != written.path:
            message = f"{key!r} names two files, {found[key].path} and {written.path}"
            raise SpecError([Diagnostic("weigh", 0, "weights", message)])
        found[key] = written
    return found


def stored_of(results: xr.DataTree) -> FitData:
    """Return what a fit keeps.

    Raises:
        StorageError: Something is not there.
    """
    if "ratings" not in results or "posterior_predictive" not in results:
        raise StorageError(
            "these results hold no fit with replicated ratings; run `sharpbayes fit` "
            "(with sampler.predictive_draws above 0)"
        )
    predictive = without_labels(results["posterior_predictive"].to_dataset()).load()
    posterior = (
        results["posterior"]
        .to_dataset()
        .sel({name: predictive[name] for name in ("chain", "draw")})
    )
    return FitData(texts(results["ratings"].to_dataset().load()), predictive, posterior)


def without_labels(predictive: xr.Dataset) -> xr.Dataset:
    """Levels alone: labels of hundreds of thousands of ratings are not needed."""
    kept = ("chain", "draw")
    return predictive.drop_vars([name for name in predictive.coords if name not in kept])


def texts(held: xr.Dataset) -> xr.Dataset:
    """Return a dataset whose labels are texts of NumPy, as they were before they were stored."""
    found = {
        name: (coord.dims, coord.to_numpy().astype(str))
        for name, coord in held.coords.items()
        if coord.dtype.kind == "O"
    }
    return held.assign_coords(found)


def study_files(attrs: Mapping[str, Any], name: str, weights: SpecFile[Weights]) -> StudyFiles:
    """Return the study of stored results under other weights, checked against each other.

    Raises:
        SpecError: Weights that do not suit the study.
    """
    overrides = tuple(json.loads(attrs["overrides"]))
    study = parse(attrs["study"], Path(attrs["study_path"]), Study, overrides=overrides)
    named = replace(study, spec=study.spec.model_copy(update={"weights": name}))
    model = parse(attrs["model"], Path(attrs["model_path"]), Model)
    files = StudyFiles(named, weights, model, overrides)
    check_files(files)
    return files


def observed_group(levels: xr.Dataset) -> xr.Dataset:
    """Return the observed levels as results keep them: one byte each where that is enough."""
    score = levels["score"]
    small = int(score.max()) <= np.iinfo(np.int8).max
    return levels.assign(score=score.astype(np.int8) if small else score)


def digest(group: xr.Dataset) -> str:
    """Return the SHA-256 of the variables of a group: names, shapes and numbers."""
    found = hashlib.sha256()
    for name in sorted(map(str, group.data_vars)):
        values = np.ascontiguousarray(group[name].to_numpy())
        found.update(f"{name} {values.dtype.str} {values.shape} {group[name].dims}".encode())
        found.update(values.tobytes())
    return found.hexdigest()
