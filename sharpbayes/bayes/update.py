"""A fit of ratings that were added to those of an earlier fit."""

from dataclasses import dataclass
from functools import partial

import xarray as xr

from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.kernel.layout import parameter_layout
from sharpbayes.bayes.predict.coordinates import to_coordinates
from sharpbayes.bayes.predict.replication import thin
from sharpbayes.bayes.predict.reweighting import EarlierFit, Reweighted, reweight
from sharpbayes.bayes.sampling.convergence import check_convergence
from sharpbayes.bayes.sampling.geometry import find_weights, set_weights
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import format_count
from sharpbayes.spec.model import Model
from sharpbayes.spec.study import Sampler

# Chains that begin at draws of an earlier fit have their step size and scales after so many steps.
WARM_TUNE = 100
# Draws of the earlier fit among which each chain has its start.
MAX_STARTS = 100
# Draws of the earlier fit that non-centring weights follow from.
MAX_JUDGED = 1000
# How an update came to its draws.
WEIGHTED, SAMPLED, AFRESH = "importance sampling", "chains", "fresh chains"
# Lengths below this one have another so many times as long after them.
COARSE_FROM, LENGTH_FACTOR = 1000, 1.4


@dataclass(frozen=True)
class Update:
    """Draws of an earlier fit that know new ratings, or why there are none to be used.

    ``diagnostics`` are None where ``reason`` says why chains have to run. They run ``afresh`` where
    only PyMC's graph samples the design, which takes no starts.
    """

    new_ratings: int
    reweighted: Reweighted | None = None
    diagnostics: xr.Dataset | None = None
    reason: str = ""
    afresh: bool = False

    @property
    def trace(self) -> xr.DataTree:
        """The weighted draws; ValueError where there are none."""
        if self.reweighted is None:
            raise ValueError(self.reason)
        return self.reweighted.trace

    @property
    def facts(self) -> dict[str, str | float]:
        """What results keep of an update."""
        method = WEIGHTED
        if self.diagnostics is None:
            method = AFRESH if self.afresh else SAMPLED
        facts: dict[str, str | float] = {"new_ratings": self.new_ratings, "method": method}
        if self.reweighted is not None:
            facts["pareto_k"] = round(self.reweighted.pareto_k, 3)
            facts["effective_draws"] = round(self.reweighted.effective_draws, 1)
        return facts | ({"reason": self.reason} if self.reason else {})

    @property
    def sentence(self) -> str:
        """What progress says of an update."""
        count = format_count(self.new_ratings, "new rating")
        if self.diagnostics is None and self.afresh:
            return f"{count}: chains start afresh, through PyMC's graph, because {self.reason}"
        if self.diagnostics is None:
            return f"{count}: chains run from the draws of the earlier fit, because {self.reason}"
        return f"{count}: the draws of the earlier fit are weighted, no chain runs"


def weight_draws(earlier: EarlierFit, design: Design, sampler: Sampler, *, seed: int) -> Update:
    """Weight the draws of an earlier fit by the new ratings, where that is reliable.

    It is where the new ratings bring no new parameter, Pareto's k is below its limit, and the
    weighted draws keep every limit of convergence.
    """
    outcome = partial(Update, int(earlier.new.sum()), afresh=bool(design.unsupported_by_kernel))
    sizes = earlier.posterior.sizes
    if sizes["chain"] < sampler.chains or sizes["draw"] < (sampler.draws or 0):
        return outcome(reason="the study asks for more draws than the results have")
    reweighted = reweight(earlier, design, seed=seed)
    if reweighted is None:
        return outcome(reason="they bring new parameters")
    if not reweighted.reliable:
        return outcome(reweighted, reason="weights of the earlier draws are unreliable")
    table = check_convergence(reweighted.trace, sampler)
    if not table["converged"]:
        return outcome(reweighted, reason="too few effective draws remain")
    settings = {name: getattr(sampler, name) for name in ("tune", "target_accept")}
    table.attrs |= {"attempts": 1, "draws": sizes["draw"]} | settings
    return outcome(reweighted, table)


def start_from(
    earlier: EarlierFit, design: Design, ratings: Ratings, model: Model
) -> tuple[Design, Floats]:
    """Return a design with the non-centring weights that the earlier draws suggest, and starts.

    Starts are coordinates of earlier draws, (start, coordinate). New levels begin at the middle of
    their prior.
    """
    weights = find_weights(thin(earlier.posterior, draws=MAX_JUDGED), earlier.design)
    tuned = set_weights(design, ratings, model, weights)
    draws = thin(earlier.posterior, draws=MAX_STARTS)
    labels = {
        f"{name}{end}": list(levels)
        for name, levels in tuned.coords.items()
        for end in ("", "_other")
        if f"{name}{end}" in draws.dims
    }
    return tuned, to_coordinates(draws.reindex(labels), tuned, parameter_layout(tuned))


class WarmSampler(Sampler):
    """Settings of chains that begin at earlier draws: short lengths lie closer together."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Draws of a chain after which convergence is checked; the last are the most."""
        lengths = super().lengths
        between = (round(LENGTH_FACTOR * n) for n in lengths[:-1] if n < COARSE_FROM)
        return tuple(sorted({*lengths, *(n for n in between if n < lengths[-1])}))


def shorten_tuning(sampler: Sampler) -> Sampler:
    """Return settings of chains that begin at earlier draws.

    >>> shorten_tuning(Sampler()).tune, shorten_tuning(Sampler(tune=50)).tune
    (100, 50)
    >>> shorten_tuning(Sampler(max_draws=2000)).lengths
    (250, 350, 500, 700, 1000, 2000)
    """
    return WarmSampler(**sampler.model_dump() | {"tune": min(sampler.tune, WARM_TUNE)})
