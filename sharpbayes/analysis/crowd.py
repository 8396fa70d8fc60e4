"""The deterministic half of a crowd study: scores of raters -> groups of results."""

from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.analysis.crowd_counts import label_scores
from sharpbayes.analysis.crowd_evidence import crowd_evidence, empty_scores
from sharpbayes.analysis.crowd_intervals import measure_intervals
from sharpbayes.analysis.crowd_limits import duplicate_raters
from sharpbayes.analysis.expert_agreement import (
    contrary_experts,
    expert_agreement,
    tabulate_labels,
)
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.analysis.target_population import population_group, share_group
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.intraclass import describe_clusters, describe_correlations
from sharpbayes.errors import format_percent
from sharpbayes.execution.threads import run_both
from sharpbayes.metrics.crowd.cohesion import MEASURES, cohesion
from sharpbayes.metrics.crowd.cohesion_intervals import cohesion_intervals
from sharpbayes.metrics.crowd.contrary import find_contrary_raters
from sharpbayes.metrics.crowd.groups import ALL, labelled_items
from sharpbayes.metrics.crowd.harshness import harshness_difference
from sharpbayes.metrics.crowd.least_numbers import explain_few_raters
from sharpbayes.metrics.crowd.matched_items import gai_matched, match_intervals
from sharpbayes.metrics.crowd.priority import disagreement, priority
from sharpbayes.metrics.crowd.rater_agreement import find_duplicates
from sharpbayes.metrics.crowd.raters import RaterScores, rater_intervals, rater_metrics
from sharpbayes.metrics.crowd.sample_size import additional_items, interval_widths, sample_size
from sharpbayes.metrics.crowd.scale_use import drift, scale_use
from sharpbayes.metrics.stats.clusters import cluster_codes
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.metrics.stats.ranks import rank
from sharpbayes.spec.crowd import CrowdLabels

Groups = dict[str, xr.Dataset]

COHESION_NOTE = (
    "Intervals: {level}; they contain which {units} and which raters there are (variances by both, "
    "Student's t); GAI has none where that of IRR or XRR contains 0. p values: {permutations} "
    "shuffles of raters between the groups of a grouping, two-sided, with a Monte Carlo standard "
    "error of at most {error:.3f}; adjusted over the whole table by Benjamini and Hochberg. "
    "Distance of scores: {distance}."
)
HARSHNESS_NOTE = (
    "Intervals: {level}, of the difference of mean scores on the same items; they contain "
    "which {units} and which raters there are (variances clustered by both, Student's t)."
)
RATERS_NOTE = (
    "Intervals: {level} percentile bootstrap over {units}, at most {replicates} resamples."
)
# Resamples for intervals of single raters; the work of one grows with raters and ratings.
RATER_REPLICATES = 200
# Number of items whose single scores are kept.
CONTESTED_ITEMS = 6


def measure_crowd(study: CrowdStudy) -> Groups:
    """Compute everything that a crowd study says without a model, by group of results."""
    metrics = study.responsiveness  # computed before two threads share the study
    # Compiled code counts the shuffles of raters, which leaves Python free for the rest.
    (observed, difference, items_alone), (cohesive, raters) = run_both(
        lambda: measure_intervals(study, metrics),
        lambda: (_measure_cohesion(study), _measure_raters(study)),
    )
    scales, items = _measure_scale_use(study), _measure_items(study)
    groups = {
        "responsiveness": observed,
        "responsiveness_difference": difference,
        "evidence": _gather_evidence(study, observed, difference, raters),
        "harshness_difference": compare_harshness(study),
        "scale_use": scales,
        "cohesion": cohesive,
        "raters": raters,
        "items": items,
        "contested_items": _select_contested_items(study.data, items),
        "sample_size": sample_size(
            items_alone.sel(by=ALL, drop=True),
            score_count=scales["score_count"].sel(by=ALL, drop=True),
            target_interval_width=study.crowd.target_interval_width,
        ).assign_attrs(interval_note=items_alone.attrs["interval_note"]),
    }
    return label_scores(groups | population_group(study) | share_group(study), study.data)


def _gather_evidence(
    study: CrowdStudy, observed: xr.Dataset, difference: xr.Dataset, raters: xr.Dataset
) -> xr.Dataset:
    """What stands behind the groups, and what limits the answer."""
    counts, data = study.score_counts, study.data
    same_labels = study.crowd.labels.from_ != "crowd"
    return crowd_evidence(
        observed,
        same_labels=same_labels,
        labelled_items=labelled_items(counts.plurality, counts.label_count),
        missing_share=empty_scores(data.missing_by_rater, data.rater.codes, counts.membership),
        # Groups that are measured by different labels are not compared on any items.
        difference=difference if same_labels else None,
        raters=raters,
        doubts=_doubt_labels_and_raters(data),
        remarks=_remark_clusters(study),
        clustered=bool(data.cluster.size),
    )


def _remark_clusters(study: CrowdStudy) -> list[str]:
    """Clusters of items that the study names, and those that it may have left out."""
    data, column = study.data, study.crowd.roles.cluster
    remarks = describe_correlations(data.correlated_by, column, units="items")
    if column is not None:
        items, clusters = len(data.item.labels), len(np.unique(data.cluster))
        remarks.append(describe_clusters(items, clusters, column, unit="item"))
    return remarks


def _doubt_labels_and_raters(data: CrowdData) -> list[str]:
    """Which experts are at odds, and which raters seem to be one."""
    agreement = expert_agreement(tabulate_labels(data))
    return [*contrary_experts(agreement), *duplicate_raters(_find_same(data))]


def _find_same(data: CrowdData) -> list[list[str]]:
    """The sets of raters who gave the same scores to the same items."""
    codes = (data.score, data.item.codes, data.rater.codes)
    score, item, rater = (values.astype(np.int64) for values in codes)
    same = find_duplicates(score, item=item, rater=rater)
    return [[data.rater.labels[position] for position in raters] for raters in same]


def _measure_scale_use(study: CrowdStudy) -> xr.Dataset:
    """Use of the scale by group and stratum, over single ratings; small groups keep counts only."""
    counts, min_raters = study.score_counts, study.crowd.min_raters
    rows = xr.dot(counts.score_count.astype(float), counts.strata.astype(float), dim="item")
    use = scale_use(rows.astype(np.int64).transpose("group", "by", "score"))
    raters = counts.membership.sum("rater")
    reason = [explain_few_raters(int(n), min_raters) for n in raters]
    shown = use.drop_vars("score_count").where(raters >= min_raters)
    return shown.assign(score_count=use["score_count"], reason=("group", np.array(reason)))


def compare_harshness(study: CrowdStudy) -> xr.Dataset:
    """Differences of mean scores between groups."""
    data, boot = study.data, study.spec.bootstrap
    level, units = format_percent(boot.level), study.resampled_items
    note = HARSHNESS_NOTE.format(level=level, units=units)
    return harshness_difference(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=study.score_counts.membership,
        min_raters=study.crowd.min_raters,
        level=boot.level,
        cluster=cluster_codes(study.score_counts.plurality, "item"),
    ).assign_attrs(interval_note=note)


def _measure_cohesion(study: CrowdStudy) -> xr.Dataset:
    """IRR, XRR and GAI of every group with their intervals."""
    spec, data, counts = study.crowd, study.data, study.score_counts
    distance, level = spec.full_distance, study.spec.bootstrap.level
    note = COHESION_NOTE.format(
        level=format_percent(level),
        units=study.resampled_items,
        permutations=spec.permutations,
        error=1.0 / np.sqrt(max(spec.permutations, 1)),
        distance=distance,
    )
    ratings: dict[str, Any] = {
        "score": data.score,
        "item": data.item.codes,
        "rater": data.rater.codes,
        "membership": counts.membership,
        "n_scores": len(data.score_labels),
        "distance": distance,
    }
    table = cohesion(
        **ratings,
        permutations=spec.permutations,
        seed=study.spec.seed,
        min_raters=spec.min_raters,
        min_items=spec.min_items,
    )
    cluster = cluster_codes(counts.plurality, "item")
    intervals = cohesion_intervals(**ratings, level=level, cluster=cluster)
    table = table.assign(
        {
            f"{name}_interval": intervals[f"{name}_interval"].where(table[name].notnull())
            for name in MEASURES
        }
    )
    table = match_intervals(table.merge(gai_matched(**ratings)))
    return table.assign_attrs(distance=distance, permutations=spec.permutations, interval_note=note)


def _measure_raters(study: CrowdStudy) -> xr.Dataset:
    """Every rater's own metrics with intervals, use of the scale and drift."""
    spec, data, boot = study.crowd, study.data, study.spec.bootstrap
    scores = _rater_scores(study)
    metrics = rater_metrics(scores, min_items=spec.min_items)
    metrics["against_labels"] = find_contrary_raters(scores, metrics)
    interval = rater_intervals(
        scores,
        replicates=min(boot.replicates, RATER_REPLICATES),
        seed=study.spec.seed,
        level=boot.level,
    )
    metrics = metrics.merge(interval.where(metrics["reason"] == ""))
    metrics["additional_ratings"] = additional_items(
        metrics["items"], interval_widths(metrics), target_interval_width=spec.target_interval_width
    )
    if data.time is not None:
        moved = drift(
            data.score,
            item=data.item.codes,
            rater=data.rater.codes,
            time=data.time,
            n_raters=len(data.rater.labels),
            min_items=spec.min_items,
        )
        metrics = metrics.merge(moved)
    note = RATERS_NOTE.format(
        level=format_percent(boot.level), units=study.resampled_items, replicates=RATER_REPLICATES
    )
    return metrics.assign_coords(_rater_coords(data)).assign_attrs(interval_note=note)


def _rater_scores(study: CrowdStudy) -> RaterScores:
    """Ratings and labels; of labels from the crowd those of all raters."""
    data, counts = study.data, study.score_counts
    labels, cut = counts.label_count, 0
    if isinstance(study.crowd.labels, CrowdLabels):
        cut = study.crowd.labels.cut
        everyone = counts.score_count.sel(group=ALL, drop=True)
        sides = [everyone.isel(score=slice(None, cut)), everyone.isel(score=slice(cut, None))]
        labels = xr.concat([side.sum("score") for side in sides], "unsafe")
    return RaterScores(
        data.score,
        item=data.item.codes,
        rater=data.rater.codes,
        label_count=labels.transpose("item", "unsafe").to_numpy(),
        cut=cut,
        cluster=data.cluster,
        n_raters=len(data.rater.labels),
        n_scores=len(data.score_labels),
    )


def _rater_coords(data: CrowdData) -> dict[str, object]:
    """Raters by name, with the columns that groups are made of."""
    return {"rater": list(data.rater.labels), **data.group_coords}


def _measure_items(study: CrowdStudy) -> xr.Dataset:
    """Items as groups see them, and their priority; groups that are too small are left out."""
    spec, counts, observed = study.crowd, study.score_counts, study.responsiveness
    enough = counts.membership.sum("rater") >= spec.min_raters
    used = (counts.plurality["grouping"] == spec.priority_grouping) & enough
    weight = observed["hm"].sel(by=ALL, drop=True).where(used)
    grouped = counts.plurality.isel(group=np.flatnonzero(used))
    harm = priority(
        grouped, weight.sel(group=grouped["group"]), n_scores=counts.score_count.sizes["score"]
    )
    items = {
        "plurality": counts.plurality.transpose("item", "group"),
        "score_count": counts.score_count.transpose("item", "group", "score"),
        "priority": harm,
        "rank": rank(harm, method="min", descending=True),
        "disagreement": disagreement(grouped),
        "weight": weight,
        "in_priority_grouping": used,
    }
    return xr.Dataset(items).pipe(without_attributes).assign_attrs(grouping=spec.priority_grouping)


def _select_contested_items(data: CrowdData, items: xr.Dataset) -> xr.Dataset:
    """Single scores of the items that groups disagree on most; ties go to the widest spread."""
    counts = items["score_count"].sel(group=ALL).astype(float)
    share = counts / counts.sum("score")
    mean = (share * share["score"]).sum("score")
    spread = (share * (share["score"] - mean) ** 2).sum("score")
    order = np.lexsort((-spread, -items["disagreement"].fillna(-1)))[:CONTESTED_ITEMS]
    score = np.full((len(order), len(data.rater.labels)), -1, dtype=np.int16)
    for row, item in enumerate(order):
        ratings = np.flatnonzero(data.item.codes == item)
        score[row, data.rater.codes[ratings]] = data.score[ratings]
    labels = [data.item.labels[item] for item in order]
    variables: dict[str, Any] = {"score": (("item", "rater"), score)}
    if data.item_text.size:
        variables["text"] = (("item",), data.item_text[order])
    return xr.Dataset(variables, {"item": labels, **_rater_coords(data)})
