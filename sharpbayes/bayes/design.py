"""Terms of a model x ratings of a study -> labelled index arrays; no PyMC, so tested exactly."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Fault, SpecError, did_you_mean
from sharpbayes.spec.model import Location, Model, Normal, ThresholdPrior

Index = NDArray[np.int64]

# Below this many ratings a level, the prior says more of an effect than its ratings do, and the
# non-centred form samples better; above it, the centred one does.
CENTRED_FROM = 30


@dataclass(frozen=True)
class Term:
    """One location term: an effect for each level of a column, or of a crossing of columns.

    Attributes:
        name: ``item``, or ``model_prompt`` for a crossing.
        dims: Dimension names of the effect, one a column.
        shape: Number of levels along each dimension.
        index: For each rating the flat position of its effect; shape (rating,).
        prior: Normal prior of the effects.
        centred: Whether ratings inform each effect enough to sample it directly.
        block: For each effect the position of its scale, where every effect is on one scale only
            (thresholds of that scale then hold the mean of its effects), else 0; shape (size,).
        absorbed_by: Name of the finer term whose effects are centred at this term's, or None.
    """

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    index: Index
    prior: Normal
    centred: bool
    block: Index
    absorbed_by: str | None = None

    @property
    def size(self) -> int:
        """Number of effects."""
        return int(np.prod(self.shape))

    @property
    def blocks(self) -> tuple[Index, ...]:
        """Positions of the effects of each block that has any."""
        return tuple(np.flatnonzero(self.block == code) for code in np.unique(self.block))

    def block_of_scale(self, position: int) -> Index:
        """Return the positions of the effects whose mean a scale's thresholds hold."""
        return np.flatnonzero(self.block == (position if self.block.any() else 0))


@dataclass(frozen=True)
class ScaleBlock:
    """The ratings that are on one scale.

    Attributes:
        name: Name of the scale.
        labels: Labels of its levels, lowest first.
        rows: Positions of its ratings; shape (n,).
        level: Their levels, from 0; shape (n,).
    """

    name: str
    labels: tuple[str, ...]
    rows: Index
    level: Index

    @property
    def cut_dim(self) -> str:
        """Name of the dimension of the thresholds."""
        return f"{self.name}_cut"

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """Labels of the thresholds, ``low|high`` after the levels they part."""
        return tuple(
            f"{low}|{high}" for low, high in zip(self.labels, self.labels[1:], strict=False)
        )


@dataclass(frozen=True)
class Design:
    """What a fit needs: terms, scales, threshold prior, and the labels of every dimension.

    Attributes:
        terms: Location terms, in the order of the model file; terms with one level are left out.
        scales: Ratings by scale.
        thresholds: Prior of the thresholds.
        coords: Labels of each dimension.
        ratings: Number of ratings.
        left_out: Names of the terms with one level, which thresholds already hold.
    """

    terms: tuple[Term, ...]
    scales: tuple[ScaleBlock, ...]
    thresholds: ThresholdPrior
    coords: dict[str, tuple[str, ...]]
    ratings: int
    left_out: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        effects = sum(term.size + (not isinstance(term.prior.sd, float)) for term in self.terms)
        return effects + sum(len(scale.cut_labels) for scale in self.scales)


def design(ratings: Ratings, model: Model, *, path: str = "model") -> Design:
    """Place the terms of a model on the ratings of a study.

    Args:
        ratings: Observed ratings in long form.
        model: The model file.
        path: Name of the model file, for messages.

    Returns:
        Index arrays and labels; the order of ratings is kept.

    Raises:
        SpecError: A term names a column that the study does not have.
    """
    _refuse_unknown(ratings, model, path)
    scales = tuple(_scales(ratings))
    on_scale = _scale_of(ratings, scales)
    terms = [_term(location, ratings, on_scale) for location in model.location]
    kept = [term for term in terms if term.size > 1]
    columns = {column for location in model.location for column in location.by}
    return Design(
        terms=tuple(_absorb(kept)),
        scales=scales,
        thresholds=model.thresholds.prior,
        coords={dim_name(column): ratings.columns[column].labels for column in sorted(columns)}
        | {scale.cut_dim: scale.cut_labels for scale in scales},
        ratings=len(ratings.level),
        left_out=tuple(term.name for term in terms if term.size == 1),
    )


def dim_name(column: str) -> str:
    """Return the dimension that holds the levels of a column.

    >>> dim_name("group:gender")
    'gender'
    """
    return column.removeprefix("group:")


def _refuse_unknown(ratings: Ratings, model: Model, path: str) -> None:
    """Raise for every term column that the ratings do not have."""
    known = sorted(set(ratings.columns) - {"scale"})
    faults = [
        Fault(
            path,
            0,
            f"location[{position}].by",
            f"no column {column!r} in this study, its columns are {', '.join(known)}"
            + did_you_mean(column, known),
        )
        for position, location in enumerate(model.location)
        for column in location.by
        if column not in known
    ]
    if faults:
        raise SpecError(faults)


def _scale_of(ratings: Ratings, scales: tuple[ScaleBlock, ...]) -> Index:
    """Position among ``scales`` of each rating's scale."""
    position = np.zeros(len(ratings.level), dtype=np.int64)
    for code, scale in enumerate(scales):
        position[scale.rows] = code
    return position


def _term(location: Location, ratings: Ratings, on_scale: Index) -> Term:
    """Place one term; a crossing numbers its cells row by row."""
    columns = [ratings.columns[column] for column in location.by]
    shape = tuple(len(column.labels) for column in columns)
    index = np.ravel_multi_index([column.code for column in columns], shape).astype(np.int64)
    dims = tuple(dim_name(column) for column in location.by)
    return Term(
        name="_".join(dims),
        dims=dims,
        shape=shape,
        index=index,
        prior=location.prior,
        centred=_ratings_a_level(index) >= CENTRED_FROM,
        block=_nested(index, on_scale, size=int(np.prod(shape))),
    )


def _ratings_a_level(index: Index) -> float:
    """Median number of ratings of the levels that have any."""
    counts = np.bincount(index)
    return float(np.median(counts[counts > 0]))


def _absorb(terms: list[Term]) -> Iterable[Term]:
    """Say of each term which finer, centred term it is the centre of, if any."""
    for term in terms:
        finer = [
            other
            for other in terms
            if other.centred and other.size > term.size and parent_of(other, term) is not None
        ]
        chosen = min(finer, key=lambda other: other.size, default=None)
        yield Term(**{**vars(term), "absorbed_by": chosen.name if chosen else None})


def parent_of(fine: Term, coarse: Term) -> Index | None:
    """Return for each level of ``fine`` its level of ``coarse``, or None if levels straddle.

    Levels of ``fine`` without a rating are given level 0: nothing tells their parent.
    """
    parent = _lookup(fine.index, coarse.index, size=fine.size)
    return parent if np.array_equal(parent[fine.index], coarse.index) else None


def _nested(index: Index, value: Index, *, size: int) -> Index:
    """As :func:`_lookup`, but all 0 where some position goes with several values."""
    found = _lookup(index, value, size=size)
    return found if np.array_equal(found[index], value) else np.zeros_like(found)


def _lookup(index: Index, value: Index, *, size: int) -> Index:
    """Return the value that goes with each position of ``index``; 0 where there is none."""
    found = np.zeros(size, dtype=np.int64)
    found[index] = value
    return found


def _scales(ratings: Ratings) -> Iterable[ScaleBlock]:
    """Split ratings by scale, scales without a rating left out."""
    column = ratings.columns["scale"]
    for code, name in enumerate(column.labels):
        rows = np.flatnonzero(column.code == code)
        if rows.size:
            level = ratings.level[rows].astype(np.int64)
            yield ScaleBlock(name, ratings.scales[name], rows, level)
