"""Columns of text -> labels, scores and flags; a value without a meaning is named with its rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.cells import describe_mixture, format_cells, format_rows, parse_number
from sharpbayes.data.corrections import describe_scale, suggest_fix
from sharpbayes.data.lookalikes import fold_text
from sharpbayes.data.ratings import Factor, Scores
from sharpbayes.data.readers.bounds import refuse_excess
from sharpbayes.data.readers.formats import PLAIN, read_table
from sharpbayes.data.readers.prompt_text import clip_text
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_count, format_list
from sharpbayes.spec.dialect import DataFile, Dialect
from sharpbayes.spec.roles import SideTable
from sharpbayes.spec.scales import (
    BinnedScale,
    BooleanScale,
    CategoricalScale,
    Scale,
)

Texts = NDArray[np.str_]

MISSING, OFF_SCALE = -1, -2
# Values that are copied at a time.
ROWS = 1 << 20
CHARACTER_BYTES = 4
# So many names that are not there are compared with those that are.
MAX_HINTS = 20
_FLAGS = {"false": 0, "no": 0, "0": 0, "0.0": 0, "true": 1, "yes": 1, "1": 1, "1.0": 1}
_FLAGS |= {"n": 0, "y": 1, "safe": 0, "unsafe": 1}


def factorize(values: pd.Series) -> tuple[NDArray[np.integer], list[str]]:
    """Return a code for each value and the text of each code; every code is used."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes, texts = values.cat.codes.to_numpy(), values.cat.categories
        used = np.zeros(len(texts), dtype=bool)
        used[pd.unique(codes)] = True
        if not used.all():
            codes = take_chunked(np.cumsum(used, dtype=codes.dtype) - 1, codes)
        return codes, [str(text) for text in texts[used]]
    codes, texts = pd.factorize(values)
    return codes, [str(text) for text in texts]


def make_factor(values: pd.Series) -> Factor:
    """Return the sorted labels of a column and their codes."""
    codes, texts = factorize(values)
    labels = sort_labels(texts)
    position = {label: position for position, label in enumerate(labels)}
    new = np.array([position[text] for text in texts], dtype=np.int32)
    return Factor(tuple(labels), take_chunked(new, codes))


def take_chunked(values: NDArray[Any], positions: NDArray[np.integer]) -> NDArray[Any]:
    """Return ``values[positions]`` in chunks: NumPy copies positions of 32 bits as ones of 64."""
    result = np.empty(positions.shape, values.dtype)
    for start in range(0, positions.size, ROWS):
        rows = slice(start, start + ROWS)
        result[rows] = values[positions[rows]]
    return result


def sort_labels(labels: Sequence[str]) -> list[str]:
    """Sort labels, by size where all are numbers.

    >>> sort_labels(["10", "9", "2"]), sort_labels(["b", "a", "10"])
    (['2', '9', '10'], ['10', 'a', 'b'])
    """
    sizes = {label: parse_number(label) for label in labels}
    if any(size is None for size in sizes.values()):
        return sorted(labels)
    return sorted(labels, key=lambda label: (sizes[label], label))


@dataclass(frozen=True)
class ColumnParser:
    """Parses columns of one table, and collects what is wrong so that one error lists all of it.

    The index of a table has the numbers of its rows in the file. ``dialect`` is that of the file.
    """

    path: Path
    dialect: Dialect = PLAIN
    problems: list[Diagnostic] = field(default_factory=list)

    def add_problem(self, column: object, message: str) -> None:
        """Add a problem of a column."""
        self.problems.append(Diagnostic(str(self.path), 0, str(column), message))

    def raise_problems(self) -> None:
        """Raise DataError if there are any problems."""
        DataError.raise_any(self.problems)

    def parse_scores(self, values: pd.Series, scale: Scale) -> Scores:
        """Return the position of every text on a scale, -1 where it is empty."""
        codes, texts = factorize(values)
        table = np.array([_find_score(text.strip(), scale) for text in texts], dtype=np.int16)
        scores = take_chunked(table, codes)
        off = np.flatnonzero(scores == OFF_SCALE)
        if off.size:
            message = f"off the scale ({describe_scale(scale)}): {format_cells(values.iloc[off])}"
            bad = {texts[code].strip() for code in np.unique(codes[off])}
            hint = suggest_fix(bad, scale, self.dialect)
            self.add_problem(values.name, f"{off.size} of {len(values)} cells {message}{hint}")
        return scores

    def parse_flags(self, values: pd.Series) -> Scores:
        """Return 0 or 1 for no or yes in any of the allowed spellings, -1 where empty."""
        return self.parse_scores(values, BooleanScale(kind="boolean"))

    def parse_labels(self, values: pd.Series, unsafe: Sequence[str] | None) -> Scores:
        """Return 1 for a label that means unsafe, 0 for another, -1 where empty.

        Without labels that mean ``unsafe`` all are flags.
        """
        if unsafe is None:
            return self.parse_flags(values)
        codes, texts = factorize(values)
        labels = [text.strip() for text in texts]
        places = [_find_level(label, unsafe) if label else MISSING for label in labels]
        absent = [label for place, label in enumerate(unsafe) if place not in places]
        known = sort_labels([label for label in labels if label])
        self.check_names(absent, known, column=str(values.name), kind="label")
        flag_of = {OFF_SCALE: 0, MISSING: MISSING}
        table = np.array([flag_of.get(place, 1) for place in places], dtype=np.int16)
        return take_chunked(table, codes)

    def parse_times(self, values: pd.Series) -> NDArray[np.float64]:
        """Return every number, or date in seconds; NaN where the cell is empty."""
        codes, labels = factorize(values)
        texts = pd.Series(labels, dtype=str)
        empty = texts.str.strip() == ""
        numbers = pd.to_numeric(texts.where(~empty), errors="coerce")
        if bool(numbers.isna().all()):
            numbers = count_seconds(texts.where(~empty))
        array = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero((~np.isfinite(array) & ~empty.to_numpy())[codes])
        if wrong.size:
            cells = format_cells(values.iloc[wrong])
            message = f"{wrong.size} of {len(values)} cells neither a number nor a time: {cells}"
            self.add_problem(values.name, message)
        return take_chunked(array, codes)

    def take_constant(self, values: pd.Series, owner: Factor, *, unit: str) -> Texts:
        """Return the one value that a column has for each label of its owner."""
        codes, texts = factorize(values)
        lowest = np.full(len(owner.labels), len(texts))
        highest = np.full(len(owner.labels), -1)
        np.minimum.at(lowest, owner.codes, codes)
        np.maximum.at(highest, owner.codes, codes)
        mixed = np.flatnonzero(lowest != highest)
        if mixed.size:
            labels = format_list([owner.labels[position] for position in mixed])
            cells = describe_mixture(values[owner.codes == mixed[0]])
            message = f"{format_count(mixed.size, unit)} with more than one value: {labels}"
            first = f"{owner.labels[mixed[0]]} has " if mixed.size > 1 else ""
            self.add_problem(values.name, f"{message}; {first}{cells}")
        self.check_lengths(texts, len(owner.labels), column=str(values.name))
        return take_chunked(np.array(texts, dtype=np.str_), highest)

    def check_duplicates(
        self, keys: pd.DataFrame, *, record: str, suggest: Callable[[], str] = str
    ) -> None:
        """Check that no two rows have the same keys; ``suggest`` says what a study may write."""
        repeated = np.flatnonzero(keys.duplicated())
        if repeated.size:
            first = ", ".join(f"{name} {value!r}" for name, value in keys.iloc[repeated[0]].items())
            verb = "repeats" if repeated.size == 1 else "repeat"
            count = f"{format_count(repeated.size, 'row')} {verb} {record}"
            message = f"{count}: {format_rows(keys.index[repeated])}; the first is {first}"
            self.add_problem(", ".join(map(str, keys.columns)), message + suggest())

    def check_filled(self, table: pd.DataFrame, columns: Iterable[str]) -> None:
        """Check that no cell of some columns is empty."""
        for column in columns:
            codes, texts = factorize(table[column])
            blank = np.array([not text.strip() for text in texts], dtype=bool)
            empty = np.flatnonzero(blank[codes])
            if empty.size:
                count = format_count(empty.size, "empty cell")
                rows = format_rows(table.index[empty])
                self.add_problem(column, f"{count} where a label is needed: {rows}")
            self.check_lengths(texts, len(texts), column=column)

    def check_lengths(self, texts: Sequence[str], count: int, *, column: str) -> None:
        """Check that labels fit into memory: in an array each takes as much as the longest."""
        longest = max(map(len, texts), default=0)
        description = f"column {column!r}: {count:,} labels, the longest of {longest:,} characters,"
        refuse_excess(self.path, CHARACTER_BYTES * longest * count, description)

    def check_names(
        self, names: Iterable[str], labels: Sequence[str], *, column: str, kind: str
    ) -> None:
        """Check that names are among the labels of a column."""
        known = {*labels}
        absent = [name for name in names if name not in known]
        for number, name in enumerate(absent):
            near = did_you_mean(name, labels) if number < MAX_HINTS else ""
            hint = f"there are {format_list(labels)}{near}"
            self.add_problem(column, f"no {kind} {name!r}, {hint}")


def _find_score(text: str, scale: Scale) -> int:
    """Return the position of one value on its scale."""
    if not text:
        return MISSING
    if isinstance(scale, BooleanScale):
        return _FLAGS.get(text.lower(), OFF_SCALE)
    if isinstance(scale, CategoricalScale):
        return _find_level(text, scale.levels)
    number = parse_number(text)
    if number is None:
        return OFF_SCALE
    if isinstance(scale, BinnedScale):
        finite = np.isfinite(number)
        return int(np.searchsorted(scale.bins, number, side="right")) if finite else OFF_SCALE
    position = scale.find(number)
    return OFF_SCALE if position is None else position


def _find_level(text: str, levels: Sequence[str]) -> int:
    """Return the position of a word; one that differs only in what the eye does not see counts."""
    if text in levels:
        return levels.index(text)
    alike = [
        position for position, level in enumerate(levels) if fold_text(level) == fold_text(text)
    ]
    return alike[0] if len(alike) == 1 else OFF_SCALE


def rename_labels(table: pd.DataFrame, file: DataFile, path: Path) -> pd.DataFrame:
    """Return a table with the labels that a study renames; ``path`` is that of its file."""
    parser = ColumnParser(path, file.dialect)
    renamed: dict[str, pd.Series] = {}
    for column, labels in file.rename.items():
        if column not in table.columns:
            names = [str(name) for name in table.columns]
            known = f"the columns are {format_list(names)}{did_you_mean(column, names)}"
            parser.add_problem(column, f"no such column to rename labels of, {known}")
            continue
        codes, texts = factorize(table[column])
        parser.check_names(labels, texts, column=column, kind="label to rename,")
        merged, categories = factorize(pd.Series([labels.get(t, t) for t in texts], dtype=object))
        values = pd.Categorical.from_codes(merged[codes], dtype=pd.CategoricalDtype(categories))
        renamed[column] = pd.Series(values, index=table.index)
    parser.raise_problems()
    return table.assign(**renamed)


def join_columns(
    names: list[str],
    *,
    owner: Factor,
    table: pd.DataFrame,
    side: SideTable | None,
    base: Path,
    parser: ColumnParser,
    unit: str,
) -> dict[str, Texts]:
    """Return the value of each named column for every label of its owner.

    A column is taken from the side table if it is there, else from the main table, where it must
    be constant over the owner, such as the items. ``parser`` is that of the main table; messages
    call a label of the owner ``unit``.
    """
    of_side, side_names = (
        ({}, []) if side is None else _read_side_table(side, owner, base, unit, names)
    )
    known = [*dict.fromkeys([*map(str, table.columns), *side_names])]
    values: dict[str, Texts] = {}
    for name in names:
        if name in of_side:
            values[name] = of_side[name]
        elif name in table.columns:
            values[name] = parser.take_constant(table[name], owner, unit=unit)
        else:
            where = f" here or in {side.data}" if side is not None else ""
            message = f"no such column of {unit}s{where}, the columns are {', '.join(known)}"
            parser.add_problem(name, message + did_you_mean(name, known))
    parser.raise_problems()
    return values


def name_clusters(values: Texts, labels: Sequence[str]) -> Texts:
    """Return the cluster of each unit; a unit without a value is one of its own, by its label.

    >>> name_clusters(np.array(["s", "s", ""]), ["a", "b", "c"]).tolist()
    ['s', 's', 'c']
    """
    return np.where(values == "", np.array(labels, dtype=np.str_), values)


def join_texts(name: str | None, *, owner: Factor, table: pd.DataFrame, **source: Any) -> Texts:
    """Return the shortened text of every label of its owner; empty where the study names no column.

    ``source`` is what :func:`join_columns` takes.
    """
    if name is None:
        return np.empty(0, np.str_)
    if name in table.columns:
        table = table.assign(**{name: table[name].astype(str).map(clip_text)})
    texts = join_columns([name], owner=owner, table=table, **source)[name]
    return np.array([clip_text(text) for text in texts], np.str_)


def count_seconds(dates: pd.Series) -> pd.Series:
    """Return dates and times in seconds since 1970; missing where a text is none."""
    times = pd.to_datetime(dates, errors="coerce", utc=True, format="ISO8601")
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()


def _read_side_table(
    side: SideTable, owner: Factor, base: Path, unit: str, wanted: Sequence[str]
) -> tuple[dict[str, Texts], list[str]]:
    """Read some columns of a side table, rows in the order of the owner's labels, and all names."""
    table = load_side_table(side, base)
    rows = order_rows(table[side.key], owner, base / side.data, unit=unit)
    names = [str(name) for name in table.columns]
    return {n: take_texts(table[n], rows, base / side.data) for n in names if n in wanted}, names


def order_rows(keys: pd.Series, owner: Factor, path: Path, *, unit: str) -> NDArray[np.intp]:
    """Return the rows of a side table in the order of the owner's labels.

    DataError where a label has none.
    """
    rows: NDArray[np.intp] = pd.Index(keys).get_indexer(list(owner.labels))
    absent = [label for label, row in zip(owner.labels, rows, strict=True) if row < 0]
    if absent:
        message = f"{format_count(len(absent), unit)} without a row here: {format_list(absent)}"
        raise DataError.at(path, message, key=str(keys.name))
    return rows


def load_side_table(side: SideTable, base: Path, *roles: tuple[str, str]) -> pd.DataFrame:
    """Read a side table and check that each key has one row; ``roles`` are further columns."""
    columns = [("key", side.key), *roles]
    table = read_table(base, side.data, side.layout, dialect=side.dialect, roles=columns)
    table = rename_labels(table, side, base / side.data)
    parser = ColumnParser(base / side.data, side.dialect)
    parser.check_duplicates(table[[side.key]], record="a key")
    parser.raise_problems()
    return table


def check_side_tables(
    sides: Iterable[SideTable | None], base: Path, problems: list[Diagnostic]
) -> None:
    """Add to a list what is wrong with side tables by themselves, whatever they are joined to."""
    for side in sides:
        if side is not None:
            with DataError.collect(problems):
                load_side_table(side, base)


def take_texts(values: pd.Series, rows: NDArray[np.integer], path: Path) -> Texts:
    """Return some cells of a column as an array, each as wide as the longest."""
    longest = int(values.astype(str).str.len().max())
    description = (
        f"column {values.name!r}: {len(rows):,} texts, the longest of {longest:,} characters,"
    )
    refuse_excess(path, CHARACTER_BYTES * longest * len(rows), description)
    return values.iloc[rows].to_numpy(dtype=np.str_)
