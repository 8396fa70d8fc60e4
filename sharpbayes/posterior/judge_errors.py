"""What judges err in together: its size in a fit, and answers under an assumed correlation."""

from functools import reduce
from operator import add

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import cross
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.design.judge_errors import ANSWER, FAMILY, JUDGE, MACHINE, WHO, error_column
from sharpbayes.bayes.predict.replication import draw_effects, sd_draws
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import format_percent
from sharpbayes.metrics.panel.independence import count_independent
from sharpbayes.posterior.judge_bias import mean_of_term, summarise
from sharpbayes.posterior.replicates import ReplicateDraws

# Number of the random stream of severities apart from an assumed error, and of ratings by them.
ERROR_STREAM = 0x5E44
NAMES = {MACHINE: "shared_sd", FAMILY: "family_sd", JUDGE: "halo_sd"}


def judge_errors(
    posterior: xr.Dataset, design: Design, ratings: Ratings, *, level: float
) -> xr.Dataset:
    """Return how much judges err on an answer: together, by family, and each in all indicators.

    Over (chain, draw), where the model has terms for them: ``shared_sd``, ``family_sd`` and
    ``halo_sd``, in logits (or probits) of the latent severity, and, where people scored too and
    the likelihood is cumulative, ``effective_judges``: for how many judges with independent errors
    the judges count, J tr(S) / (1' S 1) of the covariance S of :func:`error_covariance`. Each with
    ``_mean`` and ``_interval`` (dimension ``bound``).

    Source: Kish 1965 (design effect); many-facet models of raters, Linacre 1989.
    """
    draws: dict[str, xr.DataArray] = {}
    for term in design.terms_of("location"):
        source = error_column(term.dims)
        if source is not None and NAMES[source] not in draws:
            draws[NAMES[source]] = _mean_variance(posterior, term) ** 0.5
    if NAMES[MACHINE] in draws and design.likelihood == "cumulative":
        covariance = error_covariance(posterior, design, ratings)
        draws["effective_judges"] = count_independent(covariance)
    table = xr.Dataset(
        draws | {key: x for name, x in draws.items() for key, x in summarise(name, x, level)}
    )
    note = f"{format_percent(level)} posterior intervals."
    return table.assign_attrs(level=level, interval_note=note, link=design.link)


def error_covariance(posterior: xr.Dataset, design: Design, ratings: Ratings) -> xr.DataArray:
    """Return the covariance of the errors of judges about an answer in a dimension of harm.

    S_jk = sum_t sd_t^2 [j and k have the same effect of term t] + [j = k] V / (a_j^2 n_j)

    t are the terms of judges, families and all judges that vary over models or prompts, V is the
    variance of the link's distribution, a_j the discrimination of judge j and n_j how many ratings
    of an answer in a dimension j gives. The result is over (chain, draw, judge, other_judge), in
    squared logits (or probits).
    """
    judge = ratings.factors["judge"]
    labels = list(judge.labels)
    log_factor: xr.DataArray | float = 0.0
    if discriminations := design.terms_of("discrimination"):
        means = (mean_of_term(posterior, term, ratings, ["judge"]) for term in discriminations)
        log_factor = reduce(add, means)
    noise = design.noise_variance * np.exp(-2.0 * log_factor) / _ratings_an_answer(ratings)
    same = xr.DataArray(np.eye(len(labels)), {"judge": labels, "other_judge": labels})
    total = same * noise
    for term in design.terms_of("location"):
        source = next((name for name in WHO[::-1] if name in term.dims), None)
        if source is not None and ANSWER & set(term.dims):
            code = _code_of_judges(ratings, source)
            shared = (code[:, None] == code) & (code >= 0)
            total = total + same.copy(data=shared) * _mean_variance(posterior, term)
    draws = {name: posterior[name] for name in ("chain", "draw")}
    sizes = {name: posterior.sizes[name] for name in draws}
    total = total.expand_dims({k: n for k, n in sizes.items() if k not in total.dims})
    return total.transpose("chain", "draw", "judge", "other_judge").assign_coords(draws)


def assume_correlation(
    draws: ReplicateDraws, ratings: Ratings, correlation: float
) -> ReplicateDraws:
    """Return draws of judges without the error that all share, if errors correlate as assumed.

    s^2 = v rho / (1 - rho),  r = min(1, s^2 / sum_t sd_t^2),
    theta_t | x_t ~ N((1 - r) x_t, r (1 - r) sd_t^2)

    v is the mean variance of a judge's errors about an answer, as in :func:`error_covariance`. The
    shared error has the variance s^2, and no rating by judges tells it from the effects x_t of
    answers: each is split by its prior into severity theta_t and error. With a correlation of 0
    the draws are those of the fit.
    """
    if correlation == 0.0:
        return draws
    posterior, design = draws.posterior, draws.design
    rng = np.random.default_rng([draws.seed, ERROR_STREAM])
    covariance = error_covariance(posterior, design, ratings)
    variance = covariance.where(covariance["judge"] == covariance["other_judge"]).sum("other_judge")
    shared = variance.mean("judge") * correlation / (1.0 - correlation)
    terms = [term for term in design.terms_of("location") if _of_answers(term)]
    share = (shared / sum(_mean_variance(posterior, term) for term in terms)).clip(max=1.0)
    severities = {}
    for term in terms:
        effects = posterior[term.name].transpose("chain", "draw", *term.dims)
        fresh = effects.copy(data=draw_effects(posterior, term, rng))
        severities[term.name] = (1.0 - share) * effects + np.sqrt(share * (1.0 - share)) * fresh
    return draws.replicate_anew(posterior.assign(severities), stream=ERROR_STREAM)


def _of_answers(term: Term) -> bool:
    """Whether the effects of a term are those of answers, whoever scores them."""
    return set(term.dims) >= ANSWER and set(WHO).isdisjoint(term.dims)


def _mean_variance(posterior: xr.Dataset, term: Term) -> xr.DataArray:
    """Variance of a term's effects in every draw, over (chain, draw); a mean where sds differ."""
    sd = sd_draws(posterior, term)
    variance = (sd**2).reshape(*sd.shape[:2], -1).mean(axis=2)
    coords = {name: posterior[name] for name in ("chain", "draw")}
    return xr.DataArray(variance, coords, ("chain", "draw"))


def _code_of_judges(ratings: Ratings, source: str) -> NDArray[np.int64]:
    """Level of a column of judges for each judge, -1 for none."""
    judge, column = ratings.factors["judge"], ratings.factors[source]
    judged = judge.codes >= 0
    code = np.full(len(judge.labels), -1, dtype=np.int64)
    code[judge.codes[judged]] = column.codes[judged]
    return code


def _ratings_an_answer(ratings: Ratings) -> xr.DataArray:
    """Mean number of ratings that a judge gives to an answer in a dimension, over (judge)."""
    names = ("judge", "model", "prompt", "dimension")
    cell, shape = cross([ratings.factors[name] for name in names])
    count = np.bincount(cell[cell >= 0], minlength=int(np.prod(shape))).reshape(shape[0], -1)
    mean = count.sum(axis=1) / np.maximum((count > 0).sum(axis=1), 1)
    return xr.DataArray(mean, {"judge": list(ratings.factors["judge"].labels)}, ("judge",))
