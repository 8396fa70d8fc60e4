"""Metrics of a crowd's replicated ratings: each draw's scores take the observed ones' place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import ClassVar

import xarray as xr

from sharpbayes.analysis.crowd_counts import (
    CrowdCounts,
    count_crowd,
    count_labels,
    measure_responsiveness,
)
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.analysis.target_population import (
    measure_shares,
    other_shares,
    population_counts,
    population_responsiveness,
    population_weights,
    reweight_all,
)
from sharpbayes.bayes.design.design import Floats
from sharpbayes.data.crowd import ITEM_LABEL, SCALE
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import (
    harmonic_mean,
    severity_metrics,
    severity_table,
)
from sharpbayes.metrics.crowd.scores import plurality
from sharpbayes.posterior.replicates import (
    Block,
    ReplicateDraws,
    interval_note,
    measure_draws,
    pool_replicates,
)
from sharpbayes.spec.crowd import MODEL_OF_LABELS, Crowd
from sharpbayes.spec.model import Model
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
        return [self._areas(self._pool_copies(block, ["raters"], times, 1), None)]

    def _pool_copies(
        self, block: Block, sources: Sequence[str], times: int, n_replicates: int
    ) -> CrowdCounts:
        """Return counts over (replicate x draw, ...) of several sets of raters together."""
        crowd, data = self.study.crowd, self.study.data
        copies = []
        for copy in range(times):
            scores = block.ratings(sources, copy=copy, n_replicates=n_replicates)[SCALE]
            copies.append(count_crowd(crowd, data, xr.DataArray(scores, dims=("draw", "rating"))))
        if times == 1:
            return copies[0]
        counts = reduce(add, (copy.score_count for copy in copies))
        return replace(
            copies[0],
            score_count=counts,
            plurality=plurality(counts),
            label_count=count_labels(crowd, data, counts),
        )

    def headline(
        self, draws: ReplicateDraws, sources: Sequence[str], *, times: int = 1
    ) -> xr.DataArray:
        """Return the harmonic mean of MPA and WRA of every draw, (chain, draw, group).

        With ``raters`` among the sources there are ``times`` as many new raters.
        """

        def measure_block(block: Block) -> list[xr.Dataset]:
            counts = self._pool_copies(block, sources, times, block.draws.n_replicates)
            counts = pool_counts(counts, block.draws.n_replicates)
            weights = block.population_weights(self.unit_labels, "item", sources)
            areas = self._areas(counts, weights)
            mpa, wra = (areas.sel(metric=name, drop=True) for name in self.checked)
            return [harmonic_mean(mpa, wra).to_dataset(name="hm")]

        [values] = measure_draws(draws, measure_block, copies=times)
        return values["hm"]

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


def posterior_population(
    study: CrowdStudy, draws: ReplicateDraws, model: Model, *, shares: bool = False
) -> dict[str, xr.Dataset]:
    """Return the posterior of ``responsiveness_population`` under the weights of a study.

    With ``shares`` that of ``responsiveness_shares`` too, from the same replicates.
    """
    if study.weights is None:
        return {}
    data, sources = study.data, study.spec.uncertainties[0]
    rater = population_weights(data, study.weights)
    around = other_shares(study) if shares else None
    items = study.score_counts.plurality["item"]

    def measure_block(block: Block) -> list[xr.Dataset]:
        scores, number = replicate_scores(block, sources), block.draws.n_replicates
        sample, target = population_counts(study, rater, scores)
        weights = block.population_weights(items, "item", sources)
        pooled = pool_counts(sample, number), pool_counts(target, number)
        datasets = [population_responsiveness(study, pooled, weights=weights)]
        if around is not None:
            parts = reweight_all(data, sample, scores, around)
            counts = (pool_counts(part, number) for part in parts)
            datasets.append(measure_shares(study, around, counts, weights=weights))
        return datasets

    copies = -(-len(data.item.labels) * len(data.score_labels) * 4 // len(data.score))
    draws = draws.replicated_for(sources, items.size)
    level = study.spec.bootstrap.level
    facts = {
        "remark": unknown_labels_note(study.crowd, model),
        "interval_note": interval_note(sources, level=level),
        "sources": list(sources),
        "level": level,
    }
    names = [f"posterior_responsiveness_{kind}" for kind in ("population", "shares")]
    measured = measure_draws(draws, measure_block, copies=copies)
    return {name: data.assign_attrs(facts) for name, data in zip(names, measured, strict=False)}
