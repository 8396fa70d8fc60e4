"""Responsiveness with raters weighted to the shares of a target population."""

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
from sharpbayes.posterior.crowd import pool_counts, replicate_scores
from sharpbayes.posterior.replicates import Block, ReplicateDraws, interval_note, measure_draws
from sharpbayes.spec.weights import Weights


def population_weights(data: CrowdData, weights: Weights, *, path: str) -> NDArray[np.float64]:
    """Return the weight of every rater in the target population; 1 without shares of its groups.

    SpecError lists labels of raters without a share, shares without a rater, and shares that cannot
    all hold.
    """
    shares = {name: x for name, x in weights.population.items() if name in data.rater_columns}
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
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, rater: NDArray[np.float64]
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
    weighted = weighted.round(9).expand_dims(group=[ALL])
    weighted = weighted.assign_coords(item=counts.plurality["item"])
    weighted = weighted.transpose(..., "group", "item", "score")
    membership = counts.membership.sel(group=[ALL])
    return CrowdCounts(membership, counts.strata, weighted, plurality(weighted), counts.label_count)


def population_responsiveness(
    study: CrowdStudy,
    rater: NDArray[np.float64],
    *,
    scores: xr.DataArray,
    n_replicates: int = 1,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the responsiveness of all raters over (..., population, by).

    The first population is the sample; ``rater`` has the weight of every rater in the target
    population. Replicates of observed scores (..., rating) stand one after the other; ``weights``
    are those of the items of all replicates.
    """
    sample = count_crowd(study.crowd, study.data, scores)
    target = reweight_raters(study.data, sample, scores, rater)
    reason = study.responsiveness["reason"].sel(group=[ALL])
    tables = []
    for counts in (pool_counts(sample, n_replicates), pool_counts(target, n_replicates)):
        by_group = {
            name: array.sel(group=[ALL])
            for name, array in vars(counts).items()
            if "group" in array.dims
        }
        all_raters = replace(counts, **by_group)
        metrics = measure_responsiveness(study.crowd, all_raters, weights=weights, reason=reason)
        tables.append(metrics[metric_names()].sel(group=ALL, drop=True))
    joined = xr.concat(tables, "population").assign_coords(population=["sample", "target"])
    return joined.transpose(..., "population", "by")


def population_groups(study: CrowdStudy, draws: ReplicateDraws) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_population`` and its posterior under the weights of a study."""
    if study.weights is None:
        return {}
    data, sources = study.data, study.spec.uncertainties[0]
    rater = population_weights(data, study.weights.spec, path=str(study.weights.path))
    items = study.score_counts.plurality["item"]

    def measure_block(block: Block) -> list[xr.Dataset]:
        return [
            population_responsiveness(
                study,
                rater,
                scores=replicate_scores(block, sources),
                n_replicates=block.draws.n_replicates,
                weights=block.population_weights(items, "item", sources),
            )
        ]

    copies = -(-len(data.item.labels) * len(data.score_labels) * 4 // len(data.score))
    draws = draws.replicated_for(sources, items.size)
    [posterior] = measure_draws(draws, measure_block, copies=copies)
    level = study.spec.bootstrap.level
    note = interval_note(sources, level=level)
    observed = xr.DataArray(data.score, dims="rating")
    return {
        "responsiveness_population": population_responsiveness(study, rater, scores=observed),
        "posterior_responsiveness_population": posterior.assign_attrs(
            interval_note=note, sources=list(sources), level=level
        ),
    }
