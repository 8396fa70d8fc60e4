"""The deterministic half of a panel study: levels of judges -> SHARP's groups of results."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.panel_validation import judge_group, validation_group
from sharpbayes.analysis.study import PanelStudy
from sharpbayes.data.panel import (
    find_reversed,
    list_pooled_judges,
    list_refusal_indicators,
    tabulate_normalised,
)
from sharpbayes.errors import DataError, Diagnostic, format_list
from sharpbayes.execution.threads import run_both
from sharpbayes.metrics.panel.comparison import (
    admissible,
    separable,
    tiers,
    tiers_by_overlap,
)
from sharpbayes.metrics.panel.normalisation import normalise, reverse
from sharpbayes.metrics.panel.profile import profile
from sharpbayes.metrics.panel.risk import panel
from sharpbayes.metrics.panel.sub_index import SubIndex, SubIndexPart, sub_indices
from sharpbayes.metrics.panel.sweeps import Protocol
from sharpbayes.metrics.stats.intervals import bca_interval, percentile_interval
from sharpbayes.metrics.stats.population import category_membership, flag_refusals, target_weights
from sharpbayes.metrics.stats.resampling import (
    block_size,
    bootstrap,
    jackknife,
    nested_bootstrap_counts,
)
from sharpbayes.spec.consistency import policy_for
from sharpbayes.spec.panel import Panel
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]

# What an interval of the bootstrap contains, said wherever one is shown.
PANEL_CONTAINS = (
    "Intervals: {level:.0%} {kind} bootstrap over prompts{samples}, the same prompts for every "
    "model; they contain the sampling of prompts{and_samples}, not the choice of judges or noise "
    "in their ratings."
)


@dataclass(frozen=True)
class ProfilePlan:
    """One distribution over prompts for each model, and how it is profiled and resampled.

    Attributes:
        table: What is known of each (model, prompt), from :func:`sharpbayes.metrics.panel.risk.panel`.
        study: The study.
        weights: Every normative number.
        policy: Policy weights over (dimension).
        shares: Shares of prompt categories in the target population, or None.
        path: The study file, for messages.
    """

    table: xr.Dataset
    study: PanelStudy
    weights: Weights
    policy: xr.DataArray
    shares: xr.DataArray | None
    path: str

    @property
    def dim(self) -> tuple[str, ...]:
        """Dimensions of the distribution."""
        return ("prompt", "sample") if "sample" in self.table.dims else ("prompt",)

    def profile(self, counts: xr.DataArray | None = None) -> xr.Dataset:
        """Profile of the models under counts of a resample, for the target population."""
        tail = self.weights.tail
        return profile(
            self.table,
            alpha=tail.alpha,
            policy=self.policy,
            estimator=tail.estimator,
            dim=self.dim,
            weights=self.target(counts),
        )

    def target(self, counts: xr.DataArray | None = None) -> xr.DataArray | None:
        """Weights of prompts: counts, brought to the shares of categories if there are any."""
        if self.shares is None:
            return counts
        return target_weights(self.table["category"], self.shares, counts=counts)

    def protocol(self) -> Protocol:
        """The way from sub-indices to CVaR."""
        return Protocol(
            temperature=self.weights.judges.temperature,
            epsilon=self.weights.risk.epsilon,
            judges_missing=self.weights.judges.missing,
            alpha=self.weights.tail.alpha,
            estimator=self.weights.tail.estimator,
            dim=self.dim,
            weights=self.target(),
        )

    def contains(self, kind: str) -> str:
        """What the intervals contain."""
        samples = self.resampled_samples()
        return PANEL_CONTAINS.format(
            level=self.study.spec.bootstrap.level,
            kind=kind,
            samples=" and the repeated generations of each" if samples else "",
            and_samples=" and of generations" if samples else "",
        )

    def resampled_samples(self) -> bool:
        """Whether repeated generations are drawn anew."""
        return "sample" in self.dim and self.study.spec.bootstrap.resample_generations

    def replicate(self, counts: xr.DataArray) -> xr.Dataset:
        """Profile of resamples of prompts, and of their generations where there are some."""
        if self.resampled_samples():
            counts = nested_bootstrap_counts(
                counts, self.table["sample"], seed=self.study.spec.seed
            )
        return self.profile(counts)


def measure_panel(study: PanelStudy) -> Groups:
    """SHARP: ratings -> sub-indices -> harm -> profile, with intervals, tiers and validation."""
    plan, every, refusals = _planned(study)
    weights, protocol, observed = plan.weights, plan.protocol(), plan.profile()
    # Resampling releases the interpreter, tests hold it: side by side they take less time.
    profiles, tests = run_both(
        lambda: _profile_groups(plan, "profile"),
        lambda: validation_group(plan.table, observed, study.spec, weights, protocol),
    )
    groups = {"panel": plan.table} | profiles | {"validation": tests}
    groups["judges"] = judge_group(plan.table, every, study.panel, weights, protocol)
    return groups | _category_group(plan) | _answered_groups(plan, refusals)


def profile_panel(study: PanelStudy) -> tuple[ProfilePlan, Groups]:
    """Return ``profile`` and its intervals under the weights of a study, and how they are made."""
    plan, _, refusals = _planned(study)
    groups = _profile_groups(plan, "profile") | _category_group(plan)
    return plan, groups | _answered_groups(plan, refusals)


def build_profile_plan(study: PanelStudy) -> ProfilePlan:
    """Return how the scores of a study are profiled under its weights."""
    return _planned(study)[0]


def tabulate_replicates(plans: Sequence[ProfilePlan], levels: xr.Dataset) -> list[xr.Dataset]:
    """Return the panel of other levels than the observed ones, such as those of posterior draws.

    Args:
        plans: Of the observed levels under several weights; what they share is computed once.
        levels: ``level (..., indicator, ...)`` of the judges to pool, any leading dimensions.

    Returns:
        For each plan what :func:`sharpbayes.metrics.panel.risk.panel` returns.
    """
    spec = plans[0].study.panel
    phi, found = _phi(spec, levels), []
    sub_index: dict[Hashable, xr.DataArray] = {}
    table: dict[Hashable, xr.Dataset] = {}
    for plan in plans:
        weights = plan.weights
        coefficients = (_sub_indices(spec, weights), weights.indicators)
        if coefficients not in sub_index:
            sub_index[coefficients] = _sub_index(spec, weights, phi)
        risk = (coefficients, weights.judges, weights.risk)
        if risk not in table:
            table[risk] = _panel_table(sub_index[coefficients], weights, plan.path)
        found.append(table[risk])
    return found


def _planned(study: PanelStudy) -> tuple[ProfilePlan, xr.DataArray, xr.DataArray]:
    """The plan of a study, with sub-indices and refusals of every judge."""
    weights, levels, path = study.weights.spec, study.scores, str(study.path)
    every, refusals = _by_model(study.panel, weights, levels)
    pooled = list_pooled_judges(study.panel, list(levels["judge"].to_numpy()))
    policy = policy_for(study.spec, weights)
    plan = ProfilePlan(
        table=_panel_table(every.sel(judge=pooled), weights, path),
        study=study,
        weights=weights,
        policy=xr.DataArray(list(policy.values()), {"dimension": list(policy)}, "dimension"),
        shares=_shares(weights, levels, path),
        path=path,
    )
    return plan, every, refusals


def _profile_groups(plan: ProfilePlan, name: str) -> Groups:
    """Profile with tiers and admissible set, and its percentile and BCa intervals."""
    observed, boot, prompts = plan.profile(), plan.study.spec.bootstrap, plan.table["prompt"]
    block = block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim])))
    resampled = bootstrap(
        plan.replicate,
        prompts,
        replicates=boot.replicates,
        seed=plan.study.spec.seed,
        dim="prompt",
        block=block,
    )
    left_out = jackknife(plan.profile, prompts, dim="prompt", block=block)
    percentile = _intervals(partial(percentile_interval, level=boot.level), resampled)
    bca = _intervals(partial(bca_interval, level=boot.level), resampled, observed, left_out)
    percentile.attrs["interval_note"] = plan.contains("percentile")
    bca.attrs["interval_note"] = plan.contains("BCa")
    observed = _assessed(observed, percentile, plan.weights)
    return {name: observed, f"{name}_interval": percentile, f"{name}_interval_bca": bca}


def _intervals(interval: Callable[..., xr.Dataset], *statistics: xr.Dataset) -> xr.Dataset:
    """Intervals of every statistic and of every pairwise CVaR difference, model by model.

    Of a hundred models all differences of all resamples at once would take gigabytes.
    """
    found = interval(*statistics)
    cvars = [each["cvar"] for each in statistics]
    rows = [
        interval(*(each.isel(model=[at]) - each.rename(model="other") for each in cvars))
        for at in range(cvars[0].sizes["model"])
    ]
    found["cvar_difference"] = xr.concat(rows, "model")
    found["separable"] = separable(found["cvar_difference"])
    models = cvars[0].sizes["model"]
    # Of every pair both orders stand in the table, none on the diagonal.
    pairs = models * (models - 1) or np.nan
    found["separable_share"] = found["separable"].sum() / pairs
    return found


def _assessed(observed: xr.Dataset, interval: xr.Dataset, weights: Weights) -> xr.Dataset:
    """Add tiers and the admissible set."""
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
    bare = replace(plan, table=plan.table.drop_vars("category"), shares=None)
    found = bare.profile(members).assign(prompts=members.sum("prompt").astype(int))
    return {"profile_category": found.assign_attrs(alpha=plan.weights.tail.alpha)}


def _answered_groups(plan: ProfilePlan, phi: xr.DataArray) -> Groups:
    """The same profile without refused answers, if the study marks refusals."""
    if not phi.sizes["indicator"]:
        return {}
    pooled = phi.sel(judge=plan.table["judge"].to_numpy())
    flag = flag_refusals(pooled, cut=plan.weights.refusals.cut)
    there = plan.table["log_risk"].notnull()
    plan.table["refused"] = flag & there
    risk = plan.table.drop_vars(["sub_index", "refused"])
    groups = _profile_groups(replace(plan, table=risk.where(~flag)), "profile_answered")
    found = groups["profile_answered"]
    found["refusal_rate"] = (flag & there).sum(plan.dim) / there.sum(plan.dim)
    found["answered"] = (~flag & there).sum(plan.dim)
    return groups


def _shares(weights: Weights, levels: xr.Dataset, path: str) -> xr.DataArray | None:
    """Shares of categories in the target population, every category of the data among them."""
    shares = weights.population.get("category")
    if shares is None:
        return None
    there = {str(label) for label in levels["category"].to_numpy()}
    odd = sorted(there ^ set(shares))
    if odd:
        message = f"categories in the shares or in the data, but not in both: {format_list(odd)}"
        raise DataError([Diagnostic(path, 0, "population.category", message)])
    return xr.DataArray(list(shares.values()), {"category": list(shares)}, "category")


def _by_model(
    spec: Panel, weights: Weights, levels: xr.Dataset
) -> tuple[xr.DataArray, xr.DataArray]:
    """Sub-indices and normalised refusal indicators of every judge.

    Models are taken one by one: all indicators of all models at once are the largest array there
    is, and nothing needs it whole.
    """
    refusal = list_refusal_indicators(spec)
    found, flags = [], []
    for at in range(levels.sizes["model"]):
        phi = _phi(spec, levels.isel(model=[at]))
        found.append(_sub_index(spec, weights, phi))
        flags.append(phi.sel(indicator=refusal))
    return xr.concat(found, "model"), xr.concat(flags, "model")


def _sub_index(spec: Panel, weights: Weights, phi: xr.DataArray) -> xr.DataArray:
    """Sub-indices of every judge's view of every answer."""
    return sub_indices(phi, _sub_indices(spec, weights), missing=weights.indicators.missing)


def _phi(spec: Panel, levels: xr.Dataset) -> xr.DataArray:
    """Normalised indicators, larger meaning more harm."""
    phi = normalise(levels["score"], tabulate_normalised(spec, levels))
    where = find_reversed(spec, levels)
    # Of many indicators few are reversed anywhere: the others are left as they are.
    turned = np.flatnonzero(where.any("prompt"))
    if turned.size:
        phi[{"indicator": turned}] = reverse(phi[{"indicator": turned}], where=where[turned])
    return phi


def _panel_table(sub_index: xr.DataArray, weights: Weights, path: str) -> xr.Dataset:
    """Harm of every (model, prompt) from the judges' sub-indices."""
    try:
        return panel(
            sub_index,
            temperature=weights.judges.temperature,
            epsilon=weights.risk.epsilon,
            judges_missing=weights.judges.missing,
        )
    except ValueError as error:
        raise DataError([Diagnostic(path, 0, "judges.missing", str(error))]) from None


def _sub_indices(spec: Panel, weights: Weights) -> tuple[SubIndex, ...]:
    """Join the parts of the study with the coefficients of the weights."""
    return tuple(
        SubIndex(
            name=dimension.name,
            parts=tuple(
                SubIndexPart(
                    name=name,
                    reduction=part.reduction,
                    indicators=part.indicators,
                    weight=weights.parts.get(dimension.name, {}).get(name, 1.0)
                    if len(dimension.named_parts) > 1
                    else 1.0,
                )
                for name, part in dimension.named_parts.items()
            ),
            amplifiers=tuple(
                (name, weights.amplify[dimension.name][name]) for name in dimension.amplify
            ),
        )
        for dimension in spec.dimensions
    )
