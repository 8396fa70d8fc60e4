"""Draws of a fit under stronger and weaker priors, whatever is decided by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import xarray as xr

from sharpbayes.bayes.predict.log_prior import log_prior
from sharpbayes.bayes.predict.replication import joint_log_likelihood
from sharpbayes.metrics.stats.draws import DRAWS
from sharpbayes.posterior.power_scaling import STEP, pareto_k, power_scale, sensitivity
from sharpbayes.posterior.replicates import ReplicateDraws

ALL_PRIORS = "all priors"
# Each prior counts half and twice. A normal prior is then 1.41 times as wide, or as narrow.
POWERS = (0.5, 2.0)
# Elements of a variable of which sensitivity is computed, those furthest from 0.
MAX_ELEMENTS = 50


@dataclass(frozen=True)
class ScaledPriors:
    """Weights of draws under powers of each prior and of the likelihood.

    Attributes:
        posterior: The draws, over (chain, draw, ...).
        densities: Log density (chain, draw) of each prior, by its name; all together first.
        laws: The law of each.
        log_likelihood: That of all ratings, over (chain, draw); None where it is not known.
    """

    posterior: xr.Dataset
    densities: Mapping[str, xr.DataArray]
    laws: tuple[str, ...]
    log_likelihood: xr.DataArray | None

    @property
    def number(self) -> int:
        """Number of draws."""
        return self.posterior.sizes["chain"] * self.posterior.sizes["draw"]

    @property
    def labels(self) -> xr.DataArray:
        """Names of the priors, over (prior)."""
        return xr.DataArray(list(self.densities), dims="prior", name="prior")

    @cached_property
    def scaled(self) -> xr.DataArray:
        """Weights (prior, power, chain, draw) under :data:`POWERS`."""
        return xr.concat([power_scale(x, POWERS) for x in self.densities.values()], self.labels)

    @cached_property
    def steps(self) -> xr.DataArray:
        """Weights (prior, power, chain, draw) under the powers of a derivative."""
        return xr.concat([power_scale(x, STEP) for x in self.densities.values()], self.labels)

    @cached_property
    def likelihood_steps(self) -> xr.DataArray | None:
        """The same of the likelihood, over (power, chain, draw)."""
        return None if self.log_likelihood is None else power_scale(self.log_likelihood, STEP)

    @cached_property
    def pareto_k(self) -> xr.DataArray:
        """Pareto k of the weights, over (prior, power)."""
        return xr.concat([pareto_k(x, POWERS) for x in self.densities.values()], self.labels)

    def sensitivity_of(self, quantities: xr.DataArray) -> xr.DataArray:
        """Return the sensitivity of quantities (chain, draw, ...) to each prior."""
        by_prior = [sensitivity(quantities, self.steps.sel(prior=name)) for name in self.densities]
        return xr.concat(by_prior, self.labels)

    def likelihood_sensitivity_of(self, quantities: xr.DataArray) -> xr.DataArray:
        """Return their sensitivity to the likelihood, missing where it is not known."""
        if self.likelihood_steps is None:
            return xr.full_like(quantities.isel(dict.fromkeys(DRAWS, 0), drop=True), np.nan)
        return sensitivity(quantities, self.likelihood_steps)

    @cached_property
    def parameters(self) -> dict[str, xr.DataArray]:
        """Largest sensitivity of the parameters of each prior, to it and to the likelihood.

        That of all priors together is the largest of all parameters.
        """
        names = [name for name in self.densities if name != ALL_PRIORS]
        elements = {name: _elements(self.posterior[name]) for name in names}
        elements = {ALL_PRIORS: xr.concat(elements.values(), "element"), **elements}
        to_prior = [
            sensitivity(values, self.steps.sel(prior=name, drop=True)).max()
            for name, values in elements.items()
        ]
        to_likelihood = [self.likelihood_sensitivity_of(x).max() for x in elements.values()]
        return {
            "parameter_sensitivity": self._over_priors(to_prior),
            "parameter_likelihood_sensitivity": self._over_priors(to_likelihood),
        }

    def _over_priors(self, values: list[xr.DataArray]) -> xr.DataArray:
        """Values with the names of the priors."""
        return xr.DataArray(np.array(values), {"prior": self.labels}, "prior")


def scale_priors(groups: Mapping[str, xr.Dataset], draws: ReplicateDraws) -> ScaledPriors:
    """Return the draws under other priors; ``groups`` may have ``log_likelihood``.

    Without it, as of very many ratings, that of a fit without careless raters is not known.
    """
    densities = {str(name): x for name, x in log_prior(draws.posterior, draws.design).items()}
    return ScaledPriors(
        posterior=draws.posterior,
        densities={ALL_PRIORS: reduce(add, densities.values()), **densities},
        laws=("their product", *(x.attrs["law"] for x in densities.values())),
        log_likelihood=_log_likelihood(groups, draws),
    )


def _log_likelihood(groups: Mapping[str, xr.Dataset], draws: ReplicateDraws) -> xr.DataArray | None:
    """Log-likelihood of all ratings of every draw; None where those of single ones are not kept.

    Ratings of careless raters depend on each other, so that theirs do not add up.
    """
    if draws.design.careless is not None:
        total = joint_log_likelihood(draws.posterior, draws.design).reshape(draws.shape)
    elif "log_likelihood" in groups:
        stored = groups["log_likelihood"].transpose(*DRAWS, ...)
        parts = [x.to_numpy().sum(axis=-1, dtype=float) for x in stored.data_vars.values()]
        total = np.sum(parts, axis=0)
    else:
        return None
    return xr.DataArray(total, draws.coords, DRAWS)


def _elements(values: xr.DataArray) -> xr.DataArray:
    """Elements of a variable that vary, at most so many of them, (chain, draw, element)."""
    array = values.transpose(*DRAWS, ...)
    flat = array.to_numpy().reshape(*array.shape[:2], -1)
    varies = np.flatnonzero(np.ptp(flat, axis=(0, 1)) > 0)
    furthest = varies[np.argsort(-abs(flat[..., varies].mean((0, 1))))[:MAX_ELEMENTS]]
    return xr.DataArray(flat[..., furthest], {x: values[x] for x in DRAWS}, (*DRAWS, "element"))
