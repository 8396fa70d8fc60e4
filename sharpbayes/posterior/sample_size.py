"""By how much more prompts, judges, items or raters would narrow what is still open."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import (
    CrowdCounts,
    count_crowd,
    count_labels,
    measure_responsiveness,
)
from sharpbayes.analysis.panel import ProfilePlan, tabulate_replicates
from sharpbayes.data.crowd import SCALE, CrowdData
from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import severity_metrics, severity_table
from sharpbayes.metrics.crowd.scores import plurality
from sharpbayes.metrics.panel.comparison import policy_score
from sharpbayes.metrics.panel.profile import weighted_mean
from sharpbayes.metrics.panel.tail import conditional_value_at_risk
from sharpbayes.posterior.crowd import counted_makings
from sharpbayes.posterior.panel import Cells, made_tables
from sharpbayes.posterior.preposterior import Designs, told_apart
from sharpbayes.posterior.replicates import Block, Draws, measured_draws, side_by_side
from sharpbayes.spec.study import Study

# How many times as many units, and how many draws in all are spent on it.
MULTIPLES = (1, 2, 4)
DRAWS = 200
# Ratings that are made for it in all: of large studies fewer makings than the twins have, and of
# the largest the replicates that a fit keeps.
MADE = 100_000_000
# Draws that are pooled lie this far apart: no two pools share more than one of them.
APART = (0, 1, 3, 7)
COMPARED = ("mpa", "wra")
# What of the counts of a crowd is over items.
COUNTED = ("plurality", "label_count", "strata")
# Sets the weights of pooled units apart from all other random numbers of a seed.
STREAM = 0xF0A7
FURTHER = (
    "{level:.0%} intervals of differences and the chance that a study of so many times the units "
    "tells a pair apart, from {draws} replicates: m times the {units} are m replicated studies "
    "taken together; m times the {people} are so many new ones, "
    "whose intervals are about ratings made anew. What other sources vary is not narrowed."
)


def few(draws: Draws) -> Draws:
    """Return some :data:`DRAWS` draws in all, evenly spaced, as many from every chain."""
    chains, there = draws.shape
    at = np.unique(np.linspace(0, there - 1, min(there, -(-DRAWS // chains))).round().astype(int))
    posterior = draws.posterior.isel(draw=at)
    return replace(draws, posterior=posterior, predictive=draws.predictive.isel(draw=at))


def _about(draws: Draws, sources: Collection[str], units: int) -> Draws:
    """Return the draws with as many makings as the twins have, of large studies with fewer.

    One, the replicates that a fit keeps, where the study does not ask about the population.
    """
    draws = draws.about(sources, units)
    affordable = MADE // max(draws.design.n_ratings * int(np.prod(draws.shape)), 1)
    return replace(draws, makings=min(draws.makings, max(affordable, 1)))


def _pooled(held: xr.Dataset, dim: str, times: int) -> xr.Dataset:
    """Several draws together along a dimension of units, whose labels are left out."""
    size, bare = held.sizes["draw"], held.drop_vars(dim, errors="ignore")
    moved = [bare.isel(draw=(np.arange(size) + apart) % size) for apart in APART[:times]]
    return side_by_side(moved, dim)


def _unit_weights(draws: Draws, chain: int, times: int, units: int) -> NDArray[np.float64]:
    """Bayesian bootstrap weights of so many times the units, each with one weight in all makings.

    Of every draw of a chain; shape (draw, times x making x unit), in the order of pooled draws.
    """
    rng = np.random.default_rng([draws.seed, chain, times, STREAM])
    size = draws.shape[1]
    drawn = rng.exponential(size=(size, times, 1, units))
    every = np.broadcast_to(drawn, (size, times, draws.makings, units))
    return every.reshape(size, -1)


def panel_further(
    plans: Mapping[str, ProfilePlan],
    cells: Cells,
    draws: Draws,
    decisions: Mapping[str, xr.Dataset],
    *,
    sources: Collection[str],
) -> dict[str, xr.Dataset]:
    """Return for each weights file by how much more prompts or judges would narrow open pairs.

    Args:
        plans: How levels are profiled under each weights file.
        cells: Where ratings lie.
        draws: Replicated ratings.
        decisions: The decision of each weights file, which says what is open.
        sources: All that the study lets vary. With ``prompts`` they stand for their population, as
            in its twin; with ``judges`` further ones are asked about, drawn anew.

    Returns:
        :func:`told_apart` over (design, model, other), missing for pairs that are not open; no
        entry for weights under which no pair is.
    """
    open_at = {name: each["unresolved"] for name, each in decisions.items()}
    used = {name: plan for name, plan in plans.items() if bool(open_at[name].any())}
    if not used:
        return {}
    chosen, held = few(draws), list(used.values())
    made = {"prompts": _more_prompts(held, cells, _about(chosen, sources, cells.units))}
    if "judges" in sources:
        made["judges"] = _more_judges(held, cells, chosen)
    found = {}
    for number, name in enumerate(used):
        level = float(decisions[name].attrs["open_at"])
        designs = [
            Designs(source, {times: each[number] for times, each in by_times.items()})
            for source, by_times in made.items()
        ]
        apart = told_apart(designs, "model", level=level)
        found[name] = _said(
            apart.where(open_at[name]), "prompts", "judges", level=level, draws=chosen
        )
    return found


def _said(found: xr.Dataset, units: str, people: str, *, level: float, draws: Draws) -> xr.Dataset:
    """With what its numbers are, in words."""
    number = int(np.prod(draws.shape))
    text = FURTHER.format(level=level, draws=number, units=units, people=people)
    return found.assign_attrs(interval_note=text, level=level)


def compared(plan: ProfilePlan, table: xr.Dataset, weights: xr.DataArray | None) -> xr.DataArray:
    """Return what models are chosen by, and nothing else of the profile.

    It is :func:`sharpbayes.posterior.decision.decided_by` of :meth:`ProfilePlan.profile`, the other statistics apart.

    Args:
        plan: Weights and policy.
        table: ``log_risk`` and ``harm`` over (draw, model, prompt[, dimension]).
        weights: Of prompts, over (draw, prompt); None counts each once.
    """
    by, tail = plan.weights.decision.by, plan.weights.tail
    target, of_prompts = replace(plan, table=table).target(weights), table[_rests_on(plan)]
    if by == "policy_score":
        harm = weighted_mean(of_prompts, dim=plan.dim, weights=target)
        return policy_score(harm, plan.policy)
    cvar = conditional_value_at_risk(
        of_prompts, alpha=tail.alpha, estimator=tail.estimator, dim=plan.dim, weights=target
    )
    return cvar if by == "cvar" else cvar.max("dimension", skipna=False)


def _rests_on(plan: ProfilePlan) -> str:
    """What is known of each prompt that models are chosen by."""
    return "log_risk" if plan.weights.decision.by == "cvar" else "harm"


def _more_units(
    draws: Draws,
    dim: str,
    units: int,
    known: Callable[[Block], list[xr.Dataset]],
    value: Callable[[int, xr.Dataset, xr.DataArray], xr.DataArray],
) -> dict[int, list[xr.DataArray]]:
    """Statistics of so many times the units: replicated studies side by side, units weighed.

    Args:
        draws: Replicated ratings.
        dim: The units.
        units: Their number.
        known: Several datasets of what is known of each unit in all makings of a block's draws.
        value: The statistic of one of them, by its place, over (draw, ...), with units weighed.
    """

    def part(chain: int) -> xr.Dataset:
        blocks = [known(block) for block in draws.blocks() if block.chain == chain]
        whole = [_of_draws(each) for each in zip(*blocks, strict=True)]
        found = {}
        for times in MULTIPLES:
            made = _unit_weights(draws, chain, times, units)
            weights = xr.DataArray(made, dims=("draw", dim))
            for at, held in enumerate(whole):
                found[f"{times} {at}"] = value(at, _pooled(held, dim, times), weights)
        return xr.Dataset(found)

    joined = xr.concat(current_map()(part, range(draws.shape[0])), "chain")
    number = len(joined.data_vars) // len(MULTIPLES)
    return {times: [joined[f"{times} {at}"] for at in range(number)] for times in MULTIPLES}


def _of_draws(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of draws one after the other; what is the same in every draw, once."""
    return xr.concat(parts, "draw", data_vars="minimal", coords="minimal", compat="override")


def _more_prompts(
    plans: Sequence[ProfilePlan], cells: Cells, draws: Draws
) -> dict[int, list[xr.DataArray]]:
    """What models are chosen by, of m times the prompts."""

    def known(block: Block) -> list[xr.Dataset]:
        tables = made_tables(plans, cells, block, ["ratings"])
        return [table[[_rests_on(plan)]] for plan, table in zip(plans, tables, strict=True)]

    def value(at: int, table: xr.Dataset, weights: xr.DataArray) -> xr.DataArray:
        return compared(plans[at], table, weights)

    return _more_units(draws, "prompt", cells.levels.sizes["prompt"], known, value)


def _more_judges(
    plans: Sequence[ProfilePlan], cells: Cells, draws: Draws
) -> dict[int, list[xr.DataArray]]:
    """What models are chosen by, of m times the judges, every one drawn anew."""

    def statistic(block: Block, times: int) -> list[xr.Dataset]:
        panels = []
        for copy in range(times):
            held = cells.replicated(block.levels(["ratings", "judges"], copy=copy))
            names = [f"{label} {copy}" for label in held["judge"].to_numpy()]
            panels.append(held.assign_coords(judge=names))
        tables = tabulate_replicates(plans, xr.concat(panels, "judge"))
        pairs = zip(plans, tables, strict=True)
        return [compared(plan, table, None).to_dataset(name="value") for plan, table in pairs]

    found = {}
    for times in MULTIPLES:
        made = measured_draws(draws, partial(statistic, times=times), copies=times)
        found[times] = [each["value"] for each in made]
    return found


def crowd_further(
    study: Study, data: CrowdData, draws: Draws, *, sources: Collection[str]
) -> dict[str, xr.Dataset]:
    """Return by how much more items or raters would narrow differences of MPA and WRA of groups.

    Args:
        study: A study of a crowd.
        data: Observed ratings.
        draws: Replicated ratings.
        sources: All that the study lets vary. With ``items`` they stand for their population, as
            in its twin; with ``raters`` further ones are asked about, drawn anew.

    Returns:
        ``decision_further``: :func:`told_apart` over (design, metric, group, other), missing but
        for groups of one grouping whose present interval holds 0; nothing where there are none.
    """
    assert study.crowd is not None  # noqa: S101 - the caller looked
    chosen, level = few(draws), study.bootstrap.level
    about = _about(chosen, sources, len(data.item.labels))
    designs = [Designs("items", _more_items(study, data, about))]
    if "raters" in sources:
        designs.append(Designs("raters", _more_raters(study, data, chosen)))
    apart = told_apart(designs, "group", level=level)
    grouping = designs[0].values[1]["grouping"]
    same = grouping == grouping.rename(group="other")
    still = apart["prob_distinguishable"].sel(design="items x 1", drop=True) == 0
    kept = same & still & (apart["group"] != apart["other"])
    if not bool(kept.any()):
        return {}
    return {
        "decision_further": _said(apart.where(kept), "items", "raters", level=level, draws=chosen)
    }


def _metrics(
    counted: CrowdCounts, reason: xr.DataArray, weights: xr.DataArray | None = None
) -> xr.DataArray:
    """MPA and WRA over (draw, metric, group)."""
    table = severity_table(
        counted.plurality,
        counted.label_count,
        by=counted.strata.sel(by=[ALL]),
        n_scores=counted.score_count.sizes["score"],
        weights=weights,
    )
    found = severity_metrics(table.sel(by=ALL, drop=True), COMPARED).where(reason == "")
    joined = found.to_dataarray("metric")
    return joined.transpose("draw", "metric", "group")


def _reason(study: Study, data: CrowdData) -> xr.DataArray:
    """Why a metric of the observed ratings is missing."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    reason: xr.DataArray = measure_responsiveness(study.crowd, count_crowd(study.crowd, data))[
        "reason"
    ]
    return reason.sel(by=ALL, drop=True)


def _more_items(study: Study, data: CrowdData, draws: Draws) -> dict[int, xr.DataArray]:
    """Metrics of m times the items."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    reason, observed = _reason(study, data), count_crowd(study.crowd, data)

    def known(block: Block) -> list[xr.Dataset]:
        made = counted_makings(study, data, block, ["ratings"])
        return [xr.Dataset({name: getattr(made, name) for name in COUNTED})]

    def value(_: int, held: xr.Dataset, weights: xr.DataArray) -> xr.DataArray:
        parts = {name: held[name] for name in COUNTED}
        return _metrics(replace(observed, **parts), reason, weights)

    units = len(data.item.labels)
    return {
        times: made for times, [made] in _more_units(draws, "item", units, known, value).items()
    }


def _more_raters(study: Study, data: CrowdData, draws: Draws) -> dict[int, xr.DataArray]:
    """Metrics of m times the raters, every one drawn anew from the population."""
    spec, reason = study.crowd, _reason(study, data)
    assert spec is not None  # noqa: S101 - the caller looked

    def statistic(block: Block, times: int) -> list[xr.Dataset]:
        levels = [block.levels(["raters"], copy=copy)[SCALE] for copy in range(times)]
        made = [
            count_crowd(spec, data, xr.DataArray(each, dims=("draw", "rating"))) for each in levels
        ]
        counts = made[0].score_count
        for each in made[1:]:
            counts = counts + each.score_count
        whole = replace(
            made[0],
            score_count=counts,
            plurality=plurality(counts),
            label_count=count_labels(spec, data, counts),
        )
        return [_metrics(whole, reason).to_dataset(name="value")]

    return {
        times: measured_draws(draws, partial(statistic, times=times), copies=times)[0]["value"]
        for times in MULTIPLES
    }
