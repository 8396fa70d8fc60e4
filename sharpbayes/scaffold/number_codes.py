"""Numbers of a column: the steps between them, and those that stand for a missing score."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isclose, isfinite

from sharpbayes.data.corrections import FINER_STEPS
from sharpbayes.spec.scales import STEP_ERROR

# A number this many times as far from all others as they span is none of them.
FAR = 5.0
# What surveys and programs write for no answer, below scores from 0 or after a gap above them.
NEGATIVE_CODES = {-1.0, -7.0, -8.0, -9.0, -77.0, -88.0, -99.0, -999.0}
HIGH_CODES = {8.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 888.0, 998.0, 999.0}
# So few numbers from -1 to 1 are against, undecided and for.
MAX_SIGNS = 4
# So far from the highest score is a code above it: two scores or more are unused between them.
CODE_GAP = 3.0
# More different numbers are no grades of which each has a name.
MANY_NUMBERS = 20
# Steps of a scale: those after the second only where the column is named as the score.
STEPS = (1.0, *FINER_STEPS)


def parse_numbers(texts: Iterable[str]) -> list[float] | None:
    """Return texts as numbers, or None where one of them is no number."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if numbers and all(map(isfinite, numbers)) else None


def find_step(numbers: Sequence[float], steps: Sequence[float]) -> float | None:
    """Return the first step that leads from whole numbers to all numbers.

    >>> find_step([1, 2.5, 4], STEPS), find_step([1, 1.37], STEPS), find_step([0.123], STEPS)
    (0.5, 0.01, None)
    """
    for step in steps:
        counts = [number / step for number in numbers]
        if all(isclose(count, round(count), abs_tol=STEP_ERROR) for count in counts):
            return step
    return None


def split_codes(texts: Iterable[str]) -> tuple[list[float], tuple[str, ...]]:
    """Return numbers without codes of missing scores, and the texts of these codes.

    >>> split_codes(["1", "-99.0", "2", "3"])
    ([1.0, 2.0, 3.0], ('-99.0',))
    """
    values = {text: float(text) for text in texts}
    codes = list_codes(values.values())
    coded = sorted((text for text in values if values[text] in codes), key=float)
    return [value for value in values.values() if value not in codes], tuple(coded)


def list_codes(numbers: Iterable[float]) -> list[float]:
    """Return the numbers that stand for a missing score by their place, at the ends of all others.

    Two other numbers are left at least. Numbers from 0 to 1 are shares, however far apart.

    >>> list_codes([0, 1, 2, -99]), list_codes([1, 2, 3, 98, 99]), list_codes([0, 1, 2, 3, -1])
    ([-99], [98, 99], [-1])
    >>> list_codes([0, 1, 2, 10]), list_codes([0, 99]), list_codes([-1, 0, 1])
    ([], [], [])
    >>> list_codes([0.02, 0.04, 0.9]), list_codes([0.02, 0.04, 0.9, -99])
    ([], [-99])
    """
    scores, codes = sorted({*numbers}), list[float]()
    while len(scores) > 2 and (code := _find_code(scores)) is not None:  # noqa: PLR2004
        scores.remove(code)
        codes.append(code)
    return sorted(codes)


def is_percentage(numbers: Sequence[float]) -> bool:
    """Tell whether numbers seem to be percentages: many of them, or steps of 5, beyond 50.

    >>> is_percentage([0, 40, 75]), is_percentage([*range(60)]), is_percentage([0, 7, 60])
    (True, True, False)
    """
    count = len({*numbers})
    is_stepped = count > 2 and all(number % 5 == 0 for number in numbers)  # noqa: PLR2004
    is_within = min(numbers) >= 0 and 50 < max(numbers) <= 100  # noqa: PLR2004
    return is_within and (is_stepped or count > MANY_NUMBERS)


def _find_code(scores: Sequence[float]) -> float | None:
    """Return the lowest or highest of sorted numbers where it is a code; None where neither is."""
    first, *middle, last = scores
    if first >= 0.0 and last <= 1.0:
        return None
    if middle[0] - first >= FAR * (last - middle[0]) or _has_negative_code(scores):
        return first
    is_far = last - middle[-1] >= FAR * (middle[-1] - first)
    return last if is_far or _has_high_code(scores) else None


def _has_negative_code(scores: Sequence[float]) -> bool:
    """Tell whether the numbers below zero are codes, and none of two directions of a scale."""
    negative = {score for score in scores if score < 0.0}
    has_signs = scores[-1] == -scores[0] and len(scores) <= MAX_SIGNS
    return bool(negative) and negative <= NEGATIVE_CODES and not has_signs


def _has_high_code(scores: Sequence[float]) -> bool:
    """Tell whether the numbers after a gap are codes, above whole numbers without a gap."""
    gaps = [place for place, (low, high) in enumerate(pairwise(scores)) if high - low > 1.0]
    if not gaps or scores[gaps[0] + 1] - scores[gaps[0]] < CODE_GAP:
        return False
    low, high = scores[: gaps[0] + 1], scores[gaps[0] + 1 :]
    return len(low) > 1 and {*high} <= HIGH_CODES and find_step(low, STEPS[:2]) is not None
