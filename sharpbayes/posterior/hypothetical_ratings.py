"""Ratings that nobody has given yet, under the model of a fit: their effects, their moments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import INDEX_TYPE, Index
from sharpbayes.bayes.design.design import Design, Floats, ScaleRatings, Term
from sharpbayes.bayes.predict.replication import draw_effects, latent_ratings
from sharpbayes.spec.model import dim_name

# Values in memory at once.
BLOCK_VALUES = 4_000_000


def look_up(
    name: str,
    observed: Mapping[str, Index],
    codes: Mapping[str, Index],
    keys: Sequence[Sequence[str]],
) -> Index:
    """Return codes of a column of new ratings, by the first key that shows it in observed ones.

    -1 where the ratings do not show it; the first level where no key does, as for answers.
    ``codes`` are those of the new ratings.
    """
    size = len(next(iter(codes.values())))
    for key in keys:
        table = _table_of(observed[name], [observed[k] for k in key])
        if table is not None:
            values, shape = table
            known = [codes[k] for k in key]
            inside = np.all([(c >= 0) & (c < n) for c, n in zip(known, shape, strict=True)], axis=0)
            flat = (
                np.ravel_multi_index([np.where(inside, c, 0) for c in known], shape) if key else 0
            )
            return np.where(inside, values[flat], -1) * np.ones(size, dtype=int)
    return np.zeros(size, dtype=np.int64)


def _table_of(code: Index, key: list[Index]) -> tuple[Index, tuple[int, ...]] | None:
    """The code of each level of a key, and its shape; None where a level has several."""
    shape = tuple(int(k.max()) + 1 for k in key)
    if any((k < 0).any() for k in key):
        return None
    flat = np.ravel_multi_index(key, shape) if key else np.zeros(len(code), dtype=np.int64)
    values = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    values[flat] = code
    return (values, shape) if np.array_equal(values[flat], code) else None


def index_codes(
    design: Design,
    codes: Mapping[str, Index],
    on_scale: Mapping[str, NDArray[np.bool_]],
    *,
    numbers: Callable[[Term], Floats | None],
) -> Design:
    """Return the design of new ratings with these codes; ``numbers`` are those of a slope's.

    ``on_scale`` says by the name of each scale which of them are on it.
    """
    names = {dim_name(name): code for name, code in codes.items()}
    terms = tuple(
        replace(term, index=index_term(term, names, on_scale, design), covariate=numbers(term))
        for term in design.terms
    )
    scales = tuple(
        replace(scale, rows=rows, category=np.zeros(len(rows), dtype=np.int64))
        for scale in design.scales
        for rows in [np.flatnonzero(on_scale[scale.name])]
    )
    size = len(next(iter(on_scale.values())))
    return replace(design, terms=terms, scales=scales, n_ratings=size, careless=None)


def index_term(
    term: Term,
    codes: Mapping[str, Index],
    on_scale: Mapping[str, NDArray[np.bool_]],
    design: Design,
) -> Index:
    """Return the flat position of the effect of each new rating, -1 for none.

    ``on_scale`` says by the name of each scale which of them are on it.
    """
    if term.kind == "gap":
        rated = on_scale[design.scales[term.scale].name]
        return np.where(rated, codes[term.dims[0]], -1).astype(INDEX_TYPE)
    levels = [codes[dim] for dim in term.dims]
    applies = np.all([level >= 0 for level in levels], axis=0)
    flat = np.ravel_multi_index([np.where(applies, level, 0) for level in levels], term.shape)
    return np.where(applies, flat, -1).astype(INDEX_TYPE)


def fill_effects(posterior: xr.Dataset, design: Design, rng: np.random.Generator) -> xr.Dataset:
    """Return draws in which effects without a rating, which are missing, are drawn."""
    filled = {}
    for term in design.terms:
        values = posterior[term.name].transpose("chain", "draw", *term.dims)
        if bool(values.isnull().any()):
            drawn = term.to_results(draw_effects(posterior, term, rng))
            filled[term.name] = values.where(values.notnull(), values.copy(data=drawn))
    return posterior.assign(filled)


def rating_moments(
    posterior: xr.Dataset, rows: Design, scale: ScaleRatings, values: Floats
) -> Iterator[tuple[Index, Floats, Floats]]:
    """Yield positions of ratings on a scale, and E[v] and E[v^2] of their values in every draw.

    ``values`` are those of the categories; moments are over (draw, rating).
    """
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    size = max(1, BLOCK_VALUES // draws)
    for start in range(0, len(scale.rows), size):
        columns = scale.rows[start : start + size]
        part = replace(scale, rows=columns, category=scale.category[start : start + size])
        latent = latent_ratings(posterior, rows, part)
        first, second = (np.zeros((draws, len(columns))) for _ in range(2))
        for category, value in enumerate(values):
            asked = replace(part, category=np.full(len(columns), category))
            probability = np.exp(replace(latent, scale=asked).log_probability())
            first += value * probability
            second += value**2 * probability
        yield columns, first, second
