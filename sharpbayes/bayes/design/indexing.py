"""Terms of a model x ratings of a study -> the labelled index arrays of a design."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sharpbayes.bayes.design.crossing import SHORT, Codes, Index, crossed, nested, parent_of
from sharpbayes.bayes.design.design import CENTRED_BELOW, Design, ScaleRatings, Term, dim_name
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError, did_you_mean
from sharpbayes.spec.diagnostics import dotted
from sharpbayes.spec.model import Location, Model

# With this many ratings an effect or more, ratings say more of it than its prior does and it is
# sampled directly; with fewer, as its sd times a standard normal.
CENTRED_FROM = 8
# A factor or a stretch is told by fewer of its ratings than a location is.
CENTRED_FROM_SHAPE = 400
ANY_GROUP = "group:*"
# Columns that a study may be without: terms over them are then left out.
OPTIONAL = "own_family"


def build_design(
    ratings: Ratings,
    model: Model,
    *,
    path: str = "model",
    non_centring: Mapping[str, float] | None = None,
) -> Design:
    """Place the terms of a model on the ratings of a study.

    Args:
        ratings: Observed ratings in long form.
        model: The model file.
        path: Name of the model file, for messages.
        non_centring: Non-centring weight of each term by name, see :class:`Term`; 0 or 1 by the number of its ratings
            where nothing is said.

    Returns:
        Index arrays and labels; the order of ratings is kept.

    Raises:
        SpecError: A term names a column that the study does not have.
    """
    check_columns(ratings, model, path=path)
    model = _of_columns(ratings, model)
    scales = tuple(_scales(ratings))
    on_scale = _scale_of(ratings, scales)
    written = _locations(ratings, model)
    locations = [_location(location, ratings, on_scale) for location in written]
    free = [term for term in locations if not _held_by_thresholds(term, on_scale)]
    kept = _as_said([_counted(term, free) for term in free], non_centring)
    shapes = [*_gap_terms(ratings, model, scales), *_discriminations(ratings, model)]
    terms = [*_absorb(_held(kept, ratings)), *_as_said(shapes, non_centring)]
    columns = {column for by in [each.by for each in written] for column in by}
    columns |= {column for term in model.discrimination for column in _named(term.by, ratings)}
    columns |= set(_named(model.thresholds.by, ratings)) - {"scale"}
    return Design(
        terms=tuple(terms),
        scales=scales,
        thresholds=model.thresholds.prior,
        likelihood=model.likelihood,
        link=model.link,
        coords={dim_name(column): ratings.factors[column].labels for column in sorted(columns)}
        | {scale.cutpoint_dim: scale.cutpoint_labels for scale in scales}
        | {scale.gap_dim: scale.labels[1:-1] for scale in scales},
        n_ratings=len(ratings.score),
        omitted_terms=tuple(
            each.stem for each in locations if each.name not in {t.name for t in free}
        ),
    )


def check_columns(ratings: Ratings, model: Model, *, path: str) -> None:
    """Refuse a model that does not fit the columns; no rating is looked at.

    Args:
        ratings: Observed ratings in long form.
        model: The model file.
        path: Name of the model file, for messages.

    Raises:
        SpecError: Terms name columns that the study does not have, all of them at once.
    """
    known = sorted(set(ratings.factors) - {"scale"})
    faults = [
        Diagnostic(
            path,
            0,
            dotted(where),
            f"no column {column!r} in this study, its columns are {', '.join(known)}"
            + did_you_mean(column, known),
        )
        for where, column in model.columns
        if column not in {*known, "scale", ANY_GROUP, OPTIONAL}
    ]
    if faults:
        raise SpecError(faults)


def _of_columns(ratings: Ratings, model: Model) -> Model:
    """Leave out the terms over a column that the study may be without and is."""
    if OPTIONAL in ratings.factors:
        return model
    kept = {
        part: tuple(term for term in getattr(model, part) if OPTIONAL not in term.by)
        for part in ("location", "discrimination")
    }
    return model.model_copy(update=kept)


def _named(by: Sequence[str], ratings: Ratings) -> tuple[str, ...]:
    """Columns with ``group:*`` replaced by each group column of the study."""
    groups = [column for column in ratings.factors if column.startswith("group:")]
    return tuple(name for column in by for name in (groups if column == ANY_GROUP else [column]))


def _each_group(by: Sequence[str], ratings: Ratings) -> list[tuple[str, ...]]:
    """Crossings that columns with ``group:*`` stand for: one for each group column."""
    if ANY_GROUP not in by:
        return [tuple(by)]
    groups = _named([ANY_GROUP], ratings)
    return [tuple(group if name == ANY_GROUP else name for name in by) for group in groups]


def _locations(ratings: Ratings, model: Model) -> list[Location]:
    """Location terms, and one for each column of thresholds that has none of its own."""
    written = [
        term.model_copy(update={"by": by})
        for term in model.location
        for by in _each_group(term.by, ratings)
    ]
    held = {column for term in written for column in term.by}
    for column in _named(model.thresholds.by, ratings):
        if column not in held | {"scale"}:
            by = (column,) if _on_one_scale(ratings, column) else ("scale", column)
            written.append(Location(by=by, prior=model.thresholds.shift))
    return written


def _on_one_scale(ratings: Ratings, column: str) -> bool:
    """Whether each level of a column is on one scale only."""
    held = ratings.factors[column]
    return parent_of(held.codes, ratings.factors["scale"].codes, size=len(held.labels)) is not None


def _scale_of(ratings: Ratings, scales: tuple[ScaleRatings, ...]) -> Index:
    """Position among ``scales`` of each rating's scale."""
    position = np.zeros(len(ratings.score), dtype=SHORT)
    for code, scale in enumerate(scales):
        position[scale.rows] = code
    return position


def _location(location: Location, ratings: Ratings, on_scale: Index) -> Term:
    """Place one location term; the column that effects are correlated over goes last."""
    over = location.correlated_over
    by = [*(name for name in location.by if name != over), *([over] if over else [])]
    index, shape = crossed([ratings.factors[name] for name in by])
    block, held = _split(index, on_scale, size=int(np.prod(shape)))
    stem = "_".join(dim_name(name) for name in by)
    return Term(
        name=f"location_{stem}",
        kind="location",
        dims=tuple(dim_name(name) for name in by),
        shape=shape,
        index=index,
        prior=location.prior,
        non_centring=0.0,
        mean_group=block,
        swept_mean=held,
        zero_sum=location.zero_sum,
        correlation=location.correlation if over and shape[-1] > 1 else None,
    )


def _as_said(terms: Iterable[Term], non_centring: Mapping[str, float] | None) -> list[Term]:
    """Terms that tell ratings apart, with the power that was said; 0 or 1 where it must be."""
    found = []
    for term in terms:
        power = (non_centring or {}).get(term.name, term.non_centring)
        if term.zero_sum or term.correlation:
            power = float(power >= CENTRED_BELOW)
        if term.size > 1 or (not term.zero_sum and _reference(term.index)):
            found.append(replace(term, non_centring=power))
    return found


def _reference(index: Index) -> bool:
    """Whether a term applies to some ratings and not to others, which are its reference."""
    return bool((index < 0).any() and (index >= 0).any())


def _counted(term: Term, terms: Sequence[Term]) -> Term:
    """Give a location term the power that its number of ratings suggests."""
    return replace(term, non_centring=float(_informed(term, terms) < CENTRED_FROM))


def _informed(term: Term, terms: Sequence[Term]) -> float:
    """How many things inform each effect: its ratings, or the effects of a finer term if fewer."""
    found = [_ratings_a_level(term.index)]
    for other in terms:
        if other.size > term.size:
            cells = parent_of(other.index, term.index, size=other.size)
            if cells is not None:
                found.append(_ratings_a_level(cells[np.unique(other.index[other.index >= 0])]))
    return min(found)


def _held_by_thresholds(term: Term, on_scale: Index) -> bool:
    """Whether a scale has one effect only, which its thresholds hold already."""
    return parent_of(on_scale, term.index, size=int(on_scale.max()) + 1) is not None


def _split(index: Index, on_scale: Index, *, size: int) -> tuple[Index, tuple[int, ...]]:
    """Blocks of effects whose mean ratings cannot tell from thresholds, and whose thresholds.

    One block a scale where every effect is on one scale, else one block in all. Where an effect
    applies to some ratings of a scale and not to others, thresholds cannot hold its mean.
    """
    scales = int(on_scale.max()) + 1
    share = [float(np.mean(index[on_scale == scale] >= 0)) for scale in range(scales)]
    if any(0.0 < each < 1.0 for each in share):
        return np.full(size, -1, dtype=np.int64), (-1,) * scales
    block = nested(index, on_scale, size=size)
    own = bool(block.any())
    return block, tuple(
        -1 if each == 0.0 else (scale if own else 0) for scale, each in enumerate(share)
    )


def _gap_terms(ratings: Ratings, model: Model, scales: tuple[ScaleRatings, ...]) -> Iterable[Term]:
    """Stretches of the gaps of each scale with at least three levels, by each column."""
    for column in _named(model.thresholds.by, ratings):
        for position, scale in enumerate(scales):
            if column == "scale" or scale.n_cutpoints < 2:  # noqa: PLR2004
                continue
            held = ratings.factors[column]
            used = np.unique(held.codes[scale.rows])
            if len(used) < 2:  # noqa: PLR2004
                continue
            index = np.full(len(ratings.score), -1, dtype=SHORT)
            index[scale.rows] = held.codes[scale.rows]
            gaps = scale.n_cutpoints - 1
            block = np.tile(np.arange(gaps), len(held.labels))
            per_gap = _ratings_a_level(index) / gaps
            yield Term(
                name=f"gap_{scale.name}_{dim_name(column)}",
                kind="gap",
                dims=(dim_name(column), scale.gap_dim),
                shape=(len(held.labels), gaps),
                index=index,
                prior=model.thresholds.gap,
                non_centring=float(per_gap < CENTRED_FROM_SHAPE),
                mean_group=np.full_like(block, -1) if used[0] < 0 else block,
                swept_mean=(),
                scale=position,
            )


def _discriminations(ratings: Ratings, model: Model) -> Iterable[Term]:
    """Log factors, which add up to 0."""
    for written in model.discrimination:
        for by in _each_group(written.by, ratings):
            index, shape = crossed([ratings.factors[name] for name in by])
            dims = tuple(dim_name(name) for name in by)
            told = min(shape) > 1 if written.zero_sum else len(np.unique(index)) > 1
            if told:
                yield Term(
                    name=f"discrimination_{'_'.join(dims)}",
                    kind="discrimination",
                    dims=dims,
                    shape=shape,
                    index=index,
                    prior=written.prior,
                    non_centring=float(_ratings_a_level(index) < CENTRED_FROM_SHAPE),
                    mean_group=np.full(int(np.prod(shape)), -1, dtype=np.int64),
                    swept_mean=(),
                    zero_sum=written.zero_sum,
                )


def _ratings_a_level(index: Index) -> float:
    """Median number of ratings of the levels that have any."""
    counts = np.bincount(index[index >= 0])
    return float(np.median(counts[counts > 0])) if counts.any() else 0.0


def _held(terms: list[Term], ratings: Ratings) -> list[Term]:
    """Give the means of terms by a column to a finer, centred term that is nested in it.

    Effects by (prompt, dimension) and indicators that lie in one dimension each: the mean effect
    of a dimension cannot be told from the mean of its indicators.
    """
    for holder in sorted(terms, key=lambda term: term.size):
        if len(holder.dims) == 1 and holder.centred and not holder.zero_sum:
            held = [_held_by(term, holder, ratings) for term in terms]
            if any(term.mean_holder for term in held):
                return held
    return terms


def _held_by(term: Term, holder: Term, ratings: Ratings) -> Term:
    """Block a term by those of its columns that the holder is nested in, if there are any."""
    if holder.dims[0] in term.dims:
        return term
    names = {dim_name(name): name for name in ratings.factors}
    shared = [
        position
        for position, dim in enumerate(term.dims)
        if np.array_equal(term.index >= 0, holder.index >= 0)
        and dim != "scale"
        and _splits(ratings.factors[names[dim]].codes, holder)
    ]
    if not shared or len(shared) == len(term.dims):
        return term
    cells = np.unravel_index(np.arange(term.size), term.shape)
    shape = [term.shape[position] for position in shared]
    block = np.ravel_multi_index([cells[position] for position in shared], shape)
    unheld = (-1,) * len(term.swept_mean)
    return replace(
        term, mean_group=block.astype(np.int64), swept_mean=unheld, mean_holder=holder.name
    )


def _splits(code: Codes, holder: Term) -> bool:
    """Whether a column has several levels in use, and each level of the holder is in one."""
    return (
        bool(code.min() < code.max())
        and parent_of(holder.index, code, size=holder.size) is not None
    )


def _absorb(terms: list[Term]) -> Iterable[Term]:
    """Say of each term which finer, centred term it is the centre of, if any."""
    for term in terms:
        finer = [
            other
            for other in terms
            if other.centred
            and not other.zero_sum
            and other.size > term.size
            and parent_of(other.index, term.index, size=other.size) is not None
        ]
        chosen = min(finer, key=lambda other: other.size, default=None)
        yield replace(term, child_term=chosen.name if chosen else None)


def _scales(ratings: Ratings) -> Iterable[ScaleRatings]:
    """Split ratings by scale, scales without a rating left out."""
    column = ratings.factors["scale"]
    for code, name in enumerate(column.labels):
        rows = np.flatnonzero(column.codes == code).astype(SHORT)
        if rows.size:
            level = ratings.score[rows].astype(SHORT)
            yield ScaleRatings(name, ratings.scales[name], rows, level)
