"""What the gate compares, in sentences: studies, prompts, judges, anchors and scores left out."""

import json
from collections.abc import Mapping

import xarray as xr

from sharpbayes.errors import format_count, format_list, join_names
from sharpbayes.report.metric_names import name_threshold
from sharpbayes.report.tables.format import number
from sharpbayes.spec.files import describe_open_checks
from sharpbayes.storage.attributes import read_weights

SIDES = ("candidate", "reference")


def describe_comparison(gate: xr.Dataset) -> list[str]:
    """Return which prompts, judges and scores are compared, and what anchors say of the judges."""
    return [_prompts(gate), *_judges(gate), *_unmatched(gate), *_drift(gate)]


def name_sides(results: xr.DataTree) -> dict[str, str]:
    """Return what candidate and reference are called.

    Models of one name have the titles of their studies with them, or else their files.
    """
    attrs = results["gate"].attrs | results.attrs
    names = {side: str(attrs[side]) for side in SIDES}
    titles = {side: repr(attrs.get(f"{side}_title", "")) for side in SIDES}
    files = {side: str(attrs.get(f"{side}_file", "")) for side in SIDES}
    if _differ(names):
        return names
    apart = next((texts for texts in (titles, files) if _differ(texts)), None)
    return {side: f"{names[side]} of {apart[side]}" if apart else names[side] for side in SIDES}


def _differ(texts: Mapping[str, str]) -> bool:
    """Whether candidate and reference have texts that tell them apart."""
    return all(texts.values()) and len({*texts.values()}) > 1


def name_studies(results: xr.DataTree) -> list[str]:
    """Return the studies with files and times, and the weights; of one study the weights alone."""
    title = read_weights(results)["title"]
    if bool(results["gate"].attrs["one_study"]):
        return [f"The margins are those of the weights {title!r}."]
    attrs = results.attrs
    studies = [_name_study(results, side) for side in SIDES]
    new, old = (str(attrs[f"{side}_created"]) for side in SIDES)
    text = f"Candidate: {studies[0]}. Reference: {studies[1]}. Margins: {title!r}."
    if new < old:
        text += " The candidate's results are the older ones: see that the two are not swapped."
    return [text]


def _name_study(results: xr.DataTree, side: str) -> str:
    """The study of a side, with its file, if it is known, and when its results were made."""
    attrs = results.attrs
    study = f"{attrs[f'{side}_title']!r}, results of {_minute(attrs[f'{side}_created'])}"
    file = str(attrs.get(f"{side}_file", ""))
    return f"{file} ({study})" if file else study


def _minute(time: str) -> str:
    """A time to the minute.

    >>> _minute("2026-11-23T21:21:55+00:00")
    '2026-11-23 21:21 UTC'
    """
    return f"{time[:16].replace('T', ' ')} UTC"


def describe_assumptions(results: xr.DataTree) -> list[str]:
    """Return what nobody confirmed of the studies; once where both have the same."""
    checks = [json.loads(str(results.attrs.get(f"{side}_open_checks", "[]"))) for side in SIDES]
    distinct = checks[:1] if checks[0] == checks[1] else checks
    return [describe_open_checks(x) for x in distinct if x]


def _unmatched(gate: xr.Dataset) -> list[str]:
    """Scores that one side alone has, and that are left out."""
    attrs = gate.attrs
    numbers = {side: int(attrs.get(f"{side}_unmatched", 0)) for side in (*SIDES, "anchors")}
    if not any(numbers.values()):
        return []
    compared = {"candidate": attrs["scores"]}
    compared["reference"] = attrs.get("reference_scores", attrs["scores"])
    counts = [
        f"{numbers[side]} of the {side} ({100 * numbers[side] / (numbers[side] + n):.0f}%)"
        for side, n in compared.items()
        if numbers[side]
    ]
    if numbers["anchors"]:
        counts.append(f"{numbers['anchors']} of the anchors")
    as_often = "Of a judge's trials of an answer as many count as both sides have. "
    return [
        (
            "Scores without a counterpart by the same judge are left out: "
            f"{join_names(counts)}. {as_often * bool(attrs.get('has_trials'))}"
            "If scores are missing because answers are bad, or were easy to judge, this gate does "
            "not see it."
        )
    ]


def _prompts(gate: xr.Dataset) -> str:
    """Which prompts are compared."""
    attrs = gate.attrs
    alone = int(attrs["candidate_prompts"]), int(attrs["reference_prompts"])
    if not any(alone):
        return f"{format_count(int(attrs['shared_prompts']), 'prompt')}, the same for both, paired."
    shared = format_count(int(attrs["shared_prompts"]), "shared prompt")
    text = (
        f"{alone[0]} prompts of the candidate and {alone[1]} of the reference have no counterpart"
    )
    if bool(attrs["paired"]):
        hidden = (
            " If the candidate lacks them because its answers are bad, this gate does not see it."
        )
        return f"{shared}, paired; {text} and are left out.{hidden * (alone[1] > alone[0])}"
    samples = f"{shared}; {text}, and all are compared, as samples of the same kind of prompts."
    return f"{samples}{_describe_unscored(int(attrs.get('candidate_unscored', 0)))}"


def _describe_unscored(number: int) -> str:
    """How many answers of a sample nobody scored; empty if none."""
    if not number:
        return ""
    answers, have = format_count(number, "answer"), "has" if number == 1 else "have"
    return (
        f" {answers} of the candidate {have} no score by any judge; if that is because answers are "
        "bad, this gate does not see it."
    )


def _judges(gate: xr.Dataset) -> list[str]:
    """Which judges are compared, and which are left out."""
    names = ("judges", "candidate_judges", "reference_judges")
    both, new, old = (json.loads(gate.attrs[name]) for name in names)
    alone = {"candidate": new, "reference": old}
    left_out = json.loads(gate.attrs.get("left_out_judges", "{}"))
    never = left_out.get("both", [])
    lists = [("who scored both, but never answers to the same prompt, are left out", never)]
    consequence = "are left out"
    if int(gate.attrs["anchors"]):
        consequence = "are compared by the anchors"
        for side, judges in alone.items():
            without = left_out.get(side, [])
            alone[side] = [judge for judge in judges if judge not in without]
            lists.append((f"of the {side} who scored no anchor are left out", without))
    changed = [f"of the {side} alone: {format_list(x)}" for side, x in alone.items() if x]
    text = f"The same {format_count(len(both), 'judge')} scored both: {format_list(both)}."
    if changed:
        shared = f"Judges of both: {format_list(both) or 'none'}"
        text = f"{shared}. Judges {'; '.join(changed)}; they {consequence}."
    return [text, *(f"Judges {description}: {format_list(x)}." for description, x in lists if x)]


def _drift(gate: xr.Dataset) -> list[str]:
    """What anchors say of the judges."""
    anchors = int(gate.attrs["anchors"])
    if not anchors:
        if bool(gate.attrs["one_study"]):
            return []
        return [f"Whether judges have become stricter is not measured: {_why_no_anchors(gate)}."]
    drifts = [
        f"{number(abs(drift), 2)} {'lower' if drift < 0 else 'higher'} in {name_threshold(label)}"
        for label, drift in zip(gate["metric"].to_numpy(), gate["drift"].to_numpy(), strict=True)
    ]
    return [
        (
            f"Judges score {format_count(anchors, 'answer')} of {gate.attrs['reference']} "
            f"{join_names(drifts)} than before; this is subtracted, with its uncertainty."
        )
    ]


def _why_no_anchors(gate: xr.Dataset) -> str:
    """Why no answers show what judges score higher."""
    name, copies = gate.attrs["reference"], int(gate.attrs.get("copies", 0))
    if name == gate.attrs["candidate"]:
        return (
            "anchors need a name of their own, and both models are called "
            f"{name}; give the model of each release another name"
        )
    if copies:
        return (
            f"in the candidate's study {format_count(copies, 'answer')} of {name} have the scores "
            "that they had before, and are taken for copies, not for anchors"
        )
    return f"the candidate's study has no answers of {name} judged again"
