"""Log density of each prior of a model file at draws, without PyMC.

Priors are those at the top of a model: of sds, of correlations, of cutpoints, of the share of
careless raters, and of effects with a fixed sd. Effects with an sd that has a prior of its own are
none of them: their distribution is part of what the ratings inform. A prior has the name of the
variable of the posterior that it is about. PyMC's graph has the same densities, which a test
compares.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import betaln, gammaln

from sharpbayes.bayes.design.careless import SHARE
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term
from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT, StudentT
from sharpbayes.spec.prior_text import describe_effects, describe_sd

LOG_ROOT_2_PI = 0.5 * np.log(2.0 * np.pi)
LogDensity = Callable[[Floats], Floats]


class NamedPrior(NamedTuple):
    """A prior: the variable that it is about, its law in words, and its log density.

    The density takes values (..., element) of the variable and returns their sum over elements.
    """

    name: str
    law: str
    log_density: LogDensity


def log_prior(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return the log density of each prior at every draw, over (chain, draw).

    A variable has the name of its prior and the attribute ``law``. Gap effects of a level without
    ratings are missing from the posterior and do not count.
    """
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    variables = {}
    for prior in named_priors(design):
        values = posterior[prior.name].transpose("chain", "draw", ...).to_numpy()
        density = prior.log_density(values.reshape(chains, draws, -1))
        variables[prior.name] = (("chain", "draw"), density, {"law": prior.law})
    return xr.Dataset(variables, {name: posterior[name] for name in ("chain", "draw")})


def named_priors(design: Design) -> Iterator[NamedPrior]:
    """Yield every prior of a design: sds and correlations, fixed effects, cutpoints, a share."""
    for term in design.terms:
        yield from _term_priors(term)
    for scale in design.scales:
        yield _cutpoint_prior(design, scale)
    if design.careless:
        a, b = design.careless.share.a, design.careless.share.b
        yield NamedPrior(SHARE, f"beta({a:g}, {b:g})", lambda x: _log_beta(x, a, b).sum(-1))


def _term_priors(term: Term) -> Iterator[NamedPrior]:
    """Yield the priors of a term: of its effects where their sd is fixed, else of the sd."""
    sd = term.prior.sd
    if isinstance(sd, float):
        yield NamedPrior(term.name, describe_effects(term.prior), _effects_density(term, sd))
        return
    density = SD_DENSITIES[type(sd)]
    name = f"sd_{term.stem}"
    yield NamedPrior(name, describe_sd(sd), lambda x: density(sd, x).sum(-1))
    if term.correlation:
        eta, levels = term.lkj_eta, term.shape[-1]
        name = f"correlation_{term.stem}"
        yield NamedPrior(name, f"lkj({eta:g})", lambda x: log_lkj(x, eta, levels))


def _effects_density(term: Term, sd: float) -> LogDensity:
    """Return the log density of effects with a fixed sd, as results hold them."""
    # Effects that add up to 0 along every dimension have a normal on what is free of them.
    constrained = term.size - int(np.prod([size - 1 for size in term.shape]))

    def log_density(values: Floats) -> Floats:
        effects = term.to_effects(values)
        if isinstance(term.prior, StudentT):
            return np.asarray(np.nansum(_log_student_t(effects, term.prior.df, sd), axis=-1))
        total = np.nansum(_log_normal(effects, sd), axis=-1)
        return np.asarray(total - constrained * _log_normal(np.zeros(()), sd) * term.zero_sum)

    return log_density


def _cutpoint_prior(design: Design, scale: ScaleRatings) -> NamedPrior:
    """Return the prior of the cutpoints of a scale: independent normals, sorted if ordered."""
    mean, sd = design.thresholds.mean, design.thresholds.sd
    orders = gammaln(scale.n_cutpoints + 1.0) if design.ordered_cutpoints else 0.0
    order = "ordered" if design.ordered_cutpoints else "unordered"
    return NamedPrior(
        f"threshold_{scale.name}",
        f"normal({mean:g}, {sd:g}), {order}",
        lambda x: _log_normal(x - mean, sd).sum(-1) + orders,
    )


def _log_normal(x: Floats, sd: float) -> Floats:
    """Log density of a normal about 0."""
    return np.asarray(-0.5 * (x / sd) ** 2 - np.log(sd) - LOG_ROOT_2_PI)


def _log_student_t(x: Floats, df: float, scale: float) -> Floats:
    """Log density of Student's t about 0."""
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi) - np.log(scale)
    return np.asarray(constant - (df + 1) / 2 * np.log1p((x / scale) ** 2 / df))


def _log_beta(x: Floats, a: float, b: float) -> Floats:
    """Log density of a beta distribution."""
    return np.asarray((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b))


def log_lkj(values: Floats, eta: float, levels: int) -> Floats:
    """Return the log density of correlation matrices (..., level x level), up to a constant.

    LKJ(eta) is (eta - 1) log det R, to a constant that moves no weight.
    """
    matrices = values.reshape(*values.shape[:-1], levels, levels)
    return np.asarray((eta - 1.0) * np.linalg.slogdet(matrices)[1])


# Log densities of an sd by the type of its prior.
SD_DENSITIES: dict[type, Callable[[Any, Floats], Floats]] = {
    HalfNormal: lambda prior, x: np.log(2.0) + _log_normal(x, prior.scale),
    Exponential: lambda prior, x: -x / prior.mean - np.log(prior.mean),
    HalfStudentT: lambda prior, x: np.log(2.0) + _log_student_t(x, prior.df, prior.scale),
}
