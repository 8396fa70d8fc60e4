"""The answer of a history: what changed from release to release, and when."""

import re
from collections.abc import Sequence
from itertools import pairwise

import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.analysis.releases import ONE_MODEL
from sharpbayes.errors import format_count, format_list, format_percent, join_names
from sharpbayes.metrics.panel.comparison import CANNOT_TELL
from sharpbayes.metrics.panel.profile import CVARS
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.posterior.release import NO_TOLERANCE
from sharpbayes.report.claims import IF_NO_MORE_ENDS
from sharpbayes.report.layout import PANEL
from sharpbayes.report.tables.format import number

# The status of a release that was not to be fitted.
MEASURED = "measured"
# What stands in place of a model where none is selected.
NOBODY = "none"
# Values that are compared from release to release, and how many moves are listed.
MOVED = ("cvar", "mean", "policy_score", "hm")
MAX_MOVES = 6


def history_answer(results: xr.DataTree) -> list[str]:
    """Return which decisions changed with which release, which inputs, and which judges moved."""
    data = results["history"].to_dataset()
    releases = [str(name) for name in data["release"].to_numpy()]
    return [
        f"{format_count(len(releases), 'release')}: {', '.join(releases)}.",
        *_order(data),
        *(_only_models(data) if _has_one_model(data) else _choices(data)),
        *_verdicts(data),
        *_moves(data),
        *_new_models(data),
        *_inputs(data),
        *_parts(data),
        *_drifts(data),
    ]


def has_fits(results: xr.DataTree) -> bool:
    """Return whether any release of a history was fitted, or was to be."""
    return bool((results["history"]["status"] != MEASURED).any())


def _order(data: xr.Dataset) -> list[str]:
    """Whether the files are in the order of time."""
    created = [str(time) for time in data["created"].to_numpy()]
    if created == sorted(created):
        return []
    return ["The files are not in the order in which they were made; they are shown as given."]


def _has_one_model(data: xr.Dataset) -> bool:
    """Whether every release is of one model, so that none is chosen."""
    return data.attrs["kind"] == PANEL and data.sizes["unit"] == 1


def _only_models(data: xr.Dataset) -> list[str]:
    """The one model of each release."""
    if "release_model" not in data:
        return [f"Each release has one model, {data['unit'].item()}."]
    models = zip(_releases(data), map(str, data["release_model"].to_numpy()), strict=True)
    listed = "; ".join(f"{release}: {model}" for release, model in models)
    return [f"Each release has one model, and they are compared as one series ({listed})."]


def _choices(data: xr.Dataset) -> list[str]:
    """When another model of a panel was chosen."""
    if "choice" not in data:
        return []
    choices, names = [str(text) for text in data["choice"].to_numpy()], _releases(data)
    changed = [
        f"since {name} {choices[position]}, before {choices[position - 1]}"
        for position, name in enumerate(names)
        if position in _list_steps(choices)
    ]
    subject = "The model that is selected, or lowest where no fit recommends one"
    if not changed and choices[0] == NOBODY:
        return ["No release selects a model."]
    if not changed and choices[0] == CANNOT_TELL:
        return ["No release tells which model to choose."]
    further = [*_conditions(data), *_by_chance(data)]
    if changed:
        return [f"{subject}, changed: {'; '.join(changed)}.", *further]
    by_release = [f"{choice} in {name}" for choice, name in zip(choices, names, strict=True)]
    same = choices[0] if len(set(choices)) == 1 else "; ".join(by_release)
    return [f"{subject}, is the same in every release: {same}.", *further]


def _list_steps(choices: Sequence[str]) -> list[int]:
    """Positions of releases that choose other models than the one before, by whatever metric.

    >>> _list_steps(["m0 (by policy score)", "m0", "m1"])
    [2]
    """
    models = [re.sub(r" \(by [^()]*\)$", "", choice) for choice in choices]
    return [k for k in range(1, len(models)) if models[k] != models[k - 1]]


def _by_chance(data: xr.Dataset) -> list[str]:
    """In which releases the choice is not told from every other model.

    Where it changed, of the releases before and after; else of all.
    """
    steps = _list_steps([str(text) for text in data["choice"].to_numpy()])
    around = [position for step in steps for position in (step - 1, step)]
    compared = around or range(data.sizes["release"])
    is_open = data["choice_by_chance"].to_numpy()
    names = [_releases(data)[position] for position in sorted({*compared}) if is_open[position]]
    if not names:
        return []
    return [
        (
            f"In {join_names(names)} the lowest model is not distinguishable from every other one: "
            "chance alone can change which it is."
        )
    ]


def _conditions(data: xr.Dataset) -> list[str]:
    """In which releases another model could be lowest by answers that nobody saw."""
    is_open = data["choice_on_condition"].to_numpy()
    names = [name for name, holds in zip(_releases(data), is_open, strict=True) if holds]
    return [f"In {join_names(names)} it is so {IF_NO_MORE_ENDS}."] if names else []


def _verdicts(data: xr.Dataset) -> list[str]:
    """When the verdict on a model changed."""
    changes, near = [], ""
    for unit in data["unit"].to_numpy():
        verdicts = [str(text) for text in data["verdict"].sel(unit=unit).to_numpy()]
        changes += [
            f"{unit} {current} since {name}, {previous} before".removeprefix(f"{ONE_MODEL} ")
            for (previous, current), name in zip(
                pairwise(verdicts), _releases(data)[1:], strict=True
            )
            if current != previous and "-" not in (current, previous)
        ]
    if any(NO_TOLERANCE not in change for change in changes):
        near = " A verdict on a model near its limit can change by chance."
    return [f"Verdicts that changed: {'; '.join(changes)}.{near}"] if changes else []


def _moves(data: xr.Dataset) -> list[str]:
    """Values of which the intervals of a release and of the next do not overlap.

    A value without an interval is compared as it is, and listed by itself. Releases whose evidence
    does not carry a metric are not compared by it.
    """
    moves: dict[bool, list[str]] = {True: [], False: []}
    compared = 0
    for metric in (name for name in MOVED if name in data["metric"]):
        rows = data[["observed", "bootstrap_interval", "intervals_disjoint"]].sel(metric=metric)
        for earlier, later in pairwise(_releases(data)):
            if not _are_compared(data, metric, earlier, later):
                continue
            previous, current = (rows.sel(release=name, drop=True) for name in (earlier, later))
            known = (
                current["bootstrap_interval"].notnull() & previous["bootstrap_interval"].notnull()
            )
            compared += int(known.sum())
            for unit in data["unit"].to_numpy()[current["intervals_disjoint"].to_numpy()]:
                values = (number(row["observed"].sel(unit=unit), 2) for row in (previous, current))
                subject = METRICS[metric] + f" of {unit}" * (unit != ONE_MODEL)
                text = f"{subject} from {' to '.join(values)} in {later}"
                moves[bool(known.sel(unit=unit).all())].append(text)
    listed = {known: format_list(texts, limit=MAX_MOVES) for known, texts in moves.items()}
    sentences = []
    if moves[True]:
        sentences.append(
            "Intervals of these values do not overlap from one release to the next, of "
            f"{compared} that were compared: {listed[True]}. `sharpbayes gate` compares two "
            "releases."
        )
    if moves[False]:
        sentences.append(
            "These values differ from one release to the next; whether beyond chance is not known, "
            f"because resamples of a release do not differ: {listed[False]}."
        )
    return [*sentences, *_unknown_tails(data), *_other_tails(data)]


def _are_compared(data: xr.Dataset, metric: str, earlier: str, later: str) -> bool:
    """Whether the evidence of two releases carries a metric, and a tail risk is the same one."""
    is_tail = metric in CVARS
    tells = data["tells_tails" if is_tail else "tells_means"].sel(release=[earlier, later])
    return bool(tells.all()) and not (is_tail and _has_other_tails(data, earlier, later))


def _has_other_tails(data: xr.Dataset, earlier: str, later: str) -> bool:
    """Whether the tails of two releases are not of the same alpha."""
    if "alpha" not in data:
        return False
    before, after = data["alpha"].sel(release=[earlier, later]).to_numpy()
    return bool(before != after)


def _other_tails(data: xr.Dataset) -> list[str]:
    """Releases whose tail risk is another one than before."""

    def name_tail(release: str) -> str:
        return f"CVaR {100 * float(data['alpha'].sel(release=release)):g}"

    changes = [
        f"{name_tail(later)} since {later}, {name_tail(earlier)} before"
        for earlier, later in pairwise(_releases(data))
        if _has_other_tails(data, earlier, later)
    ]
    return [f"Tail risks of these releases are not compared: {'; '.join(changes)}."] * bool(changes)


def _unknown_tails(data: xr.Dataset) -> list[str]:
    """Releases that are not compared by tail risk."""
    names = [str(name) for name in data["release"].to_numpy()[~data["tells_tails"].to_numpy()]]
    if data.attrs["kind"] != PANEL or not names:
        return []
    return [f"The data of {join_names(names)} do not tell which tail risks differ: none is named."]


def _new_models(data: xr.Dataset) -> list[str]:
    """Models that the release before lacks: no move of them can be named."""
    if data.attrs["kind"] != PANEL:
        return []
    present = data["observed"].notnull().any("metric")
    models = [
        f"{unit} in {later}"
        for earlier, later in pairwise(_releases(data))
        for unit in data["unit"].to_numpy()[
            (present.sel(release=later) & ~present.sel(release=earlier)).to_numpy()
        ]
    ]
    if not models:
        return []
    return [
        (
            "Nothing is compared of models that the release before lacks: "
            f"{format_list(models, limit=MAX_MOVES)}. `sharpbayes gate` compares models of two "
            "names."
        )
    ]


def _inputs(data: xr.Dataset) -> list[str]:
    """Which inputs changed with which release."""
    parts = []
    for release in _releases(data)[1:]:
        row = data["changed"].sel(release=release)
        names = [str(name) for name in row["input"].to_numpy()[row.to_numpy().astype(bool)]]
        parts.append(f"{release}: {join_names(names) if names else 'nothing'}")
    return [f"Inputs that changed since the release before: {'; '.join(parts)}."]


def _parts(data: xr.Dataset) -> list[str]:
    """How many models, prompts and judges, or items and raters, are new or gone."""
    releases = []
    for release in _releases(data)[1:]:
        row = data.sel(release=release)
        texts = [_part(row.sel(part=part)) for part in row["part"].to_numpy()]
        if known := [text for text in texts if text]:
            releases.append(f"{release} has {join_names(known)}")
    return [f"Data that changed since the release before: {'; '.join(releases)}."] * bool(releases)


def _part(row: xr.Dataset) -> str:
    """A count of one part with how many are new or gone; empty where none is."""
    changes = [
        f"{int(row[name])} {word}"
        for name, word in (("part_new", "new"), ("part_gone", "gone"))
        if int(row[name])
    ]
    count = format_count(int(row["part_count"]), str(row["part"].item()))
    return f"{count} ({', '.join(changes)})" if changes else ""


def _drifts(data: xr.Dataset) -> list[str]:
    """Judges whose scores of the same models and prompts moved beyond chance."""
    if "drift" not in data:
        return []
    moved = []
    for release in _releases(data)[1:]:
        row = data.sel(release=release)
        moved += [
            f"{judge} by {number(row['drift'].sel(judge=judge), 2)} in {release}"
            for judge in row["judge"].to_numpy()[row["drift_notable"].to_numpy()]
        ]
    if not bool((data["shared_answers"] > 0).any()):
        return ["No two releases in a row share models and prompts: judges cannot be compared."]
    tests = int(data["drift_p_holm"].notnull().sum())
    corrected = f", corrected for {tests} comparisons" * (tests > 1)
    level = f"({format_percent(SIGNIFICANCE_LEVEL)}{corrected})"
    if not moved:
        return [f"No judge is shown to score otherwise than in the release before {level}."]
    return [
        (
            "On the same models and prompts scores differ from the release before, beyond chance "
            f"{level}: {'; '.join(moved)}. If the answers are the same, the judges have moved; if "
            "they are new, the models may have."
        )
    ]


def _releases(data: xr.Dataset) -> list[str]:
    """Names of the releases."""
    return [str(name) for name in data["release"].to_numpy()]
