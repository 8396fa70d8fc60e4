"""Intervals of a crowd's metrics and of differences between groups, over items and raters."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_counts import count_effective_raters, count_independent_items
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.errors import format_percent
from sharpbayes.metrics.crowd.association import CHANCE
from sharpbayes.metrics.crowd.contrasts import contrasts, explain_untested
from sharpbayes.metrics.crowd.groups import items_of_both, shared_items
from sharpbayes.metrics.crowd.rater_resampling import RaterRuns, rater_runs, resample_raters
from sharpbayes.metrics.crowd.responsiveness import (
    metric_names,
    severity_metrics,
    severity_table,
)
from sharpbayes.metrics.crowd.size_effects import size_effects
from sharpbayes.metrics.stats.resampling import block_size, bootstrap
from sharpbayes.metrics.stats.two_way import (
    Resamples,
    lower_tail_p,
    t_interval,
    wider_interval,
)
from sharpbayes.spec.crowd import CrowdLabels

Measure = Callable[[xr.DataArray], xr.Dataset]

INTERVAL_NOTE = (
    "Intervals: {level}; they contain which {units} and which raters there are, each resampled "
    "within its group. Labels stay as they are. An interval is missing where resamples show "
    "no variance."
)
ITEMS_NOTE = "Intervals: {level}; they contain which {units} there are, with these raters."
# Separates the random stream of the half rows from that of the items.
HALF_ROWS = 0x3C6EF372


def measure_intervals(
    study: CrowdStudy, observed: xr.Dataset, names: Sequence[str] | None = None
) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Return metrics with intervals, differences between groups, and intervals over items alone.

    The metrics are those of ``names``, or all.
    """
    boot = study.spec.bootstrap
    names = list(names or metric_names(by_score=None))
    compared = [name for name in metric_names(compared=True) if name in names]

    def measure(rows: xr.DataArray) -> xr.Dataset:
        metrics = severity_metrics(rows, names).where(observed["reason"] == "")
        return metrics.transpose("replicate", ...)

    runs = _rater_runs(study)
    items = _resample_items(study, measure)
    raters, ratings = (
        resample_raters(runs, measure, seed=study.spec.seed, single_ratings=single_ratings)
        for single_ratings in (False, True)
    )
    clusters = count_independent_items(study.score_counts)
    n_raters = count_effective_raters(study.data, study.score_counts.membership)
    sizes = {"n_items": clusters.astype(float), "n_raters": n_raters}
    intervals, items_alone, added = {}, {}, {}
    for name in names:
        value = observed[name].transpose("group", "by", ...)
        resamples = _collect_resamples((items, raters, ratings), value, sizes)
        ends = _range_of(value)
        bounds = wider_interval(value.to_numpy(), resamples, level=boot.level, bounds=ends)
        intervals[f"{name}_interval"] = _with_bound(value, bounds)
        if name == "auc_roc":
            intervals["auc_roc_p"] = _chance_p(value, resamples)
        if name in compared:
            added[name] = value.copy(data=resamples.rater_variance_on())
        alone = t_interval(value.to_numpy(), resamples.spread_of_items, level=boot.level)
        items_alone[f"{name}_interval"] = _with_bound(value, alone)
    difference = _compare_groups(
        study,
        observed.assign(clusters=clusters, n_raters=n_raters),
        items[compared],
        rater_variance=xr.Dataset(added),
        size_effect=_size_effects(study, runs, measure, observed[compared]),
    )
    contained = {"level": format_percent(boot.level), "units": study.resampled_items}
    note = {
        "interval_note": INTERVAL_NOTE.format(**contained),
        "resampled_units": json.dumps([study.resampled_items, "raters"]),
    }
    return (
        observed.assign(intervals).assign_attrs(note),
        difference.assign_attrs(note),
        observed.assign(items_alone).assign_attrs(interval_note=ITEMS_NOTE.format(**contained)),
    )


def _collect_resamples(
    resampled: Sequence[xr.Dataset], value: xr.DataArray, sizes: Mapping[str, xr.DataArray]
) -> Resamples:
    """Resamples of items, raters and single ratings of the metric that a value is of."""
    arrays = [data[value.name].transpose("replicate", *value.dims).to_numpy() for data in resampled]
    return Resamples(*arrays, **{key: _spread_over(size, value) for key, size in sizes.items()})


def _chance_p(value: xr.DataArray, resamples: Resamples) -> xr.DataArray:
    """The one-sided p value of an AUC-ROC below that of chance, over the dimensions of it."""
    p = lower_tail_p(value.to_numpy(), resamples, value=CHANCE, bounds=_range_of(value))
    return xr.DataArray(p, value.coords, value.dims)


def _compare_groups(
    study: CrowdStudy,
    observed: xr.Dataset,
    resampled: xr.Dataset,
    *,
    rater_variance: xr.Dataset,
    size_effect: xr.Dataset,
) -> xr.Dataset:
    """Differences of groups that scored enough of the same items, and why other pairs have none."""
    counts = study.score_counts
    shared = items_of_both(counts.plurality, counts.label_count, by=counts.strata)
    grouping = observed["grouping"].to_numpy()
    min_items = study.crowd.min_items
    reason = explain_untested(shared, observed["raters"], grouping=grouping, min_items=min_items)
    difference = contrasts(
        observed[[*resampled]],
        resampled,
        rater_variance=rater_variance,
        raters=observed["n_raters"],
        items=observed["clusters"],
        level=study.spec.bootstrap.level,
        size_effect=size_effect,
        comparable=shared >= max(min_items, 1),
    )
    return difference.assign(shared_items=shared, reason=reason)


def _size_effects(
    study: CrowdStudy, runs: RaterRuns, measure: Measure, observed: xr.Dataset
) -> xr.Dataset:
    """What numbers of ratings alone do to differences between groups."""
    membership = study.score_counts.membership
    return size_effects(runs, measure, observed, membership=membership, seed=study.spec.seed)


def _resample_items(study: CrowdStudy, measure: Measure) -> xr.Dataset:
    """Metrics of resamples of the items, their raters kept.

    Every row by score and label that a group uses gets a Gamma(1/2) share of an item, as under
    Jeffreys' prior: a score of a few items that are all unsafe is not sure to be so.
    """
    counts, boot = study.score_counts, study.spec.bootstrap
    tabulate = partial(
        severity_table,
        counts.plurality,
        counts.label_count,
        by=counts.strata,
        n_scores=counts.score_count.sizes["score"],
    )
    table = tabulate()
    items = shared_items(counts.plurality, counts.label_count, by=counts.strata)
    rows = table.sum(["score", "unsafe"]) / items.clip(min=1)
    half = rows.where(table.sum("unsafe") > 0, 0.0).transpose("group", "by", "score")

    def measure_weighted(weights: xr.DataArray) -> xr.Dataset:
        drawn = tabulate(weights=weights)
        shape = (*half.shape, 2)
        gamma = np.empty((weights.sizes["replicate"], *shape))
        for row, replicate in enumerate(weights["replicate"].to_numpy()):
            rng = np.random.default_rng([study.spec.seed, HALF_ROWS, int(replicate)])
            gamma[row] = rng.gamma(0.5, size=shape)
        more = xr.DataArray(gamma, dims=("replicate", *half.dims, "unsafe")) * half
        return measure(drawn + more.transpose(*drawn.dims))

    return bootstrap(
        measure_weighted,
        counts.plurality["item"],
        replicates=boot.replicates,
        seed=study.spec.seed,
        dim="item",
        # The weights and the tables of a block both stay small.
        block=block_size(max(counts.strata.sizes["item"], 2 * half.size)),
    )


def _rater_runs(study: CrowdStudy) -> RaterRuns:
    """Ratings in the order in which raters are resampled."""
    counts, data, labels = study.score_counts, study.data, study.crowd.labels
    return rater_runs(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=counts.membership,
        strata=counts.strata,
        label_count=counts.label_count,
        cut=labels.cut if isinstance(labels, CrowdLabels) else 0,
        n_scores=counts.score_count.sizes["score"],
    )


def _spread_over(size: xr.DataArray, value: xr.DataArray) -> np.ndarray:
    """A number of items or raters over the dimensions of a metric."""
    return size.broadcast_like(value).transpose(*value.dims).to_numpy()


def _with_bound(value: xr.DataArray, bounds: np.ndarray) -> xr.DataArray:
    """Bounds (..., bound) of a metric, missing where it is."""
    coords = {**value.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(bounds, coords, (*value.dims, "bound")).where(value.notnull())


def _range_of(value: xr.DataArray) -> tuple[float, float]:
    """The ends of a metric's range."""
    low, high = json.loads(value.attrs["range"])
    return low, high
