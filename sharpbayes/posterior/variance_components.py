"""Variance of the latent severity of a fit by model, prompt, answer, judge and trial."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.crossing import find_combinations
from sharpbayes.bayes.design.design import Design, Floats, Term
from sharpbayes.bayes.predict.replication import flatten_draws
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import format_percent
from sharpbayes.metrics.panel.variance_components import COMPONENTS, share_of_variance
from sharpbayes.metrics.stats.draws import central_interval

# Components by the columns of a term; other terms with a judge are `judge x answer`.
NAMES = {
    frozenset({"model"}): "model",
    frozenset({"prompt"}): "prompt",
    frozenset({"model", "prompt"}): "model x prompt",
    frozenset({"model", "prompt", "sample"}): "generation",
    frozenset({"judge"}): "judge",
}
# A term has effects for each of these, and its variance is within each.
WITHIN = ("dimension", "scale")
LATENT_NOTE = (
    "Latent: squared {link}s of the fitted severity; the variance of the effects of the levels "
    "that were rated, and the noise of a single rating as `trial`. Median and {level} interval "
    "of the posterior."
)


def latent_variances(
    posterior: xr.Dataset, design: Design, ratings: Ratings, *, level: float
) -> xr.Dataset:
    """Return the variance of latent severity that each component of a fit has.

    latent_c = sum over the terms of c of the variance of their effects, with n - 1;
    trial = v / a^2, v = pi^2 / 3 under logit and 1 under probit, averaged over ratings

    Over (dimension, component): ``latent_variance`` in the squared unit of severity and
    ``latent_share`` in [0, 1], medians over the draws, each with ``_interval`` (last dim
    ``bound``). Components are those of
    :func:`sharpbayes.metrics.panel.variance_components.variance_components`, and any others by
    which the model has terms. NaN where it has none, and for ``trial`` where the likelihood is not
    cumulative.

    Source: finite-population variances of a multilevel model (Gelman 2005).
    """
    labels = list(ratings.factors["dimension"].labels)
    draws = (posterior.sizes["chain"] * posterior.sizes["draw"], len(labels))
    variances: dict[str, Floats] = {}
    for term in design.terms_of("location"):
        name = _component(term)
        variances[name] = variances.get(name, 0.0) + np.broadcast_to(
            _variance_of_effects(posterior, term, labels), draws
        )
    if design.likelihood == "cumulative":
        variances["trial"] = np.stack([*_rating_noise(posterior, design, ratings)], axis=1)
    names = [*COMPONENTS, *(name for name in variances if name not in COMPONENTS)]
    values = np.stack([variances.get(name, np.full(draws, np.nan)) for name in names], axis=-1)
    coords = {"dimension": labels, "component": names}
    variance = xr.DataArray(values, coords, ("replicate", "dimension", "component"))
    table = {}
    for name, x in (("variance", variance), ("share", share_of_variance(variance))):
        table[f"latent_{name}"] = x.median("replicate", skipna=False)
        table[f"latent_{name}_interval"] = central_interval(x, level=level, dim="replicate")
    note = LATENT_NOTE.format(link=design.link, level=format_percent(level))
    return xr.Dataset(table).assign_attrs(latent_note=note)


def _component(term: Term) -> str:
    """Name of the component that a term belongs to."""
    columns = [dim for dim in term.dims if dim not in WITHIN]
    name = NAMES.get(frozenset(columns))
    if name is not None:
        return name
    return "judge x answer" if "judge" in columns else " x ".join(columns) or term.stem


def _variance_of_effects(posterior: xr.Dataset, term: Term, dimensions: list[str]) -> Floats:
    """Return the variance of the effects of rated levels, (sample, dimension or 1)."""
    rated = np.zeros(term.size, dtype=bool)
    rated[term.used_levels] = True
    effects = posterior[term.name].where(xr.DataArray(rated.reshape(term.shape), dims=term.dims))
    over = [dim for dim in term.dims if dim not in WITHIN]
    variance = effects.var(over, ddof=1).mean([dim for dim in term.dims if dim == "scale"])
    if "dimension" in variance.dims:
        return flatten_draws(variance.sel(dimension=dimensions), "dimension")
    return flatten_draws(variance)


def _rating_noise(posterior: xr.Dataset, design: Design, ratings: Ratings) -> Iterator[Floats]:
    """Yield for each dimension the mean variance of the noise of its ratings, (sample,)."""
    terms = design.terms_of("discrimination")
    zeros = np.zeros(len(ratings.score), dtype=np.int64)
    combination, levels = find_combinations([term.index for term in terms] or [zeros])
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    log_factor = np.zeros((samples, len(levels)))
    for column, term in enumerate(terms):
        effects = term.to_effects(flatten_draws(posterior[term.name], *term.dims))
        level = levels[:, column]
        log_factor += np.where(level >= 0, effects[:, level], 0.0)
    noise = design.noise_variance * np.exp(-2.0 * log_factor)
    dimension = ratings.factors["dimension"]
    for code in range(len(dimension.labels)):
        count = np.bincount(combination[dimension.codes == code], minlength=len(levels))
        yield noise @ (count / count.sum())
