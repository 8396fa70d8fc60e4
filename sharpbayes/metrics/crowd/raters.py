"""Each rater's own responsiveness and use of the scale."""

from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.groups import explain_missing
from sharpbayes.metrics.crowd.kernels import count_raters, tabulate_raters
from sharpbayes.metrics.crowd.responsiveness import metric_names, severity_metrics
from sharpbayes.metrics.crowd.scale_use import scale_use
from sharpbayes.metrics.stats.clusters import cluster_coords
from sharpbayes.metrics.stats.intervals import intervals_with_width, percentile_interval
from sharpbayes.metrics.stats.metric import name_variables
from sharpbayes.metrics.stats.ranks import rank
from sharpbayes.metrics.stats.resampling import block_size, bootstrap

LONG_NAMES = {
    "items": "items with a score and a label",
    "clusters": "clusters of items with a score",
    "rank": "place by harmonic mean, 1 the most responsive",
    "reason": "why the metrics are missing, empty where they are not",
}


@dataclass(frozen=True)
class RaterScores:
    """The ratings of a crowd and the labels of its items, as the metrics of raters need them.

    Scores are 0..n_scores-1, none missing. ``label_count`` (item, unsafe) holds safe and unsafe
    labels; where they are the crowd's own, scores at or above ``cut`` are unsafe, and each rater's
    own are taken out of those of all raters. For labels from elsewhere ``cut`` is 0. ``cluster``
    (item,) names what items share that are resampled together; empty where they are independent.
    """

    score: NDArray[np.integer]
    item: NDArray[np.integer]
    rater: NDArray[np.integer]
    label_count: NDArray[np.floating]
    cut: int
    n_raters: int
    n_scores: int
    cluster: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, np.str_))

    @property
    def items(self) -> xr.DataArray:
        """Numbers of the items, with their clusters, over (item)."""
        coords = cluster_coords(self.cluster, "item")
        return xr.DataArray(np.arange(len(self.label_count)), coords, "item")

    @property
    def codes(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]:
        """Item, rater and score as the compiled loops take them."""
        item, rater = (code.astype(np.int32, copy=False) for code in (self.item, self.rater))
        return item, rater, self.score.astype(np.int16, copy=False)

    def count_clusters(self) -> NDArray[np.int64]:
        """Return of how many clusters each rater scored an item, (rater,)."""
        return np.bincount(self.rater[self._first_ratings(slice(None))], minlength=self.n_raters)

    def first_of_clusters(self) -> "RaterScores":
        """Return one rating of each rater and cluster, of an item with a label; all without any."""
        if not self.cluster.size:
            return self
        first = self._first_ratings(np.flatnonzero(self.label_count.any(axis=1)[self.item]))
        return replace(
            self, score=self.score[first], item=self.item[first], rater=self.rater[first]
        )

    def _first_ratings(self, ratings: NDArray[np.intp] | slice) -> NDArray[np.intp]:
        """Positions of the first one of some ratings of each rater and cluster."""
        codes = np.unique(self.cluster, return_inverse=True)[1]
        pairs = np.stack([self.rater[ratings], codes[self.item[ratings]]])
        first = np.unique(pairs, axis=1, return_index=True)[1]
        return np.arange(self.rater.size)[ratings][first]

    def count_rows(self) -> xr.DataArray:
        """Return rows by score and label (rater, score, unsafe), each item once."""
        single_counts = np.ones((1, len(self.label_count)))
        rows = self.table(xr.DataArray(single_counts, dims=("replicate", "item")))
        return rows.isel(replicate=0)

    def table(self, weights: xr.DataArray) -> xr.DataArray:
        """Return rows by score and label (replicate, rater, score, unsafe), items weighted."""
        weight = np.ascontiguousarray(weights.transpose("replicate", "item"), dtype=np.float64)
        rows = np.zeros((len(weight), self.n_raters, self.n_scores, 2))
        labels = np.ascontiguousarray(self.label_count, dtype=np.float64)
        item, rater, score = self.codes
        order = np.argsort(item, kind="stable") if (item[1:] < item[:-1]).any() else slice(None)
        # Keys of the same kind: others would copy every item.
        first = np.searchsorted(item[order], np.arange(len(labels) + 1, dtype=np.int32))
        tabulate_raters(first, rater[order], score[order], labels, self.cut, weight, rows)
        dims = ("replicate", "rater", "score", "unsafe")
        return xr.DataArray(rows, {"score": np.arange(self.n_scores)}, dims)


def rater_metrics(scores: RaterScores, *, min_items: int) -> xr.Dataset:
    """Compute the responsiveness metrics of every rater from the scores that they gave.

    A rater is a group of one: the plurality of one score is that score. With fewer than
    ``min_items`` items with a label that a rater scored, metrics are missing. The result has, over
    (rater), ``mpa``, ``wra``, ``hm``, ``kendall_tau``, ``spearman``, ``auc_pr``, ``auc_roc``,
    ``items``, ``clusters`` where items have any, ``reason``, ``rank`` (1 is the highest harmonic
    mean, ties share the best place, NaN where it is missing), and what
    :func:`sharpbayes.metrics.crowd.scale_use.scale_use` returns.

    Source: responsiveness paper, sections 1, 4.1 and 7.

    >>> labels = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> score, item = np.array([0, 0, 1, 2, 2]), np.arange(5)
    >>> scores = RaterScores(score, item, item * 0, labels, cut=0, n_raters=1, n_scores=3)
    >>> metrics = rater_metrics(scores, min_items=5)
    >>> metrics["mpa"].item(), metrics["wra"].item(), metrics["extreme_response"].item()
    (1.0, 1.0, 0.8)
    """
    rows = scores.count_rows()
    counts, rated = np.zeros((scores.n_raters, scores.n_scores)), np.zeros(scores.n_raters)
    others = scores.label_count.sum(axis=1).astype(np.float64) - float(scores.cut > 0)
    count_raters(*scores.codes, others, counts, rated)
    items = xr.DataArray(rated.astype(np.int64), dims="rater")
    reason = explain_missing(rows, items, min_raters=1, min_items=min_items, raters=None)
    metrics = severity_metrics(rows, metric_names()).where(reason == "")
    ranks = rank(metrics["hm"], method="min", descending=True)
    metrics = metrics.assign(items=items, reason=reason, rank=ranks)
    if scores.cluster.size:
        metrics["clusters"] = ("rater", scores.count_clusters())
    metrics = name_variables(metrics, LONG_NAMES)
    used = xr.DataArray(counts.astype(np.int64), rows.isel(unsafe=0).coords, ("rater", "score"))
    return metrics.merge(scale_use(used))


def rater_intervals(scores: RaterScores, *, replicates: int, seed: int, level: float) -> xr.Dataset:
    """Return bootstrap intervals of MPA, WRA and HM of every rater, over items.

    They are percentile intervals from the same ``replicates`` resamples of the items for all
    raters: ``mpa_interval``, ``wra_interval``, ``hm_interval`` (rater, bound); NaN where no
    resample has the metric, or all have the same.

    Source: Efron 1979.

    >>> rng = np.random.default_rng(1)
    >>> score, item = rng.integers(0, 3, 60), np.arange(60)
    >>> labels = np.stack([rng.random(60) < 0.5, np.ones(60)], axis=1).astype(float)
    >>> scores = RaterScores(score, item, item * 0, labels, cut=0, n_raters=1, n_scores=3)
    >>> intervals = rater_intervals(scores, replicates=50, seed=1, level=0.9)
    >>> intervals["wra_interval"].sizes["bound"]
    2
    """
    names = metric_names(headline=True)
    resampled = bootstrap(
        lambda weights: severity_metrics(scores.table(weights), names),
        scores.items,
        replicates=replicates,
        seed=seed,
        dim="item",
        block=block_size(max(len(scores.label_count), 2 * scores.n_raters * scores.n_scores)),
    )
    interval = intervals_with_width(percentile_interval(resampled, level=level))
    return interval.rename({name: f"{name}_interval" for name in names})
