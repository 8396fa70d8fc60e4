"""The answer of a history: what changed from release to release, and when."""

from itertools import pairwise

import xarray as xr

from sharpbayes.errors import format_count, format_list, join_names
from sharpbayes.report.tables.format import number

# What stands in place of a model where none is selected.
NOBODY = "none"
# A drift of more standard errors than this is named.
NOTABLE = 2.0
# Values that are compared from release to release, and how many moves are listed.
MOVED = {
    "cvar": "tail risk",
    "mean": "mean log-risk",
    "policy_score": "policy score",
    "hm": "responsiveness",
}
MOST_MOVES = 6


def history_answer(results: xr.DataTree) -> list[str]:
    """Return which decisions changed with which release, which inputs, and which judges moved."""
    data = results["history"].to_dataset()
    releases = [str(name) for name in data["release"].to_numpy()]
    return [
        f"{format_count(len(releases), 'release')}: {', '.join(releases)}.",
        *_order(data),
        *_choices(data),
        *_verdicts(data),
        *_moves(data),
        *_inputs(data),
        *_drifts(data),
    ]


def _order(data: xr.Dataset) -> list[str]:
    """Whether the files are in the order of time."""
    created = [str(time) for time in data["created"].to_numpy()]
    if created == sorted(created):
        return []
    return ["The files are not in the order in which they were made; they are shown as given."]


def _choices(data: xr.Dataset) -> list[str]:
    """When another model of a panel was chosen."""
    if "choice" not in data:
        return []
    pairs = list(pairwise(zip(_releases(data), map(str, data["choice"].to_numpy()), strict=True)))
    changed = [
        f"since {name} {now}, before {then}" for (_, then), (name, now) in pairs if now != then
    ]
    what = "The model that is selected, or lowest where nothing was fitted"
    if not changed and str(data["choice"].to_numpy()[0]) == NOBODY:
        return ["No release selects a model."]
    if not changed:
        return [f"{what}, is the same in every release: {data['choice'].to_numpy()[0]}."]
    return [f"{what}, changed: {'; '.join(changed)}."]


def _verdicts(data: xr.Dataset) -> list[str]:
    """When the verdict on a model changed."""
    changes = []
    for unit in data["unit"].to_numpy():
        verdicts = [str(text) for text in data["verdict"].sel(unit=unit).to_numpy()]
        changes += [
            f"{unit} {now} since {name}, {then} before"
            for (then, now), name in zip(pairwise(verdicts), _releases(data)[1:], strict=True)
            if now != then and "-" not in (now, then)
        ]
    return [f"Verdicts that changed: {'; '.join(changes)}."] if changes else []


def _moves(data: xr.Dataset) -> list[str]:
    """Values that moved so far from one release to the next that their intervals do not overlap."""
    moves = []
    for metric in (name for name in MOVED if name in data["metric"]):
        rows = data[["observed", "bootstrap_interval"]].sel(metric=metric)
        for earlier, later in pairwise(_releases(data)):
            then, now = rows.sel(release=earlier), rows.sel(release=later)
            low, high = now["bootstrap_interval"].transpose("bound", "unit").drop_vars("bound")
            lowest, highest = then["bootstrap_interval"].transpose("bound", "unit")
            moved = ((low > highest.drop_vars("bound")) | (high < lowest.drop_vars("bound"))).data
            moves += [
                f"{MOVED[metric]} of {unit} from {number(then['observed'].sel(unit=unit), 2)} to "
                f"{number(now['observed'].sel(unit=unit), 2)} in {later}"
                for unit in data["unit"].to_numpy()[moved]
            ]
    if not moves:
        return []
    listed = format_list(moves, most=MOST_MOVES)
    return [
        (
            f"Intervals of these values do not overlap from one release to the next: {listed}. "
            "`sharpbayes gate` compares two releases."
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


def _drifts(data: xr.Dataset) -> list[str]:
    """Judges whose scores of the same models and prompts moved by more than their error."""
    if "drift" not in data:
        return []
    moved = []
    for release in _releases(data)[1:]:
        row = data.sel(release=release)
        notable = abs(row["drift"]) > NOTABLE * row["drift_error"]
        moved += [
            f"{judge} by {number(row['drift'].sel(judge=judge), 2)} in {release}"
            for judge in row["judge"].to_numpy()[notable.to_numpy()]
        ]
    if not bool((data["shared_answers"] > 0).any()):
        return ["No two releases in a row share models and prompts: judges cannot be compared."]
    if not moved:
        return ["No judge is shown to score otherwise than in the release before."]
    return [
        (
            f"On the same models and prompts scores differ from the release before: "
            f"{'; '.join(moved)}. If the answers are the same, the judges have moved; if they are "
            "new, the models may have."
        )
    ]


def _releases(data: xr.Dataset) -> list[str]:
    """Names of the releases."""
    return [str(name) for name in data["release"].to_numpy()]
