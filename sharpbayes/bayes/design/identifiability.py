"""What the ratings of a study cannot tell of a model's parameters, said before sampling.

Every posterior is proper, because every prior is; where ratings say nothing, it is the prior's.
These are the places where that happens, found from the design and the ratings alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sharpbayes.bayes.design.crossing import Index, parent_of
from sharpbayes.bayes.design.design import Design, ScaleRatings, Term
from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.errors import format_list
from sharpbayes.spec.model import Likelihood

# An sd of fewer effects than this is mostly its prior's.
FEW = 3
# Who gives ratings; one who always gives the same says that their effect is large, not how large.
WHO = ("rater", "judge")
# What becomes of the thresholds at levels that nobody gave: below all, above all, between others.
BOUNDED = "the prior alone bounds the thresholds there"
UNUSED: dict[Likelihood, tuple[str, str, str]] = {
    "cumulative": (
        BOUNDED,
        BOUNDED,
        "the gap between its thresholds shrinks as the prior lets it",
    ),
    "adjacent": (
        BOUNDED,
        BOUNDED,
        (
            "the threshold into it grows and the one out of it falls as the prior lets them; "
            "their sum is told"
        ),
    ),
    "continuation": (
        BOUNDED,
        "the prior alone bounds the first threshold there and gives all beyond it",
        "the threshold above it falls as the prior lets it; the others are told",
    ),
}
# With fewer ratings of a scale, always giving the same is no surprise.
ENOUGH = 5


@dataclass(frozen=True)
class Issue:
    """Something that ratings cannot tell.

    Attributes:
        where: The term, scale or column.
        found: What the ratings cannot tell, and why.
        done: What the fit does about it.
    """

    where: str
    found: str
    done: str

    def __str__(self) -> str:
        """Render as one line.

        >>> str(Issue("score", "level 4 is never used", "the prior places it"))
        'score: level 4 is never used; the prior places it'
        """
        return f"{self.where}: {self.found}; {self.done}"


def find_issues(ratings: Ratings, design: Design) -> list[Issue]:
    """Return what the ratings cannot tell, in the order of the model's terms.

    Args:
        ratings: Observed ratings.
        design: Terms of a model, indexed by them.
    """
    found = [_left_out(name, ratings) for name in design.omitted_terms]
    for term in design.terms:
        found += [*_unrated(term, design), *_few(term)]
    found += _confounded(design)
    for scale in design.scales:
        found += _unused(scale, design.likelihood)
        for name in WHO:
            if name in ratings.factors:
                found += _never_varies(scale, name, ratings.factors[name])
    return found


def _left_out(name: str, ratings: Ratings) -> Issue:
    """A term that thresholds hold, or that applies to no rating."""
    held = ratings.factors.get(name)
    nobody = held is not None and not (held.codes >= 0).any()
    what = "every scale has one level of it, so that thresholds hold its effect"
    return Issue(name, "no rating has a level of it" if nobody else what, "the term is left out")


def _unrated(term: Term, design: Design) -> Iterator[Issue]:
    """Levels without a rating."""
    level = term.index[term.index >= 0]
    axis = term.shape[0] if term.kind == "gap" else term.size
    missing = np.setdiff1d(np.arange(axis), level)
    if len(missing) and len(term.dims) == 1:
        names = [design.coords[term.dims[0]][row] for row in missing]
        what = f"no ratings of {format_list(names, most=3)}"
        yield Issue(term.name, what, "their effects are drawn from the prior")
    elif len(missing) and term.kind != "gap":
        what = f"{len(missing)} of {term.size} crossings have no ratings"
        yield Issue(term.name, what, "their effects are drawn from the prior")


def _few(term: Term) -> Iterator[Issue]:
    """Sds that too few effects tell."""
    levels = len(np.unique(term.index[term.index >= 0]))
    if term.n_sds and levels < FEW:
        yield Issue(
            f"sd_{term.stem}",
            f"{levels} levels tell little of an sd",
            "its prior decides much of it: give it a fixed sd, or compare priors",
        )


def _confounded(design: Design) -> Iterator[Issue]:
    """Effects of two terms that act on the same ratings."""
    locations = design.terms_of("location")
    for at, one in enumerate(locations):
        for other in locations[at + 1 :]:
            coarse, fine = sorted((one, other), key=_levels)
            parent = parent_of(fine.index, coarse.index, size=fine.size)
            if parent is not None:
                yield from _alone(coarse, fine, parent, design)


def _levels(term: Term) -> int:
    """Number of levels that have ratings."""
    return len(np.unique(term.index[term.index >= 0]))


def _alone(coarse: Term, fine: Term, parent: Index, design: Design) -> Iterator[Issue]:
    """Levels of a term with only one level of the finer term in them."""
    used = np.unique(fine.index[fine.index >= 0])
    of_used = parent[used]
    inside = np.bincount(of_used[of_used >= 0], minlength=coarse.size)
    alone = [row for row in np.unique(coarse.index[coarse.index >= 0]) if inside[row] == 1]
    if not alone:
        return
    done = "only the sum of both effects is told; their priors split it"
    if len(alone) == _levels(coarse):
        what = f"acts on the same ratings as {fine.name}, level by level"
        yield Issue(coarse.name, what, f"{done}: leave one out")
        return
    names = [_name(coarse, row, design) for row in alone]
    one = fine.dims[-1] if len(fine.dims) == 1 else fine.stem
    yield Issue(coarse.name, f"one {one} only in {format_list(names, most=3)}", done)


def _name(term: Term, row: int, design: Design) -> str:
    """Label of an effect."""
    cell = np.unravel_index(row, term.shape)
    labels = [design.coords[dim][at] for dim, at in zip(term.dims, cell, strict=True)]
    return " x ".join(labels)


def _unused(scale: ScaleRatings, likelihood: Likelihood) -> Iterator[Issue]:
    """Levels that nobody gave."""
    below_done, above_done, middle_done = UNUSED[likelihood]
    count = np.bincount(scale.category, minlength=len(scale.labels))
    used = np.flatnonzero(count)
    for place, inside, done in (
        ("below", np.arange(used[0]), below_done),
        ("above", np.arange(used[-1] + 1, len(count)), above_done),
    ):
        if len(inside):
            what = f"{_of_levels(scale, inside)} never used, {place} all that are"
            yield Issue(scale.name, what, done)
    middle = np.flatnonzero(count == 0)
    middle = middle[(middle > used[0]) & (middle < used[-1])]
    if len(middle):
        what = f"{_of_levels(scale, middle)} never used, between others that are"
        yield Issue(scale.name, what, middle_done)


def _of_levels(scale: ScaleRatings, rows: NDArray[np.integer]) -> str:
    """Name levels."""
    names = format_list([scale.labels[row] for row in rows], most=3)
    return f"level {names} is" if len(rows) == 1 else f"levels {names} are"


def _never_varies(scale: ScaleRatings, name: str, held: Factor) -> Iterator[Issue]:
    """Raters or judges who give one level only on a scale whose ratings differ."""
    if len(np.unique(scale.category)) == 1:
        return
    code = held.codes[scale.rows]
    size = len(held.labels)
    low, high = np.full(size, len(scale.labels)), np.full(size, -1)
    rated = code >= 0
    np.minimum.at(low, code[rated], scale.category[rated])
    np.maximum.at(high, code[rated], scale.category[rated])
    enough = np.bincount(code[rated], minlength=size) >= ENOUGH
    same = np.flatnonzero((low == high) & enough)
    if len(same):
        names = [f"{held.labels[row]} ({scale.labels[low[row]]})" for row in same]
        yield Issue(
            name,
            f"always the same level of {scale.name}: {format_list(names, most=3)}",
            "ratings bound their effects on one side only, the prior on the other",
        )
