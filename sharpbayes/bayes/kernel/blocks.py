"""Ratings in blocks, and the cells that their severity is tabulated for: arrays for the kernel.

What locations, groups, cells and blocks are stands in :mod:`sharpbayes.bayes.kernel.data`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index, find_combinations
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.kernel.bounds import find_bounds, find_categories

Floats = NDArray[np.float64]
# A further term joins the locations where groups, or blocks, would otherwise be this many a rating.
MAX_GROUPS_PER_RATING, MAX_BLOCKS_PER_RATING = 0.2, 0.5
# Cells are numbered block by block where there are so many a rating; a block of fewer ratings is
# read cell by cell.
MIN_CELLS_PER_RATING, MIN_RUN = 0.5, 32
# Values and derivatives of more cells leave the second level of a processor's cache.
CACHED_CELLS = 32_768


def block_arrays(design: Design, first: Mapping[str, int], set_of_rating: Index) -> dict[str, Any]:
    """Sort ratings into blocks of one group, set, discrimination and category; count inner ones."""
    discriminations = design.terms_of("discrimination")
    discrimination, discrimination_links = _combine(design, discriminations, first)
    category, _ = find_categories(design)
    inner, outer = _split_locations(design, [set_of_rating, discrimination, category])
    location, *location_tables = _combine_severities(design, inner, first)
    group, *group_tables = _combine_severities(design, outer, first)
    pair, pairs = find_combinations([set_of_rating, discrimination])
    rating, below, above = find_bounds(design)
    rater = design.careless.index if design.careless else np.full(design.n_ratings, -1)
    shared = [number[rating] for number in (rater, group, set_of_rating, discrimination)]
    block, blocks = find_combinations([*shared, below, above])
    cell, cells = _number_cells(discrimination, location, block, rating)
    order = np.lexsort((cell[rating], block))
    widest = max(scale.n_cutpoints for scale in design.scales)
    counts = np.zeros((len(pairs), widest))
    between = (below >= 0) & (above >= 0)
    np.add.at(counts, (pair[rating[between]], below[between]), 1.0)
    block_start = np.searchsorted(block[order], np.arange(len(blocks) + 1))
    raters = design.careless.n_raters if design.careless else 0
    return {
        "discrimination_links": discrimination_links,
        "pair": np.column_stack([pairs, np.arange(len(pairs)) * widest]),
        "counts": counts.ravel(),
        "location_links": location_tables[0].astype(np.uint32),
        "cell_location": cells[:, 1].astype(np.uint32),
        "cell_start": np.searchsorted(cells[:, 0], np.arange(int(discrimination.max()) + 2)),
        "group_links": group_tables[0],
        "block": np.ascontiguousarray(blocks[:, 1:]),
        "block_start": block_start,
        "rating_cell": cell[rating[order]].astype(np.uint32),
        "block_run": _find_runs(cell[rating[order]], block_start),
        "location_slopes": location_tables[1],
        "location_numbers": location_tables[2],
        "group_slopes": group_tables[1],
        "group_numbers": group_tables[2],
        "rater_block": np.searchsorted(blocks[:, 0], np.arange(-1, raters + 1)),
        "block_pair": pair[rating[order[block_start[:-1]]]].astype(np.int64),
    }


def _number_cells(
    discrimination: Index, location: Index, block: Index, rating: Index
) -> tuple[Index, Index]:
    """Cell of each rating; discrimination and location of each cell.

    Cells of a discrimination are in the order of locations, or of blocks if most have one rating.
    Of many cells those with the most ratings are first: they stay in the cache of a processor.
    """
    cell, cells = find_combinations([discrimination, location])
    if len(cells) >= MIN_CELLS_PER_RATING * len(cell):
        key = np.zeros(len(cells), dtype=np.int64)
        # The first block of a cell is the last that is written.
        key[cell[rating[::-1]]] = block[::-1]
    elif len(cells) > CACHED_CELLS:
        key = -np.bincount(cell)
    else:
        return cell, cells
    order = np.lexsort((cells[:, 1], key, cells[:, 0]))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[cell], cells[order]


def _find_runs(rating_cell: Index, block_start: Index) -> Index:
    """First cell of each block of many ratings whose cells follow one another, -1 of others."""
    follows = np.append(0, np.cumsum(np.diff(rating_cell) == 1))
    first, last = block_start[:-1], block_start[1:] - 1
    is_run = (follows[last] - follows[first] == last - first) & (last - first >= MIN_RUN - 1)
    return np.where(is_run, rating_cell[first], -1).astype(np.int64)


def _split_locations(design: Design, shared: Sequence[Index]) -> tuple[list[Term], list[Term]]:
    """Terms of the locations (tabulated) and of the groups (constant within a block).

    The largest term makes the locations. Terms that are nested in it join them, unless they are
    constant within blocks as they are, and so does one that would leave blocks with few ratings.
    Ratings of a block also have the ``shared`` codes in common.
    """
    terms = [term for term in design.severity_terms if term.child_term is None]
    terms.sort(key=lambda term: (term.kind == "slope", -term.size))
    inner = terms[:1]
    outer: list[Term] = []
    location: Index = np.zeros(design.n_ratings, dtype=np.int64)
    if terms:
        slope = terms[0].kind == "slope"
        location = find_combinations(_codes(terms[0]))[0] if slope else terms[0].index
    n_blocks = len(find_combinations(shared)[1])
    for term in terms[1:]:
        joint, combinations = find_combinations([location, *_codes(term)])
        group, groups = find_combinations([x for other in (*outer, term) for x in _codes(other)])
        blocks = find_combinations([group, *shared])[1]
        nested = len(combinations) == int(location.max()) + 1
        many = len(groups) > MAX_GROUPS_PER_RATING * design.n_ratings
        many = many or len(blocks) > MAX_BLOCKS_PER_RATING * design.n_ratings
        if many or (nested and len(blocks) > n_blocks):
            inner.append(term)
            location = joint
        else:
            outer.append(term)
            n_blocks = len(blocks)
    return inner, outer


def _combine(
    design: Design, terms: Sequence[Term], first: Mapping[str, int]
) -> tuple[Index, Index]:
    """Each rating's combination of effects, and the positions in ``U`` of those effects."""
    none = np.zeros(design.n_ratings, dtype=np.int64)
    number, levels = find_combinations([term.index for term in terms] or [none])
    links = [find_links(first[term.name], levels[:, n]) for n, term in enumerate(terms)]
    return number, np.stack(links or [np.zeros(len(levels), dtype=np.int64)])


def _combine_severities(
    design: Design, terms: Sequence[Term], first: Mapping[str, int]
) -> tuple[Index, Index, Index, Floats]:
    """Each rating's combination; positions in ``U`` of its locations and slopes, its numbers."""
    slopes = [term for term in terms if term.covariate is not None]
    if not slopes:
        number, links = _combine(design, terms, first)
        return number, links, np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1))
    locations = [term for term in terms if term.covariate is None]
    number, _ = find_combinations([code for term in (*locations, *slopes) for code in _codes(term)])
    rating = np.zeros(int(number.max()) + 1, dtype=np.int64)
    rating[number] = np.arange(len(number))

    def link(term: Term) -> Index:
        return find_links(first[term.name], term.index[rating].astype(np.int64))

    none = [np.zeros(len(rating), dtype=np.int64)]
    numbers = np.stack([np.asarray(term.of(rating).covariate) for term in slopes])
    return (
        number,
        np.stack([*map(link, locations)] or none),
        np.stack([*map(link, slopes)]),
        numbers,
    )


def _codes(term: Term) -> list[Index]:
    """Codes that determine what a term adds to the severity: its level, and its number."""
    if term.covariate is None:
        return [term.index]
    return [term.index, np.unique(term.covariate, return_inverse=True)[1]]


def find_links(offset: int, index: Index) -> Index:
    """Positions in ``U``: 0, which holds a 0, where the index is -1."""
    return np.where(index >= 0, offset + index, 0)
