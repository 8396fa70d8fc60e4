"""Ratings of a study that has grown: which are new, and whether the others are as they were."""

from collections.abc import Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sharpbayes.data.ratings import Factor, Ratings
from sharpbayes.errors import DataError, Diagnostic

# What tells one rating from all others; scales tell labels by experts from scores.
IDENTITY = ("model", "prompt", "judge", "sample", "trial", "indicator", "item", "rater", "scale")
Codes = NDArray[np.int64]


def find_new_ratings(earlier: Ratings, grown: Ratings, *, path: str) -> NDArray[np.bool_]:
    """Return which ratings of a study with data at a path the earlier ratings lack.

    Raises:
        DataError: Earlier ratings are gone, or have another score, column or number.
    """
    code = _identify(earlier, grown)
    old, new = code[: len(earlier.score)], code[len(earlier.score) :]
    rows = {int(key): row for row, key in enumerate(new)}
    position = np.array([rows.get(int(key), -1) for key in old], dtype=np.int64)
    DataError.raise_any(
        Diagnostic(path, 0, _name_rating(earlier, row), message)
        for row, message in _find_changes(earlier, grown, position)
    )
    return ~np.isin(new, old)


def _identify(earlier: Ratings, grown: Ratings) -> Codes:
    """Number the distinct ratings of both, one after the other."""
    columns = [name for name in IDENTITY if name in earlier.factors or name in grown.factors]
    counts = len(earlier.score), len(grown.score)
    codes = (
        _joint_codes(earlier.factors.get(name), grown.factors.get(name), counts) for name in columns
    )
    return reduce(_combine, map(np.concatenate, codes))


def _joint_codes(
    earlier: Factor | None, grown: Factor | None, counts: tuple[int, int]
) -> tuple[Codes, Codes]:
    """Code the labels of a column of both by one list; -1 where there is none."""
    labels = {label: n for n, label in enumerate(dict.fromkeys(_labels(earlier) + _labels(grown)))}

    def code(factor: Factor | None, count: int) -> Codes:
        if factor is None:
            return np.full(count, -1, dtype=np.int64)
        known = [labels[label] for label in factor.labels]
        return np.array([*known, -1], dtype=np.int64)[factor.codes]

    return code(earlier, counts[0]), code(grown, counts[1])


def _labels(factor: Factor | None) -> tuple[str, ...]:
    """Labels of a column; none where it is missing."""
    return () if factor is None else factor.labels


def _combine(one: Codes, two: Codes) -> Codes:
    """Number the distinct pairs of two codes."""
    pairs = one * (int(two.max()) + 2) + two + 1
    numbers: Codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers


def _find_changes(earlier: Ratings, grown: Ratings, position: Codes) -> Iterator[tuple[int, str]]:
    """Yield the rows of earlier ratings that are gone or have changed, and how."""
    for row in np.flatnonzero(position < 0):
        yield int(row), "is in the results and no longer in the data"
    rows = np.flatnonzero(position >= 0)
    grown_rows = position[rows]
    yield from _differences("score", _scores(earlier)[rows], _scores(grown)[grown_rows], rows)
    for name in sorted(set(earlier.factors) & set(grown.factors) - set(IDENTITY)):
        before, after = _texts(earlier.factors[name]), _texts(grown.factors[name])
        yield from _differences(name, before[rows], after[grown_rows], rows)
    for name in sorted(set(earlier.covariates) & set(grown.covariates)):
        one, two = earlier.covariates[name].of(rows), grown.covariates[name].of(grown_rows)
        numbers = [np.append(x.values, np.nan)[x.codes].astype(str) for x in (one, two)]
        yield from _differences(name, numbers[0], numbers[1], rows)


def _scores(ratings: Ratings) -> NDArray[np.str_]:
    """Label of the score of each rating."""
    scale, texts = ratings.factors["scale"], np.empty(len(ratings.score), object)
    for code, name in enumerate(scale.labels):
        rows = scale.codes == code
        texts[rows] = np.array([*ratings.scales[name], ""], object)[ratings.score[rows]]
    return texts.astype(str)


def _texts(factor: Factor) -> NDArray[np.str_]:
    """Label of each rating; empty for none."""
    return np.array([*factor.labels, ""])[factor.codes]


def _differences(
    name: str, before: NDArray[np.str_], after: NDArray[np.str_], rows: Codes
) -> Iterator[tuple[int, str]]:
    """Yield the rows in which a column differs, and how."""
    for n in np.flatnonzero(before != after):
        yield int(rows[n]), f"{name} is {str(after[n])!r}, and {str(before[n])!r} in the results"


def _name_rating(ratings: Ratings, row: int) -> str:
    """Name a rating by its labels."""
    columns = [name for name in IDENTITY if name in ratings.factors and name != "scale"]
    labels = {name: str(_texts(ratings.factors[name].of(np.array([row])))[0]) for name in columns}
    return ", ".join(f"{name} {label}" for name, label in labels.items() if label)
