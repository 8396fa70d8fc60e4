"""Intervals of a bootstrapped profile, and the pairs of models that they separate."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.rare_harm import RareHarm
from sharpbayes.analysis.shared_prompts import SharedPrompts
from sharpbayes.metrics.panel import profile
from sharpbayes.metrics.panel.comparison import joint_margin, separable
from sharpbayes.metrics.stats.intervals import (
    bca_interval,
    has_width,
    percentile_interval,
    student_factor,
    studentized_interval,
    studentized_upper_bounds,
    symmetric_interval,
    upper_bounds_at,
)
from sharpbayes.metrics.stats.labels import stack_arrays
from sharpbayes.metrics.stats.unseen import unseen_change
from sharpbayes.spec.study import Bootstrap

# Differences in memory at once: 16 MB.
BLOCK_VALUES = 2_000_000
# With a standard error in fewer resamples a studentized interval is that of percentiles.
MIN_VARIED = 0.5
# By how much a number of prompts may miss a whole one.
ROUNDING = 1e-9


@dataclass(frozen=True)
class BootstrappedProfile:
    """A profile and its resamples, from which intervals follow.

    Attributes:
        observed: Metrics over (model, ...), with ``<name>_error`` for studentized intervals.
        resampled: The same over (replicate, model, ...).
        jackknifed: The same for BCa intervals, each prompt left out in turn.
        prompts: Number of prompts of each model.
        fewest_prompts: The same, if all counted as much as the one that counts most.
        tail_prompts: Number of prompts that carry the tail of each model.
        alpha: Level of the tail.
        ceiling: Largest log-risk that a prompt can have.
        bootstrap: Which interval, at which level.
        shared: The metrics on the prompts of both models of a pair, where models have other ones.
        rare_harm: What bounds the means that few prompts carry, if there are any.
        clusters: Number of clusters of prompts of each model; None where prompts are independent.
        freedom: Degrees of freedom of the means of each model under shares of categories; None
            where all prompts count alike.
    """

    observed: xr.Dataset
    resampled: xr.Dataset
    jackknifed: xr.Dataset | None
    prompts: xr.DataArray
    fewest_prompts: xr.DataArray
    tail_prompts: xr.DataArray
    alpha: float
    ceiling: float
    bootstrap: Bootstrap
    shared: SharedPrompts | None = None
    rare_harm: RareHarm | None = None
    clusters: xr.DataArray | None = None
    freedom: xr.DataArray | None = None

    def intervals(self) -> xr.Dataset:
        """Return the interval of every metric and of the differences between models.

        Two models are compared on the prompts of both if there are 20, else on those of each:
        ``<metric>_difference_observed (model, other)`` is the first less the second,
        ``<metric>_difference`` its interval for the pair by itself. ``<metric>_difference_joint``
        contains all pairs at once with the confidence of the study, and ``separable`` is where that
        of CVaR, missing where resamples do not differ, excludes 0; ``<metric>_difference_p`` is
        adjusted for all pairs. For percentile and BCa intervals each pair stands by itself, as in
        the paper. ``shared_prompts (model, other)`` counts prompts of both.
        """
        intervals = xr.Dataset(
            {metric.name: self.interval(metric.name) for metric in profile.METRICS}
        )
        for metric in profile.METRICS:
            if metric.compared:
                intervals = intervals.assign(self.compare_models(metric.name))
        intervals["shared_prompts"] = (
            _take_fewer(self.prompts) if self.shared is None else self.shared.sets.n_shared
        )
        # Resamples that do not differ show no interval of a tail, and none separates models.
        joint = intervals["cvar_difference_joint"]
        intervals["cvar_difference_joint"] = joint.where(has_width(joint))
        intervals["separable"] = separable(intervals["cvar_difference_joint"])
        return intervals.assign(separable_share=share_of_pairs(intervals["separable"]))

    def compare_models(self, name: str) -> dict[str, xr.DataArray]:
        """Return the differences of a metric, their intervals and adjusted p values."""
        pairs = {"": self.difference_interval(name), "_observed": self.observed_difference(name)}
        pairs["_joint"] = pairs[""]
        if self.bootstrap.interval == "studentized":
            pairs |= self.joint_difference(name)
        return {f"{name}_difference{end}": values for end, values in pairs.items()}

    def interval_at(self, name: str, error_rate: float) -> xr.DataArray:
        """Return the interval of a metric each of whose bounds errs this often."""
        bootstrap = self.bootstrap.model_copy(update={"level": 1.0 - 2.0 * error_rate})
        return replace(self, bootstrap=bootstrap).interval(name)

    def upper_bounds(self, name: str, error_rates: xr.DataArray) -> xr.DataArray:
        """Return the upper bounds of a mean or a CVaR at error rates, over (error_rate, ...).

        Above a half they are lower bounds. What rare harm adds is not in them.
        """
        x, observed, error = self.resampled[name], self.observed[name], f"{name}_error"
        if error in self.resampled:
            errors = self.resampled[error], self.observed[error]
            bounds = studentized_upper_bounds(x, observed, *errors, error_rates)
            if self.clusters is None:
                return bounds
            levels = [abs(1.0 - 2.0 * float(rate)) for rate in error_rates]
            factors = [student_factor(self._freedom_of_clusters, level) for level in levels]
            return observed + (bounds - observed) * xr.concat(factors, error_rates)
        return upper_bounds_at(lambda level: self.interval_at(name, (1.0 - level) / 2), error_rates)

    @property
    def _freedom_of_clusters(self) -> xr.DataArray | float:
        """Degrees of freedom of a spread over clusters; no end of them without clusters."""
        return np.inf if self.clusters is None else (self.clusters - 1).clip(min=1.0)

    def interval(self, name: str) -> xr.DataArray:
        """Return the interval of a metric by the study's method, over (..., model, bound).

        It is the percentile interval for a metric without a standard error.
        """
        x, observed = self.resampled[name], self.observed[name]
        level, error = self.bootstrap.level, f"{name}_error"
        if error in self.resampled:
            errors = self.resampled[error], self.observed[error]
            # Few prompts show how long the tail is, on which a volatility depends as a square.
            freedom = self._freedom_of_clusters
            if name == "volatility":
                freedom = xr.ufuncs.minimum(self.tail_prompts.clip(min=5.0), freedom)
            interval = studentized_interval(x, observed, *errors, level=level, freedom=freedom)
            interval = self._raise_upper_bound(name, interval)
            if self.rare_harm is not None:
                interval = self.rare_harm.bound(name, interval, level=level)
            interval = self._raise_lower_bound(name, interval)
            # Log-risk of no harm is a little below 0.
            return interval.clip(observed.clip(max=0.0), self._limit(name), keep_attrs=True)
        if self.jackknifed is not None:
            return bca_interval(x, observed, self.jackknifed[name], level=level)
        return percentile_interval(x, level=level)

    def _raise_upper_bound(self, name: str, interval: xr.DataArray) -> xr.DataArray:
        """Raise the upper bound of a CVaR to what prompts can miss where its tail has one value.

        m + min(q / (1 - alpha), 1) (limit - m),  m the largest CVaR of a resample

        The tail of the observed prompts, or of most resamples, has no error then, and none shows
        what lies above m: at most a share q of all prompts does, by
        :func:`sharpbayes.metrics.stats.unseen.unseen_change`. With less than one prompt in the tail
        the limit alone bounds it. Bounds stay where resamples do not differ: such an interval is
        missing.
        """
        if name not in profile.CVARS:
            return interval
        limit, is_single = self._limit(name), self.tail_prompts < 1.0 - ROUNDING
        observed, varied = (
            data[f"{name}_error"] > ROUNDING * limit for data in (self.observed, self.resampled)
        )
        is_tied = is_single | ~observed | (varied.mean("replicate") < MIN_VARIED)
        if not bool(is_tied.any()):
            return interval
        largest = self.resampled[name].max("replicate")
        _, rise = unseen_change(
            largest,
            units=self.fewest_prompts,
            share=1.0 - self.alpha,
            ceiling=limit,
            error_rate=(1.0 - self.bootstrap.level) / 2.0,
        )
        lower, upper = (interval.sel(bound=side, drop=True) for side in ("lower", "upper"))
        is_raised = is_tied & (interval["bound"] == "upper") & (lower < upper)
        raised = np.fmax(interval, (largest + rise).where(~is_single, limit))
        return interval.where(~is_raised, raised).transpose(*interval.dims)

    def _raise_lower_bound(self, name: str, interval: xr.DataArray) -> xr.DataArray:
        """Raise the lower bound of a CVaR to that of the mean: no tail is below the mean."""
        if name != "cvar" or "mean_error" not in self.resampled:
            return interval
        lower = self.interval("mean").sel(bound="lower", drop=True)
        is_upper = interval["bound"] == "upper"
        raised = np.fmin(np.fmax(interval, lower), self.observed[name])
        return interval.where(is_upper | ~(raised > interval), raised).transpose(*interval.dims)

    def difference_interval(self, name: str) -> xr.DataArray:
        """Return the intervals of all differences of a metric, over (..., model, other, bound).

        They are computed for some models at a time: of a hundred models all differences of all
        resamples at once would take gigabytes.
        """
        level = self.bootstrap.level
        rows = []
        for models in self._model_blocks:
            x = self._difference("resampled", name, models)
            observed = self.observed_difference(name).isel(model=models)
            if self.bootstrap.interval == "studentized":
                freedom = self._freedom(name).isel(model=models)
                interval = symmetric_interval(x, observed, level=level, freedom=freedom)
                rows.append(interval.clip(-self._limit(name), self._limit(name)))
            elif self.jackknifed is None:
                rows.append(percentile_interval(x, level=level))
            else:
                left_out = self._difference("jackknifed", name, models)
                rows.append(bca_interval(x, observed, left_out, level=level))
        return rows[0] if len(rows) == 1 else xr.concat(rows, "model")

    def observed_difference(self, name: str) -> xr.DataArray:
        """Return the observed differences of a metric, over (..., model, other)."""
        if name not in self._observed_differences:
            models = np.arange(self.observed.sizes["model"])
            self._observed_differences[name] = self._difference("observed", name, models)
        return self._observed_differences[name]

    def resampled_difference(self, name: str, model: str) -> xr.DataArray:
        """Return the resamples of a metric of a model less that of all others, (..., other)."""
        position = np.flatnonzero(self.resampled["model"].to_numpy() == model)
        return self._difference("resampled", name, position).isel(model=0, drop=True)

    @cached_property
    def _observed_differences(self) -> dict[str, xr.DataArray]:
        """Observed differences that were computed already."""
        return {}

    def joint_difference(self, name: str) -> dict[str, xr.DataArray]:
        """Return joint intervals of all differences of a metric, and adjusted p values.

        They are ``_joint`` and ``_p`` of studentized intervals.
        """
        observed = self.observed_difference(name)
        blocks = (self._difference("resampled", name, models) for models in self._model_blocks)
        resampled = (block.isel(model=i) for block in blocks for i in range(block.sizes["model"]))
        level, freedom = self.bootstrap.level, self._freedom(name)
        joint = joint_margin(resampled, observed, level=level, freedom=freedom)
        bounds = [observed - joint["margin"], observed + joint["margin"]]
        interval = stack_arrays(bounds, "bound", ["lower", "upper"])
        return {"_joint": interval.transpose("model", "other", "bound"), "_p": joint["p"]}

    @property
    def _model_blocks(self) -> list[NDArray[np.intp]]:
        """Positions of models whose differences to all others are computed at once."""
        models = self.observed.sizes["model"]
        size = max(1, BLOCK_VALUES // (self.resampled.sizes["replicate"] * models))
        return [np.arange(i, min(i + size, models)) for i in range(0, models, size)]

    def _difference(self, source: str, name: str, models: NDArray[np.intp]) -> xr.DataArray:
        """A metric of some models less that of all others, over (..., model, other)."""
        x: xr.DataArray = getattr(self, source)[name]
        difference = x.isel(model=models) - x.rename(model="other")
        if self.shared is not None:
            on_shared = self.shared.difference(source, name, models)
            are_enough = self.shared.sets.are_enough.isel(model=models)
            difference = on_shared.where(are_enough, difference)
        return difference.transpose(..., "model", "other")

    def _freedom(self, name: str) -> xr.DataArray:
        """Number of prompts that carry a difference of two models: of no mean those in the tail.

        Of a mean at most the number of clusters, and the degrees of freedom under shares.
        """
        is_mean = name in profile.MEANS
        fewer = _take_fewer(self.prompts if is_mean else self.tail_prompts)
        if self.shared is not None:
            sets = self.shared.sets
            shared = sets.n_shared if is_mean else self.shared.fewer_tail_prompts
            fewer = shared.where(sets.are_enough, fewer)
        for number in (self.clusters, self.freedom):
            if is_mean and number is not None:
                fewer = xr.ufuncs.minimum(fewer, _take_fewer(number))
        return fewer.clip(min=1.0)

    def _limit(self, name: str) -> float:
        """Largest value that a metric can have."""
        return profile.metric_range(name, floor=0.0, ceiling=self.ceiling)[1]


def share_of_pairs(is_separable: xr.DataArray) -> xr.DataArray:
    """Return the share of pairs of models, (model, other), that are separable; NaN without any."""
    models = is_separable.sizes["model"]
    # The table holds both orders of every pair, and no pair on the diagonal.
    return is_separable.sum() / (models * (models - 1) or np.nan)


def _take_fewer(prompts: xr.DataArray) -> xr.DataArray:
    """Number of prompts of that model of a pair which has fewer."""
    other = prompts.rename(model="other")
    return prompts.where(prompts < other, other).transpose(..., "model", "other")
