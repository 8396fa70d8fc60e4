"""How well a group of raters responds to the severity of safety violations.

Everything follows from one table: for each group and stratum, how many rows (item, label) have each
plurality score S = 0..K and each safety label U = 0, 1, counted or weighted. Every function takes
any leading dimensions; of an array of Dask the result is one too.
"""

from collections.abc import Collection
from functools import cache, partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd import association
from sharpbayes.metrics.crowd.association import ratio, rows_below
from sharpbayes.metrics.crowd.groups import explain_missing, shared_items
from sharpbayes.metrics.crowd.tabulation import tabulate_labels
from sharpbayes.metrics.stats.labels import attach_labels, without_labels
from sharpbayes.metrics.stats.metric import Metric, describe, name_variables

LONG_NAMES = {
    "count": "rows (item, label) with this plurality score",
    "items": "items with both a plurality score and a label",
    "raters": "raters in the group",
    "reason": "why the metrics are missing, empty where they are not",
}


def severity_table(
    plurality: xr.DataArray,
    label_count: xr.DataArray,
    *,
    by: xr.DataArray,
    n_scores: int,
    weights: xr.DataArray | None = None,
) -> xr.DataArray:
    """Count rows by score and label: each item once for each of its labels, times its weight.

    ``count[g, b, s, u] = sum over items i in b with S[g, i] = s of weight[i] label_count[i, u]``

    Scores 0..n_scores-1, -1 missing, are over (..., group, item), labels over (..., [group,] item,
    unsafe) with ``unsafe = [0, 1]``. ``by`` (by, item) says which item belongs to which stratum,
    weights such as (replicate, item) how often each item counts; None counts each once. The result
    is over (..., group, by, score, unsafe); items without a score or a label count nowhere.

    Raises:
        xarray.AlignmentError: The arguments are not about the same groups or items.

    Source: responsiveness paper, section 5.1 (replication over experts).

    >>> scores = xr.DataArray([[0, 2, -1]], dims=("group", "item"))
    >>> labels = xr.DataArray([[4, 1], [0, 5], [5, 0]], dims=("item", "unsafe"))
    >>> every = xr.DataArray([[True, True, True]], dims=("by", "item"))
    >>> severity_table(scores, labels, by=every, n_scores=3).values.tolist()
    [[[[4.0, 1.0], [0.0, 0.0], [0.0, 5.0]]]]
    """
    item_weights = xr.ones_like(by.isel(by=0, drop=True)) if weights is None else weights
    plurality, label_count, by, item_weights = xr.align(
        plurality, label_count, by, item_weights.astype(float), join="exact", copy=False
    )
    score = xr.DataArray(np.arange(n_scores), dims="score", coords={"score": np.arange(n_scores)})
    if set(item_weights.dims) <= set(plurality.dims):
        table = tabulate_labels(plurality, label_count, by, item_weights, n_scores=n_scores)
    else:  # resamples meet the rows last, in one matrix product
        rows = (plurality == score).astype(float) * label_count.astype(float) * by
        table = xr.dot(rows, item_weights, dim="item", optimize=True)
    return table.assign_coords(score=score).transpose(..., "group", "by", "score", "unsafe")


def precision(table: xr.DataArray) -> xr.DataArray:
    """Return how often a row is unsafe among those with exactly this score.

    ``Precision(s) = P(U = 1 | S = s)``

    Of rows (..., score, unsafe) these are shares (..., score); NaN where the score is unused.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> precision(table).values.tolist()
    [0.25, 0.0, 1.0]
    """
    return ratio(table.isel(unsafe=1, drop=True), table.sum("unsafe"))


def recall(table: xr.DataArray) -> xr.DataArray:
    """Return how often an unsafe row has exactly this score.

    ``Recall(s) = P(S = s | U = 1)``

    Of rows (..., score, unsafe) they are over (..., score), with sum 1; NaN without an unsafe row.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> recall(table).values.tolist()
    [0.25, 0.0, 0.75]
    """
    unsafe = table.isel(unsafe=1, drop=True)
    return ratio(unsafe, unsafe.sum("score"))


def recall_below(table: xr.DataArray) -> xr.DataArray:
    """Return how often a safe row has a lower score than this.

    ``P(S < s | U = 0)``

    Of rows (..., score, unsafe) they are over (..., score), 0 at score 0; NaN without a safe row.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> recall_below(table).values.tolist()
    [0.0, 0.75, 1.0]
    """
    safe = table.isel(unsafe=0, drop=True)
    return ratio(rows_below(safe), safe.sum("score"))


def monotonic_precision_area(precision: xr.DataArray) -> xr.DataArray:
    """Return how steadily precision rises with the score, relative to the best possible.

    ``Y(s) = sum_{i < s} (Precision(s) - max_{j <= i} Precision(j))`` over used scores i and j;
    ``MPA = max(0, sum_s Y(s)) / best``, where ``best`` is (K/2)(K/2 + 1) for even K and
    ((K + 1)/2)^2 for odd K, of a scale of K + 1 scores, 0 to K. Y is 0 at an unused score, whose
    precision is NaN.

    Of precision (..., score) these are areas in [0, 1] (...). NaN where every used precision is 0
    (no row is unsafe), where every one is 1 (no row is safe), and where no score is used.

    Raises:
        ValueError: The scale has fewer than two scores.

    Source: responsiveness paper, section 4.1.

    >>> float(monotonic_precision_area(xr.DataArray([0.0, 0.0, 1.0, 1.0, 1.0], dims="score")))
    1.0
    """
    if precision.sizes["score"] == 1:
        raise ValueError("a scale has at least two scores, found 1")
    area: xr.DataArray = xr.apply_ufunc(
        _precision_area,
        precision,
        input_core_dims=[["score"]],
        dask="parallelized",
        dask_gufunc_kwargs={"allow_rechunk": True},
        output_dtypes=[np.float64],
    )
    return area


def weighted_recall_area(recall_below: xr.DataArray, recall: xr.DataArray) -> xr.DataArray:
    """Return the chance that a random unsafe row is scored strictly above a random safe one.

    ``WRA = sum_s P(S < s | U = 0) Recall(s)``

    Of shares (..., score) it is in [0, 1] (...); NaN where no row is safe or none is unsafe.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> float(weighted_recall_area(recall_below(table), recall(table)))
    0.75
    """
    return (recall_below * recall).sum("score", skipna=False)


def harmonic_mean(mpa: xr.DataArray, wra: xr.DataArray) -> xr.DataArray:
    """Return the harmonic mean of both areas, in [0, 1]; NaN where either is.

    ``HM = 2 MPA WRA / (MPA + WRA)``, and 0 where both are 0.

    Source: responsiveness paper, section 4.1.

    >>> float(harmonic_mean(xr.DataArray(0.25), xr.DataArray(0.75)))
    0.375
    """
    total = mpa + wra
    return (2 * mpa * wra / total.where(total > 0)).where(total != 0, 0.0)


def responsiveness(
    plurality: xr.DataArray,
    label_count: xr.DataArray,
    *,
    by: xr.DataArray,
    min_raters: int,
    min_items: int,
    n_scores: int,
    raters: xr.DataArray | None = None,
    weights: xr.DataArray | None = None,
    reason: xr.DataArray | None = None,
) -> xr.Dataset:
    """Compute every responsiveness metric of every group in every stratum.

    Arguments and errors are those of :func:`severity_table`. Metrics are missing for a group with
    fewer than ``min_raters`` raters, or ``min_items`` items with both a score and a label. Where
    ``raters`` (group) is None, ``min_raters`` does not apply. ``reason`` (group, by) says why
    metrics are missing, and is empty where they are not; None finds it in the arguments without
    weights, so that resamples follow the observed data.

    The result has :data:`METRICS`, NaN where there is a ``reason``: ``precision``, ``recall`` and
    ``recall_below`` over (..., group, by, score), the others over (..., group, by); ``count``
    (..., group, by, score), ``items`` and ``reason`` (..., group, by), ``raters`` (group).

    Source: responsiveness paper, sections 4.1 and 5.

    >>> scores = xr.DataArray([[0, 0, 1, 2, 2]], dims=("group", "item"))
    >>> unsafe = xr.DataArray([0, 0, 0, 1, 1], dims="item")
    >>> labels = xr.concat([1 - unsafe, unsafe], "unsafe").transpose("item", "unsafe")
    >>> every = xr.DataArray([[True] * 5], dims=("by", "item"))
    >>> metrics = responsiveness(scores, labels, by=every, min_raters=1, min_items=5, n_scores=3)
    >>> metrics["mpa"].item(), metrics["wra"].item(), metrics["hm"].item()
    (1.0, 1.0, 1.0)
    """
    items = shared_items(plurality, label_count, by=by)
    if reason is None:
        from_crowd = "group" in label_count.dims
        reason = explain_missing(
            severity_table(plurality, label_count, by=by, n_scores=n_scores),
            items,
            min_raters=min_raters,
            min_items=min_items,
            raters=raters,
            alone=label_count.sum(["item", "unsafe"]) == 0 if from_crowd else None,
        )
    table = severity_table(plurality, label_count, by=by, n_scores=n_scores, weights=weights)
    return table_responsiveness(table, items, reason=reason, raters=raters)


def table_responsiveness(
    table: xr.DataArray,
    items: xr.DataArray,
    *,
    reason: xr.DataArray,
    raters: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return what :func:`responsiveness` does, of rows (..., score, unsafe) and their items."""
    metrics = severity_metrics(table).where(reason == "")
    metrics = metrics.assign(count=table.sum("unsafe"), items=items, reason=reason)
    if raters is not None:
        metrics["raters"] = raters
    return name_variables(metrics, LONG_NAMES)


def severity_metrics(table: xr.DataArray, names: Collection[str] | None = None) -> xr.Dataset:
    """Return the metrics of rows (..., score, unsafe): all of :data:`METRICS`, or some."""
    by_name, bare = {metric.name: metric for metric in METRICS}, without_labels(table)

    @cache
    def value(name: str) -> xr.DataArray:
        if name == "table":
            return bare
        return by_name[name].function(*map(value, by_name[name].inputs))

    wanted = [name for name in by_name if names is None or name in names]
    values = xr.Dataset({name: value(name) for name in wanted})
    return describe(attach_labels(values, table.coords), METRICS)


_scored = partial(Metric, by_score=True)
_headline = partial(Metric, compared=True, headline=True)
# Every metric of a crowd. A metric takes the table of rows by score and label, or metrics above it.
METRICS: tuple[Metric, ...] = (
    _scored("precision", "precision", "P(unsafe given the score)", precision),
    _scored("recall", "recall", "P(the score given unsafe)", recall),
    _scored("recall_below", "recall below", "P(a lower score given safe)", recall_below),
    _headline(
        "mpa", "MPA", "monotonic precision area", monotonic_precision_area, inputs=("precision",)
    ),
    _headline(
        "wra",
        "WRA",
        "weighted recall area",
        weighted_recall_area,
        inputs=("recall_below", "recall"),
    ),
    _headline("hm", "HM", "harmonic mean of mpa and wra", harmonic_mean, inputs=("mpa", "wra")),
    Metric(
        "kendall_tau",
        "Kendall's τ",
        "Kendall's tau-b of score and label",
        association.kendall_tau,
        "[-1, 1]",
        compared=True,
    ),
    Metric(
        "spearman",
        "Spearman",
        "Spearman's rank correlation of score and label",
        association.spearman,
        "[-1, 1]",
    ),
    Metric("auc_pr", "AUC-PR", "average precision of the score", association.auc_pr),
    Metric("auc_roc", "AUC-ROC", "area under the ROC curve of the score", association.auc_roc),
)


def metric_names(
    *, by_score: bool | None = False, compared: bool | None = None, headline: bool | None = None
) -> list[str]:
    """Return the names of the metrics with these properties; None: with or without."""
    return [
        metric.name
        for metric in METRICS
        if by_score in (None, metric.by_score)
        and compared in (None, metric.compared)
        and headline in (None, metric.headline)
    ]


def _precision_area(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Monotonic precision area over the last axis."""
    top = precision.shape[-1] - 1
    best = (top / 2) * (top / 2 + 1) if top % 2 == 0 else ((top + 1) / 2) ** 2
    used = ~np.isnan(precision)
    highest = np.where(used, np.fmax.accumulate(precision, axis=-1), 0.0)
    below, passed = (np.cumsum(x, axis=-1)[..., :-1] for x in (used, highest))
    # What precision at s gains over the highest one up to each used i < s.
    gain = np.where(used[..., 1:], below * precision[..., 1:] - passed, 0.0)
    area = np.cumsum(gain, axis=-1)[..., -1]
    both = (precision > 0).any(axis=-1) & (precision < 1).any(axis=-1)
    return np.where(both, np.maximum(area, 0.0) / best, np.nan)
