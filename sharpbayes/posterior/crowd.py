"""Posterior twins of a crowd: replicated ratings through what measures the observed ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import xarray as xr

from sharpbayes.analysis.crowd_counts import CrowdCounts, count_crowd, measure_responsiveness
from sharpbayes.bayes.design.design import Design
from sharpbayes.data.crowd import ITEM_LABEL, SCALE, CrowdData
from sharpbayes.metrics.crowd.groups import ALL
from sharpbayes.posterior.replicates import (
    Block,
    Draws,
    Floats,
    Levels,
    draws_of,
    measured_draws,
    texts_of,
    together,
)
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Study

LABELS_OUTSIDE = (
    "The model does not know the labels, so that posterior MPA and WRA are too low, the more so "
    "the fewer raters an item has: read them as lower bounds, or fit "
    'fit = "{model}", which does.'
)


def makings(block: Block, sources: Sequence[str]) -> xr.DataArray:
    """Return all makings of the scores, (making x draw, rating), labels of experts left out."""
    return xr.DataArray(block.makings(sources)[SCALE], dims=("draw", "rating"))


def items_together(counted: CrowdCounts, number: int) -> CrowdCounts:
    """Return what was counted of all makings with their items side by side; counts of the first."""
    if number == 1:
        return counted
    first = {"draw": slice(0, counted.score_count.sizes["draw"] // number)}
    parts = {name: getattr(counted, name) for name in ("plurality", "label_count", "strata")}
    pool = {name: together(each, number, "item") for name, each in parts.items()}
    return replace(counted, score_count=counted.score_count.isel(first), **pool)


def counted_makings(
    study: Study, data: CrowdData, block: Block, sources: Sequence[str]
) -> CrowdCounts:
    """Return what was counted in all makings of every draw of a block."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    counted = count_crowd(study.crowd, data, makings(block, sources))
    return items_together(counted, block.draws.makings)


def crowd_twin(
    study: Study,
    data: CrowdData,
    draws: Draws,
    sources: Sequence[str],
    *,
    reason: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return responsiveness of every draw, over (chain, draw, ...).

    Metrics are missing where those of the observed ratings are.

    Args:
        study: A study of a crowd.
        data: Observed ratings.
        draws: Replicated ratings of the crowd, and labels of experts where they are ratings too.
        sources: What varies from draw to draw.
        reason: Why those of the observed ratings are missing, where that is known already.
    """
    spec = study.crowd
    assert spec is not None  # noqa: S101 - the caller looked
    observed = count_crowd(spec, data)
    reason = measure_responsiveness(spec, observed)["reason"] if reason is None else reason
    units = observed.plurality["item"]
    draws = draws.about(sources, units.size)

    def statistic(block: Block) -> list[xr.Dataset]:
        counted = counted_makings(study, data, block, sources)
        weights = block.population_weights(units, "item", sources)
        found = measure_responsiveness(spec, counted, weights=weights, reason=reason)
        items = found["items"] // draws.makings
        every = found.assign(items=items).drop_vars("reason")
        # The number of raters is the same in every draw.
        return [every.map(lambda x: x if "draw" in x.dims else x.expand_dims(draw=block.size))]

    each = -(-observed.score_count.size // len(data.score))
    [twin] = measured_draws(draws, statistic, copies=each)
    return twin


def labels_outside(study: Study, model: Model) -> str:
    """Say what follows where severities of a crowd do not know its labels; empty where they do."""
    assert study.crowd is not None  # noqa: S101 - the caller looked
    known = {
        "experts": ("crowd_and_experts", model.experts),
        "item": ("crowd_and_labels", any(name == ITEM_LABEL for _, name in model.columns)),
        "crowd": ("", True),
    }
    name, inside = known[study.crowd.labels.from_]
    return "" if inside else LABELS_OUTSIDE.format(model=name)


def crowd_metrics(
    study: Study, data: CrowdData, design: Design
) -> Callable[[Levels], dict[str, Floats]]:
    """Return what gives MPA and WRA of every group from levels of each scale, by name.

    Groups whose observed metrics are missing are left out.

    Args:
        study: A study of a crowd.
        data: Its ratings.
        design: Its design.
    """
    assert study.crowd is not None  # noqa: S101 - the caller looked
    reason = measure_responsiveness(study.crowd, count_crowd(study.crowd, data))["reason"]
    groups = texts_of(reason["group"][(reason.sel(by=ALL) == "").to_numpy()])

    def of_levels(made: Levels) -> dict[str, Floats]:
        twin = crowd_twin(study, data, draws_of(made, design), ["ratings"], reason=reason)
        twin = twin.isel(chain=0).sel(by=ALL)
        return {
            f"{metric.upper()}[{group}]": twin[metric].sel(group=group).to_numpy()
            for metric in ("mpa", "wra")
            for group in groups
        }

    return of_levels
