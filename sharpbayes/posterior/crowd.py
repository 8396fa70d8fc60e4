"""Metrics of a crowd's replicated ratings: each draw's scores take the observed ones' place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import xarray as xr

from sharpbayes.analysis.crowd_counts import (
    CrowdCounts,
    count_crowd,
    count_labels,
    measure_responsiveness,
)
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.crowd import ITEM_LABEL, SCALE
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import severity_metrics, severity_table
from sharpbayes.metrics.crowd.scores import plurality
from sharpbayes.posterior.replicates import (
    Block,
    Floats,
    ReplicateDraws,
    measure_draws,
    pool_replicates,
    texts_of,
)
from sharpbayes.spec.crowd import Crowd
from sharpbayes.spec.model import Model

# Counts of a crowd that are over items.
ITEM_COUNTS = ("plurality", "label_count", "strata")
LABELS_UNKNOWN = (
    "The model does not know the labels, so that posterior MPA and WRA are too low, the more so "
    "the fewer raters an item has. Read them as lower bounds, or fit with "
    '`fit = "{model}"`, which knows them.'
)


@dataclass(frozen=True)
class CrowdMetrics:
    """Responsiveness of a crowd's groups.

    Metrics of replicated ratings are missing where those of the observed ratings are.

    Attributes:
        study: The study of the crowd.
    """

    study: CrowdStudy
    unit: str = "item"
    member: str = "rater"
    checked: tuple[str, ...] = ("mpa", "wra")

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
        """Return the responsiveness of every draw over (chain, draw, ...), as the only dataset.

        Args:
            draws: Replicated ratings of the crowd, and labels of experts where they are ratings.
            sources: What varies from draw to draw.
        """
        reason, items = self.observed["reason"], self.unit_labels

        def measure_block(block: Block) -> list[xr.Dataset]:
            counts = self.replicate_counts(block, sources)
            weights = block.population_weights(items, "item", sources)
            metrics = measure_responsiveness(
                self.study.crowd, counts, weights=weights, reason=reason
            )
            metrics["items"] = metrics["items"] // block.draws.n_replicates
            # The number of raters is the same in every draw.
            metrics = metrics.drop_vars("reason")
            return [
                metrics.map(lambda x: x if "draw" in x.dims else x.expand_dims(draw=block.size))
            ]

        copies = -(-self.study.score_counts.score_count.size // len(self.study.data.score))
        return measure_draws(
            draws.replicated_for(sources, self.unit_count), measure_block, copies=copies
        )

    def quantities(self, metrics: xr.Dataset) -> dict[str, Floats]:
        """Return MPA and WRA of every group that has them, by name, over (draw)."""
        reason = self.observed["reason"].sel(by=ALL)
        groups = texts_of(reason["group"][(reason == "").to_numpy()])
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
        counts = self.study.score_counts
        return [
            self._areas(replace(counts, **{name: table[name] for name in ITEM_COUNTS}), weights)
            for table in tables
        ]

    def member_criteria(self, block: Block, times: int) -> list[xr.DataArray]:
        """Return MPA and WRA with that many times as many new raters."""
        crowd, data = self.study.crowd, self.study.data
        copies = []
        for copy in range(times):
            scores = block.ratings(["raters"], copy=copy)[SCALE]
            copies.append(count_crowd(crowd, data, xr.DataArray(scores, dims=("draw", "rating"))))
        counts = copies[0].score_count
        for other in copies[1:]:
            counts = counts + other.score_count
        pooled = replace(
            copies[0],
            score_count=counts,
            plurality=plurality(counts),
            label_count=count_labels(crowd, data, counts),
        )
        return [self._areas(pooled, None)]

    def _areas(self, counts: CrowdCounts, weights: xr.DataArray | None) -> xr.DataArray:
        """MPA and WRA over (draw, metric, group)."""
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
        "experts": ("crowd_and_experts", model.experts),
        "item": ("crowd_and_labels", any(name == ITEM_LABEL for _, name in model.columns)),
        "crowd": ("", True),
    }
    name, is_known = known[crowd.labels.from_]
    return "" if is_known else LABELS_UNKNOWN.format(model=name)
