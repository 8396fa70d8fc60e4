"""Tables of text, which every reader returns: values as text, names and characters checked."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from sharpbayes.data.readers.bounds import CELL, COPIES, take_memory
from sharpbayes.errors import DataError, Diagnostic, did_you_mean, format_list, shorten
from sharpbayes.spec.dialect import Dialect

# A file with more columns is no table of ratings, and its names would flood every message.
MAX_COLUMNS = 10_000
MAX_SHOWN = 40
# A whole cell, so that names and texts with commas stay.
DECIMAL_COMMA = re.compile(r"^(\s*[+-]?\d+),(\d+\s*)$")
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
# Titles above the names of columns: at most so many in a row, in so many rows.
MAX_TITLES, MAX_TITLE_ROWS = 2, 20
# NUL, and halves of pairs of UTF-16: no file of UTF-8 text can hold them.
UNWRITABLE = re.compile("[\0\ud800-\udfff]")
NO_TEXT = "has a character that is no text (NUL or half a pair)"
# Characters of a text in a message.
MAX_TEXT = 60


def write_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Write every value as text: whole numbers without a point, missing values as empty text."""
    columns = {
        str(name): table[name].astype(object).map(_write_value).where(table[name].notna(), "")
        for name in table.columns
    }
    return pd.DataFrame(columns, dtype=str)


def _write_value(value: object) -> str:
    """Write one value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):  # texts, of programs that do not say so in Parquet
        return value.decode(errors="surrogateescape")  # what is no UTF-8 is refused later
    return str(value)


def apply_dialect(table: pd.DataFrame, dialect: Dialect) -> pd.DataFrame:
    """Write decimals with a point, and empty the cells that stand for a missing value."""
    if not dialect.missing and dialect.decimal == ".":
        return table

    def rewrite(text: str) -> str:
        if text.strip() in dialect.missing:
            return ""
        return DECIMAL_COMMA.sub(r"\1.\2", text) if dialect.decimal == "," else text

    return table.apply(_rewrite_texts, rewrite=rewrite)


def _rewrite_texts(column: pd.Series, rewrite: Callable[[str], str]) -> pd.Series:
    """Rewrite each different text of a column once."""
    codes, texts = pd.factorize(column)
    rewritten = pd.Series([rewrite(str(text)) for text in texts], dtype=object)
    of_text, categories = pd.factorize(rewritten)
    return pd.Series(pd.Categorical.from_codes(of_text[codes], categories), index=column.index)


def expand_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the text of each cell in place of categories."""
    for name in table.columns:
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            lengths = table[name].cat.categories.str.len().to_numpy(dtype=np.int64)
            counts = np.bincount(table[name].cat.codes, minlength=len(lengths))
            texts = CELL * len(table) + int((counts * lengths).sum()) * COPIES
            take_memory(texts, f"the texts of column {name!r}, once for each row,")
    return table.astype(str)


def drop_empty_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out rows without any text; the others keep their numbers."""
    empty = np.ones(len(table), dtype=bool)
    for name in table.columns:
        if not empty.any():
            return table
        empty &= (table[name] == "").to_numpy(dtype=bool)
    return table[~empty]


def join_tables(tables: Sequence[pd.DataFrame], path: Path, names: Sequence[str]) -> pd.DataFrame:
    """Join the rows of several files with the same columns; categories stay categories.

    Rows keep their numbers, after the name of their file where there are several.
    """
    first = tables[0]
    odd = sorted({str(name) for table in tables for name in set(table) ^ set(first)})
    if odd:
        raise DataError.at(path, f"columns that not all of the files have: {format_list(odd)}")
    if len(tables) == 1:
        return first
    joined, index = {}, pd.concat([table[[]] for table in tables], keys=names).index
    for name in first.columns:
        columns = [table[name] for table in tables]
        if all(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
            joined[name] = pd.Series(union_categoricals(columns))
        else:
            joined[name] = pd.concat([c.astype(object) for c in columns], ignore_index=True)
    return pd.DataFrame(joined).set_axis(index)


def find_header(names: Sequence[str], below: Iterable[tuple[int, Sequence[Any]]]) -> str:
    """Return where the names of columns seem to stand below titles; empty where they do not.

    ``names`` are the cells of the first row, ``below`` numbers and cells of rows that follow. A row
    of names has more of them than titles, each another text that is no number.

    >>> find_header(["Review", "", ""], [(2, ["", "", ""]), (3, ["model", "prompt", "harm"])])
    '; the names seem to stand in row 3: remove the rows above it'
    """
    has_title = sum(name != "" for name in names) <= MAX_TITLES
    for row, cells in below if has_title else ():
        texts = [str(cell).strip() for cell in cells if cell is not None and str(cell).strip()]
        is_named = len(texts) == len({*texts}) and not any(map(NUMBER.fullmatch, texts))
        if len(texts) > MAX_TITLES and is_named:
            return f"; the names seem to stand in row {row}: remove the rows above it"
    return ""


def refuse_names(names: Sequence[str], path: Path, *, hint: str = "") -> None:
    """Refuse columns that share a name, and more columns than a table of ratings has.

    One column may have none, such as the index that pandas writes. A ``hint`` says where the names
    of others may stand.
    """
    counts = Counter(names)
    unnamed, messages = counts.pop("", 0), []
    if repeated := sorted(name for name, n in counts.items() if n > 1):
        messages.append(f"repeated column names: {format_list(repeated, limit=MAX_SHOWN)}")
    if unnamed > 1:
        remedy = hint or "; name them, or remove them if empty"
        messages.append(f"{unnamed} columns without a name{remedy}")
    if len(names) > MAX_COLUMNS:
        messages = [f"{len(names)} columns, at most {MAX_COLUMNS} are read"]
    DataError.raise_any(Diagnostic(str(path), 1, "", message) for message in messages)


@contextmanager
def explain_texts(path: Path) -> Iterator[None]:
    """Refuse texts that pandas cannot hold: escapes of JSON can make half a pair of UTF-16."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise DataError.at(path, f"{shorten(error.object, MAX_TEXT)!r} {NO_TEXT}") from None


def refuse_texts(table: pd.DataFrame, path: Path) -> None:
    """Refuse characters that no results file can hold."""
    for name in table.columns:
        texts = table[name].cat.categories if hasattr(table[name], "cat") else table[name].unique()
        bad = next((text for text in [name, *texts] if UNWRITABLE.search(text)), None)
        if bad is not None:
            raise DataError.at(path, f"{bad!r} {NO_TEXT}", key=repr(name))


def require_columns(
    names: Sequence[str], columns: Iterable[tuple[str, str]], *, path: Path | str
) -> None:
    """Raise for every pair of a role and a column that is not among the names of a table."""
    known = format_list(names, limit=MAX_SHOWN)
    messages = [
        (name, f"no such column for {role}, the columns are {known}{did_you_mean(name, names)}")
        for role, name in columns
        if name not in names
    ]
    DataError.raise_any(Diagnostic(str(path), 0, name, message) for name, message in messages)
