"""Mixed models of log-risk and of tail events with a prompt intercept (SHARP, Appendix H.3)."""

import warnings

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOO_FEW = "fewer than two models or prompts"
AT_ZERO = "prompts vary no more than the residual: the estimate lies on its boundary"
NOT_CONVERGED = "statsmodels did not converge: estimates of the analysis of variance"


def linear_mixed_model(x: xr.DataArray, *, dim: str) -> xr.Dataset:
    """Return the linear mixed model of log-risk with a random intercept by prompt, by REML.

    L = mu + alpha_M + u_q + e;  u ~ N(0, s2_prompt), e ~ N(0, s2)

    R2_marginal = V_fixed / V,  R2_conditional = (V_fixed + s2_prompt) / V,
    V = V_fixed + s2_prompt + s2

    Of log-risk over (model, ``dim``), complete, the result has ``prompt_variance`` and
    ``residual_variance`` in squared units, ``r2_marginal`` and ``r2_conditional`` in [0, 1]. NaN
    with fewer than two models or prompts, or where main effects leave nothing. Their attribute
    ``reason`` says why there is none, or why they are not statsmodels' own; it is empty elsewhere.

    Source: SHARP, Appendix H.3, through statsmodels' ``MixedLM``; R2 of Nakagawa and Schielzeth
    2013. The fit starts at the analysis-of-variance estimates, which solve a complete table: from
    its own start ``MixedLM`` can stop short of them. Where they are 0 ``MixedLM`` has no solution,
    and they are the result.

    >>> x = xr.DataArray([[1.0, 4.0, 6.0], [2.0, 4.0, 7.0]], dims=("model", "prompt"))
    >>> fit = linear_mixed_model(x, dim="prompt")  # mean squares 12.5 and 1/6
    >>> round(float(fit["prompt_variance"]), 3), round(float(fit["residual_variance"]), 3)
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

    Source: SHARP, Appendix H.3, through statsmodels' ``BinomialBayesMixedGLM``. The variance is
    approximate: mean-field variational Bayes leaves out the correlations of the posterior.

    >>> rng = np.random.default_rng(1)
    >>> chance = 1 / (1 + np.exp(2 - 2 * rng.normal(size=200)))
    >>> tail = xr.DataArray(rng.random((5, 200)) < chance, dims=("model", "prompt"))
    >>> fit = tail_mixed_model(tail, dim="prompt", seed=1)
    >>> 2 < float(fit["tail_prompt_variance"]) < 6
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


def _design(models: int, prompts: int) -> tuple[Floats, NDArray[np.int64]]:
    """Intercept with treatment contrasts of models, and the prompt, of every cell by prompt."""
    contrasts = np.eye(models)
    contrasts[:, 0] = 1.0
    return np.tile(contrasts, (prompts, 1)), np.repeat(np.arange(prompts), models)


def _residual(values: Floats) -> float:
    """Mean square of the residuals of the main effects."""
    models, prompts = values.shape
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return float((rest**2).sum() / ((models - 1) * (prompts - 1)))


def _estimate_variances(values: Floats) -> tuple[float, float, str]:
    """Variance of prompts and of the residual, and why they are not those of statsmodels."""
    models = len(values)
    residual = _residual(values)
    between = models * float(values.mean(axis=0).var(ddof=1))
    prompt = (between - residual) / models
    if prompt <= 0:
        within = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum()
        return 0.0, float(within) / (values.size - models), AT_ZERO
    estimates = _fit_mixed_model(values, prompt / residual)
    return (prompt, residual, NOT_CONVERGED) if estimates is None else (*estimates, "")


def _fit_mixed_model(values: Floats, ratio: float) -> tuple[float, float] | None:
    """Variances by statsmodels from a starting ratio; None where it does not converge."""
    from statsmodels.regression import mixed_linear_model  # noqa: PLC0415 - a second to import

    mean = values.mean(axis=1)
    start = mixed_linear_model.MixedLMParams.from_components(
        fe_params=np.r_[mean[0], mean[1:] - mean[0]], cov_re=np.array([[ratio]])
    )
    exog, group = _design(*values.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converged is read from the fit
        try:
            model = mixed_linear_model.MixedLM(values.T.ravel(), exog, groups=group)
            fit = model.fit(reml=True, start_params=start)
        except np.linalg.LinAlgError:
            return None
    estimates = float(fit.cov_re[0, 0]), float(fit.scale)
    return estimates if fit.converged and np.isfinite(estimates).all() else None


def _estimate_tail_variance(values: Floats, seed: int) -> tuple[float, str]:
    """Variance of the prompt intercept on the logit scale, or why there is none."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to import
    from statsmodels.genmod import bayes_mixed_glm  # noqa: PLC0415 - a second to import

    models, prompts = values.shape
    exog, group = _design(models, prompts)
    prompt_of_cell = csr_matrix((np.ones(group.size), (np.arange(group.size), group)))
    model = bayes_mixed_glm.BinomialBayesMixedGLM(
        values.T.ravel(), exog, prompt_of_cell, ident=np.zeros(prompts, dtype=np.int64)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it converged is read from the fit
        # Memory of the default method grows with the square of the number of prompts; a longer
        # history of steps than usual saves a third of the evaluations.
        fit = model.fit_vb(
            fit_method="L-BFGS-B", minim_opts={"maxcor": 40}, rng=np.random.default_rng(seed)
        )
    if not fit.optim_retvals.success:
        return float("nan"), "VB fitting did not converge"
    return float(np.exp(2 * fit.vcp_mean[0])), ""
