"""Metrics of a crowd whose raters are weighted to the shares of a target population."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import CrowdCounts, count_crowd, measure_responsiveness
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.data.crowd import CrowdData
from sharpbayes.errors import Diagnostic, SpecError, format_list
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import metric_names
from sharpbayes.metrics.crowd.scores import plurality, score_counts
from sharpbayes.metrics.stats.population import rater_weights
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Weights

Floats = NDArray[np.float64]


def population_group(study: CrowdStudy) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_population`` of the observed scores under the weights of a study."""
    if study.weights is None:
        return {}
    rater = population_weights(study.data, study.weights)
    counts = population_counts(study, rater, xr.DataArray(study.data.score, dims="rating"))
    return {"responsiveness_population": population_responsiveness(study, counts)}


def population_weights(data: CrowdData, weights: SpecFile[Weights]) -> Floats:
    """Return the weight of every rater in the target population; 1 without shares of its groups.

    SpecError lists labels of raters without a share, shares without a rater, and shares that cannot
    all hold.
    """
    population, path = weights.spec.population, str(weights.path)
    shares = {name: x for name, x in population.items() if name in data.rater_columns}
    if not shares:
        return np.ones(len(data.rater.labels))
    problems = []
    for name, by_label in shares.items():
        odd = sorted(set(data.rater_columns[name].tolist()) ^ set(by_label))
        if odd:
            message = f"labels in the shares or among raters, but not in both: {format_list(odd)}"
            problems.append(Diagnostic(path, 0, f"population.{name}", message))
    if problems:
        raise SpecError(problems)
    try:
        return rater_weights(data.rater_columns, shares)
    except ValueError as error:
        raise SpecError.at(path, str(error), key="population") from None


def reweight_raters(
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, rater: Floats
) -> CrowdCounts:
    """Return the counts of the group ``all`` with a weight for each rater.

    The plurality score of an item is the one with the most weight.
    """
    weights, kind = np.unique(rater, return_inverse=True)
    membership = xr.DataArray(kind == np.arange(len(weights))[:, None], dims=("group", "rater"))
    by_weight = score_counts(
        scores,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=membership,
        n_scores=len(data.score_labels),
        n_items=len(data.item.labels),
    )
    # Rounded, so that a tie of weights is a tie of scores.
    weighted = xr.dot(by_weight.astype(float), xr.DataArray(weights, dims="group"), dim="group")
    weighted = weighted.round(9).expand_dims(group=[ALL]).transpose(..., "group", "item", "score")
    weighted = weighted.assign_coords(item=counts.plurality["item"])
    return replace(counts, score_count=weighted, plurality=plurality(weighted))


def population_counts(
    study: CrowdStudy, rater: Floats, scores: xr.DataArray
) -> tuple[CrowdCounts, CrowdCounts]:
    """Return counts of all raters by scores over (..., rating): of the sample, of the target.

    ``rater`` has the weight of every rater in the target population.
    """
    counts = count_crowd(study.crowd, study.data, scores)
    by_group = {name: array for name, array in vars(counts).items() if "group" in array.dims}
    sample = replace(counts, **{name: x.sel(group=[ALL]) for name, x in by_group.items()})
    return sample, reweight_raters(study.data, sample, scores, rater)


def population_responsiveness(
    study: CrowdStudy,
    counts: Sequence[CrowdCounts],
    *,
    names: Sequence[str] = ("sample", "target"),
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the responsiveness of all raters over (..., population, by).

    ``counts`` are those of each named population; ``weights`` are those of items.
    """
    reason = study.responsiveness["reason"].sel(group=[ALL])
    tables = []
    for part in counts:
        metrics = measure_responsiveness(study.crowd, part, weights=weights, reason=reason)
        tables.append(metrics[metric_names()].sel(group=ALL, drop=True))
    joined = xr.concat(tables, "population").assign_coords(population=list(names))
    return joined.transpose(..., "population", "by")
