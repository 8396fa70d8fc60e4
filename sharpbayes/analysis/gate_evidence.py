"""What a comparison of the gate does not carry: why it decides nothing, whatever the bounds are."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import xarray as xr

from sharpbayes.analysis.evidence import judge_counts
from sharpbayes.analysis.gate_lost import describe_lost_answers
from sharpbayes.analysis.gate_study import (
    ANCHOR_NOW,
    ANCHOR_THEN,
    ANCHORS,
    CANDIDATE,
    REFERENCE,
    SIDES,
    Comparison,
)
from sharpbayes.analysis.limited_metrics import limited_metric
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tail_evidence import ties_of_limit
from sharpbayes.analysis.unequal_judges import (
    UNEQUAL_TRIALS,
    describe_shares,
    describe_trials,
    unequal_judges,
)
from sharpbayes.metrics.panel.evidence import has_tail
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.panel.non_inferiority import INCONCLUSIVE, INFERIOR, NON_INFERIOR
from sharpbayes.metrics.panel.profile import CVARS
from sharpbayes.metrics.stats.labels import without_attributes

FEW_PROMPTS, FEW_EFFECTIVE, FEW_ANCHORS = "few prompts", "few effective prompts", "few anchors"
OTHER_JUDGES, OTHER_TRIALS = "other judges", "other trials"
SAME_SCORES, LOST_ANSWERS = "same scores", "lost answers"
SHORT_TAIL, TIED_TAIL = "short tail", "tied tail"
ROUNDING = 1e-9
# What sentences call the parts of a comparison.
PARTS = {
    CANDIDATE: "the candidate",
    REFERENCE: "the reference",
    ANCHOR_NOW: "the anchors now",
    ANCHOR_THEN: "the anchors before",
}


def reason_to_withhold(
    comparison: Comparison, plan: ProfilePlan, gate: xr.Dataset, verdict: str, *, by_worst: str
) -> dict[str, str]:
    """Return why no bounds decide anything, as ``withheld`` and ``withheld_detail``; empty if none.

    There are fewer than 20 prompts or anchors, counted or by what they weigh; judges scored more of
    one part than of the one that it is compared with, or more often; all scores are the same; a
    candidate would pass by a CVaR of fewer than five prompts; prompts tie at the edge of a tail and
    the verdict, or the ``state`` (metric) that it rests on, takes their mean for that of the worst,
    or is another than ``by_worst``, the verdict by the worst alone (empty without ties); or answers
    of the candidate that nobody scored could make it another than a pass.
    """
    reasons = chain(
        _reasons(comparison, plan),
        _short_tails(plan, gate["state"], verdict),
        _tied_tails(plan, gate["state"], verdict),
        _decided_by_ties(plan, verdict, by_worst),
        _lost_answers(comparison, gate, verdict),
    )
    reason, detail = next(reasons, ("", ""))
    return {"withheld": reason, "withheld_detail": detail}


def _reasons(comparison: Comparison, plan: ProfilePlan) -> Iterator[tuple[str, str]]:
    """Why bounds decide nothing, and the numbers."""
    if comparison.n_prompts < MIN_PROMPTS:
        yield FEW_PROMPTS, ""
    if comparison.anchors and len(comparison.anchors) < MIN_PROMPTS:
        yield FEW_ANCHORS, ""
    if float(plan.effective_prompts.min()) < MIN_PROMPTS - ROUNDING:
        yield FEW_EFFECTIVE, ""
    counts = judge_counts(plan)
    if detail := _describe_other_judges(comparison, counts["judge_share"]):
        yield OTHER_JUDGES, detail
    if "judge_trials" in counts and (detail := _describe_other_trials(counts["judge_trials"])):
        yield OTHER_TRIALS, detail
    if comparison.is_identical:
        yield SAME_SCORES, ""


def _short_tails(
    plan: ProfilePlan, states: xr.DataArray, verdict: str
) -> Iterator[tuple[str, str]]:
    """Which tail has too few prompts for a pass by a CVaR: they can miss what is worse."""
    tail = plan.tail_prompts.sel(model=list(SIDES)).min()
    is_about = any(limited_metric(str(x)) in CVARS for x in states["metric"].to_numpy())
    if verdict == NON_INFERIOR and is_about and not bool(has_tail(tail)):
        yield SHORT_TAIL, f"{float(tail):.3g}"


def _tied_tails(plan: ProfilePlan, states: xr.DataArray, verdict: str) -> Iterator[tuple[str, str]]:
    """Which CVaR is of many more prompts than the worst, where a verdict depends on it.

    With ties a CVaR is lower than that of the worst prompts: a candidate passes too easily by its
    own, and fails too easily by that of the reference.
    """
    labels = list(map(str, states["metric"].to_numpy()))
    if verdict == INFERIOR:
        labels = [label for label in labels if states.sel(metric=label) == INFERIOR]
    side = REFERENCE if verdict == INFERIOR else CANDIDATE
    tied = [label for label in labels if ties_of_limit(plan, label).sel(model=side)]
    if tied and (verdict != INFERIOR or tied == labels):
        level = 100 * (1 - plan.weights.tail.alpha)
        yield TIED_TAIL, f"more than twice the worst {level:.3g}% of {PARTS[side]}"


def has_ties(plan: ProfilePlan, margin: xr.DataArray) -> bool:
    """Return whether prompts tie at the edge of a tail that a margin (metric) is about."""
    ties = (ties_of_limit(plan, str(label), times=1.0) for label in margin["metric"].to_numpy())
    return any(bool(of_margin.sel(model=list(SIDES)).any()) for of_margin in ties)


def _decided_by_ties(plan: ProfilePlan, verdict: str, by_worst: str) -> Iterator[tuple[str, str]]:
    """Of which prompts a CVaR is the mean, where those that tie make the verdict what it is."""
    if by_worst not in ("", verdict):
        level = 100 * (1 - plan.weights.tail.alpha)
        worst = f'by which alone the verdict would be "{by_worst}"'
        yield TIED_TAIL, f"more than the worst {level:.3g}%, {worst}"


def _lost_answers(
    comparison: Comparison, gate: xr.Dataset, verdict: str
) -> Iterator[tuple[str, str]]:
    """How many answers of the candidate nobody scored, where they could keep a gate from a pass."""
    if verdict != INFERIOR and (detail := describe_lost_answers(comparison, gate)):
        yield LOST_ANSWERS, detail


def _describe_other_judges(comparison: Comparison, share: xr.DataArray) -> str:
    """Which judges scored more of a part than of its counterpart; empty where none did.

    With anchors that of a side is its anchors: what is subtracted has the severity of their judges.
    """
    pairs = zip(SIDES, ANCHORS, strict=True) if comparison.anchors else [SIDES]
    parts = []
    for pair in pairs:
        of_pair = share.sel(model=list(pair)).assign_coords(model=[PARTS[name] for name in pair])
        judges = unequal_judges(xr.Dataset({"judge_share": of_pair}))
        parts += [describe_shares(of_pair.sel(judge=[judge])) for judge in judges]
    return "; ".join(parts)


def _describe_other_trials(trials: xr.DataArray) -> str:
    """Which judges scored a part more often, less what anchors subtract; empty where none did."""
    left = (1.0 / trials).fillna(0.0)
    excess = left.sel(model=CANDIDATE, drop=True) - left.sel(model=REFERENCE, drop=True)
    if ANCHOR_NOW in trials["model"]:
        current, previous = (left.sel(model=name, drop=True) for name in ANCHORS)
        excess = excess - (current - previous)
    unequal = trials.sel(judge=(abs(excess) > UNEQUAL_TRIALS).to_numpy())
    names = [PARTS[str(name)] for name in trials["model"].to_numpy()]
    return describe_trials(unequal.assign_coords(model=names))


def withhold(group: xr.Dataset, reason: str) -> xr.Dataset:
    """Return a gate without attributes, and without its states and errors where there is a reason.

    Errors of a design are read from resamples, which then do not differ as new studies would.
    """
    bare = group.pipe(without_attributes)
    if not reason:
        return bare
    errors = ("outcome_share", "power", "power_shut", "prompts_to_decide", "prompts_to_pass")
    missing = {name: xr.full_like(bare[name], np.nan, dtype=float) for name in errors}
    return bare.assign(missing | {"state": xr.full_like(bare["state"], INCONCLUSIVE)})
