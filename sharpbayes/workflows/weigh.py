"""Weigh: other weights over stored results, without a refit or source data."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import xarray as xr

from sharpbayes.analysis.evidence import add_evidence
from sharpbayes.analysis.joint import joint_table
from sharpbayes.analysis.missing import missing_group
from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.analysis.target_population import population_group
from sharpbayes.bayes.design.indexing import build_design
from sharpbayes.errors import Diagnostic, SpecError, StorageError
from sharpbayes.posterior.crowd import posterior_population
from sharpbayes.posterior.fit_data import read_fit_groups, replicate_draws
from sharpbayes.posterior.groups import panel_groups
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import load_weights, reload_study
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import file_provenance, read_results
from sharpbayes.workflows.context import Groups, RunContext, under_weights

# A weights file, its path, or the name of a shipped one.
NamedWeights = SpecFile[Weights] | str | Path
WeightsFiles = Mapping[str, NamedWeights] | Iterable[NamedWeights] | NamedWeights
NO_RATINGS = (
    "these results hold no ratings; run `sharpbayes measure` or `sharpbayes fit` of the study again"
)
NO_MISSING = (
    "what missing scores could change is left out: these results do not keep which scores were "
    "asked for; `sharpbayes measure` with these weights gives it"
)
NO_DRAWS = (
    "these results have no replicated ratings: probabilities, expected losses and posterior "
    "intervals are left out; `sharpbayes fit` gives them"
)


def weigh(results: xr.DataTree | str | Path, weights: WeightsFiles) -> xr.DataTree:
    """Return stored results under other weights, without a refit or source data.

    Args:
        results: Of a fit or of a measurement, from :func:`sharpbayes.open_results`, or the path of
            their file.
        weights: Weights files by name; or what :func:`sharpbayes.load_weights` reads or returns,
            one or several, which have the names of their files.

    Returns:
        A child for each name: of a panel ``profile``, its intervals, ``evidence``,
        ``posterior_profile`` for each list of sources of uncertainty, ``decision``,
        ``prior_sensitivity``, ``missing`` and ``joint``; of a crowd
        ``responsiveness_population`` and its posterior. They equal bit for bit those of a new run
        with these weights. Of a fit that has not converged the root attribute
        ``convergence_issues`` says what it misses. Results without replicated ratings, as those
        of a measurement, have no posterior and no decision, and the root attribute ``left_out``
        says so. Other root attributes are those of the results, attributes of a child are those of
        its weights.

    Raises:
        StorageError: The results hold no ratings, or their file cannot be read.
        SpecError: Weights that are not there or do not suit the study, or none; or no results.

    Examples:
        >>> import sharpbayes
        >>> files = sharpbayes.load_study("quickstart", overrides=("bootstrap.replicates=20",))
        >>> results = sharpbayes.measure(files)
        >>> weighed = sharpbayes.weigh(results, "equal")
        >>> weighed["equal/profile"]["policy_score"].round(2).to_series().to_dict()
        {'aster': 0.22, 'briar': 0.32, 'cedar': 0.43, 'dahlia': 0.55}
    """
    results = read_results(results, place="results", whole=False)
    if "ratings" not in results:
        raise StorageError(NO_RATINGS)
    files = reload_study(results.attrs)
    named = named_weights(weights)
    if not named:
        raise SpecError.at("weigh", "names none; name one weights file or more", key="weights")
    for name, file in named.items():
        under_weights(files, file, name)
    study = stored_study(files, results["ratings"].to_dataset().load())
    draws = read_draws(results, files, study)
    if isinstance(study, PanelStudy):
        groups = _weigh_panel(study, draws, named, results)
    else:
        groups = _weigh_crowd(study, files, draws, named)
    tree = xr.DataTree.from_dict(
        {f"/{name}/{group}": data for name in named for group, data in groups[name].items()}
    )
    tree.attrs = {k: v for k, v in results.attrs.items() if not str(k).startswith("weights")}
    tree.attrs |= read_convergence_issues(results)
    left_out = [NO_DRAWS] if draws is None else []
    if "missing" in results and not any("missing" in group for group in groups.values()):
        left_out.append(NO_MISSING)
    tree.attrs |= {"left_out": "; ".join(left_out)} if left_out else {}
    for name, file in named.items():
        tree[name].attrs = file.spec.description | file_provenance(file, "weights")
    return tree


def read_convergence_issues(results: xr.DataTree) -> dict[str, str]:
    """Return ``convergence_issues`` of a fit that has not converged; empty for any other results.

    Results under other weights have no diagnostics. A fit that was interrupted has the status
    ``interrupted`` whether its draws meet the limits or not.
    """
    if "diagnostics" not in results or bool(results["diagnostics"]["converged"]):
        return {}
    return {"convergence_issues": str(results["diagnostics"].attrs["convergence_issues"])}


def read_draws(
    results: xr.DataTree, files: StudyFiles, study: PanelStudy | CrowdStudy
) -> ReplicateDraws | None:
    """Return the draws of results that have replicated ratings, None without any."""
    groups = read_fit_groups(results)
    if groups is None:
        return None
    model = RunContext(files).model
    design = build_design(study.ratings, model.spec, path=str(model.path))
    return replicate_draws(groups, design, study)


def posterior_profile(
    results: xr.DataTree, study: PanelStudy, weights: SpecFile[Weights]
) -> xr.Dataset | None:
    """Return the profile of every draw under weights; None of results without replicated ratings.

    The sources of uncertainty are the first ones of the study.
    """
    files = reload_study(results.attrs)
    draws = read_draws(results, files, study)
    if draws is None:
        return None
    return profile_draws(replace(study, weights=weights), draws)


def profile_draws(study: PanelStudy, draws: ReplicateDraws) -> xr.Dataset:
    """Return the profile of every draw under the first sources of uncertainty of the study."""
    metrics = PanelMetrics([build_profile_plan(study)], rating_positions(study))
    [profile] = metrics.measure(draws, study.spec.uncertainties[0])
    return profile


def _weigh_panel(
    study: PanelStudy,
    draws: ReplicateDraws | None,
    weights: Mapping[str, SpecFile[Weights]],
    results: xr.DataTree,
) -> dict[str, Groups]:
    """Return profiles, their posterior and the decision under each weights file."""
    plans, groups = [], {}
    for name, file in weights.items():
        spec = study.spec.model_copy(update={"weights": name})
        plan, parts = profile_panel(replace(study, spec=spec, weights=file))
        groups[name] = add_evidence(plan, parts)
        groups[name] |= _weigh_missing(plan, results)
        plans.append(plan)
    if draws is not None:
        positions = rating_positions(study)
        posterior = panel_groups(PanelMetrics(plans, positions), draws, groups)
        groups = {name: groups[name] | posterior[name] for name in weights}
        metrics = {
            name: PanelMetrics([plan], positions) for name, plan in zip(weights, plans, strict=True)
        }
        _add_priors(metrics, groups, draws, results)
    return {name: x | {"joint": joint_table(x, study.spec.bootstrap)} for name, x in groups.items()}


def _weigh_missing(plan: ProfilePlan, results: xr.DataTree) -> Groups:
    """Return ``missing`` under other weights, where every score was asked for.

    Stored ratings do not tell a score that is missing from one that nobody asked for.
    """
    if "missing" not in results:
        return {}
    stored = results["missing"].to_dataset().load()
    if int(stored["asked"].sum()) < plan.table["sub_index"].size:
        return {}
    groups = missing_group(plan)
    # Reasons and the fitted severity follow from the data and not from weights.
    names = [n for n in map(str, stored) if n == "reason_count" or n.startswith("fitted_slope")]
    return {name: table.assign(stored[names].data_vars) for name, table in groups.items()}


def _add_priors(
    metrics: Mapping[str, PanelMetrics],
    groups: Mapping[str, Groups],
    draws: ReplicateDraws,
    results: xr.DataTree,
) -> None:
    """Add ``prior_sensitivity`` under each weights file, where the fit has it."""
    if "prior_sensitivity" not in results:
        return
    from sharpbayes.posterior.prior_sensitivity import prior_sensitivity  # noqa: PLC0415 - loads ArviZ
    from sharpbayes.posterior.scaled_priors import scale_priors  # noqa: PLC0415 - loads ArviZ

    has_likelihood = "log_likelihood" in results
    of_fit = {"log_likelihood": results["log_likelihood"].to_dataset()} if has_likelihood else {}
    priors = scale_priors(of_fit, draws)
    for name, of_weights in metrics.items():
        level = of_weights.study.spec.bootstrap.level
        table = prior_sensitivity(of_weights, groups[name], priors, level=level)
        groups[name]["prior_sensitivity"] = table


def _weigh_crowd(
    study: CrowdStudy,
    files: StudyFiles,
    draws: ReplicateDraws | None,
    weights: Mapping[str, SpecFile[Weights]],
) -> dict[str, Groups]:
    """Return the responsiveness of each target population, and its posterior."""
    groups = {}
    for name, file in weights.items():
        weighed = replace(study, weights=file)
        groups[name] = population_group(weighed)
        if draws is not None:
            groups[name] |= posterior_population(weighed, draws, RunContext(files).model.spec)
    return groups


def named_weights(weights: WeightsFiles) -> dict[str, SpecFile[Weights]]:
    """Read weights files; one without a name has the stem of its path."""
    if isinstance(weights, Mapping):
        return {name: read_weights(file) for name, file in weights.items()}
    alone = isinstance(weights, str | Path | SpecFile) or not isinstance(weights, Iterable)
    files: dict[str, SpecFile[Weights]] = {}
    problems: list[Diagnostic] = []
    for name in cast("Iterable[NamedWeights]", [weights] if alone else weights):
        with SpecError.collect(problems):
            file = read_weights(name)
            other = files.setdefault(file.path.stem, file)
            if other.path != file.path:
                message = f"{file.path.stem!r} names two files, {other.path} and {file.path}"
                raise SpecError.at("weigh", message, key="weights")
    SpecError.raise_any(problems)
    return files


def read_weights(name: NamedWeights) -> SpecFile[Weights]:
    """Return a weights file, read unless it was read already."""
    return name if isinstance(name, SpecFile) else load_weights(name)
