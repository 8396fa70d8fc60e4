"""What the prompts and judges of a panel can carry, as the group ``evidence`` of its results."""

import xarray as xr

from sharpbayes.analysis.evidence_limits import PAIRS, state_limits
from sharpbayes.analysis.lost_answers import lost_evidence
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.repeated_answers import describe_generations
from sharpbayes.analysis.tail_evidence import is_lower_by_ties, measure_tail
from sharpbayes.analysis.tail_remarks import describe_unsupported_limits
from sharpbayes.analysis.tolerance import limits_tails
from sharpbayes.analysis.tolerance_evidence import restrict_verdicts
from sharpbayes.analysis.unequal_judges import count_trials, shift_order
from sharpbayes.analysis.unseen_ends import unseen_ends
from sharpbayes.data.intraclass import describe_clusters, describe_correlations
from sharpbayes.data.own_judges import describe_own_judges, pair_own_judges
from sharpbayes.metrics.panel.evidence import count_prompts, counted_answers, saturation, ties
from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.panel.sweeps import epsilon_sweep, leave_judges_out
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.spec.panel import Panel

# A tail in which this share of the prompts is saturated depends on epsilon more than on harm.
SATURATED_TAIL = 0.1


def add_evidence(plan: ProfilePlan, groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Return the groups of a panel with ``evidence``, and verdicts that it carries."""
    evidence = panel_evidence(
        plan, groups["profile"], groups["profile_interval"], tolerance=groups.get("tolerance")
    )
    groups = groups | {"evidence": evidence}
    if "tolerance" in groups:
        groups["tolerance"] = restrict_verdicts(groups["tolerance"], evidence)
    return groups


def panel_evidence(
    plan: ProfilePlan,
    profile: xr.Dataset,
    intervals: xr.Dataset,
    *,
    tolerance: xr.Dataset | None = None,
) -> xr.Dataset:
    """Return the group ``evidence`` of a panel with this profile, its intervals and ``tolerance``.

    Over (model, judge) and (judge) what :func:`judge_evidence` returns; over (model) what
    :func:`sharpbayes.analysis.tail_evidence.measure_tail` and
    :func:`sharpbayes.analysis.unseen_ends.unseen_ends` do, ``prompts``,
    ``effective_prompts`` of a mean, ``saturated_share``, ``tail_size``, ``saturated_tail``,
    ``saturated_tail_share``, ``top_share`` (of the
    prompts, those of the largest log-risk) and ``needs_policy_score``; over (model, other) ``tied``
    and ``identical``; where a model lacks more answers than another what :func:`lost_evidence`
    returns; over (epsilon, model) ``epsilon_mean``, and ``epsilon_cvar`` with its rank
    agreement. Attributes ``limits`` and ``carried`` are JSON lists; ``weighted`` is 1 where prompts
    have target shares, ``clusters`` is how many clusters of prompts there are, where prompts have
    clusters, and ``tail_unit`` is what a tail has several of: ``prompt``, or ``answer``
    where there are more to a prompt.
    """
    table, protocol, shares = plan.table, plan.protocol, plan.target_weights()
    counted = counted_answers(table["log_risk"], weights=shares)
    tail = measure_tail(plan, profile)
    saturated = saturation(
        table["harm"],
        table["log_risk"],
        profile["var"],
        epsilon=protocol.epsilon,
        weights=shares,
    )
    epsilons = plan.study.panel.validation.epsilons
    evidence = xr.Dataset(
        {
            "prompts": count_prompts(counted),
            "effective_prompts": plan.effective_prompts,
            **tail.data_vars,
            "wide_tail": tail["wide_tail"] | is_lower_by_ties(plan, profile),
            **judge_evidence(plan, profile, intervals),
            **unseen_ends(plan, error_rate=1.0 - plan.study.spec.bootstrap.level).data_vars,
            "top_share": _top_share(plan),
            "needs_policy_score": tail["at_ceiling"]
            | (saturated["saturated_tail_share"] >= SATURATED_TAIL),
        }
    )
    evidence = evidence.merge(saturated).merge(ties(profile["cvar"], counted))
    evidence = evidence.merge(epsilon_sweep(table["harm"], epsilons, protocol))
    evidence = evidence.assign(lost_evidence(plan, profile))
    evidence = evidence.pipe(without_attributes).assign_attrs(
        alpha=protocol.alpha,
        epsilon=protocol.epsilon,
        level=plan.study.spec.bootstrap.level,
        estimator=plan.weights.tail.estimator,
        judges=table.sizes["judge"],
        weighted=int(plan.shares is not None),
        tail_unit="answer" if "sample" in plan.dim else "prompt",
    )
    if plan.clusters is not None:
        evidence.attrs["clusters"] = int(plan.clusters.max())
    decided = plan.weights.tolerance
    tails = decided is None or limits_tails(decided)
    chosen = intervals[PAIRS].assign(cvar_interval=intervals["cvar"])
    remarks = describe_correlations(plan.study.data.correlated_by, plan.study.panel.roles.cluster)
    remarks += _remark_clusters(evidence, plan.study.panel) + describe_generations(table)
    remarks += _remark_own_judges(evidence["judge_share"], plan.study.panel)
    remarks += [] if tolerance is None else describe_unsupported_limits(tolerance)
    limits = state_limits(evidence, profile.assign(chosen), limits_tails=tails, remarks=remarks)
    return evidence.assign_attrs(limits)


def _remark_clusters(evidence: xr.Dataset, panel: Panel) -> list[str]:
    """Return the sentence on clusters of prompts, if there are any."""
    if "clusters" not in evidence.attrs:
        return []
    numbers = int(evidence["prompts"].max()), int(evidence.attrs["clusters"])
    return [describe_clusters(*numbers, str(panel.roles.cluster), unit="prompt")]


def _remark_own_judges(share: xr.DataArray, panel: Panel) -> list[str]:
    """Return the sentence on judges who score their own answers, if any do."""
    models, judges = (share[name].to_numpy().tolist() for name in ("model", "judge"))
    pairs = pair_own_judges(models, judges, share.to_numpy() > 0, panel.families.values())
    return [describe_own_judges(pairs)] if pairs else []


def _top_share(plan: ProfilePlan) -> xr.DataArray:
    """Share of the prompts of each model that have its largest log-risk."""
    risk = counted_answers(plan.table["log_risk"], weights=plan.target_weights())
    is_top = (risk == risk.max(plan.dim)).where(risk.notnull())
    return weighted_mean(is_top, dim=plan.dim, weights=plan.target_weights())


def judge_evidence(
    plan: ProfilePlan, profile: xr.Dataset, intervals: xr.Dataset
) -> dict[str, xr.DataArray]:
    """Return how much of each model every judge scored, and which judges move their differences.

    They are what :func:`judge_counts` returns and, where judges scored other shares of models,
    ``judge_shifts_order (judge)``, that of
    :func:`sharpbayes.analysis.unequal_judges.shift_order`.
    """
    counts = judge_counts(plan)
    share = counts["judge_share"]
    if share.sizes["judge"] == 1 or bool((share == share.isel(model=0)).all()):
        return counts
    single = {judge: [judge] for judge in share["judge"].to_numpy().tolist()}
    without = leave_judges_out(plan.table["sub_index"], single, plan.protocol, policy=plan.policy)
    return counts | {"judge_shifts_order": shift_order(share, profile, without, intervals)}


def judge_counts(plan: ProfilePlan) -> dict[str, xr.DataArray]:
    """Return how much of each model every judge scored, over (model, judge).

    ``judge_share`` is the share of a model's scored answers that a judge scored; where judgements
    are repeated ``judge_trials`` is how often it scored one of those, the harmonic mean.
    """
    counts = {"judge_share": _judge_shares(plan)}
    score = plan.study.scores["score"]
    if "trial" in score.dims:
        judges = plan.table["judge"].to_numpy()
        counts["judge_trials"] = count_trials(score.sel(judge=judges)).transpose("model", "judge")
    return counts


def _judge_shares(plan: ProfilePlan) -> xr.DataArray:
    """Share of the answers with a log-risk that each judge scored, over (model, judge).

    Answers that nobody scored make no difference between judges.
    """
    answered = plan.table["log_risk"].notnull()
    scored = plan.table["sub_index"].notnull().any("dimension") & answered
    share: xr.DataArray = scored.sum(plan.dim) / answered.sum(plan.dim).clip(min=1)
    return share.transpose("model", "judge")
