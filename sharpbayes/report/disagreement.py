"""Why posterior and bootstrap of a panel disagree, as far as checks tell."""

from collections.abc import Sequence

from sharpbayes.analysis.prompt_counts import describe_tail
from sharpbayes.metrics.panel.evidence import FEW_SHARED, has_tail
from sharpbayes.metrics.stats.overlap import union_size
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import failed_statistics, likely_reasons, tail_reasons


def explain_disagreement(
    view: View, models: Sequence[str], named: Sequence[str], *, are_close: bool
) -> str:
    """Return the likely reason of a disagreement, the most telling first.

    ``named`` are the models that it is about, of all that have a tail risk; ``are_close`` is
    whether these are so alike that no other reason is needed.
    """
    reasons = []
    if count := failed_statistics(view):
        statistics = "one statistic" if count == 1 else f"{count} statistics"
        reasons.append(f"the fitted model does not reproduce {statistics} of the ratings")
    if "evidence" in view:
        evidence = view.group("evidence")
        known = evidence.sel(model=list(models))
        if _have_other_prompts(view, named):
            reasons.append("models do not have the same prompts")
        alpha = float(view.results["profile"].attrs["alpha"])
        if not has_tail(known["tail_prompts"]).all():
            reasons.append(f"the tail holds {describe_tail(known, alpha=alpha)} only")
        reasons += tail_reasons(evidence.sel(model=list(named)))
    if not reasons and are_close:
        reasons.append("the models are close, and neither is sure")
    if not reasons:
        return "No check tells why: compare both in the table."
    return likely_reasons(reasons)


def _have_other_prompts(view: View, models: Sequence[str]) -> bool:
    """Whether some models share less than 95% of the prompts of either with any other one."""
    if "profile_interval/shared_prompts" not in view:
        return False
    shared = view["profile_interval/shared_prompts"]
    of_either = union_size(shared, view["evidence/prompts"])
    is_pair = shared["model"] != shared["other"]
    lacks_prompts = (shared < FEW_SHARED * of_either) & is_pair
    return bool(lacks_prompts.sel(model=list(models)).any())
