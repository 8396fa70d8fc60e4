"""What a panel's decision says: who keeps the tolerance, and why another model is selected."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.results_view import is_fitted
from sharpbayes.analysis.tolerance_evidence import exceeded_limits, kept_limits, relies_on_fit
from sharpbayes.errors import format_percent, join_names
from sharpbayes.metrics.panel.comparison import (
    ADMISSIBLE,
    CANNOT_TELL,
    NOT_ADMISSIBLE,
    lowest_models,
)
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import (
    COMPARED,
    has_means,
    has_other_judges,
    is_recommended,
    list_exceeded,
)
from sharpbayes.posterior.human_scoring import (
    HUMAN_DECISION,
    contradicted_verdicts,
    contradicts_selection,
)
from sharpbayes.posterior.lowest import is_disputed, models_not_below
from sharpbayes.report.human_scoring import BY_JUDGES, BY_PEOPLE, selection_contradicted
from sharpbayes.report.metric_names import CRITERIA, name_threshold
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number
from sharpbayes.report.wording import probability_text

NONE_DECIDED = "No tolerance was decided, so no model is called admissible or not."
# What is said of one model and of several, by verdict.
VERDICT_TEXTS = {
    ADMISSIBLE: ("{} keeps it", "{} keep it"),
    NOT_ADMISSIBLE: ("{} exceeds it", "{} exceed it"),
    CANNOT_TELL: ("of {} the evidence cannot tell", "of {} the evidence cannot tell"),
}
UNSEEN_ENDS = (
    "no observed answer is at the end of the scale. How rare such answers are the fit takes from "
    "the other scores; so few prompts do not exclude that up to {share:.1%} of all lead to one"
)
LOST = (
    "{lost:.1%} of {its} answers have no score, or none in some dimension, and with the end of the "
    "scale there a limit may be exceeded"
)
# Why a limit that a fit calls kept is not shown to be: by answers that nobody scored, by the
# observed value, by its bound, and by answers that nobody saw.
FIT_ALONE_TEXTS = (
    LOST,
    "{its} observed value exceeds a limit",
    "{its} observed answers do not show it: by their resamples a limit may be exceeded",
    UNSEEN_ENDS,
)


def tolerance_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Which models keep the tolerance and which exceed it, with probabilities after a fit."""
    if "profile/admissible" not in view:
        yield NONE_DECIDED
        return
    confidence = ""
    if "tolerance" in view:
        level = format_percent(view.group("tolerance").attrs["confidence"])
        confidence = f", at {level} confidence"
    by_judges = _describe_verdicts(view, models, "decision")
    if set(contradicted_verdicts(view)) & set(models):
        by_people = _describe_verdicts(view, models, HUMAN_DECISION)
        yield f"The tolerance decided{confidence}, {BY_PEOPLE}: {by_people}."
        yield f"{BY_JUDGES.capitalize()}: {by_judges}."
    else:
        yield f"The tolerance decided{confidence}: {by_judges}."
    if _has_probabilities(view):
        yield from fit_alone_sentences(view, models)
    else:
        yield from _own_prompts_sentences(view, models)
        yield from _unseen_end_sentences(view, models)
        yield from _lost_answer_sentences(view, models)


def _describe_verdicts(view: View, models: Sequence[str], decision: str) -> str:
    """Which models keep the tolerance and which exceed it, by a group of the decision."""
    verdicts, parts = _verdicts(view, models, decision), []
    texts = {x: f"{x}{_probability(view, x, verdicts[x], decision)}" for x in models}
    for verdict, (one, several) in VERDICT_TEXTS.items():
        names = [texts[model] for model in models if verdicts[model] == verdict]
        if names:
            parts.append((one if len(names) == 1 else several).format(join_names(names)))
    return "; ".join(parts)


def _probability(view: View, model: str, verdict: str, decision: str) -> str:
    """The probability of what a verdict says of a model, in brackets; empty without a fit."""
    if not _has_probabilities(view):
        return ""
    chance = float(view[f"{decision}/prob_admissible"].sel(model=model))
    if verdict == NOT_ADMISSIBLE:
        return f" (probability {probability_text(1.0 - chance)})"
    of_what = " of keeping it" if verdict == CANNOT_TELL else ""
    return f" (probability{of_what} {probability_text(chance)})"


def _own_prompts_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Models that would keep or exceed a tolerance if the prompts that they lack were alike."""
    if "tolerance/other_prompts_shift" not in view:
        return
    table = view.group("tolerance").sel(model=list(models))
    # No limit is kept where prompts of a category do not tell its tail, whichever they are.
    is_told = table.get("tells_tail", True)
    alone = {
        ("keep", "higher"): (kept_limits(table, other_prompts=False) & is_told).all("threshold"),
        ("exceed", "lower"): exceeded_limits(table, other_prompts=False).any("threshold"),
    }
    for (verb, side), holds in alone.items():
        if names := labels_where(holds & (table["verdict"] == CANNOT_TELL)):
            its, lacks = ("its", "it lacks") if len(names) == 1 else ("their", "these lack")
            yield (
                f"By {its} own prompts {join_names(names)} would {verb} it. The other models are "
                f"{side} on the prompts that {lacks}."
            )


def _unseen_end_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Models that would keep a tolerance if no answer were at the end of the scale, as observed."""
    if "tolerance/unseen_end_share" not in view:  # results of an earlier version
        return
    table = view.group("tolerance").sel(model=list(models))
    names = _kept_as_observed(table, unseen_ends=True)
    if not names:
        return
    rows = table.sel(model=names)
    its = "its" if len(names) == 1 else "their"
    prompts, share = (
        float(rows[name].max()) for name in ("prompts_without_end", "unseen_end_share")
    )
    enough = (
        f" {prompts:,.0f} prompts that count alike would show that it is kept, if none of them "
        "leads to one either."
    )
    yield (
        f"By {its} observed answers {join_names(names)} would keep it. None of these is at the end "
        f"of the scale, but up to {share:.1%} of all prompts can lead to one, and with these "
        f"the limit may be exceeded.{enough if np.isfinite(prompts) else ''}"
    )


def _lost_answer_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Models that would keep a tolerance by the answers that somebody scored."""
    if "tolerance/lost_answer_rise" not in view:  # results of an earlier version
        return
    table = view.group("tolerance").sel(model=list(models))
    for name in _kept_as_observed(table, lost_answers=True):
        reason = LOST.format(lost=_largest_share_lost(table.sel(model=[name])), its="its")
        yield f"By its observed answers {name} would keep it, but {reason}."


def _kept_as_observed(table: xr.Dataset, **unobserved: bool) -> list[str]:
    """Models that would keep all limits by what was observed, but not with other answers too.

    These are the arguments of :func:`kept_limits`, of ends that nobody saw or of lost answers.
    """
    observed = kept_limits(table, unseen_ends=False, lost_answers=False) & table["tells_tail"]
    with_others = kept_limits(table, **{"unseen_ends": False, "lost_answers": False} | unobserved)
    is_open = observed.all("threshold") & ~with_others.all("threshold")
    return labels_where(is_open & (table["verdict"] == CANNOT_TELL))


def fit_alone_sentences(view: View, models: Sequence[str]) -> Iterator[str]:
    """Yield which models keep a tolerance by a fit alone, and why that is not shown."""
    if "tolerance/unseen_end_rise" not in view or "decision/verdict" not in view:
        return
    table = view.group("tolerance").sel(model=list(models))
    relies = relies_on_fit(table)
    is_open = _is_open_by_fit(view, models) & relies.any("threshold")
    for text, holds in zip(FIT_ALONE_TEXTS, _reasons_to_doubt(table, relies), strict=True):
        if names := labels_where(is_open & holds):
            rows = table.sel(model=names)
            share, lost = float(rows["unseen_end_share"].max()), _largest_share_lost(rows)
            its = "its" if len(names) == 1 else "their"
            reason = text.format(its=its, share=share, lost=lost)
            yield f"By the fit {join_names(names)} would keep it, but {reason}."


def _reasons_to_doubt(table: xr.Dataset, relies: xr.DataArray) -> tuple[xr.DataArray, ...]:
    """Which of ``FIT_ALONE_TEXTS`` is said of a model, one at most, each over (model)."""
    kept = kept_limits(table, other_prompts=False, unseen_ends=False, lost_answers=False)
    as_observed = (kept | ~relies).all("threshold")
    exceeds = (relies & (table["observed"] > table["limit"])).any("threshold")
    rise = table.get("lost_answer_rise", xr.zeros_like(table["observed"]))
    lacks = (relies & (rise > 0)).any("threshold")
    return as_observed & lacks, exceeds, ~exceeds & ~as_observed, as_observed & ~lacks


def _largest_share_lost(table: xr.Dataset) -> float:
    """The largest share of answers of a model that nobody scored."""
    return float(table["lost_answer_share"].max()) if "lost_answer_share" in table else 0.0


def _is_open_by_fit(view: View, models: Sequence[str]) -> xr.DataArray:
    """Which models keep a tolerance surely by a fit although neither verdict is shown, (model)."""
    confidence = float(view.group("tolerance").attrs["confidence"])
    groups = ["decision"] + [HUMAN_DECISION] * bool(contradicted_verdicts(view))
    is_open = [
        (decision["prob_admissible"] >= confidence) & (decision["verdict"] == CANNOT_TELL)
        for decision in (view.group(name).sel(model=list(models)) for name in groups)
    ]
    return xr.concat(is_open, "decision").any("decision")


def tolerance_beyond_tails(view: View, models: Sequence[str]) -> Iterator[str]:
    """What is known of a tolerance where tails are not: who exceeds it all the same.

    No probability is stated: with short tails they are overconfident (docs/benchmarks/
    reliability.md).
    """
    if "profile/admissible" not in view:
        yield NONE_DECIDED
        return
    exceeded = exceeded_thresholds(view, models)
    known = [f"{model} ({join_names(names)})" for model, names in exceeded.items() if names]
    if len(known) < len(models):
        yield "The evidence does not tell which models keep the tolerance decided."
    if known:
        verb = "exceeds" if len(known) == 1 else "exceed"
        decided = "it all the same" if len(known) < len(models) else "the tolerance decided"
        yield f"{join_names(known)} {verb} {decided}."


def exceeded_thresholds(view: View, models: Sequence[str]) -> dict[str, list[str]]:
    """Return the thresholds that each model is known to exceed, by their names in sentences."""
    exceeded = list_exceeded(view, models)
    return {model: [name_threshold(label) for label in exceeded[model]] for model in exceeded}


def _has_probabilities(view: View) -> bool:
    """Whether a fit gives probabilities of staying within the tolerance."""
    return is_fitted(view) and "decision/prob_admissible" in view


def _verdicts(view: View, models: Sequence[str], decision: str) -> dict[str, str]:
    """The verdict on each model, by a decision of the fit where there is one.

    Results of earlier versions have none: theirs is at the confidence of their decision.
    """
    path = f"{decision}/verdict" if _has_probabilities(view) else "tolerance/verdict"
    if path in view:
        verdict = view[path]
        return {model: str(verdict.sel(model=model).item()) for model in models}
    if not _has_probabilities(view):
        kept = view["profile/admissible"].astype(float)
        return {model: _verdict(float(kept.sel(model=model)), 0.5) for model in models}
    confidence = max(float(view.group("decision").attrs["confidence"]), 0.5)
    chance = view[f"{decision}/prob_admissible"]
    return {model: _verdict(float(chance.sel(model=model)), confidence) for model in models}


def selection_sentences(view: View, first: str) -> Iterator[str]:
    """Why the decision selects another model than the one of lowest tail risk.

    A decision by statements that the evidence does not carry is no recommendation.
    """
    if "decision" not in view:
        return
    decision = view.group("decision")
    selected = labels_where(decision["selected"])
    if selected and has_other_judges(view.results):
        yield (
            f"The table of the decision selects {join_names(selected)}, but models were not judged "
            "alike: that is no recommendation."
        )
        return
    if selected and contradicts_selection(view):
        yield selection_contradicted(view, selected)
        return
    if first in selected:
        return
    criterion, confidence = decision.attrs["criterion"], float(decision.attrs["confidence"])
    if selected and not is_recommended(view):
        yield (
            f"The table of the decision selects {join_names(selected)}, by "
            f"{_describe_basis(view)}: that is no recommendation."
        )
        return
    kept = float(decision["prob_admissible"].sel(model=first))
    if not selected:
        yield "The decision selects no model: none keeps the tolerance surely enough."
    elif kept < confidence:
        yield (
            f"The decision selects {join_names(selected)}, not {first}, which keeps the "
            f"tolerance with probability {probability_text(kept)} only "
            f"({number(confidence, 2)} is asked for)."
        )
    elif criterion != "cvar":
        yield (
            f"The decision selects {join_names(selected)}, not {first}: it goes by "
            f"{CRITERIA[criterion]}."
        )
    else:
        yield (
            f"The decision selects {join_names(selected)}, not {first}: its expected loss is "
            "lower, although it is less often the lowest."
        )


def worst_dimension_sentence(view: View, *, tells_tails: bool) -> str:
    """Return which model is lowest by its worst dimension, where weights decide by it."""
    start = f"The weights decide by the {CRITERIA['worst_dimension']}"
    if not tells_tails:
        return f"{start}, a tail that these prompts do not tell."
    worst = select_value(view.group("profile"), "worst_dimension")
    names = lowest_models(worst)
    verb = "has" if len(names) == 1 else "share"
    return (
        f"{start}: {join_names(names)} {verb} the "
        f"lowest, {number(worst.min(), 2)} as observed; which models differ by it is not known."
    )


def _describe_basis(view: View) -> str:
    """What a decision goes by that the evidence does not tell."""
    criterion = view.group("decision").attrs["criterion"]
    if criterion in COMPARED and is_disputed(view, criterion):
        return f"{CRITERIA[criterion]}, which posterior and bootstrap dispute"
    if criterion in COMPARED and models_not_below(view, criterion):
        return f"{CRITERIA[criterion]}, whose order depends on answers that lack a score"
    if view.group("decision").attrs["criterion"] == "policy_score" and not has_means(view):
        return f"fewer prompts than {MIN_PROMPTS} that count alike"
    return "tails that the evidence does not tell"


def _verdict(probability: float, confidence: float) -> str:
    """The verdict on a model that keeps the tolerance with a probability."""
    if probability >= confidence:
        return ADMISSIBLE
    return NOT_ADMISSIBLE if probability <= 1 - confidence else CANNOT_TELL
