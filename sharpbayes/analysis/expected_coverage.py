"""How often an interval of CVaR should hold the truth at the design of a study, by simulation."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.analysis.profile_interval import BootstrappedProfile
from sharpbayes.execution.threads import thread_map, use_map
from sharpbayes.metrics.panel.evidence import count_prompts, is_saturated, tail_prompts
from sharpbayes.metrics.panel.profile import METRICS
from sharpbayes.metrics.panel.simulated_risk import SHAPES, RiskShape, fit_shape
from sharpbayes.metrics.panel.tail import Weights, upper_tail
from sharpbayes.metrics.stats.metric import describe
from sharpbayes.metrics.stats.resampling import block_size, bootstrap, jackknife
from sharpbayes.spec.study import Bootstrap
from sharpbayes.spec.weights import Tail

# A standard error of 0.015 in the coverage of one model.
STUDIES = 200
# Resamples of a simulated study, where the study itself has no fewer.
MAX_REPLICATES = 200
# Coverage grows with prompts: more are simulated as this many. Saturated cells that would be in
# fewer than so many of them are left out then: they hardly move a CVaR of more prompts.
MAX_PROMPTS, MIN_SATURATED = 1000, 5


def expected_coverage(
    harm: xr.DataArray,
    log_risk: xr.DataArray,
    *,
    tail: Tail,
    epsilon: float,
    bootstrap: Bootstrap,
    seed: int,
    weights: Weights | None = None,
) -> xr.DataArray:
    """Return how often the interval of CVaR should hold the truth at this design, by model.

    New studies with as many prompts are drawn from smooth shapes with the moments of log-risk; it
    is the lowest share of their intervals that hold the CVaR of the shape. There are as many
    saturated cells as in the study: for one shape as they fall on prompts, for the other
    independent of each other. Of harm over (model, prompt[, sample], dimension) and log-risk over
    (model, prompt[, sample]); repeated answers, and prompts that ``weights`` do not count alike,
    are so many single ones as have as many prompts in their tail. NaN for a model whose log-risk
    does not vary.
    """
    saturated = is_saturated(harm, epsilon=epsilon).sum("dimension")
    prompts = tail_prompts(log_risk, alpha=tail.alpha, weights=weights) / (1.0 - tail.alpha)
    step = -float(np.log(epsilon))
    shares = []
    for number, family in enumerate(SHAPES):
        shape = fit_shape(
            family,
            log_risk,
            saturated,
            step=step,
            ceiling=step * harm.sizes["dimension"],
            weights=weights,
        )
        if family == "lognormal":
            shape = shape.with_independent_cells(harm.sizes["dimension"])
        design = Simulation(shape, tail, bootstrap, seed=seed + number)
        shares.append(design.coverage(prompts.to_numpy().round().astype(int)))
    return prompts.copy(data=np.min(shares, axis=0))


@dataclass(frozen=True)
class Simulation:
    """Studies of a known shape, and the interval of CVaR that each of them has.

    Attributes:
        shape: Distribution of log-risk of each model.
        tail: Level and estimator of CVaR.
        bootstrap: Which interval, at which level.
        seed: Seed of every random number.
    """

    shape: RiskShape
    tail: Tail
    bootstrap: Bootstrap
    seed: int

    def coverage(self, prompts: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the share of studies whose interval holds the truth, by model."""
        known = np.flatnonzero(np.isfinite(self.shape.mean))
        coverage = np.full(len(self.shape.mean), np.nan)
        if not known.size:
            return coverage
        shape = self.shape.select(known)
        if prompts.max() > MAX_PROMPTS:
            shape = shape.without_rare(MIN_SATURATED / MAX_PROMPTS)
        truth = shape.cvar(alpha=self.tail.alpha, estimator=self.tail.estimator)
        risk = self._draw(shape, np.minimum(prompts[known], MAX_PROMPTS))
        with use_map(thread_map):  # seconds of work, which no checkpoint need keep
            interval = self.intervals(risk)
        lower, upper = interval.transpose("bound", "study", "model").to_numpy()
        coverage[known] = ((lower <= truth) & (truth <= upper)).mean(axis=0)
        return coverage

    def _draw(self, shape: RiskShape, prompts: NDArray[np.integer]) -> xr.DataArray:
        """Log-risk over (study, prompt, model), with as many prompts as each model has."""
        rng = np.random.default_rng(self.seed)
        risk = shape.draw(rng, studies=STUDIES, prompts=int(prompts.max()))
        risk[:, np.arange(prompts.max())[:, None] >= prompts] = np.nan
        return xr.DataArray(risk, dims=("study", "prompt", "model"))

    def intervals(self, risk: xr.DataArray) -> xr.DataArray:
        """Return the interval of CVaR of studies over (study, prompt, model), by this method."""
        errors = self.bootstrap.interval == "studentized"
        compute = partial(_tail_risk, risk, tail=self.tail, errors=errors)
        prompts, block = risk["prompt"], block_size(risk.size)
        replicates = min(self.bootstrap.replicates, MAX_REPLICATES)
        resampled = bootstrap(
            compute, prompts, replicates=replicates, seed=self.seed, dim="prompt", block=block
        )
        jackknifed = None
        if self.bootstrap.interval == "bca":
            jackknifed = jackknife(compute, prompts, dim="prompt", block=block)
        return BootstrappedProfile(
            observed=compute(None),
            resampled=resampled,
            jackknifed=jackknifed,
            prompts=count_prompts(risk),
            fewest_prompts=count_prompts(risk),
            tail_prompts=tail_prompts(risk, alpha=self.tail.alpha),
            alpha=self.tail.alpha,
            ceiling=self.shape.ceiling,
            bootstrap=self.bootstrap,
        ).interval("cvar")


def _tail_risk(
    risk: xr.DataArray, weights: xr.DataArray | None, *, tail: Tail, errors: bool
) -> xr.Dataset:
    """CVaR, and its standard error where it is asked for."""
    upper = upper_tail(
        risk, alpha=tail.alpha, estimator=tail.estimator, weights=weights, errors=errors
    )
    values = {"cvar": upper.mean} | ({"cvar_error": upper.error} if errors else {})
    return describe(xr.Dataset(values), METRICS)
