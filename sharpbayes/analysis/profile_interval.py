"""Intervals of a bootstrapped profile, and the pairs of models that they separate."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from sharpbayes.metrics.panel import profile
from sharpbayes.metrics.panel.comparison import joint_margin, separable
from sharpbayes.metrics.stats.intervals import (
    bca_interval,
    percentile_interval,
    studentized_interval,
    symmetric_interval,
)
from sharpbayes.spec.study import Bootstrap


@dataclass(frozen=True)
class BootstrappedProfile:
    """A profile and its resamples, from which intervals follow.

    Attributes:
        observed: Metrics over (model, ...), with ``<name>_error`` for studentized intervals.
        resampled: The same over (replicate, model, ...).
        jackknifed: The same for BCa intervals, each prompt left out in turn.
        prompts: Number of prompts of each model.
        alpha: Tail level.
        ceiling: Largest log-risk that a prompt can have.
        bootstrap: Which interval, at which level.
    """

    observed: xr.Dataset
    resampled: xr.Dataset
    jackknifed: xr.Dataset | None
    prompts: xr.DataArray
    alpha: float
    ceiling: float
    bootstrap: Bootstrap

    def intervals(self) -> xr.Dataset:
        """Return the interval of every metric and of the differences between models.

        ``cvar_difference_joint`` contains all pairs at once with the confidence of the study, and
        ``separable`` is where it excludes 0; ``cvar_difference_p`` is adjusted for all pairs. For
        percentile and BCa intervals each pair stands by itself, as in the paper.
        """
        intervals = xr.Dataset(
            {metric.name: self.interval(metric.name) for metric in profile.METRICS}
        )
        for metric in profile.METRICS:
            if metric.compared:
                intervals[f"{metric.name}_difference"] = self.difference_interval(metric.name)
        intervals["cvar_difference_joint"] = intervals["cvar_difference"]
        if self.bootstrap.interval == "studentized":
            intervals = intervals.assign(self.joint_differences())
        intervals["separable"] = separable(intervals["cvar_difference_joint"])
        models = self.observed.sizes["model"]
        # The table holds both orders of every pair, and no pair on the diagonal.
        pairs = models * (models - 1) or np.nan
        return intervals.assign(separable_share=intervals["separable"].sum() / pairs)

    def interval(self, name: str) -> xr.DataArray:
        """Return the interval of a metric by the study's method, over (..., model, bound).

        It is the percentile interval for a metric without a standard error.
        """
        x, observed = self.resampled[name], self.observed[name]
        level, error = self.bootstrap.level, f"{name}_error"
        if error in self.resampled:
            errors = self.resampled[error], self.observed[error]
            # Few prompts show how long the tail is, on which a volatility depends as a square.
            freedom = self._carrying(name).clip(min=5.0) if name == "volatility" else np.inf
            interval = studentized_interval(x, observed, *errors, level=level, freedom=freedom)
            # Log-risk of no harm is a little below 0.
            return interval.clip(observed.clip(max=0.0), self._limit(name), keep_attrs=True)
        if self.jackknifed is not None:
            return bca_interval(x, observed, self.jackknifed[name], level=level)
        return percentile_interval(x, level=level)

    def difference_interval(self, name: str) -> xr.DataArray:
        """Return the intervals of all differences of a metric, over (..., model, other, bound).

        They are computed model by model: of a hundred models all differences of all resamples at
        once would take gigabytes.
        """
        level = self.bootstrap.level
        rows = []
        for model in range(self.observed.sizes["model"]):
            x, observed = (
                table[name].isel(model=[model]) - table[name].rename(model="other")
                for table in (self.resampled, self.observed)
            )
            if self.bootstrap.interval == "studentized":
                freedom = self._freedom(name).isel(model=[model])
                interval = symmetric_interval(x, observed, level=level, freedom=freedom)
                rows.append(interval.clip(-self._limit(name), self._limit(name)))
            elif self.jackknifed is None:
                rows.append(percentile_interval(x, level=level))
            else:
                jackknifed = self.jackknifed[name]
                left_out = jackknifed.isel(model=[model]) - jackknifed.rename(model="other")
                rows.append(bca_interval(x, observed, left_out, level=level))
        return xr.concat(rows, "model")

    def joint_differences(self) -> dict[str, xr.DataArray]:
        """Return joint intervals of all differences of CVaR, and adjusted p values.

        They are ``cvar_difference_joint`` and ``cvar_difference_p`` of studentized intervals.
        """
        joint = joint_margin(
            self.resampled["cvar"],
            self.observed["cvar"],
            level=self.bootstrap.level,
            freedom=self._freedom("cvar"),
        )
        difference = self.observed["cvar"] - self.observed["cvar"].rename(model="other")
        bounds = [difference - joint["margin"], difference + joint["margin"]]
        interval = xr.concat(bounds, "bound").transpose("model", "other", "bound")
        return {
            "cvar_difference_joint": interval.assign_coords(bound=["lower", "upper"]),
            "cvar_difference_p": joint["p"],
        }

    def _carrying(self, name: str) -> xr.DataArray:
        """Number of prompts that carry a metric: of a tail only those in it."""
        share = 1.0 if name in ("mean", "policy_score") else 1.0 - self.alpha
        return (self.prompts * share).clip(min=1.0)

    def _freedom(self, name: str) -> xr.DataArray:
        """Number of prompts that carry a difference of two models."""
        carrying = self._carrying(name)
        other = carrying.rename(model="other")
        return carrying.where(carrying < other, other).transpose(..., "model", "other")

    def _limit(self, name: str) -> float:
        """Largest value that a metric can have."""
        return self.ceiling if self.observed[name].attrs["units"] == "nat" else 1.0
