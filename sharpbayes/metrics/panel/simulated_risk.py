"""Studies of known tail risk that resemble a panel: smooth shapes with its moments."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.metrics.panel.profile import volatility, weighted_mean
from sharpbayes.metrics.panel.tail import (
    Estimator,
    Weights,
    conditional_value_at_risk,
    unit_weights,
)

Floats = NDArray[np.float64]
Shape = Literal["gamma", "lognormal"]
SHAPES: tuple[Shape, ...] = ("gamma", "lognormal")
# Points at which the quantiles of a shape are computed.
GRID = 20_000
# A smaller sd relative to the mean is none.
ROUNDING = 1e-9


@dataclass(frozen=True)
class RiskShape:
    """A distribution of log-risk: L = X + k u, at most a ceiling.

    X has the shape, and the mean and sd of the study's log-risk without its saturated cells; k is
    the number of saturated cells of a prompt, as often as in the study, and u the log-risk of one.

    Attributes:
        shape: Family of X.
        mean: Mean of X of each model.
        sd: Standard deviation of X of each model; both above 0.
        share: Share of prompts with 0, 1, ... saturated cells over (model, cells), adding up to 1.
        step: Log-risk of a saturated cell, -log(epsilon).
        ceiling: Largest log-risk that a prompt can have.

    A resample of the study itself holds nothing above its largest value; such a shape does.

    >>> one = RiskShape("gamma", np.ones(1), np.ones(1), np.ones((1, 1)), step=13.8, ceiling=55.0)
    >>> one.cvar(alpha=0.95, estimator="inclusive").round(2)
    array([3.99])
    """

    shape: Shape
    mean: Floats
    sd: Floats
    share: Floats
    step: float
    ceiling: float

    def select(self, models: NDArray[np.intp]) -> "RiskShape":
        """Return the shape of some models, by their positions."""
        values = {name: getattr(self, name)[models] for name in ("mean", "sd", "share")}
        return replace(self, **values)

    def with_independent_cells(self, cells: int) -> "RiskShape":
        """Return the shape whose numbers of saturated cells are binomial, with as many on average.

        A study of few prompts may have none with two saturated cells, and still be of a population
        that has them.

        >>> one = RiskShape("gamma", np.ones(1), np.ones(1), np.array([[0.8, 0.2]]), 13.8, 27.6)
        >>> one.with_independent_cells(2).share.round(2)
        array([[0.81, 0.18, 0.01]])
        """
        from scipy.special import comb  # noqa: PLC0415 - quick to start without it

        k = np.arange(cells + 1)
        rate = (self.share @ np.arange(self.share.shape[1]) / cells)[:, None]
        share = comb(cells, k) * rate**k * (1.0 - rate) ** (cells - k)
        return replace(self, share=share[:, : int(np.flatnonzero((share > 0).any(0)).max()) + 1])

    def without_rare(self, share: float) -> "RiskShape":
        """Return the shape without numbers of saturated cells that fewer prompts have."""
        kept = np.where(self.share >= share, self.share, 0.0)
        return replace(self, share=kept / kept.sum(axis=1, keepdims=True))

    def draw(self, rng: np.random.Generator, *, studies: int, prompts: int) -> Floats:
        """Draw the log-risk of new studies over (study, prompt, model)."""
        size = (studies, prompts, len(self.mean))
        if self.shape == "gamma":
            smooth = rng.gamma(self._concentration, self.mean / self._concentration, size)
        else:
            smooth = rng.lognormal(*self._log_moments, size)
        if self.share.shape[1] > 1:
            # The number of saturated cells: how many of its cumulative shares a draw exceeds.
            cumulative, draws = self.share.cumsum(axis=1)[:, :-1], rng.random(size)
            smooth += self.step * (draws[..., None] > cumulative).sum(-1)
        return np.minimum(smooth, self.ceiling)

    def cvar(self, *, alpha: float, estimator: Estimator) -> Floats:
        """Return the CVaR of each model, from the quantiles of X."""
        cells = self.step * np.arange(self.share.shape[1])
        values = np.minimum(self._quantiles[:, :, None] + cells, self.ceiling)
        weights = np.broadcast_to(self.share[:, None, :], values.shape)
        return np.array(
            [
                float(
                    conditional_value_at_risk(
                        xr.DataArray(x.ravel(), dims="prompt"),
                        alpha=alpha,
                        estimator=estimator,
                        weights=xr.DataArray(w.ravel(), dims="prompt"),
                    )
                )
                for x, w in zip(values, weights, strict=True)
            ]
        )

    @cached_property
    def _concentration(self) -> Floats:
        """First parameter of a gamma distribution."""
        return (self.mean / self.sd) ** 2

    @property
    def _log_moments(self) -> tuple[Floats, Floats]:
        """Mean and sd of the logarithm of a log-normal variable."""
        variance = np.log1p((self.sd / self.mean) ** 2)
        return np.log(self.mean) - variance / 2, np.sqrt(variance)

    @property
    def _quantiles(self) -> Floats:
        """Quantiles of X over (model, point)."""
        from scipy.special import gammaincinv, ndtri  # noqa: PLC0415 - quick to start without it

        share = (np.arange(GRID) + 0.5) / GRID
        if self.shape == "gamma":
            k = self._concentration[:, None]
            scaled: Floats = gammaincinv(k, share) * self.mean[:, None] / k
            return scaled
        mean, sd = (moment[:, None] for moment in self._log_moments)
        result: Floats = np.exp(mean + sd * ndtri(share))
        return result


def fit_shape(
    shape: Shape,
    log_risk: xr.DataArray,
    saturated: xr.DataArray,
    *,
    step: float,
    ceiling: float,
    weights: Weights | None = None,
) -> RiskShape:
    """Fit a shape by moments.

    Of log-risk and the number of saturated cells over (model, ...), missing values left out;
    ``weights`` are those of :func:`sharpbayes.metrics.panel.tail.value_at_risk`. A model without
    two different values of X has NaN.

    Source: none; the method of moments.

    >>> risk = xr.DataArray([[1.0, 3.0, 15.8]], dims=("model", "prompt"))
    >>> shape = fit_shape("gamma", risk, (risk > 13.8) * 1, step=13.8, ceiling=55.0)
    >>> shape.mean.round(3), shape.sd.round(3), shape.share.round(3)
    (array([2.]), array([1.]), array([[0.667, 0.333]]))
    """
    dims = [str(dim) for dim in log_risk.dims if dim != "model"]
    present = log_risk.notnull()
    smooth = (log_risk - step * saturated).clip(min=0.0)
    count, units = present.sum(dims), unit_weights(log_risk, dim=dims, weights=weights)
    mean = weighted_mean(smooth, dim=dims, weights=units)
    sd = volatility(smooth, dim=dims, weights=units) * (count / (count - 1).where(count > 1)) ** 0.5
    valid = (count > 1) & (sd > ROUNDING * mean)
    cells = np.arange(int(saturated.where(present).max()) + 1)
    flags = ((saturated == k).where(present).astype(float) for k in cells)
    shares = [weighted_mean(flag, dim=dims, weights=units) for flag in flags]
    return RiskShape(
        shape,
        mean.where(valid).to_numpy(),
        sd.where(valid).to_numpy(),
        np.stack(shares, axis=-1),
        step,
        ceiling,
    )
