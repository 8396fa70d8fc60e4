"""Roles, scales and groups of columns, inferred from their names and their values."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import pandas as pd

from sharpbayes.data.columns import sort_labels
from sharpbayes.errors import DataError

Scale = dict[str, Any]

# Names of columns by role, letters and digits only, the likeliest first.
NAMES = {
    "model": "model modelid modelname llm system systemid assistant",
    "prompt": "prompt promptid item itemid question questionid task sampleid",
    "judge": "judge judgeid judgemodel grader graderid rater scorer",
    "item": "item itemid prompt promptid image conversation textid id",
    "rater": "rater raterid annotator annotatorid worker workerid user userid participant "
    "participantid grader judge",
    "indicator": "indicator metric criterion measure question aspect",
    "score": "score rating label level severity harm value answer",
    "sample": "sample chunk generation repeat repetition run epoch turn",
    "category": "category type kind topic violation subject",
}
# A column with more different values is a number to cut into bins, a name, or a text.
MAX_SCORES, MAX_GROUPS, MAX_CHOICES = 30, 20, 7
BINS = 5
# Grades of Inspect: correct, partly correct, incorrect, no answer.
GRADES = {"C": 0.0, "P": 0.5, "I": 1.0, "N": 1.0}
FLAGS = ({"0", "1"}, {"true", "false"}, {"yes", "no"})


def infer_roles(
    data: pd.DataFrame, wanted: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return columns by role: those given, then those with a usual name, each column once.

    >>> table = pd.DataFrame(columns=["Item ID", "worker_id", "Harm", "note"])
    >>> infer_roles(table, ["item", "rater", "score"], {})
    {'item': 'Item ID', 'rater': 'worker_id', 'score': 'Harm'}
    """
    plain = {re.sub("[^a-z0-9]", "", str(name).lower()): str(name) for name in data.columns}
    roles = {role: given[role] for role in wanted if role in given}
    for role in (role for role in wanted if role not in roles):
        names = (plain[name] for name in NAMES[role].split() if name in plain)
        column = next((name for name in names if name not in roles.values()), None)
        roles |= {role: column} if column is not None else {}
    return roles


def infer_scale(values: pd.Series) -> Scale | None:
    """Return the scale of a column, or None where it is a number to cut, a name or a text."""
    texts = list_texts(values)
    if is_flag(values):
        return {"kind": "boolean"}
    numbers = _parse_numbers(texts)
    if numbers is None:
        if not 1 < len(texts) <= MAX_CHOICES:
            return None
        return {"kind": "categorical", "levels": sort_labels([*texts])}
    low, high = min(numbers), max(numbers)
    if not all(number.is_integer() for number in numbers) or not 0 < high - low < MAX_SCORES:
        return None
    return {"kind": "ordinal", "min": int(low), "max": int(high)}


def infer_grades(values: pd.Series) -> Scale | None:
    """Return the scale of Inspect's grades; no answer is a grade only where it occurs."""
    texts = list_texts(values)
    if not texts or not texts <= set(GRADES):
        return None
    if "N" not in texts:
        return {"kind": "categorical", "levels": ["C", "P", "I"]}
    return {"kind": "categorical", "levels": [*GRADES], "values": [*GRADES.values()]}


def infer_bins(values: pd.Series) -> tuple[Scale, str]:
    """Return a number cut into bins of one width over the range of the data, and this range."""
    numbers = _parse_numbers(list_texts(values))
    if numbers is None or len(set(numbers)) < 2:  # noqa: PLR2004
        raise DataError.at("init", "its values are no scores", key=str(values.name))
    low, high = min(numbers), max(numbers)
    cuts = [low + (high - low) * n / BINS for n in range(1, BINS)]
    return {"bins": [float(f"{cut:g}") for cut in cuts]}, f"from {low:g} to {high:g}"


def count_scores(scale: Scale) -> int:
    """Return the number of scores of a scale."""
    if "bins" in scale:
        return len(scale["bins"]) + 1
    return scale["max"] - scale["min"] + 1 if "min" in scale else len(scale.get("levels", "01"))


def list_texts(values: pd.Series) -> set[str]:
    """Return the different texts of a column, without the empty one."""
    return {str(value).strip() for value in values} - {""}


def _parse_numbers(texts: set[str]) -> list[float] | None:
    """Return texts as numbers, or None where one of them is no number."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if numbers and all(map(isfinite, numbers)) else None


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


def infer_groups(table: pd.DataFrame, key: str, used: Sequence[str]) -> list[str]:
    """Return columns of words that are constant over a key and have few, shared values."""
    most = min(MAX_GROUPS, table[key].nunique() - 1)
    return [
        name
        for name in map(str, table.columns)
        if name not in used
        and 1 < table[name].nunique() <= most
        and _parse_numbers(set(table[name]) - {""}) is None
        and is_constant(table, name, key)
    ]
