"""Terms of a model x ratings of a study -> the labelled index arrays of a design."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sharpbayes.bayes.design.careless import RATER, CarelessClass
from sharpbayes.bayes.design.crossing import (
    INDEX_TYPE,
    Index,
    cross,
    find_combinations,
    median_count,
    parent_of,
)
from sharpbayes.bayes.design.design import (
    CENTRED_BELOW,
    CENTRED_FROM,
    Design,
    ScaleRatings,
    Term,
    TermKind,
)
from sharpbayes.bayes.design.judge_errors import FAMILY, MACHINE, find_unidentified
from sharpbayes.bayes.design.relations import relate_terms
from sharpbayes.bayes.design.slopes import find_slope_errors, index_slopes
from sharpbayes.data.crowd import LABEL
from sharpbayes.data.ratings import Ratings
from sharpbayes.errors import Diagnostic, SpecError, did_you_mean
from sharpbayes.spec.consistency import ANY_GROUP
from sharpbayes.spec.lines import dotted
from sharpbayes.spec.model import Discrimination, Location, Model, Slope, dim_name

# Ratings say less of a factor of discrimination, or of a gap, than of a location.
CENTRED_FROM_SHAPE = 400
# Columns that a study may be without; terms over them are then omitted.
OPTIONAL = {"own_family", MACHINE, FAMILY}
# Columns that only repeated answers and judgements have; terms are then without them.
REPEATS = ("sample", "trial")


def build_design(
    ratings: Ratings,
    model: Model,
    *,
    path: str = "model",
    non_centring: Mapping[str, float] | None = None,
) -> Design:
    """Index the terms of a model, in a file at a path, by the ratings of a study, in their order.

    Where ``non_centring`` has no weight for the name of a term, it is 0 for an effect with many
    ratings and 1 for one with few.
    """
    check_columns(ratings, model, path=path)
    repeated = [term.by for term in model.location if {*REPEATS} & {*term.by}]
    written = [term.by for term in model.location]
    model = _resolve_columns(ratings, model)
    scales = tuple(_split_by_scale(ratings))
    scale_of, _ = find_combinations([ratings.factors["scale"].codes])
    locations = _add_shifts(ratings, model, one_scale=len(scales) == 1)
    candidates = [_index_location(location, ratings, scale_of) for location in locations]
    of_repeats = {f"location_{'_'.join(by)}" for by in map(partial(_present, ratings), repeated)}
    others = [term for term in candidates if term.name not in of_repeats]
    unidentified = dict(find_unidentified(others, written, ratings))
    unidentified |= _find_single_model(others, ratings)
    candidates = [term for term in candidates if term.stem not in unidentified]
    # Where each scale has one effect only, its cutpoints already hold it.
    parents = {t.name: parent_of(scale_of, t.index, size=len(scales)) for t in candidates}
    inseparable = dict(_find_inseparable(candidates, of_repeats))
    free = [t for t in candidates if parents[t.name] is None and t.stem not in inseparable]
    location_terms = _set_weights([_guess_weight(term, free) for term in free], non_centring)
    slopes, omitted_slopes, covariates = index_slopes(ratings, model.slope, non_centring)
    shape_terms = [*_index_gaps(ratings, model, scales), *_index_discriminations(ratings, model)]
    columns = {column for term in locations for column in term.by}
    columns |= {column for term in model.discrimination for column in term.by}
    columns |= {column for slope in model.slope for column in slope.by}
    columns |= set(model.thresholds.by) - {"scale"}
    columns |= {RATER} if model.careless else set()
    return Design(
        terms=(
            *relate_terms(location_terms, ratings),
            *slopes,
            *_set_weights(shape_terms, non_centring),
        ),
        scales=scales,
        thresholds=model.thresholds.prior,
        likelihood=model.likelihood,
        link=model.link,
        ordered_cutpoints=model.ordered_thresholds,
        coords={dim_name(column): ratings.factors[column].labels for column in sorted(columns)}
        | {scale.cutpoint_dim: scale.cutpoint_labels for scale in scales}
        | {scale.gap_dim: scale.labels[1:-1] for scale in scales},
        n_ratings=len(ratings.score),
        omitted_terms=(
            *(t.stem for t in candidates if parents[t.name] is not None),
            *omitted_slopes,
        ),
        covariates=covariates,
        inseparable_terms=tuple(inseparable.items()),
        unidentified=tuple(unidentified.items()),
        careless=_index_careless(ratings, model, scales),
    )


def check_columns(ratings: Ratings, model: Model, *, path: str) -> None:
    """Raise a SpecError of all terms over columns that a study lacks, or without variation."""
    known = sorted(set(ratings.factors) - {"scale"})
    diagnostics = [
        Diagnostic(
            path,
            0,
            dotted(key),
            f"no column {column!r} in this study, its columns are {', '.join(known)}"
            + did_you_mean(column, known),
        )
        for key, column in model.columns
        if column not in {*known, "scale", ANY_GROUP, *OPTIONAL, *REPEATS}
    ]
    diagnostics += [
        Diagnostic(path, 0, dotted(key), message)
        for key, message in find_slope_errors(ratings, model)
    ]
    if model.careless is not None and not {"item", RATER} <= set(known):
        message = "needs raters of a crowd, and this study is a panel of judges"
        diagnostics.append(Diagnostic(path, 0, "careless", message))
    if diagnostics:
        raise SpecError(diagnostics)


def _resolve_columns(ratings: Ratings, model: Model) -> Model:
    """Write a term for each group in place of ``group:*``, none over a column that is missing."""
    groups = [column for column in ratings.factors if column.startswith("group:")]

    def resolve(by: Sequence[str]) -> Iterator[tuple[str, ...]]:
        present = _present(ratings, by)
        if bool(present) == bool(by) and (OPTIONAL & set(by)) <= set(ratings.factors):
            for group in groups if ANY_GROUP in by else [""]:
                yield tuple(group if column == ANY_GROUP else column for column in present)

    def copies[T: (Location, Discrimination, Slope)](terms: Iterable[T]) -> tuple[T, ...]:
        return tuple(
            term.model_copy(update={"by": by}) for term in terms for by in resolve(term.by)
        )

    by = tuple(name for column in model.thresholds.by for (name,) in resolve([column]))
    return model.model_copy(
        update={
            "location": tuple(_keep_first(copies(model.location))),
            "discrimination": copies(model.discrimination),
            # A slope by a column that is missing is still the common slope.
            "slope": tuple(
                slope
                for term in model.slope
                for slope in copies([term]) or (term.model_copy(update={"by": ()}),)
            ),
            "thresholds": model.thresholds.model_copy(update={"by": by}),
        }
    )


def _keep_first(terms: Sequence[Location]) -> Iterator[Location]:
    """Yield terms without those that are over the columns of an earlier one."""
    seen: set[frozenset[str]] = set()
    for term in terms:
        if frozenset(term.by) not in seen:
            yield term
        seen.add(frozenset(term.by))


def _present(ratings: Ratings, by: Sequence[str]) -> tuple[str, ...]:
    """Return columns without those of repeats that a study does not have."""
    return tuple(name for name in by if name not in REPEATS or name in ratings.factors)


def _find_single_model(candidates: Sequence[Term], ratings: Ratings) -> dict[str, str]:
    """Return terms of models alone where there is one model, and why they are omitted.

    Nothing is compared then, and effects of the indicators of a dimension have a mean of their own.
    """
    model = ratings.factors.get("model")
    if model is None or len(model.labels) > 1:
        return {}
    finer = [term for term in candidates if "indicator" in term.dims]
    reason = "there is one model, and effects of indicators hold its mean"
    return {
        term.stem: reason
        for term in candidates
        if "model" in term.dims and {*term.dims} <= {"model", "dimension"}
        if any(parent_of(other.index, term.index, size=other.size) is not None for other in finer)
    }


def _find_inseparable(
    candidates: Sequence[Term], of_repeats: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield terms that the ratings cannot separate, and why.

    They are those whose further columns split no level of another term, as answers are prompts
    where there is one model. Of repeated answers and judgements they are also those that group the
    ratings as an earlier term does, and those with a single rating at each level, whose effects are
    rating noise.
    """
    for position, term in enumerate(candidates):
        is_repeat = term.name in of_repeats
        coarser = [other for other in candidates if {*other.dims} < {*term.dims}]
        earlier = candidates[:position] if is_repeat else []
        same = next(
            (other for other in (*coarser, *earlier) if _have_same_levels(term, other)), None
        )
        if same is not None:
            yield term.stem, f"acts on the same ratings as {same.stem}, level by level"
        elif is_repeat and np.bincount(term.index[term.index >= 0]).max(initial=0) <= 1:
            yield term.stem, "each level has one rating, and its effect is noise of that rating"


def _have_same_levels(one: Term, other: Term) -> bool:
    """Tell whether two terms group the ratings alike."""
    pairs = ((one, other), (other, one))
    return all(parent_of(a.index, b.index, size=a.size) is not None for a, b in pairs)


def _split_by_scale(ratings: Ratings) -> Iterator[ScaleRatings]:
    """Split ratings by scale; scales without a rating are omitted."""
    column = ratings.factors["scale"]
    for code, name in enumerate(column.labels):
        rows = np.flatnonzero(column.codes == code).astype(INDEX_TYPE)
        if rows.size:
            category = ratings.score[rows].astype(INDEX_TYPE)
            yield ScaleRatings(name, ratings.scales[name], rows, category)


def _index_careless(
    ratings: Ratings, model: Model, scales: Sequence[ScaleRatings]
) -> CarelessClass | None:
    """Raters who may be careless, from ratings that are no labels of experts."""
    if model.careless is None:
        return None
    position = next(n for n, scale in enumerate(scales) if scale.name != LABEL)
    index = np.full(len(ratings.score), -1, dtype=INDEX_TYPE)
    rows, rater = scales[position].rows, ratings.factors[RATER]
    index[rows] = rater.codes[rows]
    return CarelessClass(
        index, len(rater.labels), position, model.careless.share, model.careless.concentration
    )


def _add_shifts(ratings: Ratings, model: Model, *, one_scale: bool) -> list[Location]:
    """Location terms, and one for each column of thresholds that has none of its own."""
    locations = list(model.location)
    located = {column for term in locations for column in term.by} | {"scale"}
    for column in model.thresholds.by:
        if column not in located:
            factor, scale = ratings.factors[column], ratings.factors["scale"].codes
            alone = one_scale or parent_of(factor.codes, scale, size=len(factor.labels)) is not None
            by = (column,) if alone else ("scale", column)
            locations.append(Location(by=by, prior=model.thresholds.shift))
    return locations


def _index_term(
    kind: TermKind, by: Sequence[str], ratings: Ratings, term: Location | Discrimination
) -> Term:
    """Index a term of a file: the crossing of its columns."""
    index, shape = cross([ratings.factors[name] for name in by])
    dims = tuple(dim_name(name) for name in by)
    return Term(
        name=f"{kind}_{'_'.join(dims)}",
        kind=kind,
        dims=dims,
        shape=shape,
        index=index,
        prior=term.prior,
        non_centring=0.0,
        mean_group=np.full(int(np.prod(shape)), -1, dtype=np.int64),
        structure="zero_sum" if term.zero_sum else "independent",
    )


def _index_location(location: Location, ratings: Ratings, scale_of: Index) -> Term:
    """Index one location term; the column that effects are correlated over goes last."""
    over = location.correlated_over
    by = sorted(location.by, key=lambda name: name == over)
    term = _index_term("location", by, ratings, location)
    mean_group, swept_mean = _group_by_scale(term.index, scale_of, size=term.size)
    term = replace(term, mean_group=mean_group, swept_mean=swept_mean)
    if over is None or term.shape[-1] == 1:
        return term
    return replace(term, structure="correlated", correlation=location.correlation)


def _group_by_scale(index: Index, scale_of: Index, *, size: int) -> tuple[Index, tuple[int, ...]]:
    """Groups of effects with means that the cutpoints of a scale absorb, and those scales.

    One group a scale where every effect is on one scale, else one group in all. Cutpoints cannot
    absorb the mean of effects that apply to some ratings of a scale and not to others.
    """
    scales = range(int(scale_of.max()) + 1)
    share = [float(np.mean(index[scale_of == scale] >= 0)) for scale in scales]
    if any(0.0 < part < 1.0 for part in share):
        return np.full(size, -1, dtype=np.int64), (-1,) * len(share)
    applies = index >= 0
    parent = parent_of(index[applies], scale_of[applies], size=size)
    group = np.zeros(size, dtype=np.int64) if parent is None else parent
    several = bool(group.any())
    return group, tuple(
        -1 if part == 0.0 else (scale if several else 0)
        for scale, part in zip(scales, share, strict=True)
    )


def _guess_weight(term: Term, terms: Sequence[Term]) -> Term:
    """Weight of a location term, from the number of ratings or finer effects of each effect."""
    counts = [median_count(term.index)]
    for other in terms:
        if other.size > term.size:
            cells = parent_of(other.index, term.index, size=other.size)
            if cells is not None:
                counts.append(median_count(cells[other.used_levels]))
    return replace(term, non_centring=float(min(counts) < CENTRED_FROM))


def _set_weights(terms: Iterable[Term], weights: Mapping[str, float] | None) -> list[Term]:
    """Terms that distinguish ratings, with the weights that are given; 0 or 1 where it must be."""
    kept = []
    for term in terms:
        weight = (weights or {}).get(term.name, term.non_centring)
        if term.structure != "independent":
            weight = float(weight >= CENTRED_BELOW)
        # The ratings that a term does not apply to are a reference for its only level.
        reference = bool((term.index < 0).any() and (term.index >= 0).any())
        if term.size > 1 or (reference and not term.zero_sum):
            kept.append(replace(term, non_centring=weight))
    return kept


def _index_gaps(ratings: Ratings, model: Model, scales: tuple[ScaleRatings, ...]) -> Iterator[Term]:
    """Effects of each column on the gaps of each scale with at least three categories."""
    for column in model.thresholds.by:
        factor = ratings.factors[column]
        for position, scale in enumerate(scales):
            used = np.unique(factor.codes[scale.rows])
            if column == "scale" or scale.n_cutpoints < 2 or len(used) < 2:  # noqa: PLR2004
                continue
            index = np.full(len(ratings.score), -1, dtype=INDEX_TYPE)
            index[scale.rows] = factor.codes[scale.rows]
            gaps = scale.n_cutpoints - 1
            mean_group = np.tile(np.arange(gaps), len(factor.labels))
            yield Term(
                name=f"gap_{scale.name}_{dim_name(column)}",
                kind="gap",
                dims=(dim_name(column), scale.gap_dim),
                shape=(len(factor.labels), gaps),
                index=index,
                prior=model.thresholds.gap,
                non_centring=float(median_count(index) / gaps < CENTRED_FROM_SHAPE),
                mean_group=np.full_like(mean_group, -1) if used[0] < 0 else mean_group,
                scale=position,
            )


def _index_discriminations(ratings: Ratings, model: Model) -> Iterator[Term]:
    """Log factors of discrimination."""
    for discrimination in model.discrimination:
        term = _index_term("discrimination", discrimination.by, ratings, discrimination)
        if min(term.shape) > 1 if term.zero_sum else len(np.unique(term.index)) > 1:
            non_centring = float(median_count(term.index) < CENTRED_FROM_SHAPE)
            yield replace(term, non_centring=non_centring)
