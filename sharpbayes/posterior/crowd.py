"""Metrics of a crowd's replicated ratings: each draw's scores take the observed ones' place."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_counts import (
    CrowdTally,
    count_shared_items,
    tabulate_counts,
    tally_crowd,
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
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Floats
from sharpbayes.data.crowd import ITEM_LABEL, SCALE
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import (
    harmonic_mean,
    severity_metrics,
    table_responsiveness,
)
from sharpbayes.metrics.crowd.scores import REPLICATE
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.posterior.replicates import (
    Block,
    ReplicateDraws,
    interval_note,
    measure_draws,
)
from sharpbayes.spec.crowd import MODEL_OF_LABELS, Crowd
from sharpbayes.spec.model import Model
from sharpbayes.storage.precision import round_draws

# Counts of a crowd that are over items.
ITEM_COUNTS = ("plurality", "label_count", "strata")
LABELS_UNKNOWN = (
    "The model does not know the labels, so that posterior MPA and WRA are usually too low, the "
    "more so the fewer raters an item has. Read the observed ones, or fit with "
    '`fit = "{model}"`, which knows the labels.'
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

        def tabulate_block(block: Block) -> list[xr.Dataset]:
            tally = self.tally_replicates(block, sources)
            weights = block.replicate_weights(self.unit_labels, "item", sources)
            table = tabulate_counts(tally, weights=weights)
            return [xr.Dataset({"table": table, "items": count_shared_items(tally)})]

        copies = -(-self.study.score_counts.score_count.size // len(self.study.data.score))
        replicated = draws.replicated_for(sources, self.unit_count)
        [tables] = measure_draws(replicated, tabulate_block, copies=copies)
        # Of all draws at once: with few draws labelled arrays take longer than numbers.
        metrics = table_responsiveness(
            tables["table"], tables["items"], reason=self.observed["reason"]
        )
        raters = self.study.score_counts.membership.sum("rater")
        in_every_draw = raters.expand_dims(chain=draws.shape[0], draw=draws.shape[1])
        metrics = metrics.drop_vars("reason").pipe(without_attributes).assign(raters=in_every_draw)
        return [round_draws(metrics)]

    def quantities(self, metrics: xr.Dataset) -> dict[str, Floats]:
        """Return MPA and WRA of every group that has them, by name, over (draw)."""
        reason = self.observed["reason"].sel(by=ALL)
        groups = reason["group"].to_numpy()[(reason == "").to_numpy()]
        return {
            f"{name.upper()}[{group}]": metrics[name].sel(by=ALL, group=group).to_numpy()
            for name in ("mpa", "wra")
            for group in groups
        }

    def tally_replicates(self, block: Block, sources: Sequence[str]) -> CrowdTally:
        """Return the plurality scores and labels of all replicates of every draw of a block."""
        return tally_crowd(self.study.crowd, self.study.data, replicate_scores(block, sources))

    def unit_tables(self, block: Block) -> list[xr.Dataset]:
        """Return plurality scores, labels and strata of each item."""
        counts = self.tally_replicates(block, ["ratings"])
        return [xr.Dataset({name: getattr(counts, name) for name in ITEM_COUNTS})]

    def pooled_criteria(
        self, tables: Sequence[xr.Dataset], shifts: Sequence[Index], weights: xr.DataArray
    ) -> list[xr.DataArray]:
        """Return MPA and WRA over (draw, metric, group) of studies of several draws together.

        Draws at each of the shifts are pooled, with weights over (draw, shift, item). Rows add up:
        the weights are moved to the draws, and their rows back.
        """
        [table] = tables
        observed = self.study.score_counts
        items = {name: table[name] for name in ITEM_COUNTS}
        counts = CrowdTally(observed.n_scores, observed.membership, **items)
        parts = []
        for number, shift in enumerate(shifts):
            moved = weights.isel(shift=number, draw=np.argsort(shift))
            parts.append(tabulate_counts(counts, by=ALL, weights=moved).isel(draw=shift))
        return [self._areas(reduce(add, parts))]

    def _pool_copies(self, block: Block, sources: Sequence[str], times: int) -> CrowdTally:
        """Return scores and labels over ([replicate,] draw, ...) of several sets of raters."""
        copies = [replicate_scores(block, sources, copy=copy) for copy in range(times)]
        return tally_crowd(self.study.crowd, self.study.data, xr.concat(copies, "rating"))

    def headline(
        self, draws: ReplicateDraws, sources: Sequence[str], *, times: int = 1
    ) -> xr.DataArray:
        """Return the harmonic mean of MPA and WRA of every draw, (chain, draw, group).

        With ``raters`` among the sources there are ``times`` as many new raters.
        """
        areas = self.areas(draws, sources, times=times)
        return harmonic_mean(*(areas.sel(metric=name, drop=True) for name in self.checked))

    def areas(
        self, draws: ReplicateDraws, sources: Sequence[str], *, times: int = 1
    ) -> xr.DataArray:
        """Return MPA and WRA of every draw, (chain, draw, metric, group), as of ``headline``."""

        def measure_block(block: Block) -> list[xr.Dataset]:
            counts = self._pool_copies(block, sources, times)
            weights = block.replicate_weights(self.unit_labels, "item", sources)
            areas = self._areas(tabulate_counts(counts, by=ALL, weights=weights))
            return [areas.to_dataset(name="value")]

        [values] = measure_draws(draws, measure_block, copies=times)
        return values["value"]

    def _areas(self, table: xr.DataArray) -> xr.DataArray:
        """Return MPA and WRA over (draw, metric, group), of rows by score and label."""
        reason = self.observed["reason"].sel(by=ALL, drop=True)
        metrics = severity_metrics(table.sel(by=ALL, drop=True), self.checked).where(reason == "")
        return metrics.to_dataarray("metric").transpose("draw", "metric", "group")


def replicate_scores(block: Block, sources: Sequence[str], *, copy: int = 0) -> xr.DataArray:
    """Return all replicates of the scores, ([replicate,] draw, rating), without expert labels."""
    number = block.draws.n_replicates
    scores = block.ratings(sources, copy=copy, n_replicates=number)[SCALE]
    if number == 1:
        return xr.DataArray(scores, dims=("draw", "rating"))
    by_replicate = scores.reshape(number, block.size, -1)
    return xr.DataArray(by_replicate, dims=(REPLICATE, "draw", "rating"))


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
        scores = replicate_scores(block, sources)
        counts = population_counts(study, rater, scores)
        weights = block.replicate_weights(items, "item", sources)
        datasets = [population_responsiveness(study, counts, weights=weights)]
        if around is not None:
            parts = reweight_all(data, counts[0], scores, around)
            datasets.append(measure_shares(study, around, parts, weights=weights))
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
