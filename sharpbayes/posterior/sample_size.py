"""Sample size: how much more units or raters would narrow the differences that are unresolved.

Preposterior analysis by replication (Raiffa and Schlaifer 1961, chapter 5).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.stats.intervals import percentile_interval
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import BATCHES, monte_carlo_error
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.replicates import (
    Block,
    ReplicateDraws,
    ReplicateMetrics,
    concatenate_units,
    measure_draws,
)

# Sizes of the larger studies, as multiples of the present one, and draws that are used for them.
MULTIPLES = (1, 2, 4)
DRAWS = 200
# Ratings that are replicated in all. Large studies have fewer replicates of each draw than their
# posterior metrics have; the largest have the one that a fit stores.
MAX_RATINGS = 100_000_000
# Draws that are pooled lie this far apart, so that two pools share at most one draw.
LAGS = (0, 1, 3, 7)
# Number of the random stream of weights of pooled units.
WEIGHT_STREAM = 0xF0A7
NOTE = (
    "{level:.0%} intervals of differences, and the probability that a study of so many times the "
    "units distinguishes a pair, from {draws} replicates: m times the {units}s are m replicated "
    "studies pooled; m times the {members}s are that many new ones, and their intervals are about "
    "replicated ratings. Other sources of uncertainty stay as they are."
)


@dataclass(frozen=True)
class LargerStudies:
    """Replicated statistics of larger and larger studies.

    Attributes:
        source: What larger studies have more of: ``prompts``, ``judges``, ``items`` or ``raters``.
        values: For each multiple the statistic over (chain, draw, ..., unit).
    """

    source: str
    values: Mapping[int, xr.DataArray]


def panel_sample_size(
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    decisions: Sequence[xr.Dataset],
    *,
    sources: Collection[str],
) -> dict[int, xr.Dataset]:
    """Return how much more prompts or judges would narrow the differences of unresolved pairs.

    Args:
        metrics: How ratings are profiled under each weights file.
        draws: Replicated ratings.
        decisions: The decision under each weights file, which names the unresolved pairs.
        sources: All sources of uncertainty of the study. With ``prompts`` the prompts stand for
            their population; with ``judges`` studies with more judges are simulated too.

    Returns:
        :func:`difference_precision` over (design, model, other), missing for resolved pairs, by
        the number of the weights file; no entry where every pair is resolved.
    """
    open_ones = [n for n, decision in enumerate(decisions) if bool(decision["unresolved"].any())]
    if not open_ones:
        return {}
    used = replace(metrics, plans=[metrics.plans[number] for number in open_ones])
    thinned, tables = thin_draws(draws), {}
    studies = larger_studies(used, thinned, sources)
    for number, designs in zip(open_ones, studies, strict=True):
        level = float(decisions[number].attrs["level"])
        table = difference_precision(designs, "model", level=level)
        table = table.where(decisions[number]["unresolved"])
        tables[number] = _with_note(table, metrics, thinned, level)
    return tables


def crowd_sample_size(
    metrics: CrowdMetrics, draws: ReplicateDraws, *, sources: Collection[str], level: float
) -> dict[str, xr.Dataset]:
    """Return how much more items or raters would narrow differences of MPA and WRA of groups.

    Args:
        metrics: How ratings of the crowd are measured.
        draws: Replicated ratings.
        sources: All sources of uncertainty of the study. With ``items`` the items stand for their
            population; with ``raters`` studies with more raters are simulated too.
        level: Confidence level of the intervals of differences.

    Returns:
        ``sample_size``: :func:`difference_precision` over (design, difference_metric, group,
        other), missing except for groups of one grouping whose present interval contains 0;
        nothing where there are none.
    """
    thinned = thin_draws(draws)
    [designs] = larger_studies(metrics, thinned, sources)
    table = difference_precision(designs, "group", level=level)
    grouping = designs[0].values[1]["grouping"]
    same = grouping == grouping.rename(group="other")
    unresolved = table["prob_distinguishable"].sel(design="items x 1", drop=True) == 0
    shown = same & unresolved & (table["group"] != table["other"])
    if not bool(shown.any()):
        return {}
    table = table.where(shown).rename(metric="difference_metric")
    return {"sample_size": _with_note(table, metrics, thinned, level)}


def _with_note(
    table: xr.Dataset, metrics: ReplicateMetrics, draws: ReplicateDraws, level: float
) -> xr.Dataset:
    """Add what the numbers mean."""
    number = int(np.prod(draws.shape))
    note = NOTE.format(level=level, draws=number, units=metrics.unit, members=metrics.member)
    return table.assign_attrs(difference_note=note, level=level)


def thin_draws(draws: ReplicateDraws) -> ReplicateDraws:
    """Return about :data:`DRAWS` draws in all, evenly spaced, as many from every chain."""
    chains, size = draws.shape
    index = np.linspace(0, size - 1, min(size, -(-DRAWS // chains))).round().astype(int)
    index = np.unique(index)
    posterior = draws.posterior.isel(draw=index)
    return replace(draws, posterior=posterior, predictive=draws.predictive.isel(draw=index))


def larger_studies(
    metrics: ReplicateMetrics, draws: ReplicateDraws, sources: Collection[str]
) -> list[list[LargerStudies]]:
    """Return what pairs are compared by in larger studies, for each weights file.

    Args:
        metrics: How ratings are measured.
        draws: Replicated ratings.
        sources: All sources of uncertainty of the study.
    """
    by_source = {f"{metrics.unit}s": _more_units(metrics, _affordable(metrics, draws, sources))}
    if f"{metrics.member}s" in sources:
        by_source[f"{metrics.member}s"] = _more_members(metrics, draws)
    number = len(by_source[f"{metrics.unit}s"][1])
    return [
        [
            LargerStudies(source, {times: values[n] for times, values in by_times.items()})
            for source, by_times in by_source.items()
        ]
        for n in range(number)
    ]


def _affordable(
    metrics: ReplicateMetrics, draws: ReplicateDraws, sources: Collection[str]
) -> ReplicateDraws:
    """Return the draws with as many replicates as posterior metrics have, fewer of large studies."""
    draws = draws.replicated_for(sources, metrics.unit_count)
    affordable = MAX_RATINGS // max(draws.design.n_ratings * int(np.prod(draws.shape)), 1)
    return replace(draws, n_replicates=min(draws.n_replicates, max(affordable, 1)))


def _more_units(metrics: ReplicateMetrics, draws: ReplicateDraws) -> dict[int, list[xr.DataArray]]:
    """Return criteria of studies with more units: replicated studies pooled, units weighted."""
    dim, units = metrics.unit, metrics.unit_labels.size

    def measure_chain(chain: int) -> xr.Dataset:
        blocks = [metrics.unit_tables(block) for block in draws.blocks() if block.chain == chain]
        tables = [_concatenate_draws(parts) for parts in zip(*blocks, strict=True)]
        criteria = {}
        for times in MULTIPLES:
            weights = xr.DataArray(_unit_weights(draws, chain, times, units), dims=("draw", dim))
            pooled = [_pool_draws(table, dim, times) for table in tables]
            for number, values in enumerate(metrics.criteria(pooled, weights)):
                criteria[f"{times} {number}"] = values
        return xr.Dataset(criteria)

    joined = xr.concat(current_map()(measure_chain, range(draws.shape[0])), "chain")
    number = len(joined.data_vars) // len(MULTIPLES)
    return {times: [joined[f"{times} {n}"] for n in range(number)] for times in MULTIPLES}


def _more_members(
    metrics: ReplicateMetrics, draws: ReplicateDraws
) -> dict[int, list[xr.DataArray]]:
    """Return criteria of studies with more judges or raters, each drawn from the population."""

    def measure_block(block: Block, times: int) -> list[xr.Dataset]:
        return [values.to_dataset(name="value") for values in metrics.member_criteria(block, times)]

    return {
        times: [
            data["value"]
            for data in measure_draws(draws, partial(measure_block, times=times), copies=times)
        ]
        for times in MULTIPLES
    }


def _concatenate_draws(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Concatenate blocks of draws; what is the same in every draw stays as it is."""
    return xr.concat(parts, "draw", data_vars="minimal", coords="minimal", compat="override")


def _pool_draws(table: xr.Dataset, dim: str, times: int) -> xr.Dataset:
    """Pool several draws along a dimension of units, which loses its labels."""
    size, bare = table.sizes["draw"], table.drop_vars(dim, errors="ignore")
    shifted = [bare.isel(draw=(np.arange(size) + lag) % size) for lag in LAGS[:times]]
    return concatenate_units(shifted, dim)


def _unit_weights(draws: ReplicateDraws, chain: int, times: int, units: int) -> NDArray[np.float64]:
    """Draw Bayesian bootstrap weights of pooled units; a unit has one weight in all replicates.

    Shape (draw, times x replicate x unit), in the order of pooled draws.
    """
    rng = np.random.default_rng([draws.seed, chain, times, WEIGHT_STREAM])
    size = draws.shape[1]
    weights = rng.exponential(size=(size, times, 1, units))
    repeated = np.broadcast_to(weights, (size, times, draws.n_replicates, units))
    return repeated.reshape(size, -1)


def difference_precision(
    designs: Sequence[LargerStudies], unit: str, *, level: float
) -> xr.Dataset:
    """Return how wide differences are in larger studies, and how likely their intervals exclude 0.

    A study of m times the units has an interval as wide as that of the replicates of m times the
    units, around a centre that is not known yet: c = mu + sqrt(1 - V_m / V_1) (d - mu), with a
    present draw d of the difference, its mean mu, and the variances V_m and V_1 of replicates of m
    times and of once the units. By the law of total variance, V_m is what a larger study leaves
    open, V_1 - V_m is how far its centre may move, and both add up to what is open now.

    Args:
        designs: Replicated statistics, one for each source.
        unit: ``model`` or ``group``: what is compared.
        level: Share of draws inside an interval, in (0, 1).

    Returns:
        Over (design, ..., unit, other): ``difference_width`` in the unit of the statistic and
        ``prob_distinguishable`` in [0, 1], each with its Monte Carlo standard error
        ``<name>_mcse``; coordinates ``source (design)`` and ``multiple (design)``.

    Source: preposterior analysis (Raiffa and Schlaifer 1961, chapter 5), by replication.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> def draw(sd):
        ...     noise = rng.normal(0, sd / np.sqrt(2), (2, 4000, 2)) + [0.0, 1.0]
        ...     return xr.DataArray(noise, {"model": ["a", "b"]}, ("chain", "draw", "model"))
        >>> more = LargerStudies("prompts", {1: draw(1.0), 4: draw(0.5)})
        >>> table = difference_precision([more], "model", level=0.95).sel(model="a", other="b")
        >>> table["difference_width"].round().values  # 2 * 1.96 * sd
        array([4., 2.])
        >>> table["prob_distinguishable"].round(1).values  # P(|N(1, 0.87)| > 0.98)
        array([0. , 0.5])
    """
    tables = [
        table.expand_dims(design=[f"{studies.source} x {times}"]).assign_coords(
            source=("design", [studies.source]), multiple=("design", [times])
        )
        for studies in designs
        for times, table in _precision_by_size(studies.values, unit, level)
    ]
    return xr.concat(tables, "design")


def _precision_by_size(
    values: Mapping[int, xr.DataArray], unit: str, level: float
) -> Iterator[tuple[int, xr.Dataset]]:
    """Yield widths and probabilities of each multiple."""
    over = ["chain", "draw"]
    present = _differences(values[1], unit)
    mean, variance = present.mean(over), present.var(over)
    for times, replicated in values.items():
        difference = _differences(replicated, unit)
        width = _width(difference, level)
        share = difference.var(over) / variance.where(variance > 0)
        centre = mean + np.sqrt((1.0 - share).clip(min=0.0)) * (present - mean)
        excludes_0 = (abs(centre) > width / 2).where(width.notnull()).astype(float)
        # The width is as uncertain as its batches differ.
        widths = [_width(batch, level) for batch in _batches(difference)]
        error = xr.concat(widths, "batch").std("batch", ddof=1) / np.sqrt(len(widths))
        table = {
            "difference_width": width,
            "difference_width_mcse": error,
            "prob_distinguishable": excludes_0.mean(over, skipna=False),
            "prob_distinguishable_mcse": monte_carlo_error(excludes_0),
        }
        yield times, xr.Dataset(table)


def _differences(values: xr.DataArray, unit: str) -> xr.DataArray:
    """Difference of every pair, draw by draw."""
    bare = values.drop_vars([name for name in values.coords if name not in values.dims])
    return (bare - bare.rename({unit: "other"})).transpose("chain", "draw", ..., unit, "other")


def _width(difference: xr.DataArray, level: float) -> xr.DataArray:
    """Width of the central interval over all draws."""
    stacked = difference.stack(replicate=("chain", "draw"), create_index=False)
    bounds = percentile_interval(stacked, level=level)
    return bounds.isel(bound=1, drop=True) - bounds.isel(bound=0, drop=True)


def _batches(x: xr.DataArray) -> Iterator[xr.DataArray]:
    """Yield batches of successive draws of all chains."""
    number = min(BATCHES, x.sizes["draw"])
    size = x.sizes["draw"] // number
    for start in range(0, number * size, size):
        yield x.isel(draw=slice(start, start + size))
