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

from sharpbayes.bayes.design.crossing import Index
from sharpbayes.bayes.design.design import Design, Term
from sharpbayes.bayes.design.held_means import find_held_means
from sharpbayes.bayes.kernel.blocks import block_arrays, find_links
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
    stride: int  # number of groups if effects are in group 0, 1, ... in turn, else 0
    sum: int  # row of the term that is sampled as the sum with this one, -1 for none
    ratio_z: int  # coordinate of the log ratio of the two sds of such a sum, -1 for none
    unit_means: int  # number of means of groups that are sampled in units of the sd
    unit_start: int  # first position in ``unit_mean``
    reference: int  # whether careless raters have a reference in place of the prior


class PriorRow(NamedTuple):
    """Columns of ``KernelData.prior``: value or scale of the sd, its degrees of freedom; others."""

    sd: float
    df: float
    eta: float  # parameter of LKJ
    weight: float  # non-centring weight
    freedom: float  # degrees of freedom of the effects, 0 for normal ones


class HeldRow(NamedTuple):
    """Columns of ``HeldData.mean``: of each mean that one term holds for others."""

    term: int  # row of the term
    level: int  # of its sd
    effects: int  # number of effects in the group
    z: int  # coordinate of the mean


class ScaleRow(NamedTuple):
    """Columns of ``KernelData.scale``: first coordinate, cutpoints, positions, first cutpoint."""

    z: int
    cutpoints: int
    median: int
    reference: int
    first: int


# Positions of those columns.
SIZE = Sizes(*range(10))
AT = TermRow(*range(21))
PRIOR = PriorRow(*range(5))
SCALE = ScaleRow(*range(5))
HELD = HeldRow(*range(4))


class TermData(NamedTuple):
    """What the kernel reads of the terms: little, since machine code copies it in each call."""

    term: Index  # one row a term, parents first: see :class:`TermRow`
    axes: Index  # sizes of the dimensions of each term
    mean_group: Index  # mean group of each effect, terms one after the other, -1 for none
    centre_links: NDArray[np.uint32]  # position in ``U`` of each centre of each effect
    prior: Floats  # one row a term: see :class:`PriorRow`
    unit_mean: Index  # coordinate of each unit mean among those of its term


class HeldData(NamedTuple):
    """Means that one term holds for others; the matrices are those of ``design.held_means``."""

    holder: Index  # row of the term, -1 for none, and the coordinate of each of its own means
    mean: Index  # one row a mean: see :class:`HeldRow`
    table: Floats  # A, E and L side by side
    of_sum: Floats  # C


class KernelData(NamedTuple):
    """Everything that the kernel reads."""

    sizes: Index  # see :class:`Sizes`
    terms: TermData
    held: HeldData
    scale: Index  # one row a scale: see :class:`ScaleRow`
    scale_prior: Floats  # mean and sd of its cutpoints
    shift_links: Index  # for each scale the means that its cutpoints absorb
    gap_links: Index  # for each scale the mean gap effects that its gaps absorb
    cutpoint_set: Index  # for each set of cutpoints: scale, first cutpoint
    set_links: Index  # for each set its first gap effect of each column
    discrimination_links: Index  # log factors of each discrimination; shape (term, discrimination)
    pair: Index  # for each set and discrimination that meet: set, discrimination, first count
    counts: Floats  # number of ratings of a pair between each two cutpoints
    location_links: NDArray[np.uint32]  # for each location its effects; shape (term, location)
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
    block_run: Index  # first cell of a block whose cells follow one another, -1 of others


def build_kernel_data(
    design: Design,
    starts: Mapping[str, tuple[int, ...]],
    *,
    thresholds: Sequence[int],
    share: int,
    size: int,
    with_ratings: bool,
) -> KernelData:
    """Return the arrays of a design with ``size`` coordinates.

    Without ratings those of rating blocks are of the first rating alone.

    ``starts`` has the first of each term's log sds, correlations and effects, -1 for none,
    ``thresholds`` the first of each scale's cutpoints, and ``share`` is the coordinate of the share
    of careless raters, -1 for none.
    """
    rows = _term_rows(design, starts)
    locations = design.terms_of("location")
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
    first_effects = {name: row.u for name, row in rows.items()}
    set_of_rating, cutpoint_set, set_links = find_cutpoint_sets(design, first_effects)
    rated = design if with_ratings else design.of(np.arange(1))
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
        terms=_term_data(design, rows),
        held=_held_data(design, rows),
        scale=make_table(scale_rows),
        scale_prior=np.array([[design.thresholds.mean, design.thresholds.sd]] * len(scale_rows)),
        shift_links=make_table(swept),
        gap_links=make_table(gap_means),
        cutpoint_set=cutpoint_set,
        set_links=set_links,
        **careless_arrays(design),
        **block_arrays(rated, first_effects, set_of_rating[: rated.n_ratings]),
    )


def _term_data(design: Design, rows: Mapping[str, TermRow]) -> TermData:
    """What the kernel reads of the terms."""
    terms = design.parents_first
    prior = [
        PriorRow(*SD_PRIORS[type(t.prior.sd)][1](t.prior.sd), t.lkj_eta, t.non_centring, t.freedom)
        for t in terms
    ]
    centre_links = [
        find_links(rows[other.name].means if by_mean else rows[other.name].u, position)
        for term in terms
        for other, by_mean, position in design.parents(term)
    ]
    return TermData(
        term=make_table([rows[term.name] for term in terms], columns=len(AT)),
        axes=make_table([term.shape for term in terms], columns=4),
        mean_group=join_parts([term.mean_group for term in terms]),
        centre_links=join_parts(centre_links).astype(np.uint32),
        prior=np.array(prior, dtype=float).reshape(-1, len(PRIOR)),
        unit_mean=join_parts([term.unit_means for term in terms]),
    )


def _term_rows(design: Design, starts: Mapping[str, tuple[int, ...]]) -> dict[str, TermRow]:
    """Row of each term, by its name."""
    rows: dict[str, TermRow] = {}
    stored, u, links, units = 0, 1, 0, 0
    reference = design.careless.reference if design.careless else None
    for term in design.parents_first:
        sd_z, corr_z, z = starts[term.name]
        centres = len(design.parents(term))
        of_sum = design.sum_of(term)
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
            stride=_stride(term),
            sum=list(rows).index(term.sum_term) if term.sum_term else -1,
            ratio_z=starts[of_sum[1].name][0] if of_sum else -1,
            unit_means=len(term.unit_means),
            unit_start=units,
            reference=int(reference is not None and reference.term == term.name),
        )
        stored += term.size
        u += term.size + term.n_mean_groups
        links += term.size * centres
        units += len(term.unit_means)
    return rows


def _held_data(design: Design, rows: dict[str, TermRow]) -> HeldData:
    """Means that one term holds for others."""
    by_sum = find_held_means(design)
    if by_sum is None:
        nothing = np.zeros((0, 1))
        return HeldData(np.array([-1]), make_table([], columns=len(HELD)), nothing, nothing)
    number = {name: row for row, name in enumerate(rows)}
    means = [
        HeldRow(number[m.term.name], m.level, m.effects, rows[m.term.name].z + m.first)
        for m in by_sum.means
    ]
    return HeldData(
        holder=np.array([number[by_sum.holder.name], *by_sum.first]),
        mean=make_table(means),
        table=np.hstack([by_sum.average, by_sum.earlier, by_sum.later]),
        of_sum=by_sum.of_sum,
    )


def _stride(term: Term) -> int:
    """Number of mean groups of a term if its effects are in group 0, 1, ... in turn, else 0."""
    groups = term.n_mean_groups
    if not groups or not np.array_equal(term.mean_group, np.arange(term.size) % groups):
        return 0
    return groups


def find_cutpoint_sets(
    design: Design, first_effects: Mapping[str, int]
) -> tuple[Index, Index, Index]:
    """Return the set of cutpoints of each rating; scale and first cutpoint, and links, of each set.

    ``first_effects`` has the position in ``U`` of each term's first effect.
    """
    set_of_rating = np.zeros(design.n_ratings, dtype=np.int64)
    sets: list[tuple[int, int]] = []
    links: list[list[int]] = []
    first = 0
    for position, scale in enumerate(design.scales):
        number, levels = design.cutpoint_sets(scale)
        set_of_rating[scale.rows] = number + len(sets)
        effects = [first_effects[term.name] for term in design.gap_terms(scale)]
        gaps = scale.n_cutpoints - 1
        for row in levels:
            pairs = zip(effects, row, strict=False)
            links.append([u + int(level) * gaps if level >= 0 else 0 for u, level in pairs])
            sets.append((position, first))
            first += scale.n_cutpoints
    return set_of_rating, np.array(sets), make_table(links)
