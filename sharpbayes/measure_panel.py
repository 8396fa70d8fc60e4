"""The deterministic half of a panel study: levels of judges -> SHARP's groups of results."""

from functools import partial

import xarray as xr

from sharpbayes.data.panel import phi_table, reversed_at
from sharpbayes.errors import DataError, Fault
from sharpbayes.metrics.compare import (
    admissible,
    cvar_difference,
    separable,
    tiers,
    tiers_by_overlap,
)
from sharpbayes.metrics.normalise import normalise, reverse
from sharpbayes.metrics.profile import profile
from sharpbayes.metrics.resample import block_of, bootstrap, percentile_interval
from sharpbayes.metrics.risk import panel
from sharpbayes.metrics.subindex import Part, SubIndex, sub_indices
from sharpbayes.spec.check import policy_for
from sharpbayes.spec.load import StudyFiles
from sharpbayes.spec.study import Panel
from sharpbayes.spec.weights import Weights

Groups = dict[str, xr.Dataset]

# What an interval of the bootstrap contains, said wherever one is shown.
PANEL_CONTAINS = (
    "Intervals: {level:.0%} percentile bootstrap over prompts, the same prompts for every model; "
    "they contain the sampling of prompts, not the choice of judges or noise in their ratings."
)


def measure_panel(files: StudyFiles, levels: xr.Dataset | None) -> Groups:
    """SHARP: ratings -> sub-indices -> harm -> profile, with intervals and tiers."""
    study, weights = files.study.spec, files.weights.spec if files.weights else None
    if study.panel is None or weights is None or levels is None:
        raise ValueError("a panel study has data and weights")
    table = _panel_table(study.panel, weights, levels, str(files.study.path))
    policy = policy_for(study, weights)
    statistic = partial(
        profile,
        table,
        alpha=weights.tail.alpha,
        policy=xr.DataArray(list(policy.values()), {"dimension": list(policy)}, "dimension"),
        estimator=weights.tail.estimator,
        dim=("prompt", "sample") if "sample" in table.dims else "prompt",
    )
    observed, boot = statistic(), study.bootstrap
    resampled = bootstrap(
        lambda counts: statistic(weights=counts),
        table["prompt"],
        replicates=boot.replicates,
        seed=study.seed,
        dim="prompt",
        block=block_of(table.sizes["prompt"]),
    )
    interval = _profile_interval(resampled, level=boot.level)
    rule = weights.tiers.rule
    observed["tier"] = (
        tiers(observed["cvar"], interval["cvar_difference"])
        if rule == "paired-difference"
        else tiers_by_overlap(observed["cvar"], interval["cvar"])
    )
    if weights.tolerance is not None:
        observed["admissible"] = admissible(observed["cvar"], weights.tolerance.cvar)
    observed.attrs |= {"alpha": weights.tail.alpha, "tier_rule": rule}
    return {"panel": table, "profile": observed, "profile_interval": interval}


def _panel_table(spec: Panel, weights: Weights, levels: xr.Dataset, path: str) -> xr.Dataset:
    """Harm of every (model, prompt) from the judges' levels."""
    phi = normalise(levels["level"], phi_table(spec, levels))
    phi = reverse(phi, where=reversed_at(spec, levels))
    sub_index = sub_indices(phi, _sub_indices(spec, weights), missing=weights.indicators.missing)
    try:
        return panel(
            sub_index,
            temperature=weights.judges.temperature,
            epsilon=weights.risk.epsilon,
            judges_missing=weights.judges.missing,
        )
    except ValueError as error:
        raise DataError([Fault(path, 0, "judges.missing", str(error))]) from None


def _sub_indices(spec: Panel, weights: Weights) -> tuple[SubIndex, ...]:
    """Join the parts of the study with the coefficients of the weights."""
    return tuple(
        SubIndex(
            name=dimension.name,
            parts=tuple(
                Part(
                    name=name,
                    reduction=part.reduction,
                    indicators=part.indicators,
                    weight=weights.parts.get(dimension.name, {}).get(name, 1.0)
                    if len(dimension.named_parts) > 1
                    else 1.0,
                )
                for name, part in dimension.named_parts.items()
            ),
            amplifiers=tuple(
                (name, weights.amplify[dimension.name][name]) for name in dimension.amplify
            ),
        )
        for dimension in spec.dimensions
    )


def _profile_interval(resampled: xr.Dataset, *, level: float) -> xr.Dataset:
    """Percentile intervals of every statistic and of every pairwise CVaR difference."""
    resampled = resampled.assign(cvar_difference=cvar_difference(resampled["cvar"]))
    interval = percentile_interval(resampled, level=level)
    interval["separable"] = separable(interval["cvar_difference"])
    interval.attrs["contains"] = PANEL_CONTAINS.format(level=level)
    return interval
