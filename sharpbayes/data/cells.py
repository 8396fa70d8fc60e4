"""Cells of a table: the number that one means, and rows and cells as messages name them."""

import numpy as np
import pandas as pd

# A message shows at most so many rows, and so many texts.
MAX_SHOWN = 5


def format_rows(rows: pd.Index) -> str:
    """Name rows by their numbers, of several files or columns with its name.

    >>> format_rows(pd.Index([2, 6])), format_rows(pd.Index([("a.csv", 3)]))
    ('rows 2, 6', 'row 3 of a.csv')
    """
    parts = (row if isinstance(row, tuple) else (row,) for row in rows[:MAX_SHOWN])
    names = ", ".join(" of ".join(map(str, reversed(part))) for part in parts)
    more = f" and {len(rows) - MAX_SHOWN} more" if len(rows) > MAX_SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {names}{more}"


def format_cells(values: pd.Series) -> str:
    """Name the rows of each different text.

    >>> format_cells(pd.Series(["n/a", "9", "n/a"], index=[2, 3, 8]))
    "rows 2, 8: 'n/a'; row 3: '9'"
    """
    texts = [*map(str, pd.unique(values))]
    rows = [(format_rows(values.index[values == text]), text) for text in texts[:MAX_SHOWN]]
    shown = [f"{names}: {text!r}" for names, text in rows]
    more = len(texts) - MAX_SHOWN
    return "; ".join(shown) + (f"; and {more} more texts" if more > 0 else "")


def describe_mixture(values: pd.Series) -> str:
    """Name the rows of the rarest of several values, and the commonest one.

    >>> describe_mixture(pd.Series(["1", "0", "1"], index=[2, 7, 8]))
    "'0' in row 7 and '1' elsewhere"
    """
    counts = values.astype(str).value_counts()
    common, rare = counts.index[0], counts.index[-1]
    return f"{rare!r} in {format_rows(values.index[values == rare])} and {common!r} elsewhere"


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
