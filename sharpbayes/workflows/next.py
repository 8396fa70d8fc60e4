"""Next: stop or go on, and which ratings to buy, from the draws of a fit."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import xarray as xr

from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import CrowdStudy, PanelStudy
from sharpbayes.data.crowd import RATER
from sharpbayes.data.variable_names import encode_column
from sharpbayes.errors import Diagnostic, SpecError, StorageError, did_you_mean
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.posterior.claims import has_means
from sharpbayes.posterior.contradictions import find_contradictions
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import eligible_models
from sharpbayes.posterior.next_crowd import compared_pairs, plan_crowd_purchases
from sharpbayes.posterior.next_ratings import plan_purchases
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.panel_reading import PanelReading
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.posterior.stopping import (
    restrict_by_contradictions,
    restrict_by_evidence,
    restrict_by_few_raters,
    restrict_by_unseen_ends,
)
from sharpbayes.report.claims import IF_SCORES_TELL
from sharpbayes.report.contradictions import list_contradictions
from sharpbayes.report.tables.declaration import View
from sharpbayes.spec.costs import PRICES, Costs
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import parse, reload_study
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.results import file_provenance, read_results
from sharpbayes.workflows.context import join_groups, refuse_approximate, under_weights
from sharpbayes.workflows.weigh import (
    NO_RATINGS,
    NamedWeights,
    read_convergence_issues,
    read_draws,
    read_weights,
    weigh,
)

# Root attributes of the results that the plan keeps.
KEPT = ("title", "created", "status", "data_sha256", "study_sha256")
PURCHASES = 100
# Groups of a fit that hold under all weights.
OF_FIT = ("diagnostics", "predictive_checks")
NEEDS_GROUPS = (
    "no two groups of raters to compare; name columns of raters in `groups` of the study, and see "
    "which groups have metrics by sharpbayes report --text"
)
NEEDS_FIT = (
    "these results hold no posterior draws with replicated ratings, from which the worth of "
    "further ratings is computed; run `sharpbayes fit` of the study, with "
    "sampler.predictive_draws above 0"
)


def plan_next(
    results: xr.DataTree | str | Path,
    *,
    weights: NamedWeights | None = None,
    costs: Mapping[str, float] | None = None,
    number: int = PURCHASES,
) -> xr.DataTree:
    """Tell whether to stop or to go on, and which ratings to buy next.

    Args:
        results: Of a fit that has converged, from :func:`sharpbayes.open_results`, or the path of
            their file.
        weights: Weights that decide, or what :func:`sharpbayes.load_weights` reads; None for those
            of the results. Their ``loss`` in ``[decision]`` is the price of a loss.
        costs: Prices over those of the study, by their names in ``[costs]``.
        number: Largest number of purchases that are listed.

    Returns:
        The group ``next`` with the list, its gain and its net gain at several lengths; its
        attribute ``verdict`` is ``go on``, ``stop`` or ``cannot tell``. Nothing is fitted again.

    Raises:
        SpecError: Results of a measurement, of a preview, of a fit that has not converged, of one
            model alone or of a crowd without two groups to compare; unknown names of prices.
        StorageError: Results without ratings.
    """
    results = read_results(results, place="results", whole=False)
    refuse_approximate(results, "next")
    file = None if weights is None else read_weights(weights)
    files = read_fit_files(results, file)
    study, draws = read_fit(results, files)
    prices = _read_costs(study, costs or {})
    if isinstance(study, CrowdStudy):
        group = _plan_crowd(study, draws, results, prices, number)
    else:
        results = results if file is None else _reweigh(results, file)
        group = _plan_panel(study, draws, results, prices, number)
    view = View(results)
    contradictions = [*find_contradictions(view)]
    group = restrict_by_contradictions(group, contradictions, list_contradictions(view))
    facts = {key: results.attrs[key] for key in KEPT if key in results.attrs}
    if files.weights is not None:
        facts |= file_provenance(files.weights, "weights")
    return join_groups({"next": group}, facts)


def _plan_panel(
    study: PanelStudy,
    draws: ReplicateDraws,
    results: xr.DataTree,
    prices: Costs | None,
    number: int,
) -> xr.Dataset:
    """Plan for a panel by its results, which are under the weights of the study."""
    metrics = PanelMetrics([build_profile_plan(study)], rating_positions(study))
    profile, choice = (
        results[name].to_dataset().load() for name in ("posterior_profile", "decision")
    )
    _check_choice(choice, study)
    group = plan_purchases(metrics, draws, profile, choice, costs=prices, number=number)
    roles = study.panel.roles
    columns = {f"{name}_column": getattr(roles, name) for name in ("model", "prompt", "judge")}
    view = View(results)
    restricted = restrict_by_evidence(
        group, _read_evidence(results), profile, tells_means=has_means(view)
    )
    reading, chosen = PanelReading(view), group.attrs["chosen"]
    if "lowest" in reading.carried and reading.on_condition([chosen]):
        condition = f"The choice of {chosen} holds only {IF_SCORES_TELL}."
        restricted = restrict_by_unseen_ends(restricted, condition)
    return restricted.assign_attrs(columns)


def _plan_crowd(
    study: CrowdStudy,
    draws: ReplicateDraws,
    results: xr.DataTree,
    prices: Costs | None,
    number: int,
) -> xr.Dataset:
    """Plan for a crowd."""
    metrics = CrowdMetrics(study)
    if not compared_pairs(metrics):
        raise SpecError.at("next", NEEDS_GROUPS)
    loss = study.weights.spec.decision.loss if study.weights is not None else None
    pairs = results["responsiveness_difference"].to_dataset().sel(by=ALL)
    group = plan_crowd_purchases(
        metrics,
        draws,
        size_effect=pairs.get("hm_size_effect"),
        costs=prices,
        loss=loss,
        number=number,
    )
    roles = study.crowd.roles
    rater = roles.rater if isinstance(roles.rater, str) else RATER
    columns = {"item_column": roles.item, "rater_column": rater}
    reserved = {*columns.values()}
    for name in study.data.rater_columns:
        columns[f"{encode_column(name)}_column"] = f"group:{name}" if name in reserved else name
    remark = results["posterior_responsiveness"].attrs.get("remark", "")
    restricted = restrict_by_few_raters(group, _read_evidence(results), remark)
    return restricted.assign_attrs(columns)


def _read_evidence(results: xr.DataTree) -> xr.Dataset | None:
    """Return the evidence of results, if they have it."""
    return results["evidence"].to_dataset() if "evidence" in results else None


def _reweigh(results: xr.DataTree, weights: SpecFile[Weights]) -> xr.DataTree:
    """Return what a plan reads of results of a panel, under other weights."""
    [weighed] = weigh(results, weights).children.values()
    groups = {name: results[name].to_dataset() for name in OF_FIT if name in results}
    groups |= {str(name): group.to_dataset() for name, group in weighed.children.items()}
    return join_groups(groups, {**results.attrs, **weighed.attrs})


def read_fit_files(results: xr.DataTree, weights: SpecFile[Weights] | None) -> StudyFiles:
    """Return the files of results, under other weights if any."""
    files = reload_study(results.attrs)
    return files if weights is None else under_weights(files, weights)


def read_fit(
    results: xr.DataTree, files: StudyFiles
) -> tuple[PanelStudy | CrowdStudy, ReplicateDraws]:
    """Return the study of a fit that has converged, and its draws."""
    if "ratings" not in results:
        raise StorageError(NO_RATINGS)
    study = stored_study(files, results["ratings"].to_dataset().load())
    draws = read_draws(results, files, study)
    if draws is None:
        raise SpecError.at("next", NEEDS_FIT)
    for issues in read_convergence_issues(results).values():
        message = f"the fit has not converged, and its draws decide nothing: {issues}"
        raise SpecError.at("next", f"{message}; try sharpbayes fit --retry")
    return study, draws


def _read_costs(study: PanelStudy | CrowdStudy, costs: Mapping[str, float]) -> Costs | None:
    """Return the prices of the study with those of the call over them; None without any."""
    names = PRICES["crowd" if isinstance(study, CrowdStudy) else "panel"]
    SpecError.raise_any(
        Diagnostic(
            "--cost",
            0,
            name,
            f"no price of this name, allowed are {', '.join(names)}{did_you_mean(name, names)}",
        )
        for name in costs
        if name not in names
    )
    if not costs:
        return study.spec.costs
    written = study.spec.costs.model_dump(exclude_none=True) if study.spec.costs else {}
    lines = "\n".join(f"{name} = {value!r}" for name, value in (written | dict(costs)).items())
    try:
        return parse(lines, Path("--cost"), Costs).spec
    except SpecError as error:  # an option has no lines
        raise SpecError(replace(x, line=0) for x in error.diagnostics) from None


def _check_choice(choice: xr.Dataset, study: PanelStudy) -> None:
    """Refuse where there is nothing to choose."""
    tolerance = study.weights.spec.tolerance
    number = int(eligible_models(choice, study.weights.spec).sum())
    if number < 2:  # noqa: PLR2004
        subject, asked = "only one model" if number else "no model", study.weights.spec.decision
        limit = f" within the tolerance with a probability of at least {asked.confidence:g}"
        message = f"{subject} to choose from{limit * (tolerance is not None)}; a choice needs two"
        raise SpecError.at("next", message)
