"""Differences of a candidate and its reference that margins are about, observed and resampled."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from sharpbayes.analysis.gate_margins import compared_metrics, required_gate
from sharpbayes.analysis.gate_study import (
    ANCHOR_NOW,
    ANCHOR_THEN,
    CANDIDATE,
    REFERENCE,
    Comparison,
)
from sharpbayes.analysis.limited_metrics import limited_metric, select_value, split_label
from sharpbayes.analysis.profile_plan import ProfilePlan
from sharpbayes.metrics.panel.evidence import tail_prompts
from sharpbayes.metrics.panel.non_inferiority import upper_difference_bounds
from sharpbayes.metrics.panel.profile import CVARS, MEANS
from sharpbayes.metrics.stats.clusters import scale_errors
from sharpbayes.metrics.stats.resampling import block_size, bootstrap
from sharpbayes.metrics.stats.unseen import divided_error_rates

# Resamples that are beyond a bound, at the least: fewer do not tell where it lies.
MIN_BEYOND = 20
ROUNDING = 1e-9


@dataclass(frozen=True)
class Differences:
    """Differences of a candidate and its reference, and what their bounds follow from.

    Attributes:
        values: Metrics of each side, over (model, metric).
        observed: The differences, over (metric).
        resampled: The same over (replicate, metric).
        error: Standard error of each difference of tails, over (metric).
        errors: The same over (replicate, metric).
        freedom: Number of prompts that carry each, over (metric).
        limit: How far two models can differ, over (metric).
    """

    values: xr.DataArray
    observed: xr.DataArray
    resampled: xr.DataArray
    error: xr.DataArray
    errors: xr.DataArray
    freedom: xr.DataArray
    limit: xr.DataArray

    @property
    def is_flat(self) -> xr.DataArray:
        """Where resamples do not differ, over (metric)."""
        spread = self.resampled.max("replicate") - self.resampled.min("replicate")
        return spread <= ROUNDING

    @property
    def about(self) -> dict[str, xr.DataArray]:
        """Freedom and errors, as functions of bounds take them."""
        return {"freedom": self.freedom, "errors": self.errors, "error": self.error}

    def upper_bounds(self, confidence: float) -> xr.DataArray:
        """Return upper bounds over (error_rate, metric) from the one of a confidence on."""
        rates = divided_error_rates(1.0 - confidence)
        return upper_difference_bounds(self.observed, self.resampled, rates, **self.about)


def measure_differences(
    comparison: Comparison, plan: ProfilePlan, margin: xr.DataArray
) -> Differences:
    """Return the differences that margins are about, observed and resampled."""
    observed, resampled = _resample_sides(comparison, plan, margin)
    difference, deviations = (subtract_sides(data["value"]) for data in (observed, resampled))
    error, errors = (add_errors(data["error"]) for data in (observed, resampled))
    limit, freedom = _largest_difference(comparison, margin, plan), _freedom(margin, plan)
    return Differences(
        observed["value"], difference, deviations, error, errors, freedom=freedom, limit=limit
    )


def _resample_sides(
    comparison: Comparison, plan: ProfilePlan, margin: xr.DataArray
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return ``value`` and ``error`` of each model and metric, observed and over (replicate)."""
    study, names = comparison.study, compared_metrics(margin)

    def measure(counts: xr.DataArray | None) -> xr.Dataset:
        weighted = plan.profile if counts is None else partial(plan.profile_resample, counts)
        profile = weighted(names=names, errors=True)
        return xr.Dataset(
            {"value": gate_values(profile, margin), "error": tail_errors(profile, margin)}
        )

    min_replicates = round(MIN_BEYOND / (1.0 - required_gate(study.weights).confidence))
    resampled = bootstrap(
        measure,
        plan.table["prompt"],
        replicates=max(study.spec.bootstrap.replicates, min_replicates),
        seed=study.spec.seed,
        dim="prompt",
        block=block_size(int(np.prod([plan.table.sizes[dim] for dim in plan.dim]))),
    )
    observed = measure(None)
    if plan.clusters is None:
        return observed, resampled
    return scale_errors(observed, resampled, {"value": "error"})


def gate_values(profile: xr.Dataset, margin: xr.DataArray) -> xr.DataArray:
    """Return what each margin is about, over (..., model, metric), of a profile or its draws."""
    values = [select_value(profile, str(label)) for label in margin["metric"].to_numpy()]
    return xr.concat(values, margin["metric"], coords="minimal", compat="override")


def tail_errors(profile: xr.Dataset, margin: xr.DataArray) -> xr.DataArray:
    """Return the standard error of what a margin on one tail is about, missing for others.

    Over (..., model, metric), of a profile with errors. Prompts of a tail are few, so that its
    error in a resample depends on how far the tail of that resample reaches.
    """
    errors = [_tail_error(profile, str(label)) for label in margin["metric"].to_numpy()]
    return xr.concat(errors, margin["metric"], coords="minimal", compat="override")


def _tail_error(profile: xr.Dataset, label: str) -> xr.DataArray:
    """Return the standard error of a CVaR, missing for what is none, or the largest of several."""
    name = limited_metric(label)
    if name not in CVARS or label == "worst_dimension":
        return xr.full_like(select_value(profile, label), np.nan)
    return select_value(xr.Dataset({name: profile[f"{name}_error"]}), label)


def add_errors(errors: xr.DataArray) -> xr.DataArray:
    """Return the error of a sum of independent values, over (..., metric), from (..., model).

    Paired prompts make differences less uncertain; as a scale of resamples their sum does too.
    """
    total: xr.DataArray = (errors**2).sum("model", skipna=False) ** 0.5
    return total.transpose(..., "metric")


def subtract_sides(values: xr.DataArray) -> xr.DataArray:
    """Return how much worse the candidate is, less what its judges score higher, if measured."""
    candidate, reference = (values.sel(model=name, drop=True) for name in (CANDIDATE, REFERENCE))
    difference = candidate - reference
    if ANCHOR_NOW in values["model"]:
        difference = difference - drift_of_judges(values)
    return difference.transpose(..., "metric")


def drift_of_judges(values: xr.DataArray) -> xr.DataArray:
    """Return how much higher judges score the anchors than before; missing without anchors."""
    if ANCHOR_NOW not in values["model"]:
        return xr.full_like(values.isel(model=0, drop=True), np.nan)
    current, previous = (values.sel(model=name, drop=True) for name in (ANCHOR_NOW, ANCHOR_THEN))
    return current - previous


def _freedom(margin: xr.DataArray, plan: ProfilePlan) -> xr.DataArray:
    """Return the number of prompts that carry each metric, the fewest of any side, over (metric).

    Of a tail these are the prompts in it; of the worst dimension those of the one with the fewest.
    """
    alpha = plan.weights.tail.alpha
    of_dimension = tail_prompts(plan.table["harm"], alpha=alpha, weights=plan.target_weights())

    def count(label: str) -> xr.DataArray:
        _, dimension = split_label(label)
        if label in MEANS:
            return plan.effective_prompts
        if label == "cvar":
            return plan.tail_prompts
        return of_dimension.sel(dimension=dimension) if dimension else of_dimension

    carrying = [float(count(str(label)).min()) for label in margin["metric"].to_numpy()]
    return xr.DataArray(carrying, margin.coords, "metric").clip(min=1.0)


def _largest_difference(
    comparison: Comparison, margin: xr.DataArray, plan: ProfilePlan
) -> xr.DataArray:
    """Return over (metric) how far two models can differ, with the drift of judges, if measured."""
    labels = map(str, margin["metric"].to_numpy())
    limits = [plan.range_of(limited_metric(label))[1] for label in labels]
    largest = xr.DataArray(limits, margin.coords, "metric")
    return 2 * largest if comparison.anchors else largest
