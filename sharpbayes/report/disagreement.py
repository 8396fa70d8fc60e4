"""Why posterior and bootstrap of a panel disagree, as far as checks tell."""

from collections.abc import Iterator, Sequence

from sharpbayes.analysis.prompt_counts import describe_tail
from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.evidence import FEW_SHARED, has_tail
from sharpbayes.metrics.stats.overlap import union_size
from sharpbayes.posterior.contradictions import has_other_lowest
from sharpbayes.posterior.lowest import (
    CLOSE,
    excluded_models,
    likely_lowest,
    observed_lowest,
    probability_of_lowest,
)
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.wording import likely_reasons, misfit_reasons, tail_reasons


def disagreement_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Yield where posterior and bootstrap name other models or exclude each other, and why.

    ``models`` are all that have a tail risk.
    """
    if not is_fitted(view):
        return
    excluded = excluded_models(view, "cvar")
    excludes = "an interval of one does not contain the centre of the other"
    if has_other_lowest(view, models):
        observed, likely = (f(view, "cvar") for f in (observed_lowest, likely_lowest))
        also = f"; of {join_names(excluded)} {excludes}" if excluded else ""
        reason = _explain(view, models, excluded or [*observed, *likely], excluded)
        yield f"Posterior and bootstrap name different models{also}. {reason}"
    elif excluded:
        reason = _explain(view, models, excluded, excluded)
        yield f"Posterior and bootstrap disagree on {join_names(excluded)}: {excludes}. {reason}"


def _explain(
    view: View, models: Sequence[str], named: Sequence[str], excluded: Sequence[str]
) -> str:
    """The likely reason of a disagreement about named models, the most telling first."""
    reasons = misfit_reasons(view)
    if "evidence" in view:
        evidence = view.group("evidence")
        known = evidence.sel(model=list(models))
        if _have_other_prompts(view, named):
            reasons.append("models do not have the same prompts")
        alpha = float(view.results["profile"].attrs["alpha"])
        if not has_tail(known["tail_prompts"]).all():
            reasons.append(f"the tail holds {describe_tail(known, alpha=alpha)} only")
        reasons += tail_reasons(evidence.sel(model=list(named)))
    are_close = float(probability_of_lowest(view, "cvar").max()) < CLOSE
    if not reasons and not excluded and are_close:
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
