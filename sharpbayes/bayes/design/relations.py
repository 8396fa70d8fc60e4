"""Which location terms are sampled together with which others; see the design for what it means."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sharpbayes.bayes.design.crossing import parent_of
from sharpbayes.bayes.design.design import Term
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.model import Normal, dim_name


def relate_terms(terms: list[Term], ratings: Ratings) -> tuple[Term, ...]:
    """Return location terms with the terms that hold their means, centre them or add to them."""
    centred = [*_add_children(_assign_mean_holder(terms, ratings))]
    return tuple(_add_sums(centred))


def _assign_mean_holder(terms: list[Term], ratings: Ratings) -> list[Term]:
    """Give the means of terms by a column to a finer, centred term that is nested in it.

    Effects by (prompt, dimension) and indicators that lie in one dimension each: ratings show
    only the sum of the mean effect of a dimension and the mean of its indicators.
    """
    for holder in sorted(terms, key=lambda term: term.size):
        if len(holder.dims) == 1 and holder.centred and not holder.zero_sum:
            regrouped = [_group_within(term, holder, ratings) for term in terms]
            if any(term.mean_holder for term in regrouped):
                return [replace(t, holds_means=t.name == holder.name) for t in regrouped]
    return terms


def _group_within(term: Term, holder: Term, ratings: Ratings) -> Term:
    """Group a term's means by those of its columns that the holder is nested in, if any."""
    codes = {dim_name(name): factor.codes for name, factor in ratings.factors.items()}
    if holder.dims[0] in term.dims or not np.array_equal(term.index >= 0, holder.index >= 0):
        return term
    shared = [
        axis
        for axis, dim in enumerate(term.dims)
        if dim != "scale"
        and codes[dim].min() < codes[dim].max()
        and parent_of(holder.index, codes[dim], size=holder.size) is not None
    ]
    if not shared or len(shared) == len(term.dims):
        return term
    cells = np.unravel_index(np.arange(term.size), term.shape)
    shape = [term.shape[axis] for axis in shared]
    group = np.ravel_multi_index([cells[axis] for axis in shared], shape).astype(np.int64)
    swept = (-1,) * len(term.swept_mean)
    return replace(term, mean_group=group, swept_mean=swept, mean_holder=holder.name)


def _add_children(terms: list[Term]) -> Iterator[Term]:
    """Add to each term the smallest finer, centred term that is nested in it.

    A term that holds means has none: those terms would be centred at it, and it at them.
    """
    holders = {term.mean_holder for term in terms}
    for term in terms:
        finer = [
            other
            for other in terms
            if term.name not in holders
            and other.centred
            and not other.zero_sum
            and other.size > term.size
            and parent_of(other.index, term.index, size=other.size) is not None
        ]
        child = min(finer, key=lambda other: other.size, default=None)
        yield replace(term, child_term=child.name if child else None)


def _add_sums(terms: Sequence[Term]) -> Iterator[Term]:
    """Give a term that acts on some ratings only its sum with a term of the same levels.

    Severity of an answer and what judges err in together on it: ratings of judges show their sum.
    """
    summed: set[str] = set()
    for term in terms:
        free = (t for t in terms if not {t.name, term.name} & summed)
        name = next((t.name for t in free if _act_together(term, t)), None)
        summed |= {term.name, name} if name else set()
        yield replace(term, sum_term=name, non_centring=1.0) if name else term


def _act_together(part: Term, whole: Term) -> bool:
    """Tell whether all ratings with an effect of one term have that level's effect of another.

    Both have normal effects with an sd of their own, and no other term goes by them. Some ratings
    have an effect of the other term alone.
    """
    applies = part.index >= 0
    return (
        part.size == whole.size
        and bool((whole.index[~applies] >= 0).any())
        and part.name != whole.name
        and np.array_equal(part.index[applies], whole.index[applies])
        and all(t.structure == "independent" and t.n_sds == 1 for t in (part, whole))
        and all(isinstance(t.prior, Normal) and t.child_term is None for t in (part, whole))
        and part.n_mean_groups == 0
    )
