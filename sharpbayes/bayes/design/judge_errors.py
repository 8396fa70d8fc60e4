"""Terms of what judges err in on single answers: which of them the ratings identify.

An *error term* has an effect for each answer of a model to a prompt, and for each judge (halo), for
all judges of a family, or for all judges (``machine``). Ratings tell it apart from severity where
somebody else rated the same answers, and from the noise of a rating where they show each effect
more than once.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sharpbayes.bayes.design.crossing import cross, find_combinations
from sharpbayes.bayes.design.design import Term
from sharpbayes.data.ratings import Ratings
from sharpbayes.spec.model import dim_name

ANSWER = {"model", "prompt"}
# Who errs: all model judges, all of a family, one.
MACHINE, FAMILY, JUDGE = WHO = ("machine", "family", "judge")
# Columns that a study may be without, and what their terms need.
ABSENT = {
    MACHINE: "no person scored a cell, and nothing else tells it from severity",
    FAMILY: "no two judges are of one family",
}
# With fewer ratings of each effect than this the noise of a rating hides it.
MIN_REPEATS = 2


def error_column(columns: Sequence[str]) -> str | None:
    """Return who errs by a term over these columns or dimensions; None for other terms.

    >>> error_column(["judge", "model", "prompt"]), error_column(["judge", "model"])
    ('judge', None)
    """
    sources = [name for name in WHO if name in columns]
    return sources[0] if sources and set(columns) >= ANSWER else None


def find_unidentified(
    terms: Sequence[Term], written: Sequence[Sequence[str]], ratings: Ratings
) -> Iterator[tuple[str, str]]:
    """Yield the error terms that the ratings do not identify: stem, and why.

    ``terms`` are the location terms of the columns that the study has, ``written`` the columns of
    all that the model file has.
    """
    for columns in written:
        source = error_column(columns)
        if source in ABSENT and source not in ratings.factors:
            yield "_".join(map(dim_name, columns)), ABSENT[source]
    identified: list[Term] = []
    for term in terms:
        problem = _explain(term, identified, ratings)
        if problem:
            yield term.stem, problem
        elif error_column(term.dims):
            identified.append(term)


def _explain(term: Term, others: Sequence[Term], ratings: Ratings) -> str | None:
    """Say why the ratings do not identify an error term; None if they do, or for other terms."""
    source = error_column(term.dims)
    if source is None:
        return None
    counts = np.bincount(term.index[term.index >= 0])
    if not counts.size or np.median(counts[counts > 0]) < MIN_REPEATS:
        return "most of its effects have one rating, which does not separate them from its noise"
    answer, _ = cross([ratings.factors[dim] for dim in term.dims if dim not in WHO])
    _, pairs = find_combinations([answer, ratings.factors[source].codes])
    if np.bincount(pairs[:, 0]).max() < MIN_REPEATS:
        return "nobody else rated the same answers, and nothing separates it from severity"
    for other in others:
        _, both = find_combinations([term.index, other.index])
        if len(both) == len(np.unique(both[:, 0])) == len(np.unique(both[:, 1])):
            return f"it acts on the same ratings as {other.stem}, level by level"
    return None
