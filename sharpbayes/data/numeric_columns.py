"""Numeric columns that a model names -> a number for each prompt, answer, item, rater or rating."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sharpbayes.data.cells import format_cells, format_rows, parse_number
from sharpbayes.data.columns import (
    ColumnParser,
    count_seconds,
    factorize,
    load_side_table,
    order_rows,
    take_chunked,
)
from sharpbayes.data.corrections import suggest_fix
from sharpbayes.data.covariates import Floats, UnitNumbers
from sharpbayes.data.ratings import Factor
from sharpbayes.data.readers.formats import read_columns
from sharpbayes.errors import did_you_mean, format_count
from sharpbayes.spec.roles import SideTable
from sharpbayes.spec.scales import BooleanScale

DAY = 86_400.0
NEEDED = "a [[slope]] of the model needs a number here: fill it in, leave the row out, or the slope"


def parse_numbers(values: pd.Series, parser: ColumnParser) -> Floats:
    """Return the number of every row, of dates and times in days since 1970.

    Cells that are empty or no number are problems of the parser.
    """
    codes, labels = factorize(values)
    texts = [text.strip() for text in labels]
    numbers = np.array([parse_number(text) for text in texts], dtype=float)
    empty = np.array([not text for text in texts], dtype=bool)
    if np.isnan(numbers).all() and not empty.all():
        dates = pd.Series(texts, dtype=str).where(~empty)
        numbers = count_seconds(dates).to_numpy(dtype=float, na_value=np.nan) / DAY
    wrong = np.flatnonzero((~np.isfinite(numbers) & ~empty)[codes])
    if wrong.size:
        bad = {texts[code] for code in np.unique(codes[wrong])}
        hint = suggest_fix(bad, BooleanScale(kind="boolean"), parser.dialect)
        count = f"{wrong.size} of {len(values)} cells are neither a number nor a date"
        cells = format_cells(values.iloc[wrong])
        parser.add_problem(values.name, f"{count}: {cells}; {NEEDED}{hint}")
    missing = np.flatnonzero(empty[codes])
    if missing.size:
        count = format_count(missing.size, "empty cell")
        rows = format_rows(values.index[missing])
        parser.add_problem(values.name, f"{count}: {rows}; {NEEDED}")
    return take_chunked(numbers, codes)


def read_numbers(
    names: Iterable[str],
    table: pd.DataFrame,
    factors: Mapping[str, Factor],
    units: Iterable[tuple[str, ...]],
    *,
    sides: Mapping[str, SideTable | None],
    parser: ColumnParser,
    base: Path,
    rows: NDArray[np.integer] | None = None,
) -> dict[str, UnitNumbers]:
    """Return the numbers of each named column, over the dimensions of their units.

    A column is taken from the first side table that has it, ``sides`` by their dimension, else from
    the main table. There its units are the first of ``units`` within which it is constant, else
    single ratings, in the order of ``rows``. ``factors`` have the position of each row of the main
    table.
    """
    numbers: dict[str, UnitNumbers] = {}
    names = [*names]
    if not names:
        return numbers
    files = {dim: side for dim, side in sides.items() if side is not None}
    columns = {dim: _list_columns(side, base) for dim, side in files.items()}
    for name in names:
        dim = next((dim for dim in files if name in columns[dim]), None)
        if dim is not None:
            numbers[name] = _read_side(name, files[dim], dim, factors[dim], base)
        elif name in table.columns:
            values = parse_numbers(table[name], parser)
            of_units = _find_units(values, factors, units)
            numbers[name] = of_units or UnitNumbers(("rating",), values[rows])
        else:
            known = [
                *map(str, table.columns),
                *(x for of_side in columns.values() for x in of_side),
            ]
            where = "".join(f" or in {side.data}" for side in files.values())
            where = f", which is not here{where}" * bool(where)
            message = f"a [[slope]] of the model names this column{where}, the columns are "
            parser.add_problem(name, message + ", ".join(known) + did_you_mean(name, known))
    parser.raise_problems()
    return numbers


def _list_columns(side: SideTable, base: Path) -> list[str]:
    """Columns of a side table."""
    return [*map(str, read_columns(base, side.data, side.layout, side.dialect))]


def _read_side(name: str, side: SideTable, dim: str, owner: Factor, base: Path) -> UnitNumbers:
    """Read a column of a side table in the order of the owner's labels."""
    table = load_side_table(side, base, ("slope", name))
    parser = ColumnParser(base / side.data, side.dialect)
    rows = order_rows(table[side.key], owner, base / side.data, unit=dim)
    values = parse_numbers(table[name].iloc[rows], parser)
    parser.raise_problems()
    return UnitNumbers((dim,), values)


def _find_units(
    values: Floats, factors: Mapping[str, Factor], units: Iterable[tuple[str, ...]]
) -> UnitNumbers | None:
    """Return numbers over the first dimensions within which they are constant, if any."""
    known = np.isfinite(values)
    for dims in units:
        shape = tuple(len(factors[dim].labels) for dim in dims)
        code = np.ravel_multi_index([factors[dim].codes for dim in dims], shape)
        numbers = np.full(int(np.prod(shape)), np.nan)
        numbers[code[known]] = values[known]
        if np.array_equal(numbers[code[known]], values[known]):
            return UnitNumbers(dims, numbers.reshape(shape))
    return None
