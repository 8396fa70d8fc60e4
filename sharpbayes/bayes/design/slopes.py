"""Slopes of a model x numeric columns of a study -> terms with a number for every rating.

With f the transform of a column, m and s the mean and the sd of f over the units that have a
number, such as the answers, a rating with the number v and the level j adds to the severity

    x (b + d_j),   x = (f(v) - m) / s,   b common slope,   d_j deviation of the level.

A rating without a number, such as a person's where the column is about judgements, has x = 0.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sharpbayes.bayes.design.crossing import INDEX_TYPE, cross, median_count, parent_of
from sharpbayes.bayes.design.design import CENTRED_FROM, Floats, ScaledCovariate, Term
from sharpbayes.data.covariates import Covariate
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import did_you_mean, format_count
from sharpbayes.spec.lines import KeyPath
from sharpbayes.spec.model import Model, Slope, dim_name

TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"none": np.asarray, "log": np.log}


def find_slope_errors(ratings: Ratings, model: Model) -> Iterator[tuple[KeyPath, str]]:
    """Yield the place and the error of each slope of a column that cannot have one."""
    for number, slope in enumerate(model.slope):
        covariate = ratings.covariates.get(slope.column)
        path: KeyPath = ("slope", number)
        if covariate is None:
            known = list(ratings.covariates)
            message = f"no numeric column {slope.column!r} was read, there are "
            hint = ", ".join(known) or "none"
            yield (*path, "column"), message + hint + did_you_mean(slope.column, known)
            continue
        values = _known_values(covariate)
        if slope.transform == "log" and (values <= 0).any():
            count = format_count(int((values <= 0).sum()), covariate.unit)
            message = f"a logarithm needs numbers above 0; {count} of {slope.column!r} at or below"
            yield (*path, "transform"), f'{message}, lowest {values.min():g}; use "none"'
        elif np.ptp(values) == 0:
            message = f"{slope.column!r} is {values[0]:g} for every {covariate.unit}"
            yield (*path, "column"), f"{message}: a constant has no slope; leave the slope out"


def _known_values(covariate: Covariate) -> Floats:
    """Numbers of all units: a refit without some ratings has the same centre and scale."""
    known = covariate.values[~np.isnan(covariate.values)]
    return known if known.size else np.zeros(1)


def index_slopes(
    ratings: Ratings, slopes: Sequence[Slope], weights: Mapping[str, float] | None
) -> tuple[list[Term], list[str], tuple[ScaledCovariate, ...]]:
    """Return the terms of slopes, the stems of those with one level, and their columns, scaled.

    ``weights`` are non-centring weights by the name of a term.
    """
    terms, omitted, scaled = [], [], []
    for column in dict.fromkeys(slope.column for slope in slopes):
        mine = [slope for slope in slopes if slope.column == column]
        covariate, numbers = scale_covariate(column, ratings.covariates[column], mine[0].transform)
        scaled.append(covariate)
        common = _common_term(mine[0], ratings, numbers)
        deviations = [_deviations(slope, ratings, numbers) for slope in mine if slope.by]
        omitted += [term.stem for term in deviations if _is_common(term, common)]
        terms += _add_child(
            _set_weight(common, weights),
            [_set_weight(t, weights) for t in deviations if t.stem not in omitted],
        )
    return terms, omitted, tuple(scaled)


def _is_common(deviation: Term, common: Term) -> bool:
    """Whether the common slope is that of the only level: no rating has the number and no level."""
    levels = len(deviation.used_levels)
    everywhere = bool((deviation.index[common.index >= 0] >= 0).all())
    return levels == 0 or (levels == 1 and everywhere)


def scale_covariate(
    column: str, covariate: Covariate, transform: str
) -> tuple[ScaledCovariate, Floats]:
    """Return the constants of a column, and the scaled number of every rating."""
    values = _known_values(covariate)
    changed = TRANSFORMS[transform](values)
    centre, scale = float(changed.mean()), float(changed.std())
    numbers = np.zeros(len(covariate.codes))
    known = covariate.codes >= 0
    of_rating = TRANSFORMS[transform](covariate.values[covariate.codes[known]])
    numbers[known] = (of_rating - centre) / scale
    constants = ScaledCovariate(
        column=column,
        unit=covariate.unit,
        transform=transform,
        centre=centre,
        scale=scale,
        lowest=float(values.min()),
        highest=float(values.max()),
        n_units=len(values),
    )
    return constants, numbers


def _common_term(slope: Slope, ratings: Ratings, numbers: Floats) -> Term:
    """The one effect that all ratings with a number share."""
    known = ratings.covariates[slope.column].codes >= 0
    return Term(
        name=f"slope_{dim_name(slope.column)}",
        kind="slope",
        dims=(),
        shape=(),
        index=np.where(known, 0, -1).astype(INDEX_TYPE),
        prior=slope.prior,
        non_centring=0.0,
        mean_group=np.full(1, -1, dtype=np.int64),
        covariate=numbers,
        column=slope.column,
    )


def _deviations(slope: Slope, ratings: Ratings, numbers: Floats) -> Term:
    """What each level of a slope adds to the common slope."""
    index, shape = cross([ratings.factors[name] for name in slope.by])
    dims = tuple(dim_name(name) for name in slope.by)
    index = np.where(ratings.covariates[slope.column].codes >= 0, index, INDEX_TYPE(-1))
    return Term(
        name=f"slope_{dim_name(slope.column)}_by_{'_'.join(dims)}",
        kind="slope",
        dims=dims,
        shape=shape,
        index=index,
        prior=slope.deviation,
        non_centring=float(median_count(index) < CENTRED_FROM),
        mean_group=np.full(int(np.prod(shape)), -1, dtype=np.int64),
        covariate=numbers,
        column=slope.column,
    )


def _set_weight(term: Term, weights: Mapping[str, float] | None) -> Term:
    """The term with the weight that is given, if one is."""
    return replace(term, non_centring=(weights or {}).get(term.name, term.non_centring))


def _add_child(common: Term, deviations: Sequence[Term]) -> list[Term]:
    """Terms of one column, the common slope the centre of a first term of well-informed slopes."""
    centred = [
        term
        for term in deviations
        if term.centred and parent_of(term.index, common.index, size=term.size) is not None
    ]
    child = min(centred, key=lambda term: term.size, default=None)
    return [replace(common, child_term=child.name if child else None), *deviations]
