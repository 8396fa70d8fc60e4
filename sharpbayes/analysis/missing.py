"""The group ``missing``: scores that were asked for and are missing, and what they could change."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.asked_scores import asked_scores, tabulate_harm
from sharpbayes.analysis.limited_metrics import CATEGORY
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.analysis.tolerance import keeps_tolerance
from sharpbayes.metrics.panel.missingness import (
    fill_bounds,
    missing_slope,
    other_severity,
    tilted_scores,
)
from sharpbayes.metrics.panel.profile import HEADLINE
from sharpbayes.metrics.panel.tail_bounds import tail_bounds
from sharpbayes.metrics.stats.ranks import is_lowest

Groups = dict[str, xr.Dataset]
# Draws of each missing score, and the step in which the tipping point is sought.
DRAWS, STEP = 10, 0.25


def missing_group(plan: ProfilePlan) -> Groups:
    """Return ``missing``, where a score of a judge that was asked for is missing.

    Sub-indices of single judges are what is missing or not. ``asked``, ``missing`` count them and
    ``share`` is their quotient, over (model, judge, dimension); ``model_share``, ``judge_share``
    and ``dimension_share`` are those of all. ``unscored (model)`` counts answers without any judge.
    ``reason_count (model, reason)`` counts missing scores of single indicators by the reason that
    the data give. ``slope`` is by how much the log odds of a missing score grow with each unit of
    severity, the sd of sub-indices of the dimension, as the other judges scored the answer, within
    each judge and dimension; with ``slope_interval (bound)`` and ``slope_p``. ``<metric>_bounds
    (model, bound)`` of CVaR, mean and policy score assume nothing of what is missing;
    ``can_be_lowest (model)`` is whether its CVaR is the lowest, or some values make it so, and
    ``mean_can_be_lowest``, ``policy_score_can_be_lowest`` the same of these; under a tolerance
    ``admissible_bounds (model, bound)``. Where the study lists tilts, over (tilt) CVaR
    and mean under each, ``tilt_lowest``, and ``tipping``, the smallest tilt found at which another
    model is lowest than at 0.
    """
    sub_index = plan.table["sub_index"]
    asked = asked_scores(plan)
    missing = asked & sub_index.isnull()
    if not bool(missing.any()):
        return {}
    table = _count(missing, asked)
    unit = sub_index.std([dim for dim in sub_index.dims if dim != "dimension"])
    severity = other_severity(sub_index) / unit.where(unit > 0)
    level = plan.study.spec.bootstrap.level
    slope = missing_slope(missing, severity.where(asked), level=level)
    table = table.assign(slope.data_vars)
    answers = asked.any(("judge", "dimension"))
    table["unscored"] = (_find_unscored(plan) & answers).sum(plan.dim)
    table = table.assign(_reasons(plan))
    bounds, observed = _bound_metrics(plan, missing), plan.profile(names=HEADLINE)
    for name in HEADLINE:
        table[f"{name}_bounds"] = bounds[name].transpose("model", "bound")
        lowest = "can_be_lowest" if name == "cvar" else f"{name}_can_be_lowest"
        table[lowest] = _can_be_lowest(table[f"{name}_bounds"], observed[name])
    if plan.weights.tolerance is not None:
        kept = keeps_tolerance(bounds, plan.weights.tolerance)
        table["admissible_bounds"] = kept.transpose("model", "bound")
    tilts = plan.study.spec.sensitivity.missing
    if tilts:
        table = table.assign(_tilt(plan, missing, tilts))
    return {"missing": table.assign_attrs(level=level)}


def _find_unscored(plan: ProfilePlan) -> xr.DataArray:
    """Which answers have no harm in any dimension, and are no refusals."""
    is_unscored: xr.DataArray = plan.table["harm"].isnull().all("dimension")
    return is_unscored & ~plan.is_refused


def _bound_metrics(plan: ProfilePlan, missing: xr.DataArray) -> xr.Dataset:
    """Return bounds of all that a tolerance may limit, over (bound, model, ...).

    Means grow with every score, and have their bounds where all that are missing are 0, or 1. Tails
    need not.
    """
    table = tabulate_harm(plan, fill_bounds(plan.table["sub_index"], missing))
    filled, tolerance = replace(plan, table=table), plan.weights.tolerance
    bounds = filled.profile(names=("mean", "policy_score")).assign(
        cvar=_bound_tail(filled, "log_risk"), dimension_cvar=_bound_tail(filled, "harm")
    )
    names = list(tolerance.category) if tolerance is not None else []
    if names:
        tails = [_bound_tail(filled.of_category(name), "log_risk") for name in names]
        bounds["category_cvar"] = xr.concat(
            tails, xr.DataArray(names, dims=CATEGORY, name=CATEGORY)
        )
    return bounds


def _bound_tail(plan: ProfilePlan, name: str) -> xr.DataArray:
    """Return bounds of the CVaR of a variable that has its least and its largest values."""
    low, high = (plan.table[name].sel(bound=side, drop=True) for side in ("lower", "upper"))
    tail = plan.weights.tail
    return tail_bounds(
        low,
        high,
        alpha=tail.alpha,
        estimator=tail.estimator,
        dim=plan.dim,
        weights=plan.target_weights(),
    )


def _can_be_lowest(bounds: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Whether some values of what is missing make a model lower than all others, or it is lowest.

    Of the bounds of a metric over (model, bound). A model that can at best equal another cannot.
    """
    low, high = bounds.transpose("bound", "model").drop_vars("bound")
    other = high.rename(model="other")
    lower = (low < other) | (low["model"] == other["other"])
    can_be: xr.DataArray = lower.all("other") | is_lowest(observed, "model")
    return can_be


def _count(missing: xr.DataArray, asked: xr.DataArray) -> xr.Dataset:
    """Count scores that were asked for and that are missing."""
    cells = [dim for dim in missing.dims if dim not in ("model", "judge", "dimension")]
    counts = xr.Dataset({"asked": asked.sum(cells), "missing": missing.sum(cells)})
    counts["share"] = counts["missing"] / counts["asked"].where(counts["asked"] > 0)
    for dim in ("model", "judge", "dimension"):
        over = [name for name in counts["asked"].dims if name != dim]
        total = counts[["missing", "asked"]].sum(over)
        counts[f"{dim}_share"] = total["missing"] / total["asked"].where(total["asked"] > 0)
    return counts


def _reasons(plan: ProfilePlan) -> dict[str, xr.DataArray]:
    """Return how many scores of each model are missing for each reason, if the data give any."""
    counts = plan.study.data.missing_reasons
    if not counts:
        return {}
    coords = {"reason": [*counts], "model": list(plan.study.data.labels["model"])}
    table = xr.DataArray(np.array([*counts.values()]), coords, [*coords])
    return {"reason_count": table.transpose("model", "reason")}


def _measure(plan: ProfilePlan, sub_index: xr.DataArray) -> xr.Dataset:
    """Return CVaR and mean of other sub-indices, over their leading dimensions."""
    profile = replace(plan, table=tabulate_harm(plan, sub_index)).profile(names=("cvar", "mean"))
    return profile.reset_coords(drop=True)


def _tilt(
    plan: ProfilePlan, missing: xr.DataArray, tilts: tuple[float, ...]
) -> dict[str, xr.DataArray]:
    """Return CVaR and mean under each tilt, the lowest model, and where it changes."""
    listed = np.array(sorted({0.0, *tilts}))
    grid = np.union1d(listed, np.arange(0.0, listed.max() + STEP / 2, STEP))
    profiles = xr.concat([*_tilted(plan, missing, grid)], xr.DataArray(grid, dims="tilt"))
    profiles = profiles.assign_coords(tilt=grid)
    cvar = profiles["cvar"]
    lowest = is_lowest(cvar, "model").argmax("model")
    changed = (lowest != lowest.isel(tilt=0)).to_numpy()
    names = cvar["model"].to_numpy()[lowest.to_numpy()]
    shown = {"tilt": listed}
    return {
        "tilt_cvar": cvar.sel(shown),
        "tilt_mean": profiles["mean"].sel(shown),
        "tilt_lowest": xr.DataArray(names, {"tilt": grid}, "tilt").sel(shown),
        "tipping": xr.DataArray(grid[changed][0] if changed.any() else np.nan),
        "tipping_lowest": xr.DataArray(names[changed][0] if changed.any() else ""),
    }


def _tilted(
    plan: ProfilePlan, missing: xr.DataArray, grid: NDArray[np.float64]
) -> Iterator[xr.Dataset]:
    """Yield the mean over draws of the metrics under each tilt."""
    sub_index, seed = plan.table["sub_index"], plan.study.spec.seed
    for tilt in grid:
        filled = tilted_scores(
            sub_index, missing, tilts=np.array([tilt]), draws=DRAWS, seed=seed
        ).isel(tilt=0, drop=True)
        yield _measure(plan, filled).mean("draw")
