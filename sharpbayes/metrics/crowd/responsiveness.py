"""How well a group of raters responds to the severity of safety violations.

Everything follows from one table: for each group and stratum, how many rows (item, label) have each
plurality score S = 0..K and each safety label U = 0, 1. Counts may be whole numbers or weights, and
every function takes any extra leading dimensions (``draw``, ``replicate``); of an array of Dask the
result is one too, and nothing is read before the result is.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.crowd.association import auc_pr, auc_roc, kendall_tau, spearman
from sharpbayes.metrics.crowd.groups import membership, shared_items, strata, withheld
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)

__all__ = [
    "auc_pr",
    "auc_roc",
    "crowd_label_counts",
    "expert_label_counts",
    "harmonic_mean",
    "item_label_counts",
    "kendall_tau",
    "membership",
    "monotonic_precision_area",
    "plurality",
    "precision",
    "recall",
    "recall_below",
    "responsiveness",
    "score_counts",
    "severity_metrics",
    "severity_table",
    "shared_items",
    "spearman",
    "strata",
    "weighted_recall_area",
    "withheld",
]

LONG_NAMES = {
    "count": "rows (item, label) with this plurality score",
    "precision": "P(unsafe given the score)",
    "recall": "P(the score given unsafe)",
    "recall_below": "P(a lower score given safe)",
    "mpa": "monotonic precision area, in [0, 1]",
    "wra": "weighted recall area, in [0, 1]",
    "hm": "harmonic mean of mpa and wra, in [0, 1]",
    "kendall_tau": "Kendall's tau-b of score and label, in [-1, 1]",
    "spearman": "Spearman's rank correlation of score and label, in [-1, 1]",
    "auc_pr": "average precision of the score, in [0, 1]",
    "auc_roc": "area under the ROC curve of the score, in [0, 1]",
    "items": "items with both a plurality score and a label",
    "raters": "raters in the group",
    "reason": "why the metrics are missing, empty where they are not",
}


def severity_table(
    plurality: xr.DataArray,
    label_count: xr.DataArray,
    *,
    by: xr.DataArray,
    levels: int,
    weights: xr.DataArray | None = None,
) -> xr.DataArray:
    """Count rows by score and label: each item once for each of its labels, times its weight.

    ``count[g, b, s, u] = sum over items i in b with S[g, i] = s of weight[i] label_count[i, u]``

    Args:
        plurality: Scores 0..levels-1, -1 missing; (..., group, item).
        label_count: Labels of each item; (..., [group,] item, unsafe) with ``unsafe = [0, 1]``.
        by: Which item belongs to which stratum; bool (by, item).
        levels: Number of scores of the scale, K + 1.
        weights: How often each item counts, such as (replicate, item); None counts each once.

    Returns:
        Counts (..., group, by, score, unsafe). Items without a score or a label count nowhere.

    Raises:
        xarray.AlignmentError: The arguments are not about the same groups or items.

    Source: responsiveness paper, section 5.1 (replication over experts).

    >>> scores = xr.DataArray([[0, 2, -1]], dims=("group", "item"))
    >>> labels = xr.DataArray([[4, 1], [0, 5], [5, 0]], dims=("item", "unsafe"))
    >>> every = xr.DataArray([[True, True, True]], dims=("by", "item"))
    >>> severity_table(scores, labels, by=every, levels=3).values.tolist()
    [[[[4.0, 1.0], [0.0, 0.0], [0.0, 5.0]]]]
    """
    once = xr.DataArray(1.0) if weights is None else weights.astype(float)
    plurality, label_count, by, once = xr.align(plurality, label_count, by, once, join="exact")
    score = xr.DataArray(np.arange(levels), dims="score", coords={"score": np.arange(levels)})
    scored = (plurality == score).astype(float)
    labelled = label_count.astype(float) * by
    # Resamples meet the rows last, in one matrix product; weights of each draw stay with its draw.
    if set(once.dims) <= set(plurality.dims):
        labelled = labelled * once
    else:
        scored, labelled = scored * labelled, once
    table: xr.DataArray = xr.dot(scored, labelled, dim="item", optimize=True)
    return table.transpose(..., "group", "by", "score", "unsafe")


def precision(table: xr.DataArray) -> xr.DataArray:
    """Return how often a row is unsafe among those with exactly this score.

    ``Precision(s) = P(U = 1 | S = s)``

    Args:
        table: Rows by score and label; (..., score, unsafe).

    Returns:
        Shares in [0, 1] (..., score); NaN where the score is unused.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> precision(table).values.tolist()
    [0.25, 0.0, 1.0]
    """
    return _share(table.isel(unsafe=1, drop=True), of=table.sum("unsafe"))


def recall(table: xr.DataArray) -> xr.DataArray:
    """Return how often an unsafe row has exactly this score.

    ``Recall(s) = P(S = s | U = 1)``

    Args:
        table: Rows by score and label; (..., score, unsafe).

    Returns:
        Shares in [0, 1] (..., score) adding to 1; NaN where no row is unsafe.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> recall(table).values.tolist()
    [0.25, 0.0, 0.75]
    """
    unsafe = table.isel(unsafe=1, drop=True)
    return _share(unsafe, of=unsafe.sum("score"))


def recall_below(table: xr.DataArray) -> xr.DataArray:
    """Return how often a safe row has a lower score than this.

    ``P(S < s | U = 0)``

    Args:
        table: Rows by score and label; (..., score, unsafe).

    Returns:
        Shares in [0, 1] (..., score), 0 at score 0; NaN where no row is safe.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> recall_below(table).values.tolist()
    [0.0, 0.75, 1.0]
    """
    safe = table.isel(unsafe=0, drop=True)
    below = safe.cumsum("score").shift(score=1, fill_value=0.0)
    return _share(below, of=safe.sum("score"))


def monotonic_precision_area(precision: xr.DataArray) -> xr.DataArray:
    """Return how steadily precision rises with the score, relative to the best possible.

    ``Y(s) = sum_{i < s} (Precision(s) - max_{j <= i} Precision(j))`` over used scores i and j;
    ``MPA = max(0, sum_s Y(s)) / best``, where ``best`` is (K/2)(K/2 + 1) for even K and
    ((K + 1)/2)^2 for odd K. Y is 0 at an unused score.

    Args:
        precision: Precision of every score; (..., score), NaN where unused.

    Returns:
        Areas in [0, 1] (...). NaN where every used precision is 0 (no row is unsafe), where every
        one is 1 (no row is safe), and where no score is used.

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

    Args:
        recall_below: P(S < s | U = 0); (..., score).
        recall: P(S = s | U = 1); (..., score).

    Returns:
        Areas in [0, 1] (...); NaN where no row is safe or none is unsafe.

    Source: responsiveness paper, section 4.1.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> float(weighted_recall_area(recall_below(table), recall(table)))
    0.75
    """
    area: xr.DataArray = (recall_below * recall).sum("score", skipna=False)
    return area


def harmonic_mean(mpa: xr.DataArray, wra: xr.DataArray) -> xr.DataArray:
    """Return the harmonic mean of both areas.

    ``HM = 2 MPA WRA / (MPA + WRA)``, and 0 where both are 0.

    Args:
        mpa: Monotonic precision area (...).
        wra: Weighted recall area (...).

    Returns:
        Means in [0, 1] (...); NaN where either is NaN.

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
    levels: int,
    raters: xr.DataArray | None = None,
    weights: xr.DataArray | None = None,
    reason: xr.DataArray | None = None,
) -> xr.Dataset:
    """Compute every responsiveness metric of every group in every stratum.

    Args:
        plurality: Scores 0..levels-1, -1 missing; (..., group, item).
        label_count: Labels of each item; (..., [group,] item, unsafe) with ``unsafe = [0, 1]``.
        by: Which item belongs to which stratum; bool (by, item).
        min_raters: Fewest raters of a group; below it the group's metrics are missing.
        min_items: Fewest items with both a score and a label; below it likewise.
        levels: Number of scores of the scale, K + 1.
        raters: Raters of each group (group); None leaves ``min_raters`` aside.
        weights: How often each item counts, such as (replicate, item); None counts each once.
        reason: Where metrics are missing (group, by), empty where not; None decides it from the
            arguments without weights, so that resamples follow the observed data.

    Returns:
        Over (..., group, by, score): ``count``, ``precision``, ``recall``, ``recall_below``. Over
        (..., group, by): ``mpa``, ``wra``, ``hm``, ``kendall_tau``, ``spearman``, ``auc_pr`` and
        ``auc_roc``, ``items`` and ``reason``. Over (group): ``raters``. All but ``count``,
        ``items``, ``raters`` are NaN where there is a ``reason``.

    Raises:
        xarray.AlignmentError: The arguments are not about the same groups or items.

    Source: responsiveness paper, sections 4.1 and 5.

    >>> scores = xr.DataArray([[0, 0, 1, 2, 2]], dims=("group", "item"))
    >>> labels = item_label_counts(np.array([0, 0, 0, 1, 1]))
    >>> every = xr.DataArray([[True] * 5], dims=("by", "item"))
    >>> found = responsiveness(scores, labels, by=every, min_raters=1, min_items=5, levels=3)
    >>> found["mpa"].item(), found["wra"].item(), found["hm"].item()
    (1.0, 1.0, 1.0)
    """
    items = shared_items(plurality, label_count, by=by)
    if reason is None:
        observed = severity_table(plurality, label_count, by=by, levels=levels)
        own = "group" in label_count.dims
        alone = label_count.sum(["item", "unsafe"]) == 0 if own else None
        reason = withheld(
            observed,
            items,
            min_raters=min_raters,
            min_items=min_items,
            raters=raters,
            alone=alone,
        )
    table = severity_table(plurality, label_count, by=by, levels=levels, weights=weights)
    found = severity_metrics(table).where(reason == "")
    found = found.assign(count=table.sum("unsafe"), items=items, reason=reason)
    if raters is not None:
        found["raters"] = raters
    for name, variable in found.data_vars.items():
        variable.attrs["long_name"] = LONG_NAMES[str(name)]
    return found


def severity_metrics(table: xr.DataArray) -> xr.Dataset:
    """Return every metric that a table of rows by score and label gives.

    Args:
        table: Rows by score and label; (..., score, unsafe).

    Returns:
        ``precision``, ``recall`` and ``recall_below`` (..., score), ``mpa``, ``wra``, ``hm``,
        ``kendall_tau``, ``spearman``, ``auc_pr`` and ``auc_roc`` (...), missing as each says.

    >>> table = xr.DataArray([[3.0, 1.0], [1.0, 0.0], [0.0, 3.0]], dims=("score", "unsafe"))
    >>> float(severity_metrics(table)["wra"])
    0.75
    """
    shares = {
        "precision": precision(table),
        "recall": recall(table),
        "recall_below": recall_below(table),
    }
    return xr.Dataset(
        {
            **shares,
            **_areas(**shares),
            "kendall_tau": kendall_tau(table),
            "spearman": spearman(table),
            "auc_pr": auc_pr(table),
            "auc_roc": auc_roc(table),
        }
    )


def areas(table: xr.DataArray) -> xr.Dataset:
    """Return ``mpa``, ``wra`` and ``hm`` alone, of a table as in :func:`severity_metrics`."""
    return xr.Dataset(
        _areas(precision=precision(table), recall=recall(table), recall_below=recall_below(table))
    )


def _areas(
    *, precision: xr.DataArray, recall: xr.DataArray, recall_below: xr.DataArray
) -> dict[str, xr.DataArray]:
    """Both areas and their harmonic mean."""
    mpa, wra = monotonic_precision_area(precision), weighted_recall_area(recall_below, recall)
    return {"mpa": mpa, "wra": wra, "hm": harmonic_mean(mpa, wra)}


def _share(part: xr.DataArray, *, of: xr.DataArray) -> xr.DataArray:
    """A share, NaN where there is nothing to share."""
    return part / of.where(of > 0)


def _precision_area(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Monotonic precision area over the last axis."""
    top = precision.shape[-1] - 1
    best = (top / 2) * (top / 2 + 1) if top % 2 == 0 else ((top + 1) / 2) ** 2
    used = ~np.isnan(precision)
    highest = np.fmax.accumulate(precision, axis=-1)
    below, passed = np.zeros(precision.shape[:-1]), np.zeros(precision.shape[:-1])
    area = np.zeros(precision.shape[:-1])
    for s in range(top + 1):
        # What precision at s gains over the highest one up to each used i < s.
        area += np.where(used[..., s], below * precision[..., s] - passed, 0.0)
        below += used[..., s]
        passed += np.where(used[..., s], highest[..., s], 0.0)
    both = (precision > 0).any(axis=-1) & (precision < 1).any(axis=-1)
    return np.where(both, np.maximum(area, 0.0) / best, np.nan)
