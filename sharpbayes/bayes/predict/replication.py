"""Posterior draws -> latent severities, replicated ratings, log-likelihood, effects of new levels.

Everything is computed from the variables of the posterior in blocks of draws: nothing is compiled,
and memory stays bounded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.careless import CLASS, RATER, CarelessClass, log_careless
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term, rating_dim
from sharpbayes.bayes.predict.careless import (
    assign_classes,
    careless_raters,
    log_left_out,
    log_mixture,
    prob_careless,
    rater_counts,
    replace_careless,
    share_draws,
    sum_columns,
)
from sharpbayes.bayes.predict.categories import LAWS, Categories, LatentRatings
from sharpbayes.bayes.predict.kernels import add_effects
from sharpbayes.bayes.sampling.draws import apply_gap_effects
from sharpbayes.errors import Diagnostic, SpecError
from sharpbayes.spec.model import StudentT

# Effects of terms by name, (sample, effect).
Effects = Mapping[str, Floats]
# Latent severities in memory at once: a block of draws stays under some 100 MB.
BLOCK_VALUES = 4_000_000


def thin(posterior: xr.Dataset, *, draws: int) -> xr.Dataset:
    """Return about ``draws`` draws in all, evenly spaced and as many from every chain."""
    chains, length = posterior.sizes["chain"], posterior.sizes["draw"]
    positions = np.linspace(0, length - 1, max(1, min(length, draws // chains)))
    return posterior.isel(draw=np.unique(positions.round().astype(int)))


def latent_ratings(posterior: xr.Dataset, design: Design, scale: ScaleRatings) -> LatentRatings:
    """Return the quantities that determine the ratings on one scale, for every draw."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    effects = severity_effects(posterior, design)
    terms = [term.of(scale.rows) for term in design.severity_terms]
    severity = _add_terms(np.zeros((samples, len(scale.rows))), effects, terms)
    log_discrimination = np.zeros((samples, 1))
    for term in design.terms_of("discrimination"):
        logarithms = term.to_effects(flatten_draws(posterior[term.name], *term.dims))
        log_discrimination = log_discrimination + _take(logarithms, term.index[scale.rows])
    cutpoint_set, thresholds = _cutpoint_sets(posterior, design, scale)
    law, discrimination = LAWS[design.likelihood], np.exp(log_discrimination)
    return law(scale, design.link, severity, discrimination, thresholds, cutpoint_set)


def severity_effects(posterior: xr.Dataset, design: Design) -> Effects:
    """Return the effects that add up to severities, (sample, effect), by the name of their term."""
    return {
        term.name: flatten_draws(posterior[term.name], *term.dims) for term in design.severity_terms
    }


def with_effects(
    latent: LatentRatings, effects: Effects, others: Sequence[Effects], design: Design
) -> Iterator[LatentRatings]:
    """Yield the same ratings with the severities of others' effects, which are of the same terms.

    Effects of other terms stay, and are added up once.
    """
    terms = [term.of(latent.scale.rows) for term in design.severity_terms]
    changed = [term for term in terms if term.name in others[0]]
    unchanged = [term for term in terms if term.name not in others[0]]
    common = _add_terms(np.zeros_like(latent.severity), effects, unchanged)
    for replaced in others:
        yield replace(latent, severity=_add_terms(common.copy(), replaced, changed))


def _add_terms(severity: Floats, effects: Effects, terms: Sequence[Term]) -> Floats:
    """Add effects of terms to the latent severity of each of their ratings, (sample, rating)."""
    for term in terms:
        if term.covariate is None:
            add_effects(effects[term.name], term.index, severity)
        else:
            severity += _take(effects[term.name], term.index) * term.covariate
    return severity


def _cutpoint_sets(
    posterior: xr.Dataset, design: Design, scale: ScaleRatings
) -> tuple[Index, Floats]:
    """Return the cutpoint set of each rating, and the thresholds of every set."""
    common = flatten_draws(posterior[f"threshold_{scale.name}"], scale.cutpoint_dim)[:, None]
    terms = design.gap_terms(scale)
    cutpoint_set, levels = design.cutpoint_sets(scale)
    if not terms:
        return cutpoint_set, common
    effects = np.zeros((len(common), len(levels), scale.n_cutpoints - 1))
    for column, term in enumerate(terms):
        by_level = flatten_draws(posterior[term.name], *term.dims).reshape(-1, *term.shape)
        is_level = levels[:, column] >= 0
        effects[:, is_level] += by_level[:, levels[is_level, column]]
    return cutpoint_set, apply_gap_effects(
        common, effects, reference=scale.reference_cutpoint, ordered=design.ordered_cutpoints
    )


def rater_log_likelihood(posterior: xr.Dataset, design: Design) -> Floats:
    """Return the log-likelihood of each rater's ratings under the ordinal model, (sample, rater).

    Ratings that have no class are left out; without careless raters there is no column.
    """
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    if design.careless is None:
        return np.zeros((samples, 0))
    scale, size = design.scales[design.careless.scale], design.careless.n_raters
    total, step = np.zeros((samples, size)), max(1, BLOCK_VALUES // samples)
    for start in range(0, len(scale.rows), step):
        rows = slice(start, start + step)
        part = replace(scale, rows=scale.rows[rows], category=scale.category[rows])
        values = latent_ratings(posterior, design, part).log_probability()
        total += sum_columns(values, design.careless.index[part.rows], size=size)
    return total


def joint_log_likelihood(posterior: xr.Dataset, design: Design) -> Floats:
    """Return the log-likelihood of all ratings of every draw, classes summed out, (sample,)."""
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    size = max(1, BLOCK_VALUES // (chains * max(design.n_ratings, 1)))
    blocks = [posterior.isel(draw=slice(s, s + size)) for s in range(0, draws, size)]
    sums = [_sum_log_likelihood(block, design).reshape(chains, -1) for block in blocks]
    return np.concatenate(sums, axis=1).ravel()


def _sum_log_likelihood(posterior: xr.Dataset, design: Design) -> Floats:
    """Return the log-likelihood of all ratings of a block of draws, (sample,)."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    total = np.zeros(samples)
    for scale in design.scales:
        values = latent_ratings(posterior, design, scale).log_probability()
        rater = careless_raters(design, scale)
        total += values.sum(axis=1) if rater is None else values[:, rater < 0].sum(axis=1)
    if design.careless is None:
        return total
    ordinal = rater_log_likelihood(posterior, design)
    return total + log_mixture(
        ordinal, _log_clicking(design, design.careless), share_draws(posterior)
    ).sum(axis=1)


def _log_clicking(design: Design, careless: CarelessClass) -> Floats:
    """Log-likelihood of the ratings of each rater if they are careless, (rater,)."""
    return log_careless(rater_counts(design, careless), careless.concentration)


def rater_probability(posterior: xr.Dataset, design: Design) -> Floats:
    """Return P(careless | ratings, draw) of every rater, (sample, rater)."""
    careless = design.careless
    if careless is None:
        raise ValueError("the model has no careless raters")
    ordinal = rater_log_likelihood(posterior, design)
    return prob_careless(ordinal, _log_clicking(design, careless), share_draws(posterior))


def draw_classes(
    posterior: xr.Dataset, design: Design, *, known: bool, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws with a class for each rater; without careless raters they stay as they are.

    ``known`` draws the class and the distribution of scores given the observed ratings of a rater;
    otherwise from the population of raters, of whom no rating is known.
    """
    careless = design.careless
    if careless is None:
        return posterior
    counts = rater_counts(design, careless)
    probability = rater_probability(posterior, design) if known else share_draws(posterior)
    return assign_classes(
        posterior, careless, probability=probability, counts=counts * float(known), rng=rng
    )


def draw_ratings(
    latent: LatentRatings, draws: xr.Dataset, design: Design, rng: np.random.Generator
) -> Categories:
    """Draw a category for each rating, (sample, rating), by the class of its rater in the draws."""
    return _by_class(latent.draw(rng), latent, draws, design, rng)


def draw_replicates(
    latent: LatentRatings,
    draws: xr.Dataset,
    design: Design,
    rng: np.random.Generator,
    *,
    number: int,
) -> Categories:
    """Draw several categories for each rating, (replicate x sample, rating), spread evenly.

    See :meth:`LatentRatings.draw_stratified`; those of careless raters are independent.
    """
    if number == 1:
        return draw_ratings(latent, draws, design, rng)
    category = latent.draw_stratified(number, rng)
    for replicate in category:
        _by_class(replicate, latent, draws, design, rng)
    return category.reshape(-1, category.shape[-1])


def _by_class(
    category: Categories,
    latent: LatentRatings,
    draws: xr.Dataset,
    design: Design,
    rng: np.random.Generator,
) -> Categories:
    """Return categories (sample, rating), those of careless raters replaced in place."""
    rater = careless_raters(design, latent.scale)
    if rater is None or CLASS not in draws:
        return category
    return replace_careless(category, draws, rater, rng)


def log_likelihood(posterior: xr.Dataset, design: Design) -> xr.Dataset:
    """Return log P(category_n | draw) of every rating, over (chain, draw, rating).

    With careless raters it is log P(category_n | the rater's other ratings, draw), so that
    leave-one-out by single ratings is defined: ratings of a rater share their class.
    """

    def compute(latent: LatentRatings, draws: xr.Dataset) -> NDArray[np.generic]:
        values, rater = latent.log_probability(), careless_raters(design, latent.scale)
        if rater is not None:
            rated, scale = np.flatnonzero(rater >= 0), latent.scale
            values[:, rated] = _log_single(draws, design, values[:, rated], scale, rated)
        return values.astype(np.float32)

    return _map_scales(posterior, design, compute)


def _log_single(
    draws: xr.Dataset, design: Design, values: Floats, scale: ScaleRatings, rated: Index
) -> Floats:
    """Log-likelihood of single ratings given all others of their rater, (sample, rating)."""
    careless = design.careless
    if careless is None:
        raise ValueError("the model has no careless raters")
    rater = careless.index[scale.rows[rated]]
    counts = rater_counts(design, careless)[rater]
    single = np.eye(len(scale.labels))[scale.category[rated]]
    others = rater_log_likelihood(draws, design)[:, rater] - values
    return log_left_out(
        values,
        others,
        share_draws(draws),
        counts=counts,
        without=counts - single,
        c=careless.concentration,
    )


def posterior_predictive(
    posterior: xr.Dataset, design: Design, *, seed: int, known: bool = True
) -> xr.Dataset:
    """Return replicated ratings of the same items by the same raters, (chain, draw, rating).

    The class of a rater is drawn once for each draw: given their ratings, or from the population
    where these are not ``known``, as for draws of the prior.
    """
    rng = np.random.default_rng(seed)

    def compute(latent: LatentRatings, draws: xr.Dataset) -> NDArray[np.generic]:
        of_class = careless_raters(design, latent.scale) is not None
        drawn = draw_classes(draws, design, known=known, rng=rng) if of_class else draws
        return draw_ratings(latent, drawn, design, rng)

    return _map_scales(posterior, design, compute)


def observed_data(design: Design) -> xr.Dataset:
    """Return the observed categories of each scale."""
    values = {scale.name: scale.category.astype(scale.category_type) for scale in design.scales}
    return xr.Dataset({f"rating_{name}": (rating_dim(name), v) for name, v in values.items()})


def _map_scales(
    posterior: xr.Dataset,
    design: Design,
    compute: Callable[[LatentRatings, xr.Dataset], NDArray[np.generic]],
) -> xr.Dataset:
    """Apply a function of latent ratings and draws to every scale, in blocks of draws."""
    variables, chains = {}, posterior.sizes["chain"]
    for scale in design.scales:
        count, draws = len(scale.rows), posterior.sizes["draw"]
        size = max(1, BLOCK_VALUES // (count * chains))
        joined: NDArray[np.generic] | None = None
        for start in range(0, draws, size):
            part = slice(start, start + size)
            block = posterior.isel(draw=part)
            values = compute(latent_ratings(block, design, scale), block)
            if joined is None:
                joined = np.empty((chains, draws, count), values.dtype)
            joined[:, part] = values.reshape(chains, -1, count)
        dims = ("chain", "draw", rating_dim(scale.name))
        variables[f"rating_{scale.name}"] = (dims, joined)
    return xr.Dataset(variables, {name: posterior.coords[name] for name in ("chain", "draw")})


def flatten_draws(array: xr.DataArray, *dims: str) -> Floats:
    """Return a variable as (sample, level), chains one after the other."""
    values = array.transpose("chain", "draw", *dims).to_numpy()
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _take(values: Floats, index: Index) -> Floats:
    """Effects at an index, 0 where it is -1; shape (sample, rating)."""
    gathered = values.take(index, axis=1)
    return gathered if (index >= 0).all() else np.where(index >= 0, gathered, 0.0)


def draw_new_levels(
    posterior: xr.Dataset, design: Design, column: str, *, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws in which every level of a column is a new one from the same population.

    Each effect of the column is drawn from its prior given the hyperparameters of the draw:
    normal(0, sd) for locations and gaps, exp(normal(0, sd)) for discriminations. New raters have a
    class of their own where raters may be careless. All other variables stay as they are. A model
    that gives each level of the column its own sd is an error.

    Source: posterior predictive of a new group member (Gelman and Hill 2007, chapter 12.8).
    """
    new_effects = {}
    for term in design.terms:
        if column in term.dims:
            if term.correlation is not None and term.dims[-1] == column:
                message = (
                    f"{term.stem} gives each {column} an sd of its own: none to draw a new one from"
                )
                raise SpecError([Diagnostic("study", 0, "uncertainty", message)])
            values = term.to_results(draw_effects(posterior, term, rng))
            effects = posterior[term.name].transpose("chain", "draw", *term.dims)
            new_effects[term.name] = effects.copy(data=values)
    drawn = posterior.assign(new_effects)
    return draw_classes(drawn, design, known=False, rng=rng) if column == RATER else drawn


def draw_effects(posterior: xr.Dataset, term: Term, rng: np.random.Generator) -> Floats:
    """Draw effects of a term from its population; shape (chain, draw, *term.shape)."""
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], *term.shape)
    unit = rng.normal(size=shape)
    if isinstance(term.prior, StudentT):
        df = term.prior.df
        unit /= np.sqrt(rng.chisquare(df, size=shape) / df)
    if term.correlation is None:
        return unit * sd_draws(posterior, term)
    dim = term.dims[-1]
    correlation = posterior[f"correlation_{term.stem}"]
    matrix = correlation.transpose("chain", "draw", dim, f"{dim}_other").to_numpy()
    axes = tuple(range(2, len(term.shape) + 1))
    factor = np.expand_dims(np.linalg.cholesky(matrix), axes)
    return (factor @ unit[..., None])[..., 0] * sd_draws(posterior, term)


def sd_draws(posterior: xr.Dataset, term: Term) -> Floats:
    """Return the sd of a term's effects in every draw; broadcasts to (chain, draw, *term.shape)."""
    if isinstance(term.prior.sd, float):
        draws = (posterior.sizes["chain"], posterior.sizes["draw"])
        return np.full((*draws, *[1] * len(term.shape)), term.prior.sd)
    sd = posterior[f"sd_{term.stem}"].transpose("chain", "draw", ...).to_numpy()
    return np.expand_dims(sd, tuple(range(2, 4 + len(term.shape) - sd.ndim)))
