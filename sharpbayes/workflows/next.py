"""Next: stop or go on, and which ratings to buy, from the draws of a fit."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import xarray as xr

from sharpbayes.analysis.panel import profile_panel
from sharpbayes.analysis.profile_plan import build_profile_plan
from sharpbayes.analysis.stored_ratings import stored_study
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.errors import Diagnostic, SpecError, StorageError, did_you_mean
from sharpbayes.posterior.decision import add_tiers, decision
from sharpbayes.posterior.next_ratings import plan_purchases
from sharpbayes.posterior.panel import PanelMetrics, rating_positions
from sharpbayes.posterior.replicates import ReplicateDraws
from sharpbayes.spec.consistency import check_files
from sharpbayes.spec.costs import Costs
from sharpbayes.spec.files import SpecFile, StudyFiles
from sharpbayes.spec.load import parse, reload_study
from sharpbayes.spec.weights import Weights
from sharpbayes.workflows.context import join_groups
from sharpbayes.workflows.weigh import NO_RATINGS, profile_draws, read_draws

# Root attributes of the results that the plan keeps.
KEPT = ("title", "created", "status", "data_sha256", "study_sha256")
PURCHASES = 100
NEEDS_FIT = (
    "these results hold no posterior draws with replicated ratings, from which the worth of "
    "further ratings is computed; run `sharpbayes fit` of the study, with "
    "sampler.predictive_draws above 0"
)


def plan_next(
    results: xr.DataTree,
    *,
    weights: SpecFile[Weights] | None = None,
    costs: Mapping[str, float] | None = None,
    number: int = PURCHASES,
) -> xr.DataTree:
    """Tell whether to stop or to go on, and which ratings to buy next.

    Args:
        results: Of a fit of a panel that has converged, from :func:`sharpbayes.open_results`.
        weights: Weights that decide; None for those of the results. Their ``loss`` in
            ``[decision]`` is the price of a loss.
        costs: Prices over those of the study, by their names in ``[costs]``.
        number: Largest number of purchases that are listed.

    Returns:
        The group ``next`` with the list, its gain and its net gain at several lengths; its
        attribute ``verdict`` is ``go on``, ``stop`` or ``cannot tell``. Nothing is fitted again.

    Raises:
        SpecError: Results of a measurement, of a crowd, of a fit that has not converged or of one
            model alone; unknown names of prices.
        StorageError: Results without ratings.
    """
    files = read_fit_files(results, weights)
    study, draws = read_fit(results, files)
    prices = _read_costs(study, costs or {})
    plan = build_profile_plan(study)
    metrics = PanelMetrics([plan], rating_positions(study))
    if weights is None and "posterior_profile" in results:
        profile = results["posterior_profile"].to_dataset().load()
        chosen = results["decision"].to_dataset().load()
    else:
        _, measured = profile_panel(study)
        profile = add_tiers(profile_draws(study, draws), measured, study.weights.spec)
        chosen = decision(profile, study.weights.spec, level=study.spec.bootstrap.level)
    _check_choice(chosen, study)
    group = plan_purchases(metrics, draws, profile, chosen, costs=prices, number=number)
    group = heed_evidence(group, results)
    roles = study.panel.roles
    columns = {f"{name}_column": getattr(roles, name) for name in ("model", "prompt", "judge")}
    facts = {key: results.attrs[key] for key in KEPT if key in results.attrs}
    file = study.weights
    facts |= {"weights": file.text, "weights_path": str(file.path)}
    return join_groups({"next": group.assign_attrs(columns)}, facts)


def heed_evidence(group: xr.Dataset, results: xr.DataTree) -> xr.Dataset:
    """Return the plan that stops for no gain, with what the evidence does not carry of it.

    Where a study cannot tell which model is lowest, the certainty of the fit is that of its model:
    that no purchase would change the choice is then no reason to stop.
    """
    is_by_tail = group.attrs["criterion"] == "cvar" and "evidence" in results
    if group.attrs["best_size"] or not is_by_tail:
        return group
    facts = results["evidence"].attrs
    if "lowest" in json.loads(facts["carried"]):
        return group
    [limit, *_] = json.loads(facts["limits"])
    return group.assign_attrs(limit=limit, verdict="cannot tell")


def read_fit_files(results: xr.DataTree, weights: SpecFile[Weights] | None) -> StudyFiles:
    """Return the files of results, under other weights if any."""
    files = reload_study(results.attrs)
    if files.study.spec.panel is None:
        message = (
            "not results of a panel; for a crowd the table of the sample size says how many raters "
            "and items an interval needs: sharpbayes report --text"
        )
        raise SpecError.at("next", message)
    if weights is not None:
        spec = files.study.spec.model_copy(update={"weights": weights.path.stem})
        files = replace(files, study=replace(files.study, spec=spec), weights=weights)
        check_files(files)
    return files


def read_fit(results: xr.DataTree, files: StudyFiles) -> tuple[PanelStudy, ReplicateDraws]:
    """Return the study of a fit that has converged, and its draws."""
    if "ratings" not in results:
        raise StorageError(NO_RATINGS)
    study = stored_study(files, results["ratings"].to_dataset().load())
    if not isinstance(study, PanelStudy):
        raise SpecError.at("next", "not results of a panel")
    draws = read_draws(results, files, study)
    if draws is None:
        raise SpecError.at("next", NEEDS_FIT)
    if "diagnostics" in results and not bool(results["diagnostics"]["converged"]):
        issues = results["diagnostics"].attrs["convergence_issues"]
        message = f"the fit has not converged, and its draws decide nothing: {issues}"
        raise SpecError.at("next", f"{message}; try sharpbayes fit --retry")
    return study, draws


def _read_costs(study: PanelStudy, costs: Mapping[str, float]) -> Costs | None:
    """Return the prices of the study with those of the call over them; None without any."""
    known = tuple(Costs.model_fields)
    SpecError.raise_any(
        Diagnostic(
            "--cost",
            0,
            name,
            f"no price of this name, allowed are {', '.join(known)}{did_you_mean(name, known)}",
        )
        for name in costs
        if name not in known
    )
    if not costs:
        return study.spec.costs
    written = study.spec.costs.model_dump(exclude_none=True) if study.spec.costs else {}
    lines = "\n".join(f"{name} = {value!r}" for name, value in (written | dict(costs)).items())
    return parse(lines, Path("--cost"), Costs).spec


def _check_choice(chosen: xr.Dataset, study: PanelStudy) -> None:
    """Refuse where there is nothing to choose."""
    allowed = chosen["expected_loss"].notnull()
    tolerance = study.weights.spec.tolerance
    if tolerance is not None:
        allowed &= chosen["prob_admissible"] >= study.weights.spec.decision.confidence
    number = int(allowed.sum())
    if number < 2:  # noqa: PLR2004
        who = "one model" if number else "no model"
        limit = " that the tolerance admits" if tolerance is not None else ""
        message = f"{who} to choose from{limit}; a choice needs two"
        raise SpecError.at("next", message)
