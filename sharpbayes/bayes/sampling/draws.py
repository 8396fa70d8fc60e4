"""Stored values of draws -> a labelled posterior of the variables that a model file declares."""

from collections.abc import Iterator, Mapping

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.careless import PROBABILITY, RATER
from sharpbayes.bayes.design.design import Design, Floats
from sharpbayes.bayes.kernel.layout import ParameterLayout

# Number of the random stream of effects that are drawn again.
REDRAWN = 0x6A3D


def label_draws(values: Floats, design: Design, layout: ParameterLayout) -> xr.Dataset:
    """Return the posterior from the values that the kernel stores, shape (chain, draw, value).

    It has ``location_*``, ``gap_*``, ``discrimination_*``, ``sd_*``, ``correlation_*`` and
    ``threshold_*`` over (chain, draw) and their own dimensions; where raters may be careless, their
    share and the probability of each. Gap effects and thresholds are
    missing for a level without ratings on the scale.
    """
    terms = {term.name: term for term in design.terms}
    variables = {}
    for section in layout.stored:
        variable = values[..., section.slice].reshape(*values.shape[:2], *section.shape)
        term = terms.get(section.name)
        if term and term.kind == "gap":
            rated = np.isin(np.arange(term.shape[0]), term.index)[:, None]
            variable = np.where(rated, variable, np.nan)
        elif term:
            variable = term.to_results(variable)
        variables[section.name] = (section.dims, variable)
    posterior = label_dims(variables, design, draws=values.shape[:2])
    return posterior.assign(dict(level_thresholds(posterior, design)))


def label_dims(
    variables: Mapping[str, tuple[tuple[str, ...], Floats]],
    design: Design,
    *,
    draws: tuple[int, ...],
) -> xr.Dataset:
    """Return variables over (chain, draw) and their own dimensions, with the design's labels.

    ``draws`` are the numbers of chains and of draws.
    """
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords: dict[str, object] = {"chain": range(draws[0]), "draw": range(draws[1])}
    for name, labels in design.coords.items():
        coords |= {dim: list(labels) for dim in (name, f"{name}_other") if dim in used}
    return xr.Dataset(
        {name: (("chain", "draw", *dims), values) for name, (dims, values) in variables.items()},
        coords,
    )


def redraw_careless(posterior: xr.Dataset, design: Design, *, seed: int) -> xr.Dataset:
    """Return draws in which the effects of careless raters are draws of their prior.

    The class of each rater is drawn from its probability, which is then left out. Where the class
    is careless, a draw of the prior takes the place of one of the reference.
    """
    careless = design.careless
    if careless is None:
        return posterior
    probability = posterior[PROBABILITY].transpose("chain", "draw", RATER).to_numpy()
    posterior = posterior.drop_vars(PROBABILITY)
    if careless.reference is None:
        return posterior
    rng = np.random.default_rng([seed, REDRAWN])
    term = next(term for term in design.terms if term.name == careless.reference.term)
    fixed = term.prior.sd if isinstance(term.prior.sd, float) else None
    sd = posterior[f"sd_{term.stem}"].to_numpy()[..., None] if fixed is None else fixed
    effects = posterior[term.name].transpose("chain", "draw", RATER)
    drawn = rng.normal(size=effects.shape) * sd
    is_careless = rng.random(probability.shape) < probability
    values = np.where(is_careless, drawn, effects.to_numpy())
    return posterior.assign({term.name: effects.copy(data=values)})


def level_thresholds(posterior: xr.Dataset, design: Design) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the thresholds of each level of a column, with the effects of other columns at 0."""
    for term in design.terms_of("gap"):
        scale, dim = design.scales[term.scale], term.dims[0]
        common = posterior[f"threshold_{scale.name}"].transpose("chain", "draw", scale.cutpoint_dim)
        effects = posterior[term.name].transpose("chain", "draw", dim, scale.gap_dim)
        values = apply_gap_effects(
            common.to_numpy()[:, :, None],
            effects.to_numpy(),
            reference=scale.reference_cutpoint,
            ordered=design.ordered_cutpoints,
        )
        dims = ("chain", "draw", dim, scale.cutpoint_dim)
        labels = {name: (common if name in common.coords else effects)[name] for name in dims}
        thresholds = xr.DataArray(values, labels, dims)
        if location := design.location_of(scale, dim):
            name, row = location
            effect = posterior[name]
            thresholds = thresholds - (effect if row is None else effect.isel(scale=row, drop=True))
        yield f"threshold_{scale.name}_{dim}", thresholds.transpose(*dims)


def apply_gap_effects(
    thresholds: Floats, effects: Floats, *, reference: int, ordered: bool
) -> Floats:
    """Return thresholds with changed gaps between them; the reference cutpoint r stays.

    c'_k = c_r + sum_{r <= j < k} (c_{j+1} - c_j) exp(effect_j) for k > r, and likewise below r.
    Where thresholds are not ordered, (c_{j+1} - c_j) + effect_j takes the place of the product.
    Thresholds are over (..., cutpoint) and effects over (..., gap).
    """
    gaps = np.diff(thresholds, axis=-1)
    gaps = gaps * np.exp(effects) if ordered else gaps + effects
    steps = np.zeros((*gaps.shape[:-1], gaps.shape[-1] + 1))
    np.cumsum(gaps, axis=-1, out=steps[..., 1:])
    at_reference = slice(reference, reference + 1)
    changed: Floats = thresholds[..., at_reference] + steps - steps[..., at_reference]
    return changed
