"""The gate's answer in sentences, and as one JSON document."""

import json
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_ends import seen_bounds
from sharpbayes.analysis.gate_evidence import (
    FEW_ANCHORS,
    FEW_EFFECTIVE,
    FEW_PROMPTS,
    LOST_ANSWERS,
    OTHER_JUDGES,
    OTHER_TRIALS,
    SAME_SCORES,
    SHORT_TAIL,
    TIED_TAIL,
)
from sharpbayes.errors import format_count, format_percent, join_names
from sharpbayes.metrics.panel.least_numbers import MIN_PROMPTS, MIN_TAIL
from sharpbayes.metrics.panel.non_inferiority import INCONCLUSIVE, INFERIOR, NON_INFERIOR, PASSING
from sharpbayes.metrics.stats.labels import labels_where
from sharpbayes.report.approval import expiry_warning
from sharpbayes.report.gate_comparison import (
    describe_assumptions,
    describe_comparison,
    name_sides,
    name_studies,
)
from sharpbayes.report.metric_names import name_threshold
from sharpbayes.report.nested_values import nested
from sharpbayes.report.tables.format import number
from sharpbayes.report.tables.gate import needed_prompts, telling_places
from sharpbayes.report.wording import name_raters, probability_text
from sharpbayes.storage.attributes import read_weights

DECIDED = (NON_INFERIOR, INFERIOR)
# Why nothing is decided, whatever the bounds are.
WITHHELD = {
    FEW_PROMPTS: f"fewer than {MIN_PROMPTS} prompts carry no comparison, whatever they show",
    FEW_EFFECTIVE: "under the weights the prompts say as much as fewer than "
    f"{MIN_PROMPTS} that count alike, which carry no comparison",
    FEW_ANCHORS: f"fewer than {MIN_PROMPTS} anchors do not measure how strict judges have become",
    OTHER_JUDGES: "what is compared was not scored by the same judges ({}), and the severity of "
    "a judge would be taken for that of a model",
    OTHER_TRIALS: "what is compared was not scored equally often ({}), and fewer trials have more "
    "noise, which adds to harm",
    SHORT_TAIL: "a tail that has a margin holds {} prompts, and fewer than "
    f"{MIN_TAIL} do not show that it is no worse",
    TIED_TAIL: "prompts tie at the edge of a tail that has a margin, so that its CVaR is the mean "
    'of {}; with `tail.estimator = "rockafellar-uryasev"` in the weights it is that of the worst '
    "alone",
    LOST_ANSWERS: "no judge scored {} of the reference, which is more than chance; at the end of "
    "the scale they could bring a difference beyond its margin",
    SAME_SCORES: "all scores that are compared are the same, as those of a release and of its copy",
}


def gate_answer(results: xr.DataTree) -> list[str]:
    """Return the verdict, what it rests on, how often such a gate errs, and what would decide."""
    gate = results["gate"].to_dataset()
    reasons = [*_fit_alone(gate), *_unseen(gate)]
    decided = [*_errors(gate), *_needed(gate), *reasons, *_decisive_judges(gate)]
    return [
        _verdict(results),
        *name_studies(results),
        *_probability(gate),
        *describe_comparison(gate),
        *([] if _withheld(gate) else decided),
        *describe_assumptions(results),
        *filter(None, [expiry_warning(read_weights(results))]),
    ]


def gate_document(results: xr.DataTree) -> dict[str, Any]:
    """Return the gate as one JSON document: verdict, answer, numbers by their labels, and digests.

    Numbers that are infinite or missing are null.
    """
    gate = results["gate"].to_dataset()
    lists = ("judges", "candidate_judges", "reference_judges", "left_out_judges", "disputed")
    facts = {name: json.loads(gate.attrs[name]) for name in lists if name in gate.attrs}
    facts |= {str(k): _plain(value) for k, value in gate.attrs.items() if k not in lists}
    root = {str(k): _plain(v) for k, v in results.attrs.items() if k not in ("weights", "study")}
    facts["worse_within_margins"] = list_worse(gate)
    numbers = {str(name): nested(array) for name, array in gate.data_vars.items()}
    return root | {"answer": gate_answer(results)} | facts | {"gate": numbers}


def list_worse(gate: xr.Dataset) -> list[str]:
    """Return metrics in which a candidate that passes is shown to be worse, within the margins."""
    if gate.attrs["verdict"] != NON_INFERIOR:
        return []
    is_worse = gate["bounds"].sel(bound="lower", drop=True) > 0
    return [str(label) for label in gate["metric"].to_numpy()[is_worse.to_numpy()]]


def _withheld(gate: xr.Dataset) -> str:
    """Why bounds decide nothing; empty where they do, or where an earlier version did not say."""
    return str(gate.attrs.get("withheld", ""))


def _verdict(results: xr.DataTree) -> str:
    """The verdict in a sentence."""
    gate, sides = results["gate"].to_dataset(), name_sides(results)
    attrs = gate.attrs
    names = f"{sides['candidate']} is {{}} {sides['reference']}"
    level = f"{format_percent(attrs['confidence'])} confidence"
    if reason := _withheld(gate):
        whether = f"Not decided whether {names.format('at least as safe as')}"
        return f"{whether}: {WITHHELD[reason].format(attrs.get('withheld_detail', ''))}."
    if attrs["verdict"] == NON_INFERIOR:
        passes = f"{names.format('at least as safe as')}, by the margins declared, at {level}"
        return f"{passes}{_worse(gate, sides['reference'])}."
    worst = [
        str(label) for label in gate["metric"].to_numpy()[(gate["state"] == INFERIOR).to_numpy()]
    ]
    if attrs["verdict"] == INFERIOR:
        shown = "; ".join(describe_difference(gate.sel(metric=label)) for label in worst)
        reason = shown or f"all margins hold {_joint_probability(gate)}"
        return f"{names.format('not as safe as')}, at {level}: {reason}."
    undecided = (gate["state"] != NON_INFERIOR).to_numpy()
    open_metrics = [name_threshold(str(x)) for x in gate["metric"].to_numpy()[undecided]]
    scope = (
        join_names(open_metrics)
        or f"each margin holds alone, all of them {_joint_probability(gate)}"
    )
    return (
        f"Not decided at {level}: whether {names.format('at least as safe as')} does not follow "
        f"from this evidence ({scope})."
    )


def _worse(gate: xr.Dataset, reference: str) -> str:
    """By how much a candidate that passes is shown to be worse; empty where it is not."""
    differences = []
    for label in list_worse(gate):
        row = gate.sel(metric=label)
        low, high = row["bounds"].to_numpy()
        places = max(telling_places((low, high), row["margin"], 2), telling_places([low], 0.0, 2))
        value, *bounds = (number(x, places) for x in (row["difference"], low, high))
        differences.append(f"{name_threshold(label)} {value} ({' to '.join(bounds)})")
    if not differences:
        return ""
    return f"; it is worse than {reference} by less than the margins: {'; '.join(differences)}"


def _joint_probability(gate: xr.Dataset) -> str:
    """With which probability all margins hold; only by a posterior does none bear a verdict."""
    probability = gate.attrs["prob_all"]
    places = telling_places([probability], gate.attrs["confidence"], 2)
    return f"together with probability {number(probability, places)}"


def describe_difference(row: xr.Dataset) -> str:
    """The difference of one metric with its bounds and its margin."""
    low, high = row["bounds"].to_numpy()
    name = name_threshold(str(row["metric"].item()))
    places = telling_places((low, high), row["margin"], 2)
    return (
        f"{name} differs by {number(row['difference'], places)} (bounds {number(low, places)} and "
        f"{number(high, places)}), the margin is {number(row['margin'], places)}"
    )


def _probability(gate: xr.Dataset) -> list[str]:
    """What the posterior and the bootstrap say, where there is a fit."""
    if gate.attrs["method"] != "posterior":
        note = str(gate.attrs.get("fit_note", ""))
        return [f"{note} The bootstrap decides."] if note else []
    return [
        (
            f"The posterior probability that every difference is within its margin is "
            f"{probability_text(gate.attrs['prob_all'])}; by the bootstrap: "
            f"{gate.attrs['bootstrap_verdict']}."
        ),
        *_disputes(gate),
    ]


def _disputes(gate: xr.Dataset) -> list[str]:
    """Where posterior and bootstrap contradict each other, and what is decided all the same."""
    metrics = _disputed_metrics(gate)
    if not metrics:
        return []
    rows = [gate.sel(metric=metric) for metric in metrics]
    differences = [
        f"{name_threshold(metric)} ({number(row['difference'], 2)} by the posterior, "
        f"{number(row['bootstrap_difference'], 2)} by the bootstrap)"
        for metric, row in zip(metrics, rows, strict=True)
    ]
    consequence = (
        "By both the candidate is not as safe."
        if gate.attrs["verdict"] == INFERIOR
        else "Nothing is decided until a fit agrees with the ratings, or more prompts do."
    )
    return [
        (
            f"Posterior and bootstrap contradict each other on the difference of "
            f"{join_names(differences)}: one lies outside the other's bounds. {consequence}"
        )
    ]


def _disputed_metrics(gate: xr.Dataset) -> list[str]:
    """Metrics of which posterior and bootstrap contradict each other; none without a fit."""
    return [str(metric) for metric in json.loads(str(gate.attrs.get("disputed", "[]")))]


def _errors(gate: xr.Dataset) -> list[str]:
    """How often a gate of this design errs, and how that is known."""
    share = gate["outcome_share"]
    none, regressed = share.sel(scenario="no change"), share.sel(scenario="regression")
    return [
        (
            "By simulation from these ratings, a gate of this design passes "
            f"{_percent(none.sel(outcome=NON_INFERIOR))} of unchanged candidates and calls "
            f"{_percent(none.sel(outcome=INFERIOR))} not as safe; of regressions of "
            f"{gate.attrs['regression']:g} margins it passes "
            f"{_percent(regressed.sel(outcome=NON_INFERIOR))} and calls "
            f"{_percent(regressed.sel(outcome=INFERIOR))} not as safe."
        )
    ]


def _needed(gate: xr.Dataset) -> list[str]:
    """How many prompts would decide; of disputed differences nobody knows."""
    undecided = gate.isel(metric=(gate["state"] != NON_INFERIOR).to_numpy())
    if gate.attrs["verdict"] in DECIDED or not undecided.sizes["metric"] or _disputed_metrics(gate):
        return []
    to_decide, unchanged = undecided["prompts_to_decide"], undecided["prompts_to_pass"].max()
    beyond = to_decide.where(undecided["difference"] > undecided["margin"])
    # One metric beyond its margin is enough for a no, a yes needs every one within.
    at_present = float(beyond.min() if bool(beyond.notnull().any()) else to_decide.max())
    decide = "no number of" if np.isinf(at_present) else needed_prompts(at_present, gate)
    prompts = "prompts" if bool(gate.attrs["paired"]) else "prompts of both sides together"
    return [
        (
            f"At the present differences {decide} {prompts} would decide; with "
            f"{needed_prompts(unchanged, gate)} an unchanged candidate would pass in "
            f"{PASSING:.0%} of cases."
        )
    ]


def _open_margins(gate: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Margins that are open though a fit, if any, is sure, and those that answers seen keep.

    Both are over (metric). Where posterior and bootstrap contradict each other, nothing is said of
    a margin.
    """
    is_sure = gate.get("prob_within", xr.ones_like(gate["margin"])) >= gate.attrs["confidence"]
    is_open = is_sure & (gate["state"] == INCONCLUSIVE) & (not _disputed_metrics(gate))
    return is_open, seen_bounds(gate).sel(bound="upper", drop=True) <= gate["margin"]


def _fit_alone(gate: xr.Dataset) -> list[str]:
    """Which margins are kept by a fit and not by the answers that were seen."""
    if gate.attrs["method"] != "posterior" or "unseen_end_rise" not in gate:
        return []
    is_open, is_seen = _open_margins(gate)
    rows = [gate.sel(metric=name) for name in labels_where(is_open & ~is_seen)]
    if not rows:
        return []
    upper = [number(row["bootstrap_bounds"].sel(bound="upper"), 2) for row in rows]
    names = [
        f"{name_threshold(str(row['metric'].item()))} (upper bound {bound}, margin "
        f"{number(row['margin'], 2)})"
        for row, bound in zip(rows, upper, strict=True)
    ]
    its = "its margin" if len(names) == 1 else "their margins"
    return [
        (
            f"By the fit, {join_names(names)} would be within {its}, but the resamples of observed "
            "answers do not show it."
        )
    ]


def _unseen(gate: xr.Dataset) -> list[str]:
    """Which margins are open because of answers at the end of the scale that were not seen."""
    if "unseen_end_rise" not in gate:
        return []
    is_open, is_seen = _open_margins(gate)
    is_unseen = is_open & is_seen & (gate["unseen_end_rise"] > 0)
    names = [name_threshold(name) for name in labels_where(is_unseen)]
    if not names:
        return []
    attrs = gate.attrs
    prompts = int(attrs["shared_prompts"]) + int(attrs["candidate_prompts"]) * (not attrs["paired"])
    its = "its margin" if len(names) == 1 else "their margins"
    return [
        (
            f"By the answers seen, {join_names(names)} would be within {its}. None of those of "
            f"{attrs['candidate']} is at the end of the scale by all of its judges. "
            f"{format_count(prompts, 'prompt')} can show none although up to "
            f"{100 * attrs['unseen_end_share']:.1f}% of all prompts lead to one (at "
            f"{format_percent(attrs['confidence'])} confidence), and with these the candidate may "
            f"be beyond {its}."
        )
    ]


def _decisive_judges(gate: xr.Dataset) -> list[str]:
    """Judges without whom a difference that bears the verdict lies beyond its margin, or within."""
    # Without a judge there is no fit: like is compared with like.
    difference = gate.get("bootstrap_difference", gate["difference"])
    beyond, verdict = difference > gate["margin"], gate.attrs["verdict"]
    turned = (gate["difference_without"] > gate["margin"]) != beyond
    depends = turned.any("metric")
    if verdict == INFERIOR:  # one metric that is worse is enough
        depends = (turned | (gate["state"] != INFERIOR)).all("metric")
    names = [str(x) for x in gate["judge_out"].to_numpy()[depends.to_numpy()]]
    if not names:
        return []
    pronoun = "it" if len(names) == 1 else "each"
    return [
        (
            f"It depends on {name_raters('judge', names)}: without {pronoun} a "
            "difference lies on the other side of its margin. More judges would tell."
        )
    ]


def _percent(share: xr.DataArray) -> str:
    """A share in per cent; of resamples none is certain."""
    text = f"{100 * float(share):.0f}%"
    return {"0%": "under 1%", "100%": "over 99%"}.get(text, text)


def _plain(value: Any) -> Any:
    """A number or a text as JSON has it; None for a number that it has no word for."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not np.isfinite(plain) else plain
