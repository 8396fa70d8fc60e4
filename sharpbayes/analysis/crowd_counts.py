"""Counts of a crowd's scores and labels, and the responsiveness that follows from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.data.crowd import CrowdData
from sharpbayes.metrics.crowd import scores
from sharpbayes.metrics.crowd.groups import (
    assign_groups,
    assign_strata,
    shared_clusters,
    shared_items,
)
from sharpbayes.metrics.crowd.responsiveness import (
    responsiveness,
    severity_table,
    table_responsiveness,
)
from sharpbayes.metrics.crowd.scores import REPLICATE
from sharpbayes.metrics.stats.clusters import cluster_coords
from sharpbayes.spec.crowd import Crowd


@dataclass(frozen=True)
class CrowdTally:
    """What every metric of a crowd starts from.

    ``membership`` (group, rater) and ``strata`` (by, item) say what belongs to what. Safe and
    unsafe labels are over (..., [group,] item, unsafe), plurality scores over (..., group, item).
    """

    n_scores: int
    membership: xr.DataArray
    strata: xr.DataArray
    plurality: xr.DataArray
    label_count: xr.DataArray


@dataclass(frozen=True)
class CrowdCounts(CrowdTally):
    """The same with ``score_count`` (..., group, item, score): ratings of each score."""

    score_count: xr.DataArray


def count_crowd(spec: Crowd, data: CrowdData, score: xr.DataArray | None = None) -> CrowdCounts:
    """Count scores and labels, of the observed ratings or of others over (..., rating)."""
    items, n_scores = _item_coords(data), len(data.score_labels)
    membership = assign_groups(data.rater_columns, spec.groups, n_raters=len(data.rater.labels))
    counts = scores.score_counts(
        xr.DataArray(data.score, dims="rating") if score is None else score,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=membership,
        n_scores=n_scores,
        n_items=len(data.item.labels),
    ).assign_coords(items)
    labels, strata = count_labels(spec, data, counts), _stratify(spec, data)
    plurality = scores.plurality(counts)
    return CrowdCounts(n_scores, membership, strata, plurality, labels, counts)


def tally_crowd(spec: Crowd, data: CrowdData, score: xr.DataArray) -> CrowdTally:
    """Return what :func:`count_crowd` does of scores over (..., rating), without their counts.

    Several sets of ratings of the same raters, one after the other, are pooled. Labels by the crowd
    are the mean of all replicates.
    """
    items, n_scores = _item_coords(data), len(data.score_labels)
    membership = assign_groups(data.rater_columns, spec.groups, n_raters=len(data.rater.labels))
    sets = score.sizes["rating"] // len(data.score)
    plurality, labels = scores.tally_scores(
        score,
        item=np.tile(data.item.codes, sets),
        rater=np.tile(data.rater.codes, sets),
        membership=membership,
        n_scores=n_scores,
        n_items=len(data.item.labels),
        cut=spec.labels.cut if spec.labels.from_ == "crowd" else None,
    )
    by_crowd = spec.labels.from_ == "crowd"
    labels = labels.assign_coords(items) if by_crowd else _given_labels(spec, data)
    plurality, strata = plurality.assign_coords(items), _stratify(spec, data)
    return CrowdTally(n_scores, membership, strata, plurality, labels)


def _item_coords(data: CrowdData) -> dict[str, Any]:
    """Labels of the items, and their clusters where the study names any."""
    return {"item": list(data.item.labels), **cluster_coords(data.cluster, "item")}


def _stratify(spec: Crowd, data: CrowdData) -> xr.DataArray:
    """Which item belongs to which stratum, (by, item)."""
    strata = assign_strata(data.item_columns, spec.by, n_items=len(data.item.labels))
    return strata.assign_coords(_item_coords(data))


def label_scores(groups: dict[str, xr.Dataset], data: CrowdData) -> dict[str, xr.Dataset]:
    """Name scores in groups of results as the data do, in place of their positions from 0."""
    labels = {"score": list(data.score_labels)}
    return {
        name: group.assign_coords(labels) if "score" in group.coords else group
        for name, group in groups.items()
    }


def count_labels(spec: Crowd, data: CrowdData, score_count: xr.DataArray) -> xr.DataArray:
    """Count labels ([..., group,] item, unsafe) of experts, the crowd or an item column."""
    if spec.labels.from_ == "crowd":
        return scores.crowd_label_counts(score_count, cut=spec.labels.cut)
    return _given_labels(spec, data)


def _given_labels(spec: Crowd, data: CrowdData) -> xr.DataArray:
    """Count labels (item, unsafe) of experts or of an item column."""
    items = _item_coords(data)
    if spec.labels.from_ == "item":
        return scores.item_label_counts(data.item_label).assign_coords(items)
    label, item, n_items = data.expert_label, data.expert_item, len(data.item.labels)
    return scores.expert_label_counts(label, item=item, n_items=n_items).assign_coords(items)


def measure_responsiveness(
    spec: Crowd,
    counts: CrowdTally,
    *,
    weights: xr.DataArray | None = None,
    reason: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the responsiveness of every group in every stratum; see :func:`responsiveness`.

    Of counts over :data:`REPLICATE` it is that of all replicates together, and needs a ``reason``;
    ``items`` is then that of a single one.
    """
    raters = counts.membership.sum("rater")
    if reason is not None:
        table, items = tabulate_counts(counts, weights=weights), count_shared_items(counts)
        return table_responsiveness(table, items, reason=reason, raters=raters)
    return responsiveness(
        counts.plurality,
        counts.label_count,
        by=counts.strata,
        raters=raters,
        min_raters=spec.min_raters,
        min_items=spec.min_items,
        n_scores=counts.n_scores,
        weights=weights,
    )


def count_shared_items(counts: CrowdTally) -> xr.DataArray:
    """Return how many items have a score and a label, over (..., group, by).

    Every replicate has the ratings of the same raters, so that one of them tells it of all.
    """
    plurality, labels = (
        x.isel({REPLICATE: 0}, missing_dims="ignore")
        for x in (counts.plurality, counts.label_count)
    )
    return shared_items(plurality, labels, by=counts.strata)


def count_independent_items(counts: CrowdCounts) -> xr.DataArray:
    """Return how many items with a score and a label are independent, over (group, by).

    Items of one cluster count once.
    """
    return shared_clusters(counts.plurality, counts.label_count, by=counts.strata)


def count_effective_raters(data: CrowdData, membership: xr.DataArray) -> xr.DataArray:
    """Return how many raters with equally many ratings the raters of a group are worth, (group).

    (sum_r n_r)^2 / sum_r n_r^2, n_r the ratings of rater r: where few raters give most of the
    ratings of a group, what it varies with is these few. ``membership`` is (group, rater).

    Source: Kish 1965.
    """
    n_ratings = np.bincount(data.rater.codes, minlength=membership.sizes["rater"])
    loads = membership * xr.DataArray(n_ratings.astype(float), dims="rater")
    return loads.sum("rater") ** 2 / (loads**2).sum("rater")


def tabulate_counts(
    counts: CrowdTally, *, by: str | None = None, weights: xr.DataArray | None = None
) -> xr.DataArray:
    """Return rows by score and label, of every stratum or of one; see :func:`severity_table`.

    Every row adds to its count, so that the rows of all replicates of a draw are added up. Scores
    and labels of an item come from other raters, and are independent given the draw: scores of each
    replicate are compared with the mean labels of all, which pairs all with all.
    """
    labels = counts.label_count
    if REPLICATE in labels.dims:
        labels = labels.mean(REPLICATE)
    table = severity_table(
        counts.plurality,
        labels,
        by=counts.strata if by is None else counts.strata.sel(by=[by]),
        n_scores=counts.n_scores,
        weights=weights,
    )
    return table.sum(REPLICATE) if REPLICATE in counts.plurality.dims else table
