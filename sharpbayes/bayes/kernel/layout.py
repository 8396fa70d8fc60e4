"""Positions of variables in coordinates and in stored draws of the kernel; starts of chains."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.careless import PROBABILITY, RATER, SHARE
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.bayes.kernel.data import KernelData, build_kernel_data

Floats = NDArray[np.float64]
JITTER = 0.1
START_SD = 0.5
SHARE_COORDINATE = f"{SHARE}_logodds__"
# End of the name of the coordinates of the sds of two terms that are sampled by their sum.
SDS_OF_SUM = "_sum_offset_total_ratio__"


@dataclass(frozen=True)
class Section:
    """A coordinate or stored variable in a vector, from a start; coordinates have no dims."""

    name: str
    start: int
    shape: tuple[int, ...]
    dims: tuple[str, ...] = ()

    @property
    def stop(self) -> int:
        """Position after its last number."""
        return self.start + int(np.prod(self.shape, dtype=int))

    @property
    def slice(self) -> slice:
        """Its positions."""
        return slice(self.start, self.stop)


@dataclass(frozen=True)
class ParameterLayout:
    """Positions of all variables."""

    coordinates: tuple[Section, ...]  # what is sampled, by PyMC's names
    stored: tuple[Section, ...]  # what is stored of each draw
    kernel_data: KernelData
    design: Design

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.coordinates[-1].stop

    @property
    def stored_size(self) -> int:
        """Number of values stored of each draw."""
        return self.stored[-1].stop


Variable = tuple[str, tuple[int, ...], tuple[str, ...]]


def parameter_layout(design: Design, *, with_ratings: bool = True) -> ParameterLayout:
    """Return the positions of a design's variables, and its arrays for the kernel.

    Without ratings these are for a chain whose likelihood is computed elsewhere.
    """
    coordinates = _lay_out(_coordinates(design))
    start = {section.name: section.start for section in coordinates}
    starts = {
        term.name: tuple(start.get(name, -1) for name in coordinate_names(design, term))
        for term in design.terms
    }
    for term in (term for term in design.terms if term.sum_term):
        sds, *others = starts[term.name]
        starts[term.name] = (sds + 1, *others)
    thresholds = [start[threshold_name(design, scale)] for scale in design.scales]
    size = coordinates[-1].stop
    share = start.get(SHARE_COORDINATE, -1)
    data = build_kernel_data(
        design, starts, thresholds=thresholds, share=share, size=size, with_ratings=with_ratings
    )
    return ParameterLayout(coordinates, _lay_out(_stored(design)), data, design)


def _lay_out(variables: Iterable[Variable]) -> tuple[Section, ...]:
    """Put variables one after the other."""
    sections: list[Section] = []
    for name, shape, dims in variables:
        sections.append(Section(name, sections[-1].stop if sections else 0, shape, dims))
    return tuple(sections)


def _coordinates(design: Design) -> Iterator[Variable]:
    """Sds, correlations and effects of each term, the cutpoints of each scale, a share."""
    for term in design.parents_first:
        sd, correlation, effects = coordinate_names(design, term)
        if term.n_sds and not term.sum_term:
            several = len(design.sum_of(term) or ()) or term.n_sds
            yield sd, (several,) if several > 1 or term.correlation else (), ()
        if term.correlation:
            yield correlation, (term.n_correlations,), ()
        yield effects, term.coordinate_shape, ()
    for scale in design.scales:
        yield threshold_name(design, scale), (scale.n_cutpoints,), ()
    if design.careless:
        yield SHARE_COORDINATE, (), ()


def _stored(design: Design) -> Iterator[Variable]:
    """Effects of terms, cutpoints of scales, sds, correlations, a share: as the kernel writes."""
    for term in design.parents_first:
        yield term.name, term.shape, term.dims
    for scale in design.scales:
        yield f"threshold_{scale.name}", (scale.n_cutpoints,), (scale.cutpoint_dim,)
    for term in design.parents_first:
        if term.n_sds:
            dims = term.dims[-1:] if term.correlation else ()
            yield f"sd_{term.stem}", term.shape[-1:] if dims else (), dims
    for term in design.parents_first:
        if term.correlation:
            dim, levels = term.dims[-1], term.shape[-1]
            yield f"correlation_{term.stem}", (levels, levels), (dim, f"{dim}_other")
    if design.careless:
        yield SHARE, (), ()
        yield PROBABILITY, (design.careless.n_raters,), (RATER,)


def threshold_name(design: Design, scale: ScaleRatings) -> str:
    """Return the name of PyMC's coordinate of the cutpoints of a scale."""
    return f"threshold_{scale.name}_offset{'_log_gaps__' if design.ordered_cutpoints else ''}"


def coordinate_names(design: Design, term: Term) -> tuple[str, str, str]:
    """Return PyMC's names of the coordinates of a term: sds, partial correlations, effects."""
    log = "_log" if term.on_log_scale else ""
    of_sum = design.sum_of(term)
    if term.zero_sum:
        end = f"{log if term.centred else '_unit'}_zerosum__"
    elif term.sum_term or (term.correlation and not term.centred):
        end = "_unit_mean_first__"
    else:
        offset = term.correlation or of_sum or design.parents(term)
        end = f"{'_offset' if offset else log}_mean_first__"
    correlation = f"correlation_{term.stem}_unit_logodds__"
    sd = f"sd_{of_sum[0].stem}{SDS_OF_SUM}" if of_sum else f"sd_{term.stem}_log__"
    return sd, correlation, f"{term.name}{end}"


def initial_point(design: Design, layout: ParameterLayout, *, seed: int) -> Floats:
    """Return coordinates near the bulk of the posterior, jittered; shape (coordinate,)."""
    point = np.random.default_rng(seed).normal(0.0, JITTER, layout.size)
    scales = {threshold_name(design, scale): scale for scale in design.scales}
    for section in layout.coordinates:
        if section.name in scales:
            point[section.slice] += start_cutpoints(design, scales[section.name])
        elif section.name.endswith("_log__"):
            point[section.slice] += np.log(START_SD)
        elif section.name.endswith(SDS_OF_SUM):
            point[section.start] += np.log(np.hypot(START_SD, START_SD))
        elif section.name == SHARE_COORDINATE and design.careless:
            point[section.slice] += np.log(design.careless.share.a / design.careless.share.b)
    return point


def start_cutpoints(design: Design, scale: ScaleRatings) -> Floats:
    """Return the coordinates of the cutpoints that the shares of categories suggest.

    Each category counts one rating more than it has, so that an unused one has a gap.
    """
    count = np.bincount(scale.category, minlength=len(scale.labels)).astype(float) + 1.0
    cutpoints = design.traits.start(count, design.link)
    if not design.ordered_cutpoints:
        return cutpoints
    return np.concatenate([cutpoints[[scale.median_cutpoint]], np.log(np.diff(cutpoints))])
