"""Labelled draws -> coordinates of a design: the inverse of what the kernel stores of a draw.

Draws may be of a design with fewer levels. What they lack stays at the middle of its prior: an
effect of 0, a term of its own with sds of 0.5, cutpoints that the shares of categories suggest.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from sharpbayes.bayes.design.careless import SHARE
from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term
from sharpbayes.bayes.design.held_means import HeldMeans, find_held_means
from sharpbayes.bayes.kernel.layout import (
    SHARE_COORDINATE,
    START_SD,
    ParameterLayout,
    coordinate_names,
    initial_point,
    start_cutpoints,
    threshold_name,
)
from sharpbayes.bayes.predict.replication import flatten_draws

# Correlations of one are no coordinates.
MAX_CORRELATED = 1.0 - 1e-9


def to_coordinates(posterior: xr.Dataset, design: Design, layout: ParameterLayout) -> Floats:
    """Return the coordinates of draws of a posterior, (sample, coordinate)."""
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    point = np.tile(initial_point(design, layout, seed=0), (samples, 1))
    sections = {section.name: section.slice for section in layout.coordinates}
    means: dict[str, Floats] = {}
    effects: dict[str, Floats] = {}
    for term in (term for term in design.parents_first if not term.sum_term):
        names = coordinate_names(design, term)
        deviations = _read_effects(posterior, term, samples)
        sd = _read_sds(posterior, term, samples)
        log_sds = np.log(sd)
        if of_sum := design.sum_of(term):
            part = of_sum[1]
            sampled = _add_part(posterior, part, deviations, sd)
            deviations, sd, log_sds = sampled.sums, sampled.total, sampled.log_sds
            point[:, sections[coordinate_names(design, part)[2]]] = sampled.unit
        centres = sum(
            (
                _take((means if parent.by_mean else effects)[parent.term.name], parent.position)
                for parent in design.parents(term)
            ),
            start=np.zeros_like(deviations),
        )
        if term.n_sds:
            point[:, sections[names[0]]] = log_sds
        factor = _read_factor(posterior, term, samples)
        if term.correlation:
            point[:, sections[names[1]]] = _partial_log_odds(factor)
        point[:, sections[names[2]]] = _free_effects(term, deviations, centres, sd, factor)
        values = deviations if term.correlation and not term.centred else deviations + centres
        means[term.name] = _group_means(values, term.mean_group, term.n_mean_groups)
        effects[term.name] = values - _take(means[term.name], term.mean_group)
    for scale in design.scales:
        name = threshold_name(design, scale)
        point[:, sections[name]] = _free_cutpoints(posterior, design, scale, means)
    if (held_means := find_held_means(design)) is not None:
        _to_units(point, design, held_means, layout)
    if design.careless and SHARE in posterior:
        share = flatten_draws(posterior[SHARE])[:, 0]
        point[:, sections[SHARE_COORDINATE]] = np.log(share / (1.0 - share))[:, None]
    return point


def _to_units(
    point: Floats, design: Design, held_means: HeldMeans, layout: ParameterLayout
) -> None:
    """Put units in the place of the coordinates of means that one term holds for others."""
    start = {section.name: section.start for section in layout.coordinates}

    def sd_of(term: Term, level: int = 0) -> Floats:
        if isinstance(term.prior.sd, float):
            return np.full(len(point), term.prior.sd)
        return np.exp(point[:, start[coordinate_names(design, term)[0]] + level])

    def first_of(term: Term) -> int:
        return start[coordinate_names(design, term)[2]]

    sd, first = sd_of(held_means.holder), first_of(held_means.holder)
    scale = sd**held_means.holder.non_centring
    sds = np.stack([sd_of(mean.term, mean.level) for mean in held_means.means], axis=1)
    effects = np.array([mean.effects for mean in held_means.means])
    columns = [first_of(mean.term) + mean.first for mean in held_means.means]
    variance = sds**2 / effects
    means = point[:, columns] * sds ** [mean.power for mean in held_means.means] / np.sqrt(effects)
    others = sd[:, None] ** 2 * (held_means.average**2).sum(axis=1) + variance @ held_means.later.T
    sums = _reflect(
        point[:, first : first + held_means.holder.size] * scale[:, None],
        held_means.holder.mean_group,
    )
    remainder = sums @ held_means.average.T - means @ held_means.earlier.T
    share = variance / (variance + others)
    point[:, columns] = (means - share * remainder) / np.sqrt(share * others)
    of_sum = np.sqrt(sd[:, None] ** 2 + variance @ held_means.of_sum.T)
    point[:, first + np.array(held_means.first)] *= scale[:, None] / of_sum


def _read_effects(posterior: xr.Dataset, term: Term, samples: int) -> Floats:
    """Return the effects of a term by the labels of the draws, 0 where they have none."""
    if not _has(posterior, term.name, *term.dims):
        return np.zeros((samples, term.size))
    values = term.to_effects(flatten_draws(posterior[term.name], *term.dims))
    return np.nan_to_num(values, nan=0.0)


def _has(posterior: xr.Dataset, name: str, *dims: str) -> bool:
    """Tell whether draws have a variable over these dimensions."""
    return name in posterior and set(posterior[name].dims) == {"chain", "draw", *dims}


def _read_sds(posterior: xr.Dataset, term: Term, samples: int) -> Floats:
    """Return the sds of a term, (sample, 1) or one for each level of its last dimension."""
    if isinstance(term.prior.sd, float):
        return np.full((samples, 1), term.prior.sd)
    name, dims = f"sd_{term.stem}", term.dims[-1:] if term.correlation else ()
    if not _has(posterior, name, *dims):
        return np.full((samples, term.n_sds), START_SD)
    return np.nan_to_num(flatten_draws(posterior[name], *dims), nan=START_SD)


class _SampledSum(NamedTuple):
    """Sums of the effects of two terms, their sd, unit effects of the second, both log sds."""

    sums: Floats
    total: Floats
    unit: Floats
    log_sds: Floats


def _add_part(posterior: xr.Dataset, part: Term, effects: Floats, sd: Floats) -> _SampledSum:
    """Return what is sampled in place of the effects of two terms, by :mod:`..kernel.sums`."""
    of_part = _read_effects(posterior, part, len(effects))
    sd_of_part = _read_sds(posterior, part, len(effects))
    sums, total = effects + of_part, np.hypot(sd, sd_of_part)
    unit = (of_part - (sd_of_part / total) ** 2 * sums) * total / (sd * sd_of_part)
    log_sds = np.log(np.concatenate([total, sd_of_part / sd], axis=1))
    return _SampledSum(sums, total, unit, log_sds)


def _read_factor(posterior: xr.Dataset, term: Term, samples: int) -> Floats:
    """Return the Cholesky factor of a term's correlations; new levels have none with others."""
    if not term.correlation:
        return np.ones((samples, 1, 1))
    dim, size, name = term.dims[-1], term.shape[-1], f"correlation_{term.stem}"
    unit = np.broadcast_to(np.eye(size), (samples, size, size))
    if not _has(posterior, name, dim, f"{dim}_other"):
        return unit
    matrix = flatten_draws(posterior[name], dim, f"{dim}_other").reshape(samples, size, size)
    return np.linalg.cholesky(np.where(np.isnan(matrix), unit, matrix))


def _partial_log_odds(factor: Floats) -> Floats:
    """Return the coordinates of partial correlations, row by row of the Cholesky factor."""
    rows, columns = np.tril_indices(factor.shape[-1], -1)
    remainder = 1.0 - np.cumsum(factor**2, axis=-1) + factor**2
    partial = factor[:, rows, columns] / np.sqrt(remainder[:, rows, columns])
    odds: Floats = 2.0 * np.arctanh(np.clip(partial, -MAX_CORRELATED, MAX_CORRELATED))
    return odds


def _free_effects(
    term: Term, deviations: Floats, centres: Floats, sd: Floats, factor: Floats
) -> Floats:
    """Return the coordinates of a term's effects."""
    if term.zero_sum:
        return _drop_sums(deviations / sd**term.non_centring, term.shape)
    if not term.correlation:
        return _reflect(deviations + centres, term.mean_group) / sd**term.powers
    if term.centred:
        return _reflect(deviations + centres, term.mean_group)
    rows = (deviations.reshape(len(deviations), -1, sd.shape[1]) / sd[:, None]).swapaxes(1, 2)
    unit = np.linalg.solve(factor, rows).swapaxes(1, 2)
    return _reflect(unit.reshape(len(deviations), -1), term.mean_group)


def _reflect(values: Floats, group: Index) -> Floats:
    """Reflect each group of values between its mean and its first value; its own inverse."""
    reflected = values.copy()
    for code in np.unique(group[group >= 0]):
        inside = np.flatnonzero(group == code)
        if len(inside) > 1:
            root, part = np.sqrt(len(inside)), values[:, inside]
            mean = part.sum(axis=1) / root
            reflected[:, inside] = part - ((mean - part[:, 0]) / (root - 1.0))[:, None]
            reflected[:, inside[0]] = mean
    return reflected


def _drop_sums(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return values with one fewer along each axis, from which those that add up to 0 follow."""
    current = values.reshape(len(values), *shape)
    for axis, size in enumerate(shape, 1):
        current = current - current.mean(axis=axis, keepdims=True)
        last = np.take(current, [size - 1], axis=axis)
        kept = np.take(current, range(size - 1), axis=axis)
        # The last value is minus the sum of the coordinates over the root of their number.
        current = kept - last / (1.0 + np.sqrt(size))
    return current.reshape(len(values), -1)


def _group_means(values: Floats, group: Index, count: int) -> Floats:
    """Return the mean of each group, 0 of one without values."""
    means = np.zeros((len(values), count))
    for code in np.unique(group[group >= 0]):
        means[:, code] = values[:, group == code].mean(axis=1)
    return means


def _take(values: Floats, index: Index) -> Floats:
    """Return values at an index, 0 where it is -1."""
    padded = np.concatenate([values, np.zeros((len(values), 1))], axis=1)
    columns: Floats = padded[:, index]
    return columns


def _free_cutpoints(
    posterior: xr.Dataset, design: Design, scale: ScaleRatings, means: dict[str, Floats]
) -> Floats:
    """Return the coordinates of the cutpoints of a scale."""
    name = f"threshold_{scale.name}"
    samples = posterior.sizes["chain"] * posterior.sizes["draw"]
    if name not in posterior:
        return np.tile(start_cutpoints(design, scale), (samples, 1))
    common = flatten_draws(posterior[name], scale.cutpoint_dim)
    steps = np.diff(common, axis=1)
    steps = np.log(steps) if design.ordered_cutpoints else steps
    for mean in _absorbed(design.gap_terms(scale), means):
        steps = steps + mean[:, : steps.shape[1]]
    shift = np.zeros(samples)
    for term in design.terms_of("location"):
        position = term.swept_mean[_position(design, scale)]
        shift += means[term.name][:, position] if position >= 0 else 0.0
    gaps = np.exp(steps) if design.ordered_cutpoints else steps
    cutpoints = np.concatenate([np.zeros((samples, 1)), np.cumsum(gaps, axis=1)], axis=1)
    reference = scale.reference_cutpoint
    cutpoints += (common[:, reference] - shift - cutpoints[:, reference])[:, None]
    if not design.ordered_cutpoints:
        return cutpoints
    return np.concatenate([cutpoints[:, [scale.median_cutpoint]], steps], axis=1)


def _absorbed(terms: list[Term], means: dict[str, Floats]) -> Iterator[Floats]:
    """Yield the mean effects on gaps that the cutpoints of a scale absorb."""
    yield from (means[term.name] for term in terms if (term.mean_group >= 0).any())


def _position(design: Design, scale: ScaleRatings) -> int:
    """Return the position of a scale."""
    return [other.name for other in design.scales].index(scale.name)
