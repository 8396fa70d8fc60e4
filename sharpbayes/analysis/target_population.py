"""Metrics of a crowd whose raters are weighted to the shares of a target population."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.crowd_counts import (
    CrowdCounts,
    count_crowd,
    measure_responsiveness,
    tabulate_counts,
)
from sharpbayes.analysis.study import CrowdStudy
from sharpbayes.analysis.weighted_labels import check_rater_labels
from sharpbayes.data.crowd import CrowdData
from sharpbayes.errors import SpecError
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.metrics.crowd.responsiveness import metric_names, severity_metrics
from sharpbayes.metrics.crowd.scores import plurality, score_counts
from sharpbayes.metrics.stats.population import rater_weights, shares_around
from sharpbayes.spec.files import SpecFile
from sharpbayes.spec.weights import Weights

Floats = NDArray[np.float64]
# What other shares are tried for: MPA, WRA and HM of all raters.
HEADLINE = tuple(metric_names(headline=True))


def population_group(study: CrowdStudy) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_population`` of the observed scores under the weights of a study."""
    if study.weights is None:
        return {}
    rater = population_weights(study.data, study.weights)
    counts = population_counts(study, rater, xr.DataArray(study.data.score, dims="rating"))
    return {"responsiveness_population": population_responsiveness(study, counts)}


@dataclass(frozen=True)
class OtherShares:
    """Populations in which one label of raters at a time has another share.

    Attributes:
        share: Share of every label over (moved_label, moved_share, share_label), such as
            ``gender=Woman``.
        rater: Weight of every rater over (moved_label, moved_share, rater); NaN where no weights
            hold all shares.
    """

    share: xr.DataArray
    rater: xr.DataArray


def other_shares(study: CrowdStudy) -> OtherShares | None:
    """Return populations around that of the weights; None where they have no shares of raters.

    One label at a time has 0, 25, 50, 75 or 100% of its column, and the others of the column keep
    their proportions. Other columns keep their shares. Of two labels only the first is moved.
    """
    population = {} if study.weights is None else study.weights.spec.population
    columns = study.data.rater_columns
    shares = {k: v for k, v in population.items() if k in columns and len(v) > 1}
    if not shares:
        return None
    fixed = {k: v for k, v in population.items() if k in columns}
    parts = [part for name in shares for part in _move_labels(name, fixed, columns)]
    share, rater = (xr.concat(arrays, "moved_label") for arrays in zip(*parts, strict=True))
    return OtherShares(share, rater)


def _move_labels(
    name: str, shares: Mapping[str, Mapping[str, float]], columns: Mapping[str, NDArray[np.str_]]
) -> Iterator[tuple[xr.DataArray, xr.DataArray]]:
    """Yield shares of all labels and weights of raters, for each label that is moved."""
    declared = xr.DataArray(list(shares[name].values()), {"category": list(shares[name])})
    around = shares_around(declared)
    names = [f"{column}={label}" for column, labels in shares.items() for label in labels]
    for moved in around.transpose("moved_category", "category_share", "category"):
        tables = [
            dict(shares) | {name: dict(zip(map(str, moved["category"].values), row, strict=True))}
            for row in moved.to_numpy()
        ]
        lead = {
            "moved_label": [f"{name}={moved['moved_category'].item()}"],
            "moved_share": moved["category_share"].to_numpy(),
        }
        share = [[x for labels in table.values() for x in labels.values()] for table in tables]
        rater = [_weights_or_nan(columns, table) for table in tables]
        yield (
            xr.DataArray([share], {**lead, "share_label": names}, (*lead, "share_label")),
            xr.DataArray([rater], lead, (*lead, "rater")),
        )


def _weights_or_nan(
    columns: Mapping[str, NDArray[np.str_]], shares: Mapping[str, Mapping[str, float]]
) -> Floats:
    """Weights of raters; NaN where none hold all shares."""
    try:
        return rater_weights(columns, shares)
    except ValueError:
        return np.full(len(next(iter(columns.values()))), np.nan)


def share_group(study: CrowdStudy) -> dict[str, xr.Dataset]:
    """Return ``responsiveness_shares``: MPA, WRA and HM of all raters at other shares of labels."""
    shares = other_shares(study)
    if shares is None:
        return {}
    scores = xr.DataArray(study.data.score, dims="rating")
    counts = count_crowd(study.crowd, study.data, scores)
    metrics = measure_shares(study, shares, reweight_all(study.data, counts, scores, shares))
    return {"responsiveness_shares": metrics.assign(population_share=shares.share)}


def measure_shares(
    study: CrowdStudy,
    shares: OtherShares,
    counts: Iterator[CrowdCounts],
    *,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return MPA, WRA and HM over (..., moved_label, moved_share) of the counts of each setting."""
    reason = study.responsiveness["reason"].sel(group=ALL, by=ALL, drop=True)
    parts = []
    for part in counts:
        table = tabulate_counts(part, by=ALL, weights=weights).sel(group=ALL, by=ALL, drop=True)
        parts.append(severity_metrics(table, HEADLINE).where(reason == ""))
    known = shares.rater.notnull().all("rater")
    metrics = {}
    for name in HEADLINE:
        values = np.stack([part[name].to_numpy() for part in parts], -1)
        dims = (*parts[0][name].dims, *known.dims)
        metrics[name] = xr.DataArray(values.reshape(*values.shape[:-1], *known.shape), dims=dims)
    return xr.Dataset(metrics, known.coords).where(known).transpose(..., *known.dims)


def population_weights(data: CrowdData, weights: SpecFile[Weights]) -> Floats:
    """Return the weight of every rater in the target population; 1 without shares.

    SpecError lists columns that raters do not have, labels of raters without a share, shares
    without a rater, and shares that cannot all hold.
    """
    shares = weights.spec.population
    if not shares:
        return np.ones(len(data.rater.labels))
    check_rater_labels(data, weights)
    try:
        return rater_weights(data.rater_columns, shares)
    except ValueError as error:
        raise SpecError.at(weights.path, str(error), key="population") from None


def reweight_raters(
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, rater: Floats
) -> CrowdCounts:
    """Return the counts of the group ``all`` with a weight for each rater.

    The plurality score of an item is the one with the most weight.
    """
    [reweighted] = _reweight(data, counts, scores, rater[None])
    return reweighted


def reweight_all(
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, shares: OtherShares
) -> Iterator[CrowdCounts]:
    """Yield the counts of the group ``all`` at each of some shares; see :func:`reweight_raters`."""
    rater = shares.rater.fillna(0.0).transpose("moved_label", "moved_share", "rater").to_numpy()
    return _reweight(data, counts, scores, rater.reshape(-1, rater.shape[-1]))


def _reweight(
    data: CrowdData, counts: CrowdCounts, scores: xr.DataArray, raters: Floats
) -> Iterator[CrowdCounts]:
    """Yield counts for each row of weights; raters who are alike in all are counted once."""
    weights, kind = np.unique(raters, axis=1, return_inverse=True)
    kinds = np.arange(weights.shape[1])[:, None]
    membership = xr.DataArray(kind.ravel() == kinds, dims=("group", "rater"))
    by_kind = score_counts(
        scores,
        item=data.item.codes,
        rater=data.rater.codes,
        membership=membership,
        n_scores=len(data.score_labels),
        n_items=len(data.item.labels),
    ).astype(float)
    for row in weights:
        # Rounded, so that a tie of weights is a tie of scores.
        weighted = xr.dot(by_kind, xr.DataArray(row, dims="group"), dim="group").round(9)
        weighted = weighted.expand_dims(group=[ALL]).transpose(..., "group", "item", "score")
        weighted = weighted.assign_coords(item=counts.plurality["item"])
        yield replace(counts, score_count=weighted, plurality=plurality(weighted))


def population_counts(
    study: CrowdStudy, rater: Floats, scores: xr.DataArray
) -> tuple[CrowdCounts, CrowdCounts]:
    """Return counts of all raters by scores over (..., rating): of the sample, of the target.

    ``rater`` has the weight of every rater in the target population.
    """
    counts = count_crowd(study.crowd, study.data, scores)
    parts = vars(counts).items()
    by_group = {name: part for name, part in parts if "group" in getattr(part, "dims", ())}
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
