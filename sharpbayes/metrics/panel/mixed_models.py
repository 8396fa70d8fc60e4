"""Mixed models of log-risk and of tail events with a prompt intercept (SHARP, Appendix H.3)."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOO_FEW = "fewer than two models or prompts"
AT_ZERO = "prompts vary no more than the residual: the estimate lies on its boundary"
# Standard deviations of the priors of fixed effects and of the logarithm of the prompts' sd.
FIXED_SD, LOG_SD = 2.0, 1.0
# A history of steps longer than usual saves a third of the evaluations.
HISTORY = 40
# Gauss-Legendre nodes over so many sds on either side integrate over the linear predictor.
NODES, REACH = 10, 5.0


def linear_mixed_model(x: xr.DataArray, *, dim: str) -> xr.Dataset:
    """Return the linear mixed model of log-risk with a random intercept by prompt, by REML.

    L = mu + alpha_M + u_q + e;  u ~ N(0, s2_prompt), e ~ N(0, s2)

    R2_marginal = V_fixed / V,  R2_conditional = (V_fixed + s2_prompt) / V,
    V = V_fixed + s2_prompt + s2

    Of log-risk over (model, ``dim``), complete, the result has ``prompt_variance`` and
    ``residual_variance`` in squared units, ``r2_marginal`` and ``r2_conditional`` in [0, 1]. NaN
    with fewer than two models or prompts, or where main effects leave nothing. Their attribute
    ``reason`` says why there is none, or that the estimate lies on its boundary; it is empty
    elsewhere.

    Source: SHARP, Appendix H.3; R2 of Nakagawa and Schielzeth 2013. Of a complete table the
    estimates of the analysis of variance solve REML (Searle, Casella and McCulloch 1992, section
    4.8): statsmodels' ``MixedLM``, which SHARP uses, converges to them.

    >>> x = xr.DataArray([[1.0, 4.0, 6.0], [2.0, 4.0, 7.0]], dims=("model", "prompt"))
    >>> found = linear_mixed_model(x, dim="prompt")  # mean squares 12.5 and 1/6
    >>> round(float(found["prompt_variance"]), 3), round(float(found["residual_variance"]), 3)
    (6.167, 0.167)
    """
    values = x.transpose("model", dim).to_numpy()
    prompt = residual = fixed = float("nan")
    if values.size:
        fixed = float(values.mean(axis=1).var())
    if min(values.shape) < 2:  # noqa: PLR2004 - no variance of one
        reason = TOO_FEW
    elif _residual(values) <= float(np.finfo(float).eps * 16 * np.abs(values).max()) ** 2:
        reason = "nothing but models and prompts varies"
    else:
        prompt, residual, reason = _estimate_variances(values)
    total = fixed + prompt + residual
    estimates = {
        "prompt_variance": prompt,
        "residual_variance": residual,
        "r2_marginal": fixed / total,
        "r2_conditional": (fixed + prompt) / total,
    }
    return xr.Dataset({name: ((), value, {"reason": reason}) for name, value in estimates.items()})


def tail_mixed_model(tail: xr.DataArray, *, dim: str, seed: int) -> xr.Dataset:
    """Return the logistic mixed model of tail events with a random intercept by prompt.

    logit P(Z = 1) = mu + alpha_M + u_q;  u ~ N(0, s2)

    Of Z, whether L >= VaR(M), over (model, ``dim``), complete, the result has ``tail_rate``, the
    share of cells in the tail, and ``tail_prompt_variance``: exp of the posterior mean of log s2 on
    the logit scale, by variational Bayes with N(0, 2^2) on fixed effects and N(0, 1) on log s. NaN
    (the variance) with fewer than two models or prompts, or where all cells are alike; the
    attribute ``reason`` says why.

    Source: SHARP, Appendix H.3; the lower bound, its quadrature and its start are those of
    statsmodels' ``BinomialBayesMixedGLM``, which SHARP uses. The variance is approximate:
    mean-field variational Bayes leaves out the correlations of the posterior.

    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(2 - 2 * rng.normal(size=200)))
    >>> tail = xr.DataArray(rng.random((5, 200)) < chance, dims=("model", "prompt"))
    >>> found = tail_mixed_model(tail, dim="prompt", seed=1)
    >>> 2 < float(found["tail_prompt_variance"]) < 6
    True
    """
    values = tail.transpose("model", dim).to_numpy().astype(float)
    rate = float(values.mean()) if values.size else float("nan")
    variance, reason = float("nan"), "all cells are in the tail, or none"
    if min(values.shape) < 2:  # noqa: PLR2004 - no variance of one
        reason = TOO_FEW
    elif 0 < rate < 1:
        variance, reason = _estimate_tail_variance(values, seed)
    return xr.Dataset(
        {"tail_prompt_variance": ((), variance, {"reason": reason}), "tail_rate": rate}
    )


def _residual(values: Floats) -> float:
    """Mean square of the residuals of the main effects."""
    models, prompts = values.shape
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return float((rest**2).sum() / ((models - 1) * (prompts - 1)))


def _estimate_variances(values: Floats) -> tuple[float, float, str]:
    """Variance of prompts and of the residual, and whether they lie on the boundary."""
    models, residual = len(values), _residual(values)
    between = models * float(values.mean(axis=0).var(ddof=1))
    prompt = (between - residual) / models
    if prompt > 0:
        return prompt, residual, ""
    within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum()
    return 0.0, float(within) / (values.size - models), AT_ZERO


def _estimate_tail_variance(values: Floats, seed: int) -> tuple[float, str]:
    """Variance of the prompt intercept on the logit scale, or why there is none."""
    from scipy.optimize import minimize  # noqa: PLC0415 - slow to import

    models, prompts = values.shape
    bound, number = _LowerBound(values), models + 1 + prompts
    noise = np.random.default_rng(seed).normal(size=number)
    start = np.r_[np.zeros(number), np.maximum(-0.5 + 0.1 * noise, -1.0)]
    # Memory of the default method grows with the square of the number of prompts.
    found = minimize(bound, start, jac=True, method="L-BFGS-B", options={"maxcor": HISTORY})
    if not found.success:
        return float("nan"), "VB fitting did not converge"
    return float(np.exp(2 * found.x[models])), ""


class _LowerBound:
    """The evidence lower bound, less its sign, of a logistic model with an intercept by prompt.

    The posterior of each parameter is normal: intercept and contrasts of models with the first, the
    logarithm of the prompts' sd, the intercepts of prompts. A point holds their means, then the
    logarithms of their sds.
    """

    def __init__(self, values: Floats) -> None:
        """Take zeros and ones over (model, prompt)."""
        self.values = values
        node, weight = np.polynomial.legendre.leggauss(NODES)
        self.node = (REACH * node)[:, None, None]
        density = np.exp(-(self.node**2) / 2) / np.sqrt(2 * np.pi)
        self.weight = REACH * weight[:, None, None] * density

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the bound's negative and its gradient."""
        mean, sd = point[: point.size // 2], np.exp(point[point.size // 2 :])
        spread = np.sqrt(self._add_up(sd**2))
        at_node = self._add_up(mean) + spread * self.node
        likelihood = (self.values * self._add_up(mean)).sum() - (
            self.weight * np.logaddexp(0.0, at_node)
        ).sum()
        slope = self.weight / (1.0 + np.exp(-at_node))
        mean_slope = self._gather(self.values - slope.sum(axis=0))
        variance_slope = self._gather(-(slope * self.node).sum(axis=0) / spread)
        prior, prior_mean_slope, prior_sd_slope = self._prior(mean, sd)
        bound = likelihood + prior + np.log(sd).sum()
        sd_slope = variance_slope * sd + prior_sd_slope + 1.0 / sd
        return -bound, -np.r_[mean_slope + prior_mean_slope, sd_slope * sd]

    def _add_up(self, parameters: Floats) -> Floats:
        """Sum of the parameters of each cell; shape (model, prompt)."""
        models = len(self.values)
        of_model = parameters[0] + np.r_[0.0, parameters[1:models]]
        cells: Floats = of_model[:, None] + parameters[models + 1 :]
        return cells

    def _gather(self, cells: Floats) -> Floats:
        """Sum over the cells of each parameter."""
        by_model = cells.sum(axis=1)
        sums: Floats = np.r_[by_model.sum(), by_model[1:], 0.0, cells.sum(axis=0)]
        return sums

    def _prior(self, mean: Floats, sd: Floats) -> tuple[float, Floats, Floats]:
        """Expected logarithm of the prior, and its slopes by means and by sds."""
        models = len(self.values)
        square = mean**2 + sd**2
        precision = np.full(mean.size, 1.0 / FIXED_SD**2)
        precision[models] = 1.0 / LOG_SD**2
        # Of effects of prompts, E exp(-2 log s) under the normal posterior of log s.
        precision[models + 1 :] = np.exp(2 * (sd[models] ** 2 - mean[models]))
        expected = -0.5 * (square * precision).sum() - mean[models] * (mean.size - models - 1)
        mean_slope, sd_slope = -mean * precision, -sd * precision
        scaled = (square * precision)[models + 1 :]
        mean_slope[models] += (scaled - 1.0).sum()
        sd_slope[models] -= 2.0 * sd[models] * scaled.sum()
        return float(expected), mean_slope, sd_slope
