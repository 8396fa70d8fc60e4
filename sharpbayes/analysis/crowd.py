"""The deterministic half of a crowd study: scores of raters -> groups of results."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.data.crowd import CrowdData
from sharpbayes.execution.threads import run_both
from sharpbayes.metrics.crowd.cohesion import cohesion
from sharpbayes.metrics.crowd.contrasts import contrasts
from sharpbayes.metrics.crowd.groups import ALL, membership, strata
from sharpbayes.metrics.crowd.groups import counted as stated
from sharpbayes.metrics.crowd.priority import (
    additional_items,
    disagreement,
    priority,
    recruiting,
    widths,
)
from sharpbayes.metrics.crowd.raters import RaterScores, ranks, rater_intervals, rater_metrics
from sharpbayes.metrics.crowd.responsiveness import responsiveness
from sharpbayes.metrics.crowd.scale_use import drift, scale_use
from sharpbayes.metrics.crowd.scores import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.metrics.stats.resampling import block_of, bootstrap, percentile_interval
from sharpbayes.spec.crowd import Crowd, CrowdLabels
from sharpbayes.spec.study import Study

Groups = dict[str, xr.Dataset]

CROWD_CONTAINS = (
    "Intervals: {level:.0%} percentile bootstrap over items, their raters and experts kept "
    "together; they contain the sampling of items, not the choice of raters. An interval is "
    "missing where all resamples are the same."
)
COHESION_CONTAINS = (
    "p values: {permutations} shuffles of raters between the groups of a grouping, two-sided, "
    "with a Monte Carlo standard error of at most {error:.3f}; adjusted over the whole table by "
    "Benjamini and Hochberg. Distance of scores: {distance}."
)
RATERS_CONTAIN = (
    "Intervals: {level:.0%} percentile bootstrap over items, at most {replicates} resamples."
)
# Resamples for intervals of single raters, whose number grows with raters and ratings.
RATER_REPLICATES = 200
RESAMPLED = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")
# Metrics of the paper's Figure 3, which groups are compared by.
COMPARED = ("mpa", "wra", "hm", "kendall_tau")
CURVES = ("precision", "recall", "recall_below")
# Items that are shown rater by rater.
SHOWN = 6


@dataclass(frozen=True)
class CrowdCounts:
    """What every metric of a crowd starts from.

    Attributes:
        member: Who belongs to which group; bool (group, rater).
        by: Which item belongs to which stratum; bool (by, item).
        counts: How often each group gave each score; (group, item, score).
        plural: Plurality scores; (group, item).
        labels: Safe and unsafe labels; ([group,] item, unsafe).
    """

    member: xr.DataArray
    by: xr.DataArray
    counts: xr.DataArray
    plural: xr.DataArray
    labels: xr.DataArray


def measure_crowd(study: Study, data: CrowdData) -> Groups:
    """Compute everything that a crowd study says without a model.

    Returns:
        ``responsiveness``, ``responsiveness_difference``, ``scale_use``, ``cohesion``, ``raters``,
        ``items``, ``contested_items`` and ``recruiting``.

    Raises:
        ValueError: The study has no crowd.
    """
    if study.crowd is None:
        raise ValueError("a crowd study has a crowd")
    spec = study.crowd
    counted = count_crowd(spec, data)
    # Shuffles are counted by compiled code, which leaves Python free for the rest.
    (observed, difference), (cohesive, raters) = run_both(
        lambda: _responsiveness(study, data, counted),
        lambda: (_cohesion(study, data, counted.member), _raters(study, data, counted)),
    )
    use = _scale_use(spec, counted)
    items = _items(spec, observed, counted)
    return {
        "responsiveness": observed,
        "responsiveness_difference": difference,
        "scale_use": use,
        "cohesion": cohesive,
        "raters": raters,
        "items": items,
        "contested_items": _contested_items(data, items),
        "recruiting": recruiting(
            observed.sel(by=ALL, drop=True),
            score_count=use["score_count"].sel(by=ALL, drop=True),
            target_interval_width=spec.target_interval_width,
        ).assign_attrs(interval_note=observed.attrs["interval_note"]),
    }


def count_crowd(spec: Crowd, data: CrowdData, level: xr.DataArray | None = None) -> CrowdCounts:
    """Count scores and labels.

    Args:
        spec: The crowd of a study.
        data: Observed ratings.
        level: Other levels for the same ratings, over (..., rating); None: the observed ones.
    """
    items = list(data.item.labels)
    member = _member(spec, data)
    counts = score_counts(
        xr.DataArray(data.score, dims="rating") if level is None else level,
        item=data.item.codes,
        rater=data.rater.codes,
        member=member,
        levels=len(data.score_labels),
        items=len(items),
    ).assign_coords(item=items)
    by = strata(data.item_columns, spec.by, items=len(items)).assign_coords(item=items)
    return CrowdCounts(member, by, counts, plurality(counts), labels_of(spec, data, counts))


def _member(spec: Crowd, data: CrowdData) -> xr.DataArray:
    """Who belongs to which group."""
    return membership(data.rater_columns, spec.groups, raters=len(data.rater.labels))


def statistic_of(study: Study, data: CrowdData, counted: CrowdCounts) -> Callable[..., xr.Dataset]:
    """Return the responsiveness of what was counted, a function of ``weights`` and ``reason``."""
    spec = study.crowd
    assert spec is not None  # noqa: S101 - the caller looked
    return partial(
        responsiveness,
        counted.plural,
        counted.labels,
        by=counted.by,
        raters=counted.member.sum("rater"),
        min_raters=spec.min_raters,
        min_items=spec.min_items,
        levels=len(data.score_labels),
    )


def _responsiveness(
    study: Study, data: CrowdData, counted: CrowdCounts
) -> tuple[xr.Dataset, xr.Dataset]:
    """Metrics with intervals, and differences between groups, from one set of resamples."""
    boot = study.bootstrap
    statistic = statistic_of(study, data, counted)
    observed = statistic()
    resampled = bootstrap(
        lambda weights: statistic(weights=weights, reason=observed["reason"])[
            [*RESAMPLED, *CURVES]
        ],
        counted.plural["item"],
        replicates=boot.replicates,
        seed=study.seed,
        dim="item",
        block=_block(counted),
    )
    interval = percentile_interval(resampled, level=boot.level)
    twins = {
        f"{name}_interval": _uncertain(interval[name]).where(observed[name].notnull())
        for name in (*RESAMPLED, *CURVES)
    }
    contains = CROWD_CONTAINS.format(level=boot.level)
    chosen = list(COMPARED)
    difference = contrasts(observed[chosen], resampled[chosen], level=boot.level)
    return (
        observed.assign(twins).assign_attrs(interval_note=contains),
        difference.assign_attrs(interval_note=contains),
    )


def _uncertain(interval: xr.DataArray) -> xr.DataArray:
    """Intervals that have a width: resamples that are all the same tell no uncertainty."""
    return interval.where(interval.isel(bound=1, drop=True) > interval.isel(bound=0, drop=True))


def _block(counted: CrowdCounts) -> int:
    """Resamples at once: their weights and their tables both stay small."""
    cells = counted.counts.sizes["group"] * counted.by.sizes["by"] * counted.counts.sizes["score"]
    return block_of(max(counted.by.sizes["item"], 2 * cells))


def _scale_use(spec: Crowd, counted: CrowdCounts) -> xr.Dataset:
    """Use of the scale by group and stratum, over single ratings; counts alone of small groups."""
    counts = xr.dot(counted.counts.astype(float), counted.by.astype(float), dim="item")
    found = scale_use(counts.astype(np.int64).transpose("group", "by", "score"))
    raters = counted.member.sum("rater")
    reason = [
        f"{stated(int(n), 'rater')}, fewer than min_raters = {spec.min_raters}"
        * int(n < spec.min_raters)
        for n in raters
    ]
    kept = found.drop_vars("score_count").where(raters >= spec.min_raters)
    return kept.assign(score_count=found["score_count"], reason=("group", np.array(reason)))


def _cohesion(study: Study, data: CrowdData, member: xr.DataArray) -> xr.Dataset:
    """IRR, XRR and GAI of every group."""
    spec = study.crowd
    assert spec is not None  # noqa: S101 - the caller looked
    found = cohesion(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        member=member,
        levels=len(data.score_labels),
        distance=spec.full_distance,
        permutations=spec.permutations,
        seed=study.seed,
        min_raters=spec.min_raters,
        min_items=spec.min_items,
    )
    error = 1.0 / np.sqrt(max(spec.permutations, 1))
    contains = COHESION_CONTAINS.format(
        permutations=spec.permutations, error=error, distance=spec.full_distance
    )
    return found.assign_attrs(
        distance=spec.full_distance, permutations=spec.permutations, interval_note=contains
    )


def _raters(study: Study, data: CrowdData, counted: CrowdCounts) -> xr.Dataset:
    """Every rater's own metrics with intervals, use of the scale and drift."""
    spec = study.crowd
    assert spec is not None  # noqa: S101 - the caller looked
    own = "group" in counted.labels.dims
    every = counted.counts.sel(group=ALL, drop=True) if own else counted.labels
    cut = spec.labels.cut if isinstance(spec.labels, CrowdLabels) else 0
    scores = RaterScores(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        label_count=(_cut_labels(every, cut) if own else every).to_numpy(),
        cut=cut,
        raters=len(data.rater.labels),
        levels=len(data.score_labels),
    )
    found = rater_metrics(scores, min_items=spec.min_items)
    interval = rater_intervals(
        scores,
        replicates=min(study.bootstrap.replicates, RATER_REPLICATES),
        seed=study.seed,
        level=study.bootstrap.level,
    )
    found = found.merge(interval.where(found["reason"] == ""))
    found["additional_ratings"] = additional_items(
        found["items"], widths(found), spec.target_interval_width
    )
    if data.time is not None:
        found = found.merge(_drift(data, spec.min_items))
    contains = RATERS_CONTAIN.format(level=study.bootstrap.level, replicates=RATER_REPLICATES)
    return found.assign_coords(_rater_coords(data)).assign_attrs(interval_note=contains)


def _drift(data: CrowdData, min_items: int) -> xr.Dataset:
    """How raters move with time, which some column tells."""
    assert data.time is not None  # noqa: S101 - the caller looked
    return drift(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        order=data.time,
        raters=len(data.rater.labels),
        min_items=min_items,
    )


def _cut_labels(counts: xr.DataArray, cut: int) -> xr.DataArray:
    """Ratings of each item below and above the cut."""
    parts = [counts.isel(score=slice(None, cut)), counts.isel(score=slice(cut, None))]
    return xr.concat([part.sum("score") for part in parts], "unsafe").transpose("item", "unsafe")


def _rater_coords(data: CrowdData) -> dict[str, object]:
    """Raters by name, with the columns that groups are made of."""
    columns = {f"group:{name}": ("rater", values) for name, values in data.rater_columns.items()}
    return {"rater": list(data.rater.labels), **columns}


def _items(spec: Crowd, observed: xr.Dataset, counted: CrowdCounts) -> xr.Dataset:
    """Items as groups see them, and their priority; groups that are too small are left out."""
    enough = counted.member.sum("rater") >= spec.min_raters
    here = (counted.plural["grouping"] == spec.priority_grouping) & enough
    plural = counted.plural.isel(group=np.flatnonzero(here))
    plural.attrs["levels"] = counted.counts.sizes["score"]
    weight = observed["hm"].sel(by=ALL, drop=True).where(here)
    harm = priority(plural, weight.sel(group=plural["group"]))
    found = {
        "plurality": counted.plural.transpose("item", "group"),
        "score_count": counted.counts.transpose("item", "group", "score"),
        "priority": harm,
        "rank": ranks(harm),
        "disagreement": disagreement(plural),
        "weight": weight,
        "in_priority_grouping": here,
    }
    return xr.Dataset(found).drop_attrs().assign_attrs(grouping=spec.priority_grouping)


def _contested_items(data: CrowdData, items: xr.Dataset) -> xr.Dataset:
    """Single scores of the items that groups disagree on most, and of equals all raters."""
    counts = items["score_count"].sel(group=ALL).astype(float)
    share = counts / counts.sum("score")
    mean = (share * share["score"]).sum("score")
    spread = (share * (share["score"] - mean) ** 2).sum("score")
    order = np.lexsort((-spread, -items["disagreement"].fillna(-1)))
    shown = order[:SHOWN]
    score = np.full((len(shown), len(data.rater.labels)), -1, dtype=np.int16)
    for row, item in enumerate(shown):
        rated = np.flatnonzero(data.item.codes == item)
        score[row, data.rater.codes[rated]] = data.score[rated]
    labels = [data.item.labels[at] for at in shown]
    coords = {"item": labels, **_rater_coords(data)}
    return xr.Dataset({"score": (("item", "rater"), score)}, coords)


def labels_of(spec: Crowd, data: CrowdData, counts: xr.DataArray) -> xr.DataArray:
    """Count safe and unsafe rows of every item, from experts, the crowd or an item column.

    Args:
        spec: The crowd of a study.
        data: Items and labels.
        counts: How often each group gave each score; (..., group, item, score).

    Returns:
        Counts over ([..., group,] item, unsafe).
    """
    items = list(data.item.labels)
    if spec.labels.from_ == "crowd":
        return crowd_label_counts(counts, cut=spec.labels.cut)
    if spec.labels.from_ == "item":
        return item_label_counts(data.item_label).assign_coords(item=items)
    experts = expert_label_counts(data.expert_label, item=data.expert_item, items=len(items))
    return experts.assign_coords(item=items)
