"""The deterministic half of a panel study: scores of judges -> SHARP's groups of results."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.panel_validation import measure_judges, validate_panel
from sharpbayes.analysis.profile_plan import ProfilePlan, build_profile_plan
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.execution.threads import run_both
from sharpbayes.metrics.panel.comparison import admissible, separable, tiers, tiers_by_overlap
from sharpbayes.metrics.stats.intervals import bca_interval, percentile_interval
from sharpbayes.metrics.stats.population import category_membership, flag_refusals
from sharpbayes.metrics.stats.resampling import block_size, bootstrap, jackknife
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]


def measure_panel(study: PanelStudy) -> Groups:
    """Compute everything that a panel study says without a model, by group of results.

    ``profile_category`` needs categories of prompts, ``profile_answered`` marks of refusals.
    """
    plan = build_profile_plan(study)
    observed, table = plan.profile(), plan.table
    # Resampling releases the interpreter, the tests hold it: together they take less time.
    groups, validation = run_both(
        lambda: _profile_groups(plan, "profile"), lambda: validate_panel(plan, observed)
    )
    if plan.refusals.sizes["indicator"]:
        table = table.assign(refused=_flag_refused(plan) & table["log_risk"].notnull())
    groups = {"panel": table} | groups | {"validation": validation}
    groups["judges"] = measure_judges(plan)
    return groups | _category_group(plan) | _answered_groups(plan)


def profile_panel(study: PanelStudy) -> tuple[ProfilePlan, Groups]:
    """Return ``profile`` and its intervals under the weights of a study, and how they are made."""
    plan = build_profile_plan(study)
    groups = _profile_groups(plan, "profile") | _category_group(plan)
    return plan, groups | _answered_groups(plan)


def _profile_groups(plan: ProfilePlan, name: str) -> Groups:
    """Profile with tiers and admissible set, and its percentile and BCa intervals."""
    observed, boot, prompts = plan.profile(), plan.study.spec.bootstrap, plan.table["prompt"]
    block = block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim])))
    resampled = bootstrap(
        plan.profile_resample,
        prompts,
        replicates=boot.replicates,
        seed=plan.study.spec.seed,
        dim="prompt",
        block=block,
    )
    jackknifed = jackknife(plan.profile, prompts, dim="prompt", block=block)
    percentile = _intervals(partial(percentile_interval, level=boot.level), resampled)
    bca = _intervals(partial(bca_interval, level=boot.level), resampled, observed, jackknifed)
    percentile.attrs["interval_note"] = plan.interval_note("percentile")
    bca.attrs["interval_note"] = plan.interval_note("BCa")
    observed = _add_tiers(observed, percentile, plan.weights)
    return {name: observed, f"{name}_interval": percentile, f"{name}_interval_bca": bca}


def _intervals(interval: Callable[..., xr.Dataset], *statistics: xr.Dataset) -> xr.Dataset:
    """Intervals of every statistic and of every pairwise CVaR difference, model by model.

    Of a hundred models all differences of all resamples at once would take gigabytes.
    """
    intervals = interval(*statistics)
    cvars = [statistic["cvar"] for statistic in statistics]
    models = cvars[0].sizes["model"]
    differences = [
        interval(*(cvar.isel(model=[model]) - cvar.rename(model="other") for cvar in cvars))
        for model in range(models)
    ]
    intervals["cvar_difference"] = xr.concat(differences, "model")
    intervals["separable"] = separable(intervals["cvar_difference"])
    # The table holds both orders of every pair, and no pair on the diagonal.
    pairs = models * (models - 1) or np.nan
    intervals["separable_share"] = intervals["separable"].sum() / pairs
    return intervals


def _add_tiers(observed: xr.Dataset, interval: xr.Dataset, weights: Weights) -> xr.Dataset:
    """The profile with tiers and the admissible set."""
    rule = weights.tiers.rule
    observed["tier"] = (
        tiers(observed["cvar"], interval["cvar_difference"])
        if rule == "paired-difference"
        else tiers_by_overlap(observed["cvar"], interval["cvar"])
    )
    if weights.tolerance is not None:
        observed["admissible"] = admissible(observed["cvar"], weights.tolerance.cvar)
    population = "the prompts" if "category" not in weights.population else "shares of categories"
    facts = {"alpha": weights.tail.alpha, "tier_rule": rule, "population": population}
    return observed.assign_attrs(facts)


def _category_group(plan: ProfilePlan) -> Groups:
    """Profile of the prompts of each category by itself."""
    if "category" not in plan.table.coords:
        return {}
    members = category_membership(plan.table["category"])
    unweighted = replace(plan, table=plan.table.drop_vars("category"), shares=None)
    prompts = members.sum("prompt").astype(int)
    profiles = unweighted.profile(members).assign(prompts=prompts)
    return {"profile_category": profiles.assign_attrs(alpha=plan.weights.tail.alpha)}


def _answered_groups(plan: ProfilePlan) -> Groups:
    """The same profile without refused answers, if the study marks refusals."""
    if not plan.refusals.sizes["indicator"]:
        return {}
    flag, present = _flag_refused(plan), plan.table["log_risk"].notnull()
    risk = plan.table.drop_vars("sub_index")
    groups = _profile_groups(replace(plan, table=risk.where(~flag)), "profile_answered")
    answered = groups["profile_answered"]
    answered["refusal_rate"] = (flag & present).sum(plan.dim) / present.sum(plan.dim)
    answered["answered"] = (~flag & present).sum(plan.dim)
    return groups


def _flag_refused(plan: ProfilePlan) -> xr.DataArray:
    """Which answers the pooled judges call refusals."""
    pooled = plan.refusals.sel(judge=plan.table["judge"].to_numpy())
    return flag_refusals(pooled, cut=plan.weights.refusals.cut)
