"""How far the answer moves without one judge or expert, and under other settings of the weights."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import count_labels, measure_responsiveness
from sharpbayes.analysis.judge_orders import lost_differences
from sharpbayes.analysis.limited_metrics import select_value
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.ratings import Factor
from sharpbayes.errors import join_names
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.panel.ranking import rank_agreement
from sharpbayes.metrics.stats.labels import without_attributes
from sharpbayes.metrics.stats.ranks import is_lowest

# Where each setting of a panel stands: group of results, variable and dimension.
SETTINGS = {
    "judge": ("judges", "lojo_cvar", "judge_out"),
    "judges": ("judges", "alike_cvar", "judges_out"),
    "temperature": ("validation", "temperature_cvar", "temperature"),
    "alpha": ("validation", "alpha_cvar", "alpha"),
    "epsilon": ("evidence", "epsilon_cvar", "epsilon"),
}
# Metrics that are compared without each judge, where tails do not tell.
METRICS = ("mean", "policy_score", "worst_dimension")
# What is said of them without each judge.
BY_METRIC = ("lowest", "changed", "movement", "unresolved", "decisive")
# Who can be left out.
LEFT_OUT = ("judge", "judges", "expert")


def panel_stability(groups: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return CVaR and the order of models without each judge, and under other settings.

    Over (setting): ``kind`` (judge, judges, temperature, alpha, epsilon), ``value`` (the judge left
    out, the judges who score alike and are left out together, or the setting), ``lowest`` (the
    models of lowest CVaR, as a sentence lists them; empty where no model has one), ``changed``
    (whether one of them is not among those of the study itself), ``kendall`` (tau-b of CVaR with
    the study's own) and ``movement`` (the change of CVaR of the study's lowest model, nat); ``cvar
    (setting, model)``. Of mean log-risk, policy score and the largest CVaR of harm of a dimension
    these are ``lojo_lowest``, ``lojo_changed`` and ``lojo_movement`` over (metric, judge_out), sets
    of judges who score alike among them. ``unresolved`` (setting) and ``lojo_unresolved`` are the
    models that the lowest one is distinguishable from by all judges, but not without the judge, and
    ``decisive`` and ``lojo_decisive`` whether the judge makes such a difference larger by more than
    chance; see :func:`sharpbayes.analysis.judge_orders.lost_differences`. The study's own setting
    is left out; empty where there is no other.

    The groups are those of :func:`sharpbayes.measure`.
    """
    parts = []
    for kind, (group, variable, dim) in SETTINGS.items():
        if group in groups and variable in groups[group]:
            swept = groups[group][variable].transpose(dim, "model")
            of_study = groups[group].attrs.get(dim)
            parts.append(_settings(swept.sel({dim: swept[dim] != of_study}), kind))
    if not parts:
        return xr.Dataset()
    table = _compare(xr.concat(parts, "setting"), groups["profile"]["cvar"], lower_is_better=True)
    table = table.rename(best="lowest")
    judges = table["value"].where(table["kind"].isin(LEFT_OUT), "")
    lost = _lost_without(judges, groups, "cvar")
    return xr.merge([table.assign(lost), *_other_metrics(groups)])


def _lost_without(
    judges: xr.DataArray, groups: Mapping[str, xr.Dataset], metric: str
) -> dict[str, xr.Variable]:
    """Differences by a metric that are lost without each of some judges; none without a name."""
    lost, nothing = lost_differences(groups, metric), {"unresolved": "", "decisive": False}
    if not lost:
        size = judges.size
        return {key: xr.Variable(judges.dims, [value] * size) for key, value in nothing.items()}
    labels = judges.to_numpy().astype(str)
    by_name = lost.drop_duplicates("judge_out").reindex(judge_out=labels, fill_value=nothing)
    return {key: xr.Variable(judges.dims, by_name[key].to_numpy()) for key in nothing}


def _other_metrics(groups: Mapping[str, xr.Dataset]) -> Iterator[xr.Dataset]:
    """Yield who is lowest by other metrics without each judge, and how far that one moves."""
    metrics = [name for name in METRICS if f"lojo_{name}" in groups.get("judges", ())]
    if not metrics:
        return
    tables = [_by_metric(groups, name).rename(best="lowest") for name in metrics]
    names = {name: f"lojo_{name}" for name in BY_METRIC}
    labels = xr.Variable("metric", metrics)
    yield xr.concat([table[list(names)] for table in tables], labels).rename(names)


def _by_metric(groups: Mapping[str, xr.Dataset], metric: str) -> xr.Dataset:
    """Compare models by a metric without each judge."""
    without = _without_judges(groups["judges"], metric)
    table = _compare(without, select_value(groups["profile"], metric), lower_is_better=True)
    return table.assign(_lost_without(without["judge_out"], groups, metric))


def _without_judges(judges: xr.Dataset, metric: str) -> xr.DataArray:
    """A metric without each judge, and without each set of judges who score alike."""
    without = [judges[f"lojo_{metric}"]]
    if f"alike_{metric}" in judges:
        without.append(judges[f"alike_{metric}"].rename(judges_out="judge_out"))
    return xr.concat(without, "judge_out").transpose("judge_out", "model")


def crowd_stability(study: CrowdStudy) -> xr.Dataset:
    """Return HM of every group without the labels of each expert.

    As :func:`panel_stability`, with the kind expert, ``highest`` (the group of highest HM),
    ``movement`` (the change of HM of all raters) and ``hm (setting, group)``, on all items, and
    ``sole_share``, the share of labelled items that the expert alone labelled: without such an
    expert other items are left. Empty unless several experts gave the labels and there are groups
    besides all raters.
    """
    expert = study.data.expert
    if expert is None or len(expert.labels) == 1 or not study.crowd.groups:
        return xr.Dataset()
    without = xr.concat([_without_expert(study, expert, name) for name in expert.labels], "expert")
    values = _settings(without.assign_coords(expert=list(expert.labels)), "expert")
    observed = study.responsiveness["hm"].sel(by=ALL, drop=True)
    table = _compare(values, observed, lower_is_better=False).rename(best="highest")
    return table.assign(sole_share=("setting", _sole_shares(study, expert)))


def _sole_shares(study: CrowdStudy, expert: Factor) -> NDArray[np.float64]:
    """The share of labelled items that each expert alone labelled."""
    experts = np.bincount(study.data.expert_item, minlength=len(study.data.item.labels))
    alone = expert.codes[experts[study.data.expert_item] == 1]
    return np.bincount(alone, minlength=len(expert.labels)) / max(int((experts > 0).sum()), 1)


def _without_expert(study: CrowdStudy, expert: Factor, name: str) -> xr.DataArray:
    """HM of every group on all items, without the labels of an expert."""
    data, counts = study.data, study.score_counts
    kept = expert.codes != expert.labels.index(name)
    labels = {name: getattr(data, name)[kept] for name in ("expert_item", "expert_label")}
    label_count = count_labels(study.crowd, replace(data, **labels), counts.score_count)
    without = replace(counts, label_count=label_count, strata=counts.strata.sel(by=[ALL]))
    return measure_responsiveness(study.crowd, without)["hm"].sel(by=ALL, drop=True)


def _settings(values: xr.DataArray, kind: str) -> xr.DataArray:
    """Values over (setting, unit), each setting with its kind and value as texts."""
    dim = str(values.dims[0])
    texts = [x if isinstance(x, str) else f"{x:g}" for x in values[dim].to_numpy().tolist()]
    prefix = "without" if kind in LEFT_OUT else kind
    labels = {
        "setting": [f"{prefix} {text}" for text in texts],
        "kind": ("setting", [kind] * len(texts)),
        "value": ("setting", texts),
    }
    return values.rename({dim: "setting"}).assign_coords(labels)


def _compare(values: xr.DataArray, study: xr.DataArray, *, lower_is_better: bool) -> xr.Dataset:
    """Compare every setting with the values of the study itself."""
    dim = str(study.dims[0])
    ordered = [label for label in study[dim].to_numpy() if label != ALL]
    ours, theirs = (x.sel({dim: ordered}) for x in (study, values))
    study_best, best = (is_lowest(x if lower_is_better else -x, dim) for x in (ours, theirs))
    unit = {dim: ordered[int(study_best.argmax(dim))] if lower_is_better else ALL}
    tied = [theirs[dim].to_numpy()[row].tolist() for row in best.to_numpy()]
    names = [join_names(labels, limit=len(labels)) for labels in tied]
    table = {
        "best": (theirs.dims[0], names),
        "changed": (best & ~study_best).any(dim),
        "kendall": rank_agreement(*(x.rename({dim: "model"}) for x in (theirs, ours)))["kendall"],
        "movement": values.sel(unit, drop=True) - study.sel(unit, drop=True),
        str(study.name): values,
    }
    about = [name for name in ("kind", "value") if name in values.coords]
    return xr.Dataset(table).reset_coords(about).pipe(without_attributes)
