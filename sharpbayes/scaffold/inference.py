"""What columns hold, guessed from their names and their values."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from math import isfinite

import pandas as pd

from sharpbayes.data.columns import sort_labels
from sharpbayes.errors import DataError, Diagnostic

# Names of columns by role, letters and digits only, the likeliest first.
NAMES = {
    "model": ("model", "modelid", "modelname", "llm", "system", "systemid", "assistant"),
    "prompt": (
        "prompt",
        "promptid",
        "item",
        "itemid",
        "question",
        "questionid",
        "task",
        "sampleid",
    ),
    "judge": ("judge", "judgeid", "judgemodel", "grader", "graderid", "rater", "scorer"),
    "item": ("item", "itemid", "prompt", "promptid", "image", "conversation", "textid", "id"),
    "rater": (
        "rater",
        "raterid",
        "annotator",
        "annotatorid",
        "worker",
        "workerid",
        "user",
        "userid",
        "participant",
        "participantid",
        "grader",
        "judge",
    ),
    "indicator": ("indicator", "metric", "criterion", "measure", "question", "aspect"),
    "score": ("score", "rating", "label", "level", "severity", "harm", "value", "answer"),
    "sample": ("sample", "chunk", "generation", "repeat", "repetition", "run", "epoch", "turn"),
    "category": ("category", "type", "kind", "topic", "violation", "subject"),
}
# More different values than this are a number to cut into bins, a name, or a text.
MOST_LEVELS, MOST_GROUPS, MOST_CHOICES = 30, 20, 7
BINS = 5
GRADES = "CPIN"
FLAGS = ({"0", "1"}, {"true", "false"}, {"yes", "no"})


def guess_roles(
    data: pd.DataFrame, wanted: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return columns by role: those given, then those whose names say so, each column once.

    >>> table = pd.DataFrame(columns=["Item ID", "worker_id", "Harm", "note"])
    >>> guess_roles(table, ["item", "rater", "score"], {})
    {'item': 'Item ID', 'rater': 'worker_id', 'score': 'Harm'}
    """
    plain = {re.sub("[^a-z0-9]", "", str(name).lower()): str(name) for name in data.columns}
    found = {role: given[role] for role in wanted if role in given}
    for role in (role for role in wanted if role not in found):
        names = (plain[name] for name in NAMES[role] if name in plain)
        column = next((name for name in names if name not in found.values()), None)
        if column is not None:
            found[role] = column
    return found


def infer_scale(values: pd.Series) -> str | None:
    """Return the scale of a column, or None where it is a number to cut, a name or a text.

    >>> infer_scale(pd.Series(["1", "", "4"])), infer_scale(pd.Series(["0", "1"]))
    ('{ kind = "ordinal", min = 1, max = 4 }', '{ kind = "boolean" }')
    """
    there = {str(value).strip() for value in values} - {""}
    if is_flag(values):
        return '{ kind = "boolean" }'
    numbers = _numbers(there)
    if numbers is None:
        if not 1 < len(there) <= MOST_CHOICES:
            return None
        levels = ", ".join(map(quoted, sort_labels([*there])))
        return f'{{ kind = "categorical", levels = [{levels}] }}'
    low, high = min(numbers), max(numbers)
    if not all(number.is_integer() for number in numbers) or not 0 < high - low < MOST_LEVELS:
        return None
    return f'{{ kind = "ordinal", min = {int(low)}, max = {int(high)} }}'


def infer_grades(values: pd.Series) -> str | None:
    """Return the scale of Inspect's grades: correct, partly, incorrect and, where used, no answer.

    >>> infer_grades(pd.Series(["C", "", "I"]))
    '{ kind = "categorical", levels = ["C", "P", "I"] }'
    """
    there = {str(value).strip() for value in values} - {""}
    if not there or not there <= set(GRADES):
        return None
    if "N" not in there:
        return '{ kind = "categorical", levels = ["C", "P", "I"] }'
    values_of = "[0.0, 0.5, 1.0, 1.0]"
    return f'{{ kind = "categorical", levels = ["C", "P", "I", "N"], values = {values_of} }}'


def count_categories(scale: str) -> int:
    """Return the number of levels of a scale as it is written.

    >>> count_categories('{ kind = "ordinal", min = 1, max = 5 }'), count_categories("{ bins = [20, 40] }")
    (5, 3)
    """
    written = tomllib.loads(f"scale = {scale}")["scale"]
    if "min" in written:
        return int(written["max"] - written["min"] + 1)
    return len(written["bins"]) + 1 if "bins" in written else len(written.get("levels", FLAGS[0]))


def infer_bins(values: pd.Series) -> str:
    """Return a number cut into bins of one width over the range of the data."""
    numbers = _numbers({str(value).strip() for value in values} - {""})
    if numbers is None or len(set(numbers)) < 2:  # noqa: PLR2004
        raise DataError([Diagnostic("init", 0, str(values.name), "its values are no scores")])
    low, high = min(numbers), max(numbers)
    cuts = [low + (high - low) * at / BINS for at in range(1, BINS)]
    text = ", ".join(f"{cut:g}" for cut in cuts)
    return f"{{ bins = [{text}] }}      # CHECK: bins of one width from {low:g} to {high:g}"


def _numbers(texts: set[str]) -> list[float] | None:
    """Texts as numbers, or None where one of them is no number."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if numbers and all(map(isfinite, numbers)) else None


def is_flag(values: pd.Series) -> bool:
    """Whether a column holds yes and no only, both of them."""
    there = {str(value).strip().lower() for value in values} - {""}
    return any(there == pair for pair in FLAGS)


def is_side(side: pd.DataFrame, key: str, data: pd.DataFrame) -> bool:
    """Whether a table has one row for every label of a column."""
    if key not in side.columns or side[key].duplicated().any():
        return False
    return set(data[key]) <= set(side[key])


def infer_groups(held: pd.DataFrame, key: str, used: Sequence[str]) -> list[str]:
    """Return columns of words that are constant over a key and have few, shared values."""
    names = [str(name) for name in held.columns if name not in used]
    most = min(MOST_GROUPS, held[key].nunique() - 1)
    few = [name for name in names if 1 < held[name].nunique() <= most]
    few = [name for name in few if _numbers(set(held[name]) - {""}) is None]
    return [name for name in few if is_constant(held, name, key)]


def is_constant(data: pd.DataFrame, column: str, key: str) -> bool:
    """Whether a column has one value for each value of a key."""
    return not data[[key, column]].drop_duplicates()[key].duplicated().any()


def quoted(text: str) -> str:
    """Return a text in quotes on one line, the same in TOML, JSON and a comment."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
