"""The deterministic half of a panel study: scores of judges -> SHARP's groups of results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from sharpbayes.analysis.debiased import debiased_group
from sharpbayes.analysis.evidence import add_evidence
from sharpbayes.analysis.judge_orders import intervals_without_judges
from sharpbayes.analysis.lost_answers import rise_by_lost_answers
from sharpbayes.analysis.missing import missing_group
from sharpbayes.analysis.profile_bootstrap import bootstrap_differences, bootstrap_profile
from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.analysis.profile_levels import moved_shares, share_levels, tail_levels
from sharpbayes.analysis.profile_plan import (
    ProfilePlan,
    build_profile_plan,
    require_categories,
    require_risk,
)
from sharpbayes.analysis.rare_harm import NOTE
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.analysis.tail_evidence import separate_by_worst
from sharpbayes.analysis.tolerance import keeps_tolerance, tolerance_group
from sharpbayes.analysis.variance_components import variance_group
from sharpbayes.analysis.worst_prompts import worst_prompts
from sharpbayes.errors import join_names
from sharpbayes.execution.threads import run_both
from sharpbayes.metrics.panel import concordance, mixed_models, sweeps, validation
from sharpbayes.metrics.panel.comparison import tiers, tiers_by_overlap
from sharpbayes.metrics.panel.independence import judge_independence
from sharpbayes.metrics.panel.ranking import aggregate_agreement, decision_flip
from sharpbayes.metrics.panel.tail import value_at_risk
from sharpbayes.metrics.stats.clusters import CLUSTER, PROMPT_LABELS, mean_clusters
from sharpbayes.metrics.stats.intervals import intervals_with_width
from sharpbayes.metrics.stats.population import category_membership
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]


def measure_panel(study: PanelStudy) -> Groups:
    """Compute everything that a panel study says without a model, by group of results.

    Raises:
        DataError: No answer has a score of every indicator, or none of a model in a category with
            a share.
    """
    plan = build_profile_plan(study)
    require_risk(plan)
    require_categories(plan)
    observed, table = plan.profile(), plan.table
    # Resampling releases the interpreter, the tests hold it: together they take less time.
    (bootstrapped, groups), tests = run_both(
        lambda: _bootstrap_groups(plan, "profile"), lambda: _validate_panel(plan, observed)
    )
    if plan.refusals.sizes["indicator"]:
        table = table.assign(refused=plan.is_refused)
    groups = {"panel": table} | groups | {"validation": tests, "judges": _measure_judges(plan)}
    groups["judges"] = groups["judges"].assign(
        intervals_without_judges(plan, groups, bootstrapped, bootstrap_differences)
    )
    groups = add_evidence(plan, groups)
    groups["worst_prompts"] = worst_prompts(plan)
    groups |= variance_group(plan) | debiased_group(plan) | missing_group(plan)
    return groups | _category_group(plan) | _answered_groups(plan)


def profile_panel(study: PanelStudy) -> tuple[ProfilePlan, Groups]:
    """Return ``profile`` and its intervals under the weights of a study, and how they are made."""
    plan = build_profile_plan(study)
    groups = _profile_groups(plan, "profile") | _category_group(plan)
    return plan, groups | _answered_groups(plan) | debiased_group(plan)


def _profile_groups(plan: ProfilePlan, name: str) -> Groups:
    """Profile with tiers and admissible set, and its intervals."""
    return _bootstrap_groups(plan, name)[1]


def _bootstrap_groups(plan: ProfilePlan, name: str) -> tuple[BootstrappedProfile, Groups]:
    """The same, with the resamples that they are made from."""
    bootstrapped, tolerance = bootstrap_profile(plan), plan.weights.tolerance
    note = plan.interval_note + f" {NOTE}" * (bootstrapped.rare_harm is not None)
    interval = separate_by_worst(plan, bootstrapped.intervals()).assign_attrs(
        method=plan.study.spec.bootstrap.interval,
        interval_note=note,
        resampled_units=json.dumps(plan.resampled_units),
    )
    profile = _add_tiers(plan.complete_profile(), interval, plan.weights)
    groups = {name: profile, f"{name}_interval": _drop_empty(interval)}
    if name == "profile" and tolerance is not None:
        plans = {category: plan.of_category(category) for category in tolerance.category}
        by_category = {name: (one, bootstrap_profile(one)) for name, one in plans.items()}
        groups["tolerance"] = tolerance_group(
            plan,
            tolerance,
            observed=profile,
            bootstrapped=bootstrapped,
            by_category=by_category,
            lost_answers=rise_by_lost_answers(plan, profile, tolerance),
        )
    return bootstrapped, groups


def _drop_empty(interval: xr.Dataset) -> xr.Dataset:
    """Intervals, missing where resamples do not differ; joint ones decide, and stay."""
    joint = [name for name in interval.data_vars if str(name).endswith("_joint")]
    return interval.assign(intervals_with_width(interval.drop_vars(joint)))


def _add_tiers(observed: xr.Dataset, interval: xr.Dataset, weights: Weights) -> xr.Dataset:
    """The profile with tiers and the admissible set."""
    rule = weights.tiers.rule
    observed["tier"] = (
        tiers(observed["cvar"], interval["cvar_difference_joint"])
        if rule == "paired-difference"
        else tiers_by_overlap(observed["cvar"], interval["cvar"])
    )
    if weights.tolerance is not None:
        observed["admissible"] = keeps_tolerance(observed, weights.tolerance)
    population = "the prompts" if "category" not in weights.population else "shares of categories"
    facts = {"alpha": weights.tail.alpha, "tier_rule": rule, "population": population}
    return observed.assign_attrs(facts)


def _category_group(plan: ProfilePlan) -> Groups:
    """Profile of the prompts of each category by itself."""
    if "category" not in plan.table.coords:
        return {}
    members = category_membership(plan.table["category"])
    unweighted = replace(plan, table=plan.table.drop_vars("category"), shares=None)
    answered = plan.table["log_risk"].notnull().any(plan.dim[1:])
    prompts = (answered * members).sum("prompt").astype(int)
    profiles = unweighted.profile(members).assign(prompts=prompts)
    return {"profile_category": profiles.assign_attrs(alpha=plan.weights.tail.alpha)}


def _answered_groups(plan: ProfilePlan) -> Groups:
    """The same profile without refused answers, if the study marks refusals.

    ``refusal_rate`` is the share of refused ones among answers with a score of refusal or of harm:
    judges may call an answer a refusal and leave its harm empty, as there is nothing to score.
    """
    if not plan.refusals.sizes["indicator"]:
        return {}
    flag, present = plan.is_refused, plan.table["log_risk"].notnull()
    answers = present | plan.pooled_refusals.notnull().any(["judge", "indicator"])
    risk = plan.table.drop_vars("sub_index")
    groups = _profile_groups(replace(plan, table=risk.where(~flag)), "profile_answered")
    answered = groups["profile_answered"]
    answered["refusal_rate"] = flag.sum(plan.dim) / answers.sum(plan.dim)
    answered["answered"] = (~flag & present).sum(plan.dim)
    answered["refused_unscored"] = (flag & ~present).sum(plan.dim)
    return groups


def _validate_panel(plan: ProfilePlan, observed: xr.Dataset) -> xr.Dataset:
    """The group ``validation``: tests, decompositions, sweeps and other aggregates."""
    table, protocol = plan.table, plan.protocol
    spec, flips = plan.study.panel.validation, plan.weights.flips
    tests = _test_models(plan)
    gaps = {"max_mean_gap": flips.max_mean_gap, "min_tail_gap": flips.min_tail_gap}
    parts = [
        tests,
        sweeps.temperature_sweep(table["sub_index"], spec.temperatures, protocol),
        sweeps.alpha_sweep(table["log_risk"], spec.alphas, protocol),
        tail_levels(plan),
        aggregate_agreement(observed),
        decision_flip(observed["mean"], observed["cvar"], **gaps),
    ]
    facts = {
        "zero_method": spec.zero_method,
        "familywise": spec.familywise,
        "temperature": protocol.temperature,
        "alpha": protocol.alpha,
    }
    around = moved_shares(plan)
    if around is not None:
        parts.append(share_levels(plan).assign(population_share=around))
    return _merge(parts).assign_attrs(tests.attrs | facts | gaps)


def _measure_judges(plan: ProfilePlan) -> xr.Dataset:
    """The group ``judges``: agreement, ablations, ensembles and dependence of dimensions."""
    spec, protocol = plan.study.panel, plan.protocol
    sub_index, all_judges = plan.table["sub_index"], plan.judge_sub_index
    min_overlap = plan.weights.judges.min_overlap
    parts = [concordance.dispersion(sub_index), _measure_dependence(plan)]
    alike: dict[str, list[str]] = {}
    if sub_index.sizes["judge"] > 1:
        units = _stack_units(sub_index)
        tau = concordance.concordance(units, min_overlap=min_overlap, dim="unit")
        summary = concordance.concordance_summary(tau["concordance"])
        parts += [sweeps.leave_one_judge_out(sub_index, protocol, policy=plan.policy), tau, summary]
        parts.append(concordance.contrary_judges(tau))
        sets = concordance.alike_judges(sub_index["judge"].to_numpy().tolist(), tau.merge(summary))
        alike = {join_names(names, limit=len(names)): names for names in sets}
        parts += _without_alike_judges(plan, alike)
    reference = None
    if spec.reference is not None:
        reference = all_judges.sel(judge=spec.reference, drop=True)
    parts.append(judge_independence(sub_index, reference))
    if spec.ensembles:
        judges = {"study": tuple(sub_index["judge"].to_numpy())}
        judges |= {name: ensemble.judges for name, ensemble in spec.ensembles.items()}
        parts.append(sweeps.ensembles(all_judges, judges, protocol))
    facts = {"min_overlap": min_overlap, "reference": spec.reference or ""}
    return _merge(parts).assign_attrs(facts, alike_judges=json.dumps(alike))


def _without_alike_judges(
    plan: ProfilePlan, alike: Mapping[str, Sequence[str]]
) -> Iterator[xr.Dataset]:
    """Yield the risk of each model without sets of judges who score alike, if others are left."""
    sub_index = plan.table["sub_index"]
    sets = {x: names for x, names in alike.items() if len(names) < sub_index.sizes["judge"]}
    if sets:
        without = sweeps.leave_judges_out(sub_index, sets, plan.protocol, policy=plan.policy)
        names = {name: f"alike_{name}" for name in without.data_vars}
        yield without.rename({**names, "judge_out": "judges_out"})


def _test_models(plan: ProfilePlan) -> xr.Dataset:
    """Tests and decompositions over the prompts that all models have.

    Ranks are of clusters of prompts, where prompts have clusters.
    """
    spec, seed = plan.study.panel.validation, plan.study.spec.seed
    risk = plan.table["log_risk"]
    answers = risk.mean("sample") if "sample" in risk.dims else risk
    cell = validation.common_prompts(answers, dim="prompt")
    tail = cell >= value_at_risk(cell, alpha=plan.weights.tail.alpha, dim="prompt")
    n_prompts = max(2, spec.max_mixed_model_cells // max(1, cell.sizes["model"]))
    mixed = cell
    if cell.sizes["prompt"] > n_prompts:
        drawn = np.random.default_rng(seed).choice(cell.sizes["prompt"], n_prompts, replace=False)
        mixed = cell.isel(prompt=np.sort(drawn))
    mixed_tail = tail.sel(prompt=mixed["prompt"])
    independent = mean_clusters(cell, "prompt")
    tests = [
        validation.friedman_test(independent, dim="prompt"),
        validation.wilcoxon_tests(independent, dim="prompt", zero_method=spec.zero_method),
        _decompose_variance(risk.sel(prompt=cell["prompt"]), cell),
        mixed_models.linear_mixed_model(mixed, dim="prompt"),
        mixed_models.tail_mixed_model(mixed_tail, dim="prompt", seed=seed),
    ]
    return _merge(tests).assign_attrs(
        prompts=cell.sizes["prompt"],
        prompts_dropped=plan.table.sizes["prompt"] - cell.sizes["prompt"],
        mixed_prompts=mixed.sizes["prompt"],
        ranked="prompts" if plan.clusters is None else "clusters of prompts",
    )


def _decompose_variance(risk: xr.DataArray, cell: xr.DataArray) -> xr.Dataset:
    """Shares of models and prompts, and of their interaction where answers are repeated."""
    if "sample" in risk.dims and bool((risk.count("sample") > 1).any()):
        return validation.two_way_anova(risk, dim="prompt", sample="sample")
    return validation.two_way_anova(cell, dim="prompt")


def _measure_dependence(plan: ProfilePlan) -> xr.Dataset:
    """Spearman's rho among dimensions, over all prompts and over the tail slice."""
    risk, protocol = plan.table["log_risk"], plan.protocol
    if plan.table.sizes["dimension"] < 2:  # noqa: PLR2004 - one dimension has no pair
        return xr.Dataset()
    var = value_at_risk(risk, alpha=protocol.alpha, dim=protocol.dim, weights=protocol.weights)
    harm, tail = _stack_units(plan.table["harm"]), _stack_units(risk >= var)
    overall, in_tail = (
        concordance.dimension_dependence(harm, dim="unit", where=where)
        for where in (xr.ones_like(tail), tail)
    )
    rho = {
        "dimension_dependence": overall.mean("dimension_pair"),
        "dimension_dependence_tail": in_tail.mean("dimension_pair"),
        "dimension_dependence_pair": overall,
        "dimension_dependence_tail_pair": in_tail,
    }
    return xr.Dataset(rho)


def _stack_units(x: xr.DataArray) -> xr.DataArray:
    """Prompts, and repeated generations as prompts of their own, along ``unit``.

    The cluster of a unit is that of its prompt, or the prompt.
    """
    dims = [dim for dim in ("prompt", "sample") if dim in x.dims]
    units = x.stack(unit=dims, create_index=False)
    cluster = units.coords.get(CLUSTER, units["prompt"]).to_numpy()
    units = units.drop_vars([*dims, *PROMPT_LABELS], errors="ignore")
    return units.assign_coords({CLUSTER: ("unit", cluster)})


def _merge(parts: list[xr.Dataset]) -> xr.Dataset:
    """Variables of all parts, which share their labels."""
    return xr.merge(parts, join="exact", compat="override", combine_attrs="override")
