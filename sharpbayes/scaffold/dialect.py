"""Plain tables with the dialect that they seem to have, and what is assumed by it."""

import re
from math import isinf
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.data.cells import format_cells, parse_number
from sharpbayes.data.corrections import MISSING_TEXTS, find_missing_texts
from sharpbayes.data.readers.dialects import guess_dialect
from sharpbayes.data.readers.formats import (
    DIALECT_KEYS,
    TEXT_ENDINGS,
    list_sheets,
    read_table,
)
from sharpbayes.data.readers.paths import find_files
from sharpbayes.data.readers.text_table import DECIMAL_COMMA, apply_dialect
from sharpbayes.errors import format_list
from sharpbayes.scaffold.column_names import is_named_score
from sharpbayes.scaffold.inference import is_flag
from sharpbayes.scaffold.lexicon import order_levels
from sharpbayes.spec.dialect import Dialect

# A table, its dialect, and what is assumed by it.
Reading = tuple[pd.DataFrame, Dialect, list[str]]
# `1,234` may be a thousand and more.
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3},\d{3}\s*")
# A score of numbers may have so few other texts, in so few of its cells.
MAX_ODD_TEXTS, MAX_ODD_SHARE = 5, 0.1
# What people say who do not answer; a step of a scale where the scale has it.
NO_ANSWERS = {
    *("dont know", "do not know", "i dont know", "i do not know", "not sure", "unsure", "unknown"),
    *("prefer not to answer", "prefer not to say", "cannot say", "cant say", "cannot tell"),
    *("cant tell", "no opinion", "other", "unclear", "does not apply", "doesnt apply"),
}


def read_with_dialect(path: Path, *, sheet: str = "") -> Reading:
    """Read a plain table; return it with its dialect and with what is assumed by it, in words.

    Of a workbook it is the named ``sheet``, else the first one.
    """
    file = find_files(path.parent, path.name)[0]
    ending, assumed = file.suffix.lower(), list[str]()
    dialect = guess_dialect(file) if ending in TEXT_ENDINGS else Dialect()
    if len(names := list_sheets(file)) > 1:
        dialect = Dialect(sheet=sheet or names[0])
        others = format_list(repr(name) for name in names if name != dialect.sheet)
        assumed.append(f"the sheet is {dialect.sheet!r}; there is also {others}")
    table = read_table(path.parent, path.name, dialect=dialect)
    if dialect.delimiter:
        assumed.append(f"cells are separated by {dialect.delimiter!r}")
    if dialect.encoding:
        text = _find_foreign(table)
        shown = f", such as {text!r}" if text else ""
        assumed.append(f"the text is read as {dialect.encoding}{shown}")
    comma = _find_decimal_comma(table, dialect) if ending in DIALECT_KEYS else None
    if comma:
        dialect = dialect.model_copy(update={"decimal": ","})
        assumed.append(f"{comma!r} is read as {comma.replace(',', '.')}")
        table = apply_dialect(table, dialect)
    missing = _find_missing(table)
    if missing:
        texts = tuple(dict.fromkeys(str(text) for cells in missing.values() for text in cells))
        dialect = dialect.model_copy(update={"missing": texts})
        where = (f'"{name}", {format_cells(cells)}' for name, cells in missing.items())
        read = format_list(map(repr, texts))
        assumed.append(f"{read} is read as an empty cell in every column: {'; '.join(where)}")
        table = apply_dialect(table, dialect)
    return table.astype(str), dialect, assumed


def _find_foreign(table: pd.DataFrame) -> str:
    """Return the first text of a table that is not ASCII; a wrong encoding shows in it."""
    texts = (str(text) for name in table.columns for text in [name, *pd.unique(table[name])])
    return next((text[:40] for text in texts if not text.isascii()), "")


def _find_decimal_comma(table: pd.DataFrame, dialect: Dialect) -> str | None:
    """Return a number with a decimal comma, from a column that has numbers only."""
    for name in table.columns:
        texts = [text.strip() for text in map(str, pd.unique(table[name]))]
        numbers = [text for text in texts if text and text not in MISSING_TEXTS]
        commas = [text for text in numbers if DECIMAL_COMMA.match(text)]
        plain = all(DECIMAL_COMMA.match(text) or text.lstrip("+-").isdigit() for text in numbers)
        decimal = [text for text in commas if not THOUSANDS.fullmatch(text)]
        if plain and (decimal or (commas and dialect.delimiter == ";")):
            return [*decimal, *commas][0]
    return None


def _find_missing(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return, of each column of scores, the cells whose text stands for an empty one."""
    missing = {}
    for name in map(str, table.columns):
        codes, unique = pd.factorize(table[name])
        texts = [str(text).strip() for text in unique]
        odd = _list_odd(texts, np.bincount(codes, minlength=len(texts)).tolist(), name)
        cells = np.isin(codes, [code for code, text in enumerate(texts) if text in odd])
        if odd:
            missing[name] = table[name][cells].str.strip()
    return missing


def _list_odd(texts: list[str], counts: list[int], name: str) -> set[str]:
    """Return the texts of a column that stand for an empty cell among numbers or ordered words."""
    is_score = is_named_score(name)
    values = {text: parse_number(text) for text in texts if text}
    infinite = {text for text, value in values.items() if value is not None and isinf(value)}
    others = {text for text, value in values.items() if value is None} | infinite
    markers = find_missing_texts(others) | infinite
    number = sum(n for text, n in zip(texts, counts, strict=True) if text and text not in others)
    odd = sum(n for text, n in zip(texts, counts, strict=True) if text in others)
    if number and (others == markers or not is_score):
        return markers if others == markers else set()
    if number:
        is_rare = len(others) <= MAX_ODD_TEXTS and odd <= MAX_ODD_SHARE * (number + odd)
        return others if is_rare else set()
    return _list_odd_words(others, markers, is_score=is_score)


def _list_odd_words(texts: set[str], markers: set[str], *, is_score: bool) -> set[str]:
    """Return the words that stand for an empty cell among those of a scale.

    A marker that is a step of the scale of the others stays, as "None" does below "Low".
    """
    words = texts - markers
    answers = {text for text in words if _plain(text) not in NO_ANSWERS}
    unanswered = words - answers if _is_scale(answers) and not _is_scale(words) else set[str]()
    words -= unanswered
    if not words or not (_is_scale(words) or is_score):
        return set()
    steps = {text for text in markers if order_levels(sorted({*words, text})) is not None}
    return (markers - steps) | unanswered


def _is_scale(words: set[str]) -> bool:
    """Tell whether words are yes and no, or steps of a known scale."""
    return is_flag(pd.Series([*words], dtype=str)) or order_levels(sorted(words)) is not None


def _plain(text: str) -> str:
    """Return the words of a text in small letters, without punctuation."""
    return re.sub(r"[\W_]+", " ", re.sub("['’]", "", text)).strip().lower()
