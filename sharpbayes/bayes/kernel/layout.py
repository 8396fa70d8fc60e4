"""Where each thing of a design lies in the kernel's vectors: coordinates, and what draws keep."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.bayes.kernel.plan import KernelData, TermRow, fill, sd_kind


@dataclass(frozen=True)
class Section:
    """A variable in a vector.

    Attributes:
        name: Name of PyMC's coordinate, or of the variable that is kept.
        start: Position of its first number.
        shape: Its shape.
        dims: Names of its dimensions; empty for coordinates.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    dims: tuple[str, ...] = ()

    @property
    def stop(self) -> int:
        """Position after its last number."""
        return self.start + int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True)
class ParameterLayout:
    """Where each thing lies.

    Attributes:
        coordinates: What is sampled, by PyMC's names.
        kept: What is kept of each draw: effects, thresholds, sds, correlations.
        plan: The arrays that the kernel reads.
    """

    coordinates: tuple[Section, ...]
    stored: tuple[Section, ...]
    kernel_data: KernelData

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.coordinates[-1].stop

    @property
    def stored_size(self) -> int:
        """Number of values kept of each draw."""
        return self.stored[-1].stop


def parameter_layout(design: Design) -> ParameterLayout:
    """Return the flat arrays of a design."""
    coordinates = _placed(_coordinates(design))
    starts = {section.name: section.start for section in coordinates}
    thresholds = [starts[threshold_name(design, scale)] for scale in design.scales]
    plan = fill(
        design, _rows(design, starts), thresholds=thresholds, coordinates=coordinates[-1].stop
    )
    return ParameterLayout(coordinates, _placed(_kept(design)), plan)


Named = tuple[str, tuple[int, ...], tuple[str, ...]]


def _placed(variables: Iterator[Named]) -> tuple[Section, ...]:
    """Put variables one after the other."""
    found: list[Section] = []
    for name, shape, dims in variables:
        found.append(Section(name, found[-1].stop if found else 0, shape, dims))
    return tuple(found)


def _coordinates(design: Design) -> Iterator[Named]:
    """Sds, correlations and effects of each term, then the thresholds of each scale."""
    for term in design.parents_first:
        if term.n_sds:
            yield _sd_name(term), (term.n_sds,) if term.correlation else (), ()
        if term.correlation:
            yield _correlation_name(term), (term.n_correlations,), ()
        shape = tuple(size - 1 for size in term.shape) if term.zero_sum else term.shape
        yield _effects_name(term, placed=_is_placed(design, term)), shape, ()
    for scale in design.scales:
        yield threshold_name(design, scale), (scale.n_cutpoints,), ()


def _kept(design: Design) -> Iterator[Named]:
    """Effects of each term, thresholds of each scale, sds, correlations: as the kernel writes."""
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


def _rows(design: Design, starts: dict[str, int]) -> dict[str, TermRow]:
    """Row of the plan of each term."""
    rows: dict[str, TermRow] = {}
    own, u, links = 0, 1, 0
    for term in design.parents_first:
        centres = len(design.sources(term))
        rows[term.name] = TermRow(
            z=starts[_effects_name(term, placed=_is_placed(design, term))],
            free=term.n_coordinates,
            size=term.size,
            u=u,
            means=u + term.size,
            blocks=term.n_mean_groups,
            own=own,
            centred=int(term.centred),
            zero_sum=len(term.shape) if term.zero_sum else 0,
            sd_z=starts.get(_sd_name(term), -1),
            sd_kind=sd_kind(term),
            levels=term.shape[-1] if term.correlation else 1,
            corr_z=starts.get(_correlation_name(term), -1),
            links=links,
            centres=centres,
            whole=int(term.n_mean_groups == 1 and bool((term.mean_group == 0).all())),
        )
        own += term.size
        u += term.size + term.n_mean_groups
        links += term.size * centres
    return rows


def _is_placed(design: Design, term: Term) -> bool:
    """Whether what is sampled is a term's effects plus the centres that they absorbed."""
    return term.correlation is not None or bool(design.sources(term))


def _sd_name(term: Term) -> str:
    """Name of PyMC's coordinate of a term's sd."""
    return f"sd_{term.stem}_log__"


def _correlation_name(term: Term) -> str:
    """Name of PyMC's coordinate of a term's partial correlations."""
    return f"correlation_{term.stem}_unit_logodds__"


def threshold_name(design: Design, scale: ScaleRatings) -> str:
    """Return the name of PyMC's coordinate of the thresholds of a scale."""
    return f"threshold_{scale.name}_placed{'_anchored__' if design.ordered_cutpoints else ''}"


def _effects_name(term: Term, *, placed: bool) -> str:
    """Name of PyMC's coordinate of a term's effects."""
    if term.zero_sum:
        return f"{term.name}{term.log_suffix if term.centred else '_unit'}_zerosum__"
    if term.correlation and not term.centred:
        return f"{term.name}_unit_mean_first__"
    return f"{term.name}{'_placed' if placed else term.log_suffix}_mean_first__"
