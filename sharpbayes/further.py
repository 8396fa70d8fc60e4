"""By how much more prompts, judges, items or raters would narrow what is still open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.data.crowd import SCALE, CrowdData
from sharpbayes.govern import BATCHES, monte_carlo_error
from sharpbayes.measure_crowd import Counted, count_crowd, labels_of, statistic_of
from sharpbayes.measure_panel import Plan, replicated_tables
from sharpbayes.metrics.compare import policy_score
from sharpbayes.metrics.crowd import plurality
from sharpbayes.metrics.groups import ALL
from sharpbayes.metrics.profile import weighted_mean
from sharpbayes.metrics.resample import percentile_interval
from sharpbayes.metrics.responsiveness import areas, severity_table
from sharpbayes.metrics.tail import conditional_value_at_risk
from sharpbayes.replicated import Block, Cells, Draws, measured_draws, side_by_side
from sharpbayes.spec.study import Study

# How many times as many units, and how many draws in all are spent on it.
MULTIPLES = (1, 2, 4)
DRAWS = 200
# Draws that are pooled lie this far apart: no two pools share more than one of them.
APART = (0, 1, 3, 7)
COMPARED = ("mpa", "wra")
# Sets the weights of pooled units apart from all other random numbers of a seed.
STREAM = 0xF0A7
FURTHER = (
    "{level:.0%} intervals of differences and the chance that a study of so many times the units "
    "tells a pair apart, from {draws} replicates: {units} times m are m replicated studies taken "
    "together. What {others} vary from draw to draw is not narrowed."
)


@dataclass(frozen=True)
class Designs:
    """Replicated statistics of larger and larger studies.

    Attributes:
        source: What there is more of: ``prompts``, ``judges``, ``items`` or ``raters``.
        values: For each multiple the statistic over (chain, draw, ..., unit).
    """

    source: str
    values: Mapping[int, xr.DataArray]


def told_apart(designs: Sequence[Designs], unit: str, *, level: float) -> xr.Dataset:
    """Return how wide differences are in larger studies, and how likely their intervals exclude 0.

    A study of m times the units has an interval as wide as that of the replicates of m times the
    units, around a centre that is not known yet: c = mu + sqrt(1 - V_m / V_1) (d - mu), with a
    present draw d of the difference, its mean mu, and the variances V_m and V_1 of replicates of m
    times and of once the units (the law of total variance: what a larger study leaves open, V_m,
    and how far its centre may move, V_1 - V_m, add up to what is open now).

    Args:
        designs: Replicated statistics, one for each source.
        unit: ``model`` or ``group``: what is compared.
        level: Share of draws inside an interval, in (0, 1).

    Returns:
        Over (design, ..., unit, other): ``difference_width`` in the unit of the statistic,
        ``prob_told_apart`` in [0, 1], each with its Monte Carlo standard error ``<name>_mcse``;
        coordinates ``source (design)`` and ``multiple (design)``.

    Source: preposterior analysis (Raiffa and Schlaifer 1961, chapter 5), by replication.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> def drawn(sd):
        ...     noise = rng.normal(0, sd / np.sqrt(2), (2, 4000, 2)) + [0.0, 1.0]
        ...     return xr.DataArray(noise, {"model": ["a", "b"]}, ("chain", "draw", "model"))
        >>> more = Designs("prompts", {1: drawn(1.0), 4: drawn(0.5)})
        >>> found = told_apart([more], "model", level=0.95).sel(model="a", other="b")
        >>> found["difference_width"].round().values  # 2 * 1.96 * sd
        array([4., 2.])
        >>> found["prob_told_apart"].round(1).values  # P(|N(1, 0.87)| > 0.98)
        array([0. , 0.5])
    """
    found = [
        part.expand_dims(design=[f"{each.source} x {times}"]).assign_coords(
            source=("design", [each.source]), multiple=("design", [times])
        )
        for each in designs
        for times, part in _narrowed(each.values, unit, level)
    ]
    return xr.concat(found, "design")


def _narrowed(
    values: Mapping[int, xr.DataArray], unit: str, level: float
) -> Iterator[tuple[int, xr.Dataset]]:
    """Widths and probabilities of each multiple."""
    now = _differences(values[1], unit)
    middle, spread = now.mean(["chain", "draw"]), now.var(["chain", "draw"])
    for times, held in values.items():
        made = _differences(held, unit)
        width = _width(made, level)
        left = made.var(["chain", "draw"]) / spread.where(spread > 0)
        centre = middle + np.sqrt((1.0 - left).clip(min=0.0)) * (now - middle)
        apart = (abs(centre) > width / 2).where(width.notnull()).astype(float)
        # The width is as uncertain as its batches differ.
        parts = [_width(part, level) for part in _batches(made)]
        yield (
            times,
            xr.Dataset(
                {
                    "difference_width": width,
                    "difference_width_mcse": xr.concat(parts, "batch").std("batch", ddof=1)
                    / np.sqrt(len(parts)),
                    "prob_told_apart": apart.mean(["chain", "draw"], skipna=False),
                    "prob_told_apart_mcse": monte_carlo_error(apart),
                }
            ),
        )


def _differences(values: xr.DataArray, unit: str) -> xr.DataArray:
    """Of every unit less every other one, draw by draw."""
    bare = values.drop_vars([name for name in values.coords if name not in values.dims])
    return (bare - bare.rename({unit: "other"})).transpose("chain", "draw", ..., unit, "other")


def _width(difference: xr.DataArray, level: float) -> xr.DataArray:
    """Width of the central interval over all draws."""
    drawn = difference.stack(replicate=("chain", "draw"), create_index=False)
    bounds = percentile_interval(drawn, level=level)
    return bounds.isel(bound=1, drop=True) - bounds.isel(bound=0, drop=True)


def _batches(x: xr.DataArray) -> Iterator[xr.DataArray]:
    """Successive draws of all chains."""
    number = min(BATCHES, x.sizes["draw"])
    size = x.sizes["draw"] // number
    for start in range(0, number * size, size):
        yield x.isel(draw=slice(start, start + size))


def few(draws: Draws) -> Draws:
    """Return some :data:`DRAWS` draws in all, evenly spaced, as many from every chain."""
    chains, there = draws.shape
    at = np.unique(np.linspace(0, there - 1, min(there, -(-DRAWS // chains))).round().astype(int))
    posterior = draws.posterior.isel(draw=at)
    return replace(draws, posterior=posterior, predictive=draws.predictive.isel(draw=at))


def _pooled(held: xr.Dataset, dim: str, times: int) -> xr.Dataset:
    """Several draws together along a dimension of units, whose labels are left out."""
    size, bare = held.sizes["draw"], held.drop_vars(dim, errors="ignore")
    moved = [bare.isel(draw=(np.arange(size) + apart) % size) for apart in APART[:times]]
    return side_by_side(moved, dim)


def _unit_weights(held: xr.Dataset, dim: str, rng: np.random.Generator) -> xr.DataArray:
    """Bayesian bootstrap weights of units in every draw."""
    shape = (held.sizes["draw"], held.sizes[dim])
    return xr.DataArray(rng.exponential(size=shape), dims=("draw", dim))


def panel_further(
    plans: Mapping[str, Plan],
    cells: Cells,
    draws: Draws,
    decisions: Mapping[str, xr.Dataset],
    *,
    judges: bool,
) -> dict[str, xr.Dataset]:
    """Return for each weights file by how much more prompts or judges would narrow open pairs.

    Args:
        plans: How levels are profiled under each weights file.
        cells: Where ratings lie.
        draws: Replicated ratings.
        decisions: The decision of each weights file, which says what is open.
        judges: Whether further judges are asked about, drawn anew from their population.

    Returns:
        :func:`told_apart` over (design, model, other), missing for pairs that are not open; no
        entry for weights under which no pair is.
    """
    open_at = {name: each["open_pair"] for name, each in decisions.items()}
    used = {name: plan for name, plan in plans.items() if bool(open_at[name].any())}
    if not used:
        return {}
    chosen, held = few(draws), list(used.values())
    made = {"prompts": _more_prompts(held, cells, chosen)}
    if judges:
        made["judges"] = _more_judges(held, cells, chosen)
    found = {}
    for number, name in enumerate(used):
        level = float(decisions[name].attrs["open_at"])
        designs = [
            Designs(source, {times: each[number] for times, each in by_times.items()})
            for source, by_times in made.items()
        ]
        apart = told_apart(designs, "model", level=level)
        found[name] = _said(apart.where(open_at[name]), "prompts or judges", level, chosen)
    return found


def _said(found: xr.Dataset, units: str, level: float, draws: Draws) -> xr.Dataset:
    """With what its numbers are, in words."""
    text = FURTHER.format(
        level=level, draws=int(np.prod(draws.shape)), units=units, others="the other sources let"
    )
    return found.assign_attrs(contains=text, level=level)


def compared(plan: Plan, table: xr.Dataset, weights: xr.DataArray | None) -> xr.DataArray:
    """Return what models are chosen by, and nothing else of the profile.

    It is :func:`sharpbayes.govern.decided_by` of :meth:`Plan.profile`, the other statistics apart.

    Args:
        plan: Weights and policy.
        table: ``log_risk`` and ``harm`` over (draw, model, prompt[, dimension]).
        weights: Of prompts, over (draw, prompt); None counts each once.
    """
    by, tail = plan.weights.decision.by, plan.weights.tail
    target = replace(plan, table=table).target(weights)
    if by == "policy_score":
        harm = weighted_mean(table["harm"], dim=plan.dim, weights=target)
        return policy_score(harm, plan.policy)
    risk = table["log_risk"] if by == "cvar" else table["harm"]
    cvar = conditional_value_at_risk(
        risk, alpha=tail.alpha, estimator=tail.estimator, dim=plan.dim, weights=target
    )
    return cvar if by == "cvar" else cvar.max("dimension", skipna=False)


def _more_prompts(
    plans: Sequence[Plan], cells: Cells, draws: Draws
) -> dict[int, list[xr.DataArray]]:
    """What models are chosen by, of m times the prompts: m replicated studies, prompts weighed."""
    each: dict[int, list[list[xr.DataArray]]] = {times: [] for times in MULTIPLES}
    for chain in range(draws.shape[0]):
        tables = _chain_tables(plans, cells, draws, chain)
        for times in MULTIPLES:
            parts = [_pooled(table, "prompt", times) for table in tables]
            weights = _unit_weights(parts[0], "prompt", _stream(draws, chain, times))
            pairs = zip(plans, parts, strict=True)
            each[times].append([compared(plan, part, weights) for plan, part in pairs])
    return {
        times: [xr.concat(one, "chain") for one in zip(*parts, strict=True)]
        for times, parts in each.items()
    }


def _stream(draws: Draws, chain: int, times: int) -> np.random.Generator:
    """Random numbers of a chain and a multiple."""
    return np.random.default_rng([draws.seed, chain, times, STREAM])


def _chain_tables(
    plans: Sequence[Plan], cells: Cells, draws: Draws, chain: int
) -> list[xr.Dataset]:
    """What is known of each prompt in every draw of a chain, for each weights file."""
    parts = []
    for block in (each for each in draws.blocks() if each.chain == chain):
        tables = replicated_tables(plans, cells.replicated(block.levels(["ratings"])))
        parts.append([table[["log_risk", "harm"]] for table in tables])
    return [xr.concat(each, "draw") for each in zip(*parts, strict=True)]


def _more_judges(
    plans: Sequence[Plan], cells: Cells, draws: Draws
) -> dict[int, list[xr.DataArray]]:
    """What models are chosen by, of m times the judges, every one drawn anew."""

    def statistic(block: Block, times: int) -> list[xr.Dataset]:
        panels = []
        for copy in range(times):
            held = cells.replicated(block.levels(["ratings", "judges"], copy=copy))
            names = [f"{label} {copy}" for label in held["judge"].to_numpy()]
            panels.append(held.assign_coords(judge=names))
        tables = replicated_tables(plans, xr.concat(panels, "judge"))
        pairs = zip(plans, tables, strict=True)
        return [compared(plan, table, None).to_dataset(name="value") for plan, table in pairs]

    found = {}
    for times in MULTIPLES:
        made = measured_draws(draws, partial(statistic, times=times), copies=times)
        found[times] = [each["value"] for each in made]
    return found


def crowd_further(
    study: Study, data: CrowdData, draws: Draws, *, raters: bool
) -> dict[str, xr.Dataset]:
    """Return by how much more items or raters would narrow differences of MPA and WRA of groups.

    Args:
        study: A study of a crowd.
        data: Observed ratings.
        draws: Replicated ratings.
        raters: Whether further raters are asked about, drawn anew from their population.

    Returns:
        ``decision_further``: :func:`told_apart` over (design, metric, group, other), missing but
        for groups of one grouping whose present interval holds 0; nothing where there are none.
    """
    assert study.crowd is not None  # noqa: S101 - the caller looked
    chosen, level = few(draws), study.bootstrap.level
    designs = [Designs("items", _more_items(study, data, chosen))]
    if raters:
        designs.append(Designs("raters", _more_raters(study, data, chosen)))
    apart = told_apart(designs, "group", level=level)
    grouping = designs[0].values[1]["grouping"]
    same = grouping == grouping.rename(group="other")
    still = apart["prob_told_apart"].sel(design="items x 1", drop=True) == 0
    kept = same & still & (apart["group"] != apart["other"])
    if not bool(kept.any()):
        return {}
    return {"decision_further": _said(apart.where(kept), "items or raters", level, chosen)}


def _metrics(
    counted: Counted, reason: xr.DataArray, weights: xr.DataArray | None = None
) -> xr.DataArray:
    """MPA and WRA over (draw, metric, group)."""
    table = severity_table(
        counted.plural,
        counted.labels,
        by=counted.by.sel(by=[ALL]),
        levels=counted.counts.sizes["score"],
        weights=weights,
    )
    found = areas(table.sel(by=ALL, drop=True)).where(reason == "")
    joined = found[list(COMPARED)].to_dataarray("metric")
    return joined.transpose("draw", "metric", "group")


def _reason(study: Study, data: CrowdData) -> xr.DataArray:
    """Why a metric of the observed ratings is missing."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    reason: xr.DataArray = statistic_of(study, data, count_crowd(study.crowd, data))()["reason"]
    return reason.sel(by=ALL, drop=True)


def _more_items(study: Study, data: CrowdData, draws: Draws) -> dict[int, xr.DataArray]:
    """Metrics of m times the items: m replicated studies side by side, items weighed."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    reason = _reason(study, data)
    each: dict[int, list[xr.DataArray]] = {times: [] for times in MULTIPLES}
    for chain in range(draws.shape[0]):
        level = draws.predictive[f"level_{SCALE}"].isel(chain=chain).transpose("draw", ...)
        held = xr.DataArray(level.to_numpy(), dims=("draw", "rating"))
        counted = count_crowd(study.crowd, data, held)
        names = {"plural": counted.plural, "labels": counted.labels, "stratum": counted.by}
        for times in MULTIPLES:
            pool = _pooled(xr.Dataset(names), "item", times)
            weights = _unit_weights(pool, "item", _stream(draws, chain, times))
            made = replace(
                counted, by=pool["stratum"], plural=pool["plural"], labels=pool["labels"]
            )
            each[times].append(_metrics(made, reason, weights))
    return {times: xr.concat(parts, "chain") for times, parts in each.items()}


def _more_raters(study: Study, data: CrowdData, draws: Draws) -> dict[int, xr.DataArray]:
    """Metrics of m times the raters, every one drawn anew from the population."""
    spec, reason = study.crowd, _reason(study, data)
    assert spec is not None  # noqa: S101 - the caller looked

    def statistic(block: Block, times: int) -> list[xr.Dataset]:
        levels = [block.levels(["raters"], copy=copy)[SCALE] for copy in range(times)]
        made = [
            count_crowd(spec, data, xr.DataArray(each, dims=("draw", "rating"))) for each in levels
        ]
        counts = made[0].counts
        for each in made[1:]:
            counts = counts + each.counts
        whole = replace(
            made[0], counts=counts, plural=plurality(counts), labels=labels_of(spec, data, counts)
        )
        return [_metrics(whole, reason).to_dataset(name="value")]

    return {
        times: measured_draws(draws, partial(statistic, times=times), copies=times)[0]["value"]
        for times in MULTIPLES
    }
