"""Each rater's own responsiveness and use of the scale."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.groups import withheld
from sharpbayes.metrics.crowd.kernels import count_raters, tabulate_raters
from sharpbayes.metrics.crowd.responsiveness import LONG_NAMES, areas, severity_metrics
from sharpbayes.metrics.crowd.scale_use import scale_use
from sharpbayes.metrics.stats.resampling import block_of, bootstrap, percentile_interval

KEPT = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


@dataclass(frozen=True)
class RaterScores:
    """The ratings of a crowd and the labels of its items, as the metrics of raters need them.

    Attributes:
        level: Scores 0..levels-1, none missing; (rating,).
        item: Item of each rating.
        rater: Rater of each rating.
        label_count: Safe and unsafe labels of each item; (item, unsafe). Where labels are the
            crowd's own, those of all raters: each rater's own are taken out.
        cut: Scores at or above it are the crowd's unsafe labels; 0 for labels from elsewhere.
        raters: Number of raters.
        levels: Number of scores of the scale, K + 1.
    """

    level: NDArray[np.integer]
    item: NDArray[np.integer]
    rater: NDArray[np.integer]
    label_count: NDArray[np.floating]
    cut: int
    raters: int
    levels: int

    @property
    def codes(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]:
        """Item, rater and level as the compiled loops take them."""
        item, rater = (code.astype(np.int32, copy=False) for code in (self.item, self.rater))
        return item, rater, self.level.astype(np.int16, copy=False)

    def table(self, weights: xr.DataArray) -> xr.DataArray:
        """Return rows by score and label (replicate, rater, score, unsafe), items weighted."""
        weight = np.ascontiguousarray(weights.transpose("replicate", "item"), dtype=np.float64)
        rows = np.zeros((len(weight), self.raters, self.levels, 2))
        labels = np.ascontiguousarray(self.label_count, dtype=np.float64)
        item, rater, level = self.codes
        order = np.argsort(item, kind="stable") if (item[1:] < item[:-1]).any() else slice(None)
        # Keys of the same kind: others would copy every item.
        first = np.searchsorted(item[order], np.arange(len(labels) + 1, dtype=np.int32))
        tabulate_raters(first, rater[order], level[order], labels, self.cut, weight, rows)
        dims = ("replicate", "rater", "score", "unsafe")
        return xr.DataArray(rows, {"score": np.arange(self.levels)}, dims)


def rater_metrics(scores: RaterScores, *, min_items: int) -> xr.Dataset:
    """Compute the responsiveness metrics of every rater from the scores that they gave.

    A rater is a group of one: the plurality of one score is that score.

    Args:
        scores: Ratings and labels.
        min_items: Fewest items with a label that a rater scored; below it metrics are missing.

    Returns:
        Over (rater): ``mpa``, ``wra``, ``hm``, ``kendall_tau``, ``spearman``, ``auc_pr``,
        ``auc_roc``, ``items``, ``reason``, ``rank`` (1 is the highest harmonic mean, ties share
        the best place, NaN where it is missing), and what
        :func:`sharpbayes.metrics.crowd.scale_use.scale_use` returns.

    Source: responsiveness paper, sections 1, 4.1 and 7.

    >>> labels = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> scores = RaterScores(
    ...     np.array([0, 0, 1, 2, 2]), np.arange(5), np.zeros(5, int), labels, cut=0, raters=1,
    ...     levels=3,
    ... )
    >>> found = rater_metrics(scores, min_items=5)
    >>> found["mpa"].item(), found["wra"].item(), found["extreme_response"].item()
    (1.0, 1.0, 0.8)
    """
    once = xr.DataArray(np.ones((1, len(scores.label_count))), dims=("replicate", "item"))
    rows = scores.table(once).isel(replicate=0)
    counts, rated = np.zeros((scores.raters, scores.levels)), np.zeros(scores.raters)
    others = scores.label_count.sum(axis=1).astype(np.float64) - float(scores.cut > 0)
    count_raters(*scores.codes, others, counts, rated)
    items = xr.DataArray(rated.astype(np.int64), dims="rater")
    reason = withheld(rows, items, min_raters=1, min_items=min_items, raters=None)
    found = severity_metrics(rows)[list(KEPT)].where(reason == "")
    found = found.assign(items=items, reason=reason, rank=ranks(found["hm"]))
    for name in KEPT:
        found[name].attrs["long_name"] = LONG_NAMES[name]
    found["items"].attrs["long_name"] = "items with a score and a label"
    found["rank"].attrs["long_name"] = "place by harmonic mean, 1 the most responsive"
    found["reason"].attrs["long_name"] = LONG_NAMES["reason"]
    used = xr.DataArray(counts.astype(np.int64), rows.isel(unsafe=0).coords, ("rater", "score"))
    return found.merge(scale_use(used))


def rater_intervals(scores: RaterScores, *, replicates: int, seed: int, level: float) -> xr.Dataset:
    """Return bootstrap intervals of MPA, WRA and HM of every rater, over items.

    Args:
        scores: Ratings and labels.
        replicates: Number of resamples of the items, the same for all raters.
        seed: Seed.
        level: Share of the resamples inside, in (0, 1).

    Returns:
        ``mpa_interval``, ``wra_interval``, ``hm_interval`` (rater, bound); NaN where no resample
        has the metric, or all have the same.

    >>> rng = np.random.default_rng(1)
    >>> level, item = rng.integers(0, 3, 60), np.arange(60)
    >>> labels = np.stack([rng.random(60) < 0.5, np.ones(60)], axis=1).astype(float)
    >>> scores = RaterScores(level, item, item * 0, labels, cut=0, raters=1, levels=3)
    >>> found = rater_intervals(scores, replicates=50, seed=1, level=0.9)
    >>> found["wra_interval"].sizes["bound"]
    2
    """
    resampled = bootstrap(
        lambda weights: areas(scores.table(weights)),
        xr.DataArray(np.arange(len(scores.label_count)), dims="item"),
        replicates=replicates,
        seed=seed,
        dim="item",
        block=block_of(max(len(scores.label_count), 2 * scores.raters * scores.levels)),
    )
    found = percentile_interval(resampled, level=level)
    wide = found.isel(bound=1, drop=True) > found.isel(bound=0, drop=True)
    return xr.Dataset({f"{name}_interval": x.where(wide[name]) for name, x in found.items()})


def ranks(x: xr.DataArray) -> xr.DataArray:
    """Return places, 1 for the largest; equals share the best place, NaN has none.

    >>> ranks(xr.DataArray([0.2, 0.5, np.nan, 0.5], dims="rater")).values.tolist()
    [3.0, 1.0, nan, 1.0]
    """
    values = x.to_numpy()
    known = np.sort(-values[~np.isnan(values)])
    places = np.searchsorted(known, -values) + 1.0
    return x.copy(data=np.where(np.isnan(values), np.nan, places))
