"""How far the answer depends on one judge or expert, and on settings of the weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.analysis.metric_names import METRICS
from sharpbayes.analysis.stability import BY_METRIC
from sharpbayes.data.own_judges import pair_own_judges
from sharpbayes.errors import join_names
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.stats.multiplicity import SIGNIFICANCE_LEVEL
from sharpbayes.report.judge_orders import LostOrder, find_lost_orders
from sharpbayes.report.suspect_scores import alike_judges
from sharpbayes.report.tables.crowd import ALL_ITEMS
from sharpbayes.report.tables.declaration import View
from sharpbayes.report.tables.format import number, percent
from sharpbayes.report.wording import name_raters

# A change that is smaller rounds to 0.00.
NO_CHANGE = 0.005
# Of so many others the lowest came out lowest partly by chance.
MANY = 2
# A judge who alone scored less of the answers takes few prompts away.
SOLE_SHARE = 0.1
# Kinds of settings without a judge, or without several who score alike.
WITHOUT_JUDGES = ("judge", "judges")


@dataclass(frozen=True)
class Movement:
    """How far a value moves without the judge or expert who moves it most.

    Attributes:
        judge: Who is left out; several who score alike are left out together.
        value: What moves, as a sentence names it.
        change: By how much.
        is_outside: Whether it then lies beyond its interval.
    """

    judge: str
    value: str
    change: float
    is_outside: bool


def panel_stability(
    view: View, metric: str, lowest: Sequence[str], named: Sequence[str]
) -> Iterator[str]:
    """Yield how the lowest model depends on one judge, and on settings of the weights.

    ``lowest`` are the models of lowest observed ``metric``; where all models are, nothing depends.
    ``named`` are those that the answer names, the posterior's after a fit. Other settings are
    compared by the tail risk alone.
    """
    if are_tied(view, lowest):
        return
    judges = judges_by(view, metric)
    if judges is not None and not {*lowest} & {*named}:
        yield _observed_otherwise(judges, metric, lowest, named)
        return
    if judges is not None:
        yield from _sole_raters(
            sole_judges(view), "Judge", "scored {} of the answers", units="prompts"
        )
        if judges.sizes["setting"]:
            yield from _judges(view, judges, metric, lowest[0])
    if judges is None or metric != "cvar":
        return
    data = view.group("stability")
    is_other = data["changed"] & ~data["kind"].isin(WITHOUT_JUDGES)
    changed = data.isel(setting=is_other.to_numpy())
    if changed.sizes["setting"]:
        rows = zip(changed["setting"].to_numpy(), changed["lowest"].to_numpy(), strict=True)
        listed = [f"{setting} ({lowest})" for setting, lowest in rows]
        yield f"Other settings of the weights have another lowest model: {join_names(listed)}."


def crowd_stability(view: View) -> Iterator[str]:
    """Yield how the most responsive group depends on the labels of one expert.

    Groups that are not distinguishable have no order that could depend on anyone.
    """
    if "stability" not in view:
        return
    yield from _sole_raters(
        sole_experts(view), "Expert", "labelled {} of the labelled items", units="items"
    )
    data = experts_by(view)
    movement = expert_movement(view, data)
    changed = data.isel(setting=data["changed"].to_numpy())
    if has_rivals(view) and has_order(view) and data.sizes["setting"]:
        if changed.sizes["setting"]:
            yield _order_by_experts(changed)
        else:
            yield "No single expert changes which group is most responsive."
    if movement is not None:
        yield _describe_movement(movement)


def _order_by_experts(changed: xr.Dataset) -> str:
    """Which group is most responsive without each of some experts."""
    names = [str(name) for name in changed["value"].to_numpy()]
    rows = zip(names, changed["highest"].to_numpy(), strict=True)
    listed = [f"without expert {name} {highest}" for name, highest in rows]
    return (
        f"The order of groups depends on {name_raters('expert', names)}: {join_names(listed)} is "
        "most responsive."
    )


def expert_movement(view: View, data: xr.Dataset) -> Movement | None:
    """Return how far HM of all raters moves without the expert who moves it most, if known."""
    row = view.select({"metric": "hm", "group": "all"})
    return _find_largest(data, row, "the responsiveness of all raters")


def _find_largest(data: xr.Dataset, row: View, value: str) -> Movement | None:
    """The largest movement of the value of a row of ``joint``; None where none is known."""
    if not data.sizes["setting"] or bool(data["movement"].isnull().all()):
        return None
    largest = data.isel(setting=int(abs(data["movement"]).argmax("setting")))
    low, high = row["joint/bootstrap_interval"].to_numpy()
    moved = float(row["joint/observed"]) + float(largest["movement"])
    return Movement(
        judge=str(largest["value"].item()),
        value=value,
        change=float(largest["movement"]),
        is_outside=bool(moved < low or moved > high),
    )


def _describe_movement(movement: Movement) -> str:
    """How far the responsiveness of all raters moves without one expert."""
    if abs(movement.change) < NO_CHANGE:
        return f"No single expert moves {movement.value} by {NO_CHANGE:g} or more."
    return f"Without expert {movement.judge} {_name_change(movement)}."


def _name_change(movement: Movement) -> str:
    """What moves, in which direction and how far."""
    direction = "rises" if movement.change > 0 else "falls"
    how = "beyond its interval" if movement.is_outside else "which is the largest change"
    return f"{movement.value} {direction} by {number(abs(movement.change), 2)}, {how}"


def sole_experts(view: View) -> dict[str, float]:
    """Return the share of labelled items of each expert who alone labelled a large share."""
    data = view.group("stability")
    if "sole_share" not in data:
        return {}
    large = data.isel(setting=(data["sole_share"] >= SOLE_SHARE).to_numpy())
    rows = zip(large["value"].to_numpy(), large["sole_share"].to_numpy(), strict=True)
    return {str(name): float(share) for name, share in rows}


def experts_by(view: View) -> xr.Dataset:
    """Return what moves without each expert; those of :func:`sole_experts` are left out."""
    data = view.group("stability")
    return data.isel(setting=~np.isin(data["value"].to_numpy().astype(str), [*sole_experts(view)]))


def has_order(view: View) -> bool:
    """Return whether two groups are distinguishable by HM, or results do not say."""
    path = "responsiveness_difference/hm_p_holm"
    return path not in view or bool((view[path].sel(ALL_ITEMS) < SIGNIFICANCE_LEVEL).any())


def has_rivals(view: View) -> bool:
    """Return whether two models, or two groups of raters, are measured, so that one is the best."""
    if "profile" in view:
        return int(view["profile/cvar"].count()) > 1
    hm = view.select(ALL_ITEMS)["responsiveness/hm"]
    return int(hm.sel(group=hm["group"] != "all").count()) > 1


def are_tied(view: View, lowest: Sequence[str]) -> bool:
    """Return whether several models are measured and all of them are the lowest."""
    return 1 < len(lowest) == int(view["profile/cvar"].count())


def chance_of_lowest(
    view: View, metric: str, lowest: Sequence[str], similar: Sequence[str]
) -> Iterator[str]:
    """Yield that a model came out lowest of several that are alike partly by chance.

    ``lowest`` share the lowest value, and ``similar`` are others that the bootstrap does not
    distinguish from it; without any the tie is exact. How often intervals of such a model hold its
    value: docs/benchmarks/coverage_bootstrap.md.
    """
    alike = len(lowest) + len(similar)
    if similar and alike > MANY:
        verb, possessive = ("has", "its") if len(lowest) == 1 else ("share", "their")
        intervals = view.select({"metric": metric})["joint/bootstrap_interval"]
        low, high = intervals.sel(model=list(lowest)).transpose("bound", "model").to_numpy()
        narrow = f", and {possessive} interval holds less often than stated"
        yield (
            f"{join_names(list(lowest))} {verb} the lowest observed {METRICS[metric]} of {alike} "
            f"models that the bootstrap does not distinguish: {possessive} value is more likely "
            f"too low than too high{narrow * bool((low < high).any())}."
        )


def _observed_otherwise(
    judges: xr.Dataset, metric: str, lowest: Sequence[str], named: Sequence[str]
) -> str:
    """That observed values name another model with all judges, and without whom they do not."""
    verb = "has" if len(lowest) == 1 else "have"
    is_named = np.isin(judges["lowest"].to_numpy().astype(str), named)
    agreeing = [f"without judge {name}" for name in judges["value"].to_numpy()[is_named]]
    without = f"; {join_names(agreeing)} it is that one" if agreeing else ""
    return (
        f"By observed values of all judges {join_names([*lowest])} {verb} the lowest "
        f"{METRICS[metric]}, not {join_names([*named])}, which the posterior names{without}."
    )


def sole_judges(view: View) -> dict[str, float]:
    """Return the share of answers that a judge alone scored, of judges with a large share.

    Without such a judge other prompts are measured, which says nothing of the judge.

    >>> scores = xr.DataArray([[[1.0], [np.nan]], [[np.nan], [2.0]], [[1.0], [2.0]]],
    ...                       {"judge": ["ann", "bo"]}, ("prompt", "judge", "dimension"))
    >>> sole_judges(View(xr.DataTree.from_dict({"/panel": scores.to_dataset(name="sub_index")})))
    {'ann': 0.333..., 'bo': 0.333...}
    """
    if "panel/sub_index" not in view:
        return {}
    scored = view["panel/sub_index"].notnull().any("dimension")
    judges = scored.sum("judge")
    of_judge = (scored & (judges == 1)).sum([dim for dim in scored.dims if dim != "judge"])
    shares = of_judge / (judges > 0).sum()
    large = shares.where((shares >= SOLE_SHARE) & (scored.sizes["judge"] > 1)).dropna("judge")
    return dict(zip(map(str, large["judge"].to_numpy()), map(float, large), strict=True))


def _sole_raters(
    sole: Mapping[str, float], rater_kind: str, scored: str, *, units: str
) -> Iterator[str]:
    """That nothing shows how far the answer depends on judges or experts who scored alone.

    ``scored`` is what they did, with a field for the share.
    """
    if len(sole) == 1:
        [(name, share)] = sole.items()
        yield (
            f"{rater_kind} {name} alone {scored.format(percent(share))}: without {name} other "
            f"{units} are left, so that nothing shows how far the answer depends on {name}."
        )
    elif sole:
        shares = join_names([percent(share) for share in sole.values()])
        yield (
            f"{join_names([*sole])} alone {scored.format(shares)}: without one of them "
            f"other {units} are left, so that nothing shows how far the answer depends on them."
        )


def judges_by(view: View, metric: str) -> xr.Dataset | None:
    """Return what moves without each judge, by a metric; None where results do not have it.

    Over (setting) these are ``value``, the judge, ``lowest``, ``changed``, ``movement`` and, where
    results have them, ``unresolved`` and ``decisive``. Judges of :func:`sole_judges` are left out.
    """
    table = _every_judge(view, metric)
    if table is None:
        return None
    sole, alike = {*sole_judges(view)}, alike_judges(view)
    names = map(str, table["value"].to_numpy())
    is_sole = np.array([bool(sole & {name, *alike.get(name, [])}) for name in names], dtype=bool)
    return table.isel(setting=~is_sole)


def lost_orders(view: View, metric: str) -> dict[LostOrder, list[str]]:
    """Return the differences that are lost without a judge, with the metrics that lose them.

    ``metric`` is that of the answer. By it judges without whom another model is lowest are left
    out: that says more.
    """
    tables = {name: judges_by(view, name) for name in dict.fromkeys([metric, *HEADLINE])}
    if (table := tables[metric]) is not None:
        tables[metric] = table.isel(setting=~table["changed"].to_numpy())
    return find_lost_orders(view, tables)


def _every_judge(view: View, metric: str) -> xr.Dataset | None:
    """What moves without each judge."""
    if "stability" not in view:
        return None
    data = view.group("stability")
    if metric == "cvar":
        return data.isel(setting=data["kind"].isin(WITHOUT_JUDGES).to_numpy())
    if "lojo_lowest" not in data or metric not in data["metric"]:
        return None
    names = {f"lojo_{name}": name for name in BY_METRIC if f"lojo_{name}" in data}
    table = data[list(names)].sel(metric=metric).rename(names | {"judge_out": "setting"})
    return table.assign(value=table["setting"])


def _judges(view: View, judges: xr.Dataset, metric: str, first: str) -> Iterator[str]:
    """Which judges the observed answer depends on."""
    is_needed = (judges["lowest"] == "").to_numpy()
    if is_needed.any():
        names = [str(name) for name in judges["value"].to_numpy()[is_needed]]
        any_of, all_of_them = ("it", "it") if len(names) == 1 else ("one of them", "them")
        yield (
            f"Every tail risk needs {name_raters('judge', names)}: without {any_of} no model has "
            f"any, so that nothing shows how far the answer depends on {all_of_them}."
        )
    others = judges.isel(setting=~is_needed)
    changed = others.isel(setting=others["changed"].to_numpy())
    if changed.sizes["setting"]:
        yield _changes(view, changed, METRICS[metric], first)
    lost = lost_orders(view, metric)
    yield from (order.describe(metrics) for order, metrics in lost.items())
    if others.sizes["setting"] and not changed.sizes["setting"]:
        subject = "No other judge" if is_needed.any() else "No single judge"
        movement = largest_movement(view, others, metric, first)
        yield from _unchanged(view, metric, movement, subject, is_ordered=not lost)


def _own_judges(view: View) -> set[str]:
    """Judges who scored a model of their own name; none where results do not say who scored."""
    if "evidence/judge_share" not in view:
        return set()
    share = view["evidence/judge_share"].transpose("model", "judge")
    models, judges = (share[name].to_numpy().tolist() for name in share.dims)
    return {judge for judge, _ in pair_own_judges(models, judges, share.to_numpy() > 0)}


def _changes(view: View, changed: xr.Dataset, metric: str, first: str) -> str:
    """Which model is the lowest without each of some judges, and which with all.

    Those among them who score their own answers are named.
    """
    self_scorers, together = _own_judges(view), alike_judges(view)
    names = [str(name) for name in changed["value"].to_numpy()]
    pronoun = "them" if names[0] in together else "it"
    subjects = [f"the lowest observed {metric} is that", *["that"] * (len(names) - 1)]
    rows = zip(names, subjects, changed["lowest"].to_numpy(), strict=True)
    listed = [
        f"without {name_raters('judge', [name], together=together) if len(names) > 1 else pronoun} "
        f"{subject} of {lowest}"
        for name, subject, lowest in rows
    ]
    labels = [
        f"{name} (it scores its own answers)" if name in self_scorers else name for name in names
    ]
    return (
        f"The answer depends on the {name_raters('judge', labels, together=together)}: "
        f"{', '.join(listed)}, with all "
        f"judges that of {first}."
    )


def _unchanged(
    view: View, metric: str, movement: Movement | None, subject: str, *, is_ordered: bool
) -> Iterator[str]:
    """That no judge changes the lowest model, and how far its metric moves.

    Of one model, or where an order does not stay without a judge, the movement alone.
    """
    lowest = "is lowest" if metric == "cvar" else f"has the lowest {METRICS[metric]}"
    stays = f"{subject} changes which model {lowest}" if is_ordered and has_rivals(view) else ""
    if movement is None:
        yield from [f"{stays}."] if stays else []
    elif abs(movement.change) < NO_CHANGE:
        start = f"{stays}, nor" if stays else f"{subject} moves"
        yield f"{start} {movement.value} by {NO_CHANGE:g} or more."
    else:
        joined = f"{stays}{', but' if movement.is_outside else ';'} without"
        without = name_raters("judge", [movement.judge], together=alike_judges(view))
        yield f"{joined if stays else 'Without'} {without} {_name_change(movement)}."


def largest_movement(view: View, judges: xr.Dataset, metric: str, first: str) -> Movement | None:
    """Return how far a metric of a model moves without the judge who moves it most, if known."""
    if metric not in view["joint/metric"]:
        return None
    name = view.text("{cvar}") if metric == "cvar" else METRICS[metric]
    row = view.select({"metric": metric, "model": first})
    return _find_largest(judges, row, f"the observed {name} of {first}")
