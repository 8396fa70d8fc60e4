"""A design as flat arrays for the kernel.

The kernel evaluates log p(z), the log density of the sampler's coordinates z, in these steps:

1. *Effects.* The coordinates of each term become effects. ``U`` holds, one term after the other,
   the effects (plus their centres, less the means of their groups) and the means of the groups.
   ``U[0]`` is 0 and stands for no effect, so that a link 0 adds nothing.
2. *Cutpoints.* Ratings with the same levels of all gap terms share a set of cutpoints.
3. *Ratings.* Rating n has severity eta_n = v_l + g_n and discrimination a_q, where v_l is the sum
   of the effects of its *location* (terms that vary within blocks) and g_n is the sum of the
   effects of its *group* (the other terms). A slope counts times the number of the location or
   group. A *cell* is a location and a discrimination that meet: a_q v_l is computed once a cell. A
   *block* is a run of ratings that share group, set of cutpoints, discrimination and category, so
   that only their cells differ.

"Links" are positions in ``U`` that are added up.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index, find_combinations
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.kernel.bounds import find_bounds, find_categories
from sharpbayes.bayes.kernel.careless_data import careless_arrays, reference_positions
from sharpbayes.bayes.kernel.tables import join_parts, make_table
from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT

Floats = NDArray[np.float64]
HALF_NORMAL, EXPONENTIAL, HALF_STUDENT_T = 1, 2, 3
# Number of each kind of prior of an sd, and its scale and degrees of freedom.
SD_PRIORS: dict[type, tuple[int, Callable[[Any], tuple[float, float]]]] = {
    float: (0, lambda sd: (sd, 0.0)),
    HalfNormal: (HALF_NORMAL, lambda prior: (prior.scale, 0.0)),
    Exponential: (EXPONENTIAL, lambda prior: (prior.mean, 0.0)),
    HalfStudentT: (HALF_STUDENT_T, lambda prior: (prior.scale, prior.df)),
}
# Forms of the probability of a block: between two cutpoints under a link, or by all of its scale.
LOGIT, PROBIT, ADJACENT = range(3)
# A further term joins the locations where groups, or blocks, would otherwise be this many a rating.
MAX_GROUPS_PER_RATING, MAX_BLOCKS_PER_RATING = 0.2, 0.5


class Sizes(NamedTuple):
    """Entries of ``KernelData.sizes``; form is LOGIT, PROBIT or ADJACENT.

    For careless raters, else -1: the coordinate of their share, the row of the term that has a
    reference for their effects, the coordinate of the median cutpoint of their scale.
    """

    coordinates: int
    vector: int
    effects: int
    cutpoints: int
    scale_cutpoints: int
    form: int
    ordered: int
    careless: int
    reference: int
    median: int


class TermRow(NamedTuple):
    """Columns of ``KernelData.term``: offsets in coordinates, in ``U`` and in own effects."""

    z: int  # first coordinate
    free: int  # number of coordinates
    size: int  # number of effects
    u: int  # first position in ``U`` of the effects
    means: int  # first position in ``U`` of the means of groups
    groups: int  # number of mean groups
    stored: int  # first position among effects less their centres, which draws store
    centred: int  # whether effects are sampled about their centres
    zero_sum: int  # number of dimensions if effects add up to 0, else 0
    sd_z: int  # coordinate of the first log sd, -1 for a fixed sd
    sd_kind: int  # kind of the prior of the sd
    levels: int  # size of the last dimension if correlated, else 1
    corr_z: int  # first coordinate of the correlations, -1 for none
    links: int  # first position in ``centre_links``
    centres: int  # number of parents
    one_group: int  # whether all effects are in one group


class PriorRow(NamedTuple):
    """Columns of ``KernelData.prior``: value or scale of the sd, its degrees of freedom; others."""

    sd: float
    df: float
    eta: float  # parameter of LKJ
    weight: float  # non-centring weight
    freedom: float  # degrees of freedom of the effects, 0 for normal ones


class ScaleRow(NamedTuple):
    """Columns of ``KernelData.scale``: first coordinate, cutpoints, positions, first cutpoint."""

    z: int
    cutpoints: int
    median: int
    reference: int
    first: int


# Positions of those columns.
SIZE = Sizes(*range(10))
AT = TermRow(*range(16))
PRIOR = PriorRow(*range(5))
SCALE = ScaleRow(*range(5))


class KernelData(NamedTuple):
    """Everything that the kernel reads."""

    sizes: Index  # see :class:`Sizes`
    term: Index  # one row a term, parents first: see :class:`TermRow`
    axes: Index  # sizes of the dimensions of each term
    mean_group: Index  # mean group of each effect, terms one after the other, -1 for none
    centre_links: NDArray[np.uint32]  # position in ``U`` of each centre of each effect
    prior: Floats  # one row a term: see :class:`PriorRow`
    scale: Index  # one row a scale: see :class:`ScaleRow`
    scale_prior: Floats  # mean and sd of its cutpoints
    shift_links: Index  # for each scale the means that its cutpoints absorb
    gap_links: Index  # for each scale the mean gap effects that its gaps absorb
    cutpoint_set: Index  # for each set of cutpoints: scale, first cutpoint
    set_links: Index  # for each set its first gap effect of each column
    discrimination_links: Index  # log factors of each discrimination; shape (term, discrimination)
    pair: Index  # for each set and discrimination that meet: set, discrimination, first count
    counts: Floats  # number of ratings of a pair between each two cutpoints
    location_links: Index  # for each location its effects; shape (term, location)
    cell_location: NDArray[np.uint32]  # location of each cell, discrimination by discrimination
    cell_start: Index  # first cell of each discrimination, and the number of cells
    group_links: Index  # for each group its effects; shape (term, group)
    # For each block: group, set, discrimination, position of the cutpoint below its ratings and
    # of the one above, -1 for none.
    block: Index
    block_start: Index  # first rating of each block, and the number of ratings
    # Cell of each rating, blocks one after the other; a rating of a stepwise likelihood is in a
    # block for each cutpoint that it was compared with.
    rating_cell: NDArray[np.uint32]
    # For each location and each group the slopes that act on it, and the numbers that multiply
    # them; shape (slope, location) and (slope, group).
    location_slopes: Index
    location_numbers: Floats
    group_slopes: Index
    group_numbers: Floats
    # Careless raters: first block of ratings without a class, then of each rater; ``pair`` of each
    # block; parameters of the prior of the share, then the log-likelihood of each careless rater.
    rater_block: Index
    block_pair: Index
    careless: Floats
    reference: Floats  # centre and spread of the reference of each rater


def build_kernel_data(
    design: Design,
    starts: Mapping[str, tuple[int, ...]],
    *,
    thresholds: Sequence[int],
    share: int,
    size: int,
) -> KernelData:
    """Return the arrays of a design with ``size`` coordinates.

    ``starts`` has the first of each term's log sds, correlations and effects, -1 for none,
    ``thresholds`` the first of each scale's cutpoints, and ``share`` is the coordinate of the share
    of careless raters, -1 for none.
    """
    rows = _term_rows(design, starts)
    terms, locations = design.parents_first, design.terms_of("location")
    swept = [
        [rows[t.name].means + t.swept_mean[n] for t in locations if t.swept_mean[n] >= 0]
        for n in range(len(design.scales))
    ]
    gap_means = [[rows[t.name].means for t in design.gap_terms(scale)] for scale in design.scales]
    first = np.cumsum([0, *(scale.n_cutpoints for scale in design.scales)])
    scale_rows = [
        ScaleRow(z, scale.n_cutpoints, scale.median_cutpoint, scale.reference_cutpoint, int(n))
        for z, scale, n in zip(thresholds, design.scales, first[:-1], strict=True)
    ]
    prior = [
        PriorRow(*SD_PRIORS[type(t.prior.sd)][1](t.prior.sd), t.lkj_eta, t.non_centring, t.freedom)
        for t in terms
    ]
    set_of_rating, cutpoint_set, set_links = _cutpoint_sets(design, rows)
    centre_links = [
        _links(rows[other.name].means if by_mean else rows[other.name].u, position)
        for term in terms
        for other, by_mean, position in design.parents(term)
    ]
    form = LOGIT if design.link == "logit" else PROBIT
    sizes = Sizes(
        coordinates=size,
        vector=1 + sum(row.size + row.groups for row in rows.values()) + int(share >= 0),
        effects=sum(row.size for row in rows.values()),
        cutpoints=sum(design.scales[n].n_cutpoints for n in cutpoint_set[:, 0]),
        scale_cutpoints=int(first[-1]),
        form=ADJACENT if design.traits.kernel == "adjacent" else form,
        ordered=int(design.ordered_cutpoints),
        careless=share,
        **reference_positions(design, thresholds),
    )
    return KernelData(
        sizes=np.array(sizes),
        term=make_table([rows[term.name] for term in terms], columns=len(AT)),
        axes=make_table([term.shape for term in terms], columns=4),
        mean_group=join_parts([term.mean_group for term in terms]),
        centre_links=join_parts(centre_links).astype(np.uint32),
        prior=np.array(prior, dtype=float).reshape(-1, len(PRIOR)),
        scale=make_table(scale_rows),
        scale_prior=np.array([[design.thresholds.mean, design.thresholds.sd]] * len(scale_rows)),
        shift_links=make_table(swept),
        gap_links=make_table(gap_means),
        cutpoint_set=cutpoint_set,
        set_links=set_links,
        **careless_arrays(design),
        **_blocks(design, rows, set_of_rating),
    )


def _term_rows(design: Design, starts: Mapping[str, tuple[int, ...]]) -> dict[str, TermRow]:
    """Row of each term, by its name."""
    rows: dict[str, TermRow] = {}
    stored, u, links = 0, 1, 0
    for term in design.parents_first:
        sd_z, corr_z, z = starts[term.name]
        centres = len(design.parents(term))
        rows[term.name] = TermRow(
            z=z,
            free=term.n_coordinates,
            size=term.size,
            u=u,
            means=u + term.size,
            groups=term.n_mean_groups,
            stored=stored,
            centred=int(term.centred),
            zero_sum=len(term.shape) if term.zero_sum else 0,
            sd_z=sd_z,
            sd_kind=SD_PRIORS[type(term.prior.sd)][0],
            levels=term.shape[-1] if term.correlation else 1,
            corr_z=corr_z,
            links=links,
            centres=centres,
            one_group=int(term.n_mean_groups == 1 and bool((term.mean_group == 0).all())),
        )
        stored += term.size
        u += term.size + term.n_mean_groups
        links += term.size * centres
    return rows


def _links(offset: int, index: Index) -> Index:
    """Positions in ``U``: 0, which holds a 0, where the index is -1."""
    return np.where(index >= 0, offset + index, 0)


def _combine(
    design: Design, terms: Sequence[Term], rows: dict[str, TermRow]
) -> tuple[Index, Index]:
    """Each rating's combination of effects, and the positions in ``U`` of those effects."""
    none = np.zeros(design.n_ratings, dtype=np.int64)
    number, levels = find_combinations([term.index for term in terms] or [none])
    links = [_links(rows[term.name].u, levels[:, n]) for n, term in enumerate(terms)]
    return number, np.stack(links or [np.zeros(len(levels), dtype=np.int64)])


def _combine_severities(
    design: Design, terms: Sequence[Term], rows: dict[str, TermRow]
) -> tuple[Index, Index, Index, Floats]:
    """Each rating's combination; positions in ``U`` of its locations and slopes, its numbers."""
    slopes = [term for term in terms if term.covariate is not None]
    if not slopes:
        number, links = _combine(design, terms, rows)
        return number, links, np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1))
    locations = [term for term in terms if term.covariate is None]
    number, _ = find_combinations([code for term in (*locations, *slopes) for code in _codes(term)])
    rating = np.zeros(int(number.max()) + 1, dtype=np.int64)
    rating[number] = np.arange(len(number))

    def link(term: Term) -> Index:
        return _links(rows[term.name].u, term.index[rating].astype(np.int64))

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


def _cutpoint_sets(design: Design, rows: dict[str, TermRow]) -> tuple[Index, Index, Index]:
    """Set of cutpoints of each rating; scale and first cutpoint, and links, of each set."""
    set_of_rating = np.zeros(design.n_ratings, dtype=np.int64)
    sets: list[tuple[int, int]] = []
    links: list[list[int]] = []
    first = 0
    for position, scale in enumerate(design.scales):
        number, levels = design.cutpoint_sets(scale)
        set_of_rating[scale.rows] = number + len(sets)
        effects = [rows[term.name].u for term in design.gap_terms(scale)]
        gaps = scale.n_cutpoints - 1
        for row in levels:
            pairs = zip(effects, row, strict=False)
            links.append([u + int(level) * gaps if level >= 0 else 0 for u, level in pairs])
            sets.append((position, first))
            first += scale.n_cutpoints
    return set_of_rating, np.array(sets), make_table(links)


def _blocks(design: Design, rows: dict[str, TermRow], set_of_rating: Index) -> dict[str, Any]:
    """Sort ratings into blocks of one group, set, discrimination and category; count inner ones."""
    discriminations = design.terms_of("discrimination")
    discrimination, discrimination_links = _combine(design, discriminations, rows)
    category, _ = find_categories(design)
    inner, outer = _split_locations(design, [set_of_rating, discrimination, category])
    location, *location_tables = _combine_severities(design, inner, rows)
    group, *group_tables = _combine_severities(design, outer, rows)
    cell, cells = find_combinations([discrimination, location])
    pair, pairs = find_combinations([set_of_rating, discrimination])
    rating, below, above = find_bounds(design)
    rater = design.careless.index if design.careless else np.full(design.n_ratings, -1)
    shared = [number[rating] for number in (rater, group, set_of_rating, discrimination)]
    block, blocks = find_combinations([*shared, below, above])
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
        "location_links": location_tables[0],
        "cell_location": cells[:, 1].astype(np.uint32),
        "cell_start": np.searchsorted(cells[:, 0], np.arange(int(discrimination.max()) + 2)),
        "group_links": group_tables[0],
        "block": np.ascontiguousarray(blocks[:, 1:]),
        "block_start": block_start,
        "rating_cell": cell[rating[order]].astype(np.uint32),
        "location_slopes": location_tables[1],
        "location_numbers": location_tables[2],
        "group_slopes": group_tables[1],
        "group_numbers": group_tables[2],
        "rater_block": np.searchsorted(blocks[:, 0], np.arange(-1, raters + 1)),
        "block_pair": pair[rating[order[block_start[:-1]]]].astype(np.int64),
    }


def _split_locations(design: Design, shared: Sequence[Index]) -> tuple[list[Term], list[Term]]:
    """Terms of the locations (tabulated) and of the groups (constant within a block).

    The largest term makes the locations. Terms that are nested in it join them, and so does one
    that would leave blocks with few ratings, which also have the ``shared`` codes in common.
    """
    terms = [term for term in design.severity_terms if term.child_term is None]
    terms.sort(key=lambda term: (term.kind == "slope", -term.size))
    inner = terms[:1]
    outer: list[Term] = []
    location: Index = np.zeros(design.n_ratings, dtype=np.int64)
    if terms:
        slope = terms[0].kind == "slope"
        location = find_combinations(_codes(terms[0]))[0] if slope else terms[0].index
    for term in terms[1:]:
        joint, combinations = find_combinations([location, *_codes(term)])
        group, groups = find_combinations([x for other in (*outer, term) for x in _codes(other)])
        blocks = find_combinations([group, *shared])[1]
        nested = len(combinations) == int(location.max()) + 1
        many = len(groups) > MAX_GROUPS_PER_RATING * design.n_ratings
        if nested or many or len(blocks) > MAX_BLOCKS_PER_RATING * design.n_ratings:
            inner.append(term)
            location = joint
        else:
            outer.append(term)
    return inner, outer
