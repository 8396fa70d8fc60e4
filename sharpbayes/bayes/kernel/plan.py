"""A design as flat arrays for the kernel: coordinates, terms, thresholds, runs of ratings."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index, combinations
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.spec.model import Exponential, HalfNormal, HalfStudentT

Floats = NDArray[np.float64]
FIXED, HALF_NORMAL, EXPONENTIAL, HALF_STUDENT_T = range(4)
# What gives the probability of a run: two thresholds under a link, or all of its scale's.
LOGIT, PROBIT, ADJACENT = range(3)
# Joining one more term to the cells is worth it if run keys would otherwise be this many a rating.
CROWDED = 0.2


class KernelData(NamedTuple):
    """Everything that the kernel reads; ``U`` is the vector of effects and block means.

    Attributes:
        sizes: Numbers of coordinates, of entries of ``U``, of own effects, of thresholds of all
            sets; what gives the probability of a run; 1 where thresholds grow.
        term: One row a term: see :class:`TermRow`.
        axes: Sizes of the dimensions of each zero-sum term, 0 after the last.
        block: Block of each effect, terms one after the other, -1 for none.
        links: Positions in ``U`` of the centres of each effect.
        prior: For each term the fixed sd or the scale of its prior, degrees of freedom, LKJ's eta,
            and the power of the sd that its effects are divided by.
        scale: For each scale: first coordinate, thresholds, anchor, pivot, first threshold.
        scale_prior: Mean and sd of its thresholds.
        shift: Positions in ``U`` of the means that its thresholds hold; 0 for none.
        stretch: Positions in ``U`` of the mean stretches of its gaps; 0 for none.
        set_: For each set of thresholds: scale, first threshold.
        set_links: Positions in ``U`` of its stretches; 0 for none.
        factor_links: For each discrimination factor the positions in ``U`` of its logarithms.
        pair: For each set and factor that meet: set, factor, first count.
        tally: Number of ratings of a pair between each two thresholds.
        place_links: Positions in ``U`` of the effects of each place: a combination of the
            levels of the terms that vary within runs; shape (term, place).
        cell_place: Place of each cell: a factor and a place that meet, factor by factor.
        factor_start: First cell of each factor, and the number of cells.
        outer_links: The same for each run key; shape (term, key).
        run: For each run: key, set, factor, position of the threshold below its ratings and of
            the one above, -1 for none.
        run_start: First rating of each run, and the number of ratings.
        rating_cell: Cell of each rating, runs one after the other; a rating of a continuation
            model is in a run for each threshold that it was held against.
    """

    sizes: Index
    term: Index
    axes: Index
    block: Index
    links: NDArray[np.uint32]
    prior: Floats
    scale: Index
    scale_prior: Floats
    shift: Index
    stretch: Index
    set_: Index
    set_links: Index
    factor_links: Index
    pair: Index
    tally: Floats
    place_links: Index
    cell_place: NDArray[np.uint32]
    factor_start: Index
    outer_links: Index
    run: Index
    run_start: Index
    rating_cell: NDArray[np.uint32]


class TermRow(NamedTuple):
    """Columns of ``KernelData.term``: offsets in coordinates (z), in ``U`` and in own effects."""

    z: int
    free: int
    size: int
    u: int
    means: int
    blocks: int
    own: int
    centred: int
    zero_sum: int
    sd_z: int
    sd_kind: int
    levels: int
    corr_z: int
    links: int
    centres: int
    whole: int


def sd_kind(term: Term) -> int:
    """Number of the kind of prior of a term's sd."""
    kinds: dict[type, int] = {
        HalfNormal: HALF_NORMAL,
        Exponential: EXPONENTIAL,
        HalfStudentT: HALF_STUDENT_T,
    }
    return kinds.get(type(term.prior.sd), FIXED)


# Position of each column of ``KernelData.term``.
AT = TermRow(*range(len(TermRow._fields)))


def fill(
    design: Design, rows: dict[str, TermRow], *, thresholds: Sequence[int], coordinates: int
) -> KernelData:
    """Return the arrays of a design.

    Args:
        design: Terms and ratings.
        rows: Row of each term, by its name.
        thresholds: First coordinate of the thresholds of each scale.
        coordinates: Number of coordinates.
    """
    terms = design.parents_first
    sets = _sets(design, rows)
    factor, factor_links = _factors(design, rows)
    locations, gap_terms = design.terms_of("location"), design.terms_of("gap")
    scales = range(len(design.scales))
    held = [
        [rows[t.name].means + t.swept_mean[n] for t in locations if t.swept_mean[n] >= 0]
        for n in scales
    ]
    stretches = [[rows[t.name].means for t in gap_terms if t.scale == n] for n in scales]
    prior = [design.thresholds.mean, design.thresholds.sd]
    return KernelData(
        sizes=_sizes(design, rows, sets, coordinates=coordinates),
        term=_table([rows[term.name] for term in terms], columns=len(TermRow._fields)),
        axes=_table([term.shape for term in terms], columns=4),
        block=_joined([term.mean_group for term in terms]),
        links=_joined(_centre_links(design, rows)).astype(np.uint32),
        prior=np.array([_prior(term) for term in terms], dtype=float).reshape(-1, 4),
        scale=_table(_scale_rows(design, thresholds), columns=5),
        scale_prior=np.array([prior for _ in scales], dtype=float),
        shift=_table(held),
        stretch=_table(stretches),
        set_=np.stack([sets.scale, sets.start], axis=1),
        set_links=sets.links,
        factor_links=factor_links,
        **_pairs(design, bounds := _bounds(design), set_of=sets.of_rating, factor=factor),
        **_runs(design, rows, bounds, set_of=sets.of_rating, factor=factor),
    )


def _sizes(design: Design, rows: dict[str, TermRow], sets: "Sets", *, coordinates: int) -> Index:
    """Numbers of coordinates, entries of ``U``, own effects, thresholds; what kernel is meant."""
    ends = [(row.means + row.blocks, row.own + row.size) for row in rows.values()]
    entries, own = np.max([*ends, (1, 0)], axis=0)
    cuts = sum(design.scales[scale].n_cutpoints for scale in sets.scale)
    kind = PROBIT if design.link == "probit" else LOGIT
    kind = ADJACENT if design.likelihood == "adjacent" else kind
    return np.array([coordinates, entries, own, cuts, kind, int(design.ordered_cutpoints)])


def _factors(design: Design, rows: dict[str, TermRow]) -> tuple[Index, Index]:
    """Discrimination factor of each rating, and positions in ``U`` of its logarithms."""
    terms = design.terms_of("discrimination")
    if not terms:
        return np.zeros(design.n_ratings, dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
    factor, held = combinations([term.index for term in terms])
    links = [_at(rows[term.name].u, held[:, n]) for n, term in enumerate(terms)]
    return factor, np.stack(links, axis=1)


def _table(rows: list, *, columns: int = 0) -> Index:  # type: ignore[type-arg]
    """Rows of integers of different lengths as one table, filled with 0."""
    width = max([columns, 1, *(len(row) for row in rows)])
    table = np.zeros((len(rows), width), dtype=np.int64)
    for position, row in enumerate(rows):
        table[position, : len(row)] = row
    return table


def _joined(parts: list[Index]) -> Index:
    """One array after the other; one 0 where there is none, since the kernel takes no empty one."""
    return np.concatenate([*parts, np.zeros(1, dtype=np.int64)])


def _at(offset: int, index: Index) -> Index:
    """Positions in ``U``: 0, which holds a 0, where the index is -1."""
    return np.where(index >= 0, offset + index, 0)


def _prior(term: Term) -> tuple[float, float, float, float]:
    """Fixed sd or scale of the prior, degrees of freedom, LKJ's eta, power of the sd."""
    sd = term.prior.sd
    eta = term.correlation.eta if term.correlation else 1.0
    if isinstance(sd, float):
        return sd, 0.0, eta, term.non_centring
    if isinstance(sd, Exponential):
        return sd.mean, 0.0, eta, term.non_centring
    return sd.scale, sd.df if isinstance(sd, HalfStudentT) else 0.0, eta, term.non_centring


def _centre_links(design: Design, rows: dict[str, TermRow]) -> list[Index]:
    """Positions in ``U`` of the centres of each term's effects."""
    return [
        _at(rows[other.name].u if whole else rows[other.name].means, parent)
        for term in design.parents_first
        for other, whole, parent in design.sources(term)
    ]


def _scale_rows(design: Design, thresholds: Sequence[int]) -> list[tuple[int, ...]]:
    """First coordinate, thresholds, anchor, pivot and first threshold of each scale."""
    cuts = [scale.n_cutpoints for scale in design.scales]
    first = np.cumsum([0, *cuts[:-1]])
    return [
        (z, scale.n_cutpoints, scale.median_cutpoint, scale.reference_cutpoint, int(at))
        for z, scale, at in zip(thresholds, design.scales, first, strict=True)
    ]


class Sets(NamedTuple):
    """Sets of thresholds that ratings meet: set of each rating; scale, first threshold, links."""

    of_rating: Index
    scale: Index
    start: Index
    links: Index


def _sets(design: Design, rows: dict[str, TermRow]) -> Sets:
    """Number the sets of thresholds, scale after scale."""
    of_rating = np.zeros(design.n_ratings, dtype=np.int64)
    scales: list[int] = []
    links: list[list[int]] = []
    for position, scale in enumerate(design.scales):
        gap_terms = [term for term in design.terms_of("gap") if term.scale == position]
        nothing = [np.zeros(len(scale.rows), dtype=np.int64)]
        which, held = combinations([term.index[scale.rows] for term in gap_terms] or nothing)
        of_rating[scale.rows] = which + len(scales)
        for levels in held:
            scales.append(position)
            links.append(_set_links(gap_terms, levels, scale, rows))
    cuts = [design.scales[scale].n_cutpoints for scale in scales]
    start = np.concatenate([[0], np.cumsum(cuts)[:-1]]).astype(np.int64)
    return Sets(of_rating, np.array(scales), start, _table(links))


def _set_links(
    gap_terms: list[Term], levels: Index, scale: ScaleRatings, rows: dict[str, TermRow]
) -> list[int]:
    """Positions in ``U`` of the first stretch of each column of one set."""
    gaps = scale.n_cutpoints - 1
    return [
        rows[term.name].u + int(level) * gaps if level >= 0 else 0
        for term, level in zip(gap_terms, levels, strict=False)
    ]


class Bounds(NamedTuple):
    """What ratings say: severity is above one threshold and below another, -1 for none."""

    rating: Index
    below: Index
    above: Index


def _bounds(design: Design) -> Bounds:
    """Thresholds about each rating; those it was held against one by one, if continuation.

    There a rating of level k has passed the thresholds before the k-th and not the k-th: as many
    yes-no ratings, each with one threshold.
    """
    level, cuts = np.zeros((2, design.n_ratings), dtype=np.int64)
    for scale in design.scales:
        level[scale.rows] = scale.category
        cuts[scale.rows] = scale.n_cutpoints
    rating = np.arange(design.n_ratings)
    if design.likelihood != "continuation":
        return Bounds(rating, level - 1, np.where(level < cuts, level, -1))
    met = np.minimum(level + 1, cuts)
    rating = np.repeat(rating, met)
    position = np.arange(len(rating)) - np.repeat(np.cumsum(met) - met, met)
    passed = position < level[rating]
    return Bounds(rating, np.where(passed, position, -1), np.where(passed, -1, position))


def _pairs(design: Design, bounds: Bounds, *, set_of: Index, factor: Index) -> dict[str, Any]:
    """Sets and factors that meet, and their ratings between each two thresholds."""
    which, held = combinations([set_of, factor])
    most = max(scale.n_cutpoints for scale in design.scales)
    tally = np.zeros((len(held), most))
    inner = (bounds.below >= 0) & (bounds.above >= 0)
    np.add.at(tally, (which[bounds.rating[inner]], bounds.below[inner]), 1.0)
    start = np.arange(len(held)) * most
    return {"pair": np.column_stack([held, start]), "tally": tally.ravel()}


def _runs(
    design: Design, rows: dict[str, TermRow], bounds: Bounds, *, set_of: Index, factor: Index
) -> dict[str, Any]:
    """Sort ratings into runs of one key, set, factor and bounds; tabulate what varies inside."""
    inner, outer = _sides(design)
    nothing = np.zeros(design.n_ratings, dtype=np.int64)
    place, places = combinations([term.index for term in inner] or [nothing])
    cell, cells = combinations([factor, place])
    key, keys = combinations([term.index for term in outer] or [nothing])
    shared = [each[bounds.rating] for each in (key, set_of, factor)]
    run, runs = combinations([*shared, bounds.below, bounds.above])
    cell = cell[bounds.rating]
    order = np.lexsort((cell, run))
    return {
        "place_links": _term_links(inner, places, rows),
        "cell_place": cells[:, 1].astype(np.uint32),
        "factor_start": np.searchsorted(cells[:, 0], np.arange(int(factor.max()) + 2)),
        "outer_links": _term_links(outer, keys, rows),
        "run": np.ascontiguousarray(runs),
        "run_start": np.searchsorted(run[order], np.arange(len(runs) + 1)),
        "rating_cell": cell[order].astype(np.uint32),
    }


def _term_links(terms: list[Term], held: Index, rows: dict[str, TermRow]) -> Index:
    """Positions in ``U`` of each term's effect in each combination of levels."""
    found = [_at(rows[term.name].u, held[:, n]) for n, term in enumerate(terms)]
    return np.stack(found or [np.zeros(len(held), dtype=np.int64)])


def _sides(design: Design) -> tuple[list[Term], list[Term]]:
    """Share location terms between cells (tabulated) and run keys (constant within a run).

    The largest term makes the cells; terms that are nested in it join it, and so does a term
    that would leave runs with few ratings.
    """
    terms = [term for term in design.terms_of("location") if term.child_term is None]
    terms.sort(key=lambda term: -term.size)
    inner = terms[:1]
    outer: list[Term] = []
    cell = terms[0].index if terms else np.zeros(design.n_ratings, dtype=np.int64)
    for term in terms[1:]:
        joint, held = combinations([cell, term.index])
        keys = combinations([each.index for each in [*outer, term]])[1]
        grown = len(held) > int(cell.max()) + 1
        if not grown or len(keys) > CROWDED * design.n_ratings:
            inner.append(term)
            cell = joint
        else:
            outer.append(term)
    return inner, outer
