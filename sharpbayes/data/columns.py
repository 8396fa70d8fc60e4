"""Columns of text -> labels, levels and flags; what cannot be placed is a fault with its rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.ratings import Factor
from sharpbayes.errors import Diagnostic, did_you_mean, format_list
from sharpbayes.spec.scales import BinnedScale, BooleanScale, CategoricalScale, OrdinalScale

Levels = NDArray[np.int16]
AnyScale = OrdinalScale | BooleanScale | CategoricalScale | BinnedScale

MISSING = -1
# Values that are copied at a time.
ROWS = 1 << 20
_FLAGS = {"false": 0, "no": 0, "0": 0, "0.0": 0, "true": 1, "yes": 1, "1": 1, "1.0": 1}


def factorize(values: pd.Series) -> tuple[NDArray[np.integer], list[str]]:
    """Return a code for each value and the text of each code.

    >>> factorize(pd.Series(["b", "a", "b"]))
    (array([0, 1, 0]), ['b', 'a'])
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, texts = values.cat.codes.to_numpy(), values.cat.categories
        used = np.zeros(len(texts), dtype=bool)
        for start in range(0, len(codes), ROWS):
            used[codes[start : start + ROWS]] = True
        if not used.all():
            codes = take_chunked(np.cumsum(used, dtype=codes.dtype) - 1, codes)
        return codes, [str(text) for text in texts[used]]
    codes, found = pd.factorize(values)
    return codes, [str(text) for text in found]


def make_factor(values: pd.Series, *, order: Sequence[str] | None = None) -> Factor:
    """Return labels and codes of a column; labels sorted, numbers by size, or in a given order."""
    codes, found = factorize(values)
    labels = sort_labels(found) if order is None else list(order)
    place = {label: position for position, label in enumerate(labels)}
    new = np.array([place[label] for label in found], dtype=np.int32)
    return Factor(tuple(labels), take_chunked(new, codes))


def take_chunked(values: NDArray[Any], at: NDArray[np.integer]) -> NDArray[Any]:
    """Return ``values[at]``, some at a time: NumPy copies positions of 32 bits as ones of 64.

    >>> take_chunked(np.array([5, 7]), np.array([1, 1, 0], np.int32)).tolist()
    [7, 7, 5]
    """
    found = np.empty(at.shape, values.dtype)
    for start in range(0, at.size, ROWS):
        rows = slice(start, start + ROWS)
        found[rows] = values[at[rows]]
    return found


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
    """Return the number that a text is, as a person writes one, or None.

    Python would also read digits parted by underscores and digits of other scripts; a number that
    is none ("nan") could not be sorted.

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
) -> tuple[Levels, list[Diagnostic]]:
    """Return the level of every value, -1 where the cell is empty, and what is off the scale."""
    codes, found = factorize(values)
    table = np.array([_level(value.strip(), scale) for value in found], dtype=np.int16)
    levels = (
        take_chunked(table, codes) if len(table) else np.full(len(values), MISSING, dtype=np.int16)
    )
    off = np.flatnonzero(levels < MISSING)
    if not off.size:
        return levels, []
    allowed = "a number" if isinstance(scale, BinnedScale) else ", ".join(scale.labels)
    first = str(values.iloc[off[0]])
    message = (
        f"{format_count(off.size, 'value')} off the scale (allowed: {allowed}): {rows(off)}; "
        f"the first is {first!r}"
    )
    if isinstance(scale, CategoricalScale):
        message += did_you_mean(first, scale.levels)
    return levels, [Diagnostic(path, 0, str(values.name), message)]


def parse_numbers(values: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return every value as a number, and the rows of those that are none.

    Times become seconds; empty cells are missing.

    >>> parse_numbers(pd.Series(["3", "", "x"]))
    (array([ 3., nan, nan]), array([2]))
    """
    codes, found = factorize(values)
    numbers, wrong = _numbers(pd.Series(found, dtype=str))
    return numbers[codes], np.flatnonzero(wrong[codes])


def _numbers(values: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Each text as a number or a time, and whether it is neither."""
    empty = values.str.strip() == ""
    numbers = pd.to_numeric(values.where(~empty), errors="coerce")
    if bool(numbers.isna().all()):
        times = pd.to_datetime(values.where(~empty), errors="coerce", utc=True, format="ISO8601")
        numbers = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    found = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return found, ~np.isfinite(found) & ~empty.to_numpy()


def parse_flags(values: pd.Series, *, path: str) -> tuple[Levels, list[Diagnostic]]:
    """Return 0 or 1 for no or yes in any of the allowed spellings, -1 where the cell is empty."""
    return parse_scores(values, BooleanScale(kind="boolean"), path=path)


def _level(value: str, scale: AnyScale) -> int:
    """Return the level of one value: -1 where it is empty, -2 where it is off the scale."""
    if not value:
        return MISSING
    if isinstance(scale, BooleanScale):
        return _FLAGS.get(value.lower(), MISSING - 1)
    if isinstance(scale, CategoricalScale):
        return scale.levels.index(value) if value in scale.levels else MISSING - 1
    number = parse_number(value)
    if number is None:
        return MISSING - 1
    if isinstance(scale, BinnedScale):
        finite = np.isfinite(number)
        return int(np.searchsorted(scale.bins, number, side="right")) if finite else MISSING - 1
    whole = number.is_integer() and scale.min <= number <= scale.max
    return int(number) - scale.min if whole else MISSING - 1


def find_duplicates(keys: pd.DataFrame, *, path: str, what: str) -> list[Diagnostic]:
    """Return a fault if some rows have the same keys."""
    repeated = np.flatnonzero(keys.duplicated())
    if not repeated.size:
        return []
    first = ", ".join(f"{name} {value!r}" for name, value in keys.iloc[repeated[0]].items())
    message = f"{format_count(repeated.size, 'row')} repeat {what}: {rows(repeated)}; the first is {first}"
    return [Diagnostic(path, 0, ", ".join(map(str, keys.columns)), message)]


def take_constant(
    values: pd.Series, owner: Factor, *, path: str, what: str
) -> tuple[NDArray[np.str_], list[Diagnostic]]:
    """Return the one value of a column for each level of its owner; several are a fault."""
    codes, found = factorize(values)
    lowest = np.full(len(owner.labels), len(found))
    highest = np.full(len(owner.labels), -1)
    np.minimum.at(lowest, owner.codes, codes)
    np.maximum.at(highest, owner.codes, codes)
    texts = np.array(found, dtype=np.str_)
    mixed = np.flatnonzero(lowest != highest)
    if not mixed.size:
        return texts[highest], []
    names = format_list([owner.labels[position] for position in mixed])
    message = f"{format_count(mixed.size, what)} with more than one value: {names}"
    return texts[highest], [Diagnostic(path, 0, str(values.name), message)]


def find_empty_keys(table: pd.DataFrame, columns: Sequence[str], *, path: str) -> list[Diagnostic]:
    """Return a fault for every key column that has empty cells."""
    faults = []
    for column in columns:
        codes, found = factorize(table[column])
        empty = np.flatnonzero(np.array([not text.strip() for text in found], dtype=bool)[codes])
        if empty.size:
            message = (
                f"{format_count(empty.size, 'empty cell')} where a label is needed: {rows(empty)}"
            )
            faults.append(Diagnostic(path, 0, column, message))
    return faults


def rows(positions: NDArray[np.intp]) -> str:
    """Name rows, counted from 1 below the header.

    >>> rows(np.array([0, 4]))
    'rows 1, 5'
    """
    return f"row{'s' if positions.size > 1 else ''} {format_list(positions + 1)}"


def format_count(number: int, what: str) -> str:
    """Return a number and what it counts.

    >>> format_count(1, "row"), format_count(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"
