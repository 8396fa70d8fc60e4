"""Sample size: how much more units or raters would narrow the differences that are unresolved.

Preposterior analysis by replication (Raiffa and Schlaifer 1961, chapter 5).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.predict.replication import thin
from sharpbayes.execution.threads import current_map
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.stats.draws import central_interval
from sharpbayes.metrics.stats.pairs import pairwise_difference
from sharpbayes.posterior.crowd import CrowdMetrics
from sharpbayes.posterior.decision import BATCHES, monte_carlo_error
from sharpbayes.posterior.panel import PanelMetrics
from sharpbayes.posterior.purchases import purchase_table
from sharpbayes.posterior.replicates import (
    SOURCES,
    Block,
    ReplicateDraws,
    concatenate_units,
    measure_draws,
)
from sharpbayes.posterior.study_metrics import StudyMetrics

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
    "From {draws} draws of the fit: a study of m times the {units}s is m replicated studies pooled"
    "{members}. Other sources of uncertainty stay as they are."
)
MEMBERS_NOTE = "; one of m times the {members}s has that many new ones"
REPLICATED_NOTE = ", and its intervals are about replicated ratings"


@dataclass(frozen=True)
class LargerStudies:
    """Statistics (chain, draw, ..., unit) of studies with multiples of the units of a source.

    Attributes:
        source: The source of uncertainty.
        values: The statistics, by multiple.
        whole: Those of the present study with all sources, where ``values`` have fewer. They tell
            then by how much its variance falls.
    """

    source: str
    values: Mapping[int, xr.DataArray]
    whole: xr.DataArray | None = None

    @property
    def present(self) -> xr.DataArray:
        """Statistics of the present study."""
        return self.values[1] if self.whole is None else self.whole


def panel_sample_size(
    metrics: PanelMetrics,
    draws: ReplicateDraws,
    decisions: Sequence[xr.Dataset],
    *,
    sources: Collection[str],
) -> dict[int, xr.Dataset]:
    """Return how much more prompts or judges would narrow the differences of unresolved pairs.

    :func:`difference_precision` over (design, model, other), missing for resolved pairs, by the
    number of the weights file; no entry where every pair is resolved. Among all the sources of
    uncertainty of the study, with ``prompts`` the prompts stand for their population; with
    ``judges`` studies with more judges are simulated too. With ``[costs]`` in the study, or with
    repeated answers or judgements,
    :func:`sharpbayes.posterior.purchases.purchase_table` is added.
    """
    unresolved = [n for n, decision in enumerate(decisions) if bool(decision["unresolved"].any())]
    if not unresolved:
        return {}
    used = replace(metrics, plans=[metrics.plans[number] for number in unresolved])
    thinned, tables = thin_draws(draws), {}
    studies, costs = larger_studies(used, thinned, sources), metrics.study.spec.costs
    for number, designs in zip(unresolved, studies, strict=True):
        level = float(decisions[number].attrs["level"])
        table = difference_precision(designs, "model", level=level)
        if costs is not None or {"sample", "trial"} & {*metrics.positions.scores.dims}:
            criteria = {studies.source: studies.values for studies in designs}
            bought = purchase_table(used, thinned, criteria, unresolved.index(number))
            table = table.merge(bought).assign_attrs(bought.attrs)
        pairs = [name for name in table if "model" in table[name].dims]
        shown = table[pairs].where(decisions[number]["unresolved"])
        tables[number] = _with_note(table.assign(_none_now(shown)), metrics, thinned, level)
    return tables


def _none_now(pairs: xr.Dataset) -> xr.Dataset:
    """Pairs that are unresolved, which the prompts of now do not distinguish."""
    is_now = pairs["design"] == "prompts x 1"
    names = ("prob_distinguishable", "prob_distinguishable_mcse")
    return pairs.assign(
        {name: pairs[name].where(~is_now | pairs[name].isnull(), 0.0) for name in names}
    )


def crowd_sample_size(
    metrics: CrowdMetrics,
    draws: ReplicateDraws,
    measured: xr.Dataset,
    *,
    sources: Collection[str],
    level: float,
) -> dict[str, xr.Dataset]:
    """Return how much more items or raters would narrow differences of MPA and WRA of groups.

    ``sample_size`` is :func:`difference_precision` over (design, difference_metric, group, other),
    missing except for groups of one grouping whose present interval contains 0; absent where there
    are none. ``measured`` are the observed differences with their size effects, which differences
    are without. Differences contain all sources of uncertainty of the study, and items.
    """
    thinned = thin_draws(draws)
    designs = _larger_crowds(metrics, thinned, [x for x in SOURCES if x in {*sources, "items"}])
    of_all = measured.sel(by=ALL, drop=True)
    names = list(map(str, designs[0].values[1]["metric"].to_numpy()))
    effects = [of_all[f"{name}_size_effect"].fillna(0.0) for name in names]
    effect = xr.concat(effects, xr.DataArray(names, dims="metric", name="metric"))
    table = difference_precision(designs, "group", level=level, removed=effect)
    grouping = designs[0].values[1]["grouping"]
    same = grouping == grouping.rename(group="other")
    unresolved = table["prob_distinguishable"].sel(design="items x 1", drop=True) == 0
    shown = same & unresolved & (table["group"] != table["other"])
    if not bool(shown.any()):
        return {}
    table = table.where(shown).rename(metric="difference_metric")
    return {"sample_size": _with_note(table, metrics, thinned, level)}


def _with_note(
    table: xr.Dataset, metrics: StudyMetrics, draws: ReplicateDraws, level: float
) -> xr.Dataset:
    """Add what the numbers mean."""
    has_members = f"{metrics.member}s" in table["source"].to_numpy()
    members = MEMBERS_NOTE.format(members=metrics.member) if has_members else ""
    if members and isinstance(metrics, PanelMetrics):
        members += REPLICATED_NOTE
    note = NOTE.format(draws=int(np.prod(draws.shape)), units=metrics.unit, members=members)
    return table.assign_attrs(difference_note=note, level=level)


def thin_draws(draws: ReplicateDraws) -> ReplicateDraws:
    """Return about :data:`DRAWS` draws in all, evenly spaced, as many from every chain."""
    chains = draws.shape[0]
    number = -(-DRAWS // chains) * chains
    posterior, predictive = (thin(x, draws=number) for x in (draws.posterior, draws.predictive))
    return replace(draws, posterior=posterior, predictive=predictive)


def larger_studies(
    metrics: PanelMetrics, draws: ReplicateDraws, sources: Collection[str]
) -> list[list[LargerStudies]]:
    """Return what pairs of models are compared by in larger studies, for each weights file."""
    by_source = {"prompts": _more_units(metrics, _replicated(metrics, draws, sources))}
    if "judges" in sources:
        by_source["judges"] = _more_judges(metrics, draws)
    studies = [
        [LargerStudies(source, dict(zip(MULTIPLES, values, strict=True))) for values in by_weights]
        for source, by_weights in by_source.items()
    ]
    return [list(by_sources) for by_sources in zip(*studies, strict=True)]


def _larger_crowds(
    metrics: CrowdMetrics, draws: ReplicateDraws, sources: Sequence[str]
) -> list[LargerStudies]:
    """Return MPA and WRA in larger crowds, with all sources of uncertainty in the present one.

    More items are studied with the present raters, and take from the whole variance as much as
    from that. More raters are new ones, studied with all sources.
    """
    has_raters = "raters" in sources
    multiples = MULTIPLES if has_raters else MULTIPLES[:1]
    several = _replicated(metrics, draws, sources)
    fewer = _replicated(metrics, draws, sources, copies=multiples[-1])
    values = {times: metrics.areas(fewer, sources, times=times) for times in multiples}
    items = dict(zip(MULTIPLES, _more_units(metrics, several)[0], strict=True))
    studies = [LargerStudies("items", items, whole=values[1])]
    return [*studies, LargerStudies("raters", values)] if has_raters else studies


def _replicated(
    metrics: StudyMetrics, draws: ReplicateDraws, sources: Collection[str], *, copies: int = 1
) -> ReplicateDraws:
    """Return the draws with replicates of studies of several copies, as many as are affordable."""
    replicated = draws.replicated_for(sources, metrics.unit_count)
    ratings = draws.design.n_ratings * int(np.prod(draws.shape)) * copies
    affordable = max(MAX_RATINGS // max(ratings, 1), 1)
    return replace(replicated, n_replicates=min(replicated.n_replicates, affordable))


def _more_units(metrics: StudyMetrics, draws: ReplicateDraws) -> list[list[xr.DataArray]]:
    """Return criteria, by weights file and multiple: replicated studies pooled, units weighted."""
    dim, units = metrics.unit, metrics.unit_labels

    def measure_chain(chain: int) -> list[list[xr.DataArray]]:
        blocks = [metrics.unit_tables(block) for block in draws.blocks() if block.chain == chain]
        tables = [concatenate_units(parts, "draw") for parts in zip(*blocks, strict=True)]
        criteria = []
        for times in MULTIPLES:
            drawn = _unit_weights(draws, chain, times, draws.cluster_units(units, dim))
            weights = xr.DataArray(drawn, dims=("draw", "shift", dim))
            shifts = [np.roll(np.arange(draws.shape[1]), -lag) for lag in LAGS[:times]]
            criteria.append(metrics.pooled_criteria(tables, shifts, weights))
        return [list(by_times) for by_times in zip(*criteria, strict=True)]

    by_weights = zip(*current_map()(measure_chain, range(draws.shape[0])), strict=True)
    return [
        [xr.concat(chains, "chain") for chains in zip(*by_chain, strict=True)]
        for by_chain in by_weights
    ]


def _more_judges(metrics: PanelMetrics, draws: ReplicateDraws) -> list[list[xr.DataArray]]:
    """Return criteria, by weights file and multiple, with more new judges."""

    def measure_block(block: Block, times: int) -> list[xr.Dataset]:
        return [values.to_dataset(name="value") for values in metrics.member_criteria(block, times)]

    by_times = [
        measure_draws(draws, partial(measure_block, times=times), copies=times)
        for times in MULTIPLES
    ]
    return [[data["value"] for data in values] for values in zip(*by_times, strict=True)]


def _unit_weights(
    draws: ReplicateDraws, chain: int, times: int, codes: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Draw Bayesian bootstrap weights (draw, times, unit) of pooled units, one for a cluster."""
    rng = np.random.default_rng([draws.seed, chain, times, WEIGHT_STREAM])
    return rng.exponential(size=(draws.shape[1], times, int(codes.max()) + 1))[..., codes]


def difference_precision(
    designs: Sequence[LargerStudies],
    unit: str,
    *,
    level: float,
    removed: xr.DataArray | float = 0.0,
) -> xr.Dataset:
    """Return how wide differences are in larger studies, and how likely their intervals exclude 0.

    A study of m times the units has the interval of the replicates of m times the units, moved so
    that their mean is at a centre that is not known yet: c = mu + sqrt(1 - V_m / V_1) (d - mu),
    with a present draw d of the difference, its mean mu, and the variances V_m and V_1 of
    replicates of m times and of once the units. By the law of total variance, V_m is what a larger
    study leaves open, V_1 - V_m is how far its centre may move, and both add up to what is open
    now.

    Over (design, ..., unit, other): ``difference_width`` in the unit of the statistic and
    ``prob_distinguishable`` in [0, 1], each with its Monte Carlo standard error ``<name>_mcse``;
    coordinates ``source (design)`` and ``multiple (design)``. ``removed`` is taken from every
    difference. Where larger studies have fewer sources of uncertainty than the whole present one,
    with a variance V, they leave V - (V_1 - V_m) of it open: draws of the whole are scaled to that.

    Source: preposterior analysis (Raiffa and Schlaifer 1961, chapter 5), by replication.
    """
    tables = [
        _precision(
            *(
                pairwise_difference(_first_draws(x), unit) - removed
                for x in (studies.present, studies.values[1], values)
            ),
            is_scaled=studies.whole is not None,
            level=level,
        )
        .expand_dims(design=[f"{studies.source} x {times}"])
        .assign_coords(source=("design", [studies.source]), multiple=("design", [times]))
        for studies in designs
        for times, values in studies.values.items()
    ]
    return xr.concat(tables, "design")


def _precision(
    present: xr.DataArray,
    once: xr.DataArray,
    larger: xr.DataArray,
    *,
    is_scaled: bool,
    level: float,
) -> xr.Dataset:
    """Return widths and probabilities of a study from replicates of the present one and its own."""
    over = ["chain", "draw"]
    difference = _scale_to(present, once, larger) if is_scaled else larger
    mean, variance = present.mean(over), present.var(over)
    low, high = _bounds(difference, level)
    share = difference.var(over) / variance.where(variance > 0)
    centre = mean + np.sqrt((1.0 - share).clip(min=0.0)) * (present - mean)
    moved = centre - difference.mean(over)
    excludes_0 = ((low + moved > 0) | (high + moved < 0)).where(low.notnull()).astype(float)
    # The width is as uncertain as its batches differ.
    number = min(BATCHES, difference.sizes["draw"])
    size = difference.sizes["draw"] // number
    starts = range(0, number * size, size)
    parts = [[x.isel(draw=slice(s, s + size)) for x in (present, once, larger)] for s in starts]
    batches = [_bounds(_scale_to(*part) if is_scaled else part[-1], level) for part in parts]
    widths = [upper - lower for lower, upper in batches]
    table = {
        "difference_width": high - low,
        "difference_width_mcse": xr.concat(widths, "batch").std("batch", ddof=1) / np.sqrt(number),
        "prob_distinguishable": excludes_0.mean(over, skipna=False),
        "prob_distinguishable_mcse": monte_carlo_error(excludes_0),
    }
    return xr.Dataset(table)


def _scale_to(whole: xr.DataArray, once: xr.DataArray, larger: xr.DataArray) -> xr.DataArray:
    """Return draws of the whole with the variance that is left by what a larger study explains."""
    over = ["chain", "draw"]
    mean, variance = whole.mean(over), whole.var(over)
    explained = (once.var(over) - larger.var(over)) / variance.where(variance > 0)
    return mean + np.sqrt((1.0 - explained).clip(min=0.0)) * (whole - mean)


def _first_draws(values: xr.DataArray) -> xr.DataArray:
    """Values over (chain, draw, ...) alone."""
    return values.reset_coords(drop=True).transpose("chain", "draw", ...)


def _bounds(difference: xr.DataArray, level: float) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the bounds of the central interval over all draws."""
    bounds = central_interval(difference, level=level)
    return bounds.isel(bound=0, drop=True), bounds.isel(bound=1, drop=True)
