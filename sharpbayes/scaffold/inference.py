"""Scales, groups and properties of columns, inferred from their values."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from sharpbayes.data.columns import sort_labels
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
from sharpbayes.scaffold.lexicon import drop_lookalikes, order_by_number, order_levels
from sharpbayes.scaffold.number_codes import (
    STEPS,
    find_step,
    is_percentage,
    parse_numbers,
    split_codes,
)
from sharpbayes.spec.files import BY_APPEARANCE
from sharpbayes.spec.scales import BinnedScale, OrdinalScale

Scale = dict[str, Any]

# A column with more different values is a number to cut into bins, a name, or a text.
MAX_SCORES, MAX_GROUPS, MAX_CHOICES = 30, 20, 7
# A message shows so many characters of a text.
MAX_TEXT = 40
# Of a column with many texts the ledger shows so many, and so many letters of each.
MAX_EXAMPLES, MAX_EXAMPLE = 2, 20
# A score of a panel, which has no bins, may have more whole numbers.
MAX_NAMED_SCORES = 1000
BINS = 5
# Grades of Inspect: correct, partly correct, incorrect, no answer.
GRADES = {"C": 0.0, "P": 0.5, "I": 1.0, "N": 1.0}
GRADE_ORDER = (
    "is that of Inspect's grades, in which C (correct) is no harm; where C says that the model did "
    "harm, turn the levels round"
)
ORDER = "is taken from the {}, least harm first: "
UNKNOWN_WORDS = "words of no known severity"
VARIES = "it varies within raters and items"
MANY = "are more than"
DECIMALS = "numbers with decimals that are named as no score"
# Layouts of programs that score from 0 to 1, and how such numbers are cut.
UNIT_LAYOUTS = ("promptfoo", "deepeval", "every-eval-ever")
UNIT_BINS = (0.2, 0.4, 0.6, 0.8)
# Decimals from 0 to 1 are cut in the same way where they span so much of it, else into 20 bins.
UNIT_SPAN = 0.5
NARROW_UNIT_BINS = tuple(round(0.05 * n, 2) for n in range(1, 20))
PERCENTAGE = re.compile(r"\d+([.,]\d+)?\s*%")
TRUE, FALSE = {"1", "true", "yes", "y"}, {"0", "false", "no", "n"}
FLAGS = ({"0", "1"}, {"true", "false"}, {"yes", "no"}, {"y", "n"})


@dataclass(frozen=True)
class InferredScale:
    """The scale of a column, with how its words were ordered; or the ``reason`` why it has none.

    ``codes`` are numbers that are not on the scale, because they seem to stand for missing scores.
    ``span`` is the range of the data over which numbers are cut into bins.
    """

    scale: Scale | None
    order: str = ""
    reason: str = ""
    codes: tuple[str, ...] = ()
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
    is_yes_no = is_flag(values) or _mixes_flags(texts)
    if is_yes_no and not is_ordered and (named or not is_number_by_name):
        return InferredScale({"kind": "boolean"})
    numbers = parse_numbers(texts)
    if numbers is None or is_ordered:
        return _infer_levels(values, named=named)
    numbers, codes = split_codes(texts)
    low, high = min(numbers), max(numbers)
    if not named and (reason := _name_measure(values.name)):
        return InferredScale(None, reason=f"{reason} by its name, not a score")
    step = find_step(numbers, STEPS if named else STEPS[:2])
    if step is None:
        return InferredScale(None, reason=DECIMALS)
    if not 0 < high - low < max_scores * step:
        reason = f"{low:g} to {high:g} {MANY} {max_scores} scores"
        if low == high:
            others = f" but {format_list(codes)}" if codes else ""
            reason = f"every value{others} is {low:g}, which does not show where the scale ends"
        return InferredScale(None, reason=reason)
    ends = {"min": _shorten(low), "max": _shorten(high)}
    scale = {"kind": "ordinal"} | ends | ({"step": step} if step < 1 else {})
    return InferredScale(scale, codes=codes)


def _name_measure(name: object) -> str:
    """Return what numbers are that are no scores by their name; empty where they may be scores."""
    if MEASURES & {*split_name(name)}:
        return "a measure"
    return "a number of repeats" if last_word(name) in REPEATS else ""


def _shorten(number: float) -> float:
    """Write a whole number without a point."""
    return int(number) if number.is_integer() else number


def _list_ordered(values: pd.Series) -> list[str]:
    """Return the words of an ordered type, unused ones too; none for numbers in their order."""
    if not isinstance(values.dtype, pd.CategoricalDtype) or not values.dtype.ordered:
        return []
    words = [text for text in map(str.strip, values.dtype.categories) if text]
    is_ascending = parse_numbers({*words}) is not None and words == sort_labels(words)
    return [] if is_ascending or len(words) == 1 else words


def _infer_levels(values: pd.Series, *, named: bool) -> InferredScale:
    """Return words as a scale: by their type, a list of severities, their numbers, or as they come.

    Words that no list of severities has are one only where they are named as the score.
    """
    ordered = _list_ordered(values)
    texts = [text for text in dict.fromkeys(str(value).strip() for value in values) if text]
    texts = ordered or texts
    texts = drop_lookalikes(texts)
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
    order = f"is not known: {listed} {BY_APPEARANCE}"
    if source:
        order = ORDER.format(source) + listed
    return InferredScale({"kind": "categorical", "levels": levels}, order)


def infer_grades(values: pd.Series) -> InferredScale | None:
    """Return the scale of Inspect's grades; no answer is a grade only where it occurs."""
    texts = list_texts(values)
    if not texts or not texts <= set(GRADES):
        return None
    if "N" not in texts:
        return InferredScale({"kind": "categorical", "levels": ["C", "P", "I"]}, GRADE_ORDER)
    values_of = {"levels": [*GRADES], "values": [*GRADES.values()]}
    return InferredScale({"kind": "categorical"} | values_of, GRADE_ORDER)


def infer_unit_scale(values: pd.Series) -> InferredScale | None:
    """Return the scale of scores from 0 to 1: yes and no, or five bins; None for other values."""
    numbers = parse_numbers(list_texts(values))
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
    """Return the scale of a panel's score; numbers with decimals are cut into bins.

    Decimals between 0 and 1 run from 0 to 1, and numbers that seem to be percentages from 0 to 100,
    wherever those in the data end.
    """
    inferred = infer_special_scale(values, layout)
    inferred = inferred or infer_scale(values, named=True, max_scores=MAX_NAMED_SCORES)
    scale = inferred.scale or {}
    if "step" in scale and scale["min"] >= 0 and scale["max"] <= 1:
        return replace(inferred, scale=scale | {"min": 0, "max": 1})
    texts = list_texts(values)
    if "min" in scale and is_percentage(split_codes(texts)[0]):
        return replace(inferred, scale=scale | {"min": 0, "max": 100})
    if inferred.reason != DECIMALS or len(texts) == 1:
        return inferred
    return _infer_unit_bins(texts) or infer_bins(values)


def _infer_unit_bins(texts: set[str]) -> InferredScale | None:
    """Return bins of numbers from 0 to 1, narrow ones where these span little; None for others."""
    numbers, codes = split_codes(texts)
    if min(numbers) < 0.0 or max(numbers) > 1.0:
        return None
    bins = UNIT_BINS if max(numbers) - min(numbers) >= UNIT_SPAN else NARROW_UNIT_BINS
    occupied = {sum(number >= limit for limit in bins) for number in numbers}
    return InferredScale({"bins": [*bins]}, codes=codes) if len(occupied) > 1 else None


def infer_bins(values: pd.Series) -> InferredScale:
    """Return the scale of a number that is cut into bins of one width over the range of the data.

    >>> infer_bins(pd.Series(["1.5", "11.5"])).scale
    {'bins': [3.5, 5.5, 7.5, 9.5]}
    """
    texts = list_texts(values)
    numbers = parse_numbers(texts)
    if numbers is not None and len(set(numbers)) == 1:
        problem = f"every score is {numbers[0]:g}; a scale needs two scores, and nothing differs"
        raise DataError.at(UNNAMED, problem, key=str(values.name))
    if not numbers:
        quoted = [repr(text[:MAX_TEXT]) for text in sorted(texts)]
        examples = format_list(quoted, limit=3) or "no value"
        message = f"found {examples}, must be numbers, or words such as yes and no"
        raise DataError.at(UNNAMED, message, key=str(values.name))
    numbers, codes = split_codes(texts)
    low, high = min(numbers), max(numbers)
    cuts = [float(f"{low + (high - low) * n / BINS:g}") for n in range(1, BINS)]
    return InferredScale({"bins": cuts}, codes=codes, span=f"from {low:g} to {high:g}")


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
    if scale.get("kind") == "boolean" and is_flag(values):
        levels = sorted(list_texts(values), key=lambda text: text.lower() not in TRUE)
    elif "min" in scale:
        levels = list_scores(scale)[::-1]
    else:
        return inferred
    order = "is taken from its name, by which a high score is good: the highest is the least harm"
    return InferredScale({"kind": "categorical", "levels": levels}, order, codes=inferred.codes)


def describe_values(values: pd.Series) -> str:
    """Return what a column holds: all values where they are few, else a range or examples."""
    texts = order_levels(list_texts(values)) or sort_labels([*list_texts(values)])
    empty = "" if all(str(value).strip() for value in values) else ", some empty"
    if len(texts) <= MAX_CHOICES:
        return (", ".join(texts) or "nothing") + empty * bool(texts)
    if parse_numbers({*texts}) is not None:
        return f"{len(texts)} numbers from {texts[0]} to {texts[-1]}{empty}"
    # Texts that begin alike are one example.
    examples = [*dict.fromkeys(text[:MAX_EXAMPLE].rstrip() for text in texts)][:MAX_EXAMPLES]
    others = len(texts) - len(examples)
    return f"{len(texts)} texts: {', '.join(examples)} and {others} more{empty}"


def explain_unused(values: pd.Series, reason: str) -> str:
    """Return why a column is not used, and what it holds."""
    content = describe_values(values)
    if len(pd.unique(values)) == 1 and content != "nothing":
        return f"{content} everywhere: says nothing"
    return f"{reason or 'not a role of the study'}: {content}"


def list_texts(values: pd.Series) -> set[str]:
    """Return the different texts of a column, without the empty one."""
    return {str(value).strip() for value in pd.unique(values)} - {""}


def is_number(values: pd.Series) -> bool:
    """Tell whether all values of a column that are not empty are numbers."""
    return parse_numbers(list_texts(values)) is not None


def is_flag(values: pd.Series) -> bool:
    """Tell whether a column holds yes and no only, both of them."""
    return {text.lower() for text in list_texts(values)} in FLAGS


def _mixes_flags(texts: set[str]) -> bool:
    """Tell whether texts are yes and no in several spellings: ``Yes``, ``y`` and ``no``."""
    words = {text.lower() for text in texts}
    return bool(words & TRUE) and bool(words & FALSE) and words <= TRUE | FALSE


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
        return VARIES
    count, max_groups = table[name].nunique(), min(MAX_GROUPS, table[key].nunique() - 1)
    if max_groups < 2:  # noqa: PLR2004 - a column of two rows
        return "every value is another word"
    if 1 < count <= max_groups:
        return ""
    return _count_words([*table[name].dropna().unique()], max_groups)


def _count_words(texts: list[str], max_words: int) -> str:
    """Why words are too few or too many for a scale or for groups."""
    if texts and all(PERCENTAGE.fullmatch(text) for text in texts):
        return f"percentages such as {texts[0]!r}; write the numbers without the percent sign"
    if not texts:
        return "every row is empty"
    if len(texts) == 1:
        return f"every value is {texts[0]!r}"
    return f"more than {max_words} different words"
