"""Four questions about an answer, each with a word and a sentence: what a decision rests on."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.errors import format_count, join_names
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.posterior.claims import evidence_texts, failed_statistics
from sharpbayes.posterior.lowest import observed_lowest
from sharpbayes.report.layout import list_open_checks
from sharpbayes.report.panel_answer import PanelAnswer
from sharpbayes.report.refits import other_selections
from sharpbayes.report.stability import (
    NO_CHANGE,
    are_tied,
    expert_movement,
    experts_by,
    has_order,
    has_rivals,
    judges_by,
    largest_movement,
    lost_orders,
    sole_experts,
    sole_judges,
)
from sharpbayes.report.suspect_scores import alike_judges
from sharpbayes.report.tables.crowd import ALL_GROUPS, ALL_ITEMS, has_same_labels, list_reasons
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.panel import has_several_models
from sharpbayes.report.wording import NOT_COMPARED, is_approximate, mark_texts, name_raters
from sharpbayes.storage.attributes import list_texts

YES, PARTLY, NO, UNKNOWN = "yes", "partly", "no", "not known"
NO_CHAIN = "The fit is a preview, and no chain has confirmed it."
OTHERWISE = "By people's scoring, as fitted, the answer is another one than by the judges'."
# What the statements say that the evidence of a panel may not carry.
STATEMENTS = {
    "lowest": "which model has the lowest tail risk",
    "distinguishable": "which models differ by tail risk",
    "admissible": "which keep the tolerance",
}
OF_ONE_MODEL = {
    "lowest": "how large its tail risk is",
    "admissible": "whether it keeps the tolerance",
}


@dataclass(frozen=True)
class Light:
    """An answer to one question.

    Attributes:
        question: What is asked.
        state: ``yes``, ``partly``, ``no`` or ``not known``.
        reason: Why, in a sentence.
    """

    question: str
    state: str
    reason: str


def lights(results: xr.DataTree) -> list[Light]:
    """Return whether data suffice, one rater decides, the fit holds and assumptions are confirmed.

    ``not known`` means that results lack what the question needs, such as a fit. Results of other
    commands than ``measure`` and ``fit`` have no lights.
    """
    view = View(results)
    if not {"profile", "responsiveness"} & set(results.children):
        return []
    is_panel = "profile" in view
    rater_kind = "judge" if is_panel else "expert"
    questions = [
        Light("Enough data", *(_panel_data(view) if is_panel else _crowd_data(view))),
        Light(f"Stable without any one {rater_kind}", *_stability(view, rater_kind)),
        Light("The fit describes the ratings", *_fit(view)),
        Light("Assumptions confirmed", *_assumptions(results)),
    ]
    reasons = mark_texts(results, [light.reason for light in questions])
    return [replace(light, reason=text) for light, text in zip(questions, reasons, strict=True)]


def _panel_data(view: View) -> tuple[str, str]:
    """Which statements of the answer the evidence carries."""
    carried, limits = evidence_texts(view, "carried"), evidence_texts(view, "limits")
    if carried is None or limits is None:
        return UNKNOWN, "The results do not tell what their data carry."
    is_contradicted = PanelAnswer(view).is_contradicted
    missing = [
        text
        for name, text in (STATEMENTS if has_several_models(view) else OF_ONE_MODEL).items()
        if name not in carried and (name != "admissible" or "profile/admissible" in view)
    ]
    if missing:
        state = PARTLY if carried else NO
        also = f" {OTHERWISE}" if is_contradicted else ""
        return state, f"The data do not tell {join_names(missing)}.{also}"
    if is_contradicted:
        return PARTLY, OTHERWISE
    if limits:
        return PARTLY, f"The answer stands, with {format_count(len(limits), 'limit')} to read."
    return YES, "Nothing in the data limits the answer."


def _crowd_data(view: View) -> tuple[str, str]:
    """Whether every group is measured and has enough raters."""
    if "evidence" not in view:
        return UNKNOWN, "The results do not tell what their data carry."
    reason = view["responsiveness/reason"].sel(ALL_ITEMS)
    unmeasured = labels_where(reason != "")
    if len(unmeasured) == len(reason):
        return NO, f"No responsiveness can be measured: {list_reasons(reason)}."
    small_groups = labels_where(view["evidence/few_raters"])
    # All raters are no group; labels of the crowd itself leave nobody to label their items.
    few, without, groups = (
        sum(name != "all" for name in names)
        for names in (small_groups, unmeasured, reason["group"].to_numpy())
    )
    texts = [
        f"{shortage} {format_count(count, 'group')} of {groups}."
        for shortage, count in {"Few raters in": few, "No responsiveness of": without}.items()
        if count
    ]
    if "all" in small_groups and not few:
        texts.insert(0, "There are few raters.")
    if not has_same_labels(view):
        texts.append("Groups cannot be compared: each is measured by labels of the others.")
    if "evidence/few_labels" in view and bool(view["evidence/few_labels"].sel(ALL_GROUPS)):
        return NO, " ".join(["Too few items have either label.", *texts])
    if not texts and (count := _count_limits(view)):
        return PARTLY, f"The answer stands, with {format_count(count, 'limit')} to read."
    if not texts:
        return YES, "Every group is measured and has enough raters."
    return NO if "all" in small_groups else PARTLY, " ".join(texts)


def _count_limits(view: View) -> int:
    """Number of limits that are no mere remarks."""
    limits, remarks = (evidence_texts(view, name) or [] for name in ("limits", "remarks"))
    return len(limits) - len(remarks)


def _stability(view: View, rater_kind: str) -> tuple[str, str]:
    """Whether the answer changes without one judge or expert, or under other settings."""
    if "stability" not in view or not view.group("stability").sizes.get("setting"):
        return UNKNOWN, f"There are no two {rater_kind}s to leave one out."
    data = view.group("stability")
    left_out = data["kind"].isin([rater_kind, f"{rater_kind}s"])
    if not bool(left_out.any()):
        return UNKNOWN, f"There is one {rater_kind} only."
    if rater_kind == "judge":
        return _without_judges(view, data, left_out)
    return _without_experts(view)


def _without_experts(view: View) -> tuple[str, str]:
    """Whether the most responsive group changes without one expert."""
    data = experts_by(view)
    if sole_experts(view):
        return UNKNOWN, "Some experts labelled items alone: without them other items are left."
    movement = expert_movement(view, data)
    if movement is not None and movement.is_outside:
        return NO, f"Without expert {movement.judge} {movement.value} lies beyond its interval."
    if not has_rivals(view):
        return UNKNOWN, "There are no two measured groups of raters to order."
    if not has_order(view):
        return UNKNOWN, "No two groups are distinguishable: they have no order to change."
    is_expert = xr.ones_like(data["changed"], dtype=bool)
    return _order(data, is_expert, ("most responsive group", "highest"))


def _without_judges(view: View, data: xr.Dataset, left_out: xr.DataArray) -> tuple[str, str]:
    """Whether the answer of a panel changes without one judge."""
    if PanelAnswer(view).has_other_judges:
        return NO, "Models were not judged alike, so that they cannot be compared."
    if any(len(names) == int(left_out.sum()) for names in alike_judges(view).values()):
        return UNKNOWN, "All judges score alike: leaving out one shows nothing."
    if sole_judges(view):
        return UNKNOWN, "Some judges scored answers alone: without them other prompts are left."
    return _panel_order(view, data, left_out) if has_rivals(view) else _only_model(view)


def _only_model(view: View) -> tuple[str, str]:
    """Whether the metric that is read of the only model stays in its interval without a judge."""
    answer = PanelAnswer(view)
    judges = judges_by(view, answer.read_by) if answer.read_by else None
    if judges is None:
        return UNKNOWN, "The data tell too little of the only model, with all judges either."
    movement = largest_movement(view, judges, answer.read_by, answer.models[0])
    if movement is None:
        return UNKNOWN, "Without any one judge nothing is measured."
    if movement.is_outside:
        without = name_raters("judge", [movement.judge], together=alike_judges(view))
        return NO, f"Without {without} {movement.value} lies beyond its interval."
    if abs(movement.change) < NO_CHANGE:
        return YES, f"No single judge moves {movement.value} by {NO_CHANGE:g} or more."
    change = number(abs(movement.change), 2)
    return PARTLY, f"One judge moves {movement.value} by up to {change}, inside its interval."


def _panel_order(view: View, data: xr.Dataset, left_out: xr.DataArray) -> tuple[str, str]:
    """Whether the lowest model stays without one judge, by the metric that the answer orders by."""
    answer = PanelAnswer(view)
    metric = answer.stable_by
    if metric and are_tied(view, observed_lowest(view, metric)):
        return UNKNOWN, f"All models share the lowest {METRICS[metric]}: there is no order."
    if metric and not {*observed_lowest(view, metric)} & {*answer.named_by(metric)}:
        return NO, "By observed values of all judges another model is lowest than by the posterior."
    judges = judges_by(view, metric) if metric else None
    if judges is None:
        return UNKNOWN, "The data do not tell which model is lowest, with all judges either."
    state, reason = _stays_lowest(view, metric, data, left_out)
    if state not in (YES, PARTLY) or not (lost := lost_orders(view, metric)):
        return state, reason
    order, metrics = next(iter(lost.items()))
    return PARTLY if order.is_open else NO, f"{order.describe_loss(metrics)}."


def _stays_lowest(
    view: View, metric: str, data: xr.Dataset, left_out: xr.DataArray
) -> tuple[str, str]:
    """Whether the lowest model stays without one judge, by the tail risk in other settings too."""
    name = f"model of lowest {METRICS[metric]}"
    if metric == "cvar":
        name = "lowest model"
    elif (judges := judges_by(view, metric)) is not None:
        data, left_out = judges, xr.ones_like(judges["changed"], dtype=bool)
    return _order(data, left_out, (name, "lowest"), together=alike_judges(view))


def _order(
    data: xr.Dataset,
    left_out: xr.DataArray,
    first: tuple[str, str],
    *,
    together: Collection[str] = (),
) -> tuple[str, str]:
    """Whether the first model or group stays without one judge or expert.

    ``first`` is what it is called, and the variable that has its name; ``together`` are the names
    of several who are left out together.
    """
    order_name, best = first
    rater_kind = "expert" if best == "highest" else "judge"
    moved, others = (
        [str(name) for name in data[key].to_numpy()[(data["changed"] & kind).to_numpy()]]
        for key, kind in (("value", left_out), ("setting", ~left_out))
    )
    if moved:
        without = name_raters(rater_kind, moved, together=together)
        return NO, f"Without {without} the {order_name} is another."
    needed = [str(name) for name in data["value"].to_numpy()[left_out & (data[best] == "")]]
    if needed:
        without = name_raters(rater_kind, needed, together=together)
        return UNKNOWN, f"Without {without} nothing is measured."
    if others:
        verb = "does" if len(others) == 1 else "do"
        return PARTLY, f"No {rater_kind} changes the {order_name}, but {join_names(others)} {verb}."
    settings = " and under other settings" if bool((~left_out).any()) else ""
    return YES, f"The {order_name} stays without any one {rater_kind}{settings}."


def _fit(view: View) -> tuple[str, str]:
    """Whether the fit converged and reproduces statistics of the ratings."""
    if "diagnostics" not in view:
        is_preview = is_approximate(view.results)
        return (NO, NO_CHAIN) if is_preview else (UNKNOWN, "No model of the ratings was fitted.")
    if not bool(view["diagnostics/converged"]):
        return NO, "The fit has not converged."
    if "predictive_checks" not in view:
        return UNKNOWN, NOT_COMPARED
    checks = int(view.group("predictive_checks").attrs["checks"])
    if count := failed_statistics(view):
        return NO, f"It does not reproduce {count} of {checks} statistics of the ratings."
    if objection := _objection_to_fit(view):
        return PARTLY, f"It reproduces {checks} statistics of the ratings, but {objection}."
    return YES, f"It converged and reproduces {checks} statistics of the ratings."


def _objection_to_fit(view: View) -> str:
    """What speaks against a fit that reproduces the ratings; empty if nothing does."""
    group = "posterior_responsiveness"
    if group in view and list_texts(view.group(group).attrs.get("remark", "")):
        return "does not know the labels"
    if "joint/disagree" in view and "profile" in view and PanelAnswer(view).is_disputed:
        return "the bootstrap disputes which model is lowest"
    if "sensitivity/selected" in view and (fits := other_selections(view)):
        verb = "fit selects" if len(fits) == 1 else "fits select"
        return f"{len(fits)} other {verb} other models"
    return ""


def _assumptions(results: xr.DataTree) -> tuple[str, str]:
    """Whether a line of the study is still marked."""
    checks = list_open_checks(results)
    if checks:
        return NO, f"{format_count(len(checks), 'assumption')} of the study to confirm (CHECK)."
    return YES, "No assumption of the study waits to be confirmed."
