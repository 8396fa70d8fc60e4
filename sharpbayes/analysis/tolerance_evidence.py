"""Which limits of a tolerance the evidence of a study shows to be kept or exceeded."""

import json

import xarray as xr

from sharpbayes.analysis.limited_metrics import is_raised_by_ends
from sharpbayes.analysis.prompt_counts import has_mean
from sharpbayes.metrics.panel.comparison import VERDICTS, verdicts
from sharpbayes.metrics.panel.profile import MEANS
from sharpbayes.metrics.stats.labels import without_attributes


def kept_limits(
    tolerance: xr.Dataset,
    *,
    other_prompts: bool = True,
    unseen_ends: bool = True,
    lost_answers: bool = True,
) -> xr.DataArray:
    """Return which limits the upper bounds are within, over (model, threshold).

    Bounds are higher by what harm on prompts of other models alone may add, by what unseen answers
    at the end of the scale may add, and by what answers that nobody scored may. Without
    ``other_prompts`` a model's own prompts decide, without ``unseen_ends`` its observed answers,
    without ``lost_answers`` those that were scored.

    >>> about = ("model", "threshold")
    >>> tolerance = xr.Dataset(
    ...     {
    ...         "bounds": ((*about, "bound"), [[[1.0, 3.0]]], {}),
    ...         "other_prompts_shift": (about, [[0.5]]),
    ...         "unseen_end_rise": (about, [[2.0]]),
    ...         "limit": ("threshold", [4.0]),
    ...     },
    ...     {"bound": ["lower", "upper"]},
    ... )
    >>> kept_limits(tolerance).item(), kept_limits(tolerance, unseen_ends=False).item()
    (False, True)
    """
    upper = tolerance["bounds"].sel(bound="upper", drop=True)
    if other_prompts:
        upper = upper + tolerance["other_prompts_shift"].clip(min=0.0)
    if unseen_ends:
        upper = upper + tolerance["unseen_end_rise"]
    if lost_answers and "lost_answer_rise" in tolerance:  # not in results of earlier versions
        upper = upper + tolerance["lost_answer_rise"]
    return upper <= tolerance["limit"]


def exceeded_limits(tolerance: xr.Dataset, *, other_prompts: bool = True) -> xr.DataArray:
    """Return which limits the lower bounds are beyond, over (model, threshold).

    Bounds are lower by what less harm on prompts of other models alone may take away; without
    ``other_prompts`` a model's own prompts decide.
    """
    lower = tolerance["bounds"].sel(bound="lower", drop=True)
    if other_prompts:
        lower = lower + tolerance["other_prompts_shift"].clip(max=0.0)
    return lower > tolerance["limit"]


def restrict_verdicts(tolerance: xr.Dataset, evidence: xr.Dataset) -> xr.Dataset:
    """Return the group ``tolerance`` with states and verdicts that the evidence carries.

    Where the evidence does not carry ``admissible``, no limit of a tail is kept, and no limit of a
    category whose prompts do not tell its tail. It can be exceeded all the same: an interval of a
    tail that misses lies too low. With fewer than 20 prompts no limit is kept or exceeded.
    """
    is_carried = find_decided(tolerance, evidence) | (tolerance["state"] == VERDICTS[1])
    if not _carries_tails(evidence):
        has_means = has_mean(evidence, alpha=float(evidence.attrs["alpha"]))
        is_carried &= evidence["model"].copy(data=has_means)
    if bool(is_carried.all()):
        return tolerance
    is_carried = is_carried.transpose(*tolerance["state"].dims)
    state = tolerance["state"].where(is_carried, VERDICTS[-1])
    kept, exceeded = (state == word for word in VERDICTS[:2])
    verdict = verdicts(kept.all("threshold"), exceeded.any("threshold"))
    return tolerance.assign(state=state, verdict=verdict)


def find_decided(tolerance: xr.Dataset, evidence: xr.Dataset) -> xr.DataArray:
    """Return which limits intervals and fits decide with this evidence, over (model, threshold).

    Limits of means, and those of tails that the evidence tells.
    """
    tells = xr.zeros_like(tolerance["state"], dtype=bool)
    if _carries_tails(evidence):
        # Results of earlier versions do not say it of categories.
        tells = tolerance.get("tells_tail", ~tells)
    return tells | tolerance["threshold"].isin([*MEANS])


def carries_verdict(tolerance: xr.Dataset, evidence: xr.Dataset) -> xr.DataArray:
    """Return the models whose verdict is by all limits together, over (model).

    The evidence tells every tail that a limit is about.
    """
    is_decided: xr.DataArray = find_decided(tolerance, evidence).all("threshold")
    return is_decided & _carries_tails(evidence)


def _carries_tails(evidence: xr.Dataset) -> bool:
    """Whether the evidence tells the tails of all prompts that limits are about."""
    return "admissible" in json.loads(evidence.attrs["carried"])


def restrict_decision(
    decision: xr.Dataset, tolerance: xr.Dataset | None, evidence: xr.Dataset | None
) -> xr.Dataset:
    """Return the group ``decision`` with states of limits and verdicts that the evidence carries.

    ``state (model, threshold)`` is by ``prob_within`` of the tolerance, at its confidence; without
    these probabilities there is none. Limits of tails that the evidence does not tell are exceeded
    by the bootstrap alone, and kept by nothing; the verdict on such a model follows from its
    limits. Where a verdict :func:`relies_on_fit`, it is that neither is shown.
    """
    if "verdict" not in decision or tolerance is None or evidence is None:
        return decision
    relies = relies_on_fit(tolerance)
    if "prob_within" in tolerance:
        chance, error_rate = tolerance["prob_within"], 1.0 - float(tolerance.attrs["confidence"])
        by_fit = verdicts((chance >= 1.0 - error_rate) & ~relies, chance <= error_rate)
        is_decided = find_decided(tolerance, evidence)
        tolerance = tolerance.assign(state=by_fit.where(is_decided, tolerance["state"]))
    restricted = restrict_verdicts(tolerance, evidence).pipe(without_attributes)
    if "prob_within" in tolerance:
        decision = decision.assign(state=restricted["state"].transpose("model", "threshold"))
    is_carried = carries_verdict(tolerance, evidence)
    verdict = decision["verdict"].where(is_carried, restricted["verdict"])
    is_shown = ~relies.any("threshold") | (verdict != VERDICTS[0])
    return decision.assign(verdict=verdict.where(is_shown, VERDICTS[-1]))


def relies_on_fit(tolerance: xr.Dataset) -> xr.DataArray:
    """Return which limits a fit alone can call kept, over (model, threshold).

    They are about log-risk or the policy score, and beyond what the bootstrap shows of a model's
    own prompts. A few severe answers can be most of either, and how rare they are a fit takes from
    the other scores. So it does with answers that nobody scored, whatever a limit is about.
    """
    is_shown = kept_limits(tolerance, other_prompts=False)
    lost = tolerance.get("lost_answer_rise", xr.zeros_like(tolerance["observed"]))
    relies: xr.DataArray = ~is_shown & (is_raised_by_ends(tolerance["threshold"]) | (lost > 0))
    return relies.transpose("model", "threshold")
