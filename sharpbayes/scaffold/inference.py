"""Scales, groups and properties of columns, inferred from their values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Any

import pandas as pd

from sharpbayes.data.columns import sort_labels
from sharpbayes.data.corrections import FINER_STEPS
from sharpbayes.data.lookalikes import fold_text
from sharpbayes.errors import DataError, format_list
from sharpbayes.scaffold.column_names import (
    MEASURES,
    REPEATS,
    UNNAMED,
    holds_lists,
    last_word,
    says_good,
    split_name,
)
from sharpbayes.scaffold.lexicon import order_by_number, order_levels
from sharpbayes.spec.scales import STEP_ERROR, BinnedScale, OrdinalScale

Scale = dict[str, Any]

# A column with more different values is a number to cut into bins, a name, or a text.
MAX_SCORES, MAX_GROUPS, MAX_CHOICES = 30, 20, 7
# A message shows so many characters of a text.
MAX_TEXT = 40
# A number this many times as far from all others as they span is none of them.
FAR = 5.0
# A score of a panel, which has no bins, may have more whole numbers.
MAX_NAMED_SCORES = 1000
BINS = 5
# Steps of a scale: those after the second only where the column is named as the score.
STEPS = (1.0, *FINER_STEPS)
# Grades of Inspect: correct, partly correct, incorrect, no answer.
GRADES = {"C": 0.0, "P": 0.5, "I": 1.0, "N": 1.0}
UNKNOWN_WORDS = "words of no known severity"
MANY = "are more than"
DECIMALS = "numbers with decimals that are named as no score"
# Layouts of programs that score from 0 to 1, and how such numbers are cut.
UNIT_LAYOUTS = ("promptfoo", "deepeval", "every-eval-ever")
UNIT_BINS = (0.2, 0.4, 0.6, 0.8)
# Decimals from 0 to 1 are cut in the same way where they span so much of it.
UNIT_SPAN = 0.5
TRUE = {"1", "true", "yes", "y"}
FLAGS = ({"0", "1"}, {"true", "false"}, {"yes", "no"}, {"y", "n"})


@dataclass(frozen=True)
class InferredScale:
    """The scale of a column, with how its words were ordered; or the ``reason`` why it has none.

    ``far`` is a number that is not on the scale, because it lies far from all others. ``span`` is
    the range of the data over which numbers are cut into bins.
    """

    scale: Scale | None
    order: str = ""
    reason: str = ""
    far: str = ""
    span: str = ""


def infer_scale(values: pd.Series, *, named: bool, max_scores: int = MAX_SCORES) -> InferredScale:
    """Return the scale of a column; words are a scale where they are ``named`` as the score.

    Other words are one only where a list of severities has them all. The alphabet orders nothing.
    A scale of numbers has at most ``max_scores`` steps. An order that the type of the column states
    stands.
    """
    texts = list_texts(values)
    is_ordered = bool(_list_ordered(values))
    is_number_by_name = last_word(values.name) in MEASURES | REPEATS and texts <= {"0", "1"}
    if is_flag(values) and not is_ordered and (named or not is_number_by_name):
        return InferredScale({"kind": "boolean"})
    numbers = _parse_numbers(texts)
    if numbers is None or is_ordered:
        return _infer_levels(values, named=named)
    far = find_far_number(numbers)
    numbers = [number for number in numbers if number != far]
    low, high = min(numbers), max(numbers)
    if not named and (reason := _name_measure(values.name)):
        return InferredScale(None, reason=f"{reason} by its name, not a score")
    step = find_step(numbers, STEPS if named else STEPS[:2])
    if step is None:
        return InferredScale(None, reason=DECIMALS)
    if not 0 < high - low < max_scores * step:
        reason = f"{low:g} to {high:g} {MANY} {max_scores} scores"
        if low == high:
            others = "" if far is None else f" but {far:g}"
            reason = f"every value{others} is {low:g}, which does not show where the scale ends"
        return InferredScale(None, reason=reason)
    ends = {"min": _shorten(low), "max": _shorten(high)}
    scale = {"kind": "ordinal"} | ends | ({"step": step} if step < 1 else {})
    return InferredScale(scale, far="" if far is None else f"{far:g}")


def _name_measure(name: object) -> str:
    """Return what numbers are that are no scores by their name; empty where they may be scores."""
    if MEASURES & {*split_name(name)}:
        return "a measure"
    return "a number of repeats" if last_word(name) in REPEATS else ""


def find_far_number(numbers: Sequence[float]) -> float | None:
    """Return the one number that lies far from all others, as codes of missing scores do.

    Its distance is five times the span of the others, or more. There are three different numbers
    at least.

    >>> find_far_number([0, 1, 2, -99]), find_far_number([0, 1, 2, 10]), find_far_number([0, 99])
    (-99, None, None)
    """
    first, *middle, last = sorted(set(numbers)) if len(set(numbers)) > 1 else [0.0, 0.0]
    if not middle:
        return None
    if middle[0] - first >= FAR * (last - middle[0]):
        return first
    return last if last - middle[-1] >= FAR * (middle[-1] - first) else None


def describe_numbers(inferred: Mapping[str, InferredScale]) -> Iterator[str]:
    """Yield what is to be checked of numbers: those that are on no scale, and the ends of scales.

    >>> columns = {"a": InferredScale(None, far="-99"), "b": InferredScale(None)}
    >>> [text.partition(";")[0] for text in describe_numbers(columns)]
    ['-99 lies far from all other numbers of "a" and is left out of the scale']
    """
    for far in dict.fromkeys(column.far for column in inferred.values() if column.far):
        names = format_list([f'"{name}"' for name, column in inferred.items() if column.far == far])
        is_cut = any(column.span for column in inferred.values() if column.far == far)
        place = "counts in the bin at that end" if is_cut else "is left out of the scale"
        yield (
            f"{far} lies far from all other numbers of {names} and {place}; where "
            f'it stands for a missing score write dialect = {{ missing = ["{far}"] }}'
        )
    scales = [column.scale or {} for column in inferred.values() if "min" in (column.scale or {})]
    if scales:
        ends = [f"{scale['min']} to {scale['max']}" for scale in scales]
        steps = [f" in steps of {scale['step']}" if "step" in scale else "" for scale in scales]
        spans = format_list(dict.fromkeys(map("".join, zip(ends, steps, strict=True))))
        yield f"numbers run over those in the data, {spans}; write the ends of a longer scale"


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


def _shorten(number: float) -> float:
    """Write a whole number without a point."""
    return int(number) if number.is_integer() else number


def _list_ordered(values: pd.Series) -> list[str]:
    """Return the words of an ordered type, unused ones too; none for numbers in their order."""
    if not isinstance(values.dtype, pd.CategoricalDtype) or not values.dtype.ordered:
        return []
    words = [text for text in map(str.strip, values.dtype.categories) if text]
    is_ascending = _parse_numbers({*words}) is not None and words == sort_labels(words)
    return [] if is_ascending or len(words) == 1 else words


def _infer_levels(values: pd.Series, *, named: bool) -> InferredScale:
    """Return words as a scale: by their type, a list of severities, their numbers, or as they come.

    Words that no list of severities has are one only where they are named as the score.
    """
    ordered = _list_ordered(values)
    texts = [text for text in dict.fromkeys(str(value).strip() for value in values) if text]
    texts = ordered or texts
    # Of words that look alike the first one is the level; the others are read as it.
    texts = list({fold_text(text): text for text in reversed(texts)}.values())[::-1]
    if holds_lists(values):
        return InferredScale(None, reason="lists, not one value a row")
    known, by_number = order_levels(texts), order_by_number(texts)
    by_number = by_number[::-1] if by_number and says_good(str(values.name)) else by_number
    max_scores = MAX_SCORES if ordered or by_number else MAX_CHOICES
    if known is None and not named:
        return InferredScale(None, reason=UNKNOWN_WORDS if len(texts) <= MAX_GROUPS else "no scale")
    if not 1 < len(texts) <= max_scores:
        return InferredScale(None, reason=_count_words(texts, max_scores))
    orders = {
        "type": ordered and texts,
        "words": known,
        "numbers in the words": by_number,
    }
    source, levels = next(((name, words) for name, words in orders.items() if words), ("", texts))
    listed = ", ".join(levels)
    order = f"is not known: {listed} is how they first appear; put the least harm first"
    if source:
        order = f"is taken from the {source}, least harm first: {listed}"
    return InferredScale({"kind": "categorical", "levels": levels}, order)


def infer_grades(values: pd.Series) -> InferredScale | None:
    """Return the scale of Inspect's grades; no answer is a grade only where it occurs."""
    texts = list_texts(values)
    if not texts or not texts <= set(GRADES):
        return None
    if "N" not in texts:
        return InferredScale({"kind": "categorical", "levels": ["C", "P", "I"]})
    values_of = {"levels": [*GRADES], "values": [*GRADES.values()]}
    return InferredScale({"kind": "categorical"} | values_of)


def infer_unit_scale(values: pd.Series) -> InferredScale | None:
    """Return the scale of scores from 0 to 1: yes and no, or five bins; None for other values."""
    numbers = _parse_numbers(list_texts(values))
    if not numbers or min(numbers) < 0.0 or max(numbers) > 1.0:
        return None
    flag = all(number.is_integer() for number in numbers)
    return InferredScale({"kind": "boolean"} if flag else {"bins": [*UNIT_BINS]})


def infer_special_scale(values: pd.Series, layout: str) -> InferredScale | None:
    """Return the scale that scores of a layout have; None where they may have any."""
    if layout == "inspect":
        return infer_grades(values)
    return infer_unit_scale(values) if layout in UNIT_LAYOUTS else None


def infer_score(values: pd.Series, layout: str = "") -> InferredScale:
    """Return the scale of a panel's score; numbers with decimals are cut into bins."""
    inferred = infer_special_scale(values, layout)
    inferred = inferred or infer_scale(values, named=True, max_scores=MAX_NAMED_SCORES)
    numbers = {*(_parse_numbers(list_texts(values)) or ())}
    if inferred.reason != DECIMALS or len(numbers) == 1:
        return inferred
    unit = infer_unit_scale(values) if max(numbers) - min(numbers) >= UNIT_SPAN else None
    return unit or infer_bins(values)


def infer_bins(values: pd.Series) -> InferredScale:
    """Return the scale of a number that is cut into bins of one width over the range of the data.

    >>> infer_bins(pd.Series(["1.5", "11.5"])).scale
    {'bins': [3.5, 5.5, 7.5, 9.5]}
    """
    numbers = _parse_numbers(list_texts(values))
    if numbers is not None and len(set(numbers)) == 1:
        problem = f"every score is {numbers[0]:g}; a scale needs two scores, and nothing differs"
        raise DataError.at(UNNAMED, problem, key=str(values.name))
    if not numbers:
        texts = [repr(text[:MAX_TEXT]) for text in sorted(list_texts(values))]
        examples = format_list(texts, limit=3) or "no value"
        message = f"found {examples}, must be numbers, or words such as yes and no"
        raise DataError.at(UNNAMED, message, key=str(values.name))
    far = find_far_number(numbers)
    numbers = [number for number in numbers if number != far]
    low, high = min(numbers), max(numbers)
    cuts = [float(f"{low + (high - low) * n / BINS:g}") for n in range(1, BINS)]
    span, far_text = f"from {low:g} to {high:g}", "" if far is None else f"{far:g}"
    return InferredScale({"bins": cuts}, far=far_text, span=span)


def list_scores(scale: Scale) -> list[str]:
    """Return the labels of the scores of a scale, least harm first."""
    if "bins" in scale:
        return [*BinnedScale(bins=tuple(scale["bins"])).labels]
    if "min" in scale:
        return [*OrdinalScale(**scale).labels]
    levels: list[str] = scale.get("levels", ["no", "yes"])
    return levels


def reverse_scale(inferred: InferredScale, values: pd.Series) -> InferredScale:
    """Return numbers or flags as levels of which the highest is the least harm; others as they are.

    >>> flags = pd.Series(["Yes", "No"])
    >>> reverse_scale(infer_scale(flags, named=True), flags).scale["levels"]
    ['Yes', 'No']
    """
    scale = inferred.scale or {}
    if scale.get("kind") == "boolean":
        levels = sorted(list_texts(values), key=lambda text: text.lower() not in TRUE)
    elif "min" in scale:
        levels = list_scores(scale)[::-1]
    else:
        return inferred
    order = "is taken from its name, by which a high score is good: the highest is the least harm"
    return InferredScale({"kind": "categorical", "levels": levels}, order, far=inferred.far)


def describe_values(values: pd.Series) -> str:
    """Return what a column holds: all values where they are few, else a range or examples."""
    texts = order_levels(list_texts(values)) or sort_labels([*list_texts(values)])
    empty = "" if all(str(value).strip() for value in values) else ", some empty"
    if len(texts) <= MAX_CHOICES:
        return (", ".join(texts) or "nothing") + empty * bool(texts)
    if _parse_numbers({*texts}) is not None:
        return f"{len(texts)} numbers from {texts[0]} to {texts[-1]}{empty}"
    return f"{len(texts)} texts: {format_list([text[:20] for text in texts], limit=2)}{empty}"


def explain_unused(values: pd.Series, reason: str) -> str:
    """Return why a column is not used, and what it holds."""
    content = describe_values(values)
    if len(pd.unique(values)) == 1 and content != "nothing":
        return f"{content} everywhere: says nothing"
    return f"{reason or 'not a role of the study'}: {content}"


def list_texts(values: pd.Series) -> set[str]:
    """Return the different texts of a column, without the empty one."""
    return {str(value).strip() for value in pd.unique(values)} - {""}


def _parse_numbers(texts: set[str]) -> list[float] | None:
    """Return texts as numbers, or None where one of them is no number."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if numbers and all(map(isfinite, numbers)) else None


def is_number(values: pd.Series) -> bool:
    """Tell whether all values of a column that are not empty are numbers."""
    return _parse_numbers(list_texts(values)) is not None


def is_flag(values: pd.Series) -> bool:
    """Tell whether a column holds yes and no only, both of them."""
    return {text.lower() for text in list_texts(values)} in FLAGS


def is_side_table(side: pd.DataFrame, key: str, data: pd.DataFrame) -> bool:
    """Tell whether a table has one row for every label of a column."""
    if key not in side.columns or side[key].duplicated().any():
        return False
    return set(data[key]) <= set(side[key])


def is_constant(data: pd.DataFrame, column: str, key: str) -> bool:
    """Tell whether a column has one value for each value of a key."""
    return not data[[key, column]].drop_duplicates()[key].duplicated().any()


def explain_group(table: pd.DataFrame, name: str, *, key: str, unit: str) -> str:
    """Return why a column is no group of raters or items; empty where it is one.

    A group is a word that is constant over the key, with few values that are shared.
    """
    if key not in table.columns:
        return f"its table has no {unit}"
    if is_number(table[name]):
        return "numbers, no groups"
    if not is_constant(table, name, key):
        return "it varies within raters and items"
    count, max_groups = table[name].nunique(), min(MAX_GROUPS, table[key].nunique() - 1)
    if max_groups < 2:  # noqa: PLR2004 - a column of two rows
        return "every value is another word"
    if 1 < count <= max_groups:
        return ""
    return _count_words([*table[name].dropna().unique()], max_groups)


def _count_words(texts: list[str], max_words: int) -> str:
    """Why words are too few or too many for a scale or for groups."""
    if not texts:
        return "every row is empty"
    if len(texts) == 1:
        return f"every value is {texts[0]!r}"
    return f"more than {max_words} different words"
