"""Tables of a crowd with a column per rater or per item, recognised by their columns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from sharpbayes.data.crowd import RATER, SCALE, melt_raters
from sharpbayes.data.readers.bounds import CELL, take_memory
from sharpbayes.errors import format_list
from sharpbayes.scaffold import inference
from sharpbayes.scaffold.column_names import (
    GOOD,
    KNOWN,
    MEASURES,
    PEOPLE,
    TRUTHS,
    WORDS,
    infer_roles,
    last_word,
    split_name,
)
from sharpbayes.scaffold.lexicon import order_levels
from sharpbayes.scaffold.logs import LogTable

# Fewer columns may be two properties of an item.
MIN_RATERS = 3
# A number or a letter by which one of several raters is called, after a word of who scores.
MARKED = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(sorted({*WORDS['rater'], *PEOPLE}))})[\W_]*(\d+|[a-z])(?![^\W_])",
    re.IGNORECASE,
)
# What columns of scores are named after besides harm.
ASPECTS = {
    *("rate", "ratio", "share", "effect", "bias", "hate", "violence", "fraud", "risk", "clarity"),
    *("relevance", "coherence", "fluency", "completeness", "tone", "sycophancy", "privacy"),
}
# How the last of so many rows above the answers of a survey begins.
IMPORT_ID, MAX_QUESTIONS = '{"ImportId"', 5
# What was settled of an item, not scored by one rater.
SETTLED = {"truth", "unsafe", "final", "consensus", "reference", "batch", "overall", "adjudicated"}


def melt_wide(table: LogTable) -> LogTable:
    """Return a table of items as ratings if it seems to have a column per rater, else itself."""
    item = table.roles.get("item")
    raters = find_raters(table.data, item) if item is not None else []
    if not raters or item is None:
        return table
    assumption = f"each of these columns is taken as a rater: {format_list(raters)}"
    return replace(
        table,
        data=melt_raters(table.data, raters).reset_index(drop=True),
        layout="wide",
        roles={"item": item, "rater": RATER, "score": SCALE},
        raters=tuple(raters),
        assumptions=(*table.assumptions, assumption),
    )


def melt_items(table: LogTable, declared: Mapping[str, str]) -> LogTable:
    """Return a table of raters as ratings if it has numbered columns of items, else itself.

    Such a table is what programs of surveys write: a row for each rater, and a column for each
    question. Rows of texts above the answers, as Qualtrics writes them, are left out.
    """
    data = _drop_questions(table.data)
    roles = infer_roles(data, ("rater",), declared)
    if infer_roles(data, ("item", "score"), declared) or "rater" not in roles:
        return table
    items = _find_numbered([str(name) for name in data.columns if name != roles["rater"]])
    others = [name for name in data.columns if name not in items]
    is_survey = len(items) >= MIN_RATERS and data[roles["rater"]].is_unique
    if not is_survey or {"item", SCALE} & {*others} or not _share_scale(data, items, named=False):
        return table
    take_memory(CELL * len(data) * len(items) * (len(others) + 2), "its ratings, a row for each")
    assumption = "each of these columns is taken as an item, and turned into rows: {}"
    return replace(
        table,
        data=data.melt(others, items, "item", SCALE).reset_index(drop=True),
        assumptions=(*table.assumptions, assumption.format(format_list(items))),
        is_rewritten=True,
    )


def _drop_questions(data: pd.DataFrame) -> pd.DataFrame:
    """Leave out the rows down to that of ids, which Qualtrics writes above the answers."""
    rows = data.head(MAX_QUESTIONS).to_numpy()
    is_id = [any(str(cell).startswith(IMPORT_ID) for cell in row) for row in rows]
    return data[is_id.index(True) + 1 :] if any(is_id) else data


def find_raters(data: pd.DataFrame, item: str) -> list[str]:
    """Return the columns that each have the scores of one rater; empty if there are none.

    >>> table = pd.DataFrame({"item": ["a", "b"], "topic": ["x", "y"], "r1": [0, 2], "r2": [1, 1]})
    >>> find_raters(table.assign(r3=[2, 0]).astype(str), "item")
    ['r1', 'r2', 'r3']
    """
    if data[item].duplicated().any():
        return []
    names = [str(name) for name in data.columns if name != item]
    numbers = [name for name in names if inference.is_number(data[name])]
    words = [name for name in names if order_levels(inference.list_texts(data[name]))]
    candidates = max(numbers, words, key=len)
    raters = _find_marked(candidates) or _find_numbered(candidates)
    raters = raters or [name for name in candidates if not _is_property(name)]
    if len(raters) < MIN_RATERS and not all(last_word(name) in WORDS["rater"] for name in raters):
        return []
    return raters if raters and _share_scale(data, raters, named=True) else []


def _share_scale(data: pd.DataFrame, names: Sequence[str], *, named: bool) -> bool:
    """Tell whether columns have scores of one scale; words of no known order where ``named``."""
    scores = pd.concat([data[name] for name in names]).rename(SCALE)
    return inference.infer_scale(scores, named=named).scale is not None


def _find_numbered(names: Sequence[str]) -> list[str]:
    """Return the largest group of names that differ in a number at their end alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if match := re.fullmatch(r"(.*?)[\W_]*\d+\W*", name):
            groups.setdefault(match[1], []).append(name)
    numbered = max(groups.values(), key=len, default=[])
    return numbered if len(numbered) > 1 else []


def _find_marked(names: Sequence[str]) -> list[str]:
    """Return the largest group of names that differ in what follows a word of who scores alone.

    >>> _find_marked(["Rater A - harmful?", "Rater B - harmful?", "rater_age", "score_1"])
    ['Rater A - harmful?', 'Rater B - harmful?']
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        if match := MARKED.search(name):
            groups.setdefault((name[: match.start(1)], name[match.end(1) :]), []).append(name)
    marked = max(groups.values(), key=len, default=[])
    return marked if len(marked) > 1 else []


def _is_property(name: str) -> bool:
    """Tell whether a name is no person's: a measure's, a role's, a truth's, or what is scored."""
    return bool({*split_name(name)} & (MEASURES | KNOWN | GOOD | ASPECTS | TRUTHS | SETTLED))


def list_properties(data: pd.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """Return the columns that have one value for each item, or for each rater: none is a score.

    Items of one rating and raters of one item tell nothing.

    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "rater": [1, 2, 1, 2], "harm": [0, 1, 2, 2],
    ...                       "severity_label": [0, 0, 3, 3]})
    >>> list_properties(table, {"item": "item", "rater": "rater", "score": "severity_label"})
    ['severity_label']
    """
    keys = [roles[role] for role in ("item", "rater") if role in roles]
    keys = [key for key in keys if data[key].duplicated().any()]
    names = [str(name) for name in data.columns if name not in keys]
    return [name for name in names if _is_constant(data, name, keys)]


def _is_constant(data: pd.DataFrame, name: str, keys: Iterable[str]) -> bool:
    """Tell whether a column has one value for each value of one of the keys."""
    return any(inference.is_constant(data, name, key) for key in keys)


def find_only_score(data: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Return the only column that can be a score where none is named as one; empty without it.

    It has a scale, and differs between the raters of an item and between the items of a rater.

    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "rater": [1, 2, 1, 2], "age": [20, 30, 20, 30],
    ...                       "Q_overall": [0, 1, 2, 2]})
    >>> find_only_score(table, {"item": "item", "rater": "rater"})
    'Q_overall'
    """
    if "score" in roles or not {"item", "rater"} <= {*roles}:
        return ""
    free = [str(name) for name in data.columns if name not in roles.values()]
    free = [name for name in free if not MEASURES & {*split_name(name)}]
    scores = [
        name
        for name in free
        if not _is_constant(data, name, (roles["item"], roles["rater"]))
        and inference.infer_scale(data[name], named=True).scale is not None
    ]
    return scores[0] if len(scores) == 1 else ""
