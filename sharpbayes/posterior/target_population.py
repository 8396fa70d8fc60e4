"""Raters in the shares of a target population, beside the raw sample; of a stored fit."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import CrowdCounts, count_crowd, measure_responsiveness
from sharpbayes.data.crowd import CrowdData
from sharpbayes.data.ratings import Factor
from sharpbayes.errors import Diagnostic, SpecError, format_list
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.scores import plurality, score_counts
from sharpbayes.metrics.stats.population import rater_weights
from sharpbayes.posterior.crowd import items_together, makings
from sharpbayes.posterior.replicates import Block, Draws, contains, measured_draws
from sharpbayes.spec.study import Study
from sharpbayes.spec.weights import Weights

RAW, TARGET = "sample", "target"
METRICS = ("mpa", "wra", "hm", "kendall_tau", "spearman", "auc_pr", "auc_roc")


def crowd_group(data: CrowdData) -> xr.Dataset:
    """Return the ratings, labels and columns of a crowd as results keep them."""
    held: dict[str, tuple[str, NDArray[np.generic]]] = {
        "score": ("rating", data.score),
        "item_code": ("rating", data.item.codes),
        "rater_code": ("rating", data.rater.codes),
        "expert_item": ("label", data.expert_item),
        "expert_label": ("label", data.expert_label),
    }
    held |= {f"item:{name}": ("item", values) for name, values in data.item_columns.items()}
    held |= {f"rater:{name}": ("rater", values) for name, values in data.rater_columns.items()}
    if data.item_label.size:
        held["item_label"] = ("item", data.item_label)
    coords = {"item": list(data.item.labels), "rater": list(data.rater.labels)}
    if data.expert is not None:
        held["expert_code"] = ("label", data.expert.codes)
        coords["expert"] = list(data.expert.labels)
    return xr.Dataset(held, coords).assign_attrs(score_labels=list(data.score_labels))


def crowd_of(group: xr.Dataset) -> CrowdData:
    """Return the crowd that :func:`crowd_group` kept."""

    def beside(kind: str) -> dict[str, NDArray[np.str_]]:
        return {
            str(name).removeprefix(f"{kind}:"): array.to_numpy().astype(str)
            for name, array in group.data_vars.items()
            if str(name).startswith(f"{kind}:")
        }

    def column(name: str) -> Factor:
        return Factor(tuple(map(str, group[name].to_numpy())), group[f"{name}_code"].to_numpy())

    none = np.empty(0, np.int16)
    return CrowdData(
        score=group["score"].to_numpy(),
        item=column("item"),
        rater=column("rater"),
        score_labels=tuple(map(str, np.atleast_1d(group.attrs["score_labels"]))),
        item_columns=beside("item"),
        rater_columns=beside("rater"),
        expert_item=group["expert_item"].to_numpy(),
        expert=column("expert") if "expert_code" in group else None,
        expert_label=group["expert_label"].to_numpy(),
        item_label=group["item_label"].to_numpy() if "item_label" in group else none,
        time=None,
        counts={},
    )


def population_weights(
    data: CrowdData, weights: Weights, *, path: str
) -> NDArray[np.float64] | None:
    """Return the weight of every rater in the target population; None where it has no shares.

    Raises:
        SpecError: Labels of raters without a share, shares without a rater, or shares that cannot
            hold together.
    """
    shares = {name: held for name, held in weights.population.items() if name in data.rater_columns}
    if not shares:
        return None
    faults = []
    for name, held in shares.items():
        odd = sorted(set(data.rater_columns[name].tolist()) ^ set(held))
        if odd:
            message = f"labels in the shares or among raters, but not in both: {format_list(odd)}"
            faults.append(Diagnostic(path, 0, f"population.{name}", message))
    if faults:
        raise SpecError(faults)
    try:
        return rater_weights(data.rater_columns, shares)
    except ValueError as error:
        raise SpecError([Diagnostic(path, 0, "population", str(error))]) from None


def targeted(
    data: CrowdData, counted: CrowdCounts, level: xr.DataArray, rater: NDArray[np.float64]
) -> CrowdCounts:
    """Return what was counted of all raters alone, each rater weighed.

    Args:
        data: Observed ratings.
        counted: Of :func:`sharpbayes.analysis.crowd_counts.count_crowd`.
        level: The levels that were counted, over (..., rating).
        rater: Weight of every rater.

    Returns:
        The group ``all`` with the score of every item that most weight of raters gives.
    """
    size, kind = np.unique(rater, return_inverse=True)
    member = xr.DataArray(kind == np.arange(len(size))[:, None], dims=("group", "rater"))
    counts = score_counts(
        level,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=member,
        n_scores=len(data.score_labels),
        n_items=len(data.item.labels),
    )
    # Rounded, so that a tie of weights is a tie of scores.
    weighed = xr.dot(counts.astype(float), xr.DataArray(size, dims="group"), dim="group").round(9)
    weighed = weighed.expand_dims(group=[ALL]).assign_coords(item=counted.plurality["item"])
    weighed = weighed.transpose(..., "group", "item", "score")
    every = counted.membership.sel(group=[ALL])
    return CrowdCounts(every, counted.strata, weighed, plurality(weighed), counted.label_count)


def both_populations(
    study: Study,
    data: CrowdData,
    rater: NDArray[np.float64],
    *,
    level: xr.DataArray,
    makings: int = 1,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return responsiveness of all raters, as the sample and as the target population holds them.

    Args:
        study: A study of a crowd.
        data: Observed ratings.
        rater: Weight of every rater in the target population.
        level: Observed or replicated levels over (..., rating).
        makings: How many makings of every draw stand one after the other.
        weights: Of the items of all makings, over (draw, item); None counts each once.

    Returns:
        ``mpa``, ``wra``, ``hm`` and the other metrics over (..., population, by).
    """
    assert study.crowd is not None  # noqa: S101 - the caller looked
    raw = count_crowd(study.crowd, data, level)
    target = targeted(data, raw, level, rater)
    observed = measure_responsiveness(study.crowd, count_crowd(study.crowd, data))["reason"]
    reason = observed.sel(group=[ALL])
    found = []
    for each in (items_together(raw, makings), items_together(target, makings)):
        alone = CrowdCounts(
            each.membership.sel(group=[ALL]),
            each.strata,
            each.score_count.sel(group=[ALL]),
            each.plurality.sel(group=[ALL]),
            each.label_count.sel(group=[ALL])
            if "group" in each.label_count.dims
            else each.label_count,
        )
        metrics = measure_responsiveness(study.crowd, alone, weights=weights, reason=reason)
        found.append(metrics[list(METRICS)].sel(group=ALL, drop=True))
    joined = xr.concat(found, "population").assign_coords(population=[RAW, TARGET])
    return joined.transpose(..., "population", "by")


def population_groups(
    study: Study,
    data: CrowdData,
    draws: Draws,
    rater: NDArray[np.float64] | None,
    sources: Sequence[str],
) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_population`` and its posterior twin, raw beside target.

    Args:
        study: A study of a crowd.
        data: Observed ratings.
        draws: Replicated ratings.
        rater: Weight of every rater; None where the weights name no shares of this crowd's groups.
        sources: What varies from draw to draw.
    """
    rater = np.ones(len(data.rater.labels)) if rater is None else rater
    items = xr.DataArray(list(data.item.labels), dims="item")
    items = items.assign_coords(item=items)
    draws = draws.about(sources, items.size)

    def statistic(block: Block) -> list[xr.Dataset]:
        weights = block.population_weights(items, "item", sources)
        level, number = makings(block, sources), block.draws.makings
        return [both_populations(study, data, rater, level=level, makings=number, weights=weights)]

    cells = len(data.item.labels) * len(data.score_labels) * 4
    [twin] = measured_draws(draws, statistic, copies=-(-cells // len(data.score)))
    level = study.bootstrap.level
    said = {
        "interval_note": contains(sources, level=level),
        "sources": list(sources),
        "level": level,
    }
    seen = xr.DataArray(data.score, dims="rating")
    observed = both_populations(study, data, rater, level=seen)
    return {
        "responsiveness_population": observed,
        "posterior_responsiveness_population": twin.assign_attrs(said),
    }
