"""Groups of results that follow from a fit's draws: posterior metrics, decision and checks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import xarray as xr

from sharpbayes.analysis.crowd_counts import label_scores
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.analysis.tolerance import tolerance_limits, tolerated_values
from sharpbayes.analysis.tolerance_evidence import restrict_decision
from sharpbayes.metrics.panel.comparison import admissible
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.careless import careless_groups
from sharpbayes.posterior.crowd import CrowdMetrics, posterior_population, unknown_labels_note
from sharpbayes.posterior.debiased import add_posterior
from sharpbayes.posterior.decision import add_tiers, decision
from sharpbayes.posterior.fit_data import Groups
from sharpbayes.posterior.harshness import latent_harshness
from sharpbayes.posterior.judge_bias import has_people, human_draws, human_interval_note
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.predictive_checks import check_replicates
from sharpbayes.posterior.replicates import ReplicateDraws, interval_note
from sharpbayes.posterior.sample_size import crowd_sample_size, panel_sample_size
from sharpbayes.posterior.slopes import equal_columns, equal_draws, equal_facts
from sharpbayes.posterior.study_metrics import StudyMetrics
from sharpbayes.posterior.variance_components import latent_variances
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Weights

Facts = dict[str, Any]
# What is tried around the weights, and the dimension that it adds.
LEVELS = {"posterior_tail_levels": "alpha", "posterior_share_levels": "moved_category"}


def posterior_groups(
    metrics: StudyMetrics, model: Model, draws: ReplicateDraws, measured: Groups
) -> Groups:
    """Return every group that posterior draws add to those of the deterministic metrics."""
    study = metrics.study
    if isinstance(metrics, CrowdMetrics):
        groups = crowd_groups(metrics, model, draws, measured)
        latent = latent_harshness(metrics.study, draws)
        if latent is not None:
            observed = measured["harshness_difference"]
            groups["harshness_difference"] = observed.assign(latent).assign_attrs(latent.attrs)
        if "sample_size" in groups:
            parts = [measured["sample_size"], groups["sample_size"]]
            groups["sample_size"] = xr.merge(parts, join="exact", combine_attrs="no_conflicts")
    else:
        groups = panel_groups(metrics, draws, {"": measured})[""]
        if "variance_components" in measured:
            level = study.spec.bootstrap.level
            latent = latent_variances(draws.posterior, draws.design, study.ratings, level=level)
            parts = [measured["variance_components"], latent]
            groups["variance_components"] = xr.merge(
                parts, join="outer", compat="no_conflicts", combine_attrs="no_conflicts"
            ).sel(component=latent["component"])
        groups["predictive_checks"] = check_replicates(
            metrics, draws, study.ratings, groups["posterior_profile"]
        )
    return groups


def panel_groups(
    metrics: PanelMetrics, draws: ReplicateDraws, measured: Mapping[str, Groups]
) -> dict[str, Groups]:
    """Return the posterior profiles and the decision under each weights file.

    ``measured`` has ``profile`` and ``profile_interval`` by the name of the weights file, in the
    order of the plans of ``metrics``. Returned are for each name ``posterior_profile``, one more
    for each further list of sources, such as ``posterior_profile_ratings_prompts``, ``decision``
    and, where a pair is unresolved, ``sample_size``. ``posterior_tail_levels`` has CVaR at every
    tail level that the study tries, from the draws of the first list, and
    ``posterior_share_levels``, for a target population, criteria at other shares of categories.
    Where people scored too, ``posterior_profile_human`` and ``decision_human`` have people in
    place of the judges, and ``debiased`` has the posterior beside estimates without a model. With
    slopes of other columns than those of prompts, ``posterior_profile_equal`` and
    ``decision_equal`` have every answer at the centre of these columns.
    """
    study, plans = metrics.study, dict(zip(measured, metrics.plans, strict=True))
    spec, level = study.spec, study.spec.bootstrap.level
    groups: dict[str, Groups] = {name: {} for name in plans}

    def add(group: str, draws: ReplicateDraws, sources: Sequence[str], about: Facts) -> None:
        facts = {"sources": list(sources), "level": level, **about}
        first = group == "posterior_profile"
        profiles = metrics.measure(draws, sources, levels=first)
        for (name, plan), profile in zip(plans.items(), profiles, strict=True):
            groups[name] |= {key: of.assign_attrs(facts) for key, of in _levels(profile)}
            if first:
                groups[name] |= _posterior_tolerance(profile, measured[name], plan.weights)
            groups[name][group] = add_tiers(
                profile.drop_dims(list(LEVELS.values()), errors="ignore"),
                measured[name],
                plan.weights,
            ).assign_attrs(facts, alpha=plan.weights.tail.alpha)

    for number, sources in enumerate(spec.uncertainties):
        about = {"interval_note": interval_note(sources, level=level)}
        add("_".join(("posterior_profile", *(sources if number else ()))), draws, sources, about)
    sources = spec.uncertainties[0]
    for suffix, other_draws, about in _other_ratings(study, draws, sources):
        add(f"posterior_profile_{suffix}", other_draws, sources, about)
    for name, plan in plans.items():
        for suffix in ("", "_human", "_equal"):
            profile = groups[name].get(f"posterior_profile{suffix}")
            if profile is not None:
                decided = decision(profile, plan.weights, level=level)
                # Probabilities of single limits are those of the first profile.
                limited = measured[name] if suffix else measured[name] | groups[name]
                groups[name][f"decision{suffix}"] = restrict_decision(
                    decided, limited.get("tolerance"), measured[name].get("evidence")
                )
    _add_debiased(groups, metrics, draws, measured)
    decisions = [groups[name]["decision"] for name in plans]
    tables = panel_sample_size(metrics, draws, decisions, sources=spec.sources)
    for number, table in tables.items():
        groups[list(plans)[number]]["sample_size"] = table
    return groups


def _posterior_tolerance(profile: xr.Dataset, measured: Groups, weights: Weights) -> Groups:
    """Return the group ``tolerance`` with the probability that each limit is kept, if any."""
    if weights.tolerance is None:
        return {}
    tolerance, limits = measured["tolerance"], tolerance_limits(weights.tolerance)
    values = tolerated_values(profile, weights.tolerance)
    within = admissible(values, limits).where(values.notnull())
    probability = within.mean(DRAWS, skipna=False).transpose("model", "threshold")
    return {"tolerance": tolerance.assign(prob_within=probability.drop_attrs())}


def _add_debiased(
    groups: dict[str, Groups],
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    measured: Mapping[str, Groups],
) -> None:
    """Add people alone, PPI++ and the posterior of people's scores, where people scored."""
    if not any("debiased" in group for group in measured.values()):
        return
    people, sources = human_draws(draws, metrics.study.ratings), metrics.study.spec.uncertainties[0]
    for number, (name, group) in enumerate(measured.items()):
        if "debiased" in group:
            groups[name]["debiased"] = add_posterior(
                group["debiased"], metrics, people, sources=sources, number=number
            )


def _levels(profile: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield what is tried around the weights, by the name of its group."""
    for group, dim in LEVELS.items():
        names = [name for name, values in profile.items() if dim in values.dims]
        if names:
            yield group, profile[names]


def _other_ratings(
    study: PanelStudy, draws: ReplicateDraws, sources: Sequence[str]
) -> Iterator[tuple[str, ReplicateDraws, Facts]]:
    """Yield name, draws and facts of other ratings: by people, and at equal numbers."""
    level = study.spec.bootstrap.level
    if has_people(study.ratings):
        note = human_interval_note(sources, level=level)
        yield "human", human_draws(draws, study.ratings), {"interval_note": note}
    if equal_columns(draws.design):
        yield "equal", equal_draws(draws), equal_facts(draws.design, sources, level=level)


def crowd_groups(
    metrics: CrowdMetrics, model: Model, draws: ReplicateDraws, measured: Groups
) -> Groups:
    """Return the posterior responsiveness for each list of sources, checks and the sample size.

    With slopes of raters or ratings, ``posterior_responsiveness_equal`` has all of them at the
    centre of their columns.
    """
    study, spec = metrics.study, metrics.study.spec
    level = spec.bootstrap.level
    groups: Groups = {}
    for sources in spec.uncertainties:
        [responsiveness] = metrics.measure(draws, sources)
        suffix = sources if groups else ()
        groups["_".join(("posterior_responsiveness", *suffix))] = responsiveness.assign_attrs(
            remark=unknown_labels_note(study.crowd, model),
            interval_note=interval_note(sources, level=level),
            sources=list(sources),
            level=level,
        )
    if equal_columns(draws.design):
        sources = spec.uncertainties[0]
        [responsiveness] = metrics.measure(equal_draws(draws), sources)
        groups["posterior_responsiveness_equal"] = responsiveness.assign_attrs(
            equal_facts(draws.design, sources, level=level), sources=list(sources), level=level
        )
    groups["predictive_checks"] = check_replicates(
        metrics, draws, study.ratings, groups["posterior_responsiveness"]
    )
    pairs = measured["responsiveness_difference"]
    groups |= crowd_sample_size(metrics, draws, pairs, sources=spec.sources, level=level)
    groups |= careless_groups(study, draws, model)
    population = posterior_population(study, draws, model, shares=True)
    return label_scores(groups | population, study.data)
