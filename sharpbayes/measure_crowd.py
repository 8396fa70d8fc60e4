"""The deterministic half of a crowd study: scores of raters -> groups of results."""

from functools import partial

import xarray as xr

from sharpbayes.data.crowd import CrowdData
from sharpbayes.metrics.crowd import (
    crowd_label_counts,
    expert_label_counts,
    item_label_counts,
    plurality,
    score_counts,
)
from sharpbayes.metrics.groups import membership, strata
from sharpbayes.metrics.resample import block_of, bootstrap, percentile_interval
from sharpbayes.metrics.responsiveness import responsiveness
from sharpbayes.spec.study import Crowd, Study

Groups = dict[str, xr.Dataset]

CROWD_CONTAINS = (
    "Intervals: {level:.0%} percentile bootstrap over items, their raters and experts kept "
    "together; they contain the sampling of items, not the choice of raters."
)
RESAMPLED = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


def measure_crowd(study: Study, data: CrowdData) -> Groups:
    """Responsiveness of every group in every stratum, with intervals."""
    if study.crowd is None:
        raise ValueError("a crowd study has a crowd")
    spec = study.crowd
    member = membership(data.rater_columns, spec.groups, raters=len(data.rater.labels))
    by = strata(data.item_columns, spec.by, items=len(data.item.labels))
    level = xr.DataArray(data.level, dims="rating")
    counts = score_counts(
        level,
        item=data.item.code,
        rater=data.rater.code,
        member=member,
        levels=len(data.levels),
        items=len(data.item.labels),
    ).assign_coords(item=list(data.item.labels))
    plural = plurality(counts)
    labels = _labels(spec, data, counts)
    statistic = partial(
        responsiveness,
        plural,
        labels,
        by=by.assign_coords(item=list(data.item.labels)),
        raters=member.sum("rater"),
        min_raters=spec.min_raters,
        min_items=spec.min_items,
        levels=len(data.levels),
    )
    observed, boot = statistic(), study.bootstrap
    resampled = bootstrap(
        lambda multiplicity: statistic(weights=multiplicity)[list(RESAMPLED)],
        plural["item"],
        replicates=boot.replicates,
        seed=study.seed,
        dim="item",
        block=block_of(plural.sizes["item"]),
    )
    interval = percentile_interval(resampled, level=boot.level)
    twins = {
        f"{name}_interval": interval[name].where(observed[name].notnull()) for name in RESAMPLED
    }
    observed = observed.assign(twins)
    observed.attrs["contains"] = CROWD_CONTAINS.format(level=boot.level)
    return {"responsiveness": observed, "items": plural.rename("plurality").to_dataset()}


def _labels(spec: Crowd, data: CrowdData, counts: xr.DataArray) -> xr.DataArray:
    """Count safe and unsafe rows of every item, from experts, the crowd or an item column."""
    items = list(data.item.labels)
    if spec.labels.from_ == "crowd":
        return crowd_label_counts(counts, cut=spec.labels.cut)
    if spec.labels.from_ == "item":
        return item_label_counts(data.item_label).assign_coords(item=items)
    experts = expert_label_counts(data.expert_label, item=data.expert_item, items=len(items))
    return experts.assign_coords(item=items)
