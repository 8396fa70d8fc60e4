"""Columns of text -> labels, scores and flags; a value without a meaning is named with its rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.ratings import Factor
from sharpbayes.errors import Diagnostic, did_you_mean, format_count, format_list
from sharpbayes.spec.scales import BinnedScale, BooleanScale, CategoricalScale, OrdinalScale

Scores = NDArray[np.int16]
AnyScale = OrdinalScale | BooleanScale | CategoricalScale | BinnedScale

MISSING, OFF_SCALE = -1, -2
# Values that are copied at a time.
ROWS = 1 << 20
_FLAGS = {"false": 0, "no": 0, "0": 0, "0.0": 0, "true": 1, "yes": 1, "1": 1, "1.0": 1}


def factorize(values: pd.Series) -> tuple[NDArray[np.integer], list[str]]:
    """Return a code for each value and the text of each code; every code is used."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, texts = values.cat.codes.to_numpy(), values.cat.categories
        used = np.zeros(len(texts), dtype=bool)
        for start in range(0, len(codes), ROWS):
            used[codes[start : start + ROWS]] = True
        if not used.all():
            codes = take_chunked(np.cumsum(used, dtype=codes.dtype) - 1, codes)
        return codes, [str(text) for text in texts[used]]
    codes, texts = pd.factorize(values)
    return codes, [str(text) for text in texts]


def make_factor(values: pd.Series, *, order: Sequence[str] | None = None) -> Factor:
    """Return labels and codes of a column; labels in the given order, else sorted."""
    codes, texts = factorize(values)
    labels = sort_labels(texts) if order is None else list(order)
    position = dict(zip(labels, range(len(labels)), strict=True))
    new = np.array([position[text] for text in texts], dtype=np.int32)
    return Factor(tuple(labels), take_chunked(new, codes))


def take_chunked(values: NDArray[Any], positions: NDArray[np.integer]) -> NDArray[Any]:
    """Return ``values[positions]`` in chunks: NumPy copies positions of 32 bits as ones of 64."""
    taken = np.empty(positions.shape, values.dtype)
    for start in range(0, positions.size, ROWS):
        rows = slice(start, start + ROWS)
        taken[rows] = values[positions[rows]]
    return taken


def sort_labels(labels: Sequence[str]) -> list[str]:
    """Sort labels, by size where all are numbers.

    >>> sort_labels(["10", "9", "2"]), sort_labels(["b", "a", "10"])
    (['2', '9', '10'], ['10', 'a', 'b'])
    """
    sizes = {label: parse_number(label) for label in labels}
    if any(size is None for size in sizes.values()):
        return sorted(labels)
    return sorted(labels, key=lambda label: (sizes[label], label))


def parse_number(text: str) -> float | None:
    """Return the number that a person means by a text, or None; Python would also read ``1_0``.

    >>> parse_number(" 3.0 "), parse_number("1_0"), parse_number("nan"), parse_number("inf")
    (3.0, None, None, inf)
    """
    try:
        number = float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return None
    return None if np.isnan(number) else number


def parse_scores(
    values: pd.Series, scale: AnyScale, *, path: str
) -> tuple[Scores, list[Diagnostic]]:
    """Return the position of every text on a scale, -1 where it is empty, and what is off it."""
    codes, texts = factorize(values)
    table = np.array([_find_score(text.strip(), scale) for text in texts], dtype=np.int16)
    scores = take_chunked(table, codes) if len(table) else np.full(len(values), MISSING, np.int16)
    off = np.flatnonzero(scores == OFF_SCALE)
    if not off.size:
        return scores, []
    allowed = "a number" if isinstance(scale, BinnedScale) else ", ".join(scale.labels)
    first = str(values.iloc[off[0]])
    count = f"{format_count(off.size, 'value')} off the scale (allowed: {allowed})"
    message = f"{count}: {format_rows(off)}; the first is {first!r}"
    if isinstance(scale, CategoricalScale):
        message += did_you_mean(first, scale.levels)
    return scores, [Diagnostic(path, 0, str(values.name), message)]


def _find_score(text: str, scale: AnyScale) -> int:
    """Return the position of one value on its scale."""
    if not text:
        return MISSING
    if isinstance(scale, BooleanScale):
        return _FLAGS.get(text.lower(), OFF_SCALE)
    if isinstance(scale, CategoricalScale):
        return scale.levels.index(text) if text in scale.levels else OFF_SCALE
    number = parse_number(text)
    if number is None:
        return OFF_SCALE
    if isinstance(scale, BinnedScale):
        finite = np.isfinite(number)
        return int(np.searchsorted(scale.bins, number, side="right")) if finite else OFF_SCALE
    on_scale = number.is_integer() and scale.min <= number <= scale.max
    return int(number) - scale.min if on_scale else OFF_SCALE


def parse_flags(values: pd.Series, *, path: str) -> tuple[Scores, list[Diagnostic]]:
    """Return 0 or 1 for no or yes in any of the allowed spellings, -1 where the cell is empty."""
    return parse_scores(values, BooleanScale(kind="boolean"), path=path)


def parse_times(values: pd.Series, *, path: str) -> tuple[NDArray[np.float64], list[Diagnostic]]:
    """Return every number, or date in seconds; an empty cell is missing, another is a problem."""
    codes, labels = factorize(values)
    texts = pd.Series(labels, dtype=str)
    empty = texts.str.strip() == ""
    numbers = pd.to_numeric(texts.where(~empty), errors="coerce")
    if bool(numbers.isna().all()):
        times = pd.to_datetime(texts.where(~empty), errors="coerce", utc=True, format="ISO8601")
        numbers = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    array = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero((~np.isfinite(array) & ~empty.to_numpy())[codes])
    if not wrong.size:
        return array[codes], []
    count = f"{format_count(wrong.size, 'value')} that are neither a number nor a time"
    message = f"{count}: {format_rows(wrong)}; the first is {values.iloc[wrong[0]]!r}"
    return array[codes], [Diagnostic(path, 0, str(values.name), message)]


def find_duplicates(keys: pd.DataFrame, *, path: str, what: str) -> list[Diagnostic]:
    """Return a problem if some rows have the same keys."""
    repeated = np.flatnonzero(keys.duplicated())
    if not repeated.size:
        return []
    first = ", ".join(f"{name} {value!r}" for name, value in keys.iloc[repeated[0]].items())
    count, numbers = format_count(repeated.size, "row"), format_rows(repeated)
    message = f"{count} repeat {what}: {numbers}; the first is {first}"
    return [Diagnostic(path, 0, ", ".join(map(str, keys.columns)), message)]


def find_empty_keys(table: pd.DataFrame, columns: Sequence[str], *, path: str) -> list[Diagnostic]:
    """Return a problem for every key column that has empty cells."""
    problems = []
    for column in columns:
        codes, texts = factorize(table[column])
        empty = np.flatnonzero(np.array([not text.strip() for text in texts], dtype=bool)[codes])
        if empty.size:
            count = format_count(empty.size, "empty cell")
            message = f"{count} where a label is needed: {format_rows(empty)}"
            problems.append(Diagnostic(path, 0, column, message))
    return problems


def find_absent(
    names: Iterable[str], labels: Sequence[str], *, path: str, column: str, what: str
) -> list[Diagnostic]:
    """Return a problem for each name that is not among the labels of a column."""
    known = format_list(labels)
    messages = [
        f"no {what} {name!r}, there are {known}{did_you_mean(name, labels)}"
        for name in names
        if name not in labels
    ]
    return [Diagnostic(path, 0, column, message) for message in messages]


def take_constant(
    values: pd.Series, owner: Factor, *, path: str, what: str
) -> tuple[NDArray[np.str_], list[Diagnostic]]:
    """Return the one value that a column has for each label of its owner; several are a problem."""
    codes, texts = factorize(values)
    lowest = np.full(len(owner.labels), len(texts))
    highest = np.full(len(owner.labels), -1)
    np.minimum.at(lowest, owner.codes, codes)
    np.maximum.at(highest, owner.codes, codes)
    constant = np.array(texts, dtype=np.str_)[highest]
    mixed = np.flatnonzero(lowest != highest)
    if not mixed.size:
        return constant, []
    names = format_list([owner.labels[position] for position in mixed])
    message = f"{format_count(mixed.size, what)} with more than one value: {names}"
    return constant, [Diagnostic(path, 0, str(values.name), message)]


def format_rows(positions: NDArray[np.integer]) -> str:
    """Name rows, counted from 1 below the header, such as ``rows 1, 5``."""
    return f"row{'s' if positions.size > 1 else ''} {format_list(positions + 1)}"
