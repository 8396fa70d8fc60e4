"""How far the answer depends on one judge or expert, and on settings of the weights."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from sharpbayes.errors import join_names
from sharpbayes.report.tables.crowd import ALL_ITEMS
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number

# A change that is smaller rounds to 0.00.
NO_CHANGE = 0.005
# Of so many others the lowest came out lowest partly by chance.
MANY = 2
# Metrics of which the lowest model is compared without each judge.
METRICS = {"cvar": "tail risk", "mean": "mean log-risk", "policy_score": "policy score"}


def panel_stability(view: View, metric: str, first: str) -> Iterator[str]:
    """Yield how the lowest model depends on one judge, and on settings of the weights.

    ``first`` is the model of lowest observed ``metric``. Other settings are compared by the tail
    risk alone.
    """
    judges = judges_by(view, metric)
    if judges is not None and judges.sizes["setting"]:
        yield from _judges(view, judges, metric, first)
    if judges is None or metric != "cvar":
        return
    data = view.group("stability")
    moved = data.isel(setting=(data["changed"] & (data["kind"] != "judge")).to_numpy())
    if moved.sizes["setting"]:
        rows = zip(moved["setting"].to_numpy(), moved["lowest"].to_numpy(), strict=True)
        listed = [f"{setting} ({lowest})" for setting, lowest in rows]
        yield f"Other settings of the weights have another lowest model: {join_names(listed)}."


def crowd_stability(view: View) -> Iterator[str]:
    """Yield how the most responsive group depends on the labels of one expert."""
    if "stability" not in view:
        return
    data = view.group("stability")
    movement = abs(data["movement"]).max()
    moves = "" if np.isnan(movement) else f"by at most {number(movement, 2)}"
    if not has_rivals(view):
        if moves:
            yield f"Leaving out one expert moves the responsiveness of all raters {moves}."
        return
    moved = f"; responsiveness of all raters moves {moves}" if moves else ""
    changed = data.isel(setting=data["changed"].to_numpy())
    if not changed.sizes["setting"]:
        yield f"No single expert changes which group is most responsive{moved}."
        return
    names = [str(name) for name in changed["value"].to_numpy()]
    rows = zip(names, changed["highest"].to_numpy(), strict=True)
    listed = [f"without {name} {highest}" for name, highest in rows]
    yield (
        f"The order of groups depends on {join_names(names)}: {join_names(listed)} is most "
        f"responsive{moved}."
    )


def has_rivals(view: View) -> bool:
    """Return whether two models, or two groups of raters, are measured, so that one is the best."""
    if "profile" in view:
        return int(view["profile/cvar"].count()) > 1
    hm = view.select(ALL_ITEMS)["responsiveness/hm"]
    return int(hm.sel(group=hm["group"] != "all").count()) > 1


def chance_of_lowest(metric: str, first: str, similar: Sequence[str]) -> Iterator[str]:
    """Yield that a model came out lowest of several that are alike partly by chance.

    ``similar`` are the models that the bootstrap does not distinguish from it. How often intervals
    of such a model hold its value: docs/benchmarks/coverage_bootstrap.md.
    """
    if len(similar) >= MANY:
        yield (
            f"{first} has the lowest observed {METRICS[metric]} of {len(similar) + 1} models that "
            "the bootstrap does not distinguish: its value is more likely too low than too high, "
            "and its interval holds less often than stated."
        )


def judges_by(view: View, metric: str) -> xr.Dataset | None:
    """Return what moves without each judge, by a metric; None where results do not have it.

    Over (setting) these are ``value``, the judge, and ``lowest``, ``changed`` and ``movement``.
    """
    if "stability" not in view:
        return None
    data = view.group("stability")
    if metric == "cvar":
        return data.isel(setting=(data["kind"] == "judge").to_numpy())
    if "lojo_lowest" not in data:
        return None
    names = {f"lojo_{name}": name for name in ("lowest", "changed", "movement")}
    table = data[list(names)].sel(metric=metric).rename(names | {"judge_out": "setting"})
    return table.assign(value=table["setting"])


def _judges(view: View, judges: xr.Dataset, metric: str, first: str) -> Iterator[str]:
    """Which judges the observed answer depends on."""
    is_needed = (judges["lowest"] == "").to_numpy()
    if is_needed.any():
        names = [str(name) for name in judges["value"].to_numpy()[is_needed]]
        any_of, them = ("it", "it") if len(names) == 1 else ("one of them", "them")
        yield (
            f"Every tail risk needs {join_names(names)}: without {any_of} no model has any, so "
            f"that nothing shows how far the answer depends on {them}."
        )
    others = judges.isel(setting=~is_needed)
    changed = others.isel(setting=others["changed"].to_numpy())
    if changed.sizes["setting"]:
        yield _changes(changed, METRICS[metric])
    elif others.sizes["setting"]:
        subject = "No other judge" if is_needed.any() else "No single judge"
        lowest = "is lowest" if metric == "cvar" else f"has the lowest {METRICS[metric]}"
        yield f"{subject} changes which model {lowest}{_movement(view, others, metric, first)}."


def _changes(changed: xr.Dataset, metric: str) -> str:
    """Which model is the lowest without each of some judges."""
    names = [str(name) for name in changed["value"].to_numpy()]
    says = [f"the lowest observed {metric} is that", *["that"] * (len(names) - 1)]
    rows = zip(names, says, changed["lowest"].to_numpy(), strict=True)
    listed = [
        f"without {name if len(names) > 1 else 'it'} {what} of {lowest}"
        for name, what, lowest in rows
    ]
    judges = "the judge" if len(names) == 1 else "the judges"
    return f"The answer depends on {judges} {join_names(names)}: {', '.join(listed)}."


def _movement(view: View, judges: xr.Dataset, metric: str, first: str) -> str:
    """How far the metric of the lowest model moves without the judge who moves it most."""
    if bool(judges["movement"].isnull().all()):
        return ""
    largest = judges.isel(setting=int(abs(judges["movement"]).argmax("setting")))
    name = view.text("{cvar}") if metric == "cvar" else METRICS[metric]
    movement, value = float(largest["movement"]), f"the observed {name} of {first}"
    if abs(movement) < NO_CHANGE:
        return f", nor {value} by {NO_CHANGE:g} or more"
    row = view.select({"metric": metric, "model": first})
    low, high = row["joint/bootstrap_interval"].to_numpy()
    outside = not low <= float(row["joint/observed"]) + movement <= high
    direction = "rises" if movement > 0 else "falls"
    return (
        f"{', but' if outside else ';'} without {largest['value'].item()} {value} {direction} by "
        f"{number(abs(movement), 2)}"
        f"{', beyond its interval' if outside else ', which is the largest change'}"
    )
