"""Metrics of a crowd's replicated ratings: each draw's scores take the observed ones' place.

Raters count once each, or are weighted to the shares of a target population.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_counts import (
    CrowdCounts,
    count_crowd,
    count_labels,
    measure_responsiveness,
)
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.bayes.design.design import Floats
from sharpbayes.data.crowd import ITEM_LABEL, SCALE, CrowdData
from sharpbayes.errors import Diagnostic, SpecError, format_list
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import metric_names, severity_metrics, severity_table
from sharpbayes.metrics.crowd.scores import plurality, score_counts
from sharpbayes.metrics.stats.population import rater_weights
from sharpbayes.posterior.replicates import (
    Block,
    ReplicateDraws,
    interval_note,
    measure_draws,
    pool_replicates,
)
from sharpbayes.spec.crowd import MODEL_OF_LABELS, Crowd
from sharpbayes.spec.model import Model
from sharpbayes.spec.weights import Weights
from sharpbayes.storage.precision import round_draws

# Counts of a crowd that are over items.
ITEM_COUNTS = ("plurality", "label_count", "strata")
LABELS_UNKNOWN = (
    "The model does not know the labels, so that posterior MPA and WRA are too low, the more so "
    "the fewer raters an item has. Read them as lower bounds, or fit with "
    '`fit = "{model}"`, which knows them.'
)


@dataclass(frozen=True)
class CrowdMetrics:
    """Responsiveness of a crowd's groups, missing where that of the observed ratings is.

    Attributes:
        study: The study of the crowd.
        unit: Dimension of the units that stand for a population.
        member: Who scores.
        checked: Metrics that predictive checks compare.
    """

    study: CrowdStudy
    unit: ClassVar = "item"
    member: ClassVar = "rater"
    checked: ClassVar = ("mpa", "wra")

    @property
    def unit_labels(self) -> xr.DataArray:
        """Labels of the items."""
        return self.study.score_counts.plurality["item"]

    @property
    def unit_count(self) -> int:
        """Number of items."""
        return self.unit_labels.size

    @property
    def observed(self) -> xr.Dataset:
        """Responsiveness by the observed scores."""
        return self.study.responsiveness

    @property
    def rating_columns(self) -> list[str]:
        """Columns of rater groups."""
        return [name for name in self.study.ratings.factors if name.startswith("group:")]

    def measure(self, draws: ReplicateDraws, sources: Sequence[str]) -> list[xr.Dataset]:
        """Return the responsiveness of every draw over (chain, draw, ...), as the only dataset."""

        def measure_block(block: Block) -> list[xr.Dataset]:
            metrics = measure_responsiveness(
                self.study.crowd,
                self.replicate_counts(block, sources),
                weights=block.population_weights(self.unit_labels, "item", sources),
                reason=self.observed["reason"],
            ).drop_vars("reason")
            metrics["items"] = metrics["items"] // block.draws.n_replicates
            # The number of raters is the same in every draw.
            return [
                metrics.map(lambda x: x if "draw" in x.dims else x.expand_dims(draw=block.size))
            ]

        copies = -(-self.study.score_counts.score_count.size // len(self.study.data.score))
        replicated = draws.replicated_for(sources, self.unit_count)
        metrics = measure_draws(replicated, measure_block, copies=copies)
        return [round_draws(data) for data in metrics]

    def quantities(self, metrics: xr.Dataset) -> dict[str, Floats]:
        """Return MPA and WRA of every group that has them, by name, over (draw)."""
        reason = self.observed["reason"].sel(by=ALL)
        groups = reason["group"].to_numpy()[(reason == "").to_numpy()]
        return {
            f"{name.upper()}[{group}]": metrics[name].sel(by=ALL, group=group).to_numpy()
            for name in ("mpa", "wra")
            for group in groups
        }

    def replicate_counts(self, block: Block, sources: Sequence[str]) -> CrowdCounts:
        """Return the counts of all replicates of every draw of a block."""
        scores = replicate_scores(block, sources)
        counts = count_crowd(self.study.crowd, self.study.data, scores)
        return pool_counts(counts, block.draws.n_replicates)

    def unit_tables(self, block: Block) -> list[xr.Dataset]:
        """Return plurality scores, labels and strata of each item."""
        counts = self.replicate_counts(block, ["ratings"])
        return [xr.Dataset({name: getattr(counts, name) for name in ITEM_COUNTS})]

    def criteria(
        self, tables: Sequence[xr.Dataset], weights: xr.DataArray | None
    ) -> list[xr.DataArray]:
        """Return MPA and WRA over (draw, metric, group) from a table of items."""
        [table] = tables
        counts = {name: table[name] for name in ITEM_COUNTS}
        return [self._areas(replace(self.study.score_counts, **counts), weights)]

    def member_criteria(self, block: Block, times: int) -> list[xr.DataArray]:
        """Return MPA and WRA with that many times as many new raters."""
        crowd, data = self.study.crowd, self.study.data
        copies = []
        for copy in range(times):
            scores = block.ratings(["raters"], copy=copy)[SCALE]
            copies.append(count_crowd(crowd, data, xr.DataArray(scores, dims=("draw", "rating"))))
        counts = reduce(add, (copy.score_count for copy in copies))
        pooled = replace(
            copies[0],
            score_count=counts,
            plurality=plurality(counts),
            label_count=count_labels(crowd, data, counts),
        )
        return [self._areas(pooled, None)]

    def _areas(self, counts: CrowdCounts, weights: xr.DataArray | None) -> xr.DataArray:
        """Return MPA and WRA over (draw, metric, group)."""
        table = severity_table(
            counts.plurality,
            counts.label_count,
            by=counts.strata.sel(by=[ALL]),
            n_scores=counts.score_count.sizes["score"],
            weights=weights,
        )
        reason = self.observed["reason"].sel(by=ALL, drop=True)
        metrics = severity_metrics(table.sel(by=ALL, drop=True), self.checked).where(reason == "")
        return metrics.to_dataarray("metric").transpose("draw", "metric", "group")


def replicate_scores(block: Block, sources: Sequence[str]) -> xr.DataArray:
    """Return all replicates of the scores, (replicate x draw, rating), without expert labels."""
    return xr.DataArray(block.replicates(sources)[SCALE], dims=("draw", "rating"))


def pool_counts(counts: CrowdCounts, n_replicates: int) -> CrowdCounts:
    """Pool the items of all replicates; the counts of scores are those of the first replicate."""
    if n_replicates == 1:
        return counts
    first = {"draw": slice(0, counts.score_count.sizes["draw"] // n_replicates)}
    pooled = {
        name: pool_replicates(getattr(counts, name), n_replicates, "item") for name in ITEM_COUNTS
    }
    return replace(counts, score_count=counts.score_count.isel(first), **pooled)


def unknown_labels_note(crowd: Crowd, model: Model) -> str:
    """Return what follows where the model does not know the labels; empty where it does."""
    known = {
        "experts": model.experts,
        "item": any(name == ITEM_LABEL for _, name in model.columns),
        "crowd": True,
    }
    source = crowd.labels.from_
    return "" if known[source] else LABELS_UNKNOWN.format(model=MODEL_OF_LABELS[source])


def population_weights(data: CrowdData, weights: Weights, *, path: str) -> Floats:
    """Return the weight of every rater in the target population; 1 without shares of its groups.

    SpecError lists labels of raters without a share, shares without a rater, and shares that cannot
    all hold.
    """
    shares = {name: x for name, x in weights.population.items() if name in data.rater_columns}
    if not shares:
        return np.ones(len(data.rater.labels))
    problems = []
    for name, by_label in shares.items():
        odd = sorted(set(data.rater_columns[name].tolist()) ^ set(by_label))
        if odd:
            message = f"labels in the shares or among raters, but not in both: {format_list(odd)}"
            problems.append(Diagnostic(path, 0, f"population.{name}", message))
    if problems:
        raise SpecError(problems)
    try:
        return rater_weights(data.rater_columns, shares)
    except ValueError as error:
        raise SpecError.at(path, str(error), key="population") from None


def reweight_raters(
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, rater: Floats
) -> CrowdCounts:
    """Return the counts of the group ``all`` with a weight for each rater.

    The plurality score of an item is the one with the most weight.
    """
    weights, kind = np.unique(rater, return_inverse=True)
    membership = xr.DataArray(kind == np.arange(len(weights))[:, None], dims=("group", "rater"))
    by_weight = score_counts(
        scores,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=membership,
        n_scores=len(data.score_labels),
        n_items=len(data.item.labels),
    )
    # Rounded, so that a tie of weights is a tie of scores.
    weighted = xr.dot(by_weight.astype(float), xr.DataArray(weights, dims="group"), dim="group")
    weighted = weighted.round(9).expand_dims(group=[ALL]).transpose(..., "group", "item", "score")
    weighted = weighted.assign_coords(item=counts.plurality["item"])
    return replace(counts, score_count=weighted, plurality=plurality(weighted))


def population_responsiveness(
    study: CrowdStudy,
    rater: Floats,
    *,
    scores: xr.DataArray,
    n_replicates: int = 1,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the responsiveness of all raters over (..., population, by).

    The first population is the sample; ``rater`` has the weight of every rater in the target
    population. Replicates of observed scores (..., rating) stand one after the other; ``weights``
    are those of the items of all replicates.
    """
    counts = count_crowd(study.crowd, study.data, scores)
    by_group = {name: array for name, array in vars(counts).items() if "group" in array.dims}
    sample = replace(counts, **{name: x.sel(group=[ALL]) for name, x in by_group.items()})
    target = reweight_raters(study.data, sample, scores, rater)
    reason = study.responsiveness["reason"].sel(group=[ALL])
    tables = []
    for counts in (sample, target):
        pooled = pool_counts(counts, n_replicates)
        metrics = measure_responsiveness(study.crowd, pooled, weights=weights, reason=reason)
        tables.append(metrics[metric_names()].sel(group=ALL, drop=True))
    joined = xr.concat(tables, "population").assign_coords(population=["sample", "target"])
    return joined.transpose(..., "population", "by")


def population_groups(
    study: CrowdStudy, draws: ReplicateDraws, model: Model
) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_population`` and its posterior under the weights of a study."""
    if study.weights is None:
        return {}
    data, sources = study.data, study.spec.uncertainties[0]
    rater = population_weights(data, study.weights.spec, path=str(study.weights.path))
    items = study.score_counts.plurality["item"]

    def measure_block(block: Block) -> list[xr.Dataset]:
        return [
            population_responsiveness(
                study,
                rater,
                scores=replicate_scores(block, sources),
                n_replicates=block.draws.n_replicates,
                weights=block.population_weights(items, "item", sources),
            )
        ]

    copies = -(-len(data.item.labels) * len(data.score_labels) * 4 // len(data.score))
    draws = draws.replicated_for(sources, items.size)
    [posterior] = measure_draws(draws, measure_block, copies=copies)
    level = study.spec.bootstrap.level
    observed = xr.DataArray(data.score, dims="rating")
    return {
        "responsiveness_population": population_responsiveness(study, rater, scores=observed),
        "posterior_responsiveness_population": posterior.assign_attrs(
            remark=unknown_labels_note(study.crowd, model),
            interval_note=interval_note(sources, level=level),
            sources=list(sources),
            level=level,
        ),
    }
